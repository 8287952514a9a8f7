// Scaling of a derivative array: without it no rank decision means anything.
#pragma once

#include <saltus/dae/derivative_array.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Factors, all powers of two: coefficient x_[i]_j is variable[j] * time^-i times its scaled value, row F_[j]_i is
/// multiplied by equation[i] * time^j. The same factors serve every level, which keeps the structure of the array.
struct ArrayScaling {
  std::vector<double> variable, equation;
  double time = 1.0;
};

/// Variables and time by Curtis and Reid's least squares on the logarithms of the entries of F_x and F_x' at
/// X = (x_[0], x_[1], …), with the nominal values of the system as the gentle default; then the equations (see
/// scale_equations). Entries below `threshold` times the largest of their row are ignored: off the solution set they
/// may be there by accident only, and must not be scaled up then.
inline constexpr double cautious_threshold = 1e-6, full_threshold = 1e-14;
ArrayScaling scale_array(System& system, double t, std::span<const double> X, double threshold = full_threshold);

/// Row factors for given factors of variables and time: the largest entry of each row of level 0 becomes about 1. A row
/// that is nothing but rounding noise (it changes by its own size when X changes by some ulp) is not blown up.
void scale_equations(System& system, double t, std::span<const double> X, ArrayScaling& scaling);

/// Row factors of the array, rows(level) values, and column factors, columns(level) values.
std::vector<double> row_factors(const ArrayScaling& scaling, int level);
std::vector<double> column_factors(const ArrayScaling& scaling, int level);

/// a(i, j) := row[i] a(i, j) column[j].
void apply_factors(Matrix& a, std::span<const double> row, std::span<const double> column);

}  // namespace saltus
