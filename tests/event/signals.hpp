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

/// What a controller finds of one signal.
struct FoundEvents {
  std::vector<double> times;
  std::vector<signed char> directions;
  std::vector<GuardTouch> touches;
  bool resolved = true;
  bool strict = true;  ///< every bracket has strictly opposite signs
  double width = 0.0;  ///< of the widest bracket
  int at_start = 0;
};

struct Search {
  signed char side = 0;     ///< 0: that of the first value
  unsigned char known = 0;  ///< multiplicity of the zero at the start
  double noise = 0.0;
  EventOptions options = {};
};

/// All events over steps with the given ends, as a controller finds them: after each event the guard is locked on its
/// new side with a known root, and the step goes on from the end of the bracket.
inline FoundEvents events_over(const Signal& g, const std::vector<double>& ends, Search search = {}) {
  FoundEvents found;
  SignalSystem system({g});
  EventLocator locator(search.options);
  signed char side = search.side != 0 ? search.side : g(ends[0]) >= 0.0 ? 1 : -1;
  unsigned char known = search.known;
  LocatedEvent event;
  const double direction = ends.back() > ends.front() ? 1.0 : -1.0;
  double a = ends[0];
  for (std::size_t i = 1; i < ends.size(); ++i) {
    while (direction * (ends[i] - a) > 0.0 && found.times.size() < 10000) {
      const GuardWatch watch{side, known, search.noise};
      known = 0;
      const bool hit = locator.earliest(system, time_step(a, ends[i]), {&watch, 1}, event);
      found.resolved = found.resolved && locator.resolved();
      found.touches.insert(found.touches.end(), locator.touches().begin(), locator.touches().end());
      if (!hit) {
        a = ends[i];
        break;
      }
      found.times.push_back(0.5 * (event.t_before + event.t_after));
      found.directions.push_back(event.directions[0]);
      found.at_start += event.at_start;
      found.strict =
          found.strict && side * g(event.t_after) < 0.0 && (event.at_start || side * g(event.t_before) > 0.0);
      found.width = std::max(found.width, std::abs(event.t_after - event.t_before));
      side = static_cast<signed char>(-side);
      known = 1;
      a = event.t_after;
    }
  }
  return found;
}

inline FoundEvents events_in(const Signal& g, double t0, double t1, Search search = {}) {
  return events_over(g, {t0, t1}, search);
}

}  // namespace saltus::testing
