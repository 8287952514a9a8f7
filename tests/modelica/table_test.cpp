// Tables as external objects, external functions, and subscripts that vary in a run.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

const std::string tables =
    "package T\n  type Smoothness = enumeration(LinearSegments, ContinuousDerivative, ConstantSegments, Other);\n"
    "  type Extrapolation = enumeration(HoldLastPoint, LastTwoPoints, Periodic, NoExtrapolation);\n"
    "  class Table\n    extends ExternalObject;\n    function constructor\n      input String tableName;\n      input "
    "String fileName;\n"
    "      input Real table[:, :];\n      input Integer columns[:];\n      input Smoothness smoothness;\n"
    "      input Extrapolation extrapolation = Extrapolation.LastTwoPoints;\n      output Table t;\n"
    "    external \"C\" t = ModelicaStandardTables_CombiTable1D_init3(tableName, table);\n    end constructor;\n"
    "    function destructor\n      input Table t;\n    external \"C\" ModelicaStandardTables_CombiTable1D_close(t);\n "
    "   end destructor;\n"
    "  end Table;\n"
    "  function value\n    input Table t;\n    input Integer column;\n    input Real u;\n    output Real y;\n"
    "  external \"C\" y = ModelicaStandardTables_CombiTable1D_getValue(t, column, u);\n  end value;\n"
    "  function highest\n    input Table t;\n    output Real y;\n"
    "  external \"C\" y = ModelicaStandardTables_CombiTable1D_maximumAbscissa(t);\n  end highest;\n"
    "  class Plane\n    extends ExternalObject;\n    function constructor\n      input String tableName;\n      input "
    "String fileName;\n"
    "      input Real table[:, :];\n      input Smoothness smoothness;\n"
    "      input Extrapolation extrapolation = Extrapolation.LastTwoPoints;\n      output Plane t;\n"
    "    external \"C\" t = ModelicaStandardTables_CombiTable2D_init3(tableName, table);\n    end constructor;\n  end "
    "Plane;\n"
    "  function height\n    input Plane t;\n    input Real u1;\n    input Real u2;\n    output Real y;\n"
    "  external \"C\" y = ModelicaStandardTables_CombiTable2D_getValue(t, u1, u2);\n  end height;\n"
    "  model Read\n    parameter Real table[:, :] = [0, 0; 1, 1; 3, 5; 4, 2];\n    parameter Smoothness s = "
    "Smoothness.LinearSegments;\n"
    "    parameter Extrapolation e = Extrapolation.LastTwoPoints;\n    parameter Table t = Table(\"NoName\", "
    "\"NoName\", table, {2}, s, e);\n"
    "    Real u = time - 1;\n    Real y = value(t, 1, u);\n    Real top = highest(t);\n  end Read;\nend T;\n";

TEST(Tables, LinearSegmentsAreExactEverywhere) {
  const auto r = run_text(tables + "model M\n  extends T.Read;\nend M;\n", 7.0);
  for (const auto& [t, y] : {std::pair{0.5, -0.5}, {1.5, 0.5}, {2.0, 1.0}, {3.0, 3.0}, {4.5, 3.5}, {6.0, -1.0}})
    EXPECT_NEAR(r.at(t, "y"), y, 1e-12) << t;
  EXPECT_EQ(r.at(1.0, "top"), 4.0);
}

TEST(Tables, AnIntegralOverATableSeesItsKnots) {
  // the kinks at 1 and 3 are events, so that the integral is exact
  const auto r = run_text(
      tables + "model M\n  extends T.Read;\n  Real z(start = 0, fixed = true);\nequation\n  der(z) = y;\nend M;\n",
      5.0);
  EXPECT_NEAR(r.at(5.0, "z"), -0.5 + 0.5 + 6.0 + 3.5, 1e-9);
}

TEST(Tables, ExtrapolationIsAsAsked) {
  const auto hold = run_text(tables + "model M\n  extends T.Read(e = T.Extrapolation.HoldLastPoint);\nend M;\n", 7.0);
  EXPECT_NEAR(hold.at(0.5, "y"), 0.0, 1e-12);
  EXPECT_NEAR(hold.at(6.5, "y"), 2.0, 1e-12);
  const auto again = run_text(tables + "model M\n  extends T.Read(e = T.Extrapolation.Periodic);\nend M;\n", 7.0);
  EXPECT_NEAR(again.at(5.5, "y"), 0.5, 1e-12);
  EXPECT_NEAR(again.at(0.5, "y"), 3.5, 1e-12);
  const auto m = load_text(tables + "model M\n  extends T.Read(e = T.Extrapolation.NoExtrapolation);\nend M;\n");
  EXPECT_FALSE(simulate(m.model, {.stop = 1.0}).status().ok());
}

TEST(Tables, ConstantSegmentsJump) {
  const auto r = run_text(tables + "model M\n  extends T.Read(s = T.Smoothness.ConstantSegments);\nend M;\n", 7.0);
  EXPECT_EQ(r.at(1.5, "y"), 0.0);
  EXPECT_EQ(r.at(2.5, "y"), 1.0);
  EXPECT_EQ(r.at(6.0, "y"), 2.0);
}

TEST(Tables, AkimaInterpolatesAPolynomialOfSecondDegreeInside) {
  // for equidistant values of x^2 the slopes at inner knots are exact, and so is the cubic between them
  const auto r = run_text(tables +
                              "model M\n  extends T.Read(table = [0, 0; 1, 1; 2, 4; 3, 9; 4, 16; 5, 25], s = "
                              "T.Smoothness.ContinuousDerivative);\nend M;\n",
                          7.0);
  EXPECT_NEAR(r.at(3.5, "y"), 6.25, 1e-12);
  EXPECT_NEAR(r.at(4.25, "y"), 3.25 * 3.25, 1e-12);
  EXPECT_NEAR(r.at(4.0, "y"), 9.0, 1e-12);
}

TEST(Tables, TwoInputsAreInterpolatedBilinearly) {
  const auto r = run_text(
      tables +
          "model M\n  parameter T.Plane p = T.Plane(\"NoName\", \"NoName\", [0, 0, 1, 2; 0, 0, 1, 2; 2, 2, 5, 4], "
          "T.Smoothness.LinearSegments);\n  Real y = T.height(p, time, 1.5), z = T.height(p, 2, time);\nend M;\n",
      2.0);
  EXPECT_NEAR(r.at(1.0, "y"), 3.0, 1e-12);
  EXPECT_NEAR(r.at(0.5, "z"), 3.5, 1e-12);
  EXPECT_NEAR(r.at(2.0, "z"), 4.0, 1e-12);
}

TEST(Tables, WhatIsNotUnderstoodIsRefused) {
  EXPECT_NE(load_errors(tables + "model M\n  extends T.Read(s = T.Smoothness.Other);\nend M;\n")
                .find("this smoothness of a table is not supported"),
            std::string::npos);
  EXPECT_NE(load_errors(tables + "model M\n  extends T.Read(table = [0, 1; -1, 2]);\nend M;\n")
                .find("the first column of the table must not decrease"),
            std::string::npos);
  EXPECT_NE(load_errors(tables + "model M\n  T.Table t;\nend M;\n").find("the external object 't' is not constructed"),
            std::string::npos);
  EXPECT_NE(load_errors(tables + "model M\n  parameter T.Table t = T.Table(\"tab\", \"data.txt\", fill(0, 0, 2), {2}, "
                                 "T.Smoothness.LinearSegments);\n  Real y = T.value(t, 1, time);\nend M;\n")
                .find("the file of a table, 'data.txt', does not exist"),
            std::string::npos);
}

TEST(ExternalFunctions, PrintHasNoResultAndAnErrorIsOne) {
  const std::string text =
      "function print\n  input String text;\nexternal \"C\" ModelicaInternal_print(text);\nend print;\n"
      "function stop\n  input String text;\nexternal \"C\" ModelicaError(text);\nend stop;\n"
      "function f\n  input Real x;\n  output Real y;\nalgorithm\n  print(\"here\");\n  if x > 2 then\n    stop(\"too "
      "large\");\n  end if;\n  y := x;\nend f;\n";
  EXPECT_NEAR(
      run_text(text + "model M\n  Real y = f(time);\nequation\n  print(\"model\");\nend M;\n", 1.0).at(1.0, "y"), 1.0,
      1e-12);
  EXPECT_NE(load_errors(text + "model M\n  Real y = f(3);\nend M;\n").find("the model reports an error: too large"),
            std::string::npos);
  const auto m = load_text(text + "model M\n  Real y = f(time);\nend M;\n");
  EXPECT_FALSE(simulate(m.model, {.stop = 3.0}).status().ok());
}

TEST(ImpliedRanges, TheyFollowFromTheUseOfTheIterator) {
  const std::string text =
      "record P\n  Real w[2];\nend P;\nfunction total\n  input Real v[:];\n  output Real s;\nalgorithm\n  s := 0;\n"
      "  for i loop\n    s := s + v[i]*i;\n  end for;\nend total;\n"
      "model M\n  Real v[3], A[2, 3], s = sum(v[i]^2 for i), t = total(v);\n  P p[2];\n  Real d[3] = {2*v[j] for "
      "j};\nequation\n"
      "  for i loop\n    v[i] = i;\n  end for;\n  for i, j loop\n    A[i, j] = 10*i + v[j];\n  end for;\n"
      "  for k, n loop\n    p[k].w[n] = k + n;\n  end for;\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_EQ(r.at(1.0, "s"), 14.0);
  EXPECT_EQ(r.at(1.0, "t"), 14.0);
  EXPECT_EQ(r.at(1.0, "A[2,3]"), 23.0);
  EXPECT_EQ(r.at(1.0, "d[3]"), 6.0);
  EXPECT_EQ(r.at(1.0, "p[2].w[1]"), 3.0);
  EXPECT_NE(load_errors("model M\n  Real v[3], w[2];\nequation\n  for i loop\n    v[i] = w[i];\n  end for;\nend M;\n")
                .find("the range of 'i' does not follow from its use: the sizes differ"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  Real v[3];\nequation\n  for i loop\n    v[1] = i;\n  end for;\nend M;\n")
                .find("the range of 'i' is not given"),
            std::string::npos);
}

TEST(VaryingSubscripts, TheyChooseAmongTheElements) {
  const std::string text =
      "type E = enumeration(a, b);\nmodel M\n  parameter Real v[4] = {10, 20, 30, 40};\n  constant Real A[2, 2] = [1, "
      "2; 3, 4];\n"
      "  Integer i(start = 1, fixed = true);\n  E e = if time > 0.5 then E.b else E.a;\n  Real y = v[i], z = A[e, 2], "
      "w = sum(v[i:i + 0]);\n"
      "algorithm\n  when sample(0.3, 0.3) then\n    i := i + 1;\n  end when;\nend M;\n";
  EXPECT_NE(load_errors(text).find("must be known before the run"), std::string::npos);  // of a range
  const std::string fine = text.substr(0, text.find(", w = ")) + text.substr(text.find("i + 0])") + 7);
  const auto r = run_text(fine, 1.0);
  EXPECT_EQ(r.at(0.1, "y"), 10.0);
  EXPECT_EQ(r.at(0.4, "y"), 20.0);
  EXPECT_EQ(r.at(1.0, "y"), 40.0);
  EXPECT_EQ(r.at(0.2, "z"), 2.0);
  EXPECT_EQ(r.at(0.9, "z"), 4.0);
  const auto m = load_text(fine);
  EXPECT_FALSE(simulate(m.model, {.stop = 1.3}).status().ok());  // i = 5 is out of range
}

/// Counts i = 0, 1, 2, ... up to 4 at t = 4, beside what is given.
std::string counting(const std::string& declarations) {
  return "model M\n  function root\n    input Real x;\n    output Real r;\n  algorithm\n    assert(x > 0, "
         "\"negative\");\n"
         "    r := sqrt(x);\n  end root;\n  Real a[3] = {1, 2, 3};\n  Integer i(start = 0, fixed = true);\n  " +
         declarations + "\nalgorithm\n  when sample(1, 1) then\n    i := i + 1;\n  end when;\nend M;\n";
}

TEST(VaryingSubscripts, AreDemandedToBeInRangeInTheBranchThatIsTaken) {
  const auto guarded = run_text(counting("Real y = if i < 1 then -1 elseif i > 3 then -2 else a[i];"), 4.5);
  for (const auto& [t, value] : {std::pair(0.5, -1.0), {1.5, 1.0}, {3.5, 3.0}, {4.5, -2.0}})
    EXPECT_EQ(guarded.at(t, "y"), value) << t;
  for (const char* wrong :
       {"Real y = if i < 1 then -1 else a[i];", "Real y = if i > 0 then 2*(if i > 2 then a[i] else 1) else 0;"}) {
    const auto m = load_text(counting(wrong));
    EXPECT_TRUE(simulate(m.model, {.stop = 3.5}).status().ok()) << wrong;
    const Status status = simulate(m.model, {.stop = 4.5}).status();
    EXPECT_EQ(status.code, StatusCode::assertion_failed) << wrong;
    EXPECT_NEAR(status.t, 4.0, 1e-9);
  }
}

TEST(Assertions, OfFunctionsHoldInTheBranchThatIsTaken) {
  const auto r = run_text(counting("Real y = if i < 3 then root(3 - i) else root(i);"), 4.5);
  EXPECT_DOUBLE_EQ(r.at(0.5, "y"), std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(r.at(4.5, "y"), 2.0);
  const auto m = load_text(counting("Real y = if i < 4 then root(3.5 - i) else root(3 - i);"));
  EXPECT_EQ(simulate(m.model, {.stop = 4.5}).status().code, StatusCode::assertion_failed);
}

}  // namespace
}  // namespace saltus
