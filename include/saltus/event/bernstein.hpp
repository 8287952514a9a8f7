// Bernstein: a polynomial on [0, 1] whose coefficients enclose its values, and the isolation of its roots.
//
//   p(s) = sum_i b_i C(n,i) s^i (1-s)^(n-i):  min b_i <= p(s) <= max b_i on [0, 1], so a sign test on the coefficients
//   is a proof.
//
// Every polynomial carries a noise level: the function that it stands for may differ from it by that much, and values
// below it have no sign. Nothing here allocates.
#pragma once

#include <array>
#include <span>

namespace saltus {

/// A polynomial of degree at most 16 in Bernstein form on [0, 1].
struct Bernstein {
  static constexpr int max_degree = 16;

  int degree = 0;
  double noise = 0.0;                         ///< absolute; |p - the true function| <= noise
  std::array<double, max_degree + 1> b = {};  ///< b[0] … b[degree]

  /// From p(s) = sum_k c_k s^k. Throws UsageError above degree 16 or if c is empty.
  static Bernstein from_monomial(std::span<const double> c, double noise = 0.0);
  /// From p(s) = sum_k a_k T_k(2s - 1). Throws UsageError above degree 16 or if a is empty.
  static Bernstein from_chebyshev(std::span<const double> a, double noise = 0.0);

  /// p(s), by de Casteljau's scheme.
  double value(double s) const;
  /// p(s); `slope` receives p'(s).
  double value(double s, double& slope) const;
  /// The largest |b_i|, a bound of |p|.
  double magnitude() const;
  /// Replaces p by p(s)/s, taking b_0 for zero; the degree falls by one, the noise rises by the factor 2 n^2 that the
  /// slope of a polynomial allows. A polynomial of degree 0 stays as it is.
  void deflate_start();
};

/// What lies in a root cell. "Below resolution" means closer together than the noise lets one see.
enum class RootKind {
  simple,         ///< exactly one root, and p changes its sign
  odd,            ///< p changes its sign within the cell, with a slope (or an odd number of roots) below resolution
  even,           ///< p has the same sign on both sides: a touch, or a pair of roots below resolution
  zero,           ///< p has no sign from 0 to 1: zero throughout, as far as the noise lets one see
  zero_at_start,  ///< p has no sign from 0 to the end of the cell
  zero_at_end,    ///< p has no sign from the beginning of the cell to 1
};

/// A part of [0, 1] that contains roots. Signs are 0 where the cell reaches the end of [0, 1] without p having a sign.
struct RootCell {
  double low = 0.0;
  double high = 0.0;
  RootKind kind = RootKind::simple;
  signed char before = 0;  ///< sign of p left of the cell
  signed char after = 0;   ///< sign of p right of the cell
};

/// The roots of a polynomial from left to right. Outside the cells the sign of p is proved.
struct RootCells {
  static constexpr int capacity = 3 * Bernstein::max_degree;

  std::array<RootCell, capacity> cell;
  int count = 0;
  signed char first_sign = 0;  ///< the first sign that p has, 0 if it has none
  bool complete = true;  ///< false: more cells than `capacity` (those that are there are right), or coefficients that
                         ///< are no numbers

  const RootCell* begin() const { return cell.data(); }
  const RootCell* end() const { return cell.data() + count; }
};

/// Isolates all roots on [0, 1] by Descartes' rule of signs and bisection.
/// With `until_negative` the search ends where p is first known to be negative: the last cell, if any, is the way
/// there.
void isolate_roots(const Bernstein& p, RootCells& roots, bool until_negative = false);

/// The root in a simple or odd cell, to a part of the noise and of the rounding errors of p; `slope` receives p' there.
double root_in(const Bernstein& p, const RootCell& cell, double& slope);

}  // namespace saltus
