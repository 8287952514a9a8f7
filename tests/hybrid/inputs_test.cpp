// Inputs: values from outside, in tables, by functions, and set during a run. Exact solutions throughout.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

namespace saltus {
namespace {

using Between = InputSignal::Between;

constexpr double tolerances[] = {1e-4, 1e-6, 1e-9};

/// Methods for explicit and for differential-algebraic modes.
const Method all_methods[] = {Method::automatic, Method::dopri5,  Method::tsit5, Method::bs3, Method::dop853,
                              Method::taylor,    Method::rodas5p, Method::radau, Method::bdf};
const Method dae_methods[] = {Method::automatic, Method::taylor, Method::rodas5p, Method::radau, Method::bdf};

std::string label(Method method, double tolerance) {
  return std::string(to_string(method)) + " at " + std::to_string(std::log10(tolerance));
}

SimulateOptions options(double stop, double tolerance, Method method, std::map<std::string, InputSignal> inputs) {
  SimulateOptions o;
  o.stop = stop;
  o.rtol = o.atol = tolerance;
  o.method = method;
  o.inputs = std::move(inputs);
  return o;
}

Model integrator() {
  Model m("Integrator");
  const Expr u = m.input("u");
  const Expr x = m.variable("x", 0.0, {.fixed = true});
  m.equation(der(x) == u);
  return m;
}

// x' = u along a trapezium 0 … 1 … 1 … 0 at the times 1, 2, 3, 4: lines are integrated exactly by methods of order 2.
TEST(Inputs, ATableOfLinesIsIntegrated) {
  const InputSignal u = InputSignal::table({1.0, 2.0, 3.0, 4.0}, {0.0, 1.0, 1.0, 0.0});
  for (const Method method : all_methods)
    for (const double tolerance : tolerances) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory run = simulate(integrator(), options(5.0, tolerance, method, {{"u", u}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.status().message, "");
      EXPECT_NEAR(run.at(1.0, "x"), 0.0, 1e-13);
      EXPECT_NEAR(run.at(1.5, "x"), 0.125, 10 * tolerance);
      EXPECT_NEAR(run.at(2.0, "x"), 0.5, 1e-12);
      EXPECT_NEAR(run.at(3.5, "x"), 1.875, 10 * tolerance);
      EXPECT_NEAR(run.at(5.0, "x"), 2.0, 1e-12);
      EXPECT_NEAR(run.at(1.25, "u"), 0.25, 1e-15);
      EXPECT_EQ(run.at(0.5, "u"), 0.0);   // before the first row: its value
      EXPECT_EQ(run.at(4.5, "u"), 0.0);   // behind the last one: its value
      EXPECT_TRUE(run.events().empty());  // kinks are no events
    }
}

// A low pass x' = 3 (u - x) behind steps 0, 1, -1 at 1 and 2.
TEST(Inputs, StepsDriveALowPass) {
  Model m("LowPass");
  const Expr x = m.variable("x", 0.0, {.fixed = true});
  const Expr u = m.input("u");
  m.equation(der(x) == 3.0 * (u - x));
  const InputSignal steps = InputSignal::table({0.0, 1.0, 2.0}, {0.0, 1.0, -1.0}, Between::steps);
  const InputSignal jumps = InputSignal::table({0.0, 1.0, 1.0, 2.0, 2.0}, {0.0, 0.0, 1.0, 1.0, -1.0});
  const double x2 = 1.0 - std::exp(-3.0), x3 = -1.0 + (x2 + 1.0) * std::exp(-3.0);
  for (const InputSignal& signal : {steps, jumps})
    for (const Method method : all_methods)
      for (const double tolerance : tolerances) {
        SCOPED_TRACE(label(method, tolerance));
        const Trajectory run = simulate(m, options(3.0, tolerance, method, {{"u", signal}}));
        ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
        EXPECT_NEAR(run.at(2.0, "x"), x2, 20 * tolerance);
        EXPECT_NEAR(run.at(3.0, "x"), x3, 20 * tolerance);
        ASSERT_EQ(run.events().size(), 2u);
        EXPECT_EQ(run.events()[0].t, 1.0);
        EXPECT_EQ(run.events()[1].t, 2.0);
        EXPECT_EQ(run.events()[0].kind, EventKind::time);
      }
}

// The same signal inside of the model.
TEST(Inputs, ATableIsTheSameAsTheSignalInTheModel) {
  const auto make = [](bool as_input, bool input_first) {
    Model m("M");
    Expr u;
    if (as_input && input_first) u = m.input("u");
    const Expr x = m.variable("x", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
    if (as_input && !input_first) u = m.input("u");
    if (!as_input) {
      u = m.variable("u");
      const Expr t = m.time();
      m.equation(u == if_else(t < 1.0, t, if_else(t < 2.5, Expr(2.0), 2.0 - 4.0 * (t - 2.5))));
    }
    m.equation(der(x) == v);
    m.equation(der(v) == -x - if_else(v > 0.0, Expr(0.3), Expr(-0.3)) + u);
    m.when(x > 2.0).reset(v, -0.5 * v);
    return m;
  };
  const InputSignal u = InputSignal::table({0.0, 1.0, 1.0, 2.5, 6.0}, {0.0, 1.0, 2.0, 2.0, -12.0});
  for (const Method method : all_methods)
    for (const double tolerance : tolerances) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory expected = simulate(make(false, false), options(6.0, 1e-11, Method::dop853, {}));
      for (const bool first : {true, false}) {
        const Trajectory run = simulate(make(true, first), options(6.0, tolerance, method, {{"u", u}}));
        ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
        for (const double t : {0.5, 1.5, 3.0, 4.5, 6.0})
          for (const char* name : {"x", "v", "u"})  // errors grow some hundred times in the events
            EXPECT_NEAR(run.at(t, name), expected.at(t, name), 1000 * tolerance) << name << " at " << t;
        EXPECT_NEAR(static_cast<double>(run.events().size()), static_cast<double>(expected.events().size()), 1.0);
      }
    }
}

// x' = -sign(x) + u slides while |u| < 1 and leaves upwards with x' = u - 1.
TEST(Inputs, ASquareWaveEndsASlide) {
  Model m("Relay");
  const Expr u = m.input("u");
  const Expr x = m.variable("x", 0.5, {.fixed = true});
  m.equation(der(x) == if_else(x > 0.0, Expr(-1.0), Expr(1.0)) + u);
  const InputSignal wave = InputSignal::table({1.0, 2.0, 3.0}, {0.5, 3.0, -0.5}, Between::steps);
  // u = 0.5 from the start: from 0.5 down with -0.5 to 0 at t = 1; slides; up to 2 at t = 3; down with -1.5
  for (const Method method : all_methods)
    for (const double tolerance : tolerances) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory run = simulate(m, options(6.0, tolerance, method, {{"u", wave}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NEAR(run.at(0.5, "x"), 0.25, 10 * tolerance);
      EXPECT_NEAR(run.at(1.9, "x"), 0.0, 10 * tolerance);
      EXPECT_NEAR(run.at(3.0, "x"), 2.0, 10 * tolerance);
      EXPECT_NEAR(run.at(4.0, "x"), 0.5, 10 * tolerance);
      EXPECT_NEAR(run.at(5.0, "x"), 0.0, 10 * tolerance);
      bool left = false;
      for (const Event& event : run.events()) left = left || (event.kind == EventKind::slide_exit && event.t == 2.0);
      EXPECT_TRUE(left);
    }
}

/// What clauses see of a jump.
struct Seen {
  Model model{"Seen"};
  Seen() {
    const Expr u = model.input("u"), x = model.variable("x", 0.0, {.fixed = true});
    const Expr before = model.discrete("before", -9.0), after = model.discrete("after", -9.0),
               count = model.discrete("count", 0.0), sampled = model.discrete("sampled", -9.0),
               crossed = model.discrete("crossed", -9.0);
    model.equation(der(x) == 1.0);
    model.when(u > 0.5).assign(before, model.pre(u)).assign(after, u).assign(count, model.pre(count) + 1.0);
    model.when(model.sample(1.0, 1.0)).assign(sampled, u);
    model.when(x >= 2.0).assign(crossed, u);
  }
};

TEST(Inputs, ClausesSeeBothSidesOfAJump) {
  Seen seen;
  for (const double jump : {0.7, 1.0, 2.0}) {  // alone, at a sample, at a sample and an event of a state
    SCOPED_TRACE(jump);
    const InputSignal u = InputSignal::table({jump, jump}, {0.25, 4.0});
    for (const Method method : all_methods) {
      SCOPED_TRACE(to_string(method));
      const Trajectory run = simulate(seen.model, options(2.5, 1e-6, method, {{"u", u}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(run.at(2.5, "before"), 0.25);
      EXPECT_EQ(run.at(2.5, "after"), 4.0);
      EXPECT_EQ(run.at(2.5, "count"), 1.0);
      EXPECT_EQ(run.at(1.5, "sampled"), jump <= 1.0 ? 4.0 : 0.25);
      EXPECT_EQ(run.at(2.5, "crossed"), 4.0);
    }
  }
}

// A condition on a line becomes true at a time that is known in advance: exactly where the line is there.
TEST(Inputs, ConditionsOnLinesAreExactTimes) {
  Seen seen;
  const Trajectory run =
      simulate(seen.model, options(2.5, 1e-3, Method::automatic, {{"u", InputSignal::table({0.0, 2.0}, {0.0, 1.0})}}));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.at(2.5, "count"), 1.0);
  bool found = false;
  for (const Event& event : run.events()) found = found || event.t == 1.0;
  EXPECT_TRUE(found);
  EXPECT_NEAR(run.at(2.5, "before"), 0.5, 1e-15);
}

// A jump at the start has taken place, one at the stop takes place.
TEST(Inputs, JumpsAtTheEndsOfARun) {
  Seen seen;
  const InputSignal u = InputSignal::table({0.0, 0.0, 2.5, 2.5}, {3.0, 0.25, 0.25, 4.0});
  const Trajectory run = simulate(seen.model, options(2.5, 1e-6, Method::automatic, {{"u", u}}));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.at(0.0, "u"), 0.25);
  EXPECT_EQ(run.final()[0], 4.0);
  ASSERT_FALSE(run.events().empty());
  EXPECT_EQ(run.events().back().t, 2.5);
  EXPECT_EQ(run.final()[static_cast<std::size_t>(2)], 0.25);  // before
  EXPECT_EQ(run.final()[static_cast<std::size_t>(3)], 4.0);   // after
}

// High pass: (u - v)' = v. At a jump v jumps with u, along a line v' = slope - v.
TEST(Inputs, DerivativesOfInputsAreSlopesAndJumpsAreImpulses) {
  Model m("HighPass");
  const Expr v = m.variable("v", 0.0, {.fixed = true}), z = m.variable("z", 0.0, {.fixed = true});
  const Expr u = m.input("u"), i = m.variable("i");
  m.equation(der(u) - der(v) == v);
  m.equation(der(z) == v);
  m.equation(i == 2.0 * der(u));
  const InputSignal signal = InputSignal::table({0.0, 1.0, 1.0, 2.0}, {0.0, 1.0, 3.0, 3.0});
  const double v1 = 1.0 - std::exp(-1.0);
  for (const Method method : dae_methods)
    for (const double tolerance : tolerances) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory run = simulate(m, options(2.0, tolerance, method, {{"u", signal}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NEAR(run.at(0.5, "i"), 2.0, 10 * tolerance);
      EXPECT_NEAR(run.at(1.5, "i"), 0.0, 10 * tolerance);
      EXPECT_NEAR(run.at(2.0, "v"), (v1 + 2.0) * std::exp(-1.0), 50 * tolerance);
      ASSERT_EQ(run.events().size(), 1u);
      EXPECT_NEAR(run.events()[0].jump, 2.0, 1e-9);
      EXPECT_NE(run.events()[0].message.find("impulse"), std::string::npos) << run.events()[0].message;
    }
}

// A position that is prescribed: the force follows from its second derivative. A kink is a jump of the speed.
TEST(Inputs, PrescribedPositionsAreDifferentiatedTwice) {
  Model m("Driven");
  const Expr u = m.input("u", 0.0, InputCurve::smooth);
  const Expr x = m.variable("x"), v = m.variable("v"), f = m.variable("f");
  m.equation(der(x) == v);
  m.equation(2.0 * der(v) == f);
  m.equation(x == u);
  const auto sine = InputSignal::function([](double t) { return std::sin(3.0 * t); });
  for (const Method method : dae_methods)
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory run = simulate(m, options(2.0, tolerance, method, {{"u", sine}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      for (const double t : {0.3, 1.1, 2.0}) {
        EXPECT_NEAR(run.at(t, "x"), std::sin(3.0 * t), 2 * tolerance);
        EXPECT_NEAR(run.at(t, "v"), 3.0 * std::cos(3.0 * t), 100 * tolerance);
        // the second derivative of what agrees within tolerance / 100 over pieces of order 0.1
        EXPECT_NEAR(run.at(t, "f"), -18.0 * std::sin(3.0 * t), 2e4 * tolerance);
      }
    }
}

TEST(Inputs, AFunctionWithBreaksIsFollowedWithinTheTolerance) {
  Model m("M");
  const Expr u = m.input("u", 0.0, InputCurve::smooth);
  const Expr x = m.variable("x", 0.0, {.fixed = true});
  m.equation(der(x) == u);
  // |sin t| has kinks at multiples of pi, and jumps by 1 at t = 5
  const double pi = std::numbers::pi;
  const auto f = [](double t) { return std::abs(std::sin(t)) + (t < 5.0 ? 0.0 : 1.0); };
  const auto signal = InputSignal::function(f, {pi, 2.0 * pi, 3.0 * pi, 5.0});
  const double end = 10.0, exact = 6.0 + (1.0 + std::cos(10.0)) + 5.0;  // three arches and the rest
  for (const Method method : all_methods)
    for (const double tolerance : tolerances) {
      SCOPED_TRACE(label(method, tolerance));
      const Trajectory run = simulate(m, options(end, tolerance, method, {{"u", signal}}));
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NEAR(run.at(end, "x"), exact, 100 * tolerance);
      for (const double t : {0.0, 0.1, 3.0, 4.999, 5.001, 9.0}) EXPECT_NEAR(run.at(t, "u"), f(t), tolerance) << t;
      ASSERT_EQ(run.events().size(), 1u);
      EXPECT_EQ(run.events()[0].t, 5.0);
    }
}

TEST(Inputs, BadFunctionsAreRefused) {
  Model m("M");
  const Expr u = m.input("u", 0.0, InputCurve::smooth), x = m.variable("x", 0.0, {.fixed = true});
  m.equation(der(x) == u);
  const auto message = [&](const Model& model, const InputSignal& signal) -> std::string {
    try {
      simulate(model, options(2.0, 1e-6, Method::automatic, {{"u", signal}}));
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(m, InputSignal::function([](double t) { return t < 1.0 / 3.0 ? 0.0 : 1.0; })).find("jumps near t"),
            std::string::npos);
  EXPECT_NE(message(m, InputSignal::function([](double t) { return std::sqrt(1.0 - t); })).find("gives"),
            std::string::npos);
  EXPECT_NE(message(integrator(), InputSignal::function([](double t) { return t; })).find("InputCurve::smooth"),
            std::string::npos);
}

TEST(Inputs, ValuesAreSetDuringARun) {
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    const auto compiled = std::make_shared<CompiledModel>(integrator());
    Simulator run(compiled, options(4.0, 1e-8, method, {}));
    run.set_input("u", 1.0);
    ASSERT_TRUE(run.advance_to(1.0));
    EXPECT_NEAR(run.values()[1], 1.0, 1e-7);
    run.set_input("u", 0.0, 2.0);  // along 2 (t - 1)
    EXPECT_EQ(run.values()[0], 0.0);
    ASSERT_TRUE(run.advance_to(2.5));
    EXPECT_NEAR(run.values()[0], 3.0, 1e-14);
    EXPECT_NEAR(run.values()[1], 1.0 + 2.25, 1e-7);
    const InputChange change{"u", -1.0, 0.0};
    run.set_inputs(std::span(&change, 1));
    run.run();
    EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_EQ(run.status().message, "");
    EXPECT_NEAR(run.values()[1], 3.25 - 1.5, 1e-7);
    ASSERT_EQ(run.trajectory().events().size(), 3u);
    EXPECT_EQ(run.trajectory().events()[1].t, 1.0);
    EXPECT_THROW(run.set_input("u", 1.0), UsageError);
  }
}

// Settings in modes with constraints, on a surface and in contact.
TEST(Inputs, ValuesAreSetInAnyMode) {
  Model high_pass("HighPass");
  {
    const Expr v = high_pass.variable("v", 0.0, {.fixed = true}), u = high_pass.input("u");
    high_pass.equation(der(u) - der(v) == v);
  }
  for (const Method method : dae_methods) {
    SCOPED_TRACE(to_string(method));
    Simulator run(std::make_shared<CompiledModel>(high_pass), options(3.0, 1e-8, method, {}));
    run.set_input("u", 2.0);  // v jumps by 2
    EXPECT_NEAR(run.values()[0], 2.0, 1e-7);
    run.advance_to(1.0);
    run.set_input("u", 2.0, 1.0);  // v' = 1 - v
    run.advance_to(2.0);
    EXPECT_NEAR(run.values()[0], 1.0 + (2.0 * std::exp(-1.0) - 1.0) * std::exp(-1.0), 1e-6);
    run.run();
    EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
  }
  Model relay("Relay");
  {
    const Expr u = relay.input("u"), x = relay.variable("x", 0.5, {.fixed = true});
    relay.equation(der(x) == if_else(x > 0.0, Expr(-1.0), Expr(1.0)) + u);
  }
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    Simulator run(std::make_shared<CompiledModel>(relay), options(4.0, 1e-8, method, {}));
    run.advance_to(1.0);
    EXPECT_NEAR(run.values()[1], 0.0, 1e-7);
    run.set_input("u", 0.5);  // slides on
    run.advance_to(2.0);
    EXPECT_NEAR(run.values()[1], 0.0, 1e-7);
    run.set_input("u", -3.0);  // leaves downwards
    run.advance_to(3.0);
    EXPECT_NEAR(run.values()[1], -2.0, 1e-6);
    run.set_input("u", 1.0);  // comes back with speed 2
    run.run();
    EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.values()[1], 0.0, 1e-6);
  }
  Model ball("Ball");
  {
    const Expr h = ball.variable("h", 0.1, {.fixed = true}), v = ball.variable("v", 0.0, {.fixed = true});
    const Expr f = ball.input("f");
    ball.equation(der(h) == v);
    ball.equation(der(v) == -10.0 + f);
    ball.when(h < 0.0).reset(v, -0.5 * v);
  }
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::radau}) {
    SCOPED_TRACE(to_string(method));
    Simulator run(std::make_shared<CompiledModel>(ball), options(5.0, 1e-8, method, {}));
    run.advance_to(2.0);  // at rest
    EXPECT_NEAR(run.values()[0], 0.0, 1e-7);
    run.set_input("f", 5.0);
    run.advance_to(3.0);
    EXPECT_NEAR(run.values()[0], 0.0, 1e-7);
    run.set_input("f", 12.0);  // takes off with an acceleration of 2
    run.advance_to(4.0);
    EXPECT_NEAR(run.values()[0], 1.0, 1e-6);
    run.run();
    EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
  }
}

// Many settings at one time are no accumulation of events.
TEST(Inputs, MayBeSetOftenAtOneTime) {
  Simulator run(std::make_shared<CompiledModel>(integrator()), {.stop = 1.0});
  for (int k = 0; k < 50; ++k) run.set_input("u", k);
  run.run();
  EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.values()[1], 49.0, 1e-9);
}

TEST(Inputs, ASettingEndsASignal) {
  Simulator run(std::make_shared<CompiledModel>(integrator()),
                options(4.0, 1e-8, Method::automatic, {{"u", InputSignal::table({0.0, 4.0}, {0.0, 4.0})}}));
  run.advance_to(2.0);
  run.set_input("u", 1.0);
  run.run();
  EXPECT_NEAR(run.values()[1], 2.0 + 2.0, 1e-7);
  EXPECT_EQ(run.values()[0], 1.0);
}

TEST(Inputs, BooleanAndIntegerInputsAreHeld) {
  Model m("M");
  const BoolExpr on = m.input("on", false);
  const Expr n = m.input("n", 1.0, InputCurve::held, {.type = VariableType::integer});
  const Expr x = m.variable("x", 0.0, {.fixed = true}), count = m.discrete("count", 0.0), old = m.discrete("old", -1.0);
  m.equation(der(x) == if_else(on, n, Expr(0.0)));
  m.when(on).assign(count, m.pre(count) + 1.0).assign(old, m.pre(n));
  const InputSignal pulses = InputSignal::table({0.5, 1.0, 1.5, 2.0}, {0.0, 1.0, 0.0, 1.0});
  const InputSignal numbers = InputSignal::table({0.0, 2.0}, {3.0, 7.0});
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    const Trajectory run = simulate(m, options(3.0, 1e-8, method, {{"on", pulses}, {"n", numbers}}));
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(3.0, "x"), 0.5 * 3.0 + 7.0, 1e-9);
    EXPECT_EQ(run.at(3.0, "count"), 2.0);
    EXPECT_EQ(run.at(3.0, "old"), 3.0);  // before the instant at which both change
    EXPECT_EQ(run.at(1.2, "on"), 1.0);
  }
  EXPECT_THROW(simulate(m, options(3.0, 1e-8, Method::automatic, {{"n", InputSignal::constant(0.5)}})), UsageError);
  EXPECT_THROW(simulate(m, options(3.0, 1e-8, Method::automatic, {{"on", InputSignal::constant(2.0)}})), UsageError);
}

TEST(Inputs, WithoutValuesKeepTheirStartAndTheStatusSaysSo) {
  const CompiledModel compiled{integrator()};
  const Trajectory run = simulate(compiled.with_values({{"u", 3.0}}), {.stop = 2.0});
  EXPECT_NEAR(run.at(2.0, "x"), 6.0, 1e-9);
  EXPECT_NE(run.status().message.find("nothing is given for the input 'u': it keeps its start value 3"),
            std::string::npos)
      << run.status().message;
  EXPECT_EQ(run.variables()[0].details->causality, Causality::input);
}

TEST(Inputs, RunsBackward) {
  SimulateOptions o =
      options(0.0, 1e-9, Method::automatic, {{"u", InputSignal::table({1.0, 2.0, 2.0, 3.0}, {0.0, 1.0, 5.0, 5.0})}});
  o.start = 4.0;
  for (const Method method : all_methods) {
    SCOPED_TRACE(to_string(method));
    o.method = method;
    const Trajectory run = simulate(integrator(), o);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(2.0, "x"), -10.0, 1e-7);
    EXPECT_NEAR(run.at(0.0, "x"), -10.5, 1e-7);
    EXPECT_EQ(run.at(0.5, "u"), 0.0);
  }
  Model m("M");
  const Expr u = m.input("u", 0.0, InputCurve::smooth), x = m.variable("x", 0.0, {.fixed = true});
  m.equation(der(x) == u);
  o.method = Method::automatic;
  o.inputs = {{"u", InputSignal::function([](double t) { return std::cos(t) + (t > 2.0 ? 1.0 : 0.0); }, {2.0})}};
  const Trajectory run = simulate(m, o);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "x"), -std::sin(4.0) - 2.0, 1e-7);
}

// A state that is saved in the middle of a line, at a kink or a jump has the future of the run that went on.
TEST(Inputs, AreKeptInSavedStates) {
  Model m("M");
  const Expr u = m.input("u"), w = m.input("w", 0.0, InputCurve::smooth), q = m.input("q", 1.0, InputCurve::held);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == -q * x - if_else(v > 0.0, Expr(0.2), Expr(-0.2)) + u + w);
  const auto compiled = std::make_shared<CompiledModel>(m);
  const SimulateOptions o = options(6.0, 1e-7, Method::dopri5,
                                    {{"u", InputSignal::table({0.0, 1.0, 2.0, 2.0, 5.0}, {0.0, 1.0, 0.5, -0.5, 0.0})},
                                     {"w", InputSignal::function([](double t) { return 0.3 * std::sin(t); }, {3.0})},
                                     {"q", InputSignal::table({0.0, 2.5}, {1.0, 2.0})}});
  Simulator whole(compiled, o);
  std::vector<SimulatorState> states;
  while (whole.step()) states.push_back(whole.state());
  ASSERT_EQ(whole.status().code, StatusCode::success) << whole.status().message;
  for (const SimulatorState& state : states) {
    Simulator later(compiled, o, state);
    EXPECT_EQ(later.state(), state) << state.t;
    later.run();
    EXPECT_EQ(later.values(), whole.values()) << "from t = " << state.t;
    EXPECT_EQ(later.status().message, "");
  }
  Simulator first(compiled, o);
  first.advance_to(2.0);
  Simulator other = first.fork();
  first.run();
  other.run();
  EXPECT_EQ(first.values(), other.values());
}

// A run that goes on with another signal jumps to it.
TEST(Inputs, OtherValuesForARunThatGoesOn) {
  const auto compiled = std::make_shared<CompiledModel>(integrator());
  Simulator first(compiled, options(1.0, 1e-8, Method::automatic, {{"u", InputSignal::table({0.0, 4.0}, {0.0, 4.0})}}));
  first.run();
  const SimulatorState state = first.state();
  Simulator constant(compiled, options(2.0, 1e-8, Method::automatic, {{"u", InputSignal::constant(3.0)}}), state);
  constant.run();
  EXPECT_EQ(constant.status().code, StatusCode::success) << constant.status().message;
  EXPECT_NEAR(constant.values()[1], 0.5 + 3.0, 1e-7);
  ASSERT_EQ(constant.trajectory().events().size(), 1u);
  EXPECT_EQ(constant.trajectory().events()[0].t, 1.0);
  Simulator none(compiled, options(2.0, 1e-8, Method::automatic, {}), state);
  none.run();
  EXPECT_NEAR(none.values()[1], 2.0, 1e-7);
  EXPECT_NE(none.status().message.find("goes on along its last line"), std::string::npos) << none.status().message;
}

TEST(Inputs, WrongTablesAndNamesAreRefused) {
  EXPECT_THROW(InputSignal::table({}, {}), UsageError);
  EXPECT_THROW(InputSignal::table({0.0, 1.0}, {0.0}), UsageError);
  EXPECT_THROW(InputSignal::table({0.0, 2.0, 1.0}, {0.0, 1.0, 2.0}), UsageError);
  EXPECT_THROW(InputSignal::table({0.0, NAN}, {0.0, 1.0}), UsageError);
  EXPECT_THROW(InputSignal::table({0.0, 1.0}, {0.0, INFINITY}), UsageError);
  EXPECT_THROW(simulate(integrator(), options(1.0, 1e-6, Method::automatic, {{"v", InputSignal::constant(1.0)}})),
               UsageError);
  Simulator run(std::make_shared<CompiledModel>(integrator()), {.stop = 1.0});
  EXPECT_THROW(run.set_input("x", 1.0), UsageError);
  EXPECT_THROW(run.set_input("u", NAN), UsageError);
  Model m("M");
  const Expr u = m.input("u"), q = m.input("q", 0.0, InputCurve::held);
  EXPECT_THROW(m.when(m.time() > 1.0).reset(u, 1.0), ModelError);
  EXPECT_THROW(m.when(m.time() > 1.0).assign(q, 1.0), ModelError);
  EXPECT_THROW(m.define(q, m.time()), ModelError);
}

}  // namespace
}  // namespace saltus
