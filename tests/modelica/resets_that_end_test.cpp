// Resets that end: plastic impacts, stops that are left again, bodies that rest on each other, what infinitely many
// resets leave of other variables, and impulses that friction or a contact cannot carry.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"
#include "run_helpers.hpp"

namespace saltus {
namespace {

// x = 1 - g t^2 / 2 until sqrt(2/g); a restitution of 1e-9 is the same within 1e-9.
TEST(ResetsThatEnd, APlasticImpactIsAContact) {
  const std::string fall = "Real x(start=1,fixed=true), v(start=0,fixed=true); equation der(x)=v; der(v)=-9.81; ";
  for (const char* clause :
       {"when x < 0 then reinit(v, 0); end when;", "when x <= 0 then reinit(v, 0); end when;",
        "when not x >= 0 then reinit(v, 0*pre(v)); end when;", "when -1e7*x > 0 then reinit(v, 0); end when;",
        "when x < 0 then reinit(v, -1e-9*pre(v)); end when;"})
    for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::taylor}) {
      SCOPED_TRACE(std::string(clause) + " by " + std::string(to_string(method)));
      const Trajectory run = run_model(fall + clause, 2.0, 1e-6, method);
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NEAR(run.at(2.0, "x"), 0.0, 1e-9);
      EXPECT_NEAR(run.at(2.0, "v"), 0.0, 1e-9);
      EXPECT_GE(lowest(run, "x"), -1e-9);
    }
}

// A Boolean between the relation and the clause must not matter.
TEST(ResetsThatEnd, APlasticImpactByABooleanIsAContact) {
  const Trajectory run = run_model(
      "Real x(start=1,fixed=true), v(start=0,fixed=true); Boolean below; equation der(x)=v; der(v)=-9.81; below = x < "
      "0; when below then reinit(v, 0); end when;",
      2.0);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(2.0, "x"), 0.0, 1e-9);
}

// s = -5 t + 10 t^2 reaches -0.4 at 0.1; from rest there the same force moves it on: s(1) = -0.4 + 10 0.9^2 = 7.7.
TEST(ResetsThatEnd, AStopThatTheForceLeavesIsLeft) {
  const std::string motion =
      "Real s(start=0,fixed=true), v(start=-5,fixed=true); Boolean stopped; Real z(start = 1, "
      "fixed = true); equation der(s)=v; der(v)=20; der(z) = 0; ";
  for (const char* clause : {"stopped = s <= -0.4; when stopped then reinit(v, 0); end when;",
                             "stopped = s < -0.4; when stopped then reinit(v, 0); end when;",
                             "stopped = not s > -0.4; when stopped then reinit(v, 0); end when;",
                             "stopped = s <= -0.4; when s <= -0.4 then reinit(v, 0); end when;",
                             "stopped = s <= -0.4; when stopped then reinit(v, 0); end when; when not stopped then "
                             "reinit(z, 0); end when;"}) {
    SCOPED_TRACE(clause);
    const Trajectory run = run_model(motion + clause, 1.0);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(1.0, "s"), 7.7, 1e-5);
    EXPECT_NEAR(run.at(0.5, "s"), -0.4 + 10.0 * 0.16, 1e-5);
    EXPECT_EQ(run.at(1.0, "stopped"), 0.0);
  }
}

// Infinitely many impacts take all of the spin away, also where few of them can be resolved.
TEST(ResetsThatEnd, WhatEachOfInfinitelyManyResetsReducesVanishes) {
  for (const double restitution : {0.9, 0.7, 0.3, 0.01, 1e-5}) {
    SCOPED_TRACE(restitution);
    const Trajectory run = run_model(
        "Real h(start=1,fixed=true), v(start=0,fixed=true), w(start=3,fixed=true), "
        "u(start=1,fixed=true); equation der(h)=v; der(v)=-9.81; der(w)=-w; der(u)=1; when "
        "h < 0 then reinit(v, -" +
            std::to_string(restitution) + "*pre(v)); reinit(w, 0.98*pre(w)); end when;",
        12.0);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(12.0, "w"), 0.0, 1e-6);
    EXPECT_NEAR(run.at(12.0, "h"), 0.0, 1e-6);
    EXPECT_NEAR(run.at(12.0, "u"), 13.0, 1e-5);
  }
}

// A variable that grows by one at each reset has no limit: the run says so.
TEST(ResetsThatEnd, WithoutALimitTheRunEndsWithAMessage) {
  const Trajectory run = run_model(
      "Real h(start=1,fixed=true), v(start=0,fixed=true), c(start=0,fixed=true); equation der(h)=v; der(v)=-9.81; "
      "der(c)=0; when h < 0 then reinit(v, -0.5*pre(v)); reinit(c, pre(c) + 1); end when;",
      5.0);
  EXPECT_EQ(run.status().code, StatusCode::zeno);
  EXPECT_NE(run.status().message.find("'c'"), std::string::npos) << run.status().message;
}

/// Bodies above each other under gravity, with the floor at 0: at rest body i lies at height i.
std::string stack(const std::vector<double>& heights, const std::vector<double>& masses,
                  const std::vector<double>& restitutions) {
  std::string declare, equations, clauses;
  const auto text = [](double value) { return std::to_string(value); };
  for (std::size_t i = 0; i < heights.size(); ++i) {
    const std::string x = "x" + std::to_string(i), v = "v" + std::to_string(i);
    declare += "Real " + x + "(start=" + text(heights[i]) + ",fixed=true), " + v + "(start=0,fixed=true); ";
    equations += "der(" + x + ")=" + v + "; der(" + v + ")=-1; ";
    if (i == 0) {
      clauses += "when x0 < 0 then reinit(v0, -" + text(restitutions[0]) + "*pre(v0)); end when; ";
      continue;
    }
    const std::string below = "x" + std::to_string(i - 1), u = "v" + std::to_string(i - 1);
    const double sum = masses[i] + masses[i - 1], impulse = 1.0 + restitutions[i];
    const std::string closing = "(pre(" + v + ")-pre(" + u + "))";
    clauses += "when " + x + " < " + below + " + 1 then reinit(" + u + ", pre(" + u + ") + " +
               text(impulse * masses[i] / sum) + "*" + closing + "); reinit(" + v + ", pre(" + v + ") - " +
               text(impulse * masses[i - 1] / sum) + "*" + closing + "); end when; ";
  }
  return declare + "equation " + equations + clauses;
}

TEST(ResetsThatEnd, BodiesComeToRestOnEachOther) {
  for (const double floor : {0.5, 0.0, 0.2})
    for (const double between : {0.5, 0.0, 0.3})
      for (const double mass : {1.0, 2.0, 0.5})
        for (const double height : {2.0, 1.0, 1.7}) {
          SCOPED_TRACE(std::to_string(floor) + " " + std::to_string(between) + " " + std::to_string(mass) + " " +
                       std::to_string(height));
          const Trajectory run = run_model(stack({0.0, height}, {1.0, mass}, {floor, between}), 30.0);
          if (!run.status().ok()) continue;  // refused by name: impacts at one instant that contradict each other
          EXPECT_NEAR(run.at(30.0, "x0"), 0.0, 1e-5);
          EXPECT_NEAR(run.at(30.0, "x1"), 1.0, 1e-5);
          EXPECT_GE(lowest(run, "x0"), -1e-6);
        }
}

/// Two to four bodies of any mass above each other, in flight or at rest, in any unit, with conditions written in
/// several ways. At rest body i lies at i units.
struct RandomStack {
  int bodies;
  double unit, tolerance;
  std::string text;
};

RandomStack random_stack(unsigned seed) {
  std::mt19937 draw(seed);
  const auto any = [&](double low, double high) {
    return low + (high - low) * (static_cast<double>(draw()) / 4294967296.0);
  };
  const auto one_of = [&](const std::vector<double>& values) { return values[draw() % values.size()]; };
  RandomStack result{.bodies = static_cast<int>(one_of({2, 2, 3, 3, 4})), .unit = one_of({1, 1, 1e3, 1e-3})};
  result.tolerance = one_of({1e-6, 1e-6, 1e-4, 1e-8});
  const double gravity = one_of({1, 1, 9.81});
  std::vector<std::string> declared, equations;
  const auto text = [](double value) { return fmt::format("{:.17g}", value); };
  double height = 0.0, v_below = 0.0, m_below = 0.0;
  for (int i = 0; i < result.bodies; ++i) {
    const double gap = one_of({0, 0, 0, 1, any(0.0, 2.0)}), m = one_of({1, 1, 2, 0.5, any(0.2, 3.0)}),
                 e = one_of({0, 0, 0.5, 0.3, any(0.0, 0.8)});
    double v0 = one_of({0, 0, 0, -1, any(-2.0, 2.0)});
    if (gap == 0.0) v0 = std::max(v0, v_below);  // no impact at the start itself
    height += gap;
    const std::string x = fmt::format("x{}", i), v = fmt::format("v{}", i), below = fmt::format("x{}", i - 1),
                      u = fmt::format("v{}", i - 1);
    declared.push_back(fmt::format("Real {}(start={},fixed=true), {}(start={},fixed=true);", x,
                                   text(height * result.unit), v, text(v0 * result.unit)));
    equations.push_back(fmt::format("der({})={};", x, v));
    equations.push_back(fmt::format("der({})=-{};", v, text(gravity * result.unit)));
    const std::string floor = i == 0 ? "0" : below + " + " + text(result.unit);
    const std::vector<std::string> spellings = {x + " < " + floor, floor + " > " + x, "not " + x + " >= " + floor,
                                                "3*(" + x + " - (" + floor + ")) < 0"};
    const std::string& condition = spellings[draw() % spellings.size()];
    if (i == 0) {
      equations.push_back("when " + condition + " then reinit(v0, -" + text(e) + "*pre(v0)); end when;");
    } else {
      const std::string closing = "(pre(" + v + ")-pre(" + u + "))";
      equations.push_back("when " + condition + " then reinit(" + u + ", pre(" + u + ")+" +
                          text((1 + e) * m / (m + m_below)) + "*" + closing + "); reinit(" + v + ", pre(" + v + ")-" +
                          text((1 + e) * m_below / (m + m_below)) + "*" + closing + "); end when;");
    }
    v_below = v0;
    m_below = m;
    height += 1.0;
  }
  std::ranges::shuffle(declared, draw);
  std::ranges::shuffle(equations, draw);
  for (const std::string& line : declared) result.text += line + " ";
  result.text += "equation ";
  for (const std::string& line : equations) result.text += line + " ";
  return result;
}

// Whatever its order of declaration and units, no stack falls through its floor or through itself, at any time. Some
// end with a message, where impacts at one instant give one body two speeds.
TEST(ResetsThatEnd, RandomStacksStandOrAreRefused) {
  const int count = random_cases(60), first = random_seed();
  int stands = 0;
  for (int seed = first; seed < first + count; ++seed) {
    const RandomStack stack = random_stack(static_cast<unsigned>(seed));
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, stack.text));
    const Trajectory run = simulate(load_text("model M " + stack.text + " end M;").model,
                                    {.stop = 60.0, .rtol = stack.tolerance, .atol = stack.tolerance * stack.unit});
    if (!run.status().ok()) {
      EXPECT_FALSE(run.status().message.empty());
      if (std::getenv("SALTUS_RANDOM_CASES")) std::printf("seed %d: %s\n", seed, run.status().message.c_str());
      continue;
    }
    ++stands;
    const double allowed = 300.0 * stack.tolerance;  // the errors of up to some hundred impacts
    for (int k = 0; k <= 600; ++k)
      for (int i = 0; i < stack.bodies; ++i) {
        const double t = 0.1 * k, below = i == 0 ? -stack.unit : run.at(t, fmt::format("x{}", i - 1));
        ASSERT_GE(run.at(t, fmt::format("x{}", i)) - below, (1.0 - allowed) * stack.unit) << "at " << t;
      }
    for (int i = 0; i < stack.bodies; ++i)
      EXPECT_NEAR(run.at(60.0, fmt::format("x{}", i)), i * stack.unit, allowed * stack.unit);
  }
  record_models(count);
  EXPECT_GE(stands, count * 3 / 4);
}

TEST(ResetsThatEnd, TwoBodiesWithHalfTheSpeedLeftRest) {
  const Trajectory run = run_model(stack({0.0, 2.0}, {1.0, 1.0}, {0.5, 0.5}), 30.0);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(30.0, "x0"), 0.0, 1e-6);
  EXPECT_NEAR(run.at(30.0, "x1"), 1.0, 1e-6);
}

// A floor that begins to sink faster than the body falls leaves it: h = 1 - g (t-1)^2 / 2 after t = 1.
TEST(ResetsThatEnd, AContactDoesNotPull) {
  const Trajectory run = run_model(
      "Real f(start=0,fixed=true), h(start=0,fixed=true), v(start=0,fixed=true); equation der(f) = if time > 1 then -3 "
      "else 0; der(h) = v; der(v) = -1; when h < f then reinit(v, der(f) - 0.5*(v - der(f))); end when;",
      2.0);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(2.0, "h"), -0.5, 1e-6);
  EXPECT_NEAR(run.at(2.0, "v"), -1.0, 1e-6);
}

}  // namespace
}  // namespace saltus
