#include "dae/small_inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

namespace saltus {

SmallInverse::SmallInverse(int n)
    : n_(n),
      rows_(2 * static_cast<std::size_t>(n) * static_cast<std::size_t>(n)),
      inverse_(static_cast<std::size_t>(n) * static_cast<std::size_t>(n)),
      sum_(static_cast<std::size_t>(n)) {}

bool SmallInverse::invert(std::span<const double> matrix) {
  return regular_ = invert_any(matrix);
}

bool SmallInverse::invert_any(std::span<const double> matrix) {
  switch (n_) {
    case 2:
      return invert(std::integral_constant<std::size_t, 2>(), matrix.data());
    case 3:
      return invert(std::integral_constant<std::size_t, 3>(), matrix.data());
    case 4:
      return invert(std::integral_constant<std::size_t, 4>(), matrix.data());
    case 5:
      return invert(std::integral_constant<std::size_t, 5>(), matrix.data());
    case 6:
      return invert(std::integral_constant<std::size_t, 6>(), matrix.data());
    default:
      return invert(static_cast<std::size_t>(n_), matrix.data());
  }
}

/// `n`: a number, or one that the compiler knows.
template <class Size>
bool SmallInverse::invert(Size n, const double* matrix) {
  const std::size_t width = 2 * n;
  double* const rows = rows_.data();
  for (std::size_t i = 0; i < n; ++i) {
    double* const row = rows + i * width;
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
  sign_ = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(rows[i * width + k]) > std::abs(rows[pivot * width + k])) pivot = i;
    double* const chosen = rows + k * width;
    if (pivot != k) std::swap_ranges(chosen, chosen + width, rows + pivot * width);
    if (!(std::abs(chosen[k]) > 1e-15) || !std::isfinite(chosen[k])) return false;
    if ((chosen[k] < 0.0) != (pivot != k)) sign_ = -sign_;
    // columns from first on: where the number of rows is known, all of them, in loops of a length that is known too
    constexpr bool known = !std::is_same_v<Size, std::size_t>;
    const std::size_t first = known ? 0 : k + 1;
    const double reciprocal = 1.0 / chosen[k];
    for (std::size_t j = first; j < width; ++j) chosen[j] *= reciprocal;
    for (std::size_t i = 0; i < n; ++i) {
      double* const row = rows + i * width;
      const double factor = row[k];
      if (i == k || factor == 0.0) continue;
      for (std::size_t j = first; j < width; ++j) row[j] -= factor * chosen[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) inverse_[j * n + i] = rows[i * width + n + j];
  return true;
}

double SmallInverse::norm() const {
  const auto n = static_cast<std::size_t>(n_);
  double largest = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum += std::abs(inverse_[j * n + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

void SmallInverse::apply(std::span<double> b) const {
  const auto n = static_cast<std::size_t>(n_);
  if (!regular_) return std::fill(b.begin(), b.end(), std::numeric_limits<double>::quiet_NaN());
  std::fill(sum_.begin(), sum_.end(), 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    if (b[i] == 0.0) continue;
    const double* column = inverse_.data() + i * n;
    for (std::size_t j = 0; j < n; ++j) sum_[j] += column[j] * b[i];
  }
  std::copy(sum_.begin(), sum_.end(), b.begin());
}

}  // namespace saltus
