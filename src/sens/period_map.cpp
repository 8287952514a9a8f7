#include "sens/period_map.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sens/state_variables.hpp"

namespace saltus {

PeriodMap::PeriodMap(const CompiledModel& model, const CycleOptions& options, std::string parameter)
    : model_(std::make_unique<CompiledModel>(model)), options_(options), parameter_(std::move(parameter)) {
  const bool known = options.period > 0.0 || !options.period_of.empty();
  unknown_period_ = options.period_guess > 0.0 || (!options.section.first.empty() && options.transient > 0.0);
  if (options.period > 0.0 && !options.period_of.empty())
    throw UsageError("the period of a cycle is given twice, as a number and by a name; leave out one of them");
  if (known == unknown_period_)
    throw UsageError(
        known ? "a cycle has a period that is known, or a guess or section of one that is not; leave out one of them"
              : "say what the period of the cycle is, or give a guess of it, or a section and a transient");
  if (!options.simulate.keep_steps) throw UsageError("cycles follow the steps of runs: keep_steps = false leaves none");
  const StateVariables state = state_variables(model, options.variables);
  variables_ = state.names;
  places_ = state.places;
  if (!options.section.first.empty()) {
    const NameTable names(variables_);
    const auto found = names.find(options.section.first);
    if (!found)
      throw UsageError(fmt::format("the section needs a variable of the state, and '{}' is none{}",
                                   options.section.first, names.hint(options.section.first)));
    section_ = static_cast<int>(*found);
  }
  if (options.period_of.empty()) return;
  const auto parameters = model_->parameters();
  const std::vector<VariableInfo>& observed = model_->observed();
  if (std::ranges::none_of(parameters, [&](const auto& p) { return p.first == options.period_of; }) &&
      std::ranges::find(observed, options.period_of, &VariableInfo::name) == observed.end())
    throw UsageError(
        fmt::format("there is no parameter or variable '{}' whose value would be the period", options.period_of));
}

CompiledModel PeriodMap::with(std::span<const double> unknowns) const {
  std::vector<std::pair<std::string, double>> changes;
  for (std::size_t k = 0; k < states(); ++k) changes.emplace_back(variables_[k], unknowns[k]);
  if (!parameter_.empty()) changes.emplace_back(parameter_, unknowns.back());
  return model_->with_values(changes);
}

double PeriodMap::known_period(const CompiledModel& model) const {
  if (options_.period_of.empty()) return options_.period;
  for (const auto& [name, value] : model.parameters())
    if (name == options_.period_of) return value;
  SimulateOptions options = options_.simulate;
  options.stop = options.start;
  return simulate(model, options).at(options.start, options_.period_of);
}

bool PeriodMap::find_passages(const Trajectory& run, double& from, double& period) const {
  const std::size_t place = places_[static_cast<std::size_t>(section_)];
  std::vector<double> passages;
  const Trajectory::Samples samples = run.sample(5000);
  for (std::size_t i = 1; i < samples.t.size(); ++i) {
    const double a = samples.values[i - 1][place] - options_.section.second;
    const double b = samples.values[i][place] - options_.section.second;
    if (a < 0.0 && b >= 0.0) passages.push_back(samples.t[i - 1] + (samples.t[i] - samples.t[i - 1]) * (a / (a - b)));
  }
  if (passages.size() < 2) return false;
  from = passages[passages.size() - 2];
  period = passages.back() - from;
  return true;
}

std::optional<std::vector<double>> PeriodMap::guess(std::string& why) {
  std::vector<double> unknowns, values;
  double period = options_.period_guess;
  const double q = [&] {
    for (const auto& [name, value] : model_->parameters())
      if (name == parameter_) return value;
    return 0.0;
  }();
  SimulateOptions options = options_.simulate;
  options.stop = options.start;
  if (options_.transient > 0.0) {
    // a known period is kept: the phase of the force at the end of the transient must be that of the start
    const double known = unknown_period_ ? 0.0 : known_period(*model_);
    options.stop += known > 0.0 ? known * std::ceil(options_.transient / known) : options_.transient;
  }
  const Trajectory run = simulate(*model_, options);
  if (run.status().code != StatusCode::success) {
    why = fmt::format("the model cannot be run from its start: {}", run.status().message);
    return {};
  }
  double from = run.t_end();
  if (unknown_period_ && section_ >= 0 && options_.transient > 0.0) {
    double found = 0.0;
    if (find_passages(run, from, found))
      period = period > 0.0 ? period : found;
    else if (!(period > 0.0)) {
      why = fmt::format(
          "'{}' does not rise through {} twice in the transient; make the transient longer, or choose "
          "another section",
          options_.section.first, options_.section.second);
      return {};
    }
  }
  values = run.at(from);
  for (const std::size_t place : places_) unknowns.push_back(values[place]);
  if (unknown_period_) unknowns.push_back(period);
  if (!parameter_.empty()) unknowns.push_back(q);
  // truth values and whole numbers begin as the transient has left them
  const auto changes = discrete_values(*model_, values);
  if (options_.transient > 0.0 && !changes.empty())
    model_ = std::make_unique<CompiledModel>(model_->with_values(changes));
  scale_.assign(unknowns.size(), 0.0);
  for (std::size_t k = 0; k < unknowns.size(); ++k) scale_[k] = std::max(std::abs(unknowns[k]), 1e-3);
  reference_.assign(unknowns.begin(), unknowns.begin() + static_cast<std::ptrdiff_t>(states()));
  normal_.clear();
  return unknowns;
}

void PeriodMap::move_reference(const Point& point) {
  reference_.assign(point.unknowns.begin(), point.unknowns.begin() + static_cast<std::ptrdiff_t>(states()));
  normal_.assign(states(), 0.0);
  double length = 0.0;
  for (std::size_t k = 0; k < states(); ++k) {
    normal_[k] = point.slope[k] / scale_[k];
    length += normal_[k] * normal_[k];
  }
  for (double& component : normal_) component /= length > 0.0 ? std::sqrt(length) : 1.0;
}

void PeriodMap::set_reference(const Point& point, double parameter_size) {
  const Trajectory::Samples samples = point.run->trajectory().sample(100);
  for (std::size_t k = 0; k < states(); ++k) {
    double largest = 0.0;
    for (const auto& values : samples.values) largest = std::max(largest, std::abs(values[places_[k]]));
    scale_[k] = largest > 0.0 ? largest : 1.0;
  }
  if (unknown_period_) scale_[states()] = point.period;
  if (!parameter_.empty()) scale_.back() = parameter_size;
  move_reference(point);
}

PeriodMap::Point PeriodMap::evaluate(std::span<const double> unknowns) const {
  Point point;
  point.unknowns.assign(unknowns.begin(), unknowns.end());
  const std::size_t d = states();
  const auto fail = [&](CycleStatus status, std::string message) {
    point.status = status;
    point.message = std::move(message);
    return point;
  };
  if (!std::ranges::all_of(unknowns, [](double value) { return std::isfinite(value); }))
    return fail(CycleStatus::failed, "the search has left the range of numbers");
  std::optional<CompiledModel> changed;
  try {
    changed.emplace(with(unknowns));
  } catch (const ModelError& problem) {  // a value that the model does not take
    return fail(CycleStatus::failed, problem.what());
  }
  const CompiledModel& model = *changed;
  point.period = unknown_period_ ? unknowns[d] : known_period(model);
  if (!(point.period > 0.0) || !std::isfinite(point.period))
    return fail(CycleStatus::failed, fmt::format("the period is {}", point.period));
  SimulateOptions options = options_.simulate;
  options.stop = options.start + point.period;
  std::vector<std::string> names;
  for (const std::string& name : variables_) names.push_back(name + ".start");
  if (!parameter_.empty()) names.push_back(parameter_);
  point.run = std::make_shared<const SensitivityRun>(simulate_with_sensitivities(model, names, options));
  const SensitivityRun& run = *point.run;
  const Trajectory& trajectory = run.trajectory();
  if (trajectory.status().code != StatusCode::success)
    return fail(CycleStatus::failed,
                fmt::format("the model cannot be run for a period: {} at t = {:.9g}{}{}",
                            to_string(trajectory.status().code), trajectory.status().t,
                            trajectory.status().message.empty() ? "" : ": ", trajectory.status().message));
  if (!run.why().empty())
    return fail(CycleStatus::no_derivative,
                fmt::format("the run has no derivative behind t = {:.9g}: {}", run.end(), run.why()));
  const std::vector<double> at_end = run.slopes(trajectory.t_end()), at_start = run.slopes(trajectory.t_start());
  const int n = static_cast<int>(unknowns.size());
  point.monodromy = Matrix(static_cast<int>(d), static_cast<int>(d));
  point.jacobian = Matrix(static_cast<int>(equations()), n);
  for (std::size_t j = 0; j < names.size(); ++j) {
    const std::vector<double> by = run.final(names[j]);
    for (std::size_t i = 0; i < d; ++i) {
      if (j < d) point.monodromy(static_cast<int>(i), static_cast<int>(j)) = by[places_[i]];
      const int column = j < d ? static_cast<int>(j) : n - 1;
      point.jacobian(static_cast<int>(i), column) = by[places_[i]] - (i == j ? 1.0 : 0.0);
    }
  }
  double period_by_parameter = 0.0;
  if (!parameter_.empty() && !options_.period_of.empty())
    period_by_parameter =
        options_.period_of == parameter_ ? 1.0
        : std::ranges::any_of(model.parameters(), [&](const auto& p) { return p.first == options_.period_of; })
            ? 0.0
            : run.at(trajectory.t_start(), options_.period_of, parameter_);
  for (std::size_t i = 0; i < d; ++i) {
    point.slope.push_back(at_start[places_[i]]);
    point.residual.push_back((trajectory.final()[places_[i]] - unknowns[i]) / scale_[i]);
    if (unknown_period_) point.jacobian(static_cast<int>(i), static_cast<int>(d)) = at_end[places_[i]];
    if (!parameter_.empty()) point.jacobian(static_cast<int>(i), n - 1) += at_end[places_[i]] * period_by_parameter;
    for (int j = 0; j < n; ++j)
      point.jacobian(static_cast<int>(i), j) *= scale_[static_cast<std::size_t>(j)] / scale_[i];
  }
  if (unknown_period_) {
    double distance = 0.0;
    for (std::size_t k = 0; k < d; ++k) {
      const bool on_section = section_ == static_cast<int>(k);
      const double component = section_ >= 0 ? (on_section ? 1.0 : 0.0) : normal_.empty() ? 0.0 : normal_[k];
      const double from = on_section ? options_.section.second : reference_[k];
      distance += component * (unknowns[k] - from) / scale_[k];
      point.jacobian(static_cast<int>(d), static_cast<int>(k)) = component;
    }
    point.residual.push_back(distance);
  }
  const auto finite = [](const auto& all) {
    return std::ranges::all_of(all, [](double v) { return std::isfinite(v); });
  };
  if (!finite(point.residual) || !finite(std::span(point.jacobian.data(), equations() * unknowns.size())))
    return fail(CycleStatus::failed, "a derivative of the run is not a finite number");
  point.status = CycleStatus::converged;
  return point;
}

}  // namespace saltus
