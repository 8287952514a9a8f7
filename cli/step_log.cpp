#include "cli/step_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace saltus::cli {

namespace {

struct LoggedStep {
  double t, size;
};

/// Tenths of the run with their numbers of steps, and the shortest steps.
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
  const std::size_t shown = std::min<std::size_t>(5, steps.size());
  std::ranges::partial_sort(steps, steps.begin() + static_cast<std::ptrdiff_t>(shown), {},
                            [](const LoggedStep& s) { return std::abs(s.size); });
  log << "the shortest steps:\n";
  for (std::size_t k = 0; k < shown; ++k)
    log << fmt::format("  {:.3g} at t = {:.12g}\n", std::abs(steps[k].size), steps[k].t);
}

}  // namespace

void run_with_log(Simulator& simulator, const HybridSystem& system, std::ostream& log) {
  log << fmt::format("{:>8}  {:>18}  {:>10}  {:>6}  {}\n", "step", "t", "size", "events", "mode");
  std::vector<LoggedStep> steps;
  const double start = simulator.t();
  double t = start;
  Mode mode;  // of the line before
  bool first = true;
  std::int64_t events = 0;
  const auto line = [&] {
    const std::int64_t now = simulator.trajectory().statistics().events;
    const bool changed = first || !(simulator.mode() == mode);
    log << fmt::format("{:>8}  {:>18.12g}  {:>10.3g}  {:>6}  {}\n", steps.size() + (first ? 0 : 1), simulator.t(),
                       simulator.t() - t, now - events, changed ? system.describe(simulator.mode()) : "");
    if (!first && simulator.t() != t) steps.push_back({simulator.t(), simulator.t() - t});
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
