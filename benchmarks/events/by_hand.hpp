// The yardstick: what a careful programmer writes for one automaton. Dormand-Prince 5(4) with everything inlined, its
// dense output for the zero of the one guard, and the step size kept across events. It knows nothing of a model, keeps
// nothing, proves nothing, and finds a zero only where the guard has changed its sign at the end of a step.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "measure.hpp"

namespace saltus::bench {

/// One step of size h from x with slope k[0].
template <int n>
struct HandStep {
  using State = std::array<double, n>;
  State x, end;
  std::array<State, 7> k;
  std::array<State, 4> d;  // the dense output is x + s (d0 + (1-s) (d1 + s (d2 + (1-s) d3)))

  template <class Rhs>
  double error_of(Rhs&& rhs, double t, double h, double rtol, double atol) {
    State w;
    const auto stage = [&](int i, double c, auto... a) {
      for (int j = 0; j < n; ++j) {
        int from = 0;
        double sum = 0.0;
        ((sum += a * k[from++][j]), ...);
        w[j] = x[j] + h * sum;
      }
      rhs(t + c * h, w.data(), k[i].data());
    };
    stage(1, 0.2, 0.2);
    stage(2, 0.3, 3.0 / 40, 9.0 / 40);
    stage(3, 0.8, 44.0 / 45, -56.0 / 15, 32.0 / 9);
    stage(4, 8.0 / 9, 19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729);
    stage(5, 1.0, 9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656);
    for (int j = 0; j < n; ++j)
      end[j] = x[j] + h * (35.0 / 384 * k[0][j] + 500.0 / 1113 * k[2][j] + 125.0 / 192 * k[3][j] -
                           2187.0 / 6784 * k[4][j] + 11.0 / 84 * k[5][j]);
    rhs(t + h, end.data(), k[6].data());
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
      const double e = h * (71.0 / 57600 * k[0][j] - 71.0 / 16695 * k[2][j] + 71.0 / 1920 * k[3][j] -
                            17253.0 / 339200 * k[4][j] + 22.0 / 525 * k[5][j] - 1.0 / 40 * k[6][j]);
      largest = std::max(largest, std::abs(e) / (atol + rtol * std::max(std::abs(x[j]), std::abs(end[j]))));
    }
    return largest;
  }
  void prepare_dense(double h) {
    for (int j = 0; j < n; ++j) {
      d[0][j] = end[j] - x[j];
      d[1][j] = h * k[0][j] - d[0][j];
      d[2][j] = d[0][j] - h * k[6][j] - d[1][j];
      d[3][j] = h * (-12715105075.0 / 11282082432 * k[0][j] + 87487479700.0 / 32700410799 * k[2][j] -
                     10690763975.0 / 1880347072 * k[3][j] + 701980252875.0 / 199316789632 * k[4][j] -
                     1453857185.0 / 822651844 * k[5][j] + 69997945.0 / 29380423 * k[6][j]);
    }
  }
  void dense(double s, State& y) const {
    for (int j = 0; j < n; ++j)
      y[j] = x[j] + s * (d[0][j] + (1.0 - s) * (d[1][j] + s * (d[2][j] + (1.0 - s) * d[3][j])));
  }
};

/// About e^(-1/5), from the bits of e: a controller needs no more.
inline double fifth_root_inverse(double e) {
  const double y = std::bit_cast<double>(0x4CB3333333333333 - std::bit_cast<std::int64_t>(e) / 5);
  return y * (1.2 - 0.2 * e * (y * y) * (y * y) * y);
}

template <class Automaton>
Work run_by_hand(Automaton p, double rtol, double atol, double first_step) {
  Work work;
  HandStep<Automaton::n> step;
  const auto rhs = [&](double at, const double* x, double* dx) {
    ++work.evaluations;
    p.rhs(at, x, dx);
  };
  const auto guard = [&](double at, const double* x) {
    ++work.guard_evaluations;
    return p.guard(at, x);
  };
  step.x = p.y;
  double t = 0.0, h = first_step;
  rhs(t, step.x.data(), step.k[0].data());
  bool restarted = true;  // the guard may be zero here
  while (!p.done) {
    const double limit = p.next_time();
    h = std::min(h, p.longest_step);
    const bool last = t + 1.0000001 * h >= limit;
    const double size = last ? limit - t : h;
    const double error = step.error_of(rhs, t, size, rtol, atol);
    const double factor = std::clamp(0.9 * fifth_root_inverse(std::max(error, 1e-8)), 0.2, 5.0);
    if (error > 1.0) {
      h = size * factor;
      continue;
    }
    ++work.steps;
    const double grown = last ? std::max(h, size * factor) : size * factor, end = last ? limit : t + size;
    if (guard(end, step.end.data()) < 0.0) {
      step.prepare_dense(size);
      auto y = step.x;
      // regula falsi with Illinois' correction, from a point at which the guard is positive
      double low = 0.0, high = 1.0, at_low = restarted ? 0.0 : guard(t, y.data()),
             at_high = guard(end, step.end.data());
      for (double s = 0.5; !(at_low > 0.0) && s > 1e-9; s *= 0.5) {
        step.dense(s, y);
        const double g = guard(t + s * size, y.data());
        if (g > 0.0)
          low = s, at_low = g;
        else
          high = s, at_high = g;
      }
      const double close = 1e-15 + 4e-16 * std::abs(end) / size;
      for (int count = 0, side = 0; count < 60 && high - low > close; ++count) {
        double s = (at_low * high - at_high * low) / (at_low - at_high);
        if (!(s > low && s < high)) s = 0.5 * (low + high);
        step.dense(s, y);
        const double g = guard(t + s * size, y.data());
        if (g > 0.0) {
          if (s - low < close) break;
          low = s, at_low = g;
          if (side > 0) at_high *= 0.5;
          side = 1;
        } else {
          const bool done = high - s < close || g == 0.0;
          high = s, at_high = g;
          if (done) break;
          if (side < 0) at_low *= 0.5;
          side = -1;
        }
      }
      step.dense(high, y);
      t += high * size;
      step.x = y;
      p.on_event(t, step.x.data());
      h = grown;
    } else {
      t = end;
      h = grown;
      step.x = step.end;
      step.k[0] = step.k[6];
      restarted = false;
      if (!last) continue;
      p.on_time(t, step.x.data());
    }
    rhs(t, step.x.data(), step.k[0].data());
    restarted = true;
  }
  work.events = p.events;
  work.error = p.error();
  return work;
}

}  // namespace saltus::bench
