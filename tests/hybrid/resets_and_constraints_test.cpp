// A reset is obeyed where variables depend on each other: what it has set stays, and the constraints move the others.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

constexpr double gravity = 9.81, restitution = 0.5;

/// Balls, each of which carries a second body on a rigid rod (index 3) or in rigid motion (index 2). The clauses speak of the lower bodies alone.
Model pairs_of_bodies(int pairs, int index, double height, double step) {
  Model m("pairs of bodies");
  for (int i = 0; i < pairs; ++i) {
    const std::string n = std::to_string(i);
    const Expr h = m.variable("h" + n, height + step * i, {.fixed = true}), v = m.variable("v" + n, 0.0, {.fixed = true});
    const Expr q = m.variable("q" + n, height + step * i + 0.3), p = m.variable("p" + n, 0.0), F = m.variable("F" + n, 0.0);
    m.equation(der(h) == v);
    m.equation(der(v) == F - gravity);
    m.equation(der(q) == p);
    m.equation(der(p) == -F - gravity);
    m.equation(index == 3 ? q == h + 0.3 : p == v);
    m.when(h < 0.0).reset(v, -restitution * v);
  }
  return m;
}

void expect_impacts(const Trajectory& run, int pairs, double height, double step, double stop) {
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  for (int i = 0; i < pairs; ++i) {
    const std::string n = std::to_string(i);
    const double fall = std::sqrt(2.0 * (height + step * i) / gravity), later = stop - fall;
    const double v = restitution * gravity * fall - gravity * later;  // before the second impact
    EXPECT_NEAR(run.at(stop, "v" + n), v, 1e-5) << n;  // ten times the tolerance
    EXPECT_NEAR(run.at(stop, "p" + n), v, 1e-5) << n;
    EXPECT_NEAR(run.at(stop, "h" + n), restitution * gravity * fall * later - 0.5 * gravity * later * later, 1e-5) << n;
  }
}

TEST(ResetsAndConstraints, BodiesThatAreHitAtOnceAllBounce) {
  for (const Method method : {Method::automatic, Method::radau5, Method::radau, Method::bdf, Method::taylor})
    for (const int index : {2, 3})
      for (const double step : {0.0, 0.05}) {
        SCOPED_TRACE(std::string(to_string(method)) + ", index " + std::to_string(index) + ", " + std::to_string(step));
        expect_impacts(simulate(pairs_of_bodies(3, index, 1.0, step), {.stop = 0.6, .method = method}), 3, 1.0, step, 0.6);
      }
}

TEST(ResetsAndConstraints, InLargeModesToo) {
  constexpr int pairs = 25;  // 125 variables: nothing is decomposed densely
  for (const double step : {0.0, 0.004})
    expect_impacts(simulate(pairs_of_bodies(pairs, 3, 1.0, step), {.stop = 0.6, .method = Method::taylor}), pairs, 1.0, step, 0.6);
}

// the last bounces are smaller than any correction that leaves nothing to choose
TEST(ResetsAndConstraints, TheLastBouncesAreObeyedUntilTheBodiesRest) {
  for (const Method method : {Method::automatic, Method::radau5, Method::taylor}) {
    const Trajectory run = simulate(pairs_of_bodies(2, 2, 1.0, 0.1), {.stop = 3.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    for (const char* height : {"h0", "h1"}) EXPECT_NEAR(run.at(3.0, height), 0.0, 1e-7) << to_string(method);
    for (const char* speed : {"v0", "v1", "p0", "p1"}) EXPECT_NEAR(run.at(3.0, speed), 0.0, 1e-7) << to_string(method);
  }
}

}  // namespace
}  // namespace saltus
