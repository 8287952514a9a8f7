// Compares the result of a run with the equations as they were written.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "hybrid/failure.hpp"

namespace saltus {

/// A residual is explained if changes of the values by some tolerances, and of derivatives by as much over the step,
/// change it by as much: the values then solve the equation with an error that the tolerance allows. The changes have
/// the same sizes and random signs in some trials, so that neither the number of equations nor their derivatives
/// matter.
class EquationWatch {
 public:
  EquationWatch(const SimulateOptions& options, std::span<const VariableInfo> variables);

  /// After an accepted step: whether it is to be looked at. The first steps of a run are, later ones now and then:
  /// values inside a step of an implicit method cost as much as a step.
  bool step_is_due(bool explicit_mode);
  /// The same after an event that was repeated, or that changed neither equations nor values.
  bool event_is_due();
  /// Where: a fraction between 0 and 1, another one each time.
  double place();

  /// The result at a point of a mode: observed values, and x and xp of its system. `step`: over which they were found.
  Failure check(HybridSystem& hybrid, const Mode& mode, double t, std::span<const double> values,
                std::span<const double> x, std::span<const double> xp, double step);
  /// The same for the relations: whether the mode has the truths that their functions have at the point, and whether
  /// the solution is on the surfaces on which the mode keeps it.
  Failure check_relations(HybridSystem& hybrid, const Mode& mode, double t, std::span<const double> values,
                          std::span<const double> x, std::span<const double> xp, double step);

 private:
  /// By how much residuals change within this number of tolerances, in `allowed_`.
  /// `evaluate(later, values, slopes, residuals)` gives residuals at a point, at a time that is later by so much.
  template <class Evaluate>
  void find_allowed(const Evaluate& evaluate, double tolerances, double time_error, HybridSystem& hybrid,
                    std::span<const double> values, std::span<const double> x, std::span<const double> xp, double step);
  /// The residual that is farthest beyond what the tolerance allows; -1: none is.
  int worst() const;

  double rtol_, atol_;
  double largest_atol_ = 0.0;  // of variables to which a larger one was given than their nominal values ask for
  std::int64_t steps_ = 0, next_ = 1, events_ = 0, next_event_ = 1;
  double place_ = 0.5;
  std::vector<WrittenResidual> residuals_, others_;
  std::vector<double> allowed_, values_, slopes_;
};

}  // namespace saltus
