// How much faster are members in lanes than a loop around Boost.odeint, on one core and at equal error? The loop is
// what a careful user writes for each of the three problems: an automaton with its fields and guards, a Dormand-Prince
// method with dense output and a bisection. Errors are those of the state at the end, compared with runs of the model
// at a tolerance of 1e-11; the median over the members counts. Lanes fly twenty times as many members, as studies have
// many: scouting and compiling count. The errors are those of every twentieth.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "odeint_driver.hpp"
#include "problems.hpp"

namespace saltus::bench {
namespace {

using State = std::array<double, 2>;
constexpr std::int64_t more_in_lanes = 20;

/// What the three automata have in common; the state at the end is taken by run_odeint's copy through `final`.
struct TwoStates {
  static constexpr int n = 2;
  State y{};
  double stop = 0.0, longest_step = std::numeric_limits<double>::infinity();
  bool done = false;
  long events = 0;
  State* final = nullptr;

  double next_time() const { return stop; }
  void on_time(double, double* x) {
    *final = {x[0], x[1]};
    done = true;
  }
  static double error() { return 0.0; }
};

struct ImpactByHand : TwoStates {
  double omega;
  ImpactByHand(double value, double end, State& result) : omega(value) {
    stop = end;
    final = &result;
  }
  void rhs(double t, const double* x, double* dx) const {
    dx[0] = x[1];
    dx[1] = std::cos(omega * t) - x[0] - 0.1 * x[1];
  }
  static double guard(double, const double* x) { return 1.0 - x[0]; }
  void on_event(double, double* x) {
    x[0] = 1.0;
    x[1] = -0.7 * x[1];
    ++events;
  }
};

/// Slips (mode 1 or -1) or sticks (0).
struct FrictionByHand : TwoStates {
  double r, mode = 0.0;
  FrictionByHand(double value, double end, State& result) : r(value) {
    y = {0.1, 0.0};
    stop = end;
    longest_step = 0.5;  // a disc that sticks has no error, and its step would pass over the next slip
    final = &result;
  }
  double force(double t, const double* x) const { return std::sin(t / r) - x[0]; }
  void rhs(double t, const double* x, double* dx) const {
    dx[0] = mode == 0.0 ? 0.0 : x[1];
    dx[1] = mode == 0.0 ? 0.0 : force(t, x) - 0.4 * mode;
  }
  double guard(double t, const double* x) const { return mode == 0.0 ? 0.4 - std::abs(force(t, x)) : mode * x[1]; }
  void on_event(double t, double* x) {
    const double f = force(t, x);
    mode = mode != 0.0 && std::abs(f) <= 0.4 ? 0.0 : (f > 0.0 ? 1.0 : -1.0);
    x[1] = 0.0;
    ++events;
  }
};

struct ConverterByHand : TwoStates {
  double band, on = 1.0;
  ConverterByHand(double value, double end, State& result) : band(value) {
    stop = end;
    final = &result;
  }
  void rhs(double, const double* x, double* dx) const {
    dx[0] = (24.0 * on - x[1]) / 0.02;
    dx[1] = (x[0] - x[1] / 20.0) / 47e-6;
  }
  double guard(double, const double* x) const { return on == 1.0 ? 11.0 + band - x[1] : x[1] - 11.0; }
  void on_event(double, double*) {
    on = 1.0 - on;
    ++events;
  }
};

/// One way at one tolerance: CPU time of a member, and the median error.
struct Measurement {
  double rtol, seconds, error;
};

double median_error(const std::vector<State>& found, const std::vector<State>& exact) {
  std::vector<double> errors;
  for (std::size_t k = 0; k < found.size(); ++k)
    errors.push_back(std::max(std::abs(found[k][0] - exact[k][0]), std::abs(found[k][1] - exact[k][1])));
  std::ranges::nth_element(errors, errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2));
  return errors[errors.size() / 2];
}

std::vector<State> run_members(const Problem& problem, MemberPath path, double rtol, double atol, double& seconds) {
  StudyPlan plan = problem.plan;
  plan.path = path;
  const std::int64_t distance = path == MemberPath::lanes ? more_in_lanes : 1;
  plan.axes.front().count = distance * (plan.axes.front().count - 1) + 1;
  plan.simulate.rtol = rtol;
  plan.simulate.atol = atol;
  const Study study(problem.model, plan);
  const double begin = cpu_seconds();
  const StudyResult result = run_study(study, {.threads = 1, .block = study.members()});
  seconds = (cpu_seconds() - begin) / static_cast<double>(study.members());
  std::vector<State> states;
  const auto a = result.values(result_name(plan.collect[0])), b = result.values(result_name(plan.collect[1]));
  for (std::size_t k = 0; k < a.size(); k += static_cast<std::size_t>(distance)) states.push_back({a[k], b[k]});
  return states;
}

/// The time that a way needs for an error, from the two measurements around it.
double time_at(const std::vector<Measurement>& list, double error) {
  for (std::size_t k = 0; k + 1 < list.size(); ++k) {
    const Measurement &coarse = list[k], &fine = list[k + 1];
    if (!(coarse.error >= error && fine.error <= error)) continue;
    const double share = std::log(coarse.error / error) / std::log(coarse.error / fine.error);
    return std::exp(std::log(coarse.seconds) + share * std::log(fine.seconds / coarse.seconds));
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <class ByHand>
void compare(Problem problem, const std::function<double(double)>& end_of, double first_step, double atol_share) {
  double ignored;
  const std::vector<State> exact = run_members(problem, MemberPath::full, 1e-11, 1e-11 * atol_share, ignored);
  const Axis axis = problem.plan.axes.front();
  std::vector<Measurement> lanes, odeint;
  for (const double rtol : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9}) {
    double least = 1e300, error = 0.0;
    for (int round = 0; round < 3 && rtol >= 1e-8; ++round) {
      double seconds;
      error = median_error(run_members(problem, MemberPath::lanes, rtol, rtol * atol_share, seconds), exact);
      least = std::min(least, seconds);
    }
    if (rtol >= 1e-8) lanes.push_back({rtol, least, error});
    std::vector<State> found(static_cast<std::size_t>(axis.count));
    least = 1e300;
    for (int round = 0; round < 3; ++round) {
      const double begin = cpu_seconds();
      for (std::int64_t k = 0; k < axis.count; ++k)
        run_odeint(ByHand(axis.value(k), end_of(axis.value(k)), found[static_cast<std::size_t>(k)]), rtol,
                   rtol * atol_share, first_step);
      least = std::min(least, (cpu_seconds() - begin) / static_cast<double>(axis.count));
    }
    odeint.push_back({rtol, least, median_error(found, exact)});
  }
  fmt::print("{}: CPU time of a member [us] (median error)\n{:>8} {:>22} {:>22}\n", problem.name, "rtol", "lanes",
             "odeint");
  for (std::size_t k = 0; k < odeint.size(); ++k)
    fmt::print("{:>8.0e} {:>22} {:>22}\n", odeint[k].rtol,
               k < lanes.size() ? fmt::format("{:.1f} ({:.1e})", 1e6 * lanes[k].seconds, lanes[k].error) : "",
               fmt::format("{:.1f} ({:.1e})", 1e6 * odeint[k].seconds, odeint[k].error));
  for (const Measurement& m : lanes)
    if (const double other = time_at(odeint, m.error); std::isfinite(other))
      fmt::print("  at an error of {:.1e} odeint takes {:.2f} times as long\n", m.error, other / m.seconds);
  std::fflush(stdout);
}

Problem final_states(Problem problem, std::int64_t periods, Axis axis) {
  problem.plan.axes = {std::move(axis)};
  if (problem.plan.sampling.at == SampleAt::period) {
    problem.plan.sampling.transient = periods - 1;
    problem.plan.sampling.keep = 1;
    problem.plan.collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}};
  }
  return problem;
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: members of odeint (500).
int main(int argc, char** argv) {
  using namespace saltus::bench;
  const auto members = static_cast<std::int64_t>(argument(argc, argv, 1, 500, "[MEMBERS]", 64.0));
  constexpr std::int64_t periods = 60;
  // where impacts are periodic: errors of chaotic members mean nothing
  compare<ImpactByHand>(
      final_states(impact(members, periods), periods, {"omega", 0.75, 1.4, members}),
      [](double omega) { return periods * 6.283185307179586 / omega; }, 1e-2, 1.0);
  compare<FrictionByHand>(
      final_states(friction(members), periods, {"r", 1.2, 5.0, members}), [](double) { return 400.0; }, 1e-2, 1.0);
  compare<ConverterByHand>(
      final_states(converter(members), periods, {"band", 0.1, 0.6, members}), [](double) { return 0.1; }, 1e-5, 1.0);
}
