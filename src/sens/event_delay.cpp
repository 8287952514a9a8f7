// An event that comes later by d is a run that is taken just before it, follows the equations of its mode up to the
// time of the event plus d, and goes on from there: a guard that has passed zero already fires at once. With
// T(d), the time of the later event, (T(d) - T(d/2)) / (d/2) is its derivative up to O(d), and extrapolation from three
// values of d removes two orders.
#include "sens/event_delay.hpp"

#include <algorithm>
#include <cmath>

#include "hybrid/consistency.hpp"

namespace saltus {

namespace {

constexpr double longest = 1e-3;  // of the time between two events: the largest delay
constexpr int substeps = 8;       // of the fourth order, over less than that

/// Follows one mode from a state, without its guards.
class Follow {
 public:
  Follow(const CompiledModel& model, const SimulatorState& from)
      : model_(model), system_(model_.system(from.mode)), from_(from) {}

  std::optional<SimulatorState> until(double t) {
    SimulatorState to = from_;
    to.t = t;
    to.memory.clear();
    if (!system_.structure().explicit_ode) return follow_constraints(to);
    const double h = (t - from_.t) / substeps;
    std::vector<double> k1(to.x.size()), k2(k1), k3(k1), k4(k1), x(to.x);
    for (int step = 0; step < substeps; ++step) {
      const double now = from_.t + step * h;
      const auto at = [&](double share, const std::vector<double>& k) {
        for (std::size_t j = 0; j < x.size(); ++j) x[j] = to.x[j] + share * h * k[j];
      };
      system_.rhs(now, to.x, k1);
      at(0.5, k1);
      system_.rhs(now + 0.5 * h, x, k2);
      at(0.5, k2);
      system_.rhs(now + 0.5 * h, x, k3);
      at(1.0, k3);
      system_.rhs(now + h, x, k4);
      for (std::size_t j = 0; j < x.size(); ++j) to.x[j] += h / 6.0 * (k1[j] + 2.0 * k2[j] + 2.0 * k3[j] + k4[j]);
    }
    if (from_.mode.on_surfaces()) system_.project(t, to.x);
    system_.rhs(t, to.x, to.xp);
    return finite(to) ? std::optional(to) : std::nullopt;
  }

 private:
  // the Taylor series of the solution, whose first four terms are enough over so short a time
  std::optional<SimulatorState> follow_constraints(SimulatorState& to) {
    constexpr int order = 4;
    std::vector<double> X, x = from_.x, xp = from_.xp;
    consistency_.refine(system_, from_.t, x, xp);
    if (!consistency_.series(system_, from_.t, x, order, X)) return std::nullopt;
    const double h = to.t - from_.t;
    const std::size_t n = x.size();
    for (std::size_t j = 0; j < n; ++j) {
      double value = 0.0, slope = 0.0;
      for (int k = order; k >= 0; --k) value = value * h + X[static_cast<std::size_t>(k) * n + j];
      for (int k = order; k >= 1; --k) slope = slope * h + k * X[static_cast<std::size_t>(k) * n + j];
      to.x[j] = value;
      to.xp[j] = slope;
    }
    consistency_.refine(system_, to.t, to.x, to.xp);
    return finite(to) ? std::optional(to) : std::nullopt;
  }

  static bool finite(const SimulatorState& s) {
    const auto is_finite = [](double v) { return std::isfinite(v); };
    return std::ranges::all_of(s.x, is_finite) && std::ranges::all_of(s.xp, is_finite);
  }

  CompiledModel model_;
  System& system_;
  const SimulatorState& from_;
  Consistency consistency_;
};

}  // namespace

EventKey key_of(const std::vector<Event>& events, std::size_t event, std::size_t first) {
  const Event& e = events[event];
  EventKey key{e.guards.front(), e.direction.front(), 0};
  for (std::size_t k = first; k <= event; ++k)
    for (std::size_t g = 0; g < events[k].guards.size(); ++g)
      key.number += events[k].guards[g] == key.guard && events[k].direction[g] == key.direction;
  return key;
}

std::optional<double> time_of(const std::vector<Event>& events, const EventKey& key, std::size_t first) {
  std::size_t left = key.number;
  for (std::size_t k = first; k < events.size(); ++k)
    for (std::size_t g = 0; g < events[k].guards.size(); ++g)
      if (events[k].guards[g] == key.guard && events[k].direction[g] == key.direction && --left == 0)
        return events[k].t;
  return std::nullopt;
}

std::optional<double> delay_effect(const CompiledModel& model, const SimulateOptions& options, const Trajectory& run,
                                   std::size_t earlier, std::size_t later) {
  const std::vector<Event>& events = run.events();
  const double at = events[earlier].t, after = events[later].t;
  double since = run.t_start();
  for (const Event& e : events)
    if ((e.t - at) * (after - at) < 0.0) since = e.t;
  const double delay = longest * std::min(std::abs(after - at), std::abs(at - since)) * (after > at ? 1.0 : -1.0);
  if (delay == 0.0 || !std::isfinite(delay)) return std::nullopt;
  const EventKey key = key_of(events, later, earlier + 1);
  const auto system = std::make_shared<CompiledModel>(model);
  Simulator before(system, options);
  if (!before.advance_to(at - 0.5 * delay)) return std::nullopt;
  const SimulatorState state = before.state();
  Follow follow(model, state);
  const auto time_with = [&](double d) -> std::optional<double> {
    const std::optional<SimulatorState> moved = follow.until(at + d);
    if (!moved) return std::nullopt;
    Simulator rest(system, options, *moved);
    std::size_t seen = 0;
    std::size_t left = key.number;
    bool running = true;
    while (running) {
      running = rest.step();
      const std::vector<Event>& found = rest.trajectory().events();
      for (; seen < found.size(); ++seen) {
        if (found[seen].t == moved->t) continue;  // the earlier event itself
        for (std::size_t g = 0; g < found[seen].guards.size(); ++g)
          if (found[seen].guards[g] == key.guard && found[seen].direction[g] == key.direction && --left == 0)
            return found[seen].t;
      }
    }
    return std::nullopt;
  };
  // slopes of T over [d/2, d] belong to the middle, 3/4 d
  std::vector<double> times;
  for (const double share : {1.0, 0.5, 0.25, 0.125}) {
    const auto t = time_with(share * delay);
    if (!t) return std::nullopt;
    times.push_back(*t);
  }
  double slope[3];
  for (int k = 0; k < 3; ++k) slope[k] = (times[k] - times[k + 1]) / (delay * std::pow(0.5, k + 1));
  for (int level = 1; level < 3; ++level)
    for (int k = 2; k >= level; --k) slope[k] += (slope[k] - slope[k - 1]) / (std::pow(2.0, level) - 1.0);
  return slope[2];
}

}  // namespace saltus
