// Interpolation in Chebyshev points and truncation of the series where it reaches the noise (Trefethen, Approximation
// Theory and Approximation Practice, SIAM 2013, chapters 3 and 4; Aurentz and Trefethen 2017 for where to cut). The
// coefficients beyond the cut are what the points between those of the next coarser grid say about its interpolant: a
// fit is accepted only if they vanish.
#include "chebyshev_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/finite.hpp"

namespace saltus {
namespace {

struct Grid {
  std::array<double, finest_grid + 1> point;
  // cosine[i] = cos(i pi / 32)
  std::array<double, 2 * finest_grid> cosine;

  Grid() {
    for (int i = 0; i < 2 * finest_grid; ++i) {
      // By symmetry from the first octant, so that cos(pi/2) and its like are exact.
      const int r = i <= finest_grid ? i : 2 * finest_grid - i;
      const int q = r <= finest_grid / 2 ? r : finest_grid - r;
      const double angle = q * std::numbers::pi / finest_grid;
      const double value = q <= finest_grid / 4 ? std::cos(angle) : std::sin(std::numbers::pi / 2 - angle);
      cosine[static_cast<std::size_t>(i)] = r <= finest_grid / 2 ? value : -value;
    }
    for (int j = 0; j <= finest_grid; ++j)
      point[static_cast<std::size_t>(j)] = 0.5 - 0.5 * cosine[static_cast<std::size_t>(j)];
  }
};

const Grid& grid() {
  static const Grid made;
  return made;
}

}  // namespace

double grid_point(int j) {
  return grid().point[static_cast<std::size_t>(j)];
}

void chebyshev_coefficients(int N, const double* u, int stride, double* a) {
  if (N == 8) {
    double values[9], coefficients[9];
    for (int j = 0; j <= 8; ++j) values[j] = u[j * stride];
    chebyshev_coefficients_8(values, coefficients);
    std::copy(coefficients, coefficients + 9, a);
    return;
  }
  // y_j = value at cos(j pi / N). Folding even and odd parts halves the work:
  // a_k = (2/N) sum'' y_j cos(k j pi / N), where '' halves the first and the last term, and a_0, a_N are halved.
  std::array<double, finest_grid / 2 + 1> even, odd;
  const int half = N / 2;
  for (int j = 0; j < half; ++j) {
    const double right = u[(N - j) * stride], left = u[j * stride];
    even[static_cast<std::size_t>(j)] = right + left;
    odd[static_cast<std::size_t>(j)] = right - left;
  }
  even[0] *= 0.5;
  odd[0] *= 0.5;
  even[static_cast<std::size_t>(half)] = u[half * stride];
  odd[static_cast<std::size_t>(half)] = 0.0;
  const auto& cosine = grid().cosine;
  const int turn = finest_grid / N;
  for (int k = 0; k <= N; ++k) {
    const auto& part = k % 2 == 0 ? even : odd;
    double sum = 0.0;
    const auto turns = static_cast<unsigned>(k * turn);
    unsigned angle = 0;
    for (int j = 0; j <= half; ++j) {
      sum += part[static_cast<std::size_t>(j)] * cosine[angle];
      angle = (angle + turns) % (2 * finest_grid);
    }
    a[k] = sum * (2.0 / N);
  }
  a[0] *= 0.5;
  a[N] *= 0.5;
}

void fit(int N, const double* a, double magnitude, double noise, Fit& result) {
  // Rounding leaves up to about eps * magnitude in each coefficient.
  const double negligible = noise + N * eps * magnitude;
  // The cut must leave out two coefficients at least: they are the witnesses.
  const int highest = std::min(N - 2, Bernstein::max_degree);
  int m = N;
  double tail = 0.0;
  while (m > 0 && (m > highest || tail + std::abs(a[m]) <= negligible)) {
    tail += std::abs(a[m]);
    --m;
  }
  result.resolved = tail <= negligible;
  double before = 0.0, last = 0.0;
  for (int k = N / 2 + 1; k <= 3 * N / 4; ++k) before = std::max(before, std::abs(a[k]));
  for (int k = 3 * N / 4 + 1; k <= N; ++k) last = std::max(last, std::abs(a[k]));
  result.flat_tail = last > 0.1 * before;
  result.tail = tail;
  result.p =
      Bernstein::from_chebyshev({a, static_cast<std::size_t>(m) + 1}, 2.0 * tail + noise + 4.0 * eps * magnitude);
}

}  // namespace saltus
