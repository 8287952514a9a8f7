// One call that checks everything derived from a set of expressions against difference quotients and against each other.
#pragma once

#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

namespace saltus::suite {

/// f at the point, with locks as they are there.
struct Point {
  std::vector<Expr> symbols;
  std::vector<double> values;
};

using Groups = std::vector<std::vector<Expr>>;

namespace detail {

inline std::vector<double> evaluate(const Program& program, const std::vector<double>& x, const std::vector<double>& locks) {
  Workspace w = program.workspace();
  std::vector<double> out(program.tape().outputs[0].size());
  const double* in[] = {x.data(), locks.data()};
  double* const outs[] = {out.data()};
  program(in, outs, w);
  return out;
}

inline bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// Whether a number lies in an interval, with infinities and NaN counting as "anything".
inline bool enclosed(double x, const Interval& i) { return !std::isfinite(x) || i.contains(x); }

}  // namespace detail

/// Checks, for expressions f of the point's symbols (all finite there, and smooth in a neighbourhood of size 1e-4):
///  - Jacobian entries against central differences with Richardson extrapolation (error about 1e-10 relative),
///  - directional derivatives against the Jacobian,
///  - Taylor coefficients 1 and 2 along a straight line against J v and differences of J v, to order 6 against the series of a
///    shifted expansion point,
///  - the automatic back end, the interpreter and the lanes against each other, bit for bit,
///  - the interval enclosure of the point, and of a small box around it.
inline void check_derivatives(const std::vector<Expr>& f, const Point& point) {
  const auto& x = point.values;
  const std::size_t n = point.symbols.size(), m = f.size();
  const std::vector<Expr> locks = locks_of(f);
  const std::vector<std::vector<Expr>> inputs{point.symbols, locks};

  // locks as they are at the point: evaluated by a program in which nothing is locked
  const std::vector<std::vector<Expr>> free_inputs{point.symbols, {}}, lock_outputs{locks};
  const std::vector<double> lock_values = detail::evaluate(Program(free_inputs, lock_outputs), x, {});

  const SparseExprMatrix J = jacobian(f, point.symbols);
  std::vector<Expr> entries;
  for (const auto& entry : J.entries) entries.push_back(entry.value);
  const Program values(inputs, Groups{f}), jacobian_values(inputs, Groups{entries});
  const std::vector<double> y = detail::evaluate(values, x, lock_values);
  const std::vector<double> j = detail::evaluate(jacobian_values, x, lock_values);
  std::vector<double> dense(m * n, 0.0);
  for (std::size_t k = 0; k < J.entries.size(); ++k) dense[J.entries[k].row * n + J.entries[k].column] = j[k];

  // differences: D(h) = (f(x+h) - f(x-h))/2h has error O(h^2); (4 D(h/2) - D(h))/3 has O(h^4). With h = 2e-4 both the truncation
  // (h^4 ~ 1.6e-15 times the fifth derivative) and the rounding (eps/h ~ 1e-12) stay below the tolerance of 1e-8 relative.
  const auto difference = [&](std::size_t c, double h) {
    std::vector<double> plus = x, minus = x;
    plus[c] += h;
    minus[c] -= h;
    auto a = detail::evaluate(values, plus, lock_values);
    const auto b = detail::evaluate(values, minus, lock_values);
    for (std::size_t r = 0; r < m; ++r) a[r] = (a[r] - b[r]) / (plus[c] - minus[c]);
    return a;
  };
  for (std::size_t c = 0; c < n; ++c) {
    const double h = 2e-4 * std::max(1.0, std::abs(x[c]));
    const auto coarse = difference(c, h), fine = difference(c, h / 2);
    for (std::size_t r = 0; r < m; ++r) {
      const double quotient = (4.0 * fine[r] - coarse[r]) / 3.0;
      const double scale = std::abs(quotient) + std::abs(y[r]) + 1.0;
      EXPECT_NEAR(dense[r * n + c], quotient, 1e-8 * scale) << "df[" << r << "]/d" << point.symbols[c].name();
    }
  }

  // a direction that no symmetry of the model knows
  std::vector<double> v(n);
  std::vector<Expr> direction;
  for (std::size_t c = 0; c < n; ++c) direction.emplace_back(v[c] = std::cos(1.0 + 3.0 * static_cast<double>(c)));
  const Program directional(inputs, Groups{directional_derivative(f, point.symbols, direction)});
  const std::vector<double> jv = detail::evaluate(directional, x, lock_values);
  for (std::size_t r = 0; r < m; ++r) {
    double sum = 0.0, size = 1.0;
    for (std::size_t c = 0; c < n; ++c) {
      sum += dense[r * n + c] * v[c];
      size += std::abs(dense[r * n + c] * v[c]);
    }
    EXPECT_NEAR(jv[r], sum, 1e-12 * size) << "directional derivative of f[" << r << "]";
  }

  if (!values.has_external()) {
    constexpr int order = 8;
    TaylorWorkspace taylor(TaylorProgram(inputs, {true, false}, Groups{f}));
    const auto series = [&](const std::vector<double>& start, std::vector<std::vector<double>>& coefficients) {
      taylor.start(order);
      taylor.set(1, 0, lock_values);
      coefficients.assign(order + 1, std::vector<double>(m));
      for (int k = 0; k <= order; ++k) {
        if (k == 0) taylor.set(0, 0, start);
        if (k == 1) taylor.set(0, 1, v);
        taylor.advance(k);
        taylor.get(0, k, coefficients[k]);
      }
    };
    std::vector<std::vector<double>> c, shifted;
    series(x, c);
    // the series at x + s v, s small, must be the shifted polynomial
    const double s = 1e-3;
    std::vector<double> xs = x;
    for (std::size_t i = 0; i < n; ++i) xs[i] += s * v[i];
    series(xs, shifted);
    for (std::size_t r = 0; r < m; ++r) {
      EXPECT_NEAR(c[0][r], y[r], 1e-13 * (1.0 + std::abs(y[r])));
      EXPECT_NEAR(c[1][r], jv[r], 1e-11 * (1.0 + std::abs(jv[r])));
      for (int k = 0; k + 3 <= order; ++k) {
        // coefficient k after the shift: sum over i >= k of binomial(i, k) c_i s^(i-k); the tail beyond `order` is of size
        // binomial(order+1, k) c_order s^(order-k)
        double expected = 0.0, size = 1.0, binomial = 1.0, power = 1.0;
        for (int i = k; i <= order; ++i) {
          expected += binomial * c[i][r] * power;
          size += std::abs(binomial * c[i][r] * power);
          binomial = binomial * (i + 1) / (i + 1 - k);
          power *= s;
        }
        const double tail = 4.0 * binomial * (std::abs(c[order][r]) + 1.0) * power;
        // the symbols themselves carry a rounding error of eps when shifted, amplified by the next coefficient
        const double rounding = 1e-12 * (size + (k + 1) * std::abs(c[k + 1][r]));
        EXPECT_NEAR(shifted[k][r], expected, rounding + tail) << "Taylor coefficient " << k << " of f[" << r << "]";
      }
    }
    const auto box = [&](double radius) {
      std::vector<std::vector<Interval>> in(2);
      for (const double xi : x) in[0].emplace_back(xi - radius, xi + radius);
      for (const double l : lock_values) in[1].emplace_back(l);
      return values.enclose(in)[0];
    };
    const auto at_point = box(0.0), around = box(1e-3);
    for (std::size_t r = 0; r < m; ++r) {
      EXPECT_TRUE(detail::enclosed(y[r], at_point[r])) << "f[" << r << "]";
      EXPECT_TRUE(detail::enclosed(shifted[0][r], around[r])) << "f[" << r << "]";
    }
  }

  const Program interpreted(inputs, Groups{f}, {.backend = Backend::interpreter});
  const std::vector<double> by_interpreter = detail::evaluate(interpreted, x, lock_values);
  for (std::size_t r = 0; r < m; ++r) EXPECT_TRUE(detail::same_bits(y[r], by_interpreter[r])) << "f[" << r << "]";
  for (const int lanes : {4, 8}) {
    std::vector<double> in, in_locks, out(m * static_cast<std::size_t>(lanes));
    for (std::size_t k = 0; k < n; ++k) in.insert(in.end(), static_cast<std::size_t>(lanes), x[k]);
    for (const double l : lock_values) in_locks.insert(in_locks.end(), static_cast<std::size_t>(lanes), l);
    Workspace w = values.workspace(lanes);
    const double* ins[] = {in.data(), in_locks.data()};
    double* const outs[] = {out.data()};
    values(ins, outs, w);
    for (std::size_t r = 0; r < m; ++r)
      for (int l = 0; l < lanes; ++l)
        EXPECT_TRUE(detail::same_bits(y[r], out[r * static_cast<std::size_t>(lanes) + static_cast<std::size_t>(l)]));
  }
}

}  // namespace saltus::suite
