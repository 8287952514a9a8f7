#include "sens/gradient.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>

namespace saltus {

Gradient::Gradient(const Expr& f, const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& locks) {
  std::vector<Expr> symbols;
  std::vector<Entry> places;
  for (std::size_t group = 0; group < inputs.size(); ++group)
    for (std::size_t place = 0; place < inputs[group].size(); ++place) {
      symbols.push_back(inputs[group][place]);
      places.push_back({group, place, 0.0});
    }
  std::vector<Expr> outputs{f};
  if (!f.is_constant())
    for (const auto& entry : jacobian(std::span(&f, 1), symbols).entries) {
      outputs.push_back(entry.value);
      entries_.push_back(places[static_cast<std::size_t>(entry.column)]);
    }
  std::vector<std::vector<Expr>> all = inputs;
  all.push_back(locks);
  program_ = Program(all, std::vector<std::vector<Expr>>{outputs});
  work_ = program_.workspace();
  values_.resize(outputs.size());
}

Gradient Gradient::with_own_memory() const {
  Gradient copy;
  copy.program_ = program_;
  copy.work_ = program_.workspace();
  copy.values_ = values_;
  copy.entries_ = entries_;
  return copy;
}

void Gradient::evaluate(std::span<const double* const> in) {
  double* const out[] = {values_.data()};
  program_(in, out, work_);
  for (std::size_t k = 0; k < entries_.size(); ++k) entries_[k].value = values_[k + 1];
}

bool Gradient::reads(std::size_t group) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.group == group; });
}

}  // namespace saltus
