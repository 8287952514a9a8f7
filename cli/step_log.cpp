#include "cli/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace saltus::cli {

namespace {

struct LoggedStep {
  double t, size;
  std::string limit;  ///< what has limited it
};

/// Why a step was not longer. The error of a step is that of the highest power of its dense output: where no event and
/// no bound has ended the step, the variable whose highest power is largest, by its tolerance, has decided its length.
class Limits {
 public:
  Limits(const HybridSystem& system, const SimulateOptions& options) : system_(system), options_(options) {}

  /// Of the last step of a run. `events`: those at its end.
  std::string of_step(const Simulator& run, double size, std::int64_t events, bool after_event) const {
    if (events > 0) {
      const Event& e = run.trajectory().events().back();
      return e.guards.empty() ? std::string(to_string(e.kind)) : "event: " + e.guards.front();
    }
    if (run.finished()) return "the stop time";
    if (std::isfinite(options_.max_step) && std::abs(size) >= 0.999 * options_.max_step) return "--max-step";
    const std::string variable = worst_variable(run);
    if (after_event) return variable.empty() ? "start after an event" : "start after an event, then " + variable;
    return variable.empty() ? "not known" : "error of " + variable;
  }

 private:
  std::string worst_variable(const Simulator& run) const {
    const std::vector<Trajectory::Segment>& segments = run.trajectory().segments();
    if (segments.empty() || segments.back().steps.empty()) return "";
    const DensePolynomial& p = segments.back().steps.back().polynomial;
    const auto n = static_cast<std::size_t>(p.variables);
    if (p.c.empty() || p.degree < 1 || p.c.size() < n * static_cast<std::size_t>(p.degree + 1)) return "";
    double largest = 0.0;
    std::size_t worst = n;
    const std::vector<VariableInfo>& variables = system_.variables();
    for (std::size_t j = 0; j < std::min(n, variables.size()); ++j) {
      const double rtol = j < options_.rtol_each.size() ? options_.rtol_each[j] : options_.rtol;
      const double atol = j < options_.atol_each.size() ? options_.atol_each[j] : options_.atol * variables[j].nominal;
      const double highest =
          std::abs(p.c[static_cast<std::size_t>(p.degree) * n + j]) / (atol + rtol * std::abs(p.c[j]));
      if (highest > largest) {
        largest = highest;
        worst = j;
      }
    }
    return worst < n ? variables[worst].name : "";
  }

  const HybridSystem& system_;
  const SimulateOptions& options_;
};

/// Tenths of the run with their numbers of steps, what has limited steps, and the shortest ones.
void summarise(std::ostream& log, std::vector<LoggedStep> steps, double start, double end) {
  if (steps.empty() || start == end) return;
  constexpr std::size_t parts = 10;
  std::vector<std::size_t> counts(parts);
  for (const LoggedStep& step : steps) {
    const double share = (step.t - start) / (end - start);
    ++counts[std::min(parts - 1, static_cast<std::size_t>(std::max(0.0, share * parts)))];
  }
  const std::size_t most = *std::ranges::max_element(counts);
  log << "steps in each tenth of the run:\n";
  for (std::size_t k = 0; k < parts; ++k)
    log << fmt::format("  from t = {:<12.6g} {:>9}  {}\n", start + (end - start) * static_cast<double>(k) / parts,
                       counts[k], std::string((40 * counts[k] + most - 1) / most, '#'));
  struct Sum {
    std::size_t steps = 0;
    double time = 0.0, shortest = std::numeric_limits<double>::infinity();
  };
  std::map<std::string, Sum> sums;
  for (const LoggedStep& step : steps) {
    Sum& sum = sums[step.limit];
    ++sum.steps;
    sum.time += std::abs(step.size);
    sum.shortest = std::min(sum.shortest, std::abs(step.size));
  }
  std::vector<std::pair<std::string, Sum>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second.steps > b.second.steps; });
  constexpr std::size_t most_limits = 12;
  log << fmt::format("what has limited the steps:\n  {:>9}  {:>12}  {:>10}\n", "steps", "time", "shortest");
  for (std::size_t k = 0; k < std::min(most_limits, sorted.size()); ++k)
    log << fmt::format("  {:>9}  {:>12.6g}  {:>10.3g}  {}\n", sorted[k].second.steps, sorted[k].second.time,
                       sorted[k].second.shortest, sorted[k].first);
  if (sorted.size() > most_limits) log << fmt::format("  … {} more\n", sorted.size() - most_limits);
  const std::size_t shown = std::min<std::size_t>(5, steps.size());
  std::ranges::partial_sort(steps, steps.begin() + static_cast<std::ptrdiff_t>(shown), {},
                            [](const LoggedStep& s) { return std::abs(s.size); });
  log << "the shortest steps:\n";
  for (std::size_t k = 0; k < shown; ++k)
    log << fmt::format("  {:.3g} at t = {:.12g}: {}\n", std::abs(steps[k].size), steps[k].t, steps[k].limit);
}

}  // namespace

void run_with_log(Simulator& simulator, const HybridSystem& system, const SimulateOptions& options, std::ostream& log) {
  log << fmt::format("{:>8}  {:>18}  {:>10}  {:>6}  {:<30}  {}\n", "step", "t", "size", "events", "limited by", "mode");
  std::vector<LoggedStep> steps;
  const Limits limits(system, options);
  const double start = simulator.t();
  double t = start;
  Mode mode;  // of the line before
  bool first = true, after_event = false;
  std::int64_t events = 0;
  const auto line = [&] {
    const std::int64_t now = simulator.trajectory().statistics().events;
    const bool changed = first || !(simulator.mode() == mode);
    const double size = simulator.t() - t;
    const std::string limit = first ? "" : limits.of_step(simulator, size, now - events, after_event);
    log << fmt::format("{:>8}  {:>18.12g}  {:>10.3g}  {:>6}  {:<30}  {}\n", steps.size() + (first ? 0 : 1),
                       simulator.t(), size, now - events, limit, changed ? system.describe(simulator.mode()) : "");
    if (!first && size != 0.0) steps.push_back({simulator.t(), size, limit});
    after_event = now > events;
    t = simulator.t();
    mode = simulator.mode();
    events = now;
    first = false;
  };
  line();
  for (bool more = !simulator.finished(); more;) {
    more = simulator.step();
    line();
  }
  summarise(log, std::move(steps), start, simulator.t());
}

}  // namespace saltus::cli
