#include "model/start_values.hpp"

#include <fmt/format.h>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

constexpr std::size_t not_observed = static_cast<std::size_t>(-1);

void check_sample(const Expr& expression, bool interval, double value) {
  if (std::isfinite(value) && (!interval || value > 0.0)) return;
  throw ModelError(fmt::format("the {} of a sample, {}, is {} for the present parameters; it must be {}",
                               interval ? "interval" : "start", to_string(expression), number_text(value),
                               interval ? "positive" : "finite"));
}

}  // namespace

StartValues::StartValues(const ModelData& model) {
  std::vector<Expr> parameters, expressions;
  const auto add = [&](What what, const std::string& name, const Expr& value) {
    const auto& [kind, index] = model.names.at(name);
    const bool discrete = kind == SymbolKind::discrete;
    std::size_t observed = 0;
    if (discrete)
      for (std::size_t k = 0; k < index; ++k) observed += !model.discretes[k].hidden;
    if (discrete && model.discretes[index].hidden) observed = not_observed;
    targets_.push_back({what, discrete, index, observed, name, value});
    expressions.push_back(value);
  };
  for (const auto& [name, value] : model.start_values) add(What::start, name, value);
  start_count_ = targets_.size();
  for (const auto& [name, bounds] : model.bound_values) {
    if (!bounds.min.is_constant()) add(What::min, name, bounds.min);
    if (!bounds.max.is_constant()) add(What::max, name, bounds.max);
  }
  const auto add_part = [&](What what, const Expr& value) {
    if (value.is_constant()) return;
    targets_.push_back({what, false, 0, 0, "", value});
    expressions.push_back(value);
  };
  for (const ModelData::Sample& sample : model.samples) {
    if (!sample.start.is_constant() || !sample.interval.is_constant())
      samples_.push_back({sample.start, sample.interval, model.names.at(sample.pulse.name()).index});
    add_part(What::sample_start, sample.start);
    add_part(What::sample_interval, sample.interval);
  }
  if (targets_.empty()) return;
  for (const auto& p : model.parameters) parameters.push_back(p.symbol);
  program_ = Program(std::vector<std::vector<Expr>>{parameters}, std::vector<std::vector<Expr>>{expressions});
}

int StartValues::place_of(const std::string& name) const {
  const auto end = targets_.begin() + static_cast<std::ptrdiff_t>(start_count_);
  const auto it =
      std::lower_bound(targets_.begin(), end, name, [](const Target& t, const std::string& n) { return t.name < n; });
  return it != end && it->name == name ? static_cast<int>(it - targets_.begin()) : -1;
}

std::vector<StartValues::Expression> StartValues::expressions() const {
  std::vector<Expression> result;
  for (std::size_t k = 0; k < start_count_; ++k)
    result.push_back({targets_[k].discrete, targets_[k].index, targets_[k].value});
  return result;
}

void StartValues::evaluate(std::span<const double> parameters, std::span<const char> given,
                           std::span<VariableInfo> variables, std::span<double> discrete,
                           std::span<VariableInfo> observed_discretes) const {
  if (targets_.empty()) return;
  Workspace work = program_.workspace();
  std::vector<double> results(targets_.size());
  const double* in[] = {parameters.data()};
  double* out[] = {results.data()};
  program_(in, out, work);
  for (std::size_t k = 0; k < targets_.size(); ++k) {
    const Target& target = targets_[k];
    if (k < given.size() && given[k]) continue;
    if (target.what == What::sample_start || target.what == What::sample_interval) {
      check_sample(target.value, target.what == What::sample_interval, results[k]);
      continue;
    }
    VariableInfo unseen;
    VariableInfo& info = !target.discrete                  ? variables[target.index]
                         : target.observed == not_observed ? unseen
                                                           : observed_discretes[target.observed];
    const bool lost = target.what == What::start ? !std::isfinite(results[k]) : std::isnan(results[k]);
    if (lost)
      throw ModelError(info.details->where, (target.what == What::start ? "the start value of '" : "a bound of '") +
                                                target.name + "', " + to_string(target.value) + ", is " +
                                                number_text(results[k]) + " for the present parameters");
    if (target.what == What::start) {
      info.start = results[k];
      if (target.discrete) discrete[target.index] = results[k];
    } else {
      VariableDetails details = *info.details;
      (target.what == What::min ? details.min : details.max) = results[k];
      info.details = std::move(details);
    }
  }
}

}  // namespace saltus
