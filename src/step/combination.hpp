// Linear combinations of stages: what methods with many stages do most in large systems.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace saltus {

/// The same for a few variables: the compiler knows their number.
template <std::size_t n>
void add_small_combination(const double* u, const double* weights, int count, const double* base, double* sum) {
  double s[n];
  for (std::size_t j = 0; j < n; ++j) s[j] = base == nullptr ? 0.0 : base[j];
  int i = 0;
  for (; i + 4 <= count; i += 4, u += 4 * n)
    for (std::size_t j = 0; j < n; ++j)
      s[j] += (weights[i] * u[j] + weights[i + 1] * u[n + j]) +
              (weights[i + 2] * u[2 * n + j] + weights[i + 3] * u[3 * n + j]);
  for (; i < count; ++i, u += n)
    for (std::size_t j = 0; j < n; ++j) s[j] += weights[i] * u[j];
  for (std::size_t j = 0; j < n; ++j) sum[j] = s[j];
}

/// sum = base + weights_0 u_0 + … for `count` vectors of length n that stand behind each other; a null base is zero, and
/// base may be sum itself. In pieces that stay in the cache, four vectors at a time; always in the same order, so that
/// the same input gives the same bits.
inline void add_combination(const double* vectors, std::size_t n, const double* weights, int count, const double* base,
                            std::span<double> sum) {
  if (n == 2) return add_small_combination<2>(vectors, weights, count, base, sum.data());
  if (n == 3) return add_small_combination<3>(vectors, weights, count, base, sum.data());
  if (n == 4) return add_small_combination<4>(vectors, weights, count, base, sum.data());
  constexpr std::size_t piece = 1024;
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t length = std::min(piece, n - first);
    double* const s = sum.data() + first;
    if (base == nullptr)
      std::fill(s, s + length, 0.0);
    else if (base != sum.data())
      std::copy_n(base + first, length, s);
    const double* u = vectors + first;
    int i = 0;
    for (; i + 4 <= count; i += 4, u += 4 * n) {
      const double a = weights[i], b = weights[i + 1], c = weights[i + 2], d = weights[i + 3];
      const double *v = u + n, *w = v + n, *x = w + n;
      for (std::size_t j = 0; j < length; ++j) s[j] += (a * u[j] + b * v[j]) + (c * w[j] + d * x[j]);
    }
    for (; i < count; ++i, u += n)
      if (const double a = weights[i]; a != 0.0)
        for (std::size_t j = 0; j < length; ++j) s[j] += a * u[j];
  }
}

}  // namespace saltus
