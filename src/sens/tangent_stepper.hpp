// Steps of the equations for derivatives along a recorded solution, s' = f_x(t, x(t)) s + f_d dd in an explicit mode.
// All directions take a step together (lanes.hpp).
#pragma once

#include <saltus/hybrid/trajectory.hpp>
#include <saltus/step/tableau.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sens/lanes.hpp"
#include "sens/tangent_code.hpp"

namespace saltus {

/// A recorded solution in one mode.
class SolutionPath {
 public:
  /// Keeps a reference.
  explicit SolutionPath(const std::vector<Trajectory::Step>& steps) : steps_(&steps) {}

  /// The step at a time. On a border between two of them: the one that was asked for last, or the earlier one.
  const Trajectory::Step& step(double t);
  /// The step that begins at a time, or covers it.
  const Trajectory::Step& step_from(double t);

 private:
  const std::vector<Trajectory::Step>* steps_;
  std::size_t last_ = 0;
};

/// What does not change in a mode: numbers of the data and locks, and by direction changes of the data.
struct TangentValues {
  std::vector<double> data, locks;
  std::vector<double> spread_data, spread_locks;  ///< the same in all lanes
  std::vector<double> changes;                    ///< block by block, as Lanes of the data
  Lanes lanes;                                    ///< of the variables
  std::uint64_t number;                           ///< of these values; no other ones have it

  /// A change of a number that is not zero.
  struct Change {
    std::size_t direction, place;
    double value;
  };
  /// Those of a direction and of all that come after it, in their order.
  std::span<const Change> changes_from(std::size_t direction) const;

  TangentValues(const Lanes& layout, std::vector<double> data, std::span<const double> locks,
                std::span<const std::vector<double>> data_changes);
  const double* block_changes(std::size_t block) const { return changes.data() + block * data.size() * lanes.lanes(); }

 private:
  std::vector<Change> sparse_;
};

class TangentStepper {
 public:
  virtual ~TangentStepper() = default;
  /// From t to t + h: s (of the size of the lanes) becomes s1, and `error` estimates the error of s1. False: a number
  /// is not finite, or the equations of the step are singular.
  virtual bool step(double t, double h, SolutionPath& path, const TangentValues& values, std::span<const double> s,
                    std::span<double> s1, std::span<double> error) = 0;
  /// The error behaves like h to this power.
  virtual int error_exponent() const = 0;
  /// Takes away from the error of the last step what fast parts of the solution, which die out in it, bring in: their
  /// estimates are much larger than their errors. Where there is nothing to do it stays as it is.
  virtual void filter(std::span<double> /*error*/) {}
};

/// The derivative of a step of an explicit Runge-Kutta method. Null where its tape would be too long.
std::unique_ptr<TangentStepper> make_explicit_tangents(const TangentCode& code, const Tableau& tableau,
                                                       const Lanes& lanes);

}  // namespace saltus
