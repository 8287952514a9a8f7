// Bodies that come to rest after infinitely many impacts while their equations, or clauses, ask for the sign of their speed.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "suites/every_method.hpp"

namespace saltus {
namespace {

constexpr double g = 9.81;
const std::vector<Method> all_methods = suite::every_method();

/// A ball of the given mass that falls from half of a unit of length and bounces with e = 1/2. `force` is what acts on it beside its weight.
Model ball(double mass, const std::function<Expr(const Expr&)>& force, double unit = 1.0) {
  Model m("ball");
  const auto h = m.variable("h", 0.5 * unit), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(mass * der(v) == -mass * g * unit + force(v));
  m.when(h < 0.0).reset(v, -0.5 * v);
  return m;
}

/// It rests with all methods, in one contact, after which nothing happens: neither events nor short steps.
void expect_rest(const Model& m, double unit = 1.0) {
  for (const Method method : all_methods)
    for (const double tol : {1e-5, 1e-7}) {
      SCOPED_TRACE(to_string(method));
      const Trajectory run = simulate(m, {.stop = 4.0, .rtol = tol, .atol = tol * unit, .method = method, .max_steps = 3000});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.events().back().kind, EventKind::contact) << run.events().back().describe();
      EXPECT_NEAR(run.final()[0], 0.0, tol * unit);
      EXPECT_NEAR(run.final()[1], 0.0, tol * unit);
    }
}

TEST(ComingToRest, DragThatKnowsTheSignOfTheSpeed) {
  for (const double mass : {1.0, 2.0, 0.3}) expect_rest(ball(mass, [&](const Expr& v) { return -0.3 * v * abs(v); }));
}

TEST(ComingToRest, DryFriction) {
  expect_rest(ball(1.0, [](const Expr& v) { return -1.5 * sign(v); }));
}

// Everything is as before in units of 1e-20, with tolerances to match: small values are no errors.
TEST(ComingToRest, SmallUnits) {
  constexpr double unit = 1e-20;
  const auto drag = [](double in) { return [in](const Expr& v) { return -0.3 / in * v * abs(v); }; };
  const Model tiny = ball(1.0, drag(unit), unit);
  expect_rest(tiny, unit);
  const SimulateOptions options{.stop = 4.0, .rtol = 1e-6, .atol = 1e-6, .method = Method::dopri5};
  SimulateOptions scaled = options;
  scaled.atol *= unit;
  EXPECT_EQ(simulate(tiny, scaled).events().size(), simulate(ball(1.0, drag(1.0)), options).events().size());
}

// At rest v > 0 is false, although it was true after the last bounce: the clock of the ball's way up stands still.
TEST(ComingToRest, TheSpeedIsNotPositive) {
  Model m("clock");
  const auto h = m.variable("h", 0.5), v = m.variable("v", 0.0), up = m.variable("up", 0.0), falls = m.discrete("falls", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.equation(der(up) == if_else(v > 0.0, 1.0, 0.0));
  m.when(h < 0.0).reset(v, -0.5 * v);
  m.when(v <= 0.0).assign(falls, m.pre(falls) + 1.0);
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    constexpr double tol = 1e-6;
    const Trajectory run = simulate(m, {.stop = 4.0, .rtol = tol, .atol = tol, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    // the first fall takes sqrt(2 0.5/g), each flight after it half as long as the one before, and half of each goes up
    EXPECT_NEAR(run.final()[run.index("up")], std::sqrt(1.0 / g), 10.0 * tol);
    const auto bounces = std::count_if(run.events().begin(), run.events().end(), [](const Event& e) { return e.kind == EventKind::reset; });
    EXPECT_EQ(run.final()[run.index("falls")], static_cast<double>(bounces));  // the last one is followed by the contact
  }
}

// Two masses on a rod, index 3. The position of the lower one has the digits of the upper one: flights below some 1e-16 cannot be seen. The first
// fall takes sqrt(2 0.5/g), and the flights after it, each half as long as the one before, twice that together.
TEST(ComingToRest, ARod) {
  Model m("rod");
  const auto a = m.variable("a", 0.5), va = m.variable("va", 0.0), b = m.variable("b", 1.5), vb = m.variable("vb", 0.0), F = m.variable("F", 0.0);
  m.equation(der(a) == va);
  m.equation(der(b) == vb);
  m.equation(der(va) == -g - F);
  m.equation(2.0 * der(vb) == -2.0 * g + F);
  m.equation(b - a == 1.0);
  m.when(a < 0.0).reset(va, -0.5 * va).reset(vb, -0.5 * vb);
  for (const Method method : {Method::automatic, Method::taylor, Method::rodas4, Method::rodas5p, Method::radau, Method::radau5, Method::radau9, Method::bdf})
    for (const double tol : {1e-6, 1e-8, 1e-10}) {
      if (method == Method::rodas4 && tol < 1e-9) continue;  // many steps
      SCOPED_TRACE(std::string(to_string(method)) + " " + std::to_string(-std::log10(tol)));
      const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      ASSERT_EQ(run.events().back().kind, EventKind::contact);
      // speeds below 1e-7, those of a height of some 1e-16, are lost: 1e-8 of time
      EXPECT_NEAR(run.events().back().t, 3.0 * std::sqrt(1.0 / g), 100.0 * tol + 1e-7);
      EXPECT_NEAR(run.final()[0], 0.0, tol);
      EXPECT_NEAR(run.final()[1], 0.0, tol);
      EXPECT_NEAR(run.final()[run.index("F")], 2.0 * g, 1e-6);  // the upper mass rests on the rod
    }
}

}  // namespace
}  // namespace saltus
