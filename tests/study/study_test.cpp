// What a study keeps of its members, and that a member is the same however the study is run.
#include "study/models.hpp"

#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <thread>

namespace saltus {
namespace {

using testing::bits;
constexpr double pi = std::numbers::pi;

std::string refusal(const Model& model, const StudyPlan& plan, const StudyOptions& options = {}) {
  try {
    run_study(model, plan, options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// Heaters that switch at 21 and at 19.5, each in a part of its own: events in parts have no values of variables. The
// first one is at the time at which T = E + (20 - E) exp(-0.3 t) with E = 3 + 10/0.3 reaches 21.
TEST(Collectors, CountEventsInPartsOfLargeModels) {
  Model m("thermostats");
  const Expr loss = m.parameter("loss", 0.3);
  for (int i = 0; i < 250; ++i) {
    const std::string number = std::to_string(i);
    const Expr T = m.variable("T" + number, 20.0, {.fixed = true});
    const Expr on = m.discrete("on" + number, 1.0), n = m.discrete("n" + number, 0.0);
    m.equation(der(T) == 10.0 * on - (loss + 0.001 * i) * (T - 3.0));
    m.when(T > 21.0).assign(on, 0.0).assign(n, m.pre(n) + 1.0);
    m.when(T < 19.5).assign(on, 1.0);
  }
  const double limit = 3.0 + 10.0 / 0.3, first = -std::log((21.0 - limit) / (20.0 - limit)) / 0.3;
  for (const std::int64_t local_events_from : {-1, 0}) {
    SCOPED_TRACE(local_events_from);
    StudyPlan plan{.axes = {{"loss", 0.3, 0.31, 2}},
                   .simulate = {.stop = 3.0, .rtol = 1e-9, .atol = 1e-9, .local_events_from = local_events_from},
                   .collect = {{Collect::count, "n0"}, {Collect::first, "n0"}, {Collect::final_value, "n0"}}};
    const StudyResult result = run_study(m, plan);
    EXPECT_GT(result.values("final(n0)").front(), 3.0);
    EXPECT_EQ(result.values("count(n0)"), result.values("final(n0)"));
    EXPECT_NEAR(result.values("first(n0)").front(), first, 1e-7);
    plan.sampling = {.at = SampleAt::section, .variable = "n0", .transient = 1, .keep = 2};
    plan.collect = {{Collect::sample, "T0"}};
    for (const double T : run_study(m, plan).values("T0")) EXPECT_NEAR(T, 21.0, 1e-7);
  }
}

// x = exp(-a t) on [0, 2]: extrema at the ends, mean (1 - exp(-2a))/(2a). The tolerance of the run is 1e-9; the mean of
// an error is not larger than the error.
TEST(Collectors, AgreeWithExactValuesOfASmoothRun) {
  const StudyResult result = run_study(
      testing::decay(),
      {.axes = {{"a", 0.5, 2.0, 4}},
       .simulate = {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9},
       .collect = {
           {Collect::final_value, "x"}, {Collect::minimum, "x"}, {Collect::maximum, "y"}, {Collect::mean, "x"}}});
  const auto a = result.values("a"), last = result.values("final(x)"), low = result.values("min(x)"),
             high = result.values("max(y)"), mean = result.values("mean(x)"), t = result.values("t_end");
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_NEAR(last[k], std::exp(-2.0 * a[k]), 3e-8);
    EXPECT_NEAR(low[k], last[k], 1e-9);
    EXPECT_NEAR(high[k] / std::exp(2.0 * a[k]), 1.0, 1e-6);
    EXPECT_NEAR(mean[k], (1.0 - std::exp(-2.0 * a[k])) / (2.0 * a[k]), 3e-8);
    EXPECT_EQ(t[k], 2.0);
  }
  EXPECT_TRUE(result.finished());
  EXPECT_EQ(result.count_by_status(), (std::vector<std::pair<int, std::int64_t>>{{0, 4}}));
}

/// x = sin t in phase space, with counters of its rising and falling zeros.
Model oscillator() {
  Model m("oscillator");
  const Expr w = m.parameter("w", 1.0);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 1.0, {.fixed = true});
  const Expr power = m.variable("power"), size = m.variable("size");
  m.equation(der(x) == w * v);
  m.equation(der(v) == -w * x);
  m.equation(power == x * x);
  m.equation(size == abs(x));
  count_crossings(m, x > 0.0, "rising");
  count_crossings(m, v < 0.0, "tops");
  return m;
}

// Extrema lie between steps; the mean of sin^2 over whole periods is 1/2, of |sin| 2/pi. Kinks are events.
TEST(Collectors, SeeWhatHappensBetweenSteps) {
  const StudyResult result = run_study(oscillator(), {.axes = {{"w", 1.0, 3.0, 3}},
                                                      .simulate = {.stop = 4.0 * pi, .rtol = 1e-9, .atol = 1e-9},
                                                      .collect = {{Collect::maximum, "x"},
                                                                  {Collect::minimum, "x"},
                                                                  {Collect::mean, "power"},
                                                                  {Collect::mean, "size"},
                                                                  {Collect::count, "tops"},
                                                                  {Collect::first, "tops"}}});
  for (std::size_t k = 0; k < 3; ++k) {
    const double w = 1.0 + static_cast<double>(k);
    EXPECT_NEAR(result.values("max(x)")[k], 1.0, 1e-7);
    EXPECT_NEAR(result.values("min(x)")[k], -1.0, 1e-7);
    EXPECT_NEAR(result.values("mean(power)")[k], 0.5, 1e-7);
    EXPECT_NEAR(result.values("mean(size)")[k], 2.0 / pi, 1e-7);
    EXPECT_EQ(result.values("count(tops)")[k], 2.0 * w);
    EXPECT_NEAR(result.values("first(tops)")[k], 0.5 * pi / w, 1e-7);
  }
}

TEST(Collectors, LookAtThePartAfterATime) {
  const StudyResult result = run_study(
      oscillator(),
      {.simulate = {.stop = 3.0 * pi, .rtol = 1e-9, .atol = 1e-9},
       .collect_after = pi,
       .collect = {{Collect::mean, "x"}, {Collect::count, "tops"}, {Collect::first, "tops"}, {Collect::maximum, "v"}}});
  EXPECT_NEAR(result.values("mean(x)").at(0), 0.0, 1e-7);
  EXPECT_EQ(result.values("count(tops)").at(0), 1.0);
  EXPECT_NEAR(result.values("first(tops)").at(0), 2.5 * pi, 1e-7);
  EXPECT_NEAR(result.values("max(v)").at(0), 1.0, 1e-7);
}

TEST(Sections, KeepTheValuesAtCrossingsAndEndTheRun) {
  const StudyResult result =
      run_study(oscillator(), {.axes = {{"w", 1.0, 2.0, 2}},
                               .simulate = {.stop = 100.0, .rtol = 1e-9, .atol = 1e-9},
                               .sampling = {.at = SampleAt::section, .variable = "tops", .transient = 2, .keep = 3},
                               .collect = {{Collect::sample, "x"}, {Collect::period, "x"}, {Collect::mean, "power"}}});
  const auto x = result.values("x");
  ASSERT_EQ(x.size(), 6u);
  for (const double value : x) EXPECT_NEAR(value, 1.0, 1e-7);
  EXPECT_NEAR(result.values("t_end").at(1), (0.5 * pi + 8.0 * pi) / 2.0, 1e-6);
  EXPECT_EQ(result.values("kept"), (std::vector<double>{3.0, 3.0}));
  EXPECT_EQ(result.values("period(x)"), (std::vector<double>{1.0, 1.0}));
  EXPECT_NEAR(result.values("mean(power)").at(0), 0.5, 1e-7);
}

TEST(Sections, EndAtTheStopTimeAndSayHowManySamplesThereAre) {
  const StudyResult result =
      run_study(oscillator(), {.simulate = {.stop = 6.0, .rtol = 1e-9, .atol = 1e-9},
                               .sampling = {.at = SampleAt::section, .variable = "tops", .transient = 0, .keep = 3},
                               .collect = {{Collect::sample, "x"}, {Collect::period, "x"}}});
  EXPECT_EQ(result.values("kept").at(0), 1.0);
  EXPECT_NEAR(result.values("x").at(0), 1.0, 1e-7);
  EXPECT_TRUE(std::isnan(result.values("x").at(1)));
  EXPECT_EQ(result.values("period(x)").at(0), 0.0);
  EXPECT_EQ(result.values("t_end").at(0), 6.0);
}

// A ball that falls on the ground: at the section of impacts the values are those after them.
TEST(Sections, AtAnImpactHaveTheValuesAfterIt) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(h) == v);
  m.equation(der(v) == -2.0);
  m.when(h < 0.0).reset(v, -0.5 * v);
  count_crossings(m, h < 0.0, "impacts");
  const StudyResult result = run_study(m, {.simulate = {.stop = 5.0, .rtol = 1e-9, .atol = 1e-9},
                                           .sampling = {.at = SampleAt::section, .variable = "impacts", .keep = 3},
                                           .collect = {{Collect::sample, "v"}}});
  const auto v_after = result.values("v");
  EXPECT_NEAR(v_after.at(0), 1.0, 1e-7);
  EXPECT_NEAR(v_after.at(1), 0.5, 1e-7);
  EXPECT_NEAR(v_after.at(2), 0.25, 1e-7);
}

TEST(Periods, AreSampledWithTheValuesOfTheRunItself) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(50);
  const Study study(m, plan);
  const StudyResult result = run_study(study, {.threads = 2});
  EXPECT_EQ(result.members(), 100);
  const auto x = result.values("x"), vmax = result.values("max(v)"), omega = result.values("omega"),
             e = result.values("e"), steps = result.values("steps"), events = result.values("events");
  for (std::size_t k = 0; k < 100; ++k) {  // against single runs, one by one
    const double T = 6.283185307179586 / omega[k];
    const Trajectory single = simulate(CompiledModel(m).with_values({{"omega", omega[k]}, {"e", e[k]}}),
                                       {.stop = 9.0 * T, .rtol = 1e-6, .atol = 1e-6});
    ASSERT_TRUE(single.status().ok());
    EXPECT_EQ(static_cast<double>(single.statistics().events), events[k]);
    EXPECT_EQ(static_cast<double>(single.statistics().steps), steps[k]);
    for (std::size_t s = 0; s < 4; ++s) {
      const double t = s == 3 ? 9.0 * T : static_cast<double>(6 + s) * T;
      EXPECT_EQ(x[4 * k + s], single.at(t, "x"));
    }
    for (double t = 5.0 * T; t <= 9.0 * T; t += 0.01) EXPECT_LE(single.at(t, "v"), vmax[k] + 1e-9);
  }
  const Trajectory again = study.run_member(37);
  EXPECT_EQ(again.final()[again.index("x")], x[4 * 37 + 3]);
}

/// Runs the members of a block in a random order, by itself.
class ShuffledExecutor final : public StudyExecutor {
 public:
  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    std::vector<std::int64_t> units(static_cast<std::size_t>(block.count / study.unit_size()));
    std::iota(units.begin(), units.end(), block.first / study.unit_size());
    std::ranges::shuffle(units, std::mt19937(5));
    for (const std::int64_t unit : units) {
      auto failed = study.run_unit(unit, block.first, result.columns, monitor.stop());
      if (!failed) return false;
      result.failures.insert(result.failures.end(), failed->begin(), failed->end());
    }
    std::ranges::sort(result.failures, {}, &MemberFailure::index);
    return true;
  }
};

TEST(Bits, AreTheSameForAnyNumberOfThreadsAnyOrderAndAnySizeOfBlocks) {
  StudyPlan friction{.axes = {{"r", 0.5, 6.0, 60}},
                     .simulate = {.stop = 60.0},
                     .sampling = {.at = SampleAt::period, .period = 6.0, .transient = 2, .keep = 4},
                     .collect = {{Collect::sample, "v"}, {Collect::mean, "x"}}};
  for (const auto& [model, plan] : {std::pair{testing::impact_oscillator(), testing::impact_plan(40)},
                                    std::pair{testing::dry_friction(), friction}}) {
    const auto expected = bits(run_study(model, plan, {.threads = 1}));
    EXPECT_EQ(bits(run_study(model, plan, {.threads = 2, .block = 7})), expected);
    EXPECT_EQ(bits(run_study(model, plan, {.threads = 8, .block = 32})), expected);
    EXPECT_EQ(bits(run_study(model, plan, {.block = 16, .executor = std::make_shared<ShuffledExecutor>()})), expected);
  }
}

TEST(Members, ThatFailLeaveTheirNeighboursAlone) {
  Model m("trouble");
  const Expr a = m.parameter("a", 1.0);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y");
  m.equation(der(x) == a * x * x);   // x = 1/(1 - a t): infinite at 1/a
  m.equation(y == 1.0 / (a - 3.0));  // divides by zero for a = 3
  const StudyPlan plan{.axes = {{"a", -1.0, 4.0, 6}},
                       .simulate = {.stop = 0.6, .max_steps = 20'000},
                       .collect = {{Collect::final_value, "x"}, {Collect::mean, "x"}}};
  const StudyResult result = run_study(m, plan);
  const auto status = result.values("status"), x_end = result.values("final(x)");
  for (std::size_t k = 0; k < 6; ++k) {
    const double value = -1.0 + static_cast<double>(k);
    const bool fine = value <= 1.0;
    EXPECT_EQ(member_ok(static_cast<int>(status[k])), fine) << value << " " << status[k];
    EXPECT_EQ(std::isnan(x_end[k]), !fine);
    if (!fine) continue;
    EXPECT_NEAR(x_end[k], 1.0 / (1.0 - 0.6 * value), 1e-4);
  }
  const auto failures = result.failures(10);
  ASSERT_EQ(failures.size(), 3u);
  EXPECT_EQ(failures[0].index, 3);
  EXPECT_FALSE(failures[0].message.empty());
  const Study study(m, plan);
  EXPECT_FALSE(study.run_member(3).status().ok());
}

// 10^12 events: the limit of steps ends it. The clock does so too.
TEST(Members, ThatDoNotEndHaveAStatus) {
  Model m("endless");
  const Expr w = m.parameter("w", 1.0), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 1.0);
  m.equation(der(x) == w * v);
  m.equation(der(v) == -w * x);
  const std::vector<Axis> axes{{.name = "w", .spacing = Spacing::list, .values = {1.0, 1e9, 2.0}}};
  const StudyResult by_steps = run_study(
      m, {.axes = axes, .simulate = {.stop = 10.0, .max_steps = 1000}, .collect = {{Collect::final_value, "x"}}});
  EXPECT_EQ(by_steps.values("status"),
            (std::vector<double>{0.0, static_cast<double>(StatusCode::too_many_steps), 0.0}));
  const StudyResult by_clock = run_study(m, {.axes = axes,
                                             .simulate = {.stop = 10.0, .max_steps = 1'000'000'000},
                                             .collect = {{Collect::final_value, "x"}},
                                             .member_seconds = 0.5});
  EXPECT_EQ(by_clock.values("status"), (std::vector<double>{0.0, member_out_of_time, 0.0}));
  EXPECT_NE(by_clock.failures(1).at(0).message.find("not ended after 0.5 s"), std::string::npos);
}

TEST(Members, WhoseValuesTheModelRefusesHaveAStatus) {
  Model m("integer");
  const Expr n = m.parameter("n", 1.0, {.type = VariableType::integer}), x = m.variable("x", 0.0);
  m.equation(der(x) == n);
  const StudyResult result = run_study(m, {.axes = {{"n", 1.0, 2.0, 3}}, .collect = {{Collect::final_value, "x"}}});
  EXPECT_EQ(result.values("status"), (std::vector<double>{0.0, member_refused, 0.0}));
}

TEST(Studies, SayWhatIsWrongWithAPlan) {
  const Model m = oscillator();
  EXPECT_NE(refusal(m, {.axes = {{"ww", 0.0, 1.0, 2}}}).find("did you mean 'w'?"), std::string::npos);
  EXPECT_NE(refusal(m, {.collect = {{Collect::maximum, "xx"}}}).find("did you mean 'x'?"), std::string::npos);
  EXPECT_NE(refusal(m, {.collect = {{Collect::sample, "x"}}}).find("needs samples"), std::string::npos);
  EXPECT_NE(refusal(m, {.collect = {{Collect::mean, "x", "a/b"}}}).find("cannot be the name"), std::string::npos);
  EXPECT_NE(refusal(m, {.collect = {{Collect::mean, "x"}, {Collect::mean, "x"}}}).find("two results"),
            std::string::npos);
  EXPECT_NE(refusal(m, {.simulate = {.stop = -1.0}}).find("forwards"), std::string::npos);
  EXPECT_NE(refusal(m, {.sampling = {.at = SampleAt::period, .keep = 2}}).find("period of 0"), std::string::npos);
  EXPECT_NE(refusal(m, {}, {.shard = 1, .shards = 2}).find("name one"), std::string::npos);
}

TEST(Studies, StopWhenTheyAreAsked) {
  StudyPlan plan = testing::impact_plan(500);
  const StudyResult result = run_study(testing::impact_oscillator(), plan,
                                       {.block = 10, .progress = [](const StudyProgress& p) { return p.done < 30; }});
  EXPECT_FALSE(result.finished());
  EXPECT_EQ(result.count_by_status().back().first, member_not_run);
}

/// Duffing's oscillator with two resonances between two folds: which one is met depends on the direction.
Model duffing() {
  Model m("duffing");
  const Expr w = m.parameter("w", 1.0);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true}), T = m.variable("T");
  m.equation(der(x) == v);
  m.equation(der(v) == 0.3 * cos(w * m.time()) - 0.1 * v - x - x * x * x);
  m.equation(T == 6.283185307179586 / w);
  return m;
}

// The upper branch is met on the way up until its fold, the lower one on the way down: at w = 1.7 both are stable.
TEST(Following, ShowsHysteresis) {
  const StudyPlan plan{.axes = {{"w", 1.0, 2.6, 33}},
                       .sampling = {.at = SampleAt::period, .variable = "T", .transient = 40, .keep = 2},
                       .collect = {{Collect::maximum, "x"}},
                       .follow = Follow::both};
  const StudyResult result = run_study(duffing(), plan, {.threads = 2});
  ASSERT_EQ(result.members(), 66);
  const auto top = result.values("max(x)"), direction = result.values("direction"), w = result.values("w");
  const std::size_t at = 14;
  EXPECT_NEAR(w[at], 1.7, 1e-12);
  EXPECT_EQ(w[at + 33], w[at]);
  EXPECT_EQ(direction[at], 1.0);
  EXPECT_EQ(direction[at + 33], -1.0);
  EXPECT_GT(top[at], 2.0 * top[at + 33]);  // two branches
  EXPECT_NEAR(top[0], top[33], 1e-2);      // one before the folds,
  EXPECT_NEAR(top[32], top[65], 1e-2);     // one behind them
  const auto expected = bits(result);
  EXPECT_EQ(bits(run_study(duffing(), plan, {.threads = 1, .block = 1})), expected);
  const Study study(duffing(), plan);
  const Trajectory again = study.run_member(at);  // goes through the members before it
  double high = 0.0;
  for (double t = again.t_end() * 40.0 / 42.0; t < again.t_end(); t += 0.01) high = std::max(high, again.at(t, "x"));
  EXPECT_NEAR(high, top[at], 1e-3);
}

TEST(Following, IsRefusedWhereInitialEquationsDecideTheStart) {
  Model m = duffing();
  m.initial_equation(m.symbol("x") == 0.0);
  EXPECT_NE(refusal(m, {.axes = {{"w", 1.0, 2.0, 3}}, .follow = Follow::up}).find("initial equations"),
            std::string::npos);
}

// x'' = x - x^3 - 0.3 x': two wells. Which one is reached depends on the start; both are points.
TEST(Attractors, AreNumberedInOrderOfTheirFirstMember) {
  Model m("wells");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == x - x * x * x - 0.5 * v);
  StudyResult result = run_study(m, {.axes = {{"x", -1.2, 1.2, 4}},
                                     .sampling = {.at = SampleAt::period, .period = 1.0, .transient = 80, .keep = 4},
                                     .collect = {{Collect::sample, "x"}, {Collect::sample, "v"}}});
  EXPECT_EQ(find_attractors(result), 2);
  EXPECT_EQ(result.values("attractor"), (std::vector<double>{1.0, 1.0, 2.0, 2.0}));
  EXPECT_EQ(result.values("x(start)").front(), -1.2);
}

// Without a solution the search for a start takes half a minute; the others of the block have theirs.
TEST(Studies, TimeLimitsHoldInsideTheSearchForAStart) {
  constexpr int n = 40;
  Model m("hard");
  const Expr b = m.parameter("b", 1.0), z = m.variable("z", 0.0, {.fixed = true});
  std::vector<Expr> x;
  Expr sum = 0.0;
  for (int k = 0; k < n; ++k) {
    x.push_back(m.variable("x" + std::to_string(k), 0.1));
    sum = sum + x.back();
  }
  m.equation(der(z) == sum);
  for (int k = 0; k < n; ++k)
    m.equation(x[k] * x[k] + 0.3 / n * x[k] * sum + x[(k + 1) % n] * x[(k + 1) % n] + b == 0.0);
  const StudyPlan plan{.axes = {{.name = "b", .spacing = Spacing::list, .values = {-1.0, 1.0, -2.0}}},
                       .collect = {{Collect::final_value, "z"}},
                       .member_seconds = 0.2};
  const auto began = std::chrono::steady_clock::now();
  const StudyResult result = run_study(m, plan, {.threads = 1});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  EXPECT_LT(passed.count(), 10.0);
  EXPECT_EQ(result.values("status"), (std::vector<double>{0.0, member_out_of_time, 0.0}));
  const auto failures = result.failures(2);
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_NE(failures.front().message.find("searching for consistent values"), std::string::npos)
      << failures.front().message;
  EXPECT_TRUE(std::isnan(result.values("final(z)").at(1)));
}

// One step with Newton's method takes many evaluations of a slow function.
TEST(Studies, TimeLimitsHoldInsideOfAStep) {
  Model m("slow");
  const Expr a = m.parameter("a", 0.0), x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 1.0);
  const auto slow = std::make_shared<ExternalFunction>(ExternalFunction{
      .name = "slow", .inputs = 2, .outputs = 1, .values = [](std::span<const double> in, std::span<double> out) {
        if (in[1] == 1.0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        out[0] = in[0] + 0.1 * std::sin(in[0]);
      }});
  const std::vector<Expr> arguments{y, a};
  m.equation(der(x) == -y);
  m.equation(call(slow, arguments)[0] == x);
  const StudyPlan plan{.axes = {{"a", 0.0, 2.0, 3}},
                       .simulate = {.stop = 100.0, .method = Method::radau},
                       .collect = {{Collect::final_value, "x"}},
                       .member_seconds = 0.5};
  const auto began = std::chrono::steady_clock::now();
  const StudyResult result = run_study(m, plan, {.threads = 1});
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began;
  EXPECT_LT(passed.count(), 10.0);
  EXPECT_EQ(result.values("status"), (std::vector<double>{0.0, member_out_of_time, 0.0}));
}

}  // namespace
}  // namespace saltus
