#include <gtest/gtest.h>
#include <saltus/base/interval.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

namespace saltus {
namespace {

// Each function on random intervals: values at random points of the interval must lie in the result.
TEST(Interval, EnclosesTheValuesOfEveryFunction) {
  struct Case {
    const char* name;
    Interval (*enclosure)(Interval);
    double (*value)(double);
    double low, high;
  };
  const Case cases[] = {{"sqrt", sqrt, std::sqrt, 0, 9},     {"exp", exp, std::exp, -20, 20},
                        {"log", log, std::log, 1e-3, 50},    {"sin", sin, std::sin, -30, 30},
                        {"cos", cos, std::cos, -30, 30},     {"tan", tan, std::tan, -5, 5},
                        {"asin", asin, std::asin, -1, 1},    {"acos", acos, std::acos, -1, 1},
                        {"atan", atan, std::atan, -50, 50},  {"sinh", sinh, std::sinh, -10, 10},
                        {"cosh", cosh, std::cosh, -10, 10},  {"tanh", tanh, std::tanh, -10, 10},
                        {"asinh", asinh, std::asinh, -9, 9}, {"acosh", acosh, std::acosh, 1, 30},
                        {"atanh", atanh, std::atanh, -0.99, 0.99}, {"floor", floor, std::floor, -9, 9}};
  std::mt19937_64 random(1);
  for (const Case& c : cases) {
    std::uniform_real_distribution<double> in(c.low, c.high);
    for (int trial = 0; trial < 2000; ++trial) {
      double a = in(random), b = in(random);
      if (trial % 2 == 0) b = std::min(c.high, a + 1e-6 * std::abs(b));
      if (a > b) std::swap(a, b);
      const Interval result = c.enclosure({a, b});
      std::uniform_real_distribution<double> inside(a, b);
      for (const double x : {a, b, inside(random), inside(random)})
        EXPECT_TRUE(result.contains(c.value(x))) << c.name << " of [" << a << ", " << b << "] at " << x;
    }
  }
}

TEST(Interval, EnclosesArithmetic) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> in(-3, 3);
  for (int trial = 0; trial < 5000; ++trial) {
    double v[4] = {in(random), in(random), in(random), in(random)};
    const Interval a(std::min(v[0], v[1]), std::max(v[0], v[1])), b(std::min(v[2], v[3]), std::max(v[2], v[3]));
    std::uniform_real_distribution<double> in_a(a.lower, a.upper), in_b(b.lower, b.upper);
    const double x = in_a(random), y = in_b(random);
    EXPECT_TRUE((a + b).contains(x + y));
    EXPECT_TRUE((a - b).contains(x - y));
    EXPECT_TRUE((a * b).contains(x * y));
    EXPECT_TRUE((a / b).contains(x / y));
    EXPECT_TRUE(sqr(a).contains(x * x));
    EXPECT_TRUE(atan2(a, b).contains(std::atan2(x, y)));
    EXPECT_TRUE(pow(a, Interval(3.0)).contains(std::pow(x, 3.0)));
    EXPECT_TRUE(pow(a, Interval(-2.0)).contains(std::pow(x, -2.0)));
    EXPECT_TRUE(a.lower <= 0 || pow(a, b).contains(std::pow(x, y)));
  }
}

TEST(Interval, IsTight) {
  const Interval r = sin(Interval(0.1, 0.2)) * Interval(2.0);
  EXPECT_NEAR(r.lower, 2.0 * std::sin(0.1), 1e-15);
  EXPECT_NEAR(r.upper, 2.0 * std::sin(0.2), 1e-15);
  EXPECT_EQ(cos(Interval(-0.1, 0.1)).upper, 1.0);
  EXPECT_LT(sin(Interval(0.1, 1.5)).upper, 1.0);
}

// exp(1000) is a number, only not one of ours.
TEST(Interval, OverflowIsALargeNumber) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Interval product = Interval(1e300) * Interval(1e300);
  for (const Interval large : {exp(Interval(1000.0, 1001.0)), cosh(Interval(-900.0)), product}) {
    EXPECT_GT(large.lower, 1e308);
    EXPECT_EQ(large.upper, infinity);
    const Interval small = Interval(1.0) / large;
    EXPECT_LE(small.lower, 0.0);
    EXPECT_LT(small.upper, 1e-307);
  }
}

}  // namespace
}  // namespace saltus
