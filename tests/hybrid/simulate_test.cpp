#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

SimulateOptions to(double stop, double tolerance = 1e-10) {
  return {.stop = stop, .rtol = tolerance, .atol = tolerance};
}

Model bouncing_ball() {
  Model m("ball");
  const Expr g = m.parameter("g", 9.8), e = m.parameter("e", 0.9);
  const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < 0.0).reset(v, -e * v);
  return m;
}

TEST(Simulate, ARunThatEndsWhereAModeBeginsHasValuesUpToThere) {
  Model m("switch");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == if_else(x > 1.0, Expr(2.0), Expr(1.0)));
  SimulateOptions options = to(3.0);
  options.progress = [](const Progress& p) { return p.events < 1; };
  const Trajectory run = simulate(m, options);
  ASSERT_EQ(run.status().code, StatusCode::cancelled);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.t_end(), 1.0, 1e-9);
  EXPECT_NEAR(run.at(0.5, "x"), 0.5, 1e-9);
  EXPECT_NEAR(run.at(run.t_end(), "x"), 1.0, 1e-9);
  for (std::size_t k = 0; k + 1 < run.segments().size(); ++k) EXPECT_FALSE(run.segments()[k].steps.empty());
  const auto samples = run.sample(4);
  for (std::size_t k = 0; k < samples.t.size(); ++k) EXPECT_NEAR(samples.values[k][0], samples.t[k], 1e-9);
}

// DISODE45 manual, example 5: the first impact at sqrt(2 h0/g) = 10/7, then 2 e^k t_1 each.
TEST(Simulate, TheBouncingBallHasItsThirteenImpacts) {
  const Trajectory run = simulate(bouncing_ball(), to(20.0));
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  ASSERT_EQ(run.events().size(), 13u);
  double t = 10.0 / 7.0, interval = 2.0 * t;
  for (const Event& event : run.events()) {
    EXPECT_NEAR(event.t, t, 1e-9);
    EXPECT_EQ(event.kind, EventKind::reset);
    EXPECT_EQ(event.guards, (std::vector<std::string>{"h < 0"}));
    EXPECT_EQ(event.direction, (std::vector{-1}));
    interval *= 0.9;
    t += interval;
  }
  EXPECT_NEAR(run.events()[0].before[1], -14.0, 1e-9);
  EXPECT_NEAR(run.events()[0].after[1], 12.6, 1e-9);
  EXPECT_NEAR(run.events()[0].jump, 26.6, 1e-9);
}

TEST(Simulate, TheResultIsTheSameForEveryMethodAndInitialStep) {
  for (const Method method : {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor,
                              Method::rodas5p, Method::radau5, Method::radau9})
    for (const double h : {0.0, 1e-6, 1.0}) {
      SimulateOptions o = to(20.0, 1e-8);
      o.method = method;
      o.initial_step = h;
      const Trajectory run = simulate(bouncing_ball(), o);
      ASSERT_EQ(run.events().size(), 13u);
      // the motion between impacts is a parabola: exact for every method, so only rounding remains
      EXPECT_NEAR(run.events()[12].t, 10.0 / 7.0 * (1.0 + 2.0 * 0.9 * (1.0 - std::pow(0.9, 12)) / 0.1), 1e-8);
    }
}

TEST(Simulate, AHarmonicOscillatorForwardsAndBackwards) {
  Model m("oscillator");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  const Trajectory forwards = simulate(m, to(10.0));
  EXPECT_NEAR(forwards.at(10.0, "x"), std::cos(10.0), 1e-8);
  EXPECT_NEAR(forwards.at(3.21, "x"), std::cos(3.21), 1e-8);
  const Trajectory backwards = simulate(m, {.start = 2.0, .stop = -3.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(backwards.status().ok());
  EXPECT_NEAR(backwards.at(-3.0, "v"), std::sin(5.0), 1e-8);
  EXPECT_NEAR(backwards.at(0.5, "x"), std::cos(1.5), 1e-8);
}

TEST(Simulate, CrossingsSwitchTheField) {
  // x' = -1 for x > 0, +2 t-dependent below: crosses once and goes on
  Model m("switch");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == if_else(x > 0.0, Expr(-1.0), Expr(-2.0)));
  const Trajectory run = simulate(m, to(2.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].kind, EventKind::crossing);
  EXPECT_NEAR(run.events()[0].t, 1.0, 1e-12);
  EXPECT_NEAR(run.at(2.0, "x"), -2.0, 1e-10);
}

TEST(Simulate, ThermostatWithHysteresisKeepsItsPeriod) {
  // T' = -T + 30 heat; on below 18, off above 22: exact on and off times from the exponentials
  Model m("thermostat");
  const Expr T = m.variable("T", 18.0), heat = m.discrete("heat", 1.0);
  m.equation(der(T) == -T + 30.0 * heat);
  m.when(T > 22.0).assign(heat, 0.0);
  m.when(T < 18.0).assign(heat, 1.0);
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok());
  const double on = std::log(12.0 / 8.0), off = std::log(22.0 / 18.0);
  ASSERT_GE(run.events().size(), 6u);
  for (std::size_t k = 0; k < run.events().size(); ++k)
    EXPECT_NEAR(run.events()[k].t, on * static_cast<double>(k / 2 + 1) + off * static_cast<double>((k + 1) / 2), 1e-8)
        << k;
  EXPECT_EQ(run.at(on + 1e-3, "heat"), 0.0);
}

TEST(Simulate, TimeEventsAreExact) {
  Model m("time");
  const Expr x = m.variable("x", 0.0), t = m.time();
  m.equation(der(x) == if_else(t >= 0.3, Expr(1.0), Expr(0.0)) + if_else(t < 0.7, Expr(2.0), Expr(0.0)));
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].t, 0.3);
  EXPECT_EQ(run.events()[1].t, 0.7);
  EXPECT_EQ(run.events()[0].kind, EventKind::time);
  EXPECT_NEAR(run.at(1.0, "x"), 0.7 + 1.4, 1e-12);
}

TEST(Simulate, SamplesComeExactlyAndOnce) {
  Model m("sampled");
  const Expr x = m.variable("x", 0.0), u = m.discrete("u", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == u);
  m.when(m.sample(0.0, 0.1)).assign(n, m.pre(n) + 1.0).assign(u, n);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[2], 11.0);  // at 0, 0.1, …, 1.0
  double exact = 0.0;
  for (int k = 1; k <= 10; ++k) exact += 0.1 * k;
  EXPECT_NEAR(run.at(1.0, "x"), exact, 1e-12);
}

TEST(Simulate, FloorAndModSwitchAtTheIntegers) {
  Model m("sawtooth");
  const Expr x = m.variable("x", 0.5), t = m.time();  // from x = 0 it could go to either side
  m.equation(der(x) == mod(t, 0.25) + floor(x));
  const Trajectory run = simulate(m, to(0.99));
  EXPECT_EQ(run.events().size(), 3u);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(run.events()[k].t, 0.25 * static_cast<double>(k + 1));
  EXPECT_NEAR(run.at(0.99, "x"), 0.5 + 3 * 0.25 * 0.25 / 2 + 0.24 * 0.24 / 2, 1e-12);
}

TEST(Simulate, ExplicitModesAndTransitions) {
  Model m("two tanks");
  const Expr h = m.variable("h", 0.0);
  auto fill = m.mode("fill"), drain = m.mode("drain");
  fill.equation(der(h) == 1.0);
  drain.equation(der(h) == -h);
  fill.transition(h > 2.0).to(drain);
  drain.transition(h < 1.0).to(fill).reset(h, 0.5);
  const Trajectory run = simulate(m, to(6.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_GE(run.events().size(), 3u);
  EXPECT_NEAR(run.events()[0].t, 2.0, 1e-9);
  EXPECT_EQ(run.events()[0].kind, EventKind::transition);
  EXPECT_EQ(run.events()[0].mode_before.substr(0, 4), "fill");
  EXPECT_EQ(run.events()[0].mode_after.substr(0, 5), "drain");
  EXPECT_NEAR(run.events()[1].t, 2.0 + std::log(2.0), 1e-8);
  EXPECT_NEAR(run.events()[2].t, 2.0 + std::log(2.0) + 1.5, 1e-8);
}

TEST(Simulate, AlgebraicVariablesGivenExplicitlyAreObserved) {
  Model m("spring");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), F = m.variable("F"), a = m.variable("a"),
             E = m.variable("E");
  m.equation(F == -4.0 * x);
  m.equation(a == F / 2.0);
  m.equation(der(x) == v);
  m.equation(der(v) == a);
  m.equation(E == v * v + 2.0 * x * x);
  const Trajectory run = simulate(m, to(3.0));
  const double w = std::sqrt(2.0);
  EXPECT_NEAR(run.at(2.0, "F"), -4.0 * std::cos(2.0 * w), 1e-8);
  EXPECT_NEAR(run.at(3.0, "E"), 2.0, 1e-8);
}

TEST(Simulate, TerminateAndAssertEndTheRunWithTheirTexts) {
  Model m("end");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 0.5).terminate("far enough");
  const Trajectory run = simulate(m, to(1.0));
  EXPECT_EQ(run.status().code, StatusCode::terminated);
  EXPECT_NEAR(run.t_end(), 0.5, 1e-12);
  EXPECT_NE(run.status().message.find("far enough"), std::string::npos);

  Model n("assert");
  const Expr y = n.variable("y", 0.0);
  n.equation(der(y) == 1.0);
  n.assertion(y < 0.25, "y must stay small");
  const Trajectory failed = simulate(n, to(1.0));
  EXPECT_EQ(failed.status().code, StatusCode::assertion_failed);
  EXPECT_NEAR(failed.t_end(), 0.25, 1e-12);
  EXPECT_NE(failed.status().message.find("y must stay small"), std::string::npos);
  EXPECT_NEAR(failed.at(0.2, "y"), 0.2, 1e-12);  // what was computed is there
}

TEST(Simulate, ASingularityEndsWithTheTrajectoryUpToIt) {
  Model m("blow-up");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == x * x);
  const Trajectory run = simulate(m, to(2.0, 1e-8));
  EXPECT_FALSE(run.status().ok());
  EXPECT_NEAR(run.t_end(), 1.0, 1e-6);
  EXPECT_NEAR(run.at(0.5, "x"), 2.0, 1e-6);
  EXPECT_FALSE(run.status().message.empty());
}

TEST(Simulate, AnEventAtTheStopTimeIsReported) {
  Model m("late");
  const Expr x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.time() >= 1.0).assign(n, 5.0);
  const Trajectory run = simulate(m, to(1.0));
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.final()[1], 5.0);
}

TEST(Simulate, ASectionIsRecordedWithoutChangingAnything) {
  Model m("section");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x > 0.0).record();
  const Trajectory run = simulate(m, to(20.0));
  ASSERT_EQ(run.events().size(), 6u);  // rising at 3π/2 + 2πk, falling at π/2 + 2πk
  int recorded = 0;
  for (const Event& e : run.events()) {
    EXPECT_EQ(e.jump, 0.0);
    if (e.kind != EventKind::record) continue;
    EXPECT_NEAR(e.t, 1.5 * pi + 2.0 * pi * recorded++, 1e-8);
  }
  EXPECT_EQ(recorded, 3);
}

TEST(Simulate, BackEndsGiveTheSameBits) {
  const Trajectory a = simulate(bouncing_ball(), to(20.0)),
                   b = simulate(bouncing_ball(), to(20.0), {.backend = Backend::interpreter});
  ASSERT_EQ(a.events().size(), b.events().size());
  for (std::size_t k = 0; k < a.events().size(); ++k) EXPECT_EQ(a.events()[k].t, b.events()[k].t);
  EXPECT_EQ(a.final(), b.final());
}

TEST(Simulate, AGenericCallableIsAModel) {
  const auto f = [](const auto& x, auto& dxdt, auto t, const auto& p) {
    dxdt[0] = x[1];
    dxdt[1] = -p[0] * x[0] + 0.0 * t;
  };
  const Trajectory run = simulate(record("oscillator", f, {{"x", 1.0}, {"v", 0.0}}, {{"k", 4.0}}), to(1.0));
  EXPECT_NEAR(run.final()[0], std::cos(2.0), 1e-8);
  std::vector<double> x{1.0, 0.0}, dxdt(2), p{4.0};
  f(x, dxdt, 0.0, p);  // the same callable with numbers
  EXPECT_EQ(dxdt[1], -4.0);
}

TEST(Simulate, ForeignCodeTakesPart) {
  // the bouncing ball with gravity from a function that only knows doubles: no Taylor coefficients, but events and
  // sides all the same
  auto gravity = std::make_shared<ExternalFunction>();
  gravity->name = "gravity";
  gravity->inputs = gravity->outputs = 1;
  gravity->values = [](std::span<const double>, std::span<double> out) { out[0] = -9.8; };
  Model m("ball");
  const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == call(gravity, std::vector{h})[0]);
  m.when(h < 0.0).reset(v, -0.9 * v);
  const Trajectory run = simulate(m, to(20.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 13u);
  EXPECT_NEAR(run.events()[0].t, 10.0 / 7.0, 1e-9);
}

TEST(Simulate, AStiffModeGetsAnImplicitMethod) {
  // x' = -1e5 (x - cos t) - sin t: an explicit method would need 1e5 steps for stability
  Model m("stiff");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -1e5 * (x - cos(m.time())) - sin(m.time()));
  m.when(x < 0.5).record();
  const Trajectory run = simulate(m, to(2.0, 1e-6));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.final()[0], std::cos(2.0), 1e-5);
  EXPECT_LT(run.statistics().steps, 5000);
  EXPECT_NE(run.statistics().method.find("stiff"), std::string::npos) << run.statistics().method;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, pi / 3.0, 1e-5);
}

TEST(Simulate, BadOptionsAreRefused) {
  EXPECT_THROW(simulate(bouncing_ball(), {.stop = 1.0, .rtol = -1.0}), UsageError);
  EXPECT_THROW(simulate(bouncing_ball(), {.stop = std::nan("")}), UsageError);
  EXPECT_THROW(simulate(bouncing_ball(), {.atol_each = {1.0}}), UsageError);
}

TEST(Simulate, CancellingKeepsWhatIsThere) {
  SimulateOptions o = to(20.0);
  o.progress = [](const Progress& p) { return p.t < 5.0; };
  const Trajectory run = simulate(bouncing_ball(), o);
  EXPECT_EQ(run.status().code, StatusCode::cancelled);
  EXPECT_GE(run.t_end(), 5.0);
  EXPECT_LT(run.t_end(), 20.0);
}

TEST(Simulator, AdvancesToGivenTimes) {
  Simulator s(std::make_shared<CompiledModel>(bouncing_ball()), to(20.0));
  for (const double t : {0.5, 1.0, 1.4}) {
    ASSERT_TRUE(s.advance_to(t));
    EXPECT_EQ(s.t(), t);
    EXPECT_NEAR(s.x()[0], 10.0 - 4.9 * t * t, 1e-9);
  }
  EXPECT_THROW(s.advance_to(1.0), UsageError);
  s.run();
  EXPECT_EQ(s.trajectory().events().size(), 13u);
}

TEST(Simulate, TakesAMethodForEachMode) {
  Model m("two modes");
  const Expr x = m.variable("x", 1.0);
  auto slow = m.mode("slow"), fast = m.mode("fast");
  slow.equation(der(x) == -x);
  fast.equation(der(x) == -100.0 * (x - 1.0));
  slow.transition(x < 0.5).to(fast);
  fast.transition(x > 0.9).to(slow);
  const auto run = simulate(m, {.stop = 2.0, .method = Method::tsit5, .mode_methods = {{"fast", Method::rodas4}}});
  EXPECT_NE(run.statistics().method.find("tsit5"), std::string::npos) << run.statistics().method;
  EXPECT_NE(run.statistics().method.find("rodas4"), std::string::npos) << run.statistics().method;
  const auto one = simulate(m, {.stop = 2.0, .method = Method::tsit5});
  EXPECT_EQ(one.statistics().method.find("rodas4"), std::string::npos);
  ASSERT_EQ(run.events().size(), one.events().size());
  EXPECT_NEAR(run.events().back().t, one.events().back().t, 1e-5);  // rtol 1e-6, a few events
}

TEST(Simulate, StopsWhereItIsAskedToAlsoWithinAStepThatAnEventHasInterrupted) {
  Model m("section");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x < 0.3).record();
  Simulator s(std::make_shared<CompiledModel>(m), to(10.0, 1e-8));
  while (s.trajectory().statistics().events == 0) ASSERT_TRUE(s.step());
  EXPECT_NEAR(s.t(), std::acos(0.3), 1e-7);  // the step goes further
  const double t = s.t() + 1e-4;
  ASSERT_TRUE(s.advance_to(t));
  EXPECT_EQ(s.t(), t);
  EXPECT_NEAR(s.x()[0], std::cos(t), 1e-7);
  s.run();
  EXPECT_NEAR(s.x()[0], std::cos(10.0), 1e-6);
}

TEST(Simulate, CanBeAskedAfterItsResultWasTaken) {
  Simulator s(std::make_shared<CompiledModel>(bouncing_ball()), to(2.0));
  s.run();
  EXPECT_EQ(s.take().events().size(), 1u);
  EXPECT_TRUE(s.trajectory().events().empty());
  EXPECT_FALSE(s.step());
}

TEST(Simulate, WithoutStepsOnlyTheEndsAreKnown) {
  Model m("decay");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -x);
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9, .keep_steps = false});
  EXPECT_EQ(run.at(0.0)[0], 1.0);
  EXPECT_NEAR(run.at(1.0)[0], std::exp(-1.0), 1e-8);
  EXPECT_NEAR(run.before(1.0)[0], std::exp(-1.0), 1e-8);
  EXPECT_THROW(run.at(0.5), UsageError);
  EXPECT_THROW(run.before(0.5), UsageError);
  EXPECT_THROW(run.sample(10), UsageError);
}

/// x = time until t = 1 when k becomes 5 and x is set to -2.
Model step_at_one(bool ends) {
  Model m("last");
  const Expr x = m.variable("x", 0.0), k = m.discrete("k", 0.0);
  m.equation(der(x) == 1.0);
  if (ends)
    m.when(m.time() >= 1.0).assign(k, 5.0).reset(x, -2.0).terminate("enough");
  else
    m.when(m.time() >= 1.0).assign(k, 5.0).reset(x, -2.0);
  return m;
}

TEST(Simulate, TheEndHasTwoSidesIfThereIsAnEvent) {
  for (const bool keep_steps : {true, false})
    for (const bool keep_values : {true, false})
      for (const bool ends : {false, true}) {
        SCOPED_TRACE(fmt::format("steps {}, values {}, terminate {}", keep_steps, keep_values, ends));
        const Trajectory run = simulate(
            step_at_one(ends), {.stop = ends ? 2.0 : 1.0, .keep_steps = keep_steps, .keep_event_values = keep_values});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        ASSERT_EQ(run.t_end(), 1.0);
        EXPECT_EQ(run.final(), (std::vector{-2.0, 5.0}));
        EXPECT_EQ(run.at(1.0), run.final());
        EXPECT_EQ(run.at(1.0, "k"), 5.0);
        if (keep_steps || keep_values) {
          EXPECT_NEAR(run.before(1.0)[0], 1.0, 1e-15);
          EXPECT_EQ(run.before(1.0)[1], 0.0);
        } else {
          EXPECT_THROW(run.before(1.0), UsageError);
        }
        if (keep_steps) {
          const auto samples = run.sample(2);
          EXPECT_EQ(samples.t, (std::vector{0.0, 0.5, 1.0, 1.0}));
          EXPECT_NEAR(samples.values[2][0], 1.0, 1e-15);
          EXPECT_EQ(samples.values[3], run.final());
        }
      }
}

TEST(Simulate, TheEndSoFarHasTwoSidesIfThereIsAnEvent) {
  for (const bool keep_steps : {true, false}) {
    SCOPED_TRACE(keep_steps);
    Simulator s(std::make_shared<CompiledModel>(step_at_one(false)), {.stop = 2.0, .keep_steps = keep_steps});
    while (s.trajectory().events().empty()) ASSERT_TRUE(s.step());
    EXPECT_EQ(s.trajectory().t_end(), 1.0);
    EXPECT_EQ(s.trajectory().at(1.0), (std::vector{-2.0, 5.0}));
    EXPECT_EQ(s.trajectory().before(1.0)[1], 0.0);
    s.run();
    EXPECT_EQ(s.trajectory().at(1.0), (std::vector{-2.0, 5.0}));
    EXPECT_EQ(s.trajectory().before(1.0)[1], 0.0);
    EXPECT_NEAR(s.trajectory().at(2.0)[0], -1.0, 1e-15);
    EXPECT_NEAR(s.trajectory().before(2.0)[0], -1.0, 1e-15);
  }
}

TEST(Simulate, SamplesBothSidesOfEventsWhoseValuesWereNotKept) {
  SimulateOptions o = to(2.0);
  const auto kept = simulate(bouncing_ball(), o).sample(4);
  o.keep_event_values = false;
  const auto made = simulate(bouncing_ball(), o).sample(4);
  ASSERT_EQ(made.values.size(), kept.values.size());
  for (std::size_t k = 0; k < kept.values.size(); ++k) {
    ASSERT_EQ(made.values[k].size(), kept.values[k].size()) << k;
    for (std::size_t j = 0; j < kept.values[k].size(); ++j)
      EXPECT_NEAR(made.values[k][j], kept.values[k][j], 1e-9) << k;
  }
}

TEST(Simulate, SamplesARunWithoutLengthOnce) {
  const auto samples = simulate(bouncing_ball(), {.start = 0.5, .stop = 0.5}).sample(100);
  EXPECT_EQ(samples.t, std::vector{0.5});
  EXPECT_EQ(samples.values.size(), 1u);
}

TEST(Simulate, SaysWhenAMethodWasGivenForAModeThatItDidNotEnter) {
  Model m("decay");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -x);
  const auto run = simulate(m, {.stop = 1.0, .mode_methods = {{"fats", Method::rodas4}}});
  EXPECT_TRUE(run.status().ok());
  EXPECT_EQ(run.status().message, "the run entered no mode 'fats', for which mode_methods gives a method");
}

TEST(Simulate, KeepsNoValuesOfEventsOnRequest) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.9 * v);
  const auto with = simulate(m, {.stop = 1.0});
  const auto without = simulate(m, {.stop = 1.0, .keep_event_values = false});
  ASSERT_EQ(with.events().size(), without.events().size());
  EXPECT_EQ(with.events().front().before.size(), 2u);
  EXPECT_TRUE(without.events().front().before.empty());
  EXPECT_TRUE(without.events().front().after.empty());
  EXPECT_EQ(with.events().front().jump, without.events().front().jump);
  EXPECT_EQ(with.final(), without.final());
}

TEST(Simulate, SamplesIntoGivenMemoryAreThoseOfSingleTimes) {
  // explicit modes with resets, a pendulum with a constraint, and runs that keep nothing but their ends
  Model ball("ball");
  const Expr h = ball.variable("h", 1.0), v = ball.variable("v", 0.0), e = ball.variable("energy", 0.0);
  ball.equation(der(h) == v);
  ball.equation(der(v) == -9.81);
  ball.equation(e == 9.81 * h + 0.5 * v * v);
  ball.when(h < 0.0).reset(v, -0.8 * v);
  Model pendulum("pendulum");
  const Expr x = pendulum.variable("x", 0.6), y = pendulum.variable("y", -0.8), u = pendulum.variable("u", 0.0),
             w = pendulum.variable("w", 0.0), force = pendulum.variable("force", 0.0);
  pendulum.equation(der(x) == u);
  pendulum.equation(der(y) == w);
  pendulum.equation(der(u) == -force * x);
  pendulum.equation(der(w) == -force * y - 9.81);
  pendulum.equation(x * x + y * y == 1.0);
  for (const Model* model : {&ball, &pendulum}) {
    const Trajectory run = simulate(*model, {.stop = 2.0});
    std::vector<double> times;
    std::vector<unsigned char> before;
    for (int k = 0; k <= 50; ++k) times.push_back(2.0 * ((k * 17) % 51) / 50.0);
    for (const Event& event : run.events()) times.push_back(event.t);
    for (std::size_t k = 0; k < times.size(); ++k) before.push_back(k % 2 == 0 && times[k] > 0.0);
    const std::vector<int> variables{2, 0};
    std::vector<double> out(times.size() * variables.size());
    run.sample(times, variables, out, before);
    for (std::size_t k = 0; k < times.size(); ++k) {
      const std::vector<double> values = before[k] ? run.before(times[k]) : run.at(times[k]);
      EXPECT_EQ(out[k], values[2]) << times[k];
      EXPECT_EQ(out[times.size() + k], values[0]) << times[k];
    }
    EXPECT_THROW(run.sample(std::vector{3.0}, variables, std::span(out).first(2)), UsageError);
    EXPECT_THROW(run.sample(times, variables, std::span(out).first(2)), UsageError);
    EXPECT_THROW(run.sample(std::vector{1.0}, std::vector{99}, std::span(out).first(1)), UsageError);
  }
  const Trajectory ends = simulate(ball, {.stop = 2.0, .keep_steps = false});
  double last = 0.0;
  ends.sample(std::vector{2.0}, std::vector{0}, std::span(&last, 1));
  EXPECT_EQ(last, ends.final()[0]);
}

}  // namespace
}  // namespace saltus
