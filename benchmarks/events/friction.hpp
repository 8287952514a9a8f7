// The dry-friction oscillator x'' + x = sin(w t) - F sign(x'), as a model and as an automaton of three modes by hand.
#pragma once

#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <numbers>

namespace saltus::bench {

inline constexpr double pi = std::numbers::pi;

struct Friction {
  static constexpr int n = 2;
  double F, w, end;
  double longest_step;  // while it sticks nothing moves, and solvers would step over the release
  std::array<double, 2> y{1.0, 1.0};
  int s = 1;  // +1, -1: slips; 0: sticks
  long events = 0;
  double exact = 0.0, reached = 0.0;
  bool done = false;

  Friction(double force, double frequency, int periods)
      : F(force), w(frequency), end(periods * 2.0 * pi / frequency), longest_step(0.05 * 2.0 * pi / frequency) {}
  double pull(double t, const double* x) const { return std::sin(w * t) - x[0]; }
  void rhs(double t, const double* x, double* dx) const {
    dx[0] = s == 0 ? 0.0 : x[1];
    dx[1] = s == 0 ? 0.0 : pull(t, x) - F * s;
  }
  double guard(double t, const double* x) const { return s == 0 ? F - std::abs(pull(t, x)) : s * x[1]; }
  double next_time() const { return end; }
  void on_event(double t, double* x) {
    const double now = pull(t, x);
    ++events;
    x[1] = 0.0;
    s = s != 0 && std::abs(now) <= F ? 0 : now > 0 ? 1 : -1;
    if (events > 1000000) done = true;  // locked up
  }
  void on_time(double, double* x) {
    reached = x[0];
    done = true;
  }
  double error() const { return std::abs(reached - exact); }
};

inline Model friction_model() {
  Model m("oscillator");
  const Expr F = m.parameter("F", 0.4), w = m.parameter("w", 1.0), x = m.variable("x", 1.0), v = m.variable("v", 1.0);
  m.equation(der(x) == v);
  m.equation(der(v) == sin(w * m.time()) - x - F * sign(v));
  return m;
}

}  // namespace saltus::bench
