#include <gtest/gtest.h>
#include <saltus/dae/jump.hpp>

#include <cmath>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

using problems::Recorder;

// J1 w1' = -tau, J2 w2' = tau, w1 = w2: two shafts, or with C for J two capacitors connected in parallel.
std::unique_ptr<RecordedSystem> joined(double J1, double J2) {
  Recorder r;
  const auto x = r.variables("w1 w2 tau");
  r.equation(J1 * der(x[0]) + x[2]);
  r.equation(J2 * der(x[1]) - x[2]);
  r.equation(x[0] - x[1]);
  return r.system();
}

TEST(Jump, OfAnEngagingClutchConservesMomentum) {
  const auto system = joined(1.0, 3.0);
  const Jump j = jump(*system, 0.0, std::vector{10.0, 2.0, 0.0});
  ASSERT_TRUE(j.ok()) << j.message;
  EXPECT_EQ(j.rule, JumpRule::impulsive);
  EXPECT_NEAR(j.x[0], 4.0, 1e-13);  // (1*10 + 3*2) / 4, not the mean 6
  EXPECT_NEAR(j.x[1], 4.0, 1e-13);
  EXPECT_FALSE(j.identity());
  EXPECT_FALSE(j.positions_moved);
}

TEST(Jump, ToTheNearestPointIsAnotherOneAndHasToBeAskedFor) {
  const auto system = joined(1.0, 3.0);
  const Jump j = jump(*system, 0.0, std::vector{10.0, 2.0, 0.0}, JumpRule::least_squares);
  ASSERT_TRUE(j.ok()) << j.message;
  EXPECT_EQ(j.rule, JumpRule::least_squares);
  EXPECT_NEAR(j.x[0], j.x[1], 1e-12);
  EXPECT_NEAR(j.x[0], 6.0, 1e-6);
}

TEST(Jump, OfConnectedCapacitorsConservesChargeInAnyUnits) {
  for (double unit : {1.0, 1e-3, 1e-9}) {
    const auto system = joined(1.0 * unit, 2.0 * unit);
    const Jump j = jump(*system, 0.0, std::vector{5.0, 0.0, 0.0});
    ASSERT_TRUE(j.ok()) << j.message;
    EXPECT_NEAR(j.x[0], 5.0 / 3.0, 1e-12) << unit;
    EXPECT_NEAR(j.x[1], 5.0 / 3.0, 1e-12) << unit;
  }
}

// p1' = v1, p2' = v2, m1 v1' = lambda, m2 v2' = lambda, p1 + p2 = 0
std::unique_ptr<RecordedSystem> rod() {
  Recorder r;
  const auto x = r.variables("p1 p2 v1 v2 lambda");
  r.equation(der(x[0]) - x[2]);
  r.equation(der(x[1]) - x[3]);
  r.equation(2.0 * der(x[2]) - x[4]);
  r.equation(1.0 * der(x[3]) - x[4]);
  r.equation(x[0] + x[1]);
  return r.system();
}

TEST(Jump, OfIndexThreeIsTheInelasticImpact) {
  const auto system = rod();
  const Jump j = jump(*system, 0.0, std::vector{1.0, -1.0, 3.0, 0.0, 0.0});
  ASSERT_TRUE(j.ok()) << j.message;
  // impulse P on both: v1 = 3 + P/2, v2 = P, v1 + v2 = 0 gives P = -2
  EXPECT_NEAR(j.x[2], 2.0, 1e-12);
  EXPECT_NEAR(j.x[3], -2.0, 1e-12);
  EXPECT_NEAR(j.x[0], 1.0, 1e-12);
  EXPECT_NEAR(j.x[1], -1.0, 1e-12);
  EXPECT_FALSE(j.positions_moved);
  EXPECT_TRUE(j.message.empty());
}

TEST(Jump, WarnsWhenPositionsHaveToMove) {
  const auto system = rod();
  const Jump j = jump(*system, 0.0, std::vector{1.0, -0.7, 2.0, -2.0, 0.0});
  ASSERT_TRUE(j.ok()) << j.message;
  EXPECT_TRUE(j.positions_moved);
  EXPECT_NE(j.message.find("p1"), std::string::npos) << j.message;
  EXPECT_NEAR(2.0 * j.x[0] - j.x[1], 2.0 * 1.0 + 0.7, 1e-12);  // along the mass-weighted direction (1/2, 1)
}

TEST(Jump, OfAMassCaughtByARopeKeepsTheTangentialVelocity) {
  // nonlinear: a free mass reaches the length of its rope; the radial velocity is lost
  const problems::Problem p = problems::pendulum({0.6, -0.8, 1.5, 0.5, 0.0});
  const Jump j = jump(*p.system, 0.0, p.guess);
  ASSERT_TRUE(j.ok()) << j.message;
  const double radial = 0.6 * 1.5 - 0.8 * 0.5;
  EXPECT_NEAR(j.x[0], 0.6, 1e-12);
  EXPECT_NEAR(j.x[1], -0.8, 1e-12);
  EXPECT_NEAR(j.x[2], 1.5 - radial * 0.6, 1e-12);
  EXPECT_NEAR(j.x[3], 0.5 + radial * 0.8, 1e-12);
  EXPECT_NEAR(j.x[4], j.x[2] * j.x[2] + j.x[3] * j.x[3] - problems::gravity * j.x[1], 1e-11);
}

TEST(Jump, IsTheIdentityForAConsistentState) {
  const problems::Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 0.0});
  const Jump j = jump(*p.system, 0.0, p.guess);
  ASSERT_TRUE(j.ok()) << j.message;
  EXPECT_TRUE(j.identity());
}

TEST(Jump, OfAnExplicitOdeIsTheIdentity) {
  Recorder r;
  const Expr x = r.variable("x");
  r.equation(der(x) + x);
  const auto system = r.system();
  const Jump j = jump(*system, 0.0, std::vector{2.0});
  EXPECT_TRUE(j.ok());
  EXPECT_TRUE(j.identity());
  EXPECT_EQ(j.xp[0], -2.0);
}

TEST(Jump, IntoAModeThatIsNotRegularUsesLeastSquares) {
  const problems::Problem p = problems::control_system();
  const Jump j = jump(*p.system, 0.0, p.guess);
  EXPECT_TRUE(j.ok());
  EXPECT_EQ(j.rule, JumpRule::least_squares);
}

}  // namespace
}  // namespace saltus
