// Proofs that guards which are not affine stay on their sides along a step. Interpolation does not see what happens
// between its points; bounds over pieces of the step (GuardBounds) do.
#pragma once

#include <cstddef>
#include <vector>

#include "flight/flight_code.hpp"

namespace saltus {

class StepBounds {
 public:
  /// A step: numbers of one kind lie `stride` apart.
  struct Step {
    double t, h;
    const double* x;      ///< where it began
    const double* dense;  ///< coefficients of the dense output
    const double* data;
    std::size_t stride = 1;
  };

  /// `degree`: of the dense output. The tape must outlive this.
  StepBounds(const FlightTape& tape, int degree);

  /// A part of a step, 0 <= low <= high <= 1. A guard that is zero at one end must move away from there all the time.
  struct Part {
    double low = 0.0, high = 1.0;
    bool leaves_zero = false, reaches_zero = false;  ///< the guard is zero at `low`, at `high`
  };

  void start(const Step& step);
  /// True if a guard is proved to be on its side in a part of the step. Bounds are tried first, on finer and finer
  /// pieces; `enclosed(part)` may prove what they do not.
  template <class Enclosed>
  bool stays(std::size_t guard, int side, const Part& part, Enclosed&& enclosed, int depth = 0) {
    constexpr int deepest = 6;
    const int place = tape_.bounds.places.empty() ? -1 : tape_.bounds.places[guard];
    if (place >= 0 && bounds_prove(static_cast<std::size_t>(place), side, part)) return true;
    if ((place < 0 || depth == deepest) && enclosed(part)) return true;
    if (depth == deepest) return false;
    const double middle = 0.5 * (part.low + part.high);
    return stays(guard, side, {part.low, middle, part.leaves_zero, false}, enclosed, depth + 1) &&
           stays(guard, side, {middle, part.high, false, part.reaches_zero}, enclosed, depth + 1);
  }
  /// The same for all guards of a mode before a crossing. `left`: the guard that begins the step at zero, -1: none.
  /// `enclosed(guard, part)`.
  template <class Enclosed>
  bool all_stay(const std::vector<signed char>& sides, const flight::Crossing& crossing, int left,
                Enclosed&& enclosed) {
    for (std::size_t k = 0; k < sides.size(); ++k) {
      if (sides[k] == 0 || tape_.affine[k]) continue;
      const Part part{0.0, crossing.guard < 0 ? 1.0 : crossing.u, static_cast<int>(k) == left,
                      static_cast<int>(k) == crossing.guard};
      if (!stays(k, sides[k], part, [&](const Part& piece) { return enclosed(k, piece); })) return false;
    }
    return true;
  }

 private:
  bool bounds_prove(std::size_t place, int side, const Part& part);
  void find(double low, double high);

  const FlightTape& tape_;
  int degree_;
  Step step_{};
  double low_ = 0.0, high_ = -1.0;       // the piece whose bounds are in out_
  std::vector<double> in_, out_, data_;  // all groups of the program, one after the other
  std::vector<const double*> groups_in_;
  std::vector<double*> groups_out_;
  Workspace work_;
};

}  // namespace saltus
