// Large systems whose structure is wrong or says nothing, with known characteristic values and, in part, solutions.
//
// The cell: p' + q' + p = w, p' + q' = 2 q. The structure sees two differential equations; in truth p = w - 2 q is a
// constraint, and q' = w' - 2 q. One degree of freedom, mu = 0, although F_x' is singular.
// The other cell: p' + q' + p = w, p + q = g. The structure counts one degree of freedom and index 1; in truth
// p = w - g', q = g - p: none, and mu = 1. If w and g are outputs of other cells, the first is needed as it is and the
// second once differentiated.
#pragma once

#include <cmath>

#include "problems/problem.hpp"

namespace saltus::problems {

enum class Cell { singular_mass, hidden_constraint, differentiating };

/// `count` cells, each driven by half the q of the one before, the first by sin t. `nonlinear` adds cubes of q.
inline Problem chain_of_cells(int count, Cell cell, bool nonlinear = false) {
  Recorder r;
  std::vector<double> guess;
  Expr before = sin(r.time());
  for (int k = 0; k < count; ++k) {
    const std::string number = std::to_string(k + 1);
    const Expr p = r.variable("p" + number), q = r.variable("q" + number);
    const Expr cube = nonlinear ? 0.1 * q * q * q : Expr(0.0);
    if (cell == Cell::singular_mass) {
      r.equation(der(p) + der(q) + p - before);
      r.equation(der(p) + der(q) - 2.0 * q - cube);
    } else {
      const bool into_constraint = cell == Cell::differentiating;
      r.equation(der(p) + der(q) + p - cube - (into_constraint ? Expr(0.0) : before));
      r.equation(p + q - (into_constraint ? before : cos(r.time())));
    }
    before = 0.5 * q;
    guess.push_back(0.3);
    guess.push_back(0.2);
  }
  const bool mass = cell == Cell::singular_mass;
  const int d = mass ? count : 0, mu = mass ? 0 : cell == Cell::hidden_constraint ? 1 : count;
  return {"chain of cells", r.system(), 0.2, std::move(guess), {mu, d, 2 * count - d, 0, 0, (mu + 1) * 2 * count}};
}

/// A heat rod (see heat.hpp) of n = 2 cells + 4 variables, its left end at the temperature q of a cell with singular mass
/// that sin t drives, and another such cell driven by the right end: one of them before, one behind the certified part.
/// With q(0) = q0: q(t) = (q0 - 2/5) exp(-2 t) + (2 cos t + sin t) / 5.
inline Problem heat_rod_between_cells(int cells, Cell first = Cell::singular_mass) {
  Recorder r;
  const auto cell = r.variables("p q");
  const bool mass = first == Cell::singular_mass;
  r.equation(der(cell[0]) + der(cell[1]) + cell[0] - sin(r.time()));
  r.equation(mass ? der(cell[0]) + der(cell[1]) - 2.0 * cell[1] : cell[0] + cell[1] - cos(r.time()));
  std::vector<double> guess{0.3, 0.2};
  std::vector<Expr> T, flow;
  for (int k = 0; k < cells; ++k) T.push_back(r.variable("T" + std::to_string(k + 1)));
  for (int k = 0; k < cells; ++k) flow.push_back(r.variable("flow" + std::to_string(k + 1)));
  const double h = 1.0 / cells;
  for (int k = 0; k < cells; ++k) r.equation(der(T[k]) + ((k + 1 < cells ? flow[k + 1] : Expr(0.0)) - flow[k]) / h);
  for (int k = 0; k < cells; ++k) {
    const Expr left = k > 0 ? T[k - 1] : cell[1], mean = 0.5 * (left + T[k]);
    r.equation(flow[k] + (1.0 + mean * mean / 10.0) * (T[k] - left) / h);
  }
  guess.resize(guess.size() + static_cast<std::size_t>(cells), 0.5);
  guess.resize(guess.size() + static_cast<std::size_t>(cells), 0.0);
  const auto last = r.variables("p_last q_last");
  r.equation(der(last[0]) + der(last[1]) + last[0] - T.back());
  r.equation(der(last[0]) + der(last[1]) - 2.0 * last[1] - 0.1 * last[1] * last[1] * last[1]);
  guess.push_back(0.1);
  guess.push_back(0.1);
  const int n = 2 * cells + 4, d = cells + (mass ? 2 : 1), mu = mass ? 0 : 1;
  return {"heat rod between cells", r.system(), 0.2, std::move(guess), {mu, d, n - d, 0, 0, (mu + 1) * n}};
}

inline double heat_rod_cell(double t, double start) {
  return (start - 0.4) * std::exp(-2.0 * t) + 0.4 * std::cos(t) + 0.2 * std::sin(t);
}

/// The heat rod with `extra` of its flow equations written twice, the second time multiplied by 1 + T^2, and, if asked
/// for, one more equation that does restrict it.
inline Problem redundant_heat_rod(int cells, int extra, bool restricted = false) {
  Recorder r;
  std::vector<Expr> T, flow;
  for (int k = 0; k < cells; ++k) T.push_back(r.variable("T" + std::to_string(k + 1)));
  for (int k = 0; k < cells; ++k) flow.push_back(r.variable("flow" + std::to_string(k + 1)));
  const double h = 1.0 / cells;
  for (int k = 0; k < cells; ++k) r.equation(der(T[k]) + ((k + 1 < cells ? flow[k + 1] : Expr(0.0)) - flow[k]) / h);
  std::vector<Expr> law;
  for (int k = 0; k < cells; ++k) {
    const Expr left = k > 0 ? T[k - 1] : Expr(1.0), mean = 0.5 * (left + T[k]);
    law.push_back(flow[k] + (1.0 + mean * mean / 10.0) * (T[k] - left) / h);
    r.equation(law.back());
  }
  for (int k = 0; k < extra; ++k) r.equation((1.0 + T[k] * T[k]) * law[k], "again " + std::to_string(k + 1));
  if (restricted) r.equation(T[0] - T[1], "the restriction");
  std::vector<double> guess(static_cast<std::size_t>(cells), 0.5);
  guess.resize(2 * guess.size(), 0.0);
  return {"redundant heat rod", r.system(), 0.0, std::move(guess), {0, cells, cells, 0, extra, 2 * cells}};
}

}  // namespace saltus::problems
