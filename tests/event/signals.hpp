// Guards that are given functions of time, for tests of event location.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace saltus::testing {

using Signal = std::function<double(double)>;

/// A system with one variable x = t and guards that are functions of x (not of the time argument, which the test can
/// thus check).
class SignalSystem final : public System {
 public:
  explicit SignalSystem(std::vector<Signal> signals) : signals_(std::move(signals)) {
    structure_.variables = structure_.equations = 1;
    structure_.guards = static_cast<int>(signals_.size());
  }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double>, std::span<const double> xp, std::span<double> F) override {
    F[0] = xp[0] - 1.0;
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double> Fxp) override {
    Fxp[0] = 1.0;
  }
  void guards(double t, std::span<const double>, std::span<const double>, std::span<double> g) override {
    ++calls;
    for (std::size_t k = 0; k < signals_.size(); ++k) g[k] = signals_[k](t);
  }
  long calls = 0;

 private:
  Structure structure_;
  std::vector<Signal> signals_;
};

/// The step from t0 to t1 of x = t.
inline DensePolynomial time_step(double t0, double t1) {
  DensePolynomial p;
  p.t0 = t0;
  p.h = t1 - t0;
  p.degree = 1;
  p.variables = 1;
  p.c = {t0, t1 - t0};
  return p;
}

/// All events of one signal over [t0, t1] in the given number of equal steps, as a controller would find them: after
/// each event the guard is locked on its new side with a known root, and the step goes on from there.
struct FoundEvents {
  std::vector<double> times;
  std::vector<signed char> directions;
  std::vector<GuardTouch> touches;
  bool proved = true;
  bool strict = true;  ///< every bracket has strictly opposite signs and is at most 2 units wide
  int at_start = 0;
};

inline FoundEvents all_events(const Signal& g, double t0, double t1, int steps = 1, signed char side = 0,
                              unsigned char known = 0, double noise = 0.0, EventOptions options = {}) {
  FoundEvents found;
  SignalSystem system({g});
  EventLocator locator(options);
  if (side == 0) side = g(t0) >= 0.0 ? 1 : -1;
  LocatedEvent event;
  const double largest = std::max(std::abs(t0), std::abs(t1));
  const double unit = std::nextafter(largest, 2.0 * largest) - largest;
  for (int i = 0; i < steps; ++i) {
    double a = i == 0 ? t0 : t0 + (t1 - t0) * i / steps;
    const double b = i + 1 == steps ? t1 : t0 + (t1 - t0) * (i + 1) / steps;
    for (int guard_against_loops = 0; guard_against_loops < 10000; ++guard_against_loops) {
      const GuardWatch watch{side, known, noise};
      known = 0;
      const DensePolynomial step = time_step(a, b);
      const bool hit = locator.earliest(system, step, {&watch, 1}, event);
      found.proved = found.proved && locator.proved();
      for (const GuardTouch& touch : locator.touches()) found.touches.push_back(touch);
      if (!hit) break;
      found.times.push_back(0.5 * (event.t_before + event.t_after));
      found.directions.push_back(event.directions[0]);
      found.at_start += event.at_start;
      found.strict = found.strict && side * g(event.t_after) < 0.0 &&
                     (event.at_start || side * g(event.t_before) > 0.0) &&
                     std::abs(event.t_after - event.t_before) <= 4.0 * unit;
      side = static_cast<signed char>(-side);
      known = 1;
      a = event.t_after;
      if ((t1 > t0) ? a >= b : a <= b) break;
    }
  }
  return found;
}

}  // namespace saltus::testing
