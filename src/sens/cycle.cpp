// Newton's method on the map of a period, damped: a step is halved until the residual is smaller. The derivative of the
// map is that of the run, so that it converges quadratically as long as the sequence of events stays the same.
#include <fmt/format.h>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/sens/cycle.hpp>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <span>

#include "sens/multipliers.hpp"
#include "sens/period_map.hpp"

namespace saltus {

namespace {

double largest_of(std::span<const double> values) {
  double result = 0.0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

class CycleSearch {
 public:
  CycleSearch(const CompiledModel& model, const CycleOptions& options) : map_(model, options), options_(options) {}

  Cycle run() {
    cycle_.variables = map_.variables();
    report_progress();
    std::string why;
    const auto guess = map_.guess(why);
    if (!guess) return end(CycleStatus::failed, why);
    PeriodMap::Point point = map_.evaluate(*guess);
    if (!point.ok()) return end(point.status, explain(point));
    map_.set_reference(point);
    point = map_.evaluate(*guess);
    // derivatives and values of runs have errors of some tolerances
    const double small = std::max(100.0 * options_.simulate.rtol, 1e-13);
    while (cycle_.iterations < options_.max_iterations) {
      ++cycle_.iterations;
      report_progress();
      const std::vector<double> step = newton_step(point);
      PeriodMap::Point next;
      if (!damped(point, step, next)) {
        if (largest_of(point.residual) <= small) return accept(point);
        return end(next.ok() ? CycleStatus::not_converged : next.status,
                   next.ok() ? "no step of Newton's method lowers the difference after a period; start nearer to the "
                               "cycle, with other start values or a longer transient"
                             : explain(next));
      }
      const bool over = largest_of(step) <= small && largest_of(next.residual) <= small;
      point = std::move(next);
      if (over) return accept(point);
    }
    return end(
        CycleStatus::not_converged,
        fmt::format("Newton's method was not over after {} iterations; start nearer to the cycle", cycle_.iterations));
  }

 private:
  void report_progress() const {
    if (!options_.progress) return;
    if (cycle_.iterations == 0) return options_.progress({.doing = "guess", .upper_bound = true});
    options_.progress({.doing = fmt::format("iteration {} of at most {}", cycle_.iterations, options_.max_iterations),
                       .share = (cycle_.iterations - 1.0) / options_.max_iterations,
                       .upper_bound = true});
  }
  static std::string explain(const PeriodMap::Point& point) {
    if (point.status != CycleStatus::no_derivative) return point.message;
    return point.message + "; begin the cycle at another phase or section, or change a parameter a little";
  }
  Cycle end(CycleStatus status, std::string message) {
    cycle_.status = status;
    cycle_.message = std::move(message);
    return std::move(cycle_);
  }

  /// In units of the scale.
  static std::vector<double> newton_step(const PeriodMap::Point& point) {
    std::vector<double> right = point.residual;
    for (double& value : right) value = -value;
    LeastSquares equations(point.jacobian);
    // directions without effect are left as they are: a multiplier is 1
    const auto pivots = equations.pivots();
    equations.truncate(static_cast<int>(std::ranges::count_if(pivots, [](double pivot) { return pivot > 1e-11; })));
    return equations.solve(right);
  }

  /// The first of a step, its half, quarter, … that lowers the residual. False: none of them does.
  bool damped(const PeriodMap::Point& point, const std::vector<double>& step, PeriodMap::Point& next) const {
    const double before = norm(point.residual);
    double share = std::min(1.0, 1.0 / (largest_of(step) + 1e-300));
    for (int k = 0; k < 10; ++k, share *= 0.5) {
      std::vector<double> unknowns = point.unknowns;
      for (std::size_t j = 0; j < unknowns.size(); ++j) unknowns[j] += share * step[j] * map_.scale()[j];
      if (map_.period_is_unknown() && unknowns.back() < 0.3 * point.period) continue;
      next = map_.evaluate(unknowns);
      if (next.ok() && (norm(next.residual) < before || share * largest_of(step) < 1e-12)) return true;
    }
    return false;
  }

  Cycle accept(const PeriodMap::Point& point) {
    cycle_.period = point.period;
    cycle_.start.assign(point.unknowns.begin(), point.unknowns.begin() + static_cast<std::ptrdiff_t>(map_.states()));
    for (std::size_t k = 0; k < map_.states(); ++k)  // without the rounding errors of the section
      if (map_.period_is_unknown() && map_.variables()[k] == options_.section.first)
        cycle_.start[k] = options_.section.second;
    cycle_.residual = largest_of(point.residual);
    cycle_.monodromy = point.monodromy;
    const Multipliers found = multipliers_of(point, map_.period_is_unknown(), options_.simulate.rtol);
    cycle_.multipliers = found.values;
    cycle_.trivial_error = found.trivial_error;
    cycle_.run = point.run->trajectory();
    if (map_.period_is_unknown()) {
      double speed = 0.0;
      for (std::size_t k = 0; k < map_.states(); ++k)
        speed = std::max(speed, std::abs(point.slope[k]) * point.period / map_.scale()[k]);
      if (speed < 1e-6)
        return end(CycleStatus::not_converged, "the search has ended at an equilibrium; start farther away from it");
    }
    if (std::string other = mode_that_does_not_return(*cycle_.run); !other.empty())
      return end(CycleStatus::not_periodic, std::move(other));
    return end(CycleStatus::converged, "");
  }

  /// Says which mode the cycle ends in, if it is not the one in which it begins. Numbers, such as counters, may differ.
  static std::string mode_that_does_not_return(const Trajectory& run) {
    const auto& segments = run.segments();
    if (segments.empty() || segments.back().steps.empty()) return "";
    if (!run.events().empty() && (run.events().back().t == run.t_end() || run.events().front().t == run.t_start()))
      return "";  // an event at the begin: both sides of it are the same instant of the cycle
    const Mode first = run.mode(segments.front()), last = run.mode(segments.back());
    bool same = first.automaton == last.automaton && first.locks == last.locks && first.sliding == last.sliding &&
                first.contacts == last.contacts;
    const std::vector<double> at_start = run.at(run.t_start());
    for (std::size_t k = 0; k < at_start.size(); ++k) {
      const VariableType type = run.variables()[k].details->type;
      if (type == VariableType::boolean || type == VariableType::enumeration)
        same = same && at_start[k] == run.final()[k];
    }
    if (same) return "";
    return fmt::format(
        "after a period the state is the same and the mode is another one ({}); a multiple of the period may be what "
        "you "
        "look for",
        run.status().mode);
  }

  PeriodMap map_;
  const CycleOptions& options_;
  Cycle cycle_;
};

}  // namespace

Multipliers multipliers_of(const PeriodMap::Point& point, bool autonomous, double rtol) {
  const Matrix& m = point.monodromy;
  const Eigen::MatrixXd matrix = Eigen::Map<const Eigen::MatrixXd>(m.data(), m.rows(), m.columns());
  const Eigen::VectorXcd eigenvalues = matrix.eigenvalues();
  Multipliers result;
  result.values.assign(eigenvalues.begin(), eigenvalues.end());
  if (autonomous) {
    const auto trivial = std::ranges::min_element(
        result.values, {}, [](const std::complex<double>& value) { return std::abs(value - 1.0); });
    result.trivial_error = std::abs(*trivial - 1.0);
    result.values.erase(trivial);
  }
  // on a surface directions are lost for good, and what is left of them are errors of the run
  const auto& segments = point.run->trajectory().segments();
  const bool loses = std::ranges::any_of(segments, [](const auto& s) { return s.slides || s.in_contact; });
  if (loses)
    for (std::complex<double>& value : result.values)
      if (std::abs(value) <= 1e3 * rtol * std::max(1.0, matrix.norm())) value = 0.0;
  std::ranges::sort(result.values, [](const auto& a, const auto& b) {
    return std::pair(std::abs(a), a.imag()) > std::pair(std::abs(b), b.imag());
  });
  return result;
}

std::string_view to_string(CycleStatus status) {
  switch (status) {
    case CycleStatus::converged:
      return "converged";
    case CycleStatus::not_converged:
      return "not_converged";
    case CycleStatus::no_derivative:
      return "no_derivative";
    case CycleStatus::not_periodic:
      return "not_periodic";
    case CycleStatus::failed:
      return "failed";
  }
  return "";
}

bool Cycle::stable() const {
  return std::ranges::all_of(multipliers, [](const std::complex<double>& value) { return std::abs(value) < 1.0; });
}

Cycle find_cycle(const CompiledModel& model, const CycleOptions& options) {
  return CycleSearch(model, options).run();
}
Cycle find_cycle(const Model& model, const CycleOptions& options) {
  return find_cycle(CompiledModel(model), options);
}

}  // namespace saltus
