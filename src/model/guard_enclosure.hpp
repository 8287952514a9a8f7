// Enclosures of guards over a piece of a step.
#pragma once

#include <saltus/model/recorded_system.hpp>
#include <saltus/program/taylor_enclosure.hpp>

#include <span>
#include <vector>

namespace saltus {

/// A copy shares the code and has memory of its own.
class GuardEnclosure {
 public:
  struct Values {
    std::span<const double> data, locks;
  };

  /// `read`: the variables that the guards read; empty: there are none, or all count.
  GuardEnclosure(const RecordedEquations& equations, std::span<const Expr> derivatives, std::span<const int> read,
                 bool with_derivatives);

  /// See System::enclose_guards. False: the guards call foreign code.
  bool enclose(Interval t, int order, std::span<const Interval> X, const Values& values, std::span<const int> which,
               std::span<Interval> G);

 private:
  std::size_t guards_ = 0, variables_ = 0;  // sizes of the rows of G and X
  bool with_derivatives_ = false, available_ = true;
  std::vector<int> data_, locks_;  // those that occur in guards
  TaylorEnclosure work_;
};

}  // namespace saltus
