// Limits that a clause writes by setting the variable back: `when x > L then reinit(x, L)`. The variable stays at its
// limit as long as its derivative points beyond. Answers by Skorokhod's reflection: with the free motion y,
// x(t) = y(t) - max(0, largest of y(s) - L(s) for s <= t).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"
#include "run_helpers.hpp"

namespace saltus {
namespace {

TEST(LimitsByResets, AVariableStaysAtTheLimitThatItsClauseSets) {
  const std::string falls = "Real v(start=1,fixed=true); Boolean out; equation der(v)=-1; out = v < 0; ";
  for (const char* clause :
       {"when v < 0 then reinit(v, 0); end when;", "when v <= 0 then reinit(v, 0); end when;",
        "when not v >= 0 then reinit(v, 0*pre(v)); end when;", "when -1e7*v > 0 then reinit(v, 0); end when;",
        "when 1e-7*v < 0 then reinit(v, 0); end when;", "when v < 0 then reinit(v, -0.5*v); end when;",
        "when out then reinit(v, 0); end when;", "when v < 0 and time > 0.5 then reinit(v, 0); end when;"})
    for (const Method method : {Method::automatic, Method::dopri5, Method::taylor, Method::radau, Method::rodas5p}) {
      SCOPED_TRACE(std::string(clause) + " by " + std::string(to_string(method)));
      const Trajectory run = run_model(falls + clause, 3.0, 1e-6, method);
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NEAR(run.at(0.5, "v"), 0.5, 1e-12);
      EXPECT_NEAR(run.at(3.0, "v"), 0.0, 1e-12);
      EXPECT_GE(lowest(run, "v"), -1e-12);
    }
}

// der(h) = 1 + sin(3 t) - 0.8 turns at sin(3 t) = -0.2.
TEST(LimitsByResets, TheVariableLeavesItsLimitWhereItsDerivativeTurns) {
  const Trajectory run = run_model(
      "Real h(start=0.9,fixed=true); equation der(h) = 0.2 + sin(3*time); when h > 1 then reinit(h, 1); end when;", 2.0,
      1e-8);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  const double leaves = (std::numbers::pi + std::asin(0.2)) / 3.0;
  EXPECT_NEAR(run.at(1.0, "h"), 1.0, 1e-9);
  EXPECT_NEAR(run.at(2.0, "h"), 1.0 + 0.2 * (2.0 - leaves) - (std::cos(6.0) - std::cos(3.0 * leaves)) / 3.0, 1e-7);
}

// In an implicit mode the force moves h alone: y' (2 + y^2) = q - 0.8 with and without it, so 2 y + y^3 / 3 is the
// integral of the right side.
TEST(LimitsByResets, AnImplicitModeKeepsTheLimit) {
  for (const Method method : {Method::automatic, Method::radau}) {
    const Trajectory run = run_model(
        "Real h(start=0.9,fixed=true), y(start=0,fixed=true); equation der(h) + der(y) = 0.2 + sin(3*time); der(h) = "
        "der(y)*(1+y^2); when h > 1 then reinit(h, 1); end when;",
        3.0, 1e-8, method);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(1.0, "h"), 1.0, 1e-9);
    for (const double t : {1.0, 2.0, 3.0}) {
      const double y = run.at(t, "y");
      EXPECT_NEAR(2.0 * y + y * y * y / 3.0, 0.2 * t + (1.0 - std::cos(3.0 * t)) / 3.0, 1e-6) << t;
    }
  }
}

TEST(LimitsByResets, TheLimitMayMoveAndJoinTwoVariables) {
  const Trajectory run = run_model(
      "Real x(start=0,fixed=true), y(start=0.5,fixed=true); Integer n(start=0,fixed=true); equation der(x)=1; "
      "der(y)=-0.25; when x + y > 1 + 0.5*time then reinit(x, 1 + 0.5*time - y); n = pre(n) + 1; end when;",
      6.0);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(1.5, "x"), 1.5, 1e-9);
  EXPECT_NEAR(run.at(6.0, "x"), 5.0, 1e-9);  // 1 + 0.5 t - y
}

// A clause that takes the variable only a part of the way back, or that changes something else, acts once.
TEST(LimitsByResets, OtherResetsLetTheVariablePass) {
  for (const char* clause :
       {"when x < 0 then reinit(y, 1); end when;", "when x < 0 then reinit(x, 0.5*x); end when;"}) {
    SCOPED_TRACE(clause);
    const Trajectory run = run_model(
        std::string("Real x(start=1,fixed=true), y(start=0,fixed=true); equation der(x)=-1; der(y)=0; ") + clause, 3.0);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(3.0, "x"), -2.0, 1e-9);
  }
}

// Free motions a + b sin(c t + d) + f t with one limit, by several spellings in several units.
TEST(LimitsByResets, RandomLimitsReflectTheFreeMotion) {
  const int count = random_cases(60), first = random_seed();
  record_models(count);
  for (int seed = first; seed < first + count; ++seed) {
    std::mt19937 draw(static_cast<unsigned>(seed));
    const auto any = [&](double low, double high) {
      return low + (high - low) * (static_cast<double>(draw()) / 4294967296.0);
    };
    const double unit = std::pow(10.0, static_cast<double>(draw() % 15) - 7.0), b = any(0.2, 2.0), c = any(0.5, 6.0),
                 d = any(0.0, 6.0), f = any(-0.5, 0.8), limit = any(0.1, 1.5),
                 drift = draw() % 2 ? any(-0.2, 0.2) : 0.0;
    const auto text = [](double value) { return fmt::format("({:.17g})", value); };
    const std::string bound = text(limit * unit) + " + " + text(drift * unit) + "*time";
    const std::vector<std::string> conditions = {
        "x > " + bound,
        "x >= " + bound,
        bound + " < x",
        "not x <= " + bound,
        "3*(x - (" + bound + ")) > 0",
        text(1.0 / unit) + "*x > " + text(limit) + " + " + text(drift) + "*time"};
    const std::string body = "Real x(start=0,fixed=true); equation der(x) = " + text(unit) + "*(" + text(b * c) +
                             "*cos(" + text(c) + "*time + " + text(d) + ") + " + text(f) + "); when " +
                             conditions[draw() % conditions.size()] + " then reinit(x, " + bound + "); end when;";
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, body));
    const double tolerance = 1e-10, stop = 6.0;
    const Trajectory run = simulate(load_text("model M " + body + " end M;").model,
                                    {.stop = stop, .rtol = tolerance, .atol = tolerance * unit});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    const auto beyond = [&](double t) { return b * (std::sin(c * t + d) - std::sin(d)) + f * t - (limit + drift * t); };
    double pushed = 0.0;
    constexpr int fine = 60000;  // the largest value between two of these times differs by b c^2 (1e-4)^2 / 8 < 1e-7
    for (int k = 0; k <= fine; ++k) {
      const double t = stop * k / fine;
      pushed = std::max(pushed, beyond(t));
      if (k % 500 != 0) continue;
      ASSERT_NEAR(run.at(t, "x"), (beyond(t) + limit + drift * t - pushed) * unit, 1e-6 * unit) << "at " << t;
    }
  }
}

}  // namespace
}  // namespace saltus
