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

  void start(const Step& step);
  /// True if all guards of a mode are proved to be on their sides before a crossing. `left`: the guard that begins the
  /// step at zero, -1: none. `enclosed(guard, part)` may prove what bounds do not.
  template <class Enclosed>
  bool all_stay(const std::vector<signed char>& sides, const flight::Crossing& crossing, int left,
                Enclosed&& enclosed) {
    for (std::size_t k = 0; k < sides.size(); ++k) {
      if (sides[k] == 0 || tape_.affine[k]) continue;
      const flight::StepPart part{0.0, crossing.guard < 0 ? 1.0 : crossing.u, static_cast<int>(k) == left,
                                  static_cast<int>(k) == crossing.guard};
      const auto find = [&](const flight::StepPart& piece, flight::GuardRange& range) {
        return this->find(k, piece, range);
      };
      if (!flight::stays(sides[k], part, find, [&](const flight::StepPart& piece) { return enclosed(k, piece); }))
        return false;
    }
    return true;
  }

 private:
  bool find(std::size_t guard, const flight::StepPart& part, flight::GuardRange& range);

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
