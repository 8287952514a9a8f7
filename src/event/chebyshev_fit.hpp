// Fits on nested Chebyshev grids: 9, 17 and 33 points, the coarser ones contained in the finer ones.
#pragma once

#include <saltus/event/bernstein.hpp>

namespace saltus {

constexpr int finest_grid = 32;  // intervals of the finest grid

/// Point j of the finest grid in [0, 1], increasing, with 0 and 1 at its ends: (1 - cos(j pi / 32)) / 2.
double grid_point(int j);

/// Coefficients a_0 … a_8 of the interpolant sum a_k T_k(2s - 1) through the values u_0 … u_8 at every fourth point of the finest grid.
inline void chebyshev_coefficients_8(const double (&u)[9], double (&a)[9]) {
  constexpr double c1 = 0.92387953251128675613, c2 = 0.70710678118654752440,
                   c3 = 0.38268343236508977173;  // cos(i pi/8)
  const double e0 = 0.5 * (u[8] + u[0]), e1 = u[7] + u[1], e2 = u[6] + u[2], e3 = u[5] + u[3], e4 = u[4];
  const double o0 = 0.5 * (u[8] - u[0]), o1 = u[7] - u[1], o2 = u[6] - u[2], o3 = u[5] - u[3];
  const double p = o0 + c2 * o2, m = o0 - c2 * o2;
  a[0] = 0.125 * (e0 + e1 + e2 + e3 + e4);
  a[8] = 0.125 * (e0 - e1 + e2 - e3 + e4);
  a[2] = 0.25 * (e0 - e4 + c2 * (e1 - e3));
  a[6] = 0.25 * (e0 - e4 - c2 * (e1 - e3));
  a[4] = 0.25 * (e0 + e4 - e2);
  a[1] = 0.25 * (p + c1 * o1 + c3 * o3);
  a[7] = 0.25 * (p - c1 * o1 - c3 * o3);
  a[3] = 0.25 * (m + c3 * o1 - c1 * o3);
  a[5] = 0.25 * (m - c3 * o1 + c1 * o3);
}

/// Coefficients a_0 … a_N of the interpolant sum a_k T_k(2s - 1) through values at every (32/N)-th point of the finest
/// grid; N = 8, 16 or 32. Value j is u[j * stride].
void chebyshev_coefficients(int N, const double* u, int stride, double* a);

/// How well a grid resolves a function.
struct Fit {
  bool resolved = false;  ///< the coefficients fall below the noise and stay there: the function is known to the noise
  bool flat_tail =
      false;  ///< the last coefficients do not fall any more: noise, or a function that the grid is too coarse for
  double tail = 0.0;  ///< sum of the coefficients that p leaves out
  Bernstein p;        ///< noise: what the fit leaves out, the rounding of the fit, and the noise that was given
};

/// The polynomial of the lowest degree that represents the function to its noise; degree 16 if there is none.
/// a: N + 1 coefficients; magnitude: the largest |value|; noise: what the values may be wrong by.
void fit(int N, const double* a, double magnitude, double noise, Fit& result);

}  // namespace saltus
