// Plain models whose right answer is known: derivatives that are read, roots near their guesses, factors that vanish at
// the stop time, variables that the equations leave open.
#include <saltus/hybrid/methods.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "suites/every_method.hpp"

namespace saltus {
namespace {

Trajectory run_of(const std::string& text, double stop, Method method = Method::automatic, double from = 0.0,
                  double tolerance = 1e-8) {
  const ModelicaModel loaded = load_text("model M " + text + " end M;");
  return simulate(loaded.model, {.start = from, .stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
}

// c = 2t follows from the first two equations, and its derivative from another differentiation.
TEST(ReadDerivatives, OfAVariableThatHiddenConstraintsDetermine) {
  for (const std::string text :
       {"Real b, c, d; equation b - c = time^2; der(b) - der(c) = c; der(c) = d;",
        "Real d, c, b; equation d = der(c); der(b) - der(c) = c; 1e6*b - 1e6*c = 1e6*time^2;",
        "Real b, c, d, s; equation b = s + c; s = time^2; der(b) - der(c) = c; d = der(c);",
        "Real p, q, c = p - q, b = p + q, d; equation b - c = time^2; der(b) - der(c) = c; der(c) = d;"})
    for (const Method method : {Method::automatic, Method::radau, Method::radau5, Method::bdf}) {
      const Trajectory run = run_of(text, 3.0, method);
      ASSERT_TRUE(run.status().ok()) << text << "\n" << run.status().message;
      for (const double t : {0.0, 0.4, 1.7, 3.0}) {
        EXPECT_NEAR(run.at(t, "d"), 2.0, 1e-5) << text << " at " << t;
        EXPECT_NEAR(run.at(t, "c"), 2.0 * t, 1e-6) << text << " at " << t;
      }
    }
}

TEST(ReadDerivatives, ByClausesAndGuards) {
  // c = 3t^2, c' = 6t is above 3 from t = 0.5 on
  const Trajectory run = run_of(
      "Real b, c, s(start = 0, fixed = true); discrete Real n(start = 0, fixed = true); equation b - c = time^3; "
      "der(b) - der(c) = c; der(s) = if der(c) > 3 then 1 else 0; when der(c) > 3 then n = der(c); end when;",
      1.0);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(1.0, "s"), 0.5, 1e-5);
  EXPECT_NEAR(run.at(1.0, "n"), 3.0, 1e-5);
}

// y and z have vertical slopes where they pass zero: y = 0 at t = 1. No method may crash, at any tolerance.
TEST(FailedFactors, EndARunWithAStatus) {
  for (const std::string text :
       {"Real y, z; equation 2^time + (1+time)^8*y^5 = 2; 2^time + (1+time)^8*z^5 = 8;",
        "Real y, z; equation 2^time + (1+time)^8*y^5 = 2; 2^time + (1+time)^8*y^5*z = 8;",
        "Real y; equation 2^time + (1+time)^8*y^5 = 2;", "Real y, z; equation y^3 = 1 - time; z = 2*y;"})
    for (const Method method : suite::every_method())
      for (const double tolerance : {1e-4, 1e-6, 1e-10})
        for (const double stop : {1.0, 1.5}) {
          const Trajectory run = run_of(text, stop, method, 0.0, tolerance);
          for (const double value : run.final()) EXPECT_TRUE(std::isfinite(value)) << text;
        }
}

// x2 is arbitrary and x1 = t x2 (P. Kunkel, V. Mehrmann, Differential-Algebraic Equations, EMS 2006, example 3.1).
TEST(Undetermined, AComponentIsKeptConstantAndTheOthersFollow) {
  const std::string text =
      "Real x1, x2(start = 1); equation -time*der(x1) + time^2*der(x2) = -x1; -der(x1) + time*der(x2) = -x2;";
  for (const Method method :
       {Method::automatic, Method::radau, Method::radau5, Method::radau9, Method::radau13, Method::bdf}) {
    const Trajectory run = run_of(text, 3.0, method);
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NE(run.status().message.find("do not determine"), std::string::npos) << run.status().message;
    for (const double t : {0.0, 0.3, 1.0, 2.2, 3.0}) {
      EXPECT_NEAR(run.at(t, "x1"), t * run.at(t, "x2"), 1e-6) << t;
      EXPECT_NEAR(run.at(t, "x2"), 1.0, 1e-6) << t;
    }
  }
}

// Open is the direction (cos t, sin t): no component stays a good choice.
TEST(Undetermined, AnotherComponentIsKeptWhereTheChoiceTurnsSingular) {
  const Trajectory run = run_of(
      "Real x(start = 1), y, z; equation x*sin(time) - y*cos(time) = 0; "
      "2*x*sin(time) - 2*y*cos(time) = 0; z = x^2 + y^2;",
      7.0);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  for (double t = 0.0; t <= 7.0; t += 0.25) {
    EXPECT_NEAR(run.at(t, "x") * std::sin(t) - run.at(t, "y") * std::cos(t), 0.0, 1e-6) << t;
    EXPECT_LT(run.at(t, "z"), 1e9) << t;
  }
}

}  // namespace
}  // namespace saltus
