// Functions and algorithms.
#include <gtest/gtest.h>
#include <saltus/expr/print.hpp>

#include <cmath>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

double value_of(const std::string& functions, const std::string& expression) {
  const auto m = load_text(functions + "\nmodel M\n  parameter Real p = 2;\n  Real x(start = " + expression +
                           ", fixed = true);\nequation\n  der(x) = 0;\nend M;\n");
  return m.model.data().variable_info.at(0).start;
}

TEST(Functions, AssignmentsLoopsAndBranchesAreFollowed) {
  const std::string horner =
      "function horner\n  input Real c[:];\n  input Real x;\n  output Real y;\nalgorithm\n  y := 0;\n"
      "  for k in size(c, 1):-1:1 loop\n    y := y*x + c[k];\n  end for;\nend horner;\n";
  EXPECT_EQ(value_of(horner, "horner({1, 2, 3}, p)"), 1.0 + 2.0 * 2.0 + 3.0 * 4.0);
  const std::string clip =
      "function clip\n  input Real x;\n  input Real limit = 1;\n  output Real y;\nalgorithm\n  if x > limit then\n    "
      "y := limit;\n"
      "  elseif x < -limit then\n    y := -limit;\n  else\n    y := x;\n  end if;\nend clip;\n";
  EXPECT_EQ(value_of(clip, "clip(p)"), 1.0);
  EXPECT_EQ(value_of(clip, "clip(-p, limit = 1.5)"), -1.5);
  EXPECT_EQ(value_of(clip, "sum(clip({p, 0.5, -7}))"), 0.5);  // element by element
}

TEST(Functions, LocalArraysRecordsAndSeveralResults) {
  const std::string text =
      "record Pair\n  Real a, b;\nend Pair;\n"
      "function split\n  input Real x;\n  output Real whole;\n  output Real rest;\nprotected\n  Pair p;\nalgorithm\n  "
      "p.a := floor(x);\n"
      "  p.b := x - p.a;\n  whole := p.a;\n  rest := p.b;\nend split;\n"
      "function weight\n  input Real x;\n  output Real y;\nprotected\n  Real v[3];\n  Real w, r;\nalgorithm\n  (w, r) "
      ":= split(x);\n"
      "  for i in 1:3 loop\n    v[i] := i*w + r;\n  end for;\n  y := sum(v);\nend weight;\n"
      "function make\n  input Real x;\n  output Pair p;\nalgorithm\n  p := Pair(x, 2*x);\nend make;\n";
  EXPECT_EQ(value_of(text, "weight(2.25)"), 12.0 + 0.75);
  EXPECT_EQ(value_of(text, "weight(p + 0.5)"), 12.0 + 1.5);
  const auto r = run_text(text +
                              "model M\n  Real w, f, z(start = 0, fixed = true);\n  Pair q = make(time);\nequation\n  "
                              "(w, f) = split(3.5);\n"
                              "  der(z) = w + 2*f + q.b;\nend M;\n",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "z"), 4.0 + 1.0, 1e-9);
}

TEST(Functions, RelationsInFunctionsMakeEventsWhereTheyAreAskedFor) {
  const auto text = [](const std::string& annotation) {
    return "function relay\n  input Real x;\n  output Real y;\nalgorithm\n  y := 1;\n  if x > 2 then\n    y := -1;\n"
           "  end if;\n  annotation(GenerateEvents = " +
           annotation +
           ");\nend relay;\n"
           "model M\n  Real x(start = 0, fixed = true), z(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
           "  der(z) = relay(x);\nend M;\n";
  };
  const auto asked = run_text(text("true"), 3.0);
  EXPECT_NEAR(asked.at(3.0, "z"), 1.0, 1e-9);
  EXPECT_EQ(asked.events().size(), 1u);
  const auto literal = run_text(text("false"), 3.0);  // steps across the jump have errors of 1e-10
  EXPECT_NEAR(literal.at(3.0, "z"), 1.0, 1e-8);
  EXPECT_EQ(literal.events().size(), 0u);
}

// What a function gives as an Integer, a Boolean or an enumeration jumps, in equations and conditions as where it is
// written out. In three units of the variable that is read.
TEST(Functions, DiscreteResultsMakeEventsWhereverTheyAreRead) {
  const std::string functions =
      "type Range = enumeration(low, high);\n"
      "function level\n  input Real u;\n  output Integer k;\nalgorithm\n  k := if u > 2 then 3 else 1;\nend level;\n"
      "function above\n  input Real u;\n  output Boolean b;\nalgorithm\n  b := u*u > 4;\nend above;\n"
      "function steps\n  input Real u;\n  output Integer k;\nalgorithm\n  k := 0;\n  while k < 5 and k < u loop\n"
      "    k := k + 1;\n  end while;\nend steps;\n"
      "function range\n  input Real u;\n  output Range r;\nalgorithm\n  r := if u > 2 then Range.high else Range.low;\n"
      "end range;\n"
      "function both\n  input Real u;\n  output Real v;\n  output Integer k;\nalgorithm\n  v := 2*u;\n"
      "  k := integer(u);\nend both;\n";
  struct Case {
    const char *rate, *condition;
    std::vector<double> jumps;  // of u, in which der(z) changes
    double end;                 // z(3.5)
  };
  for (const Case& c :
       {Case{"level(u)", "level(u) > 2", {2.0}, 6.5}, Case{"if above(u) then 3 else 1", "above(u)", {2.0}, 6.5},
        Case{"steps(u)", "steps(u) > 2", {1.0, 2.0, 3.0}, 8.0},
        Case{"if range(u) == Range.high then 3 else 1", "range(u) == Range.high", {2.0}, 6.5},
        Case{"if noEvent(u > 1e9) then 5 else level(u)", "level(u) == 3", {2.0}, 6.5}})
    for (const char* const unit : {"1", "1e-7", "1e7"}) {
      SCOPED_TRACE(std::string(c.rate) + ", unit " + unit);
      const auto result =
          run_text(functions + "model M\n  parameter Real s = " + unit +
                       ";\n  Real x(start = 0, fixed = true, nominal = s), z(start = 0, fixed = true), u = x/s;\n"
                       "  Integer n(start = 0, fixed = true);\nequation\n  der(x) = s;\n  der(z) = " +
                       c.rate + ";\n  when " + c.condition + " then\n    n = pre(n) + 1;\n  end when;\nend M;\n",
                   3.5);
      EXPECT_NEAR(result.at(3.5, "z"), c.end, 1e-9);
      ASSERT_EQ(result.events().size(), c.jumps.size());
      for (std::size_t k = 0; k < c.jumps.size(); ++k) EXPECT_NEAR(result.events()[k].t, c.jumps[k], 1e-9);
      EXPECT_EQ(result.at(1.9, "n"), 0.0);
      EXPECT_EQ(result.at(2.1, "n"), 1.0);
    }
  // under noEvent the caller asks for none, and what a function gives as a Real has none
  for (const char* const rate : {"noEvent(level(u))", "noEvent(if above(u) then 3 else 1)"})
    EXPECT_EQ(
        run_text(
            functions +
                "model M\n  Real u(start = 0, fixed = true), z(start = 0, fixed = true);\nequation\n  der(u) = 1;\n"
                "  der(z) = " +
                rate + ";\nend M;\n",
            3.5)
            .events()
            .size(),
        0u);
  const auto pair =
      run_text(functions +
                   "model M\n  Real u(start = 0, fixed = true), v;\n  Integer k;\nequation\n  der(u) = 1;\n"
                   "  (v, k) = both(u);\nend M;\n",
               3.5);
  EXPECT_EQ(pair.events().size(), 3u);
  EXPECT_EQ(pair.at(2.5, "k"), 2.0);
}

TEST(Functions, RelationsInArgumentsAndOnTimeAreEvents) {
  const auto r = run_text(
      "function pulse\n  input Real t;\n  input Real x;\n  output Real y;\nalgorithm\n"
      "  y := (if t > 2 and t < 2.001 then 1000 else 0) + x;\nend pulse;\n"
      "model M\n  Real x(start = 0, fixed = true), z(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
      "  der(z) = pulse(time, if x > 1 then 1 else 0);\nend M;\n",
      3.0);
  EXPECT_NEAR(r.at(3.0, "z"), 1.0 + 2.0, 1e-9);  // the pulse is far shorter than a step
  EXPECT_EQ(r.events().size(), 3u);
}

TEST(Functions, LoopsEndWithBreakAndFunctionsWithReturn) {
  const std::string text =
      "function first\n  input Real v[:];\n  input Real limit;\n  output Integer k;\nalgorithm\n  k := 0;\n"
      "  for i in 1:size(v, 1) loop\n    k := i;\n    if v[i] > limit then\n      break;\n    end if;\n  end for;\n"
      "  if k == 2 then\n    return;\n  end if;\n  k := k + 10;\nend first;\n"
      "function root\n  input Real x;\n  output Real n;\nalgorithm\n  n := 0;\n  while n*n < x loop\n    n := n + 1;\n "
      " end while;\nend root;\n";
  EXPECT_EQ(value_of(text, "first({1, 5, 9}, 3)"), 2.0);
  EXPECT_EQ(value_of(text, "first({1, 5, 9}, 6)"), 13.0);
  EXPECT_EQ(value_of(text, "root(17)"), 5.0);
}

TEST(Functions, TheyInheritAndLiveInPackages) {
  EXPECT_EQ(value_of("package F\n  constant Real k = 3;\n  partial function Base\n    input Real x;\n    output Real "
                     "y;\n  end Base;\n"
                     "  function triple\n    extends Base;\n  algorithm\n    y := k*x;\n  end triple;\nend F;\n",
                     "F.triple(p)"),
            6.0);
}

TEST(Algorithms, SectionsOfModelsDetermineTheirVariables) {
  const auto r = run_text(
      "model M\n  Real x(start = 1, fixed = true), y, s;\nequation\n  der(x) = y;\nalgorithm\n  y := -x;\n  if x > 0.5 "
      "then\n"
      "    y := 2*y;\n  end if;\n  s := 0;\n  for i in 1:3 loop\n    s := s + i*x;\n  end for;\nend M;\n",
      1.0);
  // fast decay down to 0.5 at t = ln(2)/2, then slow
  EXPECT_NEAR(r.at(1.0, "x"), 0.5 * std::exp(-(1.0 - std::log(2.0) / 2.0)), 1e-8);
  EXPECT_NEAR(r.at(1.0, "s"), 6.0 * r.at(1.0, "x"), 1e-12);
}

TEST(Algorithms, WhenStatementsAssignInOrder) {
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\n  Integer n(start = 0), twice(start = 0), last(start = -1);\n"
      "  discrete Real a(start = 1), b(start = 2), t;\nequation\n  der(x) = 1;\nalgorithm\n"
      "  when sample(1, 1) then\n    last := n;\n    n := n + 1;\n    twice := 2*n;\n    t := a;\n    a := b;\n    b "
      ":= t;\n"
      "  elsewhen x > 2.5 then\n    n := 100;\n  end when;\nend M;\n",
      3.2);
  EXPECT_EQ(r.at(1.1, "n"), 1.0);
  EXPECT_EQ(r.at(1.1, "last"), 0.0);
  EXPECT_EQ(r.at(1.1, "a"), 2.0);
  EXPECT_EQ(r.at(1.1, "b"), 1.0);
  EXPECT_EQ(r.at(2.1, "a"), 1.0);
  EXPECT_EQ(r.at(2.1, "twice"), 4.0);
  EXPECT_EQ(r.at(2.6, "n"), 100.0);
  EXPECT_EQ(r.at(3.1, "n"), 101.0);
  EXPECT_EQ(r.at(3.1, "twice"), 202.0);
}

TEST(Algorithms, ReinitInWhenStatements) {
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1;\nalgorithm\n  when x > 1 then\n    "
      "reinit(x, 0.25);\n  end when;\nend M;\n",
      1.5);
  EXPECT_NEAR(r.at(1.5, "x"), 0.75, 1e-9);
}

const char* const scalar_functions =
    "partial function Scalar\n  input Real u;\n  output Real y;\nend Scalar;\n"
    "function power\n  extends Scalar;\n  input Real n = 1;\n  input Real k = 1;\nalgorithm\n  y := k*u^n;\nend "
    "power;\n"
    "function simpson\n  input Scalar f;\n  input Real a;\n  input Real b;\n  output Real s;\nalgorithm\n"
    "  s := (b - a)/6*(f(a) + 4*f((a + b)/2) + f(b));\nend simpson;\n"
    "function from_zero\n  input Scalar g;\n  input Real b;\n  output Real s;\nalgorithm\n  s := simpson(g, 0, b);\n"
    "end from_zero;\n"
    "function both\n  input Scalar f;\n  input Real u;\n  output Real y;\nprotected\n  Real v[2];\nalgorithm\n"
    "  v := f({u, 2*u});\n  y := sum(v);\nend both;\n";

TEST(Functions, MayBeArgumentsOfFunctions) {
  EXPECT_EQ(value_of(scalar_functions, "simpson(power, 0, p)"), 2.0);
  EXPECT_EQ(value_of(scalar_functions, "simpson(function power(n = 3), 0, p)"), 4.0);
  EXPECT_EQ(value_of(scalar_functions, "simpson(f = function power(n = 2, k = 3), a = 1, b = p)"), 7.0);
  EXPECT_EQ(value_of(scalar_functions, "from_zero(function power(n = 2), 3)"), 9.0);
  EXPECT_EQ(value_of(scalar_functions, "both(function power(n = 2), 3)"), 9.0 + 36.0);  // of each element
  const auto r = run_text(
      std::string(scalar_functions) + "model M\n  Real x = simpson(function power(n = 2, k = time), 0, 3);\nend M;\n",
      2.0);
  EXPECT_NEAR(r.at(2.0, "x"), 18.0, 1e-12);
}

TEST(Functions, ArgumentsThatAreNoFunctionsAreNamed) {
  const auto errors = [](const std::string& value) {
    return load_errors(scalar_functions + ("model M\n  Real x = " + value + ";\nend M;\n"));
  };
  EXPECT_NE(errors("simpson(2, 0, 1)").find("is a function, but its value is of type Integer"), std::string::npos);
  EXPECT_NE(errors("simpson(cube, 0, 1)").find("there is no function 'cube'"), std::string::npos);
  EXPECT_NE(errors("simpson(function power(m = 3), 0, 1)").find("'power' has no input 'm'"), std::string::npos);
  EXPECT_NE(errors("power(function power(n = 3))").find("a function can be an argument here only"), std::string::npos);
  EXPECT_NE(errors("simpson(Scalar, 0, 1)").find("is partial and cannot be called"), std::string::npos);
}

TEST(Functions, SizesAndValuesMayNameVariablesThatAreDeclaredLater) {
  const auto r = run_text(R"(model M
  function g
    input Real A[:, size(A, 1)];
    input Real b[size(A, 1)];
    output Real x[n] = cat(1, b, zeros(n - size(A, 1)));
  protected
    Integer n = size(A, 1) + m;
    Integer m = 2;
  algorithm
    x[1] := x[1] + A[1, 2];
  end g;
  Real x[:] = g([1, 2; 3, 4], {5, 6})*time;
end M;)",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "x[1]"), 7.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "x[2]"), 6.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "x[4]"), 0.0, 1e-12);
  const std::string circle =
      "function f\n  input Real u;\n  output Real y;\nprotected\n  Integer n = m;\n  Integer m = n;\nalgorithm\n"
      "  y := u;\nend f;\nmodel M\n  Real x = f(time);\nend M;\n";
  EXPECT_NE(load_errors(circle).find("the size or the value of 'n' depends on itself"), std::string::npos)
      << load_errors(circle);
}

TEST(Functions, AssignmentsMayChooseTheElementInTheRun) {
  const auto r = run_text(R"(model M
  function turned
    input Integer k;
    input Real v;
    output Real y[4];
  algorithm
    y := zeros(4);
    for j in 1:4 loop
      y[if k + j > 4 then k + j - 4 else k + j] := v*j;
    end for;
  end turned;
  Real kept[3](each start = -1, each fixed = true), c[2, 3];
  Integer i(start = 0, fixed = true);
  Real f[4] = turned(i, 2);
algorithm
  when sample(0, 1) then
    i := mod(pre(i), 3) + 1;
    kept[i] := time;
  end when;
algorithm
  c := [10, 20, 30; 40, 50, 60];
  c[:, i] := {1, 2};
end M;)",
                          3.0);
  EXPECT_EQ(r.at(1.5, "kept[1]"), 0.0);
  EXPECT_EQ(r.at(1.5, "kept[2]"), 1.0);
  EXPECT_EQ(r.at(1.5, "kept[3]"), -1.0);
  EXPECT_EQ(r.at(1.5, "c[1,1]"), 10.0);
  EXPECT_EQ(r.at(1.5, "c[2,2]"), 2.0);
  EXPECT_EQ(r.at(1.5, "f[1]"), 6.0);  // i = 2: element 3 is 2*1, then 2*2, and from the beginning
  EXPECT_EQ(r.at(1.5, "f[3]"), 2.0);
  const Trajectory out =
      simulate(load_text("model M\n  Real x[2];\n  Integer i = if time > 1 then 3 else 1;\nalgorithm\n"
                         "  x := {0, 0};\n  x[i] := 1;\nend M;\n")
                   .model,
               {.stop = 2.0});
  EXPECT_EQ(out.status().code, StatusCode::assertion_failed) << out.status().message;
}

TEST(Functions, MayStandForThoseOfTheLanguage) {
  const std::string text =
      "function angle\n  input Real y;\n  input Real x;\n  output Real a;\n  external \"builtin\" a = atan2(y, "
      "x);\nend "
      "angle;\n";
  EXPECT_EQ(value_of(text, "angle(p, 2)"), std::atan2(2.0, 2.0));
  EXPECT_NE(
      load_errors("function f\n  input Real u;\n  output Real y;\n  external \"builtin\" y = nothing(u);\nend f;\n"
                  "model M\n  Real x = f(1);\nend M;\n")
          .find("there is no function 'nothing' of the language"),
      std::string::npos);
}

}  // namespace
}  // namespace saltus
