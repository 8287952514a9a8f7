#include "sens/shooting.hpp"

#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

/// Measured values of a variable at a time, on the straight line between two of them; nothing outside of them.
std::optional<double> measured_at(const std::vector<FitProblem::Target>& targets, std::size_t variable, double t) {
  const FitProblem::Target *before = nullptr, *behind = nullptr;
  for (const FitProblem::Target& target : targets) {
    if (target.variable != variable || !target.event.empty()) continue;
    if (target.t <= t && (!before || target.t > before->t)) before = &target;
    if (target.t > t && (!behind || target.t < behind->t)) behind = &target;
  }
  if (!before || !behind) return {};
  const double share = (t - before->t) / (behind->t - before->t);
  return before->measured + share * (behind->measured - before->measured);
}

}  // namespace

ShootingProblem::ShootingProblem(const FitProblem& problem, int windows, const Trajectory& run)
    : problem_(problem), state_(state_variables(problem.model(), {})), unknowns_(problem.unknowns()) {
  const std::vector<FitProblem::Target>& targets = problem.targets();
  if (std::ranges::any_of(targets, [](const auto& target) { return !target.event.empty(); }))
    throw UsageError("a fit to times of events needs one window: leave out the windows, or the times");
  const double start = problem.simulate().start, length = problem.simulate().stop - start;
  for (int w = 0; w < windows; ++w) {
    Window window{start + length * w / windows, start + length * (w + 1) / windows, {}};
    if (w + 1 == windows) window.to = problem.simulate().stop;
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i].t >= window.from && (targets[i].t < window.to || w + 1 == windows)) window.targets.push_back(i);
    windows_.push_back(std::move(window));
  }
  const Trajectory::Samples samples = run.sample(200);
  for (const std::size_t place : state_.places) {
    double largest = 0.0;
    for (const auto& values : samples.values) largest = std::max(largest, std::abs(values[place]));
    size_.push_back(largest > 0.0 ? largest : 1.0);
  }
  for (std::size_t w = 1; w < windows_.size(); ++w)
    for (std::size_t k = 0; k < state_.names.size(); ++k) {
      const double t = windows_[w].from;
      const double guess =
          measured_at(targets, state_.places[k], t).value_or(run.at(std::min(t, run.t_end()))[state_.places[k]]);
      unknowns_.push_back({.name = state_.names[k], .guess = guess});
    }
}

int ShootingProblem::values() const {
  return problem_.values() + static_cast<int>((windows_.size() - 1) * state_.names.size());
}

std::size_t ShootingProblem::node(std::size_t window, std::size_t k) const {
  return problem_.unknowns().size() + (window - 1) * state_.names.size() + k;
}

CompiledModel ShootingProblem::model_of(std::size_t window, std::span<const double> u,
                                        const std::vector<double>& before) const {
  const CompiledModel model = problem_.with(u.first(problem_.unknowns().size()));
  if (window == 0) return model;
  std::vector<std::pair<std::string, double>> changes = discrete_values(model, before);
  for (std::size_t k = 0; k < state_.names.size(); ++k) changes.emplace_back(state_.names[k], u[node(window, k)]);
  return model.with_values(changes);
}

SimulateOptions ShootingProblem::options_of(const Window& window) const {
  SimulateOptions options = problem_.simulate();
  options.start = window.from;
  options.stop = window.to;
  return options;
}

std::optional<std::vector<double>> ShootingProblem::residuals(std::span<const double> u) {
  try {
    return residuals_of_windows(u);
  } catch (const ModelError&) {  // a value that the model does not take
    return {};
  }
}

std::optional<std::vector<double>> ShootingProblem::residuals_of_windows(std::span<const double> u) const {
  const std::vector<FitProblem::Target>& targets = problem_.targets();
  std::vector<double> result(targets.size()), before;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    const Trajectory run = simulate(model_of(w, u, before), options_of(windows_[w]));
    if (run.status().code != StatusCode::success) return {};
    for (const std::size_t i : windows_[w].targets)
      result[i] = (run.at(targets[i].t)[targets[i].variable] - targets[i].measured) / targets[i].sigma;
    before = run.final();
    for (std::size_t k = 0; w + 1 < windows_.size() && k < state_.names.size(); ++k)
      result.push_back((before[state_.places[k]] - u[node(w + 1, k)]) / (continuity_ * size_[k]));
  }
  if (!std::ranges::all_of(result, [](double value) { return std::isfinite(value); })) return {};
  return result;
}

std::optional<Matrix> ShootingProblem::jacobian(std::span<const double> u) {
  const std::vector<FitProblem::Target>& targets = problem_.targets();
  const std::size_t d = state_.names.size();
  Matrix result(values(), parameters());
  std::vector<double> before;
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    // by what the run of the window is differentiated, and which unknown that is
    std::vector<std::string> names;
    std::vector<std::size_t> columns;
    const auto starts = problem_.model().parameters();
    for (std::size_t k = 0; k < problem_.unknowns().size(); ++k) {
      const std::string& name = problem_.unknowns()[k].name;
      const bool is_parameter = std::ranges::any_of(starts, [&](const auto& p) { return p.first == name; });
      if (w > 0 && !is_parameter) continue;  // a start value counts in the first window only
      names.push_back(name);
      columns.push_back(k);
    }
    for (std::size_t k = 0; w > 0 && k < d; ++k) {
      names.push_back(state_.names[k] + ".start");
      columns.push_back(node(w, k));
    }
    const SensitivityRun run = simulate_with_sensitivities(model_of(w, u, before), names, options_of(windows_[w]));
    if (run.trajectory().status().code != StatusCode::success || !run.why().empty()) return {};
    const std::size_t first_gap = targets.size() + w * d;
    for (std::size_t j = 0; j < names.size(); ++j) {
      const int column = static_cast<int>(columns[j]);
      for (const std::size_t i : windows_[w].targets)
        result(static_cast<int>(i), column) = run.at(targets[i].t, names[j])[targets[i].variable] / targets[i].sigma;
      if (w + 1 == windows_.size()) continue;
      const std::vector<double> final = run.final(names[j]);
      for (std::size_t k = 0; k < d; ++k)
        result(static_cast<int>(first_gap + k), column) = final[state_.places[k]] / (continuity_ * size_[k]);
    }
    for (std::size_t k = 0; w + 1 < windows_.size() && k < d; ++k)
      result(static_cast<int>(first_gap + k), static_cast<int>(node(w + 1, k))) = -1.0 / (continuity_ * size_[k]);
    before = run.trajectory().final();
  }
  return result;
}

}  // namespace saltus
