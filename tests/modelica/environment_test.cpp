// What a component takes from around it: inner and outer components, predefined enumerations, start values by initial
// equations, and functions that call themselves.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

double at_end(const std::string& text, const std::string& name, const LoadOptions& options = {}) {
  return run_text(text, 1.0, options).at(1.0, name);
}

const std::string world =
    "model World\n  parameter Real g = 9.81;\n  Real scale = 1;\n  replaceable function pull = standard(g0 = g);\n"
    "end World;\nfunction standard\n  input Real x;\n  input Real g0;\n  output Real y;\nalgorithm\n  y := g0*x;\nend "
    "standard;\n"
    "model Body\n  outer World world;\n  Real a = world.g;\n  Real f = world.pull(2);\n  Real s = world.scale;\nend "
    "Body;\n"
    "model Box\n  Body body;\nend Box;\n";

TEST(InnerOuter, AnOuterComponentIsTheInnerOneAroundIt) {
  const std::string text = world + "model M\n  inner World world(g = 4);\n  Box box;\nend M;\n";
  EXPECT_EQ(at_end(text, "box.body.a"), 4.0);
  EXPECT_EQ(at_end(text, "box.body.f"), 8.0);
  EXPECT_EQ(at_end(text, "box.body.s"), 1.0);
}

TEST(InnerOuter, TheNearestInnerOneCounts) {
  const std::string text =
      world +
      "model Planet\n  inner World world(g = 1);\n  Box box;\nend Planet;\n"
      "model M\n  inner World world(g = 4);\n  Planet p[2](world(g = {5, 6}));\n  Box box;\nend M;\n";
  EXPECT_EQ(at_end(text, "p[1].box.body.a"), 5.0);
  EXPECT_EQ(at_end(text, "p[2].box.body.a"), 6.0);
  EXPECT_EQ(at_end(text, "box.body.a"), 4.0);
}

TEST(InnerOuter, VariablesAndSizesMayComeFromOutside) {
  EXPECT_NEAR(
      at_end(
          "model A\n  outer Real T;\n  outer parameter Integer n;\n  Real y = T;\n  Real v[n] = fill(2*T, n);\nend A;\n"
          "model M\n  inner Real T = time;\n  inner parameter Integer n = 3;\n  A a;\n  Real s = sum(a.v) + a.y;\nend "
          "M;\n",
          "s"),
      7.0, 1e-12);
}

TEST(InnerOuter, MisuseIsRefused) {
  EXPECT_NE(load_errors(world + "model M\n  Box box;\nend M;\n")
                .find("there is no inner component 'world' around 'box.body'"),
            std::string::npos);
  EXPECT_NE(load_errors(world +
                        "model B\n  outer World world(g = 3);\nend B;\nmodel M\n  inner World world;\n  B b;\nend M;\n")
                .find("an outer component cannot be modified"),
            std::string::npos);
  EXPECT_NE(
      load_errors(world + "model Other\n  Real h = 1;\nend Other;\nmodel M\n  inner Other world;\n  Box box;\nend M;\n")
          .find("'world' is no inner component for 'box.body.world': it must fit 'World', which has an element 'g'"),
      std::string::npos);
}

TEST(Predefined, StateSelectAndAssertionLevelAreThere) {
  EXPECT_NEAR(
      at_end("encapsulated package P\n  model M\n    parameter StateSelect s = StateSelect.prefer;\n"
             "    Real x(start = 1, fixed = true, stateSelect = s);\n    Real y(stateSelect = StateSelect.never);\n"
             "  equation\n    der(x) = -x;\n    y = 2*x;\n    assert(x > 10, \"small\", AssertionLevel.warning);\n"
             "    assert(x > 0, \"negative\", level = AssertionLevel.error);\n  end M;\nend P;\n",
             "y"),
      2.0 * std::exp(-1.0), 1e-8);
  EXPECT_NE(load_errors("model M\n  Real x(stateSelect = 3) = 1;\nend M;\n")
                .find("the attribute 'stateSelect' of 'x' must be a value of StateSelect, not of type Integer"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  Real x = 1;\nequation\n  assert(x > 0, \"no\", 2);\nend M;\n")
                .find("the level of an assertion must be a value of AssertionLevel"),
            std::string::npos);
}

TEST(InitialParameters, TheyFollowFromOtherParameters) {
  const std::string text =
      "function two\n  input Real x;\n  output Real a;\n  output Real b[2];\nalgorithm\n  a := 2*x;\n  b := {x, "
      "3*x};\nend two;\n"
      "model M\n  parameter Real p = 2;\n  parameter Boolean up = true;\n  parameter Real q(fixed = false), a(fixed = "
      "false);\n"
      "  parameter Real b[2](each fixed = false), c(fixed = false), d(fixed = false);\n  Real y = q + 10*a + 100*b[2] "
      "+ 1000*c + 10000*d;\n"
      "initial equation\n  if up then\n    q = p + 1;\n  else\n    q = 0;\n  end if;\n  (a, b) = two(p);\n"
      "initial algorithm\n  c := p;\n  if c > 1 then\n    c := c + 5;\n  end if;\n  d := c;\nend M;\n";
  EXPECT_EQ(at_end(text, "y"), 3.0 + 40.0 + 600.0 + 7000.0 + 70000.0);
  EXPECT_EQ(at_end(text, "y", {.parameters = {{"p", 1.0}, {"up", 0.0}}}), 0.0 + 20.0 + 300.0 + 1000.0 + 10000.0);
}

TEST(InitialParameters, TimeIsTheStartOfTheRun) {
  const std::string text =
      "model M\n  parameter Real t0(fixed = false);\n  discrete Real n;\n  Real y = time - t0;\n"
      "initial equation\n  t0 = time;\n  n = 0;\nequation\n  when sample(t0 + 0.25, 0.25) then\n    n = pre(n) + 1;\n  "
      "end when;\n"
      "  annotation(experiment(StartTime = 2));\nend M;\n";
  const auto at_two = load_text(text);
  ASSERT_TRUE(at_two.start);
  EXPECT_EQ(*at_two.start, 2.0);
  const auto run_two = simulate(at_two.model, {.start = 2.0, .stop = 3.1});
  EXPECT_EQ(run_two.at(3.1, "n"), 4.0);
  EXPECT_NEAR(run_two.at(3.1, "y"), 1.1, 1e-12);
  const auto at_five = load_text(text, {.start = 5.0});
  EXPECT_NEAR(simulate(at_five.model, {.start = 5.0, .stop = 5.3}).at(5.3, "y"), 0.3, 1e-12);
  EXPECT_THROW(simulate(at_two.model, {.start = 0.0, .stop = 1.0}), UsageError);
  EXPECT_FALSE(load_text("model M\n  Real x = time;\nend M;\n").start);
}

TEST(InitialParameters, VariablesMayDetermineThem) {
  // the rate for which x starts at rest: 0 = 3 - k*x(0)
  const std::string text =
      "model M\n  parameter Real k(fixed = false, start = 1);\n  Real x(start = 2, fixed = true);\ninitial equation\n  "
      "der(x) = 0;\n"
      "equation\n  der(x) = 3 - k*x + (if time > 0.5 then 1 else 0);\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_NEAR(r.at(0.0, "k"), 1.5, 1e-9);
  EXPECT_NEAR(r.at(1.0, "k"), 1.5, 1e-9);
  EXPECT_NEAR(r.at(0.5, "x"), 2.0, 1e-9);
  EXPECT_NEAR(r.at(1.0, "x"), 2.0 + (1.0 - std::exp(-0.75)) / 1.5, 1e-8);
}

TEST(InitialParameters, WhatIsNotKnownCannotDecideTheStructure) {
  EXPECT_NE(
      load_errors("model M\n  parameter Integer n(fixed = false);\n  Real v[n];\n  Real x(start = 2, fixed = true);\n"
                  "initial equation\n  n = integer(x);\nequation\n  v = fill(1, n);\n  der(x) = 1;\nend M;\n"),
      "");
  EXPECT_NE(load_errors("model M\n  parameter Real p = 1;\n  Real y = p;\ninitial algorithm\n  p := 2;\nend M;\n")
                .find("'p' is a parameter with a value and cannot be assigned"),
            std::string::npos);
}

TEST(InitialAlgorithms, DiscreteVariablesStartWithWhatTheyCompute) {
  const std::string text =
      "model Pulse\n  parameter Real period = 0.4, offset = -0.1;\n  Integer count;\n  Real T;\n  Real y = time - T;\n"
      "initial algorithm\n  count := integer((time - offset)/period);\n  T := offset + count*period;\nequation\n"
      "  when time >= (pre(count) + 1)*period + offset then\n    count = pre(count) + 1;\n    T = time;\n  end "
      "when;\nend Pulse;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_NEAR(r.at(0.2, "y"), 0.3, 1e-9);
  EXPECT_NEAR(r.at(0.5, "y"), 0.2, 1e-9);
  EXPECT_EQ(r.at(1.0, "count"), 2.0);
}

TEST(Recursion, AFunctionMayCallItselfWithKnownArguments) {
  const std::string text =
      "function factorial\n  input Integer n;\n  output Integer y;\nalgorithm\n  if n <= 1 then\n    y := 1;\n  else\n"
      "    y := n*factorial(n - 1);\n  end if;\nend factorial;\n"
      "function even\n  input Integer n;\n  output Boolean y;\nalgorithm\n  y := if n == 0 then true else odd(n - "
      "1);\nend even;\n"
      "function odd\n  input Integer n;\n  output Boolean y;\nalgorithm\n  y := if n == 0 then false else even(n - "
      "1);\nend odd;\n";
  EXPECT_EQ(at_end(text + "model M\n  parameter Integer n = 5;\n  Real y = factorial(n);\nend M;\n", "y"), 120.0);
  EXPECT_EQ(at_end(text + "model M\n  parameter Integer n = 5;\n  Real y = factorial(n);\nend M;\n", "y",
                   {.parameters = {{"n", 3.0}}}),
            6.0);
  EXPECT_EQ(at_end(text + "model M\n  Real y = if even(8) and odd(7) and not odd(4) then 1 else 0;\nend M;\n", "y"),
            1.0);
  EXPECT_NE(load_errors(text + "model M\n  Integer k = integer(time);\n  Real y = factorial(k);\nend M;\n")
                .find("which calls itself, must be known before the run"),
            std::string::npos);
  EXPECT_NE(load_errors("function f\n  input Integer n;\n  output Integer y;\nalgorithm\n  y := f(n + 1);\nend f;\n"
                        "model M\n  Real y = f(1);\nend M;\n")
                .find("the function 'f' calls itself more than 100 times deep"),
            std::string::npos);
}

TEST(Functions, ParametersDecideBetweenBranchesOfDifferentSizes) {
  const std::string text =
      "function f\n  input Integer n;\n  output Real v[n];\nalgorithm\n  if n == 1 then\n    v := {7};\n  elseif n == "
      "2 then\n"
      "    v := {1, 2};\n    return;\n  end if;\n  v[n] := v[n] + 1;\nend f;\n"
      "model M\n  parameter Integer n = 2;\n  Real s = sum(f(n));\nend M;\n";
  EXPECT_EQ(at_end(text, "s"), 3.0);
  EXPECT_EQ(at_end(text, "s", {.parameters = {{"n", 1.0}}}), 8.0);
}

TEST(Texts, ArraysOfStringsAreReadAndCompared) {
  const std::string text =
      "model M\n  parameter String names[:] = {\"water\", \"air\"};\n  parameter String all[:] = cat(1, names, "
      "{\"oil\"});\n"
      "  parameter String same[2] = fill(\"x\", 2);\n  Real n = size(all, 1);\n  Real y = if all[3] == \"oil\" and "
      "names[1] == \"water\" then 1 else 2;\n"
      "  Real z = if same[2] == \"x\" and all[2] == \"air\" then 1 else 2;\nend M;\n";
  EXPECT_EQ(at_end(text, "n"), 3.0);
  EXPECT_EQ(at_end(text, "y"), 1.0);
  EXPECT_EQ(at_end(text, "z"), 1.0);
}

TEST(Texts, ExternalFunctionsOfTextsAreKnown) {
  const std::string functions =
      "type Compare = enumeration(Less, Equal, Greater);\n"
      "function length\n  input String s;\n  output Integer n;\n  external \"C\" n = ModelicaStrings_length(s);\n"
      "end length;\n"
      "function part\n  input String s;\n  input Integer a, b;\n  output String r;\n"
      "  external \"C\" r = ModelicaStrings_substring(s, a, b);\nend part;\n"
      "function compare\n  input String a, b;\n  input Boolean exact;\n  output Compare c;\n"
      "  external \"C\" c = ModelicaStrings_compare(a, b, exact);\nend compare;\n"
      "function skip\n  input String s;\n  input Integer a;\n  output Integer n;\n"
      "  external \"C\" n = ModelicaStrings_skipWhiteSpace(s, a);\nend skip;\n"
      "function full\n  input String s;\n  output String r;\n"
      "  external \"C\" r = ModelicaInternal_fullPathName(s);\nend full;\n";
  const auto value = [&](const std::string& expression) {
    return at_end(functions + "model M\n  Real y = " + expression + ";\nend M;\n", "y");
  };
  const auto is = [&](const std::string& condition) { return value("if " + condition + " then 1 else 0") == 1.0; };
  EXPECT_EQ(value("length(\"data.CSV\")"), 8.0);
  EXPECT_TRUE(is("part(\"data.CSV\", 5, 8) == \".CSV\""));
  EXPECT_TRUE(is("part(\"data\", 3, 2) == \"\""));
  EXPECT_TRUE(is("compare(\".CSV\", \".csv\", false) == Compare.Equal"));
  EXPECT_TRUE(is("compare(\".CSV\", \".csv\", true) == Compare.Less"));
  EXPECT_TRUE(is("compare(\"b\", \"a\", true) == Compare.Greater"));
  EXPECT_EQ(value("skip(\" \\t x\", 1)"), 4.0);
  EXPECT_EQ(value("skip(\"x y\", 2)"), 3.0);
  EXPECT_EQ(value("skip(\"  \", 1)"), 3.0);
  EXPECT_TRUE(is("full(\"/a/b\") == \"/a/b\""));
  EXPECT_TRUE(is("length(full(\"b\")) > 2"));
  EXPECT_NE(load_errors(functions + "model M\n  Real y = length(part(\"data\", 3, 9));\nend M;\n")
                .find("a text of 4 characters has no part from 3 to 9"),
            std::string::npos);
}

TEST(Reductions, OverBooleansAreLogical) {
  const std::string text =
      "model M\n  Boolean b[3] = {time > 0.5, time > 2, true};\n  Real any = if max(b) then 1 else 0, all = if min(b) "
      "then 1 else 0;\n"
      "  Real none = if max({time > i for i in 2:4}) then 1 else 0;\nend M;\n";
  EXPECT_EQ(at_end(text, "any"), 1.0);
  EXPECT_EQ(at_end(text, "all"), 0.0);
  EXPECT_EQ(at_end(text, "none"), 0.0);
}

TEST(Records, AnAlgorithmAssignsThemAsAWhole) {
  const std::string text =
      "record R\n  Real a, b;\nend R;\nfunction f\n  input Real x;\n  output R r;\nalgorithm\n  r := R(x, 2*x);\nend "
      "f;\n"
      "model M\n  R r;\nalgorithm\n  r := f(time);\n  r.a := r.a + 1;\nend M;\n";
  EXPECT_NEAR(at_end(text, "r.a"), 2.0, 1e-12);
  EXPECT_NEAR(at_end(text, "r.b"), 2.0, 1e-12);
}

TEST(Records, FinalFieldsOfAWholeRecordAreTakenOver) {
  const std::string text =
      "record R\n  parameter Real P = 1, w = 2;\n  final parameter Real tau = P/w;\n  constant Real c = 3;\nend R;\n"
      "model A\n  parameter R r;\n  Real y = r.tau + r.c;\nend A;\nmodel M\n  parameter R mine(P = 8);\n  A a(r = "
      "mine);\nend M;\n";
  EXPECT_EQ(at_end(text, "a.y"), 7.0);
}

// Modelica 3.6, 5.4: names in the class mean the outer component, its parts see the inner one.
TEST(Environment, InnerOuterPassesAChangedValueOn) {
  const auto r = run_text(R"(model M
  model Decay
    outer Boolean enabled;
    Real x(start = 1, fixed = true);
  equation
    der(x) = if enabled then -x else 0;
  end Decay;
  model Part
    Boolean mine = time <= 1;
    inner outer Boolean enabled = enabled and mine;
    inner outer parameter Real k = 10*k;
    Decay decay;
    Leaf leaf;
    Real seen = k;
  end Part;
  model Leaf
    outer parameter Real k;
    Real y = k;
  end Leaf;
  inner parameter Real k = 2;
  Part part;
  Decay decay;
  inner Boolean enabled = time >= 0.5;
end M;)",
                          3.0);
  EXPECT_NEAR(r.at(3.0, "part.decay.x"), std::exp(-0.5), 1e-9);
  EXPECT_NEAR(r.at(3.0, "decay.x"), std::exp(-2.5), 1e-9);
  EXPECT_EQ(r.at(3.0, "part.leaf.y"), 20.0);
  EXPECT_EQ(r.at(3.0, "part.seen"), 2.0);
}

}  // namespace
}  // namespace saltus
