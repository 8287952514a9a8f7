// The problems of the event benchmarks, twice: as Saltus models, and as hand-written automata for solvers that know neither modes nor resets.
//
// An automaton has n states, rhs(t, y, dy), one guard that is positive inside the mode, the time of the next time event, and what happens at
// both kinds of event. The constructor sets the start.
#pragma once

#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <limits>

namespace saltus::bench {

/// A ball that bounces without loss. Impact k comes at (2k - 1) sqrt(2 h/g).
struct Ball {
  static constexpr int n = 2;
  static constexpr double gravity = 9.81, height = 10.0;
  static constexpr double longest_step = 1.0;  // the field is so smooth that solvers would step over several impacts
  long wanted;
  std::array<double, 2> y{height, 0.0};
  long events = 0;
  double last_event = 0.0;
  bool done = false;

  explicit Ball(long impacts) : wanted(impacts) {}
  static double first_impact() { return std::sqrt(2.0 * height / gravity); }
  double stop() const { return (2.0 * static_cast<double>(wanted) - 0.5) * first_impact(); }

  void rhs(double, const double* x, double* dx) const {
    dx[0] = x[1];
    dx[1] = -gravity;
  }
  double guard(double, const double* x) const { return x[0]; }
  double next_time() const { return stop(); }
  void on_event(double t, double* x) {
    x[0] = 0.0;
    x[1] = -x[1];
    last_event = t;
    done = ++events == wanted;
  }
  void on_time(double, double*) { done = true; }
  double error() const { return std::abs(last_event / ((2.0 * static_cast<double>(wanted) - 1.0) * first_impact()) - 1.0); }

  static Model model(double floor = 0.0) {
    Model m("ball");
    const Expr h = m.variable("h", height), v = m.variable("v", 0.0);
    m.equation(der(h) == v);
    m.equation(der(v) == -gravity);
    m.when(h < floor).reset(v, -v);
    return m;
  }
};

/// Buck converter (di Bernardo, Garofalo, Glielmo, Vasca 1998): the switch is closed while gain (v - reference) lies below a sawtooth.
struct Buck {
  static constexpr int n = 2;
  static constexpr double R = 22.0, C = 47e-6, L = 20e-3, gain = 8.4, reference = 11.3, low = 3.8, high = 8.2, T = 400e-6, source = 20.0;
  static constexpr double longest_step = std::numeric_limits<double>::infinity();
  long periods;
  std::array<double, 2> y{12.0, 0.6};
  bool closed = true;
  long period = 0, events = 0;
  double last_event = 0.0, exact_last = 0.0;
  bool done = false;

  explicit Buck(long count) : periods(count) { closed = gain * (y[0] - reference) < low; }
  double stop() const { return static_cast<double>(periods) * T; }

  void rhs(double, const double* x, double* dx) const {
    dx[0] = (x[1] - x[0] / R) / C;
    dx[1] = ((closed ? source : 0.0) - x[0]) / L;
  }
  double over(double t, const double* x) const {
    return gain * (x[0] - reference) - (low + (high - low) * (t - static_cast<double>(period) * T) / T);
  }
  double guard(double t, const double* x) const { return closed ? -over(t, x) : over(t, x); }
  double next_time() const { return static_cast<double>(period + 1) * T; }
  void on_event(double t, double*) {
    closed = !closed;
    ++events;
    last_event = t;
  }
  void on_time(double, double* x) {
    if (++period == periods) {
      done = true;
      return;
    }
    const bool now = gain * (x[0] - reference) < low;
    if (now != closed) ++events;
    closed = now;
  }
  double error() const { return std::abs(last_event - exact_last) / T; }  // in periods

  static Model model() {
    Model m("buck");
    const Expr v = m.variable("v", 12.0), i = m.variable("i", 0.6), t = m.time();
    m.equation(der(v) == (i - v / R) / C);
    m.equation(der(i) == (if_else(gain * (v - reference) < low + (high - low) * mod(t, T) / T, Expr(source), Expr(0.0)) - v) / L);
    return m;
  }

  /// The last switching by the sawtooth, from closed forms in long double: a damped oscillation around (E, E/R).
  static double exact(long periods) {
    using Real = long double;
    const Real a = 1.0L / (2.0L * R * C), w = std::sqrt(1.0L / (Real(L) * C) - a * a);
    Real v = 12.0L, i = 0.6L, last = 0.0L;
    for (long k = 0; k < periods; ++k) {
      Real s = 0.0L;
      bool on = gain * (v - reference) < low;
      while (s < Real(T)) {
        const Real E = on ? source : 0.0L, p = v - E, q = i - E / R, B = ((q - p / R) / C + a * p) / w, from = s;
        const auto at = [&](Real time, Real& v1, Real& i1) {
          const Real d = time - from, decay = std::exp(-a * d), c = std::cos(w * d), e = std::sin(w * d);
          const Real value = decay * (p * c + B * e);
          v1 = E + value;
          i1 = E / R + C * decay * ((B * w - a * p) * c - (p * w + a * B) * e) + value / R;
        };
        const auto past = [&](Real time) {
          Real v1, i1;
          at(time, v1, i1);
          const Real over = gain * (v1 - reference) - (low + (Real(high) - low) * time / T);
          return on ? over > 0.0L : over < 0.0L;
        };
        Real before = s, after = s;
        bool found = false;
        while (after < Real(T) && !found) {
          before = after;
          after = std::min<Real>(after + Real(T) / 64, T);
          found = past(after);
        }
        if (found) {
          for (int b = 0; b < 64; ++b) (past((before + after) / 2) ? after : before) = (before + after) / 2;
          last = static_cast<Real>(k) * T + after;
        }
        Real v1, i1;
        at(after, v1, i1);
        v = v1;
        i = i1;
        s = after;
        if (found) on = !on;
      }
    }
    return static_cast<double>(last);
  }
};

/// x' = u - x with u = r - 3 x every 0.01; r is 1 or -1 for 100 samples by turns.
struct Sampled {
  static constexpr int n = 1;
  static constexpr double h = 0.01, K = 3.0;
  static constexpr double longest_step = std::numeric_limits<double>::infinity();
  long samples;
  std::array<double, 1> y{1.0};
  double u = 0.0, end = 0.0;
  long events = 0;
  double last_event = 0.0;
  bool done = false;

  explicit Sampled(long count) : samples(count) { sample(y[0]); }
  double stop() const { return (static_cast<double>(samples) - 0.5) * h; }
  void sample(double x) {
    u = (events % 200 < 100 ? 1.0 : -1.0) - K * x;
    ++events;
  }
  void rhs(double, const double* x, double* dx) const { dx[0] = u - x[0]; }
  double guard(double, const double*) const { return 1.0; }
  double next_time() const { return std::min(static_cast<double>(events) * h, stop()); }
  void on_event(double, double*) {}
  void on_time(double t, double* x) {
    last_event = t;
    if (events == samples) {
      done = true;
      end = x[0];
      return;
    }
    sample(x[0]);
  }
  double error() const {
    long double x = 1.0L;
    const long double a = std::exp(-static_cast<long double>(h)), half = std::exp(-0.5L * h);
    for (long k = 0; k < samples; ++k) {
      const long double to = (k % 200 < 100 ? 1.0L : -1.0L) - K * x, decay = k + 1 == samples ? half : a;
      x = decay * x + (1.0L - decay) * to;
    }
    return std::abs(end - static_cast<double>(x));
  }

  static Model model() {
    Model m("sampled");
    const Expr x = m.variable("x", 1.0), input = m.discrete("u", 0.0), k = m.discrete("k", 0.0);
    m.equation(der(x) == input - x);
    m.when(m.sample(0.0, h)).assign(input, if_else(mod(m.pre(k), 200.0) < 99.5, Expr(1.0), Expr(-1.0)) - K * x).assign(k, m.pre(k) + 1.0);
    return m;
  }
};

}  // namespace saltus::bench
