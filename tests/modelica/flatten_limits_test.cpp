// Large and hostile texts: what is too large is an error, and what is large costs time and memory in proportion.
#include <gtest/gtest.h>

#include "modelica/flatten/load.hpp"
#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::string errors_with(const std::string& text, const modelica::FlattenLimits& limits) {
  try {
    modelica::load(text, "a.mo", {}, limits);
  } catch (const ModelicaError& error) {
    return error.what();
  }
  return {};
}

TEST(FlattenLimits, ALoopOverManyCellsFlattens) {
  const int n = 100000;
  const auto m = load_text("model Heat\n  parameter Integer n = " + std::to_string(n) +
                           ";\n  Real T[n](each start = 300);\nequation\n  der(T[1]) = T[2] - T[1];\n"
                           "  for i in 2:n-1 loop\n    der(T[i]) = T[i-1] - 2*T[i] + T[i+1];\n  end for;\n  der(T[n]) "
                           "= T[n-1] - T[n];\nend Heat;\n");
  EXPECT_EQ(m.model.data().equations.size(), static_cast<std::size_t>(n));
  // sharing keeps the graph small: a symbol, a derivative and a handful of operations a cell
  EXPECT_LT(m.model.data().graph->size(), static_cast<std::size_t>(12 * n));
}

TEST(FlattenLimits, ManyComponentsFlatten) {
  const auto m = load_text(
      "model Cell\n  parameter Real k = 1;\n  Real x, y;\nequation\n  der(x) = k*y;\n  y = -x;\nend Cell;\n"
      "model M\n  Cell c[20000](k = {i for i in 1:20000});\nend M;\n");
  EXPECT_EQ(m.model.data().variables.size(), 40000u);
  EXPECT_EQ(m.model.data().parameters.at(19999).value, 20000.0);
}

TEST(FlattenLimits, TooManyScalarsOrOperationsAreErrors) {
  modelica::FlattenLimits small;
  small.scalars = 1000;
  small.work = 10000;
  EXPECT_NE(errors_with("model M\n  Real x[2000];\nend M;\n", small).find("more than 1000 elements"),
            std::string::npos);
  EXPECT_NE(errors_with("model A\n  Real x = 1;\nend A;\nmodel M\n  A a[900];\nend M;\n", small)
                .find("more than 1000 components"),
            std::string::npos);
  EXPECT_NE(
      errors_with("model M\n  Real x;\nequation\n  der(x) = sum(i*j for i in 1:900, j in 1:900);\nend M;\n", small)
          .find("operations"),
      std::string::npos);
  EXPECT_NE(errors_with("model M\n  Real x;\nequation\n  der(x) = sum(1:5000);\nend M;\n", small)
                .find("more than 1000 elements"),
            std::string::npos);
  EXPECT_NE(errors_with("function f\n  input Real x;\n  output Real y;\nalgorithm\n  y := x;\n  while true loop\n    y "
                        ":= y + 1;\n  end while;\nend f;\n"
                        "model M\n  Real x = f(time);\nend M;\n",
                        small)
                .find("operations"),
            std::string::npos);
}

// With the usual limits: calls that would take hours, and a text that would fill the memory.
TEST(FlattenLimits, CallsAndTextsAreBounded) {
  const std::string fibonacci =
      "function f\n  input Integer n;\n  output Integer y;\nalgorithm\n  y := if n < 2 then n else f(n-1) + f(n-2);\n"
      "end f;\nmodel M\n  parameter Integer k = f(";
  modelica::FlattenLimits smaller;  // a hundredth of the usual work
  smaller.work /= 100;
  EXPECT_EQ(errors_with(fibonacci + "15);\nend M;\n", smaller), "");
  EXPECT_NE(errors_with(fibonacci + "60);\nend M;\n", smaller).find("a function is called too often"),
            std::string::npos);
  EXPECT_NE(errors_with("function f\n  input Real u;\n  input Integer n;\n  output Real y;\nalgorithm\n"
                        "  y := if n == 0 then sin(u) else f(u + 1, n - 1)*f(u - 1, n - 1);\nend f;\n"
                        "model M\n  Real x = f(time, 60);\nend M;\n",
                        smaller)
                .find("a function is called too often"),
            std::string::npos);
  const auto doubled = [](const std::string& body) {
    return load_errors(
        "function f\n  input Integer n;\n  input Real u;\n  output String y;\nalgorithm\n"
        "  y := \"0123456789\";\n  for i in 1:n loop\n    y := " +
        body +
        ";\n  end for;\nend f;\nmodel M\n  Real x = 1;\nequation\n"
        "  assert(x > 0, f(60, time));\nend M;\n");
  };
  EXPECT_NE(doubled("y + y").find("more than 1000000 characters"), std::string::npos) << doubled("y + y");
  EXPECT_NE(doubled("if u > i then y + \"a\" else y + \"b\"").find("more than 1000000 characters"), std::string::npos);
}

TEST(FlattenLimits, DeepNestingIsAnError) {
  // each parameter needs the next one
  std::string text = "model M\n";
  for (int k = 0; k < 20000; ++k)
    text += "  parameter Real p" + std::to_string(k) + " = p" + std::to_string(k + 1) + " + 1;\n";
  text += "  parameter Real p20000 = 1;\nend M;\n";
  EXPECT_NE(load_errors(text).find("nested too deeply"), std::string::npos);
  // in the other direction there is nothing to nest
  std::string forward = "model M\n  parameter Real p0 = 1;\n  Real x;\n";
  for (int k = 1; k < 20000; ++k)
    forward += "  parameter Real p" + std::to_string(k) + " = p" + std::to_string(k - 1) + " + 1;\n";
  forward += "equation\n  der(x) = p19999;\nend M;\n";
  EXPECT_EQ(load_errors(forward), "");
}

TEST(FlattenLimits, ClassesThatContainOrInheritThemselvesAreErrors) {
  EXPECT_NE(load_errors("model A\n  B b;\nend A;\nmodel B\n  A a;\nend B;\n").find("contains itself"),
            std::string::npos);
  EXPECT_NE(load_errors("model A\n  extends B;\nend A;\nmodel B\n  extends A;\nend B;\n").find("inherits from itself"),
            std::string::npos);
  EXPECT_NE(load_errors("type A = B;\ntype B = A;\nmodel M\n  A a;\nend M;\n").find("leads back to itself"),
            std::string::npos);
  EXPECT_NE(load_errors("package P = P;\nmodel M\n  P.x y;\nend M;\n"), "");
  EXPECT_NE(load_errors("package P\n  import P.*;\n  import P.Q;\n  model M\n    Q q;\n  end M;\nend P;\n"), "");
}

}  // namespace
}  // namespace saltus
