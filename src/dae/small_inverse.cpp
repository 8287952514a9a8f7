#include "dae/small_inverse.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

SmallInverse::SmallInverse(int n)
    : n_(n),
      rows_(2 * static_cast<std::size_t>(n) * static_cast<std::size_t>(n)),
      inverse_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)),
      sum_(static_cast<std::size_t>(n)) {}

bool SmallInverse::invert(std::span<const double> matrix) {
  const auto n = static_cast<std::size_t>(n_), width = 2 * n;
  for (std::size_t i = 0; i < n; ++i) {
    double* row = rows_.data() + i * width;
    double size = 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      row[j] = matrix[j * n + i];
      row[n + j] = 0.0;
      size += std::abs(row[j]);
    }
    if (!(size > 0.0) || !std::isfinite(size)) return false;
    const double scale = 1.0 / size;
    row[n + i] = scale;
    for (std::size_t j = 0; j < n; ++j) row[j] *= scale;
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(rows_[i * width + k]) > std::abs(rows_[pivot * width + k])) pivot = i;
    double* const chosen = rows_.data() + k * width;
    if (pivot != k) std::swap_ranges(chosen, chosen + width, rows_.data() + pivot * width);
    if (!(std::abs(chosen[k]) > 1e-15) || !std::isfinite(chosen[k])) return false;
    const double reciprocal = 1.0 / chosen[k];
    for (std::size_t j = k + 1; j < width; ++j) chosen[j] *= reciprocal;
    for (std::size_t i = 0; i < n; ++i) {
      double* const row = rows_.data() + i * width;
      const double factor = row[k];
      if (i == k || factor == 0.0) continue;
      for (std::size_t j = k + 1; j < width; ++j) row[j] -= factor * chosen[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) inverse_[j * n + i] = rows_[i * width + n + j];
  return true;
}

void SmallInverse::apply(std::span<double> b) const {
  const auto n = static_cast<std::size_t>(n_);
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (b[i] == 0.0) continue;
    const double* column = inverse_.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) sum_[j] += column[j] * b[i];
  }
  std::copy(sum_.begin(), sum_.end(), b.begin());
}

}  // namespace saltus
