// Models in which nothing has to be integrated: discrete variables, clauses, time events, and outputs that follow from them.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <set>

#include "suites/every_method.hpp"

namespace saltus {
namespace {

const std::vector<Method> all_methods = suite::every_method();

Model counter() {
  Model m("counter");
  const Expr n = m.discrete("n", 0.0);
  m.when(m.sample(0.0, 0.1)).assign(n, n + 1.0);
  return m;
}

TEST(DiscreteModel, ACounterCountsAtExactTimesWithEveryMethod) {
  for (const Method method : all_methods) {
    const Trajectory run = simulate(counter(), {.stop = 1.05, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.variables().size(), 1u);
    EXPECT_EQ(run.variables()[0].name, "n");
    ASSERT_EQ(run.events().size(), 11u) << to_string(method);
    for (int k = 1; k <= 10; ++k) {
      const Event& e = run.events()[static_cast<std::size_t>(k)];
      EXPECT_EQ(e.t, k * 0.1);
      EXPECT_EQ(e.kind, EventKind::time);
      EXPECT_EQ(e.before, (std::vector<double>{1.0 * k}));
      EXPECT_EQ(e.after, (std::vector<double>{k + 1.0}));
      EXPECT_EQ(run.before(k * 0.1)[0], k);
      EXPECT_EQ(run.at(k * 0.1, "n"), k + 1);
    }
    EXPECT_EQ(run.final(), (std::vector<double>{11.0}));
    EXPECT_EQ(run.status().culprits, std::vector<std::string>{});
  }
}

TEST(DiscreteModel, OutputsOfDiscreteValuesAreComputedWithEveryMethod) {
  for (const Method method : all_methods) {
    Model m = counter();
    const Expr y = m.variable("y"), z = m.variable("z");
    m.equation(y == if_else(m.symbol("n") > 2.0, Expr(1.0), Expr(0.0)));
    m.equation(z == 2.0 * y + if_else(m.time() > 0.55, Expr(10.0), Expr(0.0)));
    const Trajectory run = simulate(m, {.stop = 1.0, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
    EXPECT_EQ(run.at(0.15, "y"), 0.0);
    EXPECT_EQ(run.at(0.25, "y"), 1.0);
    EXPECT_EQ(run.at(0.25, "z"), 2.0);
    EXPECT_EQ(run.before(0.55)[run.index("z")], 2.0);
    EXPECT_EQ(run.at(0.55, "z"), 12.0);
  }
}

TEST(DiscreteModel, AClauseAloneIsAModel) {
  Model m("alarm");
  m.when(m.time() > 0.5).terminate("it is time");
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::terminated);
  EXPECT_EQ(run.t_end(), 0.5);
  EXPECT_TRUE(run.variables().empty());
  EXPECT_TRUE(run.at(0.25).empty());
  EXPECT_EQ(run.sample(4).t.size(), 6u);  // both sides of the last event
}

TEST(DiscreteModel, AssertionsAreChecked) {
  Model m = counter();
  m.assertion(m.symbol("n") < 5.0, "five is too many");
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::assertion_failed);
  EXPECT_EQ(run.status().t, 0.4);
  EXPECT_EQ(run.status().message.find("nothing"), std::string::npos);
}

// sin t > 1/2 from pi/6 to 5 pi/6, again each period; its guard is no time event, so the location has the accuracy of the search.
TEST(DiscreteModel, GuardsInTimeAreFoundHoweverLongTheSteps) {
  for (const Method method : all_methods) {
    Model m("wave");
    const Expr n = m.discrete("n", 0.0);
    m.when(sin(m.time()) > 0.5).assign(n, n + 1.0);
    const Trajectory run = simulate(m, {.stop = 500.0, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.events().size(), 160u) << to_string(method);
    for (std::size_t k = 0; k < run.events().size(); ++k) {
      const double period = 2.0 * std::numbers::pi * static_cast<double>(k / 2);
      EXPECT_NEAR(run.events()[k].t, period + (k % 2 == 0 ? 1.0 : 5.0) * std::numbers::pi / 6.0, 1e-11);
    }
    EXPECT_EQ(run.final()[0], 80.0);
  }
}

TEST(DiscreteModel, RunsBackward) {
  for (const Method method : all_methods) {
    Model m("steps");
    const Expr n = m.discrete("n", 3.0), y = m.variable("y");
    m.equation(y == floor(4.0 * m.time()));
    m.when(m.time() < 0.7).assign(n, n - 1.0);
    m.when(m.time() < 0.3).assign(n, n - 1.0);
    const Trajectory run = simulate(m, {.start = 1.1, .stop = 0.1, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    EXPECT_EQ(run.at(0.9, "y"), 3.0);
    EXPECT_EQ(run.at(0.8, "n"), 3.0);
    EXPECT_EQ(run.at(0.5, "n"), 2.0);
    EXPECT_EQ(run.final()[run.index("y")], 0.0);
    EXPECT_EQ(run.final()[run.index("n")], 1.0);
    std::vector<double> times;
    for (const Event& e : run.events()) times.push_back(e.t);
    EXPECT_EQ(times, (std::vector<double>{1.0, 0.75, 0.7, 0.5, 0.3, 0.25}));
  }
}

TEST(DiscreteModel, CanBeRunStepByStep) {
  Simulator run(std::make_shared<CompiledModel>(counter()), {.stop = 1.0});
  EXPECT_TRUE(run.advance_to(0.25));
  EXPECT_EQ(run.t(), 0.25);
  EXPECT_EQ(run.values(), (std::vector<double>{3.0}));
  EXPECT_TRUE(run.advance_to(0.5));  // 5*0.1 exactly
  EXPECT_EQ(run.values(), (std::vector<double>{6.0}));
  EXPECT_TRUE(run.advance_to(0.95));
  EXPECT_EQ(run.values(), (std::vector<double>{10.0}));
  run.run();
  EXPECT_TRUE(run.status().ok());
  EXPECT_EQ(run.values(), (std::vector<double>{11.0}));
}

TEST(DiscreteModel, ExplicitModesWithoutEquationsAreAnAutomaton) {
  Model m("traffic light");
  const Expr since = m.discrete("since", 0.0), turns = m.discrete("turns", 0.0);
  auto red = m.mode("red"), green = m.mode("green");
  red.transition(m.time() >= since + 3.0).to(green).assign(since, m.time());
  green.transition(m.time() >= since + 2.0).to(red).assign(since, m.time()).assign(turns, turns + 1.0);
  const Trajectory run = simulate(m, {.stop = 21.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  std::vector<double> times;
  for (const Event& e : run.events()) times.push_back(e.t);
  EXPECT_EQ(times, (std::vector<double>{3, 5, 8, 10, 13, 15, 18, 20}));
  EXPECT_EQ(run.final()[run.index("turns")], 4.0);
}

// Clocks against a list of their ticks start + k interval, which the programs may compute with one rounding error less.
TEST(DiscreteModel, ClocksTickAsAListOfTimesDoes) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 50; ++trial) {
    Model m("clocks");
    const Expr last = m.discrete("last", 0.0);
    std::set<double> times;
    std::vector<int> ticks;
    const int clocks = std::uniform_int_distribution(1, 4)(random);
    for (int c = 0; c < clocks; ++c) {
      const double start = std::uniform_real_distribution(0.01, 1.0)(random), interval = std::uniform_real_distribution(0.05, 0.7)(random);
      const Expr n = m.discrete("n" + std::to_string(c), 0.0);
      m.when(m.sample(start, interval)).assign(n, n + 1.0);
      int count = 0;
      for (; start + count * interval <= 5.0; ++count) times.insert(start + count * interval);
      ticks.push_back(count);
    }
    const Trajectory run = simulate(m, {.stop = 5.0});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    std::vector<double> found;
    for (const Event& e : run.events()) found.push_back(e.t);
    ASSERT_EQ(found.size(), times.size());
    std::size_t next = 0;
    for (const double tick : times) EXPECT_NEAR(found[next++], tick, tick * std::numeric_limits<double>::epsilon());
    for (int c = 0; c < clocks; ++c) EXPECT_EQ(run.final()[static_cast<std::size_t>(c) + 1], ticks[static_cast<std::size_t>(c)]);
  }
}

/// The times at which a clock ticks.
std::vector<double> ticks(double offset, double interval, double start, double stop) {
  Model m("clock");
  const Expr x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.sample(offset, interval)).assign(n, m.pre(n) + 1.0).record();
  const Trajectory run = simulate(m, {.start = start, .stop = stop});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  std::vector<double> times;
  for (const Event& e : run.events()) times.push_back(e.t);
  EXPECT_EQ(run.final()[1], static_cast<double>(times.size()));  // no events but these
  return times;
}

TEST(DiscreteModel, AClockTicksAtItsTimesWhereverTheRunStarts) {
  EXPECT_EQ(ticks(0.0, 0.5, 0.25, 2.25), (std::vector{0.5, 1.0, 1.5, 2.0}));
  EXPECT_EQ(ticks(0.0, 0.5, 0.5, 2.0), (std::vector{0.5, 1.0, 1.5, 2.0}));
  EXPECT_EQ(ticks(0.0, 0.5, 0.0, 1.25), (std::vector{0.0, 0.5, 1.0}));
  EXPECT_EQ(ticks(0.0, 0.5, -0.75, 0.75), (std::vector{0.0, 0.5}));
  EXPECT_EQ(ticks(-2.0, 0.5, -1.1, 0.75), (std::vector{-1.0, -0.5, 0.0, 0.5}));
  EXPECT_EQ(ticks(-2.0, 0.5, 1.0, 2.0), (std::vector{1.0, 1.5, 2.0}));
  EXPECT_EQ(ticks(5.0, 0.5, 0.0, 4.9), (std::vector<double>{}));
  EXPECT_EQ(ticks(1000.25, 0.5, 2000.5, 2002.0), (std::vector{2000.75, 2001.25, 2001.75}));
  EXPECT_EQ(ticks(0.0, 0.1, 0.1 * 3.0, 0.45), (std::vector{0.1 * 3.0, 0.4}));  // rounding errors decide nothing
  EXPECT_EQ(ticks(0.0, 0.1, 0.3, 0.45), (std::vector{0.3, 0.4}));
}

TEST(DiscreteModel, AClockTicksBackwardsToo) {
  EXPECT_EQ(ticks(0.0, 0.5, 2.25, 0.25), (std::vector{2.0, 1.5, 1.0, 0.5}));
  EXPECT_EQ(ticks(0.0, 0.5, 2.0, 0.5), (std::vector{2.0, 1.5, 1.0, 0.5}));
  EXPECT_EQ(ticks(0.0, 0.5, 1.0, -3.0), (std::vector{1.0, 0.5, 0.0}));  // there are none before the first
  EXPECT_EQ(ticks(-1.0, 0.5, 0.25, -0.75), (std::vector{0.0, -0.5}));
  EXPECT_EQ(ticks(5.0, 0.5, 4.0, -8.0), (std::vector<double>{}));
}

TEST(DiscreteModel, OutputsThatMoveWithTimeAreStillFollowedBySteps) {
  Model m("root");
  const Expr y = m.variable("y");
  m.equation(y == sqrt(0.5 - m.time()));
  const Trajectory run = simulate(m, {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::not_finite);  // no NaN enters the result
  EXPECT_NEAR(run.t_end(), 0.5, 1e-6);
  EXPECT_FALSE(CompiledModel(m).stands_still());
  EXPECT_TRUE(CompiledModel(counter()).stands_still());
}

TEST(DiscreteModel, ModelicaStateMachine) {
  const ModelicaModel loaded = load_modelica(R"(model Machine
  type State = enumeration(idle, busy, done);
  State s(start = State.idle, fixed = true);
  Integer parts(start = 0, fixed = true);
  Boolean full;
  discrete Real since(start = 0, fixed = true);
equation
  full = parts >= 3;
  when {time >= pre(since) + 0.25, sample(0.1, 1.0)} then
    s = if pre(s) == State.idle then State.busy elseif pre(s) == State.busy then State.done else State.idle;
    parts = pre(parts) + (if pre(s) == State.busy then 1 else 0);
    since = time;
  end when;
  when full then
    terminate("three parts are enough");
  end when;
end Machine;
)",
                                             "machine.mo");
  const Trajectory run = simulate(loaded.model, {.stop = 10.0});
  EXPECT_EQ(run.status().code, StatusCode::terminated) << run.status().message;
  // the timer starts again at each sample: 0.1, 0.35, 0.6, 0.85, 1.1 (both), 1.35, 1.6, 1.85, 2.1, …; every third change makes a part
  double t = 0.1;
  for (int change = 1; change < 8; ++change) t = change == 4 ? 1.1 : t + 0.25;
  EXPECT_NEAR(run.t_end(), t, 1e-14);
  EXPECT_EQ(run.final()[run.index("parts")], 3.0);
  EXPECT_EQ(run.final()[run.index("full")], 1.0);
}

}  // namespace
}  // namespace saltus
