// Inputs: variables whose values come from outside of a model.
//
// u = c_0 + c_1 (time - since) + …, where the numbers are hidden discrete variables. A hidden clause puts the next
// numbers in their place at the time `next` (`previous` in runs backward). A change of an input is so a time event like
// any other, and all derivatives of u with respect to time are known.
#include <fmt/format.h>
#include <saltus/model/model.hpp>

#include <vector>

namespace saltus {

namespace {

/// Numbers of the polynomial of an input that is smooth.
constexpr int smooth_degree = 5;

int degree_of(InputCurve curve) {
  return curve == InputCurve::held ? 0 : curve == InputCurve::line ? 1 : smooth_degree;
}

/// c_0 + s (c_1 + s (…)).
Expr polynomial(const std::vector<Expr>& c, const Expr& s) {
  Expr value = c.back();
  for (std::size_t k = c.size() - 1; k-- > 0;) value = c[k] + s * value;
  return value;
}

}  // namespace

Expr Model::input(const std::string& name, double start, InputCurve curve, VariableOptions options,
                  const SourceLocation& where) {
  ModelData& d = *data_;
  const bool held = curve == InputCurve::held || options.type != VariableType::real;
  const int degree = held ? 0 : degree_of(curve);
  options.causality = Causality::input;
  options.fixed = false;
  ModelData::Input input{.name = name, .places = {}, .held = held};
  InputInfo& places = input.places;
  const auto hidden = [&](const std::string& what, double value, int& place) {
    place = static_cast<int>(d.discretes.size());
    const Expr symbol = discrete(fmt::format("{} of {}", what, name), value, where);
    d.discretes.back().hidden = true;
    return symbol;
  };
  Expr symbol, since, next_since;
  std::vector<Expr> now, later;
  if (held) {
    places.variable = static_cast<int>(d.discretes.size());
    symbol = discrete(name, start, std::move(options), where);
    places.coefficients = {places.variable};
    now = {symbol};
  } else {
    places.variable = static_cast<int>(d.variables.size());
    symbol = variable(name, start, std::move(options), where);
    since = hidden("time", 0.0, places.since);
    next_since = hidden("next time", 0.0, places.next_since);
    for (int k = 0; k <= degree; ++k)
      now.push_back(hidden(fmt::format("coefficient {}", k), k == 0 ? start : 0.0, places.coefficients.emplace_back()));
  }
  for (int k = 0; k <= degree; ++k)
    later.push_back(hidden(fmt::format("next coefficient {}", k), 0.0, places.next_coefficients.emplace_back()));
  const Expr next = hidden("change", InputInfo::never, places.next);
  const Expr previous = hidden("change back", -InputInfo::never, places.previous);
  const Expr following = hidden("following change", InputInfo::never, places.following);
  if (!held) equation(symbol == polynomial(now, time() - since), "input " + name, where);
  const auto clause = [&](const BoolExpr& due, const Expr& when_due) {
    d.guard_names.emplace_back(due.expr(), "input " + name);
    When acts = when(due, where);
    d.clauses.back().name = "";
    for (std::size_t k = 0; k < now.size(); ++k) acts.assign(now[k], later[k]);
    if (!held) acts.assign(since, next_since);
    acts.assign(when_due, following);
  };
  clause(time() >= pre(next), next);
  clause(pre(previous) >= time(), previous);
  d.inputs.push_back(std::move(input));
  return symbol;
}

// The polynomial with the numbers from before: the input itself can so be eliminated.
Expr Model::value_before(std::size_t which) {
  const InputInfo places = data_->inputs[which].places;
  const auto before = [&](int place) { return pre(data_->discretes[static_cast<std::size_t>(place)].symbol); };
  std::vector<Expr> c;
  for (const int place : places.coefficients) c.push_back(before(place));
  return polynomial(c, time() - before(places.since));
}

BoolExpr Model::input(const std::string& name, bool start, const SourceLocation& where) {
  return BoolExpr(input(name, start ? 1.0 : 0.0, InputCurve::held, {.type = VariableType::boolean}, where));
}

}  // namespace saltus
