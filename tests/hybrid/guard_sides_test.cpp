// What the header of GuardSides promises, sentence by sentence, with systems whose solutions are known.
#include "hybrid/guard_sides.hpp"

#include <gtest/gtest.h>

#include "hybrid/small_systems.hpp"

namespace saltus {
namespace {

using saltus::testing::ModeBuilder;
using saltus::testing::PlainSystem;

constexpr double eps = std::numeric_limits<double>::epsilon();

/// A system, its consistency, and the sides at a point.
struct Looking {
  std::unique_ptr<System> system;
  Consistency consistency;
  GuardSides sides;
  std::vector<double> xp;

  explicit Looking(std::unique_ptr<System> s) : system(std::move(s)) {}
  const GuardSides& at(double t, const std::vector<double>& x, int direction = +1, const GuardSides::Doubt& doubt = {},
                       double scale = 1.0) {
    xp.assign(x.size(), 0.0);
    system->rhs(t, x, xp);
    sides.look(*system, consistency, t, x, xp, direction, scale, doubt);
    return sides;
  }
};

/// h' = v, v' = -10, with a linear guard h, and the same guard in a form that is not linear.
Looking ball(bool linear) {
  ModeBuilder m;
  const Expr h = m.variable("h"), v = m.variable("v");
  m.equation(der(h) - v);
  m.equation(der(v) + 10.0);
  m.guard(linear ? h : h * exp(0.1 * v));
  return Looking(m.system());
}

/// x_1' = x_2, …, x_n' = 1, and the guard x_1: its zero at the origin has the multiplicity n.
Looking integrators(int n) {
  ModeBuilder m;
  std::vector<Expr> x;
  for (int k = 0; k < n; ++k) x.push_back(m.variable("x" + std::to_string(k)));
  for (int k = 0; k < n; ++k)
    m.equation(der(x[static_cast<std::size_t>(k)]) - (k + 1 < n ? x[static_cast<std::size_t>(k) + 1] : Expr(1.0)));
  m.guard(x[0]);
  return Looking(m.system());
}

TEST(GuardSides, KnowNothingBeforeTheFirstLook) {
  const GuardSides sides;
  EXPECT_TRUE(sides.empty());
  EXPECT_EQ(sides.count(), 0);
}

TEST(GuardSides, AGuardThatIsClearlyNotZeroHasTheSideOfItsSign) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    for (const double h : {1.0, 1e-6, 1e-300}) {
      for (const int sign : {+1, -1}) {
        const GuardSides& s = ball_.at(0.0, {sign * h, -5.0 * sign});  // moving towards zero: the value decides
        EXPECT_EQ(s.side(0), sign) << h;
        EXPECT_EQ(s.multiplicity(0), 0);
        EXPECT_FALSE(s.undefined(0));
      }
    }
    EXPECT_FALSE(ball_.sides.empty());
    EXPECT_EQ(ball_.sides.count(), 1);
  }
}

TEST(GuardSides, AGuardThatIsZeroHasTheSideToWhichItGoes) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    for (const double v : {2.0, -2.0, 1e-9, -1e-9})
      for (const int direction : {+1, -1}) {
        const GuardSides& s = ball_.at(3.0, {0.0, v}, direction);
        EXPECT_EQ(s.side(0), v * direction > 0.0 ? +1 : -1) << v;
        EXPECT_EQ(s.multiplicity(0), 1);
        EXPECT_NEAR(s.slope(0), linear ? v : v * std::exp(0.1 * v), 4.0 * eps * std::abs(v));
        EXPECT_EQ(s.value(0), 0.0);
      }
  }
}

// h = -5 s^2 for s on both sides of zero.
TEST(GuardSides, WithSlopeZeroTheSecondDerivativeDecidesForBothDirectionsOfTime) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    for (const int direction : {+1, -1}) {
      const GuardSides& s = ball_.at(0.0, {0.0, 0.0}, direction);
      EXPECT_EQ(s.side(0), -1);
      EXPECT_EQ(s.multiplicity(0), 2);
    }
  }
}

// s^n/n!, which for odd n lies below zero at earlier times.
TEST(GuardSides, ZerosUpToTheEighthOrderHaveTheSideOfTheFirstDerivativeThatDoesNotVanish) {
  for (int n = 1; n <= 8; ++n) {
    Looking chain = integrators(n);
    const std::vector<double> origin(static_cast<std::size_t>(n), 0.0);
    EXPECT_EQ(chain.at(0.0, origin, +1).side(0), +1) << n;
    EXPECT_EQ(chain.sides.multiplicity(0), n);
    EXPECT_EQ(chain.at(0.0, origin, -1).side(0), n % 2 == 0 ? +1 : -1) << n;
    EXPECT_EQ(chain.sides.multiplicity(0), n);
  }
}

TEST(GuardSides, AGuardThatVanishesWithAllDerivativesHasNoSideAndMultiplicityTwo) {
  Looking ninth = integrators(9);
  const GuardSides& s = ninth.at(0.0, std::vector<double>(9, 0.0));
  EXPECT_EQ(s.side(0), 0);
  EXPECT_EQ(s.multiplicity(0), 2);
  EXPECT_FALSE(s.undefined(0));
}

// Radius and energy are conserved on every orbit: their derivatives are zero at the point and beside it, up to rounding
// errors.
TEST(GuardSides, ConservedQuantitiesHaveNoSideWhateverTheRoundingErrorsAre) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y"), q = m.variable("q"), p = m.variable("p");
  m.equation(der(x) + 0.7 * y);
  m.equation(der(y) - 0.7 * x);
  m.equation(der(q) - 1.3 * p);
  m.equation(der(p) + 0.9 * sin(q));
  m.guard(x * x + y * y - 1.0);
  m.guard(1.3 * p * p / 2.0 - 0.9 * cos(q) - 0.1);
  Looking orbits(m.system());
  for (int k = 0; k < 1000; ++k) {
    const double angle = 0.00617 * k, position = 1.2 * std::sin(angle);
    const double momentum = std::sqrt((0.1 + 0.9 * std::cos(position)) * 2.0 / 1.3);
    const GuardSides& s = orbits.at(1.0, {std::cos(angle), std::sin(angle), position, momentum});
    EXPECT_EQ(s.side(0), 0) << angle << " multiplicity " << s.multiplicity(0);
    EXPECT_EQ(s.side(1), 0) << angle << " multiplicity " << s.multiplicity(1);
    EXPECT_FALSE(s.undefined(0) || s.undefined(1));
  }
}

TEST(GuardSides, GuardsOfTimeAloneNeedNoState) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation(der(x));
  m.guard(m.time() - 2.0);
  m.guard((m.time() - 2.0) * (m.time() - 2.0));
  Looking clock(m.system());
  EXPECT_EQ(clock.at(1.5, {0.0}).side(0), -1);
  EXPECT_EQ(clock.sides.side(1), +1);
  EXPECT_EQ(clock.at(2.0, {0.0}).side(0), +1);
  EXPECT_EQ(clock.sides.side(1), +1);
  EXPECT_EQ(clock.sides.multiplicity(1), 2);
  EXPECT_EQ(clock.at(2.0, {0.0}, -1).side(0), -1);
}

// 1e8 has a unit in the last place of 1.5e-8: a difference of one unit says nothing.
TEST(GuardSides, AValueBelowTheRoundingErrorsOfItsArgumentsIsZero) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) + 1.0);
  m.equation(der(y));
  m.guard(x - y);
  m.guard(x * x - y * y);
  Looking difference(m.system());
  const double large = 1e8, unit = std::nextafter(large, 2.0 * large) - large;
  const GuardSides& s = difference.at(0.0, {large + unit, large});
  for (const int k : {0, 1}) {
    EXPECT_GT(s.value(k), 0.0);
    EXPECT_GT(s.noise(k), s.value(k));
    EXPECT_EQ(s.side(k), -1) << k;  // it goes down
    EXPECT_EQ(s.multiplicity(k), 1);
  }
  EXPECT_EQ(difference.at(0.0, {large + 1000.0 * unit, large}).side(0), +1);
}

// An instant is known to some units in the last place: what a guard does within it has happened.
TEST(GuardSides, TheNoiseContainsTheResolutionOfTime) {
  Looking ball_ = ball(true);
  const double t = 1000.0, v = -3.0;
  const GuardSides& s = ball_.at(t, {0.0, v});
  EXPECT_GE(s.noise(0), 8.0 * eps * t * std::abs(v));
  EXPECT_LE(s.noise(0), 100.0 * eps * t * std::abs(v));
}

TEST(GuardSides, NoiseThatTheCallerKnowsRaisesTheLimitButNeverLowersIt) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    const double noise[] = {1e-3};
    const GuardSides::Doubt doubt{.noise = noise};
    EXPECT_EQ(ball_.at(0.0, {5e-4, -1.0}, +1, doubt).side(0), -1);  // below the noise: it goes down
    EXPECT_EQ(ball_.sides.noise(0), 1e-3);
    EXPECT_EQ(ball_.at(0.0, {2e-3, -1.0}, +1, doubt).side(0), +1);
    const double none[] = {0.0};
    EXPECT_EQ(ball_.at(0.0, {5e-4, -1.0}, +1, {.noise = none}).side(0), +1);
  }
}

TEST(GuardSides, AKnownErrorOfTheSlopeIsAddedToIt) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    const double error[] = {+0.5};
    EXPECT_EQ(ball_.at(0.0, {0.0, -0.25}, +1, {.slope_error = error}).side(0), +1);
    EXPECT_EQ(ball_.at(0.0, {0.0, -0.75}, +1, {.slope_error = error}).side(0), -1);
  }
}

TEST(GuardSides, WhatDiffersBetweenTwinsMeansNothing) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    const std::vector<double> x{0.0, 1e-10}, twin{0.0, -1e-10};
    EXPECT_EQ(ball_.at(0.0, x).side(0), +1);
    EXPECT_EQ(ball_.at(0.0, x, +1, {.twin = twin}).side(0), -1);  // gravity decides
    EXPECT_EQ(ball_.sides.multiplicity(0), 2);
    // and what they agree in counts
    const std::vector<double> fast{0.0, 1.0}, fast_twin{0.0, 1.0 + 1e-10};
    EXPECT_EQ(ball_.at(0.0, fast, +1, {.twin = fast_twin}).side(0), +1);
    // a value that differs as much as it is large is zero
    const std::vector<double> low{1e-9, -1.0}, lower{-1e-9, -1.0};
    EXPECT_EQ(ball_.at(0.0, low, +1, {.twin = lower}).side(0), -1);
  }
}

// The slope v outweighs gravity for the time v/5.
TEST(GuardSides, WhenASurfaceIsLeftASlopeThatDoesNotLastIsAnError) {
  for (const bool linear : {true, false}) {
    Looking ball_ = ball(linear);
    EXPECT_EQ(ball_.at(0.0, {0.0, 1e-6}, +1, {.tangential = 1e-5}).side(0), -1);
    EXPECT_EQ(ball_.sides.multiplicity(0), 2);
    EXPECT_EQ(ball_.at(0.0, {0.0, 1e-6}, +1, {.tangential = 1e-8}).side(0), +1);
    EXPECT_EQ(ball_.sides.multiplicity(0), 1);
  }
}

TEST(GuardSides, AGuardWithAnInfiniteDerivativeIsUndefined) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation(der(x) - 1.0);
  m.guard(sqrt(x));
  m.guard(x);
  Looking root(m.system());
  const GuardSides& s = root.at(0.0, {0.0});
  EXPECT_EQ(s.side(0), 0);
  EXPECT_TRUE(s.undefined(0));
  EXPECT_EQ(s.side(1), +1);
  EXPECT_FALSE(s.undefined(1));
  EXPECT_EQ(root.at(0.0, {1e-4}).side(0), +1);
  EXPECT_FALSE(root.sides.undefined(0));
}

TEST(GuardSides, AnInfiniteValueHasASide) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation(der(x) - 1.0);
  m.guard(-1.0 / x);
  Looking pole(m.system());
  EXPECT_EQ(pole.at(0.0, {0.0}).side(0), -1);
  EXPECT_EQ(pole.at(0.0, {-1.0}).side(0), +1);
}

TEST(GuardSides, OneGuardThatIsZeroDoesNotDisturbTheOthers) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - 1.0);
  m.equation(der(y) + x);
  m.guard(x);
  m.guard(y);
  m.guard(x * y - 1.0);
  m.guard(y + 0.5 * x * x);  // constant
  Looking several(m.system());
  const GuardSides& s = several.at(0.0, {0.0, 0.0});
  EXPECT_EQ(s.side(0), +1);
  EXPECT_EQ(s.side(1), -1);
  EXPECT_EQ(s.multiplicity(1), 2);
  EXPECT_EQ(s.side(2), -1);
  EXPECT_EQ(s.multiplicity(2), 0);
  EXPECT_EQ(s.side(3), 0);
}

TEST(GuardSides, IgnoredGuardsNeedNoSide) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x));
  m.equation(der(y) - 1.0);
  m.guard(x);
  m.guard(y);
  Looking resting(m.system());
  const int sliding[] = {0};
  resting.sides.ignore(sliding, {});
  EXPECT_EQ(resting.at(0.0, {0.0, 1.0}).side(0), 0);
  EXPECT_EQ(resting.sides.side(1), +1);
  resting.sides.ignore({}, sliding);
  EXPECT_EQ(resting.at(0.0, {0.0, 0.0}).side(1), +1);
  resting.sides.ignore({}, {});
  resting.sides.ignore_too(1);
  EXPECT_EQ(resting.at(0.0, {1.0, 0.0}).side(0), +1);
}

TEST(GuardSides, ASystemWithoutGuardsHasNothingToSee) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation(der(x));
  Looking none(m.system());
  EXPECT_EQ(none.at(0.0, {1.0}).count(), 0);
}

// x stays zero in the mode; what its equation makes of it beside the invariant is an error.
TEST(GuardSides, GuardsThatAreZeroWhereverTheInvariantsHoldHaveNoSide) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - y);
  m.equation(der(y) - 1.0);
  m.invariant(x);
  m.guard(3.0 * x);
  m.guard(x + y);
  m.guard(m.time());
  Looking invariants(m.system());
  const std::vector<double> point{0.0, 0.0}, size{1.0};
  const double y_at = 1e-3;
  std::vector<double> at{0.0, y_at};
  invariants.at(0.0, at);
  ASSERT_EQ(invariants.sides.side(0), +1);
  invariants.sides.rest_on_invariants(*invariants.system, 0.0, at, invariants.xp, size);
  EXPECT_EQ(invariants.sides.side(0), 0);
  EXPECT_EQ(invariants.sides.multiplicity(0), 2);
  invariants.at(0.0, point);
  invariants.sides.rest_on_invariants(*invariants.system, 0.0, point, invariants.xp, size);
  EXPECT_EQ(invariants.sides.side(1), +1);  // y moves it
  EXPECT_EQ(invariants.sides.side(2), +1);  // time moves it
}

TEST(GuardSides, CoefficientsSpeedAndBendAreThoseOfTheSolution) {
  ModeBuilder m;
  const Expr h = m.variable("h"), v = m.variable("v");
  m.equation(der(h) - v);
  m.equation(der(v) + 10.0);
  m.guard(h);
  m.guard(h * v);
  Looking ball_(m.system());
  const std::vector<double> x{1.5, 2.0};
  const auto c = GuardSides::coefficients(3, *ball_.system, ball_.consistency, 0.0, x, 0);
  ASSERT_EQ(c.size(), 4u);
  EXPECT_DOUBLE_EQ(c[0], 1.5);
  EXPECT_DOUBLE_EQ(c[1], 2.0);
  EXPECT_DOUBLE_EQ(c[2], -5.0);
  EXPECT_DOUBLE_EQ(c[3], 0.0);
  // (h v)' = v^2 - 10 h and (h v)'' = -30 v
  EXPECT_DOUBLE_EQ(GuardSides::speed(*ball_.system, ball_.consistency, 0.0, x, 1), 4.0 - 15.0);
  EXPECT_DOUBLE_EQ(GuardSides::bend(*ball_.system, ball_.consistency, 0.0, x, 1), -60.0);
}

TEST(GuardSides, UncertaintyIsTheChangeUnderErrorsOfTheTolerance) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x));
  m.equation(der(y));
  m.guard(3.0 * x - 2.0 * y);
  m.guard(3.0 * x + 2.0 * y);
  m.guard(Expr(1.0) * m.time());
  const auto system = m.system();
  const std::vector<double> at{10.0, -100.0}, xp{0.0, 0.0}, atol{1e-4};
  const double rtol = 1e-5;
  // errors 10 rtol + atol = 2e-4 and 100 rtol + atol = 1.1e-3, in any combination of signs
  const auto u = GuardSides::uncertainty(*system, 0.0, at, xp, std::span(&rtol, 1), atol);
  EXPECT_NEAR(u[0], 3.0 * 2e-4 + 2.0 * 1.1e-3, 1e-12);
  EXPECT_NEAR(u[1], 3.0 * 2e-4 + 2.0 * 1.1e-3, 1e-12);
  EXPECT_EQ(u[2], 0.0);
  const std::vector<double> each{1e-4, 0.0};
  EXPECT_NEAR(GuardSides::uncertainty(*system, 0.0, at, xp, std::span(&rtol, 1), each)[0], 3.0 * 2e-4 + 2.0 * 1e-3,
              1e-12);
}

// x + 1e6 y = 1e6 gives x the digits of 1e6.
TEST(GuardSides, ConstraintsGiveAGuardTheirRoundingErrors) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(y));
  m.equation(x + 1e6 * y - 1e6);
  m.guard(x);
  const auto system = m.system();
  const std::vector<double> at{0.5, 1.0 - 0.5e-6}, xp{0.0, 0.0};
  const double noise = GuardSides::noise_of_constraints(*system, 0.0, at, xp, 0);
  EXPECT_GE(noise, 0.5 * eps * 1e6);
  EXPECT_LE(noise, 4.0 * eps * 1e6);
  Looking ball_ = ball(true);
  const std::vector<double> point{1.0, 2.0}, slope{2.0, -10.0};
  EXPECT_EQ(GuardSides::noise_of_constraints(*ball_.system, 0.0, point, slope, 0), 0.0);
}

// --- systems without Taylor coefficients: the change over a short time along the tangent

std::unique_ptr<System> plain_ball() {
  return std::make_unique<PlainSystem>(
      2, 1,
      [](double, std::span<const double> x, std::span<double> xp) {
        xp[0] = x[1];
        xp[1] = -10.0;
      },
      [](double, std::span<const double> x, std::span<double> g) { g[0] = x[0]; });
}

TEST(GuardSides, WithoutTaylorCoefficientsFirstDerivativesDecide) {
  Looking plain(plain_ball());
  EXPECT_EQ(plain.at(0.0, {1e-3, -1.0}).side(0), +1);
  EXPECT_EQ(plain.sides.multiplicity(0), 0);
  EXPECT_EQ(plain.at(0.0, {0.0, 1.0}).side(0), +1);
  EXPECT_EQ(plain.at(0.0, {0.0, -1.0}).side(0), -1);
  EXPECT_EQ(plain.at(0.0, {0.0, -1.0}, -1).side(0), +1);
  EXPECT_EQ(plain.sides.multiplicity(0), 1);
}

TEST(GuardSides, WithoutTaylorCoefficientsASlopeOfZeroLeavesTheSideOpen) {
  Looking plain(plain_ball());
  const GuardSides& s = plain.at(0.0, {0.0, 0.0});
  EXPECT_EQ(s.side(0), 0);
  EXPECT_EQ(s.multiplicity(0), 2);
}

TEST(GuardSides, WithoutTaylorCoefficientsSpeedAndBendAreNotKnown) {
  Looking plain(plain_ball());
  const std::vector<double> x{1.0, 2.0};
  EXPECT_TRUE(std::isnan(GuardSides::speed(*plain.system, plain.consistency, 0.0, x, 0)));
  EXPECT_TRUE(std::isnan(GuardSides::bend(*plain.system, plain.consistency, 0.0, x, 0)));
}

// --- modes that are not explicit: coefficients come from iterations

// z is about x^2 and x is about t: z has a minimum at t = 0, and z - x falls.
TEST(GuardSides, GuardsOnAlgebraicVariablesOfImplicitModesAreDecidedBySeries) {
  ModeBuilder m;
  const Expr x = m.variable("x"), z = m.variable("z");
  m.equation(der(x) - 1.0);
  m.equation(z + 0.1 * z * z * z - x * x);  // z is about x^2
  m.guard(z);
  m.guard(z - x);
  auto system = m.system();
  Consistency consistency;
  GuardSides sides;
  std::vector<double> at{0.0, 0.0}, xp;
  const int fixed[] = {0};
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, fixed, nullptr, at, xp));
  sides.look(*system, consistency, 0.0, at, xp, +1, 1.0, {});
  EXPECT_EQ(sides.side(0), +1);
  EXPECT_EQ(sides.multiplicity(0), 2);
  EXPECT_EQ(sides.side(1), -1);
  EXPECT_EQ(sides.multiplicity(1), 1);
  EXPECT_NEAR(GuardSides::speed(*system, consistency, 0.0, at, 1), -1.0, 1e-10);
  EXPECT_NEAR(GuardSides::bend(*system, consistency, 0.0, at, 0), 2.0, 1e-9);
}

// A pendulum at its lowest point moves sideways: its height has a minimum there.
TEST(GuardSides, HiddenConstraintsAreSeenByHigherDerivatives) {
  ModeBuilder m;
  std::vector<Expr> p;
  for (const char* name : {"x", "y", "u", "v", "lambda"}) p.push_back(m.variable(name));
  m.equation(der(p[0]) - p[2]);
  m.equation(der(p[1]) - p[3]);
  m.equation(der(p[2]) + p[4] * p[0]);
  m.equation(der(p[3]) + p[4] * p[1] + 10.0);
  m.equation(p[0] * p[0] + p[1] * p[1] - 1.0);
  m.guard(p[1] + 1.0);
  m.guard(p[0]);
  auto system = m.system();
  Consistency consistency;
  GuardSides sides;
  std::vector<double> at{0.0, -1.0, 2.0, 0.0, 14.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, at, xp));
  ASSERT_NEAR(at[2], 2.0, 1e-9);
  sides.look(*system, consistency, 0.0, at, xp, +1, 1.0, {});
  EXPECT_EQ(sides.side(0), +1);
  EXPECT_EQ(sides.multiplicity(0), 2);
  EXPECT_EQ(sides.side(1), +1);
  EXPECT_NEAR(GuardSides::bend(*system, consistency, 0.0, at, 0), 4.0, 1e-8);  // u^2/r
}

// --- GuardSlopes

TEST(GuardSlopes, AreTheTimeDerivativesOfLinearAndOtherGuards) {
  ModeBuilder m;
  const Expr h = m.variable("h"), v = m.variable("v");
  m.equation(der(h) - v);
  m.equation(der(v) + 10.0);
  m.guard(h - 3.0 * m.time());
  m.guard(h * v);
  const auto system = m.system();
  GuardSlopes finder;
  std::vector<double> slopes;
  const std::vector<double> x{1.5, 2.0}, xp{2.0, -10.0};
  finder.find(*system, 0.0, x, xp, 1.0, 2, slopes);
  EXPECT_DOUBLE_EQ(slopes[0], 2.0 - 3.0);
  EXPECT_DOUBLE_EQ(slopes[1], 4.0 - 15.0);
}

// A forward difference over 1e-6 of the scale, for a guard that is linear along the tangent: rounding errors alone.
TEST(GuardSlopes, WithoutTaylorCoefficientsTheyAreDifferenceQuotients) {
  const auto system = plain_ball();
  GuardSlopes finder;
  std::vector<double> slopes;
  const std::vector<double> x{1.5, 2.0}, xp{2.0, -10.0};
  finder.find(*system, 0.0, x, xp, 1.0, 1, slopes);
  EXPECT_NEAR(slopes[0], 2.0, 4.0 * eps * 1.5 / 1e-6);
}

}  // namespace
}  // namespace saltus
