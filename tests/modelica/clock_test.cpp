// Clocked models (Modelica 3.6, chapter 16) with answers found by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::string model(const std::string& declarations, const std::string& equations) {
  return "model M\n  " + declarations + "\nequation\n  " + equations + "\nend M;\n";
}

/// Values of a variable from the first of some equidistant ticks on, looked at in the middle between them.
void expect_ticks(const Trajectory& run, const std::string& name, double first, double interval,
                  const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k)
    EXPECT_NEAR(run.at(first + (static_cast<double>(k) + 0.5) * interval, name), values[k], 1e-9)
        << name << " tick " << k;
}

void expect_error(const std::string& declarations, const std::string& equations, const std::string& message) {
  const std::string errors = load_errors(model(declarations, equations));
  EXPECT_NE(errors.find(message), std::string::npos) << (errors.empty() ? "no error" : errors);
}

TEST(Clocks, RationalAndRealIntervalsTick) {
  const auto r = run_text(model("Real a(start = 0), b(start = 0);\n  Integer n(start = 3);",
                                "when Clock(3, 10) then a = previous(a) + 1; end when;\n"
                                "  when Clock(0.25) then b = previous(b) + interval(); n = previous(n) - 1; end when;"),
                          2.0);
  expect_ticks(r, "a", 0.0, 0.3, {1, 2, 3, 4, 5, 6});
  expect_ticks(r, "b", 0.0, 0.25, {0.25, 0.5, 0.75, 1.0});
  expect_ticks(r, "n", 0.0, 0.25, {2, 1, 0, -1});
}

TEST(Clocks, TicksBeginWithTheRun) {
  const ModelicaModel m = load_text(model("Real a;", "a = sample(time, Clock(1, 10));"), {.start = 0.25});
  const Trajectory r = simulate(m.model, {.start = 0.25, .stop = 0.6});
  EXPECT_EQ(r.at(0.3, "a"), 0.25);
  EXPECT_NEAR(r.at(0.5, "a"), 0.45, 1e-15);
  EXPECT_EQ(m.start.value_or(0.0), 0.25);
}

TEST(Clocks, SampleReadsTheLeftLimit) {
  const auto r = run_text(model("Real step = if time >= 1 then 1 else 0, s, t, x(start = 0, fixed = true), v, y;\n"
                                "  Boolean b = time >= 1, c, d;",
                                "der(x) = 1;\n  y = 3*x + step;\n  when time >= 1 then reinit(x, 10); end when;\n"
                                "  when Clock(1) then\n    s = sample(step);\n    v = sample(x);\n    t = sample(y);\n"
                                "    c = sample(b);\n    d = sample(time >= 1);\n  end when;"),
                          2.5);
  expect_ticks(r, "s", 0.0, 1.0, {0, 0, 1});
  expect_ticks(r, "v", 0.0, 1.0, {0, 1, 11});
  expect_ticks(r, "t", 0.0, 1.0, {0, 3, 34});
  expect_ticks(r, "c", 0.0, 1.0, {0, 0, 1});
  expect_ticks(r, "d", 0.0, 1.0, {0, 0, 1});
}

TEST(Clocks, TheFirstSampleIsThatAfterTheInitialisation) {
  // y and n depend on held values: they are sampled with the start values of these.
  const auto r = run_text(model("Real x(start = 1, fixed = true), u(start = 0), y;\n  Real k(start = 0);\n"
                                "  Integer n = if hold(k) > 0.5 then 5 else 7, m;",
                                "der(x) = 0;\n  y = x + hold(u);\n  when Clock(0.5) then u = 0.5*sample(y); end when;\n"
                                "  when Clock(1) then k = previous(k) + 1; m = sample(n); end when;"),
                          1.5);
  expect_ticks(r, "u", 0.0, 0.5, {0.5, 0.75, 0.875});
  expect_ticks(r, "m", 0.0, 1.0, {7, 5});
}

TEST(Clocks, HeldValuesDriveThePlant) {
  // Dead beat: the held slope takes x to zero in one interval.
  const auto r = run_text(
      model("Real x(start = 1, fixed = true), u, c;", "der(x) = u;\n  u = hold(c);\n  c = -sample(x, Clock(1));"), 3.0);
  expect_ticks(r, "c", 0.0, 1.0, {-1, 0, 0});
  EXPECT_NEAR(r.at(0.5, "x"), 0.5, 1e-12);
  EXPECT_NEAR(r.at(3.0, "x"), 0.0, 1e-12);
  const auto late = run_text(model("Real y(start = 7), s(start = 0, fixed = true);",
                                   "y = shiftSample(sample(time, Clock(1)), 1);\n  der(s) = hold(y);"),
                             2.0);
  EXPECT_NEAR(late.at(2.0, "s"), 7.0 + 1.0, 1e-12);  // the start value until the first tick, which reads u(1)
}

TEST(Clocks, ClausesSeeHeldValuesAtTheTick) {
  const auto r = run_text(model("Real y(start = 0);\n  discrete Real when_seen(start = -1);",
                                "when Clock(1) then y = previous(y) + 1; end when;\n"
                                "  when hold(y) > 1.5 then when_seen = time; end when;"),
                          3.0);
  EXPECT_EQ(r.at(2.5, "when_seen"), 1.0);
}

TEST(Clocks, NoClockIsNowAndASampledHoldIsBefore) {
  const auto r = run_text(model("Clock c = Clock(0.1), slow = subSample(c, 2);\n  Real x(start = 0), y, z;",
                                "when c then x = previous(x) + 1; end when;\n"
                                "  when slow then y = noClock(x); z = sample(hold(x)); end when;"),
                          0.6);
  expect_ticks(r, "y", 0.0, 0.2, {1, 3, 5});
  expect_ticks(r, "z", 0.0, 0.2, {0, 2, 4});
}

TEST(Clocks, SubClocksAreExactFormsOfTheirBase) {
  const auto r = run_text(model("Integer y = integer(sample(time + 0.5, Clock(1)));\n  Integer s = subSample(y, 4);\n"
                                "  Integer fast = superSample(s, 5), late(start = 10) = shiftSample(y, 1, 5);\n"
                                "  Integer back = backSample(late, 1, 5);\n"
                                "  Integer same = subSample(shiftSample(superSample(y, 5), 1), 5);",
                                ""),
                          9.0);
  expect_ticks(r, "s", 0.0, 4.0, {0, 4});
  expect_ticks(r, "fast", 0.0, 0.8, {0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 8});
  expect_ticks(r, "late", 0.2, 1.0, {0, 1, 2, 3});
  expect_ticks(r, "same", 0.2, 1.0, {0, 1, 2, 3});
  expect_ticks(r, "back", 0.0, 1.0, {10, 0, 1, 2});
}

TEST(Clocks, FactorsAreFound) {
  const auto r = run_text(
      model("Real u, y;", "u = sample(time, Clock(1, 10));\n  y = subSample(u) + sample(0, Clock(2, 10));"), 0.6);
  expect_ticks(r, "y", 0.0, 0.2, {0, 0.2, 0.4});
  expect_error("Real u, y;", "u = sample(time, Clock(1, 10));\n  y = subSample(u) + sample(0, Clock(1, 3));",
               "the factor of subSample would be 10/3");
}

TEST(Clocks, BlocksOfSubClocksAlternate) {
  const auto r = run_text(model("Real x, y, z;",
                                "z = subSample(y, 2) + x;\n  y = superSample(x, 2);\n"
                                "  x = sample(time, Clock(1, 100));"),
                          0.05);
  expect_ticks(r, "z", 0.0, 0.01, {0, 0.02, 0.04});
}

TEST(Clocks, LinearEquationsOfATickAreSolved) {
  const auto r = run_text(model("Real x, y, w(start = 1);",
                                "x + 2*y = sample(time, Clock(1));\n  x - y = 3;\n"
                                "  2*w = 3*previous(w) + x;"),
                          3.0);
  expect_ticks(r, "y", 0.0, 1.0, {-1, -2.0 / 3, -1.0 / 3});
  expect_ticks(r, "w", 0.0, 1.0, {2.5, (7.5 + 7.0 / 3) / 2});
  expect_error("Real x, y;", "x*y = sample(time, Clock(1));\n  x - y = 3;", "they are not linear");
  expect_error("Real x, y;", "(if x > 0 then x else 2*x) + y = sample(time, Clock(1));\n  x - y = 3;",
               "a relation depends on an unknown");
}

TEST(Clocks, EventClocksTickInTheRoundAfterTheirCondition) {
  const auto r = run_text(
      model("Real x(start = -1, fixed = true), w, s;\n  Boolean first;\n  Integer n(start = 0), m(start = 0);\n"
            "  Clock c = Clock(sin(6.283185307179586*time) > 0.5, 0.125), third = subSample(c, 3);",
            "der(x) = 2;\n  when c then\n    w = interval();\n    first = firstTick();\n"
            "    s = sample(x);\n    n = previous(n) + 1;\n  end when;\n"
            "  when third then m = previous(m) + noClock(n); end when;"),
      4.0);
  EXPECT_NEAR(r.at(0.5, "w"), 0.125, 1e-12);  // the first one is given; ticks at 1/12 + k
  EXPECT_EQ(r.at(0.5, "first"), 1.0);
  EXPECT_NEAR(r.at(1.5, "w"), 1.0, 1e-8);
  EXPECT_EQ(r.at(1.5, "first"), 0.0);
  EXPECT_NEAR(r.at(1.5, "s"), -1.0 + 2.0 * 13.0 / 12.0, 1e-8);
  EXPECT_EQ(r.at(3.5, "n"), 4.0);
  EXPECT_EQ(r.at(2.5, "m"), 1.0);
  EXPECT_EQ(r.at(3.5, "m"), 5.0);
}

TEST(Clocks, AnEventClockMayResetItsOwnCondition) {
  // A tick each time that the angle has moved by 1: the condition reads what the tick has stored.
  const auto r =
      run_text(model("Real angle(start = 0, fixed = true), mark(start = 0);\n  Integer n(start = 0);",
                     "der(angle) = 2;\n  when Clock(angle - hold(mark) > 1) then\n    mark = sample(angle);\n"
                     "    n = previous(n) + 1;\n  end when;"),
               2.2);
  EXPECT_EQ(r.at(0.4, "n"), 0.0);
  EXPECT_EQ(r.at(1.2, "n"), 2.0);
  EXPECT_EQ(r.at(2.2, "n"), 4.0);
  EXPECT_NEAR(r.at(2.2, "mark"), 4.0, 1e-8);
}

TEST(Clocks, AConditionThatHoldsFromTheStartMakesNoTick) {
  const auto r = run_text(
      model("Integer n(start = 0);", "when Clock(time < 1 or time > 2) then n = previous(n) + 1; end when;"), 3.0);
  EXPECT_EQ(r.at(1.5, "n"), 0.0);
  EXPECT_EQ(r.at(2.5, "n"), 1.0);
}

// The formulas of 16.8.2 for der(x) = -x with h = 0.1, and x(0) = 1.
TEST(Clocks, DerivativesAreDiscretisedByTheMethodOfTheClock) {
  const auto x = [](const std::string& method) {
    return run_text(
        model("Real x(start = 1);", "der(x) = -x + sample(0, Clock(Clock(1, 10), solverMethod = \"" + method + "\"));"),
        0.5);
  };
  expect_ticks(x("ExplicitEuler"), "x", 0.0, 0.1, {1, 0.9, 0.81, 0.729});
  expect_ticks(x("ImplicitEuler"), "x", 0.0, 0.1, {1, 1 / 1.1, 1 / 1.21, 1 / 1.331});
  expect_ticks(x("ImplicitTrapezoid"), "x", 0.0, 0.1, {1, 19.0 / 21, 361.0 / 441});
  const auto inverse =
      run_text(model("Real x, v;", "x = sample(2*time, Clock(Clock(1), \"ImplicitEuler\"));\n  der(x) = v;"), 3.0);
  expect_ticks(inverse, "v", 0.0, 1.0, {0, 2, 2});
  expect_error("Real x(start = 1);", "der(x) = -x + sample(0, Clock(1, 10));", "its clock has no solver method");
  expect_error("Real x(start = 1);", "der(x) = -x + sample(0, Clock(Clock(1), \"ExplicitRungeKutta4\"));",
               "the solver method 'ExplicitRungeKutta4' is not supported");
}

// A PI controller that is discretised: e = r - w, x' = e/T, y = k (x + e) drives 10 w' = hold(y). By hand for two
// ticks.
TEST(Clocks, ADiscretisedControllerDrivesAContinuousPlant) {
  const auto r =
      run_text(model("Real w(start = 0, fixed = true), x(start = 0), y, e;",
                     "10*der(w) = hold(y);\n  e = sample(time/2, Clock(Clock(1, 10), \"ImplicitEuler\")) - sample(w);\n"
                     "  der(x) = e/0.1;\n  y = 110*(x + e);"),
               0.3);
  expect_ticks(r, "x", 0.0, 0.1, {0, 0.05, 0.04});  // x = previous(x) + e
  expect_ticks(r, "y", 0.0, 0.1, {0, 11, 3.3});     // w(0.2) = 0.11, e = -0.01
}

TEST(Clocks, ADefaultClockIsTakenWithAWarning) {
  const ModelicaModel m = load_text(model("Real y(start = 0);", "y = previous(y) + 1;"));
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_NE(m.notes[0].message.find("no clock is given for 'y'"), std::string::npos);
  EXPECT_EQ(run(m.model, 2.5).at(2.5, "y"), 3.0);
}

TEST(Clocks, ThatContradictEachOtherShowBothForms) {
  expect_error("Real u, v;", "u = sample(time, Clock(1, 10));\n  v = u + sample(1, Clock(1, 20));",
               "clocks contradict each other: 'u', 'v' would tick at ticks 0 + 1/10 k and at ticks 0 + 1/20 k");
  expect_error("Clock c = subSample(c, 2);\n  Real y;", "when c then y = previous(y) + 1; end when;",
               "clocks contradict each other");
  expect_error("Clock u = Clock(3, 10), y = shiftSample(u, 3), z = backSample(y, 4);", "",
               "before its base clock begins");
  expect_error("Real x(start = 0, fixed = true);\n  Clock u = Clock(x > 0), y = superSample(u, 2);", "der(x) = 1;",
               "between the ticks of an event clock");
  expect_error("Real u, v;", "u = sample(time, Clock(2.5));\n  v = u + sample(1, Clock(2.5));",
               "2 clocks in one partition: only rational clocks may be several");
  expect_error("Real a, y, z;",
               "y = superSample(a + z, 2);\n  a + z = sample(time, Clock(1, 100));\n  0 = subSample(y, 2) + a;",
               "equations of several sub-clocks need each other");
}

TEST(Clocks, WhatTheLanguageForbidsIsNamed) {
  expect_error("Real x(start = 0, fixed = true), y;", "der(x) = y;\n  y = previous(y) + sample(x, Clock(1));",
               "is clocked, and used unclocked");
  expect_error("Real u, y;", "u = sample(time, Clock(1));\n  y = hold(2*u);", "'hold' needs a variable");
  expect_error("Real u, y;", "u = sample(time, Clock(1));\n  y = previous(2*u);", "'previous' needs a variable");
  expect_error("Real y;", "when Clock(1) then y = 1; elsewhen Clock(2) then y = 2; end when;",
               "a clocked 'when' has no 'elsewhen'");
  expect_error("Real y;", "when Clock(1) then when time > 1 then y = 1; end when; end when;",
               "'when' inside of a clocked 'when' is not allowed");
  expect_error("Real y;", "y = previous(y) + time*sample(1, Clock(1));",
               "'time' in a clocked partition is not supported");
  expect_error("Real y, z;", "y = sample(time, Clock(1));\n  2 = y;", "determine too much");
  expect_error("Real y, z;", "y + z = sample(time, Clock(1));", "no clocked equation determines");
  expect_error("Integer y;", "y = sample(time, Clock(1));", "'y' is of type Integer, but its value is of type Real");
}

TEST(Clocks, HostileNumbersAreRefused) {
  expect_error("Real y;", "y = sample(time, Clock(1, 0));", "the resolution of a clock must be positive");
  expect_error("Real y;", "y = sample(time, Clock(-1));", "the interval of a clock is negative");
  expect_error("Real y;", "y = sample(time, Clock(0.0));", "the interval of a clock must be positive");
  expect_error("Real y;", "y = sample(time, Clock(1.0, 2.0));", "there is no 'Clock' of values of type Real and Real");
  expect_error("Integer n(start = 1);", "when Clock(n, 10) then n = previous(n) + 1; end when;",
               "a clock whose interval varies in a run is not supported");
  expect_error("Real y, z;",
               "y = sample(time, Clock(1));\n"
               "  z = superSample(superSample(y, 1099511627776), 1099511627776);",
               "has more than 63 bits");
  expect_error("Real y, z;", "y = sample(time, Clock(1));\n  z = subSample(y, -2);", "must not be negative: -2");
}

TEST(Clocks, AClassMayBeCalledClock) {
  EXPECT_EQ(run_text("record Clock\n  Real t;\nend Clock;\n" + model("Clock c(t = 3);\n  Real y = c.t;", ""), 1.0)
                .at(1.0, "y"),
            3.0);
}

TEST(Clocks, ArraysAndConnectorsCarryClocks) {
  const auto r = run_text(R"(package P
  connector ClockInput = input Clock;
  connector ClockOutput = output Clock;
  connector RealInput = input Real;
  connector RealOutput = output Real;
  block Source
    ClockOutput y;
    parameter Integer factor = 1;
  equation
    y = Clock(factor, 10);
  end Source;
  block Sampler
    RealInput u[2];
    RealOutput y[2];
    ClockInput clock;
  equation
    y = sample(u, clock);
  end Sampler;
  block Sum
    RealInput u[2];
    RealOutput y(start = 0);
  equation
    when Clock() then
      y = previous(y) + sum(u);
    end when;
  end Sum;
  model M
    Source source(factor = 2);
    Sampler sampler(u = {time, 1});
    Sum total;
    Real held = hold(total.y);
  equation
    connect(source.y, sampler.clock);
    connect(sampler.y, total.u);
  end M;
end P;)",
                          1.0);
  expect_ticks(r, "held", 0.0, 0.2, {1, 2.2, 3.6, 5.2});
}

}  // namespace
}  // namespace saltus
