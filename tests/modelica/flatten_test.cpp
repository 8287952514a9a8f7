// From text to a model that runs: variables, parameters, equations, events.
#include <gtest/gtest.h>

#include <cmath>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

TEST(Flatten, VariablesKeepTheirAttributesAndTheirPlace) {
  const auto m = load_text(
      "model M\n  Real x(start = 2, fixed = true, min = 0, max = 5, nominal = 3, unit = \"m\") \"the x\";\n"
      "equation\n  der(x) = 1;\nend M;\n");
  const VariableInfo& x = m.model.data().variable_info.at(0);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.start, 2.0);
  EXPECT_TRUE(x.fixed);
  EXPECT_EQ(x.details->min, 0.0);
  EXPECT_EQ(x.details->max, 5.0);
  EXPECT_EQ(x.nominal, 3.0);
  EXPECT_EQ(x.details->unit, "m");
  EXPECT_EQ(x.details->description, "the x");
  EXPECT_EQ(to_string(x.details->where), "test.mo:2:8");
  EXPECT_EQ(to_string(m.model.data().equations.at(0).where), "test.mo:4:3");
}

TEST(Flatten, ParametersAreDeclaredInAnyOrderAndFollowEachOther) {
  constexpr auto text =
      "model M\n  parameter Real a = 2*b + c;\n  parameter Real b = 3;\n  constant Real c = 1;\n"
      "  Real x(start = a, fixed = true);\nequation\n  der(x) = a;\nend M;\n";
  const auto m = load_text(text);
  ASSERT_EQ(m.model.data().parameters.size(), 1u);  // a follows b, c is a number
  EXPECT_EQ(m.model.data().parameters[0].name, "b");
  EXPECT_EQ(m.model.data().variable_info[0].start, 7.0);
  EXPECT_NEAR(run(m.model, 1.0).at(1.0, "x"), 14.0, 1e-9);
  // an override reaches what depends on it, also start values
  EXPECT_NEAR(run(load_text(text, {.parameters = {{"b", 1.0}}}).model, 1.0).at(1.0, "x"), 6.0, 1e-9);
  EXPECT_NEAR(run(load_text(text, {.parameters = {{"a", 5.0}}}).model, 1.0).at(1.0, "x"), 10.0, 1e-9);
}

TEST(Flatten, TheExperimentAnnotationIsRead) {
  const auto m = load_text(
      "model M\n  Real x;\nequation\n  der(x) = 1;\n  annotation(experiment(StartTime = 1, StopTime = 2e1, "
      "Tolerance = 1e-8, Interval = 0.5, __Other = 3));\nend M;\n");
  EXPECT_EQ(m.experiment.start, 1.0);
  EXPECT_EQ(m.experiment.stop, 20.0);
  EXPECT_EQ(m.experiment.tolerance, 1e-8);
  EXPECT_EQ(m.experiment.interval, 0.5);
}

TEST(Flatten, ExperimentsOfOtherToolsAreRead) {
  const auto m = load_text(
      "model M\n  Real x;\nequation\n  der(x) = 1;\n  annotation(experiment(MMO_Solver = LIQSS2, StopTime = 3, "
      "Tolerance = {1e-3, 1e-5}, Algorithm = \"Dassl\", NumberOfIntervals = 500));\nend M;\n");
  EXPECT_EQ(m.experiment.stop, 3.0);
  EXPECT_EQ(m.experiment.tolerance, 1e-3);
  EXPECT_TRUE(m.notes.empty());
}

TEST(Flatten, ATypingErrorInAnExperimentIsAWarningWithASuggestion) {
  const auto m =
      load_text("model M\n  Real x;\nequation\n  der(x) = 1;\n  annotation(experiment(StopTim = 3));\nend M;\n");
  EXPECT_EQ(m.experiment.stop, std::nullopt);
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_EQ(m.notes.front().severity, Severity::warning);
  EXPECT_EQ(m.notes.front().where.line, 5);
  EXPECT_EQ(m.notes.front().hint, "did you mean 'StopTime'?");
}

TEST(Flatten, TheLastModelOfAFileIsTakenUnlessAnotherIsNamed) {
  constexpr auto text =
      "model A Real x = 1; end A;\npackage P\n  model B Real y = 2; end B;\nend P;\n"
      "function f input Real x; output Real y; algorithm y := x; end f;\n";
  EXPECT_EQ(load_text(text).model.name(), "B");
  EXPECT_EQ(load_text(text, {.model_name = "A"}).model.name(), "A");
  EXPECT_EQ(load_text(text, {.model_name = "P.B"}).model.name(), "B");
}

TEST(Flatten, BuiltInFunctionsHaveTheirValues) {
  const auto check = [](const std::string& expression, double expected) {
    const auto m = load_text("model M\n  parameter Real two = 2;\n  parameter Real value = " + expression +
                             ";\n  Real x(start = value, fixed = true);\nequation\n  der(x) = 0;\nend M;\n");
    EXPECT_NEAR(m.model.data().variable_info[0].start, expected, 1e-14 * std::max(1.0, std::abs(expected)))
        << expression;
  };
  check("sin(two) + cos(two) + tan(two)", std::sin(2.0) + std::cos(2.0) + std::tan(2.0));
  check("asin(two/4) + acos(two/4) + atan(two)", std::asin(0.5) + std::acos(0.5) + std::atan(2.0));
  check("sinh(two) + cosh(two) + tanh(two)", std::sinh(2.0) + std::cosh(2.0) + std::tanh(2.0));
  check("exp(two) + log(two) + log10(two) + sqrt(two)",
        std::exp(2.0) + std::log(2.0) + std::log10(2.0) + std::sqrt(2.0));
  check("atan2(two, -1)", std::atan2(2.0, -1.0));
  check("abs(-two) + sign(-two) + floor(-2.5) + ceil(-2.5)", 2.0 - 1.0 - 3.0 - 2.0);
  check("mod(-two, 3) + rem(-two, 3) + div(-7, 2)", 1.0 - 2.0 - 3.0);
  check("min(two, 3) + max(two, 3) + min({5, 4, 6})", 2.0 + 3.0 + 4.0);
  check("integer(3.7) + integer(-3.7)", 3.0 - 4.0);
  check("semiLinear(two, 3, 5) + semiLinear(-two, 3, 5)", 6.0 - 10.0);
  check("if two > 1 and not two > 3 then 1 elseif two > 5 then 2 else 3", 1.0);
  check("two^3 - (-two^2)", 12.0);
  check("homotopy(two, 7)", 2.0);
}

TEST(Flatten, EquationsAreFlattenedAndRun) {
  // x' = -y, y' = x with an algebraic variable between: x = cos t, y = sin t
  const auto r = run_text(
      "model M\n  Real x(start = 1, fixed = true), y(start = 0, fixed = true);\n  Real s = x + y;\n"
      "  Real d;\nequation\n  der(x) = d;\n  der(y) = s - y;\n  d + y = 0;\nend M;\n",
      2.0);
  EXPECT_NEAR(r.at(2.0, "x"), std::cos(2.0), 1e-8);
  EXPECT_NEAR(r.at(2.0, "s"), std::cos(2.0) + std::sin(2.0), 1e-8);
}

TEST(Flatten, TheBouncingBallHitsTheFloorWhenItShould) {
  const auto m = load_example("BouncingBall");
  EXPECT_EQ(m.experiment.stop, 20.0);
  const auto r = run(m.model, *m.experiment.stop, *m.experiment.tolerance);
  // t1 = sqrt(2 h0/g), then each flight lasts 2 e^k v1/g with v1 = g t1
  const double t1 = std::sqrt(20.0 / 9.8);
  double t = t1;
  std::size_t k = 0;
  for (; k < 13; ++k) {
    ASSERT_LT(k, r.events().size());
    EXPECT_NEAR(r.events()[k].t, t, 1e-8) << k;
    t += 2.0 * t1 * std::pow(0.9, static_cast<double>(k + 1));
  }
  EXPECT_EQ(r.events().size(), k);
  EXPECT_NEAR(r.events()[12].t, 19.8803833, 1e-7);
}

TEST(Flatten, TheThermostatSwitchesWithHysteresis) {
  const auto m = load_example("Thermostat");
  const auto r = run(m.model, 30.0);
  // heating from 15 towards 35, off at 21, cooling towards 5, on at 19
  const double off = 10.0 * std::log(20.0 / 14.0), cool = 10.0 * std::log(16.0 / 14.0),
               heat = 10.0 * std::log(16.0 / 14.0);
  std::vector<double> switches;
  for (const auto& e : r.events())
    if (e.before[1] != e.after[1]) switches.push_back(e.t);
  ASSERT_GE(switches.size(), 3u);
  EXPECT_NEAR(switches[0], off, 1e-7);
  EXPECT_NEAR(switches[1], off + cool, 1e-7);
  EXPECT_NEAR(switches[2], off + cool + heat, 1e-7);
}

TEST(Flatten, DiscreteVariablesAreAssignedInWhenClauses) {
  // a counter, a sampled value and a Boolean
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\n  Integer n(start = 0);\n  Real held(start = -1);\n"
      "  Boolean late(start = false);\nequation\n  der(x) = 1;\n  when sample(0.5, 1) then\n"
      "    n = pre(n) + 1;\n    held = x;\n  elsewhen time > 3.2 then\n    n = -1;\n    held = pre(held);\n"
      "  end when;\n  when x > 2 then\n    late = true;\n  end when;\nend M;\n",
      4.0);
  EXPECT_EQ(r.at(0.4, "n"), 0.0);
  EXPECT_EQ(r.at(1.0, "n"), 1.0);
  EXPECT_EQ(r.at(3.0, "n"), 3.0);
  EXPECT_EQ(r.at(3.3, "n"), -1.0);
  EXPECT_EQ(r.at(3.6, "n"), 0.0);
  EXPECT_NEAR(r.at(3.4, "held"), 2.5, 1e-9);
  EXPECT_EQ(r.at(1.9, "late"), 0.0);
  EXPECT_EQ(r.at(2.1, "late"), 1.0);
}

TEST(Flatten, ABooleanThatNeedsNoMemoryIsItsDefinition) {
  // the relation appears in the equation of x itself
  const auto m = load_text(
      "model M\n  Real x(start = 1, fixed = true);\n  Boolean up = not down, down = x > 3;\nequation\n"
      "  der(x) = if up then 2 else 1;\nend M;\n");
  const auto r = run(m.model, 3.0);
  EXPECT_NEAR(r.at(3.0, "x"), 3.0 + 2.0, 1e-9);
  EXPECT_EQ(r.at(0.5, "up"), 1.0);
  EXPECT_EQ(r.at(2.0, "up"), 0.0);
  EXPECT_EQ(r.at(2.0, "down"), 1.0);
}

TEST(Flatten, WhenClausesSeeTheInitialPhaseAndTheEnd) {
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\n  Integer a(start = 0), b(start = 0);\nequation\n"
      "  der(x) = 1;\n  when {initial(), x > 1} then\n    a = pre(a) + 1;\n  end when;\n"
      "  when terminal() then\n    b = 7;\n  end when;\nend M;\n",
      2.0);
  EXPECT_EQ(r.at(0.5, "a"), 1.0);
  EXPECT_EQ(r.at(1.5, "a"), 2.0);
  EXPECT_EQ(r.final().at(r.index("b")), 7.0);
}

TEST(Flatten, RelationsHaveTheirOwnValuesWhereTheSolutionRests) {
  const auto r = run_text(
      "model M\n  Real x(start = 1, fixed = true), y(start = 0, fixed = true);\n  Boolean still;\n  discrete Integer "
      "n(start = 0);\nequation\n"
      "  der(x) = if x > 0 then -1 else 0;\n  der(y) = if x > 0 then 1 elseif x < 0 then -1 else 0.25;\n"
      "  still = x >= 0 and x <= 0;\n  when x < 0 then\n    n = pre(n) + 1;\n  end when;\nend M;\n",
      3.0);
  EXPECT_NEAR(r.final().at(r.index("y")), 1.5, 1e-6);
  EXPECT_EQ(r.at(0.5, "still"), 0.0);
  EXPECT_EQ(r.at(1.5, "still"), 1.0);
  EXPECT_EQ(r.final().at(r.index("n")), 0.0);
}

TEST(Flatten, ReinitsThatContradictEachOtherAreNamedWithTheirLines) {
  const auto loaded = load_text(
      "model M\n  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1;\n  when time > 1 then\n    reinit(x, 3);\n "
      " end when;\n"
      "  when time > 1 then\n    reinit(x, 4);\n  end when;\n"
      "  when {time >= 1, time > 1} then\n    if time > 2 then\n      reinit(x, 9);\n    end if;\n  end when;\nend "
      "M;\n");
  const Trajectory r = simulate(loaded.model, {.stop = 2.0});
  EXPECT_EQ(r.status().code, StatusCode::contradiction);
  const std::string& text = r.status().message;
  EXPECT_NE(text.find(":5"), std::string::npos) << text;
  EXPECT_NE(text.find(":8"), std::string::npos) << text;
  EXPECT_NE(text.find("sets 'x' to 3"), std::string::npos) << text;
  EXPECT_EQ(text.find("9"), std::string::npos) << text;  // the last clause leaves x as it is
}

TEST(Flatten, TerminateEndsTheRunAndAssertFailsIt) {
  const auto m = load_text(
      "model M\n  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1;\n  when x > 1 then\n"
      "    terminate(\"far enough\");\n  end when;\nend M;\n");
  const auto r = simulate(m.model, {.stop = 2.0});
  EXPECT_EQ(r.status().code, StatusCode::terminated);
  EXPECT_NEAR(r.t_end(), 1.0, 1e-6);
  const auto bad = load_text(
      "model M\n  parameter Real limit = 1;\n  Real x(start = 0, fixed = true);\nequation\n"
      "  der(x) = 1;\n  assert(x < limit, \"x is above \" + String(limit));\nend M;\n");
  const auto failed = simulate(bad.model, {.stop = 2.0});
  EXPECT_EQ(failed.status().code, StatusCode::assertion_failed);
  EXPECT_NE(failed.status().message.find("x is above 1"), std::string::npos) << failed.status().message;
}

// An assertion under initial() is checked once, when the run begins.
TEST(Flatten, AssertionsOfTheStartAreChecked) {
  const auto outcome = [](const std::string& part) {
    const std::string text = "model M\n  Real x(start = 1, fixed = true);\n  Boolean first = initial();\n";
    return simulate(load_text(text + "equation\n  der(x) = -x;\n" + part + "end M;\n").model, {.stop = 1.0}).status();
  };
  for (const char* condition :
       {"if initial() then assert(x < 0.5, \"large\"); end if;",
        "if initial() and x > 0 then assert(x < 0.5, \"large\"); end if;",
        "if first then assert(x < 0.5, \"large\"); end if;", "assert(not initial() or x < 0.5, \"large\");",
        "algorithm if initial() then assert(x < 0.5, \"large\"); end if;",
        "algorithm when initial() then assert(x < 0.5, \"large\"); end when;"}) {
    const Status status = outcome(condition);
    EXPECT_EQ(status.code, StatusCode::assertion_failed) << condition;
    EXPECT_NE(status.message.find("large"), std::string::npos) << status.message;
    std::string holds = condition;
    holds.replace(holds.find("< 0.5"), 5, "> 0.9");  // true at the start, false later
    EXPECT_EQ(outcome(holds).code, StatusCode::success) << holds << ": " << outcome(holds).message;
  }
  EXPECT_EQ(outcome("if not initial() then assert(x < 0.5, \"late\"); end if;").code, StatusCode::assertion_failed);
}

TEST(Flatten, ParametersThatNoRunCanChangeAreKeptWithTheirValues) {
  constexpr auto text =
      "model M\n  parameter Real a(unit = \"m\") = 2*b \"the a\";\n  parameter Real b = 3;\n"
      "  final parameter Real c = 5;\n  parameter Integer n = 2;\n  parameter String s = \"text\";\n"
      "  parameter Real p[n] = {b, a + 1};\n  Real x[n] = p*time;\nend M;\n";
  const auto values = [&](const LoadOptions& options) {
    std::vector<std::pair<std::string, double>> result;
    for (const VariableInfo& p : load_text(text, options).fixed_parameters) result.emplace_back(p.name, p.start);
    return result;
  };
  using Values = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(values({}), (Values{{"a", 6}, {"c", 5}, {"n", 2}, {"p[1]", 3}, {"p[2]", 7}}));
  EXPECT_EQ(values({.parameters = {{"b", 1.0}}}), (Values{{"a", 2}, {"c", 5}, {"n", 2}, {"p[1]", 1}, {"p[2]", 3}}));
  const auto m = load_text(text);
  EXPECT_EQ(m.fixed_parameters[0].details->unit, "m");
  EXPECT_EQ(m.fixed_parameters[0].details->description, "the a");
  EXPECT_EQ(to_string(m.fixed_parameters[0].details->where), "test.mo:2:18");
  EXPECT_EQ(m.fixed_parameters[2].details->type, VariableType::integer);
}

TEST(Flatten, AModelWithoutVariablesRuns) {
  const ModelicaModel empty = load_text("model M\nend M;\n");
  EXPECT_TRUE(run(empty.model, 2.0).final().empty());
  EXPECT_EQ(run(load_text("model M\n  parameter Real k = 1;\nend M;\n").model, 2.0).t_end(), 2.0);
}

TEST(Flatten, PrintComesWithSaltus) {
  const Trajectory result = run_text(
      "model M\n  Real x = time;\nequation\n  when time > 0.5 then\n"
      "    Modelica.Utilities.Streams.print(\"half\");\n  end when;\nend M;\n",
      1.0);
  EXPECT_EQ(result.at(1.0, "x"), 1.0);
  EXPECT_NE(load_errors("model M\n  Real x = time;\ninitial algorithm\n"
                        "  Modelica.Utilities.Streams.error(\"no\");\nend M;\n")
                .find("the model reports an error: no"),
            std::string::npos);
}

TEST(Flatten, NoEventKeepsRelationsOutOfTheGuards) {
  const auto m = load_text(
      "model M\n  Real x(start = 1, fixed = true), z(start = 0, fixed = true), y;\nequation\n"
      "  der(x) = -x;\n  der(z) = y;\n  y = noEvent(if x > 0.5 then x else 0.5) + smooth(0, if x > 0.2 then 1 else "
      "2);\nend M;\n");
  const auto r = run(m.model, 2.0);
  EXPECT_EQ(r.events().size(), 1u);  // only the relation under smooth
  EXPECT_NEAR(r.at(1.0, "y"), 1.5, 1e-9);
}

}  // namespace
}  // namespace saltus
