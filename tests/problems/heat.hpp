// Heat conduction on a rod as a large sparse DAE of index 1: temperatures T, algebraic heat flows q = -k(T) dT/dx with
// k = 1 + T^2 / 10.
#pragma once

#include "problems/problem.hpp"

namespace saltus::problems {

/// n = 2 cells variables. Left end at temperature 1, right end isolated.
inline Problem heat_rod_model(int cells) {
  Recorder r;
  std::vector<Expr> T, q;
  std::vector<double> guess;
  for (int k = 0; k < cells; ++k) T.push_back(r.variable("T" + std::to_string(k + 1)));
  for (int k = 0; k < cells; ++k) q.push_back(r.variable("q" + std::to_string(k + 1)));
  const double h = 1.0 / cells;
  for (int k = 0; k < cells; ++k) r.equation(der(T[k]) + ((k + 1 < cells ? q[k + 1] : Expr(0.0)) - q[k]) / h);
  for (int k = 0; k < cells; ++k) {
    const Expr left = k > 0 ? T[k - 1] : Expr(1.0), mean = 0.5 * (left + T[k]);
    r.equation(q[k] + (1.0 + mean * mean / 10.0) * (T[k] - left) / h);
  }
  for (int k = 0; k < cells; ++k) guess.push_back(0.5);
  for (int k = 0; k < cells; ++k) guess.push_back(0.0);
  return {"heat rod", r.system(), 0.0, std::move(guess), {0, cells, cells, 0, 0, 2 * cells}};
}

}  // namespace saltus::problems
