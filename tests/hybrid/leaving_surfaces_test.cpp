// A solution that slides on a surface or rests in contact leaves it where a reset moves the state away, where the explicit mode is left, and not
// otherwise. And what happens at one instant: cascades of impacts, a time event right behind an impact, an event at the very end.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <string>
#include <utility>
#include <vector>

#include "suites/every_method.hpp"

namespace saltus {
namespace {

constexpr double g = 9.81;
const std::vector<Method> all_methods = suite::every_method();

/// Runs with all methods to the stop time and compares variables there; they have at most a few tens of steps, of one tolerance each.
void expect_end(const Model& m, double stop, const std::vector<std::pair<std::string, double>>& values) {
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    const Trajectory run = simulate(m, {.stop = stop, .rtol = 1e-6, .atol = 1e-6, .method = method, .max_steps = 100'000});
    EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_EQ(run.t_end(), stop);
    for (const auto& [name, value] : values) EXPECT_NEAR(run.final()[run.index(name)], value, 1e-4) << name;
  }
}

// The relay is switched off at t = 1: both sides agree from then on, and there is nothing to slide with.
TEST(Sliding, EndsWhereASwitchMakesBothSidesAgree) {
  for (const double later : {0.5, 0.0, -0.5}) {
    Model m("relay");
    const auto x = m.variable("x", 0.5), y = m.variable("y", 0.0);
    m.equation(der(x) == if_else(m.time() > 1.0, later, -1.0 * sign(x)));
    m.equation(der(y) == if_else(x > 0.0, 1.0, 0.0));
    expect_end(m, 2.0, {{"x", later}, {"y", 0.75 + (later > 0.0 ? 1.0 : 0.0)}});
  }
}

TEST(Sliding, EndsThereInModesThatAreNotExplicitToo) {
  for (const double later : {0.5, -0.5})
    for (const Method method : {Method::automatic, Method::radau, Method::radau5, Method::bdf}) {
      Model m("relay");
      const auto x = m.variable("x", 0.5), y = m.variable("y", 0.0), w = m.variable("w", 0.0);
      m.equation(der(x) == w);
      m.equation(w + w * w * w == if_else(m.time() > 1.0, later + later * later * later, -2.0 * sign(x)));
      m.equation(der(y) == if_else(x > 0.0, 1.0, 0.0));
      const Trajectory run = simulate(m, {.stop = 2.0, .method = method});
      EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.status().message, "");
      EXPECT_NEAR(run.final()[run.index("x")], later, 1e-4) << to_string(method);  // a hundred tolerances
      EXPECT_NEAR(run.final()[run.index("y")], 0.75 + (later > 0.0 ? 1.0 : 0.0), 1e-4) << to_string(method);
    }
}

TEST(Sliding, EndsWithAResetOffTheSurface) {
  // friction 1, speed 1 at the start: it rests from t = 1 on; at t = 3 it gets the speed 2
  Model m("kick");
  const auto x = m.variable("x", 0.0), v = m.variable("v", 1.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -1.0 * sign(v));
  m.when(m.time() >= 3.0).reset(v, 2.0);
  expect_end(m, 4.0, {{"x", 2.0}, {"v", 1.0}});
}

TEST(Sliding, EndsWithAnImpact) {
  Model m("hit");
  const auto x = m.variable("x", -2.0), v = m.variable("v", 1.0), y = m.variable("y", 0.0), w = m.variable("w", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == 0.0);
  m.equation(der(y) == w);
  m.equation(der(w) == -1.0 * sign(w));
  m.when(x > y).reset(v, w).reset(w, v);
  expect_end(m, 4.0, {{"x", 0.0}, {"v", 0.0}, {"y", 0.5}, {"w", 0.0}});
}

TEST(Contact, DoesNotEndWithAResetOfSomethingElse) {
  Model m("ball");
  const auto h = m.variable("h", 0.5), v = m.variable("v", 0.0), c = m.variable("c", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.equation(der(c) == 1.0);
  m.when(h < 0.0).reset(v, -0.3 * v);
  m.when(c > 2.0).reset(c, 0.0);
  expect_end(m, 3.0, {{"h", 0.0}, {"v", 0.0}, {"c", 1.0}});
}

TEST(Contact, DoesNotEndWithImpactsOfOthers) {
  Model m("balls");
  const auto h = m.variable("h", 0.5), v = m.variable("v", 0.0), k = m.variable("k", 0.7), w = m.variable("w", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.equation(der(k) == w);
  m.equation(der(w) == -g);
  m.when(h < 0.0).reset(v, -0.5 * v);
  m.when(k < 0.0).reset(w, -0.5 * w);
  expect_end(m, 5.0, {{"h", 0.0}, {"v", 0.0}, {"k", 0.0}, {"w", 0.0}});
}

TEST(Sliding, EndsWithTheExplicitMode) {
  Model m("modes");
  const auto x = m.variable("x", 1.0);
  auto a = m.mode("a"), b = m.mode("b");
  a.equation(der(x) == -1.0 * sign(x) + 0.5);
  b.equation(der(x) == 1.0);
  a.transition(m.time() >= 4.0).to(b);
  expect_end(m, 5.0, {{"x", 1.0}});
}

TEST(Contact, EndsWithTheExplicitMode) {
  Model m("modes");
  const auto x = m.variable("x", 0.5), v = m.variable("v", 0.0);
  auto a = m.mode("a"), b = m.mode("b");
  m.equation(der(x) == v);
  a.equation(der(v) == -g);
  b.equation(der(v) == 2.0);
  a.transition(x < 0.0).to(a).reset(v, -0.5 * v);
  a.transition(m.time() >= 3.0).to(b);
  expect_end(m, 4.0, {{"x", 1.0}, {"v", 2.0}});
}

TEST(Contact, EndsWithAKick) {
  Model m("kick");  // at rest from 0.96 on; thrown up at t = 2
  const auto h = m.variable("h", 0.5), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < 0.0).reset(v, -0.5 * v);
  m.when(m.time() >= 2.0).reset(v, 3.0);
  expect_end(m, 2.5, {{"h", 1.5 - g / 8.0}, {"v", 3.0 - g / 2.0}});
}

TEST(Sliding, ThatCannotGoOnIsNoSuccess) {
  Model m("twisting");
  const auto x = m.variable("x", 0.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -3.0 * sign(x) - 1.0 * sign(v));
  const Trajectory run = simulate(m, {.stop = 10.0});
  EXPECT_TRUE(run.t_end() == 10.0 || !run.status().ok()) << run.t_end();
}

TEST(OneInstant, HasRoomForACascadeOfImpacts) {
  for (const double e : {0.3, 0.5, 0.7}) {
    double w1 = -1.0, v1 = 0.0;
    for (bool goes_on = true; goes_on;) {
      goes_on = v1 > w1 || v1 < 0.0;
      if (v1 > w1) {
        const double w2 = ((1 - e) * w1 + (1 + e) * v1) / 2, v2 = ((1 + e) * w1 + (1 - e) * v1) / 2;
        w1 = w2, v1 = v2;
      } else if (v1 < 0.0) {
        v1 *= -e;
      }
    }
    Model m("stack");
    const auto h = m.variable("h", 0.0), v = m.variable("v", 0.0), k = m.variable("k", 1.0), w = m.variable("w", -1.0);
    m.equation(der(h) == v);
    m.equation(der(v) == 0.0);
    m.equation(der(k) == w);
    m.equation(der(w) == 0.0);
    m.when(k < h).reset(w, ((1 - e) * w + (1 + e) * v) / 2).reset(v, ((1 + e) * w + (1 - e) * v) / 2);
    m.when(h < 0.0).reset(v, -e * v);
    expect_end(m, 2.0, {{"v", v1}, {"w", w1}});
  }
}

TEST(OneInstant, ATimeEventRightBehindAnImpactDoesNotRepeatIt) {
  for (const Method method : all_methods)
    for (const double tol : {1e-4, 1e-6, 1e-9})
      for (const double d : {5.1e-14, 7.7e-14, 1e-13}) {
        Model m("wall");
        const auto x = m.variable("x", 1.0), v = m.variable("v", -1.0), n = m.discrete("n", 0.0);
        m.equation(der(x) == v);
        m.equation(der(v) == 0.0);
        m.when(x < 0.0).reset(v, -v);
        m.when(m.time() > 1.0 + d).assign(n, m.pre(n) + 1.0);
        const Trajectory run = simulate(m, {.stop = 2.0, .rtol = tol, .atol = tol, .method = method});
        EXPECT_NEAR(run.final()[0], 1.0, 10.0 * tol) << to_string(method) << ' ' << tol << ' ' << d;
      }
}

TEST(OneInstant, MayBeTheStopTime) {
  for (const double direction : {1.0, -1.0})
    for (const Method method : all_methods)
      for (const double tolerance : {1e-3, 1e-5, 1e-6, 1e-8, 1e-9}) {
        Model m("end");
        const auto x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
        m.equation(der(x) == direction);
        m.when(x > 1.0).reset(x, 0.0).assign(n, m.pre(n) + 1.0);
        const Trajectory run = simulate(m, {.stop = direction, .rtol = tolerance, .atol = tolerance, .method = method});
        EXPECT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
        EXPECT_EQ(run.t_end(), direction) << to_string(method);
        EXPECT_LE(run.events().size(), 1u) << to_string(method);  // x reaches 1 there, give or take a rounding error
      }
}

}  // namespace
}  // namespace saltus
