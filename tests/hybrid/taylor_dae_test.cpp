// Modes with hidden constraints by Taylor series: chosen automatically, asked for, refused, and left for an implicit method.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "problems/single_mode.hpp"

namespace saltus {
namespace {

bool uses(const Trajectory& run, const std::string& method) { return run.statistics().method.find(method) != std::string::npos; }

struct Pendulum {
  Model m{"pendulum"};
  Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), u = m.variable("u", 0.0, {.fixed = true}),
       v = m.variable("v", 0.0), s = m.variable("s", 0.0);

  explicit Pendulum(const Expr& push = 0.0) {
    m.equation(der(x) == u);
    m.equation(der(y) == v);
    m.equation(der(u) == -s * x + push);
    m.equation(der(v) == -s * y - 9.81);
    m.equation(x * x + y * y == 1.0);
  }
};

TEST(TaylorDae, IsChosenForHiddenConstraintsAndCanBeAskedFor) {
  for (const Method method : {Method::automatic, Method::taylor})
    for (const double tolerance : {1e-6, 1e-10}) {
      const Trajectory run = simulate(Pendulum().m, {.stop = 10.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_TRUE(uses(run, "taylor")) << run.statistics().method;
      for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(run.final()[j], problems::pendulum_reference[j], 1000.0 * tolerance);
      // the constraints hold between the steps within the tolerance, too
      for (double t = 0.05; t < 10.0; t += 0.1) EXPECT_NEAR(std::hypot(run.at(t, "x"), run.at(t, "y")), 1.0, 10.0 * tolerance);
    }
}

TEST(TaylorDae, FindsEventsOnForcesOfConstraint) {
  // s = v^2 - g y = -3 g y passes 20 where y = -20/29.43, on the way down and on the way up; the angle there is the same
  Pendulum p;
  p.m.when(p.s > 20.0).record();
  p.m.when(p.s < 20.0).record();
  for (const Method method : {Method::taylor, Method::radau9}) {
    const Trajectory run = simulate(p.m, {.stop = 2.0, .rtol = 1e-10, .atol = 1e-10, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.events().size(), 4u);
    for (const Event& e : run.events()) EXPECT_NEAR(e.before[1], -20.0 / 29.43, 1e-8);
    // the swing is symmetric about its lowest point
    EXPECT_NEAR(run.events()[0].t + run.events()[1].t, 0.5 * (run.events()[2].t + run.events()[3].t - run.events()[0].t - run.events()[1].t), 1e-8);
  }
}

TEST(TaylorDae, GoesOnAfterResetsAndChangesOfMode) {
  // an elastic wall at x = 0, which half of every swing runs into
  Pendulum p;
  p.m.when(p.x < 0.0).reset(p.u, -p.u).reset(p.v, -p.v);
  const Trajectory run = simulate(p.m, {.stop = 5.0, .rtol = 1e-10, .atol = 1e-10, .method = Method::taylor});
  const Trajectory free = simulate(Pendulum().m, {.stop = 5.0, .rtol = 1e-12, .atol = 1e-12, .method = Method::taylor});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // |x| of the free pendulum is x of the other
  for (double t = 0.0; t <= 5.0; t += 0.1) {
    EXPECT_NEAR(run.at(t, "x"), std::abs(free.at(t, "x")), 1e-8) << t;
    EXPECT_NEAR(run.at(t, "y"), free.at(t, "y"), 1e-8) << t;
  }
}

TEST(TaylorDae, RunsBackwardsAndStopsWhenAsked) {
  const Trajectory run = simulate(Pendulum().m, {.start = 0.0, .stop = -2.0, .rtol = 1e-9, .atol = 1e-9, .method = Method::taylor});
  const Trajectory forward = simulate(Pendulum().m, {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9, .method = Method::taylor});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], forward.final()[0], 1e-6);  // from rest, time can be reversed
  int calls = 0;
  const Trajectory cancelled = simulate(Pendulum().m, {.stop = 10.0, .method = Method::taylor, .progress = [&](const Progress&) { return ++calls < 5; }});
  EXPECT_EQ(cancelled.status().code, StatusCode::cancelled);
}

TEST(TaylorDae, IsRefusedWhereTheStructureFails) {
  const auto robot = std::make_shared<problems::SingleMode>(problems::robot_arm());
  const Trajectory run = simulate(robot, {.start = 0.2, .stop = 0.3, .method = Method::taylor});
  EXPECT_EQ(run.status().code, StatusCode::singular_mode);
  EXPECT_NE(run.status().message.find("system Jacobian"), std::string::npos) << run.status().message;
  EXPECT_NE(run.status().message.find("radau"), std::string::npos) << run.status().message;
  const Trajectory other = simulate(std::make_shared<problems::SingleMode>(problems::robot_arm()), {.start = 0.2, .stop = 0.3});
  EXPECT_TRUE(other.status().ok()) << other.status().message;
}

TEST(TaylorDae, StiffModesAreHandedToAnImplicitMethod) {
  // a point on a circle with a friction towards the angular speed 1 that is 1e6 times as fast as the motion: index 3
  Model m("stiff");
  const auto x = m.variable("x", 0.6, {.fixed = true}), y = m.variable("y", 0.8), u = m.variable("u", -0.8, {.fixed = true}),
             v = m.variable("v", 0.6), s = m.variable("s", 1.0);
  const Expr turn = 1e6 * (x * v - y * u - 1.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -s * x + turn * y);
  m.equation(der(v) == -s * y - turn * x);
  m.equation(x * x + y * y == 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-6, .atol = 1e-6});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_TRUE(uses(run, "taylor") && uses(run, "rodas5p (stiff, dummy derivatives")) << run.statistics().method;
  EXPECT_LT(run.statistics().steps, 2000);
  const double angle = std::atan2(0.8, 0.6) + 2.0;
  EXPECT_NEAR(run.at(2.0, "x"), std::cos(angle), 1e-4);
  EXPECT_NEAR(run.at(2.0, "y"), std::sin(angle), 1e-4);
}

TEST(TaylorDae, DoesNotStepOverASingularPoint) {
  // crank and rod of equal length: where both stand upright another branch of motion begins. The determinant is proportional to
  // cos(a)^2: it vanishes without a change of sign, and the series goes on beyond
  for (const double tolerance : {1e-4, 1e-8}) {
    const auto crank = std::make_shared<problems::SingleMode>(problems::slider_crank({0.5, -0.5, 1.0, -1.0, 0.0}, 1.0, 1.0), std::vector<int>{0, 2});
    const Trajectory run = simulate(crank, {.stop = 3.0, .rtol = tolerance, .atol = tolerance});
    EXPECT_TRUE(uses(run, "taylor"));
    EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
    EXPECT_NEAR(std::abs(run.final()[0]), M_PI / 2.0, 1e-3);
  }
}

TEST(TaylorDae, SaysWhereTheStructureFailsUnderWay) {
  // the derivative 2 y of the constraint vanishes at t = 1, where the solution ends
  Model m("fold");
  const auto x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", 1.0);
  m.equation(der(x) == y);
  m.equation(y * y == 1.0 - m.time());
  const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-8, .atol = 1e-8, .method = Method::taylor});
  EXPECT_EQ(run.status().code, StatusCode::singular_mode) << run.status().message;
  EXPECT_NEAR(run.t_end(), 1.0, 1e-5);
  EXPECT_NEAR(run.final()[0], 2.0 / 3.0, 1e-5);
}

}  // namespace
}  // namespace saltus
