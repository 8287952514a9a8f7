// Infinitely many switchings in finite time, without resets: solutions that spiral into the point where surfaces meet, and stay there.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <functional>
#include <string>

#include "suites/every_method.hpp"

namespace saltus {
namespace {

const std::vector<Method> all_methods = suite::every_method();

/// The twisting controller x'' = -a sign(x) - b sign(x') + force.
Model twisting(double a, double b, double x0, const std::function<Expr(const Expr&)>& force) {
  Model m("twisting");
  const auto x = m.variable("x", x0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -a * sign(x) - b * sign(v) + force(m.time()));
  return m;
}

const auto no_force = [](const Expr&) { return Expr(0.0); };

/// The event that ends the switchings, and the time that it names.
const Event* accumulation(const Trajectory& run, double& when) {
  for (const Event& e : run.events())
    if (const auto place = e.message.find("infinitely many switchings accumulate at t = "); place != std::string::npos) {
      when = std::stod(e.message.substr(e.message.find("t = ") + 4));
      return &e;
    }
  return nullptr;
}

// From x(0) > 0 at rest the first surface is reached after t1 with the speed v1. Each half turn then takes v/(a + b) to stop and r v/(a - b) to come
// back, with r = sqrt((a - b)/(a + b)) times the speed.
TEST(AccumulatingSwitchings, TwistingComesToRest) {
  constexpr double a = 3.0, b = 1.0, tol = 1e-6;
  const double t1 = std::sqrt(2.0 / (a - b)), v1 = std::sqrt(2.0 * (a - b)), r = std::sqrt((a - b) / (a + b));
  const double rest = t1 + v1 * (1.0 / (a + b) + r / (a - b)) / (1.0 - r);
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    const Trajectory run = simulate(twisting(a, b, 1.0, no_force), {.stop = 10.0, .rtol = tol, .atol = tol, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    double when = 0.0;
    const Event* end = accumulation(run, when);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(end, &run.events().back());
    EXPECT_EQ(end->kind, EventKind::slide_enter);
    EXPECT_NEAR(when, rest, 100.0 * tol);
    EXPECT_LE(std::abs(end->t - when), 100.0 * tol);  // what is left is within the tolerance: v/(a - b) in time, for the turns that follow
    EXPECT_NEAR(run.final()[0], 0.0, tol);
    EXPECT_NEAR(run.final()[1], 0.0, tol);
  }
}

// It stays there as long as a s1 + b s2 = force has solutions between -1 and 1, which is until force = a + b. From there on x'' = force - a - b.
TEST(AccumulatingSwitchings, RestEndsWhereNoWeightsHoldIt) {
  constexpr double a = 3.0, b = 1.0, tol = 1e-7;
  for (const double x0 : {1.0, 0.0})  // 0: the run begins there
    for (const Method method : {Method::automatic, Method::dop853, Method::taylor, Method::radau}) {
      SCOPED_TRACE(to_string(method));
      const Model m = twisting(a, b, x0, [](const Expr& t) { return max(t - 8.0, 0.0); });
      const Trajectory run = simulate(m, {.stop = 14.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.events().back().kind, EventKind::slide_exit);
      EXPECT_NEAR(run.events().back().t, 12.0, 100.0 * tol);
      EXPECT_NEAR(run.final()[0], 8.0 / 6.0, 100.0 * tol);  // (t - 12)^3/6
      EXPECT_NEAR(run.final()[1], 2.0, 100.0 * tol);
    }
}

// Filippov's spiral: here the weights are unique. Each quarter turn takes y from the axis to x = y (q - p)/(q + p) on the next one.
TEST(AccumulatingSwitchings, ASpiralEndsAtTheOrigin) {
  constexpr double p = 0.2, q = 1.0, tol = 1e-6;
  Model m("spiral");
  const auto x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == -p * sign(x) + q * sign(y));
  m.equation(der(y) == -q * sign(x) - p * sign(y));
  constexpr double r = (q - p) / (q + p), rest = 1.0 / (p + q) / (1.0 - r);  // x falls from the axis with p + q, at first below y = 0
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    const Trajectory run = simulate(m, {.stop = 6.0, .rtol = tol, .atol = tol, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    double when = 0.0;
    ASSERT_NE(accumulation(run, when), nullptr);
    EXPECT_NEAR(when, rest, 100.0 * tol);
    EXPECT_NEAR(run.final()[0], 0.0, tol);
    EXPECT_NEAR(run.final()[1], 0.0, tol);
  }
}

// Intervals that shrink do not make an accumulation: all 63 zeros of sin(t^2) and cos(t^2) up to t = 10 are seen.
TEST(AccumulatingSwitchings, FasterAndFasterIsNone) {
  Model m("chirp");
  const auto c = m.variable("c", 0.0), t = m.time();
  m.equation(der(c) == if_else(sin(t * t) > 0.0, 1.0, 0.0) + if_else(cos(t * t) > 0.0, 1.0, 0.0));
  const Trajectory run = simulate(m, {.stop = 10.0, .rtol = 1e-2, .atol = 1e-2});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_EQ(run.events().size(), 63u);  // k pi < 100 and (k + 1/2) pi < 100
}

// From wherever they come: |x| + |y| falls with the slope -2, and is zero after half of its first value. They slide on neither surface alone.
TEST(AccumulatingSwitchings, SpiralsEndWhereTheirSurfacesMeet) {
  constexpr double tol = 1e-6;
  for (const Method method : {Method::dopri5, Method::dop853, Method::taylor})
    for (const double q : {1.2, 1.7, 2.6, 4.1})
      for (int k = 0; k < 20; ++k) {
        const double y0 = -0.97 + 0.1 * k;
        Model m("spiral");
        const Expr x = m.variable("x", 1.0), y = m.variable("y", y0);
        m.equation(der(x) == -sign(x) + q * sign(y));
        m.equation(der(y) == -q * sign(x) - sign(y));
        const Trajectory run = simulate(m, {.stop = 2.5, .rtol = tol, .atol = tol, .method = method});
        ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ' ' << q << ' ' << y0 << ": " << run.status().message;
        EXPECT_NEAR(run.final()[0], 0.0, 10.0 * tol) << to_string(method) << ' ' << q << ' ' << y0;
        EXPECT_NEAR(run.final()[1], 0.0, 10.0 * tol) << to_string(method) << ' ' << q << ' ' << y0;
      }
}

}  // namespace
}  // namespace saltus
