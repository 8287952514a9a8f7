// Elementary functions against MPFR with 200 bits, at special values, and at arguments with exact results.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/base/elementary.hpp>

#include <cmath>
#include <limits>
#include <random>

#include "effort.hpp"

#if SALTUS_HAS_MPFR
#include <mpfr.h>
#endif

namespace saltus {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

#if SALTUS_HAS_MPFR

/// A number of MPFR.
class Number {
 public:
  Number() { mpfr_init2(value_, 200); }
  explicit Number(double x) : Number() { mpfr_set_d(value_, x, MPFR_RNDN); }
  Number(const Number&) = delete;
  Number& operator=(const Number&) = delete;
  ~Number() { mpfr_clear(value_); }
  mpfr_ptr get() { return value_; }

 private:
  mpfr_t value_;
};

/// |found - truth| in units in the last place of the truth. Changes `truth`.
double ulps(double found, Number& truth) {
  const double rounded = mpfr_get_d(truth.get(), MPFR_RNDN);
  if (!std::isfinite(rounded) || !std::isfinite(found))
    return found == rounded || (std::isnan(found) && std::isnan(rounded)) ? 0.0 : inf;
  const double size = std::abs(rounded), ulp = std::nextafter(size, inf) - size;
  mpfr_sub_d(truth.get(), truth.get(), found, MPFR_RNDN);
  return std::abs(mpfr_get_d(truth.get(), MPFR_RNDN)) / ulp;
}

using Reference = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
struct Case {
  const char* name;
  double (*function)(double);
  Reference reference;
  double lower, upper;
  double bound = 1.0;  // SLEEF's documented one, in ulp
};

// SLEEF's bound is 1 ulp. e^(x/2) squared has twice the error of exp and two roundings; log(x) + log(2) has that of
// log, a rounding and an error of log(2).
const Case cases[] = {
    {"exp", elementary::exp, mpfr_exp, -745.0, 709.7},
    {"exp", elementary::exp, mpfr_exp, -1.0, 1.0},
    {"log", elementary::log, mpfr_log, 0.0, 1e300},
    {"log", elementary::log, mpfr_log, 0.0, 4.0},
    {"sin", elementary::sin, mpfr_sin, -10.0, 10.0},
    {"sin", elementary::sin, mpfr_sin, -1e8, 1e8},
    {"sin", elementary::sin, mpfr_sin, -1e300, 1e300},
    {"cos", elementary::cos, mpfr_cos, -10.0, 10.0},
    {"cos", elementary::cos, mpfr_cos, -1e8, 1e8},
    {"cos", elementary::cos, mpfr_cos, -1e300, 1e300},
    {"tan", elementary::tan, mpfr_tan, -10.0, 10.0},
    {"tan", elementary::tan, mpfr_tan, -1e8, 1e8},
    {"asin", elementary::asin, mpfr_asin, -1.0, 1.0},
    {"acos", elementary::acos, mpfr_acos, -1.0, 1.0},
    {"atan", elementary::atan, mpfr_atan, -10.0, 10.0},
    {"atan", elementary::atan, mpfr_atan, -1e10, 1e10},
    {"sinh", elementary::sinh, mpfr_sinh, -5.0, 5.0},
    {"sinh", elementary::sinh, mpfr_sinh, -709.0, 709.0},
    {"sinh", elementary::sinh, mpfr_sinh, 709.0, 711.0, 3.0},
    {"cosh", elementary::cosh, mpfr_cosh, -5.0, 5.0},
    {"cosh", elementary::cosh, mpfr_cosh, -709.0, 709.0},
    {"cosh", elementary::cosh, mpfr_cosh, -711.0, -709.0, 3.0},
    {"tanh", elementary::tanh, mpfr_tanh, -5.0, 5.0},
    {"tanh", elementary::tanh, mpfr_tanh, -30.0, 30.0},
    {"asinh", elementary::asinh, mpfr_asinh, -5.0, 5.0},
    {"asinh", elementary::asinh, mpfr_asinh, -1e150, 1e150},
    {"asinh", elementary::asinh, mpfr_asinh, -1e308, 1e308, 2.0},
    {"acosh", elementary::acosh, mpfr_acosh, 1.0, 5.0},
    {"acosh", elementary::acosh, mpfr_acosh, 1.0, 1e150},
    {"acosh", elementary::acosh, mpfr_acosh, 1e150, 1e308, 2.0},
    {"atanh", elementary::atanh, mpfr_atanh, -1.0, 1.0},
};

// What intervals count on (src/base/interval.cpp) where the functions are those of the C library.
double bound_of(double bound) {
  return (elementary::reproducible() ? bound : 4.0) + 1e-9;
}

TEST(Elementary, ErrorsAreBelowOneUlp) {
  std::mt19937_64 dice(1);
  for (const Case& c : cases) {
    std::uniform_real_distribution<double> half(c.lower / 2, c.upper / 2), unit(-1.0, 1.0);
    double worst = 0.0, at = 0.0;
    for (int k = 0; k < test_cases(2000); ++k) {
      double x = 2.0 * half(dice);
      const double small = std::ldexp(unit(dice), -static_cast<int>(dice() % 60));  // near zero on a logarithmic scale
      if (k % 4 == 3 && small >= c.lower && small <= c.upper) x = small;
      Number argument(x), truth;
      c.reference(truth.get(), argument.get(), MPFR_RNDN);
      const double error = ulps(c.function(x), truth);
      if (error > worst) worst = error, at = x;
    }
    EXPECT_LE(worst, bound_of(c.bound)) << c.name << " in " << c.lower << " … " << c.upper << " at " << at;
    RecordProperty(fmt::format("{}_{:g}", c.name, c.upper), fmt::format("{:.3f}", worst));
  }
}

TEST(Elementary, ErrorsOfFunctionsOfTwoArgumentsAreBelowOneUlp) {
  std::mt19937_64 dice(2);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  double worst_power = 0.0, worst_angle = 0.0;
  for (int k = 0; k < test_cases(5000); ++k) {
    const double base = k % 2 == 0 ? 10.0 * std::abs(unit(dice)) : std::exp(600.0 * unit(dice));
    const double exponent = (k % 2 == 0 ? 20.0 : std::min(20.0, 690.0 / std::abs(std::log(base)))) * unit(dice);
    Number x(base), y(exponent), power;
    mpfr_pow(power.get(), x.get(), y.get(), MPFR_RNDN);
    worst_power = std::max(worst_power, ulps(elementary::pow(base, exponent), power));
    const double p = unit(dice), q = unit(dice) * std::exp(20.0 * unit(dice));
    Number a(p), b(q), angle;
    mpfr_atan2(angle.get(), a.get(), b.get(), MPFR_RNDN);
    worst_angle = std::max(worst_angle, ulps(elementary::atan2(p, q), angle));
  }
  EXPECT_LE(worst_power, bound_of(1.0));
  EXPECT_LE(worst_angle, bound_of(1.0));
  RecordProperty("pow", fmt::format("{:.3f}", worst_power));
  RecordProperty("atan2", fmt::format("{:.3f}", worst_angle));
}

#endif

/// Equal, both NaN, or within the errors of two libraries; zeros have their sign.
bool agree(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= 4.0 * std::numeric_limits<double>::epsilon() * std::abs(b);
}

// At special values the functions are those of the C standard (annex F): infinities, NaN, signed zeros, ends of
// domains.
TEST(Elementary, SpecialValuesAreThoseOfTheCLibrary) {
  struct Pair {
    const char* name;
    double (*ours)(double);
    double (*standard)(double);
  };
  const Pair pairs[] = {{"exp", elementary::exp, std::exp},       {"log", elementary::log, std::log},
                        {"sin", elementary::sin, std::sin},       {"cos", elementary::cos, std::cos},
                        {"tan", elementary::tan, std::tan},       {"asin", elementary::asin, std::asin},
                        {"acos", elementary::acos, std::acos},    {"atan", elementary::atan, std::atan},
                        {"sinh", elementary::sinh, std::sinh},    {"cosh", elementary::cosh, std::cosh},
                        {"tanh", elementary::tanh, std::tanh},    {"asinh", elementary::asinh, std::asinh},
                        {"acosh", elementary::acosh, std::acosh}, {"atanh", elementary::atanh, std::atanh}};
  const double values[] = {0.0,    -0.0,   1.0,   -1.0, 0.5,    -2.0, inf,   -inf,  nan,    1e-300,
                           709.78, -709.9, 710.4, 711,  -745.1, -746, 1e151, 1e308, -1e308, 1e22};
  for (const Pair& p : pairs)
    for (const double x : values)
      EXPECT_TRUE(agree(p.ours(x), p.standard(x)))
          << p.name << "(" << x << ") is " << p.ours(x) << ", not " << p.standard(x);
  const double others[] = {0.0,  -0.0, 1.0,  -1.0, 2.0,    -2.0,  3.0,    -3.0,  0.5,
                           -0.5, inf,  -inf, nan,  1e-310, 1e308, -1e308, 1e200, 1e-200};
  for (const double x : others)
    for (const double y : others) {
      EXPECT_TRUE(agree(elementary::pow(x, y), std::pow(x, y))) << "pow(" << x << ", " << y << ")";
      EXPECT_TRUE(agree(elementary::atan2(x, y), std::atan2(x, y))) << "atan2(" << x << ", " << y << ")";
    }
}

TEST(Elementary, ExactResultsAreExact) {
  EXPECT_EQ(elementary::exp(0.0), 1.0);
  EXPECT_EQ(elementary::log(1.0), 0.0);
  EXPECT_EQ(elementary::cos(0.0), 1.0);
  EXPECT_EQ(elementary::cosh(0.0), 1.0);
  EXPECT_EQ(elementary::acos(1.0), 0.0);
  for (int base = -100; base <= 100; ++base) {
    double power = 1.0;
    for (int exponent = 0; std::abs(power) < 9e15 && exponent < 60; ++exponent, power *= base)
      EXPECT_EQ(elementary::pow(base, exponent), power) << base << "^" << exponent;
  }
  for (int k = 0; k <= 1000; ++k) EXPECT_EQ(elementary::pow(k * k, 0.5), k);
}

}  // namespace
}  // namespace saltus
