// Guards that are affine in t and x: their coefficients, as functions of data and locks.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// A copy shares the code and has memory of its own.
class LinearGuards {
  /// Guards with the numbers to which they refer. A copy has coefficients of its own.
  class Forms {
   public:
    Forms() = default;
    Forms(const Forms& other) { *this = other; }
    Forms& operator=(const Forms& other);

    std::vector<LinearGuard> guards;
    std::vector<double> coefficients;  // of all guards, one after the other
    std::shared_ptr<const std::vector<int>> variables;
    /// The guards refer to the lists, by the number of terms that each of them has.
    void refer(std::span<const int> terms);
  };

 public:
  /// Finds those of the guards whose derivatives with respect to t and x depend on data and locks alone. Guards must not use external
  /// functions.
  LinearGuards(const Expr& time, std::span<const Expr> variables, std::span<const Expr> guards, const std::vector<Expr>& data,
               const std::vector<Expr>& locks, const ProgramOptions& options);

  /// Whether coefficients depend on data or locks.
  bool change() const { return !places_.empty(); }
  /// Their coefficients for these values, until the next call.
  std::span<const LinearGuard> at(std::span<const double> data, std::span<const double> locks);
  /// The same as a value of its own.
  using Values = Forms;
  const Values& values() const { return forms_; }

 private:
  struct Place {
    std::size_t guard;
    std::ptrdiff_t term;  // -2: the constant, -1: the coefficient of t, else where a variable's coefficient is
  };
  void put(const Place& place, double value);

  Forms forms_;
  std::vector<Place> places_;  // of the coefficients that are not numbers
  RunnableProgram program_;
  std::vector<double> values_;
};

}  // namespace saltus
