// The dry-friction oscillator x'' + x = sin(w t) - F sign(x') (Piiroinen and Kuznetsov 2008, section 4.1) in closed form between its events,
// which are found by steps of 0.01 and bisection.
#pragma once

#include <cmath>

namespace saltus::problems {

/// The end of a motion and how many events it had.
struct FrictionOscillator {
  int events = 0;  // crossings, beginnings and ends of sticking
  double x = 0.0, v = 0.0;
};

/// Not for w = 1 (resonance).
inline FrictionOscillator friction_oscillator(double F, double w, double stop, double x, double v) {
  FrictionOscillator result;
  double t = 0.0;
  int s = v > 0 ? 1 : v < 0 ? -1 : 0;  // 0: sticks
  const auto pull = [&](double time) { return std::sin(w * time) - x; };
  if (s == 0 && std::abs(pull(0.0)) > F) s = pull(0.0) > 0 ? 1 : -1;
  while (t < stop) {
    if (s == 0) {
      // sticks until |sin(w t) - x| = F
      double a = t;
      while (a < stop && std::abs(pull(a + 0.01)) <= F) a += 0.01;
      if (a >= stop) break;
      double b = a + 0.01;
      for (int k = 0; k < 60; ++k) (std::abs(pull(0.5 * (a + b))) <= F ? a : b) = 0.5 * (a + b);
      if (b > stop) break;
      t = b;
      s = pull(t) > 0 ? 1 : -1;
      v = 0.0;
      ++result.events;
      continue;
    }
    // x = p(t) + A cos(t - t0) + B sin(t - t0), p = sin(w t)/(1 - w^2) - F s
    const double c = 1.0 / (1.0 - w * w), t0 = t;
    const double A = x - c * std::sin(w * t0) + F * s, B = v - c * w * std::cos(w * t0);
    const auto speed = [&](double time) { return c * w * std::cos(w * time) - A * std::sin(time - t0) + B * std::cos(time - t0); };
    const auto place = [&](double time) {
      return c * std::sin(w * time) - F * s + A * std::cos(time - t0) + B * std::sin(time - t0);
    };
    double a = t0 + 1e-5;  // it moves away from zero at once
    double b = a + 0.01;
    for (; a < stop && speed(b) * s > 0.0; b = a + 0.01) a = b;
    if (a < stop)
      for (int k = 0; k < 60; ++k) (speed(0.5 * (a + b)) * s > 0.0 ? a : b) = 0.5 * (a + b);
    if (b > stop) {
      x = place(stop);
      v = speed(stop);
      break;
    }
    x = place(b);
    v = 0.0;
    t = b;
    ++result.events;
    s = std::abs(pull(t)) <= F ? 0 : pull(t) > 0 ? 1 : -1;
  }
  result.x = x;
  result.v = v;
  return result;
}

}  // namespace saltus::problems
