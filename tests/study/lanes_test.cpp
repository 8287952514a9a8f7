// Members in lanes: they agree with full runs event by event, nothing of threads, blocks and neighbours shows in their
// bits, and what is not known is run in full.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>

#include "flight/first_crossing.hpp"
#include "random_cases.hpp"
#include "study/models.hpp"

namespace saltus {
namespace {

using testing::bits;

StudyResult run_as(const Model& model, StudyPlan plan, MemberPath path, const StudyOptions& options = {}) {
  plan.path = path;
  return run_study(model, plan, options);
}

std::int64_t flown(const StudyResult& result) {
  const std::vector<double> path = result.values("path");
  return std::count(path.begin(), path.end(), 1.0);
}

/// Expects the same results within a tolerance, and the same events.
void expect_agreement(const StudyResult& full, const StudyResult& lanes, double tolerance) {
  EXPECT_EQ(full.values("events"), lanes.values("events"));
  EXPECT_EQ(full.values("status"), lanes.values("status"));
  for (const StudyArray& array : full.arrays()) {
    if (array.name == "steps" || array.name == "path") continue;
    const std::vector<double> a = full.values(array.name), b = lanes.values(array.name);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (std::isnan(a[k]) && std::isnan(b[k])) continue;
      ASSERT_NEAR(a[k], b[k], tolerance * (1.0 + std::abs(a[k]))) << array.name << " " << k;
    }
  }
}

/// A converter with a band: a switch that a clause turns, and whose turns are counted.
Model converter() {
  Model m("converter");
  const Expr band = m.parameter("band", 0.4), load = m.parameter("load", 20.0);
  const Expr i = m.variable("i", 0.0, {.fixed = true}), u = m.variable("u", 0.0, {.fixed = true});
  const Expr on = m.discrete("on", 1.0), turns = m.discrete("turns", 0.0), power = m.variable("power");
  m.equation(der(i) == (24.0 * on - u) / 0.02);
  m.equation(der(u) == (i - u / load) / 47e-6);
  m.equation(power == u * i);
  m.when(u > 11.0 + band).assign(on, 0.0).assign(turns, m.pre(turns) + 1.0);
  m.when(u < 11.0).assign(on, 1.0);
  return m;
}

/// A plant with a controller that is sampled, and a set value that steps.
Model sampled_controller() {
  Model m("sampled");
  const Expr gain = m.parameter("gain", 1.5);
  const Expr x = m.variable("x", 1.0, {.fixed = true});
  const Expr held = m.discrete("held", 0.0), count = m.discrete("count", 0.0);
  m.equation(der(x) == -0.3 * x + held + if_else(m.time() > 2.25, Expr(0.5), Expr(0.0)));
  m.when(m.sample(0.0, 0.1)).assign(held, -gain * x).assign(count, m.pre(count) + 1.0);
  return m;
}

StudyPlan band_plan(std::int64_t members) {
  return {.axes = {{"band", 0.1, 0.6, members}},
          .simulate = {.stop = 0.05, .rtol = 1e-7, .atol = 1e-7},
          .collect = {{Collect::final_value, "power"},
                      {Collect::count, "turns"},
                      {Collect::first, "turns"},
                      {Collect::maximum, "power"},
                      {Collect::mean, "power"}}};
}

// Both runs are within some tolerances of the solution; events bring both of them back (impacts with loss), or their
// errors grow with the number of events.
TEST(Lanes, ImpactsAgreeWithFullRunsEventByEvent) {
  StudyPlan plan = testing::impact_plan(80);
  plan.sampling.transient = 40;
  plan.collect = {{Collect::sample, "x"},  {Collect::final_value, "v"}, {Collect::period, "x"},
                  {Collect::maximum, "v"}, {Collect::minimum, "x"},     {Collect::mean, "x"}};
  const Model model = testing::impact_oscillator();
  const StudyResult full = run_as(model, plan, MemberPath::full), lanes = run_as(model, plan, MemberPath::lanes);
  EXPECT_EQ(flown(full), 0);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(full, lanes, 1e-4);
}

TEST(Lanes, SticksAndSlipsAgreeWithFullRunsEventByEvent) {
  const StudyPlan plan{.axes = {{"r", 1.0, 5.0, 100}},
                       .simulate = {.stop = 200.0, .rtol = 1e-7, .atol = 1e-7},
                       .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}};
  const Model model = testing::dry_friction();
  const StudyResult lanes = run_as(model, plan, MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(run_as(model, plan, MemberPath::full), lanes, 1e-5);
}

TEST(Lanes, ClausesCountersAndEliminatedVariablesAgreeWithFullRuns) {
  const StudyResult lanes = run_as(converter(), band_plan(100), MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(run_as(converter(), band_plan(100), MemberPath::full), lanes, 1e-3);
  EXPECT_GT(lanes.values("count(turns)").front(), 10.0);
}

TEST(Lanes, AlgebraicEquationsAreSolvedInCode) {
  Model m("cubic");
  const Expr load = m.parameter("load", 0.1);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.9);
  m.equation(der(x) == -if_else(x > 0.2, y, 3.0 * y));
  m.equation(y + load * y * y * y == x + 0.5);
  const StudyPlan plan{.axes = {{"load", 0.05, 3.0, 70}},
                       .simulate = {.stop = 2.0, .rtol = 1e-8, .atol = 1e-8},
                       .collect = {{Collect::final_value, "x"}, {Collect::final_value, "y"}, {Collect::minimum, "y"}}};
  const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(run_as(m, plan, MemberPath::full), lanes, 1e-6);
  for (std::int64_t k = 0; k < lanes.members(); ++k) {
    const double c = 0.05 + 2.95 * static_cast<double>(k) / 69.0, x_end = lanes.values("final(x)")[k],
                 y_end = lanes.values("final(y)")[k];
    EXPECT_NEAR(y_end + c * y_end * y_end * y_end, x_end + 0.5, 1e-12);
  }
}

// The polynomial of z need not show what its equation does: such guards are left to full runs, which prove them.
TEST(Lanes, PulsesOfAlgebraicVariablesAreNotMissed) {
  Model m("pulse");
  const Expr c = m.parameter("c", 0.4);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true}),
             z = m.variable("z", 0.0);
  const Expr far = (x - c) / 1e-3;
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(z > 0.5, Expr(1.0), Expr(0.0)));
  m.equation(z + 0.1 * z * z * z == exp(-far * far));
  const StudyPlan plan{
      .axes = {{"c", 0.2, 0.8, 64}}, .simulate = {.stop = 1.0}, .collect = {{Collect::final_value, "y"}}};
  const std::vector<std::string> why = obstacles_to_lanes(Study(m, plan));
  ASSERT_FALSE(why.empty());
  EXPECT_NE(why.front().find("short pulses"), std::string::npos) << why.front();
  const double width = 2e-3 * std::sqrt(-std::log(0.5 + 0.1 * 0.125));  // where the right side exceeds its value at 0.5
  for (const double y_end : run_as(m, plan, MemberPath::lanes).values("final(y)")) EXPECT_NEAR(y_end, width, 1e-5);
}

// Modes with constraints have code, too: hidden constraints hold at the end, and the impulse of the rod is right.
TEST(Lanes, PendulumsOfIndexThreeAgreeWithFullRuns) {
  const StudyPlan plan{.axes = {{"restitution", 0.7, 0.99, 70}},
                       .simulate = {.stop = 4.0, .rtol = 1e-8, .atol = 1e-8},
                       .collect = {{Collect::final_value, "x"},
                                   {Collect::final_value, "y"},
                                   {Collect::final_value, "u"},
                                   {Collect::final_value, "v"},
                                   {Collect::final_value, "force"},
                                   {Collect::maximum, "force"},
                                   {Collect::count, "impacts"}}};
  const StudyResult lanes = run_as(testing::pendulum_at_a_wall(), plan, MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(run_as(testing::pendulum_at_a_wall(), plan, MemberPath::full), lanes, 1e-5);
  const std::vector<double> x = lanes.values("final(x)"), y = lanes.values("final(y)"), u = lanes.values("final(u)"),
                            v = lanes.values("final(v)");
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_NEAR(x[k] * x[k] + y[k] * y[k], 1.0, 1e-13);
    EXPECT_NEAR(x[k] * u[k] + y[k] * v[k], 0.0, 1e-13);
  }
}

// After a reset of a position the constraints do not say which speed stays: the loop decides, and lanes leave it to it.
TEST(Lanes, ResetsOfPositionsOnConstraintsAgreeWithFullRuns) {
  Model m = testing::pendulum_at_a_wall();
  const Expr x = m.symbol("x"), v = m.symbol("v"), turns = m.discrete("turns", 0.0);
  m.when(v > 0.5).reset(x, 0.8 * x).assign(turns, m.pre(turns) + 1.0);
  const StudyPlan plan{.axes = {{"restitution", 0.7, 0.99, 64}},
                       .simulate = {.stop = 2.0, .rtol = 1e-8, .atol = 1e-8},
                       .collect = {{Collect::final_value, "x"},
                                   {Collect::final_value, "u"},
                                   {Collect::final_value, "v"},
                                   {Collect::count, "turns"}}};
  const StudyResult full = run_as(m, plan, MemberPath::full);
  EXPECT_GT(full.values("count(turns)").front(), 0.0);
  expect_agreement(full, run_as(m, plan, MemberPath::lanes), 1e-5);
}

TEST(Lanes, SamplesAndStepsOfTimeAgreeWithFullRuns) {
  const StudyPlan plan{.axes = {{"gain", 0.5, 2.5, 70}},
                       .simulate = {.stop = 5.05, .rtol = 1e-7, .atol = 1e-7},
                       .collect = {{Collect::final_value, "x"}, {Collect::final_value, "count"}}};
  const StudyResult lanes = run_as(sampled_controller(), plan, MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  expect_agreement(run_as(sampled_controller(), plan, MemberPath::full), lanes, 1e-5);
  EXPECT_EQ(lanes.values("final(count)").front(), 51.0);
}

TEST(Lanes, SectionsAgreeWithFullRuns) {
  Model model = testing::impact_oscillator();
  const Expr x = model.data().variables[0], v = model.data().variables[1];
  count_crossings(model, v > 0.0, "turns");
  const StudyPlan plan{.axes = {{"omega", 0.6, 1.4, 90}},
                       .simulate = {.stop = 400.0, .rtol = 1e-7, .atol = 1e-7},
                       .sampling = {.at = SampleAt::section, .variable = "turns", .transient = 10, .keep = 5},
                       .collect = {{Collect::sample, "x"}}};
  const StudyResult lanes = run_as(model, plan, MemberPath::lanes);
  EXPECT_GT(flown(lanes), 80);
  expect_agreement(run_as(model, plan, MemberPath::full), lanes, 1e-5);
}

TEST(Lanes, HaveTheSameBitsForAnyThreadsBlocksAndShards) {
  const Model model = testing::dry_friction();
  const StudyPlan plan{.axes = {{"F", 0.2, 0.6, 7}, {"r", 1.0, 5.0, 30}},
                       .simulate = {.stop = 60.0, .rtol = 1e-6, .atol = 1e-6},
                       .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}};
  const auto expected = bits(run_as(model, plan, MemberPath::lanes, {.threads = 1}));
  for (const int threads : {2, 8})
    EXPECT_EQ(bits(run_as(model, plan, MemberPath::lanes, {.threads = threads})), expected);
  for (const std::int64_t block : {1, 13, 100})
    EXPECT_EQ(bits(run_as(model, plan, MemberPath::lanes, {.threads = 2, .block = block})), expected);
  const auto folder = std::filesystem::temp_directory_path() / "saltus_lanes_shards.zarr";
  std::filesystem::remove_all(folder);
  for (const std::int64_t shard : {1, 0, 2})
    run_as(model, plan, MemberPath::lanes, {.store = folder, .threads = 1, .block = 20, .shard = shard, .shards = 3});
  EXPECT_EQ(bits(StudyResult::open(folder)), expected);
  std::filesystem::remove_all(folder);
}

// The bits of a member do not depend on who flies beside it: the same member among others, in another order.
TEST(Lanes, MembersDoNotSeeTheirNeighbours) {
  std::mt19937_64 dice(3);
  StudyPlan plan{.simulate = {.stop = 40.0, .rtol = 1e-6, .atol = 1e-6},
                 .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}};
  plan.table.names = {"F", "r"};
  for (int k = 0; k < 97; ++k) plan.table.rows.push_back({0.2 + 0.004 * k, 1.0 + 0.03 * k});
  const Model model = testing::dry_friction();
  const StudyResult sorted = run_as(model, plan, MemberPath::lanes);
  std::vector<std::size_t> order(plan.table.rows.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin() + 1, order.end() - 1, dice);  // the first and the last are scouts
  StudyPlan shuffled = plan;
  for (std::size_t k = 0; k < order.size(); ++k) shuffled.table.rows[k] = plan.table.rows[order[k]];
  const StudyResult other = run_as(model, shuffled, MemberPath::lanes);
  for (const char* name : {"final(x)", "final(v)", "steps", "events"})
    for (std::size_t k = 0; k < order.size(); ++k)
      EXPECT_EQ(sorted.values(name)[order[k]], other.values(name)[k]) << name;
}

TEST(Lanes, MembersThatFailOrMeetTheUnknownAreRunInFull) {
  Model m("roots");  // h = (1 - k t / 2)^2 ends where it is zero, which k > 2 reaches in time
  const Expr k = m.parameter("k", 1.0);
  const Expr h = m.variable("h", 1.0, {.fixed = true});
  m.equation(der(h) == -k * sqrt(h));
  const StudyPlan plan{.axes = {{"k", 0.1, 3.0, 80}},
                       .simulate = {.stop = 1.0, .rtol = 1e-7, .atol = 1e-7},
                       .collect = {{Collect::final_value, "h"}}};
  const StudyResult full = run_as(m, plan, MemberPath::full), lanes = run_as(m, plan, MemberPath::lanes);
  EXPECT_EQ(full.values("status"), lanes.values("status"));
  const std::vector<double> path = lanes.values("path"), status = lanes.values("status"),
                            value = lanes.values("final(h)");
  for (std::size_t i = 0; i < path.size(); ++i) {
    EXPECT_EQ(path[i], status[i] == 0.0 ? 1.0 : 0.0) << i;
    const double root = 1.0 - 0.5 * lanes.values("k")[i];
    if (status[i] == 0.0) {
      EXPECT_NEAR(value[i], root * root, 1e-6);
    }
  }
  ASSERT_EQ(lanes.failures(100).size(), full.failures(100).size());
  EXPECT_EQ(lanes.failures(1).front().message, full.failures(1).front().message);
}

// A ball that bounces for ever shorter times: events that accumulate are not followed to their end in lanes.
TEST(Lanes, AccumulatingEventsAreRunInFull) {
  Model m("ball");
  const Expr e = m.parameter("e", 0.8);
  const Expr h = m.variable("h", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(h) == v);
  m.equation(der(v) == Expr(-9.81));
  m.when(h < 0.0).reset(v, -e * v);
  const StudyPlan plan{.axes = {{"e", 0.3, 1.0, 71}},
                       .simulate = {.stop = 5.0, .rtol = 1e-7, .atol = 1e-7},
                       .collect = {{Collect::final_value, "h"}}};
  const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
  EXPECT_GT(flown(lanes), 5);
  EXPECT_LT(flown(lanes), 60);
  expect_agreement(run_as(m, plan, MemberPath::full), lanes, 1e-5);
}

TEST(Lanes, SayWhatIsInTheWay) {
  StudyPlan plan = band_plan(100);
  EXPECT_TRUE(obstacles_to_lanes(Study(converter(), plan)).empty());
  plan.simulate.method = Method::radau;
  const std::vector<std::string> reasons = obstacles_to_lanes(Study(converter(), plan));
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0], "the method is neither auto nor dopri5");
  Model implicit("implicit");
  const Expr x = implicit.variable("x", 1.0, {.fixed = true});
  implicit.equation(der(x) + 0.1 * der(x) * der(x) * der(x) == -x);
  const StudyPlan sweep{.axes = {{"x", 0.5, 2.0, 70}}, .collect = {{Collect::final_value, "x"}}};
  const auto why = obstacles_to_lanes(Study(implicit, sweep));
  ASSERT_FALSE(why.empty());
  EXPECT_NE(why.front().find("derivatives occur nonlinearly"), std::string::npos) << why.front();
  // nothing is lost: such members are run in full
  expect_agreement(run_as(implicit, sweep, MemberPath::full), run_as(implicit, sweep, MemberPath::lanes), 0.0);
}

/// x' = 1, and a guard that is above its threshold for a short time near x = c.
StudyResult pulses(const std::function<Expr(const Expr&)>& guard, MemberPath path) {
  Model m("pulse");
  const Expr c = m.parameter("c", 0.5), x = m.variable("x", 0.0, {.fixed = true}), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(guard(x - c) > 0.5).assign(n, m.pre(n) + 1.0);
  return run_as(m,
                {.axes = {{"c", 0.1013, 9.917, 400}},
                 .simulate = {.stop = 10.0},
                 .collect = {{Collect::final_value, "n"}, {Collect::count, "n"}}},
                path);
}

// The search for crossings is a proof, so no pulse is too short. Members run in lanes where the guard has bounds.
TEST(Lanes, ShortPulsesOfNonlinearGuardsAreNotMissed) {
  const std::vector<double> all(400, 1.0);
  const std::function<Expr(const Expr&)> guards[] = {
      [](const Expr& d) { return exp(-4e4 * d * d); },
      [](const Expr& d) { return 1.0 - 4e4 * d * d; },
      [](const Expr& d) { return 1.0 / (1.0 + 1e6 * d * d); },
      [](const Expr& d) { return 1.0 - tanh(3e2 * d) * tanh(3e2 * d); },
      [](const Expr& d) { return 1.0 - abs(1e3 * d); },
      [](const Expr& d) { return exp(-2e3 * sqrt(1e-9 + d * d)); },
      [](const Expr& d) { return pow(cos(0.15 * d), Expr(2e6)); },
  };
  for (std::size_t k = 0; k < std::size(guards); ++k) {
    const StudyResult lanes = pulses(guards[k], MemberPath::lanes);
    EXPECT_EQ(flown(lanes), k < 6 ? 400 : 0) << "guard " << k;  // the last one has no bounds
    EXPECT_EQ(lanes.values("final(n)"), all) << "guard " << k;
    EXPECT_EQ(lanes.values("count(n)"), all) << "guard " << k;
  }
}

// Of half-widths from 8e-2 to 2.6e-6, in runs of length 10.
TEST(Lanes, PulsesOfAnySharpnessAreFound) {
  Model m("pulse");
  const Expr c = m.parameter("c", 0.5), s = m.parameter("s", 5.0);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(exp(-exp(s) * (x - c) * (x - c)) > 0.5).assign(n, m.pre(n) + 1.0);
  const std::int64_t places = random_cases(40);
  const StudyPlan plan{.axes = {{"c", 0.1013, 9.817, places}, {"s", std::log(1e2), std::log(1e11), 41}},
                       .simulate = {.stop = 10.0},
                       .collect = {{Collect::count, "n"}}};
  const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
  EXPECT_EQ(flown(lanes), lanes.members());
  EXPECT_EQ(lanes.values("count(n)"), std::vector<double>(static_cast<std::size_t>(lanes.members()), 1.0));
}

// An oscillator with a wall, whose impacts accumulate in some periods: no member is ever beyond its wall.
TEST(Lanes, NoMemberPassesItsWall) {
  Model m("wall");
  const Expr e = m.parameter("e", 0.541), wall = m.parameter("wall", 0.097), hits = m.discrete("hits", 0.0);
  const Expr x = m.variable("x", 0.5, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.2 * v + 2.227 * cos(2.813 * m.time()));
  m.when(x < -wall).reset(v, -e * v).assign(hits, m.pre(hits) + 1.0);
  const StudyPlan plan{.axes = {{"e", 0.441, 0.641, 9}, {"wall", 0.057, 0.137, 9}},
                       .simulate = {.stop = 100.0, .rtol = 1e-8, .atol = 1e-8},
                       .collect = {{Collect::minimum, "x"}, {Collect::count, "hits"}}};
  const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
  const std::vector<double> least = lanes.values("min(x)"), place = lanes.values("wall");
  for (std::size_t k = 0; k < least.size(); ++k) EXPECT_NEAR(least[k], -place[k], 1e-6) << k;
}

// A guard that lanes can bound stays in lanes, through crossings of its own.
TEST(Lanes, BoundedGuardsAreFollowedThroughTheirCrossings) {
  Model m("circle");
  const Expr r = m.parameter("r", 0.5), n = m.discrete("n", 0.0);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true});
  m.equation(der(x) == y);
  m.equation(der(y) == -4.0 * x);
  m.when(x * x > r).assign(n, m.pre(n) + 1.0);
  const StudyPlan plan{.axes = {{"r", 0.2, 0.9, 100}},
                       .simulate = {.stop = 20.0, .rtol = 1e-7, .atol = 1e-7},
                       .collect = {{Collect::final_value, "x"}, {Collect::final_value, "n"}}};
  const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
  EXPECT_GT(flown(lanes), 90);
  expect_agreement(run_as(m, plan, MemberPath::full), lanes, 1e-4);
}

TEST(Lanes, AGuardWithoutBoundsIsNamed) {
  Model m("unbounded");
  const Expr a = m.parameter("a", 0.5), x = m.variable("x", 0.0, {.fixed = true}), n = m.discrete("n", 0.0);
  m.equation(der(x) == 1.0);
  m.when(asin(0.09 * x) > a).assign(n, m.pre(n) + 1.0);
  const StudyPlan plan{.axes = {{"a", 0.1, 0.8, 70}}, .simulate = {.stop = 10.0}, .collect = {{Collect::count, "n"}}};
  const std::vector<std::string> why = obstacles_to_lanes(Study(m, plan));
  ASSERT_FALSE(why.empty());
  EXPECT_NE(why.front().find("is neither affine nor bounded along a step"), std::string::npos) << why.front();
  EXPECT_EQ(run_as(m, plan, MemberPath::lanes).values("count(n)"), std::vector<double>(70, 1.0));
}

// Random relays with clauses, resets and thresholds: full runs and lanes decide alike at every event.
TEST(LanesProperty, RandomModelsAgreeWithFullRuns) {
  const int cases = random_cases(25), first = random_seed();
  std::int64_t in_lanes = 0, all = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 dice(static_cast<std::uint64_t>(seed));
    const auto number = [&](double from, double to) {
      return std::round(4.0 * std::uniform_real_distribution<double>(from, to)(dice)) / 4.0 + 0.01;
    };
    const auto chance = [&](double p) { return std::bernoulli_distribution(p)(dice); };
    Model m("random");
    const Expr x = m.variable("x", 0.3, {.fixed = true}), y = m.variable("y", -0.4, {.fixed = true});
    const Expr n = m.discrete("n", 0.0), d = m.discrete("d", 0.25);
    const Expr a = chance(0.5) ? x + number(-1, 1) * y : x, b = y - number(-1, 1);
    const auto relay = [&](const Expr& g) { return if_else(g > 0.0, Expr(number(-3, 1)), Expr(number(-1, 3))); };
    const Expr force = chance(0.5) ? sin(number(1, 3) * m.time()) : Expr(number(-1, 1));
    m.equation(der(x) == number(-1, 1) * y + relay(a) + d);
    m.equation(der(y) == number(-1, 1) * x + relay(b) + force + (chance(0.5) ? relay(a) : Expr(0.0)));
    m.when(a > 0.0).assign(n, m.pre(n) + 1.0);
    if (chance(0.5)) m.when(b < 0.0).assign(d, Expr(number(-1, 1)));
    if (chance(0.4)) m.when(x > 1.5).reset(x, Expr(number(-1, 1)));
    if (chance(0.4)) m.when(m.time() > number(1, 3)).assign(d, -d);
    StudyPlan plan{.axes = {{"x", -1.513, 1.4171, 64}},
                   .simulate = {.stop = 5.0, .rtol = 1e-8, .atol = 1e-8, .max_steps = 20000},
                   .collect = {{Collect::final_value, "x"}, {Collect::final_value, "y"}, {Collect::final_value, "n"}}};
    const StudyResult lanes = run_as(m, plan, MemberPath::lanes);
    in_lanes += flown(lanes);
    all += lanes.members();
    expect_agreement(run_as(m, plan, MemberPath::full), lanes, 1e-4);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  record_models(cases);
  EXPECT_GT(in_lanes, all / 2);
}

// The sum of a polynomial and its derivative's sign changes are known from its roots.
TEST(FirstCrossing, IsTheFirstRootFromPlusToMinus) {
  std::mt19937_64 dice(7);
  std::uniform_real_distribution<double> unit(-0.3, 1.3);
  int found = 0;
  for (int round = 0; round < 5000; ++round) {
    const int degree = 4 + 4 * (round % 2);
    std::vector<double> roots(static_cast<std::size_t>(degree - 1));
    for (double& r : roots) r = unit(dice);
    std::ranges::sort(roots);
    bool near = std::abs(roots.front()) < 1e-2;
    for (std::size_t k = 0; k < roots.size(); ++k)
      near = near || std::abs(roots[k]) < 1e-2 || std::abs(roots[k] - 1.0) < 1e-2 ||
             (k > 0 && roots[k] - roots[k - 1] < 1e-2);
    if (near) continue;
    const auto value = [&](double u) {
      double product = 1.0;
      for (const double r : roots) product *= u - r;
      return product;
    };
    const double sign = value(0.0) > 0.0 ? 1.0 : -1.0;
    // Bernstein coefficients of a product of (u - r) = (-r) (1-u) + (1 - r) u, raised by one degree with 1
    std::vector<double> b{sign};
    for (std::size_t k = 0; k <= roots.size(); ++k) {
      const double left = k < roots.size() ? -roots[k] : 1.0, right = k < roots.size() ? 1.0 - roots[k] : 1.0;
      std::vector<double> next(b.size() + 1, 0.0);
      const double m = static_cast<double>(b.size());
      for (std::size_t i = 0; i < b.size(); ++i) {
        next[i] += (m - static_cast<double>(i)) / m * left * b[i];
        next[i + 1] += static_cast<double>(i + 1) / m * right * b[i];
      }
      b = next;
    }
    ASSERT_EQ(b.size(), static_cast<std::size_t>(degree) + 1);
    const auto inside = std::ranges::find_if(roots, [](double r) { return r > 0.0; });
    const double expected = inside != roots.end() && *inside < 1.0 ? *inside : no_crossing;
    const double u = first_crossing(b.data(), degree, 1e-15);
    ASSERT_NEAR(u, expected, 1e-9) << "round " << round;
    found += expected < 1.0;
  }
  EXPECT_GT(found, 1000);
}

// a u - b u^2 in Bernstein form: a ball in a step that is much longer than its flight.
TEST(FirstCrossing, IsExactInLongSteps) {
  for (const int degree : {2, 4, 9, 14})
    for (const double u : {0.3, 1e-3, 1e-6, 1e-9}) {
      std::vector<double> b;
      for (int i = 0; i <= degree; ++i)
        b.push_back(u * i / degree - static_cast<double>(i * (i - 1)) / (degree * (degree - 1)));
      EXPECT_NEAR(first_crossing(b.data(), degree, 1e-300), u, 1e-14 * u) << degree << " " << u;
    }
}

TEST(FirstCrossing, OfATouchIsNone) {
  const auto lifted = [](double by) {  // (u - 1/2)^2 + by: its second coefficient is negative although it may not be
    return std::vector<double>{0.25 + by, by, by - 1.0 / 12.0, by, 0.25 + by};
  };
  EXPECT_EQ(first_crossing(lifted(1e-3).data(), 4, 1e-15), no_crossing);
  EXPECT_EQ(first_crossing(lifted(1e-9).data(), 4, 1e-15), no_crossing);
  EXPECT_NEAR(first_crossing(lifted(-1e-3).data(), 4, 1e-15), 0.5 - std::sqrt(1e-3), 1e-12);
}

}  // namespace
}  // namespace saltus
