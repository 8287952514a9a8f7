// Factors of c F_x' + F_x for several step sizes. Where the Jacobian is constant, and dear to factorise, step sizes are
// taken from a grid: they come again, behind a switch that only adds a source too, and their factors are still there.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "step/shifted_matrix.hpp"

namespace saltus {

/// Steps that differ by rounding errors of their times alone have the same factors: what is left of the difference,
/// times the change of the solution in a step, is far below all tolerances.
inline bool same_step(double a, double b) {
  return std::abs(a - b) <= 1e-10 * std::abs(b);
}

class KeptFactors {
 public:
  /// A run goes on behind an event with the Jacobian that it had.
  void note_restart() { ++restarts_; }
  /// Whether sizes of steps come again, and factors cost more than the solutions of a step, so that shorter steps pay
  /// for those that are kept.
  bool worthwhile(const ShiftedMatrix<double>& matrix) const {
    constexpr int often = 16;
    constexpr double dear = 16.0;  // entries per unknown
    return restarts_ >= often && matrix.analysed() && !matrix.iterates() && matrix.fill_per_unknown() >= dear;
  }
  /// The longest step of the grid that is not longer.
  static double on_grid(double h) {
    constexpr double steps_per_octave = 2.0, rounding = 1e-9;
    return std::exp2(std::floor(steps_per_octave * std::log2(h) + rounding) / steps_per_octave);
  }

  /// Factors for a step of this size, if there are some, change places with those of `matrix`.
  bool find(double h, ShiftedMatrix<double>& matrix, double& factorised_for) {
    for (Kept& kept : kept_) {
      if (kept.h == 0.0 || !same_step(kept.h, h)) continue;
      std::swap(kept.matrix, matrix);
      std::swap(kept.h, factorised_for);
      kept.used = ++clock_;
      return true;
    }
    return false;
  }
  /// Others will be made in `matrix`: keeps its factors, instead of those that have not been used for the longest time
  /// where the room is used up.
  void keep(ShiftedMatrix<double>& matrix, double& factorised_for, const Structure& structure) {
    constexpr double most_bytes = 1e8, bytes_of_entry = 48.0;  // as measured, with orderings and patterns
    const double size = bytes_of_entry * matrix.fill_per_unknown() * structure.variables;
    if (factorised_for == 0.0 || !same_step(on_grid(std::abs(factorised_for)), std::abs(factorised_for))) return;
    if (static_cast<double>(kept_.size() + 1) * size <= most_bytes) kept_.emplace_back();
    if (kept_.empty()) return;
    Kept& oldest = *std::ranges::min_element(kept_, {}, &Kept::used);
    std::swap(oldest.matrix, matrix);
    oldest.h = std::exchange(factorised_for, 0.0);
    oldest.used = ++clock_;
    matrix.set_structure(structure);
  }
  /// The Jacobian is another one.
  void forget() {
    kept_.clear();
    restarts_ = 0;
  }

 private:
  struct Kept {
    ShiftedMatrix<double> matrix;
    double h = 0.0;         // 0: no factors
    std::int64_t used = 0;  // when, counted in uses
  };
  std::vector<Kept> kept_;
  std::int64_t clock_ = 0;
  int restarts_ = 0;
};

}  // namespace saltus
