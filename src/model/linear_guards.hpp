// Guards that are affine in t and x: their coefficients, as functions of data and locks.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// A copy shares the code and has memory of its own.
class LinearGuards {
 public:
  /// Finds those of the guards whose derivatives with respect to t and x depend on data and locks alone. Guards must not use external
  /// functions.
  LinearGuards(const Expr& time, std::span<const Expr> variables, std::span<const Expr> guards, const std::vector<Expr>& data,
               const std::vector<Expr>& locks, const ProgramOptions& options);

  /// Whether coefficients depend on data or locks.
  bool change() const { return !places_.empty(); }
  /// Their coefficients for these values.
  std::span<const LinearGuard> at(std::span<const double> data, std::span<const double> locks);

 private:
  struct Place {
    std::size_t guard;  // in guards_
    int term;           // -2: the constant, -1: the coefficient of t, else the number of a variable's coefficient
  };
  void put(const Place& place, double value);

  std::vector<LinearGuard> guards_;
  std::vector<Place> places_;  // of the coefficients that are not numbers
  RunnableProgram program_;
  std::vector<double> values_;
};

}  // namespace saltus
