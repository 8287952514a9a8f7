#include "dae/small_inverse.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace saltus {
namespace {

/// By expansion along the first column.
double determinant(const std::vector<double>& a, std::size_t n) {
  if (n == 1) return a[0];
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> minor;
    for (std::size_t j = 1; j < n; ++j)
      for (std::size_t k = 0; k < n; ++k)
        if (k != i) minor.push_back(a[j * n + k]);
    sum += (i % 2 == 0 ? 1.0 : -1.0) * a[i] * determinant(minor, n - 1);
  }
  return sum;
}

TEST(SmallInverse, GivesIdentityNormAndSignForAllSizes) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (std::size_t n = 1; n <= 8; ++n) {
    SmallInverse inverse(static_cast<int>(n));
    int negative = 0;
    for (int round = 0; round < 40; ++round) {
      std::vector<double> a(n * n);  // by columns
      for (double& value : a) value = random() % 3 == 0 && n > 2 ? 0.0 : std::ldexp(normal(random), round % 5);
      const double det = determinant(a, n);
      if (std::abs(det) < 1e-3) continue;
      ASSERT_TRUE(inverse.invert(a)) << n;
      EXPECT_EQ(inverse.determinant_sign(), det > 0.0 ? 1 : -1) << n;
      negative += det < 0.0 ? 1 : 0;
      double norm = 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (std::size_t i = 0; i < n; ++i) sum += std::abs(inverse.entries()[j * n + i]);
        norm = std::max(norm, sum);
        for (std::size_t i = 0; i < n; ++i) {
          double product = 0.0, size = 1.0;
          for (std::size_t k = 0; k < n; ++k) {
            product += inverse.entries()[k * n + i] * a[j * n + k];
            size += std::abs(inverse.entries()[k * n + i] * a[j * n + k]);
          }
          EXPECT_NEAR(product, i == j ? 1.0 : 0.0, 1e-11 * size) << n;
        }
      }
      EXPECT_EQ(inverse.norm(), norm);
    }
    EXPECT_GT(negative, 5) << n;
    EXPECT_FALSE(inverse.invert(std::vector<double>(n * n, n == 1 ? 0.0 : 1.0)));
    EXPECT_FALSE(inverse.invert(std::vector<double>(n * n, NAN)));
  }
}

}  // namespace
}  // namespace saltus
