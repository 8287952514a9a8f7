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

/// What decides where the entries leave a choice: the nominal values, or the sizes of X and of the forces F(t, x_[0],
/// 0). Start values say less about the size of a variable than its unit does, unless the units are bad.
enum class SizesFrom { nominal_values, values };

/// Entries below `threshold` times the largest of their row are ignored (as they are given, or as they come out scaled if
/// `unit_free`): they may be there by accident of the point only, and must not be scaled up then. So are entries in which terms cancel each other, which is what a
/// change by more than 1/`noise_factor` of themselves within 4 ulp says. Off the solution set one has to be cautious.
/// `unit_free`: the result changes with the units exactly as it should, up to rounding; otherwise factors are powers of
/// two.
struct ScalingRule {
  double threshold = 1e-14;
  SizesFrom sizes = SizesFrom::nominal_values;
  bool unit_free = false;
  double noise_factor = 50.0;
};
/// The rule for points that need not be consistent: six digits may have come from the point.
ScalingRule cautious(ScalingRule rule);
inline constexpr ScalingRule ordinary_units{}, sized{1e-14, SizesFrom::values},
    any_units{1e-14, SizesFrom::values, true};

/// What a scaling is made of, at one point.
struct PointEntries {
  std::vector<double> Fx, Fxp;
  std::vector<double> forces;  ///< F without derivatives: what drives the system
};

/// A second derivative of equation `row` with respect to `column` and `other`.
struct SecondDerivative {
  int row, column, other;
  double value;
};

/// The scaling from entries at X and some ulp beside it, for systems that are parts of others.
ArrayScaling scale_entries(const Structure& s, const PointEntries& at, const PointEntries& beside,
                           std::span<const double> X, std::span<const double> nominal,
                           std::span<const SecondDerivative> second, const ScalingRule& rule);

/// Its row factors alone, for given factors of variables and time.
void scale_rows(const Structure& s, const PointEntries& at, const PointEntries& beside, ArrayScaling& scaling);

/// Variables and time by Curtis and Reid's least squares on the logarithms of the entries of F_x and F_x' at
/// X = (x_[0], x_[1], …), then the equations (see scale_equations).
ArrayScaling scale_array(System& system, double t, std::span<const double> X, const ScalingRule& rule = ordinary_units);

/// Row factors for given factors of variables and time: the largest entry of each row of level 0 becomes about 1. A row
/// that is nothing but rounding noise (it changes by its own size when X changes by some ulp) is not blown up.
void scale_equations(System& system, double t, std::span<const double> X, ArrayScaling& scaling);

/// X with every value changed by 4 ulp, with signs from a fixed sequence: what changes much there is rounding noise.
std::vector<double> some_ulps_beside(std::span<const double> X);

/// Values that an iteration moved from `guess` (missing ones: 0) to within `noise` times its column factors of zero become
/// zero. Left as they are they would be taken for the sizes of their variables, and entries that contain them for small
/// units. Returns whether there were any.
bool remove_noise(std::span<const double> column, std::span<const double> guess, double noise, std::span<double> X);

/// Row factors of the array, rows(level) values, and column factors, columns(level) values.
std::vector<double> row_factors(const ArrayScaling& scaling, int level);
std::vector<double> column_factors(const ArrayScaling& scaling, int level);

/// a(i, j) := row[i] a(i, j) column[j].
void apply_factors(Matrix& a, std::span<const double> row, std::span<const double> column);

}  // namespace saltus
