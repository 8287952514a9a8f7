#include <saltus/sens/functional.hpp>

#include <memory>
#include <utility>

namespace saltus {

namespace {

/// A symbol that stands for a variable of whatever model.
Expr by_name(const std::string& variable) {
  auto graph = std::make_shared<Graph>();
  const NodeId symbol = graph->symbol(variable, SymbolKind::variable);
  return {std::move(graph), symbol};
}

}  // namespace

Functional& Functional::operator+=(const Functional& other) {
  terms_.insert(terms_.end(), other.terms_.begin(), other.terms_.end());
  return *this;
}

Functional& Functional::operator*=(double factor) {
  for (Term& term : terms_) term.weight *= factor;
  return *this;
}

Functional operator+(Functional a, const Functional& b) {
  return a += b;
}
Functional operator-(Functional a, const Functional& b) {
  return a += -1.0 * b;
}
Functional operator*(double factor, Functional a) {
  return a *= factor;
}

Functional final_value(const Expr& value) {
  return Functional({.kind = Functional::Kind::final_value, .value = value});
}
Functional final_value(const std::string& variable) {
  return final_value(by_name(variable));
}
Functional integral(const Expr& value) {
  return Functional({.kind = Functional::Kind::integral, .value = value});
}
Functional integral(const std::string& variable) {
  return integral(by_name(variable));
}
Functional event_time(const std::string& event, int number) {
  return Functional({.kind = Functional::Kind::event_time, .event = event, .number = number});
}
Functional sum_over_events(const std::string& event, const Expr& value) {
  return Functional({.kind = Functional::Kind::event_sum, .value = value, .event = event});
}
Functional sum_over_events(const std::string& event, const std::string& variable) {
  return sum_over_events(event, by_name(variable));
}

}  // namespace saltus
