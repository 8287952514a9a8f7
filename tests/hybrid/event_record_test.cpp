// What an event says: touches, slopes on both sides, the cause of a jump, and whether the search before it was a proof.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

SimulateOptions to(double stop, double tolerance = 1e-10) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

// --- 5. A zero that touches without crossing is reported if the guard asks for it, and is never taken for two crossings.

TEST(Touch, IsRecordedWhereTheGuardAsksForIt) {
  for (const bool asked : {false, true}) {
    Model m("touch");
    const Expr x = m.variable("x", -1.0), n = m.discrete("n", 0.0);
    m.equation(der(x) == 1.0);
    auto when = m.when((x - 0.3) * (x - 0.3) <= 0.0);
    when.assign(n, m.pre(n) + 1.0);
    if (asked) when.record_touches();
    const Trajectory run = simulate(m, to(2.0));
    EXPECT_EQ(run.final()[1], 0.0);  // the clause does not act
    ASSERT_EQ(run.events().size(), asked ? 1u : 0u);
    if (!asked) continue;
    const Event& e = run.events()[0];
    EXPECT_EQ(e.kind, EventKind::touch);
    // (t - 1.3)^2 is below its noise of some eps within the square root of it
    EXPECT_NEAR(e.t, 1.3, 1e-7);
    EXPECT_NEAR(e.before[0], 0.3, 1e-7);
    EXPECT_EQ(e.before, e.after);
    EXPECT_EQ(e.direction, (std::vector{0}));
    EXPECT_EQ(e.guards.size(), 1u);
    EXPECT_NE(e.describe().find("touch"), std::string::npos);
  }
}

TEST(Touch, OfAnOscillationIsRecordedOncePerPeriod) {
  // cos t - 1 touches zero at 2 pi k; the start at zero is no touch
  for (const Method method : {Method::dop853, Method::taylor}) {
    Model m("grazing");
    const Expr x = m.variable("x", 1.0), t = m.time();
    m.equation(der(x) == -x);
    m.when(cos(t) > 1.0).record_touches();
    SimulateOptions o = to(20.0);
    o.method = method;
    const Trajectory run = simulate(m, o);
    ASSERT_EQ(run.events().size(), 3u) << to_string(method);
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(run.events()[k].kind, EventKind::touch);
      EXPECT_NEAR(run.events()[k].t, 2.0 * pi * static_cast<double>(k + 1), 1e-6);
    }
  }
}

TEST(Touch, AtTheEndOfAStepIsRecordedOnce) {
  // steps end at 1/2, where the guard touches, because of a time event
  Model m("end");
  const Expr x = m.variable("x", 0.0), t = m.time();
  m.equation(der(x) == if_else(t >= 0.5, Expr(1.0), Expr(1.0) + 0.0 * x));
  m.when((x - 0.5) * (x - 0.5) <= 0.0).record_touches();
  const Trajectory run = simulate(m, to(1.0));
  int touches = 0;
  for (const Event& e : run.events()) touches += e.kind == EventKind::touch;
  EXPECT_EQ(touches, 1);
}

TEST(Touch, AtAPauseIsRecordedOnce) {
  // x = cos t; its square touches zero at the pause
  Model m("pause");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x * x < 0.0).record_touches();
  for (const Method method : {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor, Method::radau}) {
    Simulator s(std::make_shared<CompiledModel>(m), {.stop = 3.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    s.advance_to(0.5 * std::numbers::pi);
    s.run();
    ASSERT_EQ(s.trajectory().events().size(), 1u) << to_string(method);
    EXPECT_NEAR(s.trajectory().events()[0].t, 0.5 * std::numbers::pi, 1e-6) << to_string(method);
  }
}

TEST(Touch, BeforeAnEventOfTheSameStepComesFirst) {
  Model m("order");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 0.7).reset(x, -5.0);
  m.when((x - 0.2) * (x - 0.2) <= 0.0).record_touches();
  m.when((x - 0.9) * (x - 0.9) <= 0.0).record_touches();  // not reached
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].kind, EventKind::touch);
  EXPECT_NEAR(run.events()[0].t, 0.2, 1e-7);
  EXPECT_EQ(run.events()[1].kind, EventKind::reset);
}

// --- slopes

TEST(EventRecord, SlopesOfTheGuardOnBothSides) {
  for (const Method method : {Method::dopri5, Method::taylor, Method::radau5}) {
    Model m("slopes");
    const Expr x = m.variable("x", 1.0);
    m.equation(der(x) == if_else(x > 0.0, Expr(-1.0), Expr(-3.0)));
    SimulateOptions o = to(2.0);
    o.method = method;
    const Trajectory run = simulate(m, o);
    ASSERT_EQ(run.events().size(), 1u);
    ASSERT_EQ(run.events()[0].slope_before.size(), 1u);
    EXPECT_NEAR(run.events()[0].slope_before[0], -1.0, 1e-12);
    EXPECT_NEAR(run.events()[0].slope_after[0], -3.0, 1e-12);
  }
}

TEST(EventRecord, SlopesOfANonlinearGuardAreTotalDerivatives) {
  // x = cos t, v = -sin t, g = x v + t
  Model m("total");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), t = m.time();
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x * v + t > 1.0).record();
  const Trajectory run = simulate(m, to(3.0));
  ASSERT_EQ(run.events().size(), 1u);
  const double at = run.events()[0].t;
  EXPECT_NEAR(run.events()[0].slope_before[0], 1.0 - std::cos(2.0 * at), 1e-8);
  EXPECT_NEAR(run.events()[0].slope_after[0], 1.0 - std::cos(2.0 * at), 1e-8);
}

// --- causes

TEST(EventRecord, AJumpSaysItsCause) {
  Model m("causes");
  const Expr a = m.variable("a", 3.0), b = m.variable("b", 1.0), tau = m.variable("tau", 0.0), t = m.time();
  m.equation(der(a) == -tau);
  m.equation(der(b) == tau);
  m.equation(if_else(t >= 0.5, a - b, tau) == 0.0);
  m.when(t >= 0.25).reset(a, 5.0);
  m.when(t >= 0.1).record();
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 3u);
  EXPECT_EQ(run.events()[0].cause, JumpCause::none);
  EXPECT_EQ(run.events()[1].cause, JumpCause::reset);
  EXPECT_NEAR(run.events()[1].jump, 2.0, 1e-12);
  EXPECT_EQ(run.events()[2].cause, JumpCause::consistency);
  EXPECT_NEAR(run.events()[2].after[0], 3.0, 1e-9);
  EXPECT_EQ(to_string(run.events()[2].cause), "consistency");
}

// --- certainty

TEST(EventRecord, StepsSayWhetherTheyAreProved) {
  Model m("certain");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(sin(7.0 * x) > 0.5).record();
  const Trajectory run = simulate(m, to(3.0));
  EXPECT_EQ(run.statistics().unproved, 0);
  for (const Event& e : run.events()) EXPECT_TRUE(e.proved);
  for (const auto& segment : run.segments())
    for (const auto& step : segment.steps) EXPECT_TRUE(step.proved);

  // |x - 1/3| to the power 1/3 has a corner without a lock: no polynomial fits it
  Model rough("rough");
  const Expr y = rough.variable("y", 0.0);
  rough.equation(der(y) == 1.0);
  auto corner = std::make_shared<ExternalFunction>();
  corner->name = "corner";
  corner->inputs = corner->outputs = 1;
  corner->values = [](std::span<const double> in, std::span<double> out) { out[0] = std::cbrt(std::abs(in[0] - 1.0 / 3.0)) - 0.01; };
  rough.when(call(corner, std::vector{y})[0] < 0.0).record();
  const Trajectory guess = simulate(rough, to(1.0));
  EXPECT_GT(guess.statistics().unproved, 0);
}

// --- linear guards

TEST(LinearGuards, OfARecordedModelNeedNoEvaluations) {
  Model m("linear");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), k = m.parameter("k", 0.25), q = m.discrete("q", 2.0), t = m.time();
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x + q * v > k + 0.1 * t).assign(q, m.pre(q) + 1.0);  // linear, with coefficients from data
  m.when(x * v > 0.4).record();                               // not linear
  CompiledModel compiled(m);
  Mode mode = compiled.initial_mode();
  System& s = compiled.system(mode);
  ASSERT_EQ(s.structure().guards, 2);
  const auto linear = s.linear_guards();
  ASSERT_EQ(linear.size(), 1u);
  // g may be written with either sign
  const std::vector<double> point{0.3, -0.7}, slope{0.0, 0.0};
  std::vector<double> g(2);
  for (const double discrete : {2.0, -3.0}) {
    mode.discrete[0] = discrete;
    System& now = compiled.system(mode);
    now.guards(1.5, point, slope, g);
    const LinearGuard& form = now.linear_guards()[0];
    double value = form.constant + form.time * 1.5;
    for (std::size_t i = 0; i < form.variables.size(); ++i)
      value += form.coefficients[i] * point[static_cast<std::size_t>(form.variables[i])];
    EXPECT_NEAR(value, g[static_cast<std::size_t>(form.guard)], 1e-15);
  }
}

}  // namespace
}  // namespace saltus
