// Loops and functions that are left under conditions that are known in the run only.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

/// Compares y = f(x), x = 10 time, with the same function in C++ between its jumps.
void compare(const std::string& body, const std::function<double(double)>& f) {
  const std::string text = "function f\n  input Real x;\n  output Real y;\nprotected\n  Integer n;\nalgorithm\n" +
                           body + "end f;\nmodel M\n  Real x = 10*time;\n  Real y = f(x);\nend M;\n";
  const auto r = run_text(text, 1.0);
  for (double t = 0.0037; t < 1.0; t += 0.0191) EXPECT_NEAR(r.at(t, "y"), f(10 * t), 1e-9) << body << t;
}

TEST(Loops, BreakLeavesTheInnermostLoop) {
  compare(
      "  y := 0;\n  for i in 1:3 loop\n    for j in 1:3 loop\n      if x < i*j then\n        break;\n      end if;\n"
      "      y := y + 1;\n    end for;\n    y := y + 10;\n  end for;\n",
      [](double x) {
        double y = 0;
        for (int i = 1; i <= 3; ++i) {
          for (int j = 1; j <= 3; ++j) {
            if (x < i * j) break;
            y += 1;
          }
          y += 10;
        }
        return y;
      });
}

TEST(Loops, ReturnLeavesTheFunctionFromInsideOfLoopsAndBranches) {
  compare("  for i in 1:5 loop\n    if x < i then\n      y := i;\n      return;\n    end if;\n  end for;\n  y := -1;\n",
          [](double x) { return x < 5 ? std::floor(x) + 1 : -1.0; });
  compare(
      "  if x < 1 then\n    y := 1;\n    return;\n  elseif x < 2 then\n    y := 2;\n  else\n    y := 3;\n"
      "    return;\n  end if;\n  y := y + 10;\n",
      [](double x) { return x < 1   ? 1.0
                            : x < 2 ? 12.0
                                    : 3.0; });
  // a break in an earlier pass keeps the return of a later one from counting
  compare(
      "  y := 0;\n  for i in 1:3 loop\n    if x < 2*i then\n      break;\n    end if;\n    if x < 5 then\n"
      "      y := 100;\n      return;\n    end if;\n    y := y + 1;\n  end for;\n  y := y + 10;\n",
      [](double x) {
        double y = 0;
        for (int i = 1; i <= 3; ++i) {
          if (x < 2 * i) break;
          if (x < 5) return 100.0;
          y += 1;
        }
        return y + 10;
      });
  // every way through the loop leaves it
  compare(
      "  y := 0;\n  for i in 1:3 loop\n    if x < 4 then\n      break;\n    end if;\n    y := 7;\n    return;\n"
      "  end for;\n  y := y + 1;\n",
      [](double x) { return x < 4 ? 1.0 : 7.0; });
}

TEST(Loops, WhileEndsWhenItsConditionIsFalse) {
  compare("  y := x;\n  n := 0;\n  while y < 3 and n < 20 loop\n    y := y + 1;\n    n := n + 1;\n  end while;\n",
          [](double x) {
            double y = x;
            while (y < 3) y += 1;
            return y;
          });
  compare(
      "  y := x;\n  n := 0;\n  while y < 8 loop\n    y := y + 1;\n    n := n + 1;\n    if n >= 2 then\n"
      "      break;\n    end if;\n  end while;\n",
      [](double x) {
        double y = x;
        for (int n = 0; y < 8 && n < 2; ++n) y += 1;
        return y;
      });
}

TEST(Loops, AnIterationConverges) {
  const auto r = run_text(
      "function root\n  input Real x;\n  output Real r;\nprotected\n  Real d;\nalgorithm\n  r := 1;\n  d := 1;\n"
      "  while abs(d) > 1e-10 loop\n    d := (r*r - x)/(2*r);\n    r := r - d;\n  end while;\nend root;\n"
      "model M\n  Real y = root(1 + 50*time);\nend M;\n",
      1.0);
  EXPECT_EQ(r.events().size(), 0U);  // passes of an iteration are no surfaces
  for (const double t : {0.0, 0.01, 0.5, 1.0}) EXPECT_NEAR(r.at(t, "y"), std::sqrt(1 + 50 * t), 1e-12);
}

TEST(Loops, ALoopWithoutEndStopsTheRunWithItsPlace) {
  const auto model = load_text(
      "function f\n  input Real x;\n  output Real y;\nalgorithm\n  y := x;\n  while y < 3 loop\n    y := y - 1;\n"
      "  end while;\nend f;\nmodel M\n  Real y = f(5 - 10*time);\nend M;\n");
  const auto r = simulate(model.model, {.stop = 1.0});
  EXPECT_EQ(r.status().code, StatusCode::assertion_failed);
  EXPECT_NE(r.status().message.find("a 'while' loop makes more than 100 passes"), std::string::npos)
      << r.status().message;
}

TEST(Loops, AParameterDecidesHowOftenAWhileIsPassed) {
  const std::string text =
      "function count\n  input Real x;\n  output Real n;\nprotected\n  Real r;\nalgorithm\n  n := 0;\n  r := x;\n"
      "  while r > 1 loop\n    r := r/2;\n    n := n + 1;\n  end while;\nend count;\n"
      "model M\n  parameter Real p = 9;\n  Real y = count(p);\nend M;\n";
  EXPECT_EQ(run_text(text, 1.0).at(1.0, "y"), 4.0);
  EXPECT_EQ(run_text(text, 1.0, {.parameters = {{"p", 100.0}}}).at(1.0, "y"), 7.0);
}

TEST(Loops, AssertionsBehindAnExitHoldWhereTheyAreReached) {
  const std::string text =
      "function f\n  input Real x;\n  output Real y;\nalgorithm\n  y := x;\n  if x < 0.5 then\n    return;\n  end if;\n"
      "  assert(x < LIMIT, \"too large\");\nend f;\nmodel M\n  Real y = f(time);\nend M;\n";
  const auto with_limit = [&](const std::string& limit) {
    std::string result = text;
    return result.replace(result.find("LIMIT"), 5, limit);
  };
  EXPECT_TRUE(simulate(load_text(with_limit("2")).model, {.stop = 1.0}).status().ok());
  EXPECT_NEAR(simulate(load_text(with_limit("0.75")).model, {.stop = 1.0}).t_end(), 0.75, 1e-6);
  EXPECT_NEAR(simulate(load_text(with_limit("0.25")).model, {.stop = 1.0}).t_end(), 0.5, 1e-6);
}

TEST(Loops, ExitsOfAlgorithmsInModelsLeaveLoopsOnly) {
  const auto r = run_text(
      "model M\n  Real y;\nalgorithm\n  y := 0;\n  for i in 1:4 loop\n    if 10*time < 2*i then\n      break;\n"
      "    end if;\n    y := i;\n  end for;\nend M;\n",
      1.0);
  for (const double t : {0.1, 0.3, 0.5, 0.7, 0.9}) EXPECT_NEAR(r.at(t, "y"), std::floor(5 * t), 1e-12) << t;
  EXPECT_NE(
      load_errors("model M\n  Real y;\nalgorithm\n  y := 0;\n  if time > 0.5 then\n    return;\n  end if;\nend M;\n")
          .find("'break' and 'return' have no meaning here"),
      std::string::npos);
}

TEST(Functions, ARunEndsWhereNoBranchHasAssignedAValue) {
  const auto end_of = [](const std::string& body) {
    const auto r =
        simulate(load_text("function f\n  input Real x;\n  output Real y;\nprotected\n  Real a;\nalgorithm\n" + body +
                           "end f;\nmodel M\n  Real y = f(time);\nend M;\n")
                     .model,
                 {.stop = 1.0});
    EXPECT_TRUE(r.status().ok() || r.status().message.find("y gets no value") != std::string::npos ||
                r.status().message.find("a is used before it has a value") != std::string::npos)
        << r.status().message;
    return r.t_end();
  };
  EXPECT_NEAR(end_of("  if x < 0.5 then\n    y := 1;\n  end if;\n"), 0.5, 1e-6);
  EXPECT_NEAR(end_of("  if x < 0.5 then\n    a := 1;\n  end if;\n  if x < 0.75 then\n    y := 2;\n  else\n    y := "
                     "a;\n  end if;\n"),
              0.75, 1e-6);
  EXPECT_EQ(end_of("  if x < 0.5 then\n    y := 1;\n  end if;\n  if x >= 0.5 then\n    y := 2;\n  end if;\n"), 1.0);
}

TEST(Functions, AValueThatIsNeverAssignedIsRefused) {
  const auto errors = [](const std::string& body) {
    return load_errors("function f\n  input Real x;\n  output Real y;\nprotected\n  Real a[2];\nalgorithm\n" + body +
                       "end f;\nmodel M\n  Real y = f(time);\nend M;\n");
  };
  EXPECT_NE(errors("  if false then\n    y := 1;\n  end if;\n").find("the output 'y' of 'f' gets no value"),
            std::string::npos);
  EXPECT_NE(load_errors("function f\n  input Real x;\n  output Real y[2];\nalgorithm\n  y[1] := x;\nend f;\n"
                        "model M\n  Real y[2] = f(time);\nend M;\n")
                .find("'y[2]' gets no value"),
            std::string::npos);
  // behind an assertion that fails no value is needed
  EXPECT_EQ(errors("  if x > 1 then\n    y := 1;\n  elseif x >= 0 then\n    y := 2;\n  else\n"
                   "    assert(false, \"negative\");\n  end if;\n"),
            "");
}

TEST(Functions, WhatBelongsToModelsIsRefused) {
  const auto errors = [](const std::string& body) {
    return load_errors("function f\n  input Real x;\n  output Real y;\n" + body +
                       "end f;\nmodel M\n  Real y = f(time);\nend M;\n");
  };
  EXPECT_NE(errors("algorithm\n  y := der(x);\n").find("a.mo:5:8: error: 'der' has no meaning in a function"),
            std::string::npos);
  EXPECT_NE(errors("algorithm\n  y := x;\nalgorithm\n  y := 2*y;\n").find("a function has one algorithm, not several"),
            std::string::npos);
}

TEST(ExternalObjects, UnknownOnesAreRefusedEvenIfNothingReadsThem) {
  EXPECT_NE(
      load_errors("class E\n  extends ExternalObject;\n  function constructor\n    input Real x;\n    output E e;\n"
                  "    external \"C\" e = make(x);\n  end constructor;\n  function destructor\n    input E e;\n"
                  "    external \"C\" unmake(e);\n  end destructor;\nend E;\n"
                  "model M\n  E e = E(1);\n  Real y = 1;\nend M;\n")
          .find("the external object 'E' is not supported"),
      std::string::npos);
}

TEST(Loops, EndlessLoopsMayBeLeftInTheRun) {
  const auto text = [](const std::string& argument) {
    return "function root\n  input Real x;\n  output Real n;\nalgorithm\n  n := 0;\n  while true loop\n"
           "    if n*n >= x then\n      break;\n    end if;\n    n := n + 1;\n  end while;\nend root;\n"
           "model M\n  Real y = root(" +
           argument + ");\n  Real z(start = 0, fixed = true);\nequation\n  der(z) = 0;\nend M;\n";
  };
  const auto r = run_text(text("16*time + 0.5"), 1.0);
  EXPECT_EQ(r.at(0.0, "y"), 1.0);
  EXPECT_EQ(r.at(0.5, "y"), 3.0);
  EXPECT_EQ(r.at(1.0, "y"), 5.0);
  const Trajectory endless = simulate(load_text(text("1e5*(time + 1)")).model, {.stop = 1.0});
  EXPECT_EQ(endless.status().code, StatusCode::assertion_failed);
  EXPECT_NE(endless.status().message.find("more than 100 passes"), std::string::npos) << endless.status().message;
}

}  // namespace
}  // namespace saltus
