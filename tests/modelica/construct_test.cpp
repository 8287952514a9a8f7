// Values of small and frequent constructs in models of others, and the errors of those that are not read: nothing is
// passed over in silence.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

struct Case {
  const char* text;
  std::vector<std::pair<const char*, double>> at_end;  // of a run over one second
};

TEST(Constructs, HaveTheirValues) {
  const std::vector<Case> cases{
      {"model M Real a[2, 2, 2]; equation for i in 1:2, j in 1:2, k in 1:2 loop a[i, j, k] = 100*i + 10*j + k; end "
       "for; end M;",
       {{"a[1,1,1]", 111.0}, {"a[1,2,1]", 121.0}, {"a[2,1,2]", 212.0}}},
      {"model M parameter Real a[2, 3, 4] = fill(1.5, 2, 3, 4); Real s = sum(a), n = size(a, 3); end M;",
       {{"s", 36.0}, {"n", 4.0}}},
      {"model M Real x[Boolean]; equation x[false] = 1; x[true] = 2; end M;", {{"x[1]", 1.0}, {"x[2]", 2.0}}},
      {"model M type E = enumeration(a, b, c); Real x[E]; equation x[E.a] = 1; x[E.b] = 2; x[E.c] = 3; end M;",
       {{"x[1]", 1.0}, {"x[3]", 3.0}}},
      {"model M type E = enumeration(a, b, c); Real s = sum({if i == E.c then 10 else 1 for i in E}); end M;",
       {{"s", 12.0}}},
      {"model M Real x[3]; equation for i loop x[i] = i; end for; end M;", {{"x[3]", 3.0}}},
      {"model M parameter Real a[:] = {1, 2, 3}; Real x[size(a, 1)] = 2*a; end M;", {{"x[3]", 6.0}}},
      {"model M parameter String s = \"a\" + String(3) + String(true); Real x = if s == \"a3true\" then 1 else 2; end "
       "M;",
       {{"x", 1.0}}},
      {"model M function f input Real x; algorithm assert(x < 10, \"large\"); end f; Real x = time; equation f(x); end "
       "M;",
       {{"x", 1.0}}},
      {"model M Integer k(start = 1, fixed = true); Real a[3] = {10, 20, 30}, z = a[k]; equation when time > 0.5 then "
       "k = 3; end when; end M;",
       {{"z", 30.0}}},
      {"model M function f input Real x; output Real y; algorithm y := x; while y > 1 loop y := y/2; end while; end f; "
       "Real z = f(5*time + 1); end M;",
       {{"z", 0.75}}},
      {"model M record R Real a = 1; Real b = 2; end R; function f input Real x; output Real y; protected R r(b = 7); "
       "algorithm y := r.a + r.b*x; end f; Real z = f(2*time); end M;",
       {{"z", 15.0}}},
      {"model M record R Real a = 1; Real b = 2; end R; record S extends R(a = 5); end S; function f input Real x; "
       "output Real y; protected S r(b = x); algorithm y := r.a + r.b; end f; Real z = f(time); end M;",
       {{"z", 6.0}}},
      {"model M Integer a = div(-7, 2), b = mod(-7, 2); Real c = rem(-7.5, 2), d = mod(-7.5, 2), e = integer(-1.5); "
       "end "
       "M;",
       {{"a", -3.0}, {"b", 1.0}, {"c", -1.5}, {"d", 0.5}, {"e", -2.0}}},
      {"model M Real x = product(i for i in 1:5), z = min(i*j for i in 1:2, j in {-1, 4}); end M;",
       {{"x", 120.0}, {"z", -2.0}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const Trajectory run = run_text(c.text, 1.0);
    for (const auto& [name, value] : c.at_end) EXPECT_NEAR(run.at(1.0, name), value, 1e-9) << name;
  }
}

TEST(Constructs, AModelWithoutVariablesRuns) {
  EXPECT_EQ(run_text("model M end M;", 1.0).status().code, StatusCode::success);
}

TEST(Constructs, ThatAreNotReadAreNamed) {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"model M\n  Boolean b = initialState(time);\nend M;\n", "a.mo:2:15: error: 'initialState' is not supported"},
      {"model M\n  Real x;\nequation\n  (x,) = spatialDistribution(1, 2, 3, true);\nend M;\n",
       "a.mo:4:10: error: 'spatialDistribution' is not supported"},
      {"model M\n  String s = if time > 0.5 then \"a\" else \"b\";\nend M;\n",
       "a.mo:2:10: error: String variables are not supported"},
      {"model A\n  Real x = 1;\nend A;\nmodel M\n  extends A(break x);\nend M;\n",
       "a.mo:5:13: error: 'break' is not supported"},
      {"function f\n  output String s;\nalgorithm\n  s := getInstanceName();\nend f;\nmodel M\n  parameter String s = "
       "f();\nend M;\n",
       "a.mo:4:8: error: 'getInstanceName' has a meaning in models and blocks only"},
      {"package Q\n  constant Real k = 1;\nend Q;\nmodel A\n  outer package P = Q;\n  Real z = P.k;\nend A;\nmodel M\n"
       "  inner package P = Q(k = 2);\n  A a;\nend M;\n",
       "a.mo:6:12: error: 'outer' classes are not supported: 'A.P' is one"},
      {"package Q\n  type T = Real(start = 1);\nend Q;\nmodel A\n  outer package P = Q;\n  P.T z = 1;\nend A;\nmodel "
       "M\n"
       "  inner package P = Q;\n  A a;\nend M;\n",
       "a.mo:6:3: error: 'outer' classes are not supported: 'A.P' is one"},
  };
  for (const auto& [text, error] : cases) {
    const std::string errors = load_errors(text);
    EXPECT_NE(errors.find(error), std::string::npos) << text << (errors.empty() ? "no error" : errors);
  }
}

// A function of the model has the name of one that is not supported.
TEST(Constructs, OwnFunctionsComeBeforeThoseOfTheLanguage) {
  EXPECT_NEAR(run_text("function interval input Real x; output Real y; algorithm y := 2*x; end interval; "
                       "model M Real x = interval(time); end M;",
                       1.0)
                  .at(1.0, "x"),
              2.0, 1e-12);
}

TEST(Constructs, TheNameOfAnInstanceBeginsWithTheModel) {
  // The example of the specification (3.7.4): Vehicle.engine.controller.
  const auto r = run_text(R"(package P
  model Controller
    parameter String name = getInstanceName();
    Real x = if name == "Vehicle.engine.controller" then 1 else 2;
  end Controller;
  model Engine
    Controller controller, c[2];
  end Engine;
  model Vehicle
    Engine engine(c(name = {"given", getInstanceName()}));
    Real first = if engine.c[1].name == "given" then 1 else 0;
    Real second = if engine.c[2].name == "Vehicle" then 1 else 0;
  end Vehicle;
end P;)",
                          1.0);
  EXPECT_EQ(r.at(1.0, "engine.controller.x"), 1.0);
  EXPECT_EQ(r.at(1.0, "engine.c[1].x"), 2.0);
  EXPECT_EQ(r.at(1.0, "first"), 1.0);
  EXPECT_EQ(r.at(1.0, "second"), 1.0);  // a modification is evaluated where it is written
}

TEST(Constructs, NamesOfInstancesDifferInLargeArrays) {
  const auto r = run_text(
      "model A\n  parameter String name = getInstanceName();\n  Real x(start = if name == \"M.a[400]\" then 1 else 2, "
      "fixed = true);\nequation\n  der(x) = 0;\nend A;\nmodel M\n  A a[500];\nend M;\n",
      1.0);
  EXPECT_EQ(r.at(1.0, "a[399].x"), 2.0);
  EXPECT_EQ(r.at(1.0, "a[400].x"), 1.0);
}

TEST(Constructs, ParametersMayNeedEachOtherInBranchesThatAreNotTaken) {
  const std::string text =
      "model M\n  parameter Boolean u = true;\n  parameter Real T = if u then 300 else h/2;\n"
      "  parameter Real h = if u then 2*T else 500;\n  Real x = T + h;\nend M;\n";
  EXPECT_EQ(run_text(text, 1.0).at(1.0, "x"), 900.0);
  LoadOptions options;
  options.parameters = {{"u", 0.0}};
  EXPECT_EQ(run_text(text, 1.0, options).at(1.0, "x"), 750.0);
  EXPECT_NE(load_errors("model M\n  parameter Boolean u = true;\n  parameter Real T = if u then h else 300;\n"
                        "  parameter Real h = if u then 2*T else 600;\nend M;\n")
                .find("the value of 'T' depends on itself"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  parameter Boolean u = false;\n  parameter Real p = if u then q else 1;\n"
                        "  parameter Real q = r;\n  parameter Real r = q;\nend M;\n")
                .find("depends on itself"),
            std::string::npos);
}

TEST(Constructs, BreakRemovesAnInheritedValue) {
  const auto r = run_text(
      "model A\n  parameter Real p = 3;\n  Real x = 2*p;\nend A;\nmodel B = A(x = break);\n"
      "model M\n  B b, c(x = 5);\n  A a(x = break);\nequation\n  b.x = 7;\n  a.x = 8;\nend M;\n",
      1.0);
  EXPECT_EQ(r.at(1.0, "b.x"), 7.0);
  EXPECT_EQ(r.at(1.0, "c.x"), 5.0);
  EXPECT_EQ(r.at(1.0, "a.x"), 8.0);
  EXPECT_NE(load_errors("model A\n  parameter Real p = 3;\nend A;\nmodel M\n  A a(p = break);\nend M;\n")
                .find("the parameter 'a.p' has no value"),
            std::string::npos);
}

TEST(Constructs, EquationsThatCallMayHaveDescriptions) {
  EXPECT_TRUE(
      load_errors("model M\n  Real x = time;\nequation\n  assert(x >= 0, \"x\") \"never below zero\";\nend M;\n")
          .empty());
}

}  // namespace
}  // namespace saltus
