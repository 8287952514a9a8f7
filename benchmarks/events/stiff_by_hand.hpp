// The yardstick for stiff modes: what a careful programmer writes for one automaton. Rodas 4(3) (Hairer, Wanner,
// Solving Ordinary Differential Equations II, section VI.4) with everything inlined, its dense output for the zeros of
// guards. Equations are autonomous. It keeps nothing, and finds a zero only where a guard has changed its sign at the
// end of a step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "measure.hpp"

namespace saltus::bench {

/// LU decomposition with pivots, of constant size.
template <int n>
struct HandMatrix {
  std::array<std::array<double, n>, n> a;
  std::array<int, n> pivot;

  void factor() {
    for (int k = 0; k < n; ++k) {
      int p = k;
      for (int i = k + 1; i < n; ++i)
        if (std::abs(a[i][k]) > std::abs(a[p][k])) p = i;
      pivot[k] = p;
      if (p != k) std::swap(a[p], a[k]);
      a[k][k] = 1.0 / a[k][k];
      for (int i = k + 1; i < n; ++i) {
        a[i][k] *= a[k][k];
        for (int j = k + 1; j < n; ++j) a[i][j] -= a[i][k] * a[k][j];
      }
    }
  }
  void solve(std::array<double, n>& b) const {
    for (int k = 0; k < n; ++k) {
      if (pivot[k] != k) std::swap(b[k], b[pivot[k]]);
    }
    for (int i = 1; i < n; ++i)
      for (int k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    for (int i = n; i-- > 0;) {
      for (int k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
      b[i] *= a[i][i];
    }
  }
};

/// One step of size h from x, where the slope f and the Jacobian are known.
template <int n>
struct HandRosenbrock {
  using State = std::array<double, n>;
  State x, f, end;
  std::array<std::array<double, n>, n> jacobian;
  std::array<State, 6> u;
  std::array<State, 2> d;  // the dense output is (1-s) x + s (end + (1-s) (d0 + s d1))

  template <class Rhs>
  double error_of(Rhs&& rhs, double h, double rtol, const State& atol) {
    static constexpr double gamma = 0.25;
    HandMatrix<n> m;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) m.a[i][j] = (i == j ? 1.0 / (h * gamma) : 0.0) - jacobian[i][j];
    m.factor();
    const double per_step = 1.0 / h;
    State w;
    const auto stage = [&]<class... Weights>(int i, Weights... c) {
      if (i > 0) rhs(w.data(), u[i].data());
      for (int j = 0; j < n; ++j) {
        int from = 0;
        double sum = 0.0;
        ((sum += c * u[from++][j]), ...);
        u[i][j] += per_step * sum;
      }
      m.solve(u[i]);
    };
    const auto point = [&]<class... Weights>(Weights... a) {
      for (int j = 0; j < n; ++j) {
        int from = 0;
        double sum = 0.0;
        ((sum += a * u[from++][j]), ...);
        w[j] = x[j] + sum;
      }
    };
    u[0] = f;
    stage(0);
    point(1.544);
    stage(1, -5.6688);
    point(0.9466785280815826, 0.2557011698983284);
    stage(2, -2.430093356833875, -0.2063599157091915);
    point(3.314825187068521, 2.896124015972201, 0.9986419139977817);
    stage(3, -0.1073529058151375, -9.594562251023355, -20.47028614809616);
    point(1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950);
    stage(4, 7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160);
    for (int j = 0; j < n; ++j) w[j] += u[4][j];
    stage(5, 8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054);
    double largest = 0.0;
    for (int j = 0; j < n; ++j) {
      end[j] = w[j] + u[5][j];
      largest = std::max(largest, std::abs(u[5][j]) / (atol[j] + rtol * std::max(std::abs(x[j]), std::abs(end[j]))));
    }
    return largest;
  }
  void prepare_dense() {
    for (int j = 0; j < n; ++j) {
      d[0][j] = 10.12623508344586 * u[0][j] - 7.487995877610167 * u[1][j] - 34.80091861555747 * u[2][j] -
                7.992771707568823 * u[3][j] + 1.025137723295662 * u[4][j];
      d[1][j] = -0.6762803392801253 * u[0][j] + 6.087714651680015 * u[1][j] + 16.43084320892478 * u[2][j] +
                24.76722511418386 * u[3][j] - 6.594389125716872 * u[4][j];
    }
  }
  void dense(double s, State& y) const {
    for (int j = 0; j < n; ++j) y[j] = (1.0 - s) * x[j] + s * (end[j] + (1.0 - s) * (d[0][j] + s * d[1][j]));
  }
};

/// An automaton has n states, rhs(x, dx), jacobian(x, J), the tolerance of each state, guards(t, x, g) that are
/// positive inside the mode, the time of the next time event, and what happens at both kinds of event, which return the
/// size of the step behind them, or 0: the last one is kept.
template <class Automaton>
Work run_stiff_by_hand(Automaton p, double rtol, double first_step) {
  constexpr int n = Automaton::n, guards = Automaton::guard_count;
  Work work;
  HandRosenbrock<n> step;
  const auto rhs = [&](const double* x, double* dx) {
    ++work.evaluations;
    p.rhs(x, dx);
  };
  const auto guard = [&](double t, const double* x, int k) {
    ++work.guard_evaluations;
    return p.guard(t, x, k);
  };
  const std::array<double, n> atol = p.atol(rtol);
  step.x = p.y;
  double t = 0.0, h = first_step;
  while (!p.done) {
    rhs(step.x.data(), step.f.data());
    p.jacobian(step.x.data(), step.jacobian);
    const double limit = p.next_time();
    double size, error, factor;
    bool last;
    for (;;) {
      last = t + 1.000001 * h >= limit;
      size = last ? limit - t : h;
      error = step.error_of(rhs, size, rtol, atol);
      factor = std::clamp(0.9 / std::sqrt(std::sqrt(std::max(error, 1e-8))), 1.0 / 6.0, 5.0);
      if (error <= 1.0) break;
      h = size * factor;
    }
    ++work.steps;
    const double grown = last ? std::max(h, size * factor) : size * factor, end = last ? limit : t + size;
    int fired = -1;
    double where = 1.0;
    bool dense = false;
    for (int k = 0; k < guards; ++k) {
      double at_high = guard(end, step.end.data(), k);
      if (!(at_high < 0.0)) continue;
      if (!dense) step.prepare_dense();
      dense = true;
      auto y = step.x;
      double low = 0.0, high = 1.0, at_low = guard(t, y.data(), k);
      for (double s = 0.5; !(at_low > 0.0) && s > 1e-9; s *= 0.5) {
        step.dense(s, y);
        const double g = guard(t + s * size, y.data(), k);
        if (g > 0.0)
          low = s, at_low = g;
        else
          high = s, at_high = g;
      }
      for (int count = 0, side = 0; count < 60 && high - low > 1e-15; ++count) {
        double s = (at_low * high - at_high * low) / (at_low - at_high);
        if (!(s > low && s < high)) s = 0.5 * (low + high);
        step.dense(s, y);
        const double g = guard(t + s * size, y.data(), k);
        if (g > 0.0) {
          if (s - low < 1e-15) break;
          low = s, at_low = g;
          if (side > 0) at_high *= 0.5;
          side = 1;
        } else {
          const bool found = high - s < 1e-15 || g == 0.0;
          high = s, at_high = g;
          if (found) break;
          if (side < 0) at_low *= 0.5;
          side = -1;
        }
      }
      if (fired < 0 || high < where) fired = k, where = high;
    }
    double next = 0.0;
    if (fired >= 0) {
      auto y = step.x;
      step.dense(where, y);
      step.x = y;
      t += where * size;
      next = p.on_event(t, step.x.data(), fired);
    } else {
      t = end;
      step.x = step.end;
      if (last) next = p.on_time(t, step.x.data());
    }
    h = next > 0.0 ? next : grown;
  }
  work.events = p.events;
  work.error = p.error(step.x.data());
  return work;
}

}  // namespace saltus::bench
