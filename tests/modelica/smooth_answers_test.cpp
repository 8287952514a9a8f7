// Plain models whose right answer is known: roots near their guesses, factors that vanish at the stop time.
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

TEST(Guesses, ChooseTheSideOfARelation) {
  const auto expect = [](const std::string& text, double at_end) {
    const Trajectory run = run_of(text, 1.0);
    ASSERT_TRUE(run.status().ok()) << text << "\n" << run.status().message;
    EXPECT_NEAR(run.at(1.0, "w"), at_end, 1e-6) << text;
  };
  expect("Real w(start = 5); equation abs(w) = 2 + time;", 3.0);
  expect("Real w(start = -5); equation abs(w) = 2 + time;", -3.0);
  expect("Real w(start = 5e6); equation abs(w) = 2e6*(1 + 0.5*time);", 3e6);
  expect("Real w(start = 5); equation (if w > 0 then w else -w) = 2 + time;", 3.0);
  expect("Real w(start = 5); equation (if w < 0 then -w else w) = 2 + time;", 3.0);
  expect("Real w(start = 5), v; equation v = -w; abs(v) = 2 + time;", 3.0);
  expect("Real w(start = 5); Boolean p = w > 0; equation (if p then w else -w) = 2 + time;", 3.0);
  expect("Real w(start = 5), s(start = 0, fixed = true); equation der(s) = w; abs(w) = 2 + time;", 3.0);
  EXPECT_EQ(run_of("Real w(start = 5); equation abs(w) = 2 + time;", 1.0).status().message, "");
}

TEST(Guesses, ARootOnTheOtherSideOfZeroIsSaid) {
  const Trajectory run = run_of("Real w(start = 5); equation w^3 = -8 - time;", 1.0);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "w"), -2.0, 1e-6);
  EXPECT_NE(run.status().message.find("w = -2 (start value 5)"), std::string::npos) << run.status().message;
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

}  // namespace
}  // namespace saltus
