// Two-mode automata with linear modes, solved exactly up to long double rounding: a second way to the events of random hybrid systems.
#pragma once

#include <saltus/model/model.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace saltus::testing {

using Real = long double;

/// x' = A x + b until c x > d, then x becomes R x + r in the other mode.
template <int n>
struct LinearMode {
  std::array<std::array<double, n>, n> A, R;
  std::array<double, n> b, c, r;
  double d;

  template <class Vector>
  Real guard(const Vector& x) const {
    Real g = -Real(d);
    for (int i = 0; i < n; ++i) g += Real(c[i]) * x[i];
    return g;
  }
  template <class Vector>
  Real slope(const Vector& x) const {
    Real g = 0;
    for (int i = 0; i < n; ++i) {
      Real f = b[i];
      for (int j = 0; j < n; ++j) f += Real(A[i][j]) * x[j];
      g += Real(c[i]) * f;
    }
    return g;
  }
};

template <int n>
struct LinearAutomaton {
  using State = std::array<Real, n>;

  std::array<LinearMode<n>, 2> modes;
  State start;

  struct Event {
    Real t;
    State after;
  };
  struct Solution {
    std::vector<Event> events;
    Real least_slope = 1e30L;   ///< at crossings
    Real least_margin = 1e30L;  ///< distance from zero of guards where they turn, and after resets
  };

  /// The flow over a time h, by the Taylor series of the exponential on a part of h and repeated squaring of the affine map.
  struct Flow {
    std::array<State, n> M;
    State v;

    Flow(const LinearMode<n>& mode, Real h) : M{}, v{} {
      int halvings = 0;
      while (std::abs(h) > 0.05L) h /= 2, ++halvings;
      // columns of exp(hA) and the integral of exp(sA) b, by series
      for (int column = 0; column <= n; ++column) {
        State term{}, sum{};
        if (column < n) {
          term[column] = 1;
          sum = term;
        }
        for (int k = 1; k <= 24; ++k) {
          State next{};
          for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) next[i] += Real(mode.A[i][j]) * term[j];
            if (column == n && k == 1) next[i] += mode.b[i];
            next[i] *= h / k;
          }
          term = next;
          for (int i = 0; i < n; ++i) sum[i] += term[i];
        }
        for (int i = 0; i < n; ++i) (column < n ? M[i][column] : v[i]) = sum[i];
      }
      for (; halvings > 0; --halvings) {
        const Flow half = *this;
        v = half(half.v);
        for (int j = 0; j < n; ++j) {
          State column{};
          for (int i = 0; i < n; ++i) column[i] = half.M[i][j];
          for (int i = 0; i < n; ++i) {
            M[i][j] = 0;
            for (int k = 0; k < n; ++k) M[i][j] += half.M[i][k] * column[k];
          }
        }
      }
    }
    State operator()(const State& x) const {
      State y = v;
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) y[i] += M[i][j] * x[j];
      return y;
    }
  };

  /// All events up to `stop`. Crossings are searched for on a grid of width 1/256; `least_margin` tells how near a guard comes to zero
  /// without crossing on it.
  Solution solve(Real stop) const {
    Solution result;
    constexpr Real grid = 1.0L / 256;
    const std::array<Flow, 2> flow{Flow(modes[0], grid), Flow(modes[1], grid)};
    State x = start;
    Real t = 0;
    int q = 0;
    result.least_margin = -modes[0].guard(x);
    while (t < stop) {
      const LinearMode<n>& mode = modes[q];
      const State next = flow[q](x);
      const Real before = mode.guard(x), after = mode.guard(next);
      if (after < 0) {
        // a turn inside the interval is seen by the slopes
        if (mode.slope(x) > 0 && mode.slope(next) < 0) {
          const Real turn = std::max(before, after) + (mode.slope(x) - mode.slope(next)) * grid;
          result.least_margin = std::min(result.least_margin, -turn);
        }
        x = next;
        t += grid;
        continue;
      }
      // Newton's method from the secant, kept inside the interval: slopes near zero are left to the caller's check of least_slope
      Real high = before < 0 ? grid * before / (before - after) : 0;
      for (int i = 0; i < 7; ++i) {
        const State there = Flow(mode, high)(x);
        high = std::clamp(high - mode.guard(there) / mode.slope(there), Real(0), grid);
      }
      t += high;
      if (t >= stop) break;
      const State hit = Flow(mode, high)(x);
      result.least_slope = std::min(result.least_slope, mode.slope(hit));
      for (int i = 0; i < n; ++i) {
        x[i] = mode.r[i];
        for (int j = 0; j < n; ++j) x[i] += Real(mode.R[i][j]) * hit[j];
      }
      q = 1 - q;
      result.least_margin = std::min(result.least_margin, -modes[q].guard(x));
      result.events.push_back({t, x});
      if (modes[q].guard(x) >= 0 || result.events.size() > 200) break;  // the margin says so
    }
    return result;
  }

  Model model() const {
    Model m("automaton");
    std::vector<Expr> x;
    for (int i = 0; i < n; ++i) x.push_back(m.variable("x" + std::to_string(i), static_cast<double>(start[i])));
    std::vector<ExplicitMode> explicit_modes{m.mode("A"), m.mode("B")};
    for (int q = 0; q < 2; ++q) {
      const LinearMode<n>& mode = modes[q];
      Expr guard = -mode.d;
      for (int i = 0; i < n; ++i) {
        Expr f = mode.b[i];
        for (int j = 0; j < n; ++j) f = f + mode.A[i][j] * x[j];
        explicit_modes[q].equation(der(x[i]) == f);
        guard = guard + mode.c[i] * x[i];
      }
      auto transition = explicit_modes[q].transition(guard > 0.0);
      transition.to(explicit_modes[1 - q]);
      for (int i = 0; i < n; ++i) {
        Expr value = mode.r[i];
        for (int j = 0; j < n; ++j) value = value + mode.R[i][j] * x[j];
        transition.reset(x[i], value);
      }
    }
    return m;
  }
};

}  // namespace saltus::testing
