#include "step/combination.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace saltus {
namespace {

TEST(Combination, IsTheSumInAllNumbersOfStagesAndLengths) {
  for (const std::size_t n : {1u, 3u, 511u, 512u, 513u, 1500u})
    for (int count = 1; count <= 9; ++count) {
      std::vector<double> u(n * static_cast<std::size_t>(count)), base(n), a(static_cast<std::size_t>(count)), b(a.size());
      for (std::size_t k = 0; k < u.size(); ++k) u[k] = std::sin(1.0 + static_cast<double>(k));
      for (std::size_t j = 0; j < n; ++j) base[j] = std::cos(static_cast<double>(j));
      for (int k = 0; k < count; ++k) a[k] = 1.0 + k, b[k] = 2.0 - k;
      std::vector<double> one(n, 7.0), first(n, 7.0), second(n, 7.0), plain(n, 7.0);
      const Stages stages{u.data(), n};
      combine<1>(stages, count, {{{a.data(), base.data(), one.data()}}});
      combine<1>(stages, count, {{{a.data(), nullptr, plain.data()}}});
      combine<2>(stages, count, {{{a.data(), base.data(), first.data()}, {b.data(), nullptr, second.data()}}});
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0.0, other = 0.0;
        for (int k = 0; k < count; ++k) {
          sum += a[k] * u[static_cast<std::size_t>(k) * n + j];
          other += b[k] * u[static_cast<std::size_t>(k) * n + j];
        }
        const double rounding = 2.3e-16 * 9 * 45.0;  // nine terms of at most 45 together
        ASSERT_NEAR(one[j], base[j] + sum, rounding) << n << ", " << count << ", " << j;
        ASSERT_NEAR(plain[j], sum, rounding);
        ASSERT_NEAR(first[j], base[j] + sum, rounding);
        ASSERT_NEAR(second[j], other, rounding);
      }
    }
}

TEST(Combination, OfFewVariablesHasTheBitsOfMany) {
  for (std::size_t n = 1; n <= 8; ++n)
    for (int count = 1; count <= 9; ++count) {
      const std::size_t stride = n + 3;  // stages that are apart are summed as many are
      std::vector<double> u(n * static_cast<std::size_t>(count)), apart(stride * static_cast<std::size_t>(count)), base(n);
      std::vector<double> a(static_cast<std::size_t>(count)), one(n), other(n), as_one(n), as_other(n);
      for (int k = 0; k < count; ++k) {
        a[k] = std::cos(3.0 + k);
        for (std::size_t j = 0; j < n; ++j)
          apart[static_cast<std::size_t>(k) * stride + j] = u[static_cast<std::size_t>(k) * n + j] =
              std::sin(1.0 + static_cast<double>(k * 17 + static_cast<int>(j)));
      }
      for (std::size_t j = 0; j < n; ++j) base[j] = 1e3 * std::cos(static_cast<double>(j));
      combine<2>({u.data(), n}, count, {{{a.data(), base.data(), one.data()}, {a.data(), nullptr, other.data()}}});
      combine<2>({apart.data(), n, stride}, count,
                 {{{a.data(), base.data(), as_one.data()}, {a.data(), nullptr, as_other.data()}}});
      EXPECT_EQ(one, as_one) << n << ", " << count;
      EXPECT_EQ(other, as_other) << n << ", " << count;
    }
}

}  // namespace
}  // namespace saltus
