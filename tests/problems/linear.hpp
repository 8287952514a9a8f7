// Linear and small analytic problems.
//
// Kunkel, Mehrmann, Differential-Algebraic Equations, EMS 2006, examples 3.1 and 3.2: the pencil (E(t), A(t)) says
// nothing about solvability. The rotating Jordan blocks are made here: a nilpotent block of size k (index k) in
// coordinates that turn with time.
#pragma once

#include <cmath>

#include "problems/problem.hpp"

namespace saltus::problems {

/// Regular pencil for every t, solution not unique.
inline Problem regular_pencil_not_unique() {
  Recorder r;
  const auto x = r.variables("x1 x2");
  const Expr t = r.time();
  r.equation(-t * der(x[0]) + t * t * der(x[1]) + x[0]);
  r.equation(-der(x[0]) + t * der(x[1]) + x[1]);
  return {"regular pencil, not unique", r.system(), 0.5, {1.0, 1.0}, {1, 0, 1, 1, 1, 3}};
}

/// Singular pencil for every t, unique solution.
inline Problem singular_pencil_unique() {
  Recorder r;
  const auto x = r.variables("x1 x2");
  const Expr t = r.time();
  r.equation(x[0] - t * x[1] - sin(t));
  r.equation(der(x[0]) - t * der(x[1]) - 2.0 * cos(t));
  return {"singular pencil, unique", r.system(), 0.5, {1.0, 1.0}, {1, 0, 2, 0, 0, 4}};
}

/// A nilpotent block of size `block` and one differential equation z' = -z + sin t, in turning coordinates x = Q(t) z,
/// equations mixed by a turning P(t). Index `block`, one degree of freedom; the structural analysis sees an ODE. In z
/// the block reads z_2' = z_1 + f_1, …, 0 = z_block + f_block, so z_block = -f_block and z_k = z_{k+1}' - f_k;
/// rotating_block_solution evaluates it.
inline Problem rotating_block(int block) {
  Recorder r;
  const int n = block + 1;
  std::vector<Expr> z, zd;
  for (int k = 0; k < n; ++k) {
    z.push_back(r.variable("x" + std::to_string(k + 1)));
    zd.push_back(der(z.back()));
  }
  const Expr t = r.time();
  const auto turn = [&](int i, int j, double w) {
    const Expr c = cos(w * t), s = sin(w * t), zi = z[i], zj = z[j], di = zd[i], dj = zd[j];
    z[i] = c * zi + s * zj;
    z[j] = c * zj - s * zi;
    zd[i] = c * di + s * dj + w * (c * zj - s * zi);
    zd[j] = c * dj - s * di - w * (c * zi + s * zj);
  };
  for (int k = 0; k + 1 < n; ++k) turn(k, k + 1, 0.7 + 0.3 * k);
  std::vector<Expr> e;
  for (int k = 0; k + 1 < block; ++k) e.push_back(zd[k + 1] - z[k] - sin((k + 1.0) * t));
  e.push_back(-z[block - 1] - sin(block * t));
  e.push_back(zd[block] + z[block] - sin(t));
  for (int k = 0; k + 1 < n; ++k) {
    const Expr c = cos((0.4 + 0.2 * k) * t), s = sin((0.4 + 0.2 * k) * t), a = e[k], b = e[k + 1];
    e[k] = c * a + s * b;
    e[k + 1] = c * b - s * a;
  }
  for (const Expr& equation : e) r.equation(equation);
  const int mu = block - 1;
  return {"rotating block of index " + std::to_string(block),
          r.system(),
          0.3,
          std::vector<double>(static_cast<std::size_t>(n), 1.0),
          {mu, 1, block, 0, 0, (mu + 1) * n}};
}

/// The exact x(t) of rotating_block for a given value of its free component z_{block+1}(t).
inline std::vector<double> rotating_block_solution(int block, double t, double free_component) {
  // z_k = -sum_{i>=k} (d/dt)^{i-k} sin(i t), with d^q/dt^q sin(i t) = i^q sin(i t + q pi/2)
  std::vector<double> z(static_cast<std::size_t>(block) + 1, 0.0);
  for (int k = 1; k <= block; ++k)
    for (int i = k; i <= block; ++i) z[k - 1] -= std::pow(i, i - k) * std::sin(i * t + (i - k) * M_PI / 2.0);
  z[block] = free_component;
  for (int k = block - 1; k >= 0; --k) {  // x = Q z undoes the turns in the opposite order
    const double w = 0.7 + 0.3 * k, c = std::cos(w * t), s = std::sin(w * t), zi = z[k], zj = z[k + 1];
    z[k] = c * zi - s * zj;
    z[k + 1] = c * zj + s * zi;
  }
  return z;
}

/// x' = f(x, u), y = h(x) with the input among the variables: 3 equations for 4 variables.
inline Problem control_system() {
  Recorder r;
  const auto x = r.variables("a b u y");
  r.equation(der(x[0]) - x[1]);
  r.equation(der(x[1]) + sin(x[0]) - x[2]);
  r.equation(x[3] - x[0]);
  return {"control system", r.system(), 0.0, {0.6, -0.8, 0.4, 0.3}, {0, 2, 1, 1, 0, 3}};
}

/// One differential equation, one algebraic equation twice, one free variable, one vanishing equation: 4 equations, 3
/// variables, mixed.
inline Problem redundant_and_free() {
  Recorder r;
  const auto x = r.variables("x1 x2 x3");
  const Expr t = r.time();
  const Expr e1 = der(x[0]) + x[0] - t, e2 = x[1] - cos(t);
  r.equation(e1 + e2);
  r.equation(e1 - 2.0 * e2);
  r.equation(3.0 * e1 + t * e2);
  r.equation(e2 * exp(t) + 0.0 * x[2]);
  return {"redundant and free", r.system(), 0.4, {1.0, 1.0, 1.0}, {0, 1, 1, 1, 2, 2}};
}

/// Ranks hold on the solution set only: off it the second equation looks like a differential one.
inline Problem manifold_matters(double offset) {
  Recorder r;
  const auto x = r.variables("x1 x2");
  const Expr t = r.time();
  r.equation(x[0] - sin(t));
  r.equation((x[0] - sin(t)) * der(x[1]) + x[1] - cos(t));
  return {"manifold matters", r.system(), 0.5, {std::sin(0.5) + offset, 1.0}, {0, 0, 2, 0, 0, 2}};
}

}  // namespace saltus::problems
