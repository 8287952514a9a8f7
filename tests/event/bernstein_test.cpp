#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/event/bernstein.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "event/properties.hpp"

namespace saltus {
namespace {

using testing::check_property;
using testing::number_in;
using testing::real_in;

constexpr double eps = 2.220446049250313e-16;

/// Monomial coefficients of lead * prod (s - r).
std::vector<double> with_roots(const std::vector<double>& roots, double lead = 1.0) {
  std::vector<double> c{lead};
  for (const double r : roots) {
    c.push_back(0.0);
    for (std::size_t k = c.size(); k-- > 0;) c[k] = (k > 0 ? c[k - 1] : 0.0) - r * (k + 1 < c.size() ? c[k] : 0.0);
  }
  return c;
}

double horner(const std::vector<double>& c, double s) {
  double value = 0.0;
  for (std::size_t k = c.size(); k-- > 0;) value = value * s + c[k];
  return value;
}

RootCells isolated(const Bernstein& p, bool until_negative = false) {
  RootCells cells;
  isolate_roots(p, cells, until_negative);
  return cells;
}

TEST(Bernstein, HasTheValuesAndSlopesOfTheMonomialForm) {
  check_property(1000, [] {
    std::vector<double> c(static_cast<std::size_t>(number_in(1, 18)));
    for (double& x : c) x = real_in(-1.0, 1.0);
    const Bernstein p = Bernstein::from_monomial(c);
    RC_ASSERT(p.degree == static_cast<int>(c.size()) - 1);
    const double s = real_in(0.0, 1.0);
    // All coefficients are at most 17 in size; n steps of rounding on each side.
    double slope = 0.0;
    RC_ASSERT(std::abs(p.value(s, slope) - horner(c, s)) <= 17.0 * 17.0 * eps);
    std::vector<double> d;
    for (std::size_t k = 1; k < c.size(); ++k) d.push_back(static_cast<double>(k) * c[k]);
    RC_ASSERT(std::abs(slope - horner(d, s)) <= 17.0 * 17.0 * 17.0 * eps);
    const auto [low, high] = std::minmax_element(p.b.begin(), p.b.begin() + p.degree + 1);
    RC_ASSERT(p.value(s) >= *low - 20.0 * eps * p.magnitude());
    RC_ASSERT(p.value(s) <= *high + 20.0 * eps * p.magnitude());
  });
}

TEST(Bernstein, HasTheValuesOfTheChebyshevForm) {
  check_property(1000, [] {
    std::vector<double> a(static_cast<std::size_t>(number_in(1, 18)));
    // decaying, as the coefficients of smooth functions do: those of T_16 are up to 4.7e4 in Bernstein form
    double size = 1.0;
    for (double& x : a) {
      x = size * real_in(-1.0, 1.0);
      size *= 0.5;
    }
    const Bernstein p = Bernstein::from_chebyshev(a);
    const double s = real_in(0.0, 1.0);
    double expected = 0.0;
    for (std::size_t k = 0; k < a.size(); ++k)
      expected += a[k] * std::cos(static_cast<double>(k) * std::acos(2.0 * s - 1.0));
    // acos loses half the digits at the ends, which cos(k acos) gives back; the Bernstein coefficients are below 4 for
    // this decay.
    RC_ASSERT(std::abs(p.value(s) - expected) <= 17.0 * 17.0 * 4.0 * eps);
  });
}

TEST(Bernstein, RefusesDegreesThatItCannotHold) {
  EXPECT_THROW(Bernstein::from_monomial(std::vector<double>(18)), UsageError);
  EXPECT_THROW(Bernstein::from_chebyshev(std::vector<double>()), UsageError);
}

TEST(Bernstein, DividesByTheRootAtTheStart) {
  // s^2 (s - 0.5) (s + 2): both divisions leave the exact quotient
  std::vector<double> c = with_roots({0.0, 0.0, 0.5, -2.0});
  Bernstein p = Bernstein::from_monomial(c, 1e-20);
  p.deflate_start();
  EXPECT_EQ(p.degree, 3);
  EXPECT_EQ(p.noise, 2.0 * 16.0 * 1e-20);  // degree 4
  EXPECT_NEAR(p.value(0.3), 0.3 * (0.3 - 0.5) * 2.3, 1e-15);
  p.deflate_start();
  EXPECT_EQ(p.degree, 2);
  EXPECT_NEAR(p.value(0.0), -1.0, 1e-15);
  EXPECT_NEAR(p.value(0.3), -0.2 * 2.3, 1e-15);
  Bernstein constant = Bernstein::from_monomial(std::vector{3.0});
  constant.deflate_start();
  EXPECT_EQ(constant.b[0], 3.0);
}

TEST(Bernstein, IsolatesAllRootsOfRandomPolynomials) {
  check_property(4000, [] {
    std::vector<double> r(static_cast<std::size_t>(number_in(1, 9)));
    for (double& x : r) x = real_in(0.0, 1.0);
    std::sort(r.begin(), r.end());
    for (std::size_t i = 1; i < r.size(); ++i) RC_PRE(r[i] - r[i - 1] > 1e-2);
    RC_PRE(r.front() > 1e-3 && r.back() < 0.999);
    const double lead = std::pow(10.0, real_in(-6.0, 6.0)) * (number_in(0, 2) == 0 ? 1.0 : -1.0);
    const std::vector<double> c = with_roots(r, lead);
    // Rounding in the coefficients: sum |c_k| <= |lead| prod (1 + r) <= 2^8 |lead|.
    const double noise = 256.0 * 8.0 * eps * std::abs(lead);
    const RootCells cells = isolated(Bernstein::from_monomial(c, noise));
    RC_ASSERT(cells.complete);
    RC_ASSERT(cells.count == static_cast<int>(r.size()));
    signed char sign = cells.first_sign;
    for (int i = 0; i < cells.count; ++i) {
      const RootCell& cell = cells.cell[static_cast<std::size_t>(i)];
      RC_ASSERT(cell.kind == RootKind::simple || cell.kind == RootKind::odd);
      RC_ASSERT(cell.before == sign);
      RC_ASSERT(cell.after == -sign);
      sign = cell.after;
      double slope = 1.0, slope_there = 0.0;
      for (std::size_t j = 0; j < r.size(); ++j) {
        if (j != static_cast<std::size_t>(i)) slope *= r[static_cast<std::size_t>(i)] - r[j];
      }
      const double found = root_in(Bernstein::from_monomial(c, noise), cell, slope_there);
      RC_ASSERT(std::abs(found - r[static_cast<std::size_t>(i)]) <= 2.0 * noise / std::abs(slope * lead) + 4.0 * eps);
    }
  });
}

TEST(Bernstein, ClassifiesWhatItFinds) {
  const auto kinds = [](const std::vector<double>& c, double noise) {
    std::vector<RootKind> result;
    for (const RootCell& cell : isolated(Bernstein::from_monomial(c, noise))) result.push_back(cell.kind);
    return result;
  };
  using enum RootKind;
  EXPECT_EQ(kinds(with_roots({0.4, 0.4}), 1e-15), (std::vector{even}));
  EXPECT_EQ(kinds(with_roots({0.4, 0.4, 0.4}), 1e-15), (std::vector{odd}));
  EXPECT_EQ(kinds(with_roots({0.4, 0.4, 0.4, 0.4}), 1e-15), (std::vector{even}));
  EXPECT_EQ(kinds(with_roots({0.4, 0.4 + 1e-6}), 1e-15), (std::vector{simple, simple}));
  EXPECT_EQ(kinds(with_roots({0.4, 0.4 + 1e-9}), 1e-15), (std::vector{even}));
  EXPECT_EQ(kinds({0.16 + 1e-12, -0.8, 1.0}, 1e-15), (std::vector<RootKind>{}));
  EXPECT_EQ(kinds({0.16 - 1e-12, -0.8, 1.0}, 1e-15), (std::vector{simple, simple}));
  EXPECT_EQ(kinds({0.16 + 1e-16, -0.8, 1.0}, 1e-15), (std::vector{even}));
  EXPECT_EQ(kinds({0.0, 1.0}, 1e-15), (std::vector{zero_at_start}));
  EXPECT_EQ(kinds({1.0, -1.0}, 1e-15), (std::vector{zero_at_end}));
  EXPECT_EQ(kinds({0.0, 0.0, 0.0}, 0.0), (std::vector{zero}));
  EXPECT_EQ(kinds({1e-18, -3e-18, 1e-18}, 1e-16), (std::vector{zero}));
  EXPECT_EQ(kinds(with_roots({0.0, 0.25, 0.5, 0.5, 1.0}), 1e-15),
            (std::vector{zero_at_start, simple, even, zero_at_end}));
}

TEST(Bernstein, RootsOnTheBordersOfBisectionAreFoundOnce) {
  // 1/2, 1/4, 3/8 are where cells meet.
  for (const std::vector<double>& r : {std::vector{0.5}, std::vector{0.25, 0.5, 0.75}, std::vector{0.375, 0.5}}) {
    const Bernstein p = Bernstein::from_monomial(with_roots(r), 1e-16);
    const RootCells cells = isolated(p);
    ASSERT_EQ(cells.count, static_cast<int>(r.size()));
    for (int i = 0; i < cells.count; ++i) {
      double slope = 0.0;
      EXPECT_NEAR(root_in(p, cells.cell[static_cast<std::size_t>(i)], slope), r[static_cast<std::size_t>(i)], 1e-14);
    }
  }
}

TEST(Bernstein, StopsWhereTheSignFirstIsNegative) {
  const RootCells cells = isolated(Bernstein::from_monomial(with_roots({0.2, 0.4, 0.6}, -1.0), 1e-15), true);
  ASSERT_EQ(cells.count, 1);
  EXPECT_EQ(cells.first_sign, 1);
  EXPECT_LE(cells.cell[0].low, 0.2);
  EXPECT_GE(cells.cell[0].high, 0.2);
  const RootCells negative = isolated(Bernstein::from_monomial(with_roots({0.2, 0.4, 0.6}), 1e-15), true);
  EXPECT_EQ(negative.count, 0);
  EXPECT_EQ(negative.first_sign, -1);
}

}  // namespace
}  // namespace saltus
