// Sequential quadratic programming with a filter in a trust region, for functions that are smooth in pieces.
//
// A piece is an order of events. A step is first made where the order stays, as far as derivatives of event times tell;
// at the border of a piece the search looks across it. What a refused trial in another piece has found is used: the
// model of that side, then the larger of both.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "optimise/problem.hpp"
#include "optimise/quadratic_programme.hpp"

namespace saltus {

struct SearchOptions {
  double tolerance = 1e-6;
  int last_run = 300;       ///< the search ends when the problem has counted so many
  bool keeps_order = true;  ///< steps first keep the order of events
  bool exact = false;       ///< squares are the whole objective: no second derivatives are guessed
  std::function<bool(const OptimiseIteration&)> progress = {};  ///< false: end
};

struct SearchEnd {
  enum class Why : unsigned char {
    stationary,
    at_kink,      ///< stationary within a piece, and no better point was seen across its borders
    infeasible,   ///< no step lowers the violations
    no_step,      ///< the trust region has shrunk to nothing
    no_progress,  ///< many steps changed nothing
    budget,
    interrupted,
    no_run,  ///< at the guess
  };
  Why why = Why::no_run;
  std::optional<Evaluation> best;  ///< feasible with the least objective, otherwise with the least violation
  std::string kink;                ///< what holds the search
  Eigen::VectorXd multipliers;     ///< of the rows, at the end; empty: not known
  int iterations = 0;
};

SearchEnd search(Problem& problem, const Eigen::VectorXd& from, const SearchOptions& options);

/// Whether a point is better: feasible to the tolerance with a smaller objective, or less violated.
bool better(const Evaluation& a, const Evaluation& b, double tolerance);

}  // namespace saltus
