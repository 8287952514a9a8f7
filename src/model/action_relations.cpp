#include "model/action_relations.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/graph.hpp>

#include <cmath>
#include <limits>

namespace saltus {

ActionRelations::ActionRelations(const std::vector<Expr>& relations, const std::vector<Expr>& inputs,
                                 const std::vector<char>& uncertain, const ProgramOptions& options) {
  if (relations.empty()) return;
  std::vector<Expr> outputs, moving;
  std::vector<std::size_t> place;
  for (const Expr& relation : relations) {
    kind_.push_back(relation.graph()->node(relation.id()).op);
    outputs.push_back(switching_function(relation));
  }
  for (std::size_t j = 0; j < inputs.size(); ++j)
    if (uncertain[j]) {
      moving.push_back(inputs[j]);
      place.push_back(j);
    }
  for (const Expr& inner : locks_of(outputs))
    for (const Expr& relation : relations) nested_ = nested_ || inner.same(relation);
  const SparseExprMatrix slopes = jacobian(outputs, moving);
  for (const auto& entry : slopes.entries) {
    slopes_.push_back({static_cast<std::size_t>(entry.row), place[static_cast<std::size_t>(entry.column)]});
    outputs.push_back(entry.value);
  }
  program_ =
      Program(std::vector<std::vector<Expr>>{inputs, relations}, std::vector<std::vector<Expr>>{outputs}, options);
  work_ = program_.workspace();
  values_.resize(outputs.size());
  truths_.resize(relations.size());
  noise_.resize(relations.size());
}

const std::vector<double>& ActionRelations::find(std::span<const double> inputs, std::span<const double> travel) {
  constexpr double rounding = 16.0 * std::numeric_limits<double>::epsilon();
  if (kind_.empty()) return truths_;
  const double* const in[] = {inputs.data(), truths_.data()};
  double* const out[] = {values_.data()};
  bool changed = true;
  for (std::size_t pass = 0; changed && pass <= kind_.size(); ++pass) {  // inner ones first, one level in a pass
    program_(in, out, work_);
    for (double& noise : noise_) noise = 0.0;
    for (std::size_t k = 0; k < slopes_.size(); ++k) {
      const std::size_t input = slopes_[k].input;
      const double moved = values_[kind_.size() + k] * (std::abs(inputs[input]) + travel[input]);
      if (std::isfinite(moved)) noise_[slopes_[k].relation] += rounding * std::abs(moved);  // not at the root of zero
    }
    changed = false;
    for (std::size_t k = 0; k < kind_.size(); ++k) {
      const double g = values_[k];
      const double truth = kind_[k] == Op::floor      ? std::floor(g + noise_[k])
                           : kind_[k] == Op::positive ? static_cast<double>(g > noise_[k])
                                                      : static_cast<double>(g >= -noise_[k]);
      changed = changed || (nested_ && truth != truths_[k]);
      truths_[k] = truth;
    }
  }
  return truths_;
}

}  // namespace saltus
