// Programmes with solutions in closed form, what ends without one, and how wrong programmes are refused.
#include <gtest/gtest.h>
#include <saltus/optimise/optimise.hpp>

#include <cmath>
#include <functional>
#include <utility>

#include "optimise/gallery.hpp"

using namespace saltus;
using gallery::square;

namespace {

/// x'' = u from rest at zero, or with another speed.
Model cart(double speed = 0.0) {
  Model m("cart");
  const Expr u = m.input("u"), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", speed, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == u);
  return m;
}

Programme to_one(const Model& m, Control control) {
  Programme p;
  p.controls = {std::move(control)};
  p.minimise = integral(square(m.symbol("u")));
  p.end = {gallery::at_end("x", 1), gallery::at_end("v", 0)};
  return p;
}

Model ball() {
  Model m("ball");
  const Expr h = m.variable("h", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  const Expr e = m.parameter("e", 0.5), g = m.parameter("g", 9.81);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < 0.0).reset(v, -e * v);
  return m;
}

/// A block on a floor that holds it up to a force of one.
Model block() {
  Model m("block");
  const Expr u = m.input("u"), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == u - sign(v));
  return m;
}

const OptimiseOptions one_second{.simulate = {.stop = 1.0, .rtol = 1e-9, .atol = 1e-11}};

TEST(Programme, LeastEnergyWithConstantControls) {
  constexpr int intervals = 10;
  const Model m = cart();
  const Optimum best = optimise(m, to_one(m, {.input = "u", .intervals = intervals}), one_second);
  ASSERT_EQ(best.status, OptimumStatus::optimal) << best.message;
  EXPECT_NEAR(best.objective, 12.0 / (1.0 - 1.0 / (intervals * intervals)), 1e-8);
  EXPECT_LE(best.violation, 1e-8);
  ASSERT_EQ(best.controls.size(), 1U);
  EXPECT_EQ(best.controls[0].times.size(), 11U);
  EXPECT_NEAR(best.controls[0].times[3], 0.3, 1e-15);
}

TEST(Programme, LeastEnergyWithLines) {
  const Model m = cart();
  const Optimum best =
      optimise(m, to_one(m, {.input = "u", .intervals = 4, .curve = ControlCurve::linear}), one_second);
  ASSERT_EQ(best.status, OptimumStatus::optimal) << best.message;
  EXPECT_NEAR(best.objective, 12.0, 1e-8);
  for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(best.controls[0].values[k], 6.0 - 3.0 * static_cast<double>(k), 1e-5);
  // the multiplier of a condition is the derivative of the objective by its bound: 12 x^2
  EXPECT_NEAR(best.conditions[0].multiplier, 24.0, 1e-4);
}

/// The controls give the same run as inputs of the model itself.
TEST(Programme, ControlsAreInputs) {
  for (const ControlCurve curve : {ControlCurve::constant, ControlCurve::linear}) {
    const Model m = cart();
    const Optimum best = optimise(m, to_one(m, {.input = "u", .intervals = 7, .curve = curve}), one_second);
    SimulateOptions options = one_second.simulate;
    options.inputs = {{"u", best.controls[0].signal()}};
    const Trajectory run = simulate(m, options);
    EXPECT_NEAR(run.at(1.0, "x"), 1.0, 1e-7);
    EXPECT_NEAR(run.at(1.0, "v"), 0.0, 1e-7);
    EXPECT_NEAR(run.at(0.37, "x"), best.run->at(0.37, "x"), 1e-8);
  }
}

/// A bound of the position for all times: A. E. Bryson and Y.-C. Ho, Applied Optimal Control, section 3.11.
TEST(Programme, BoundOfAState) {
  const double l = 1.0 / 9.0;
  const Model m = cart(1.0);
  Programme p;
  p.controls = {{.input = "u",
                 .intervals = 3,
                 .curve = ControlCurve::linear,
                 .free_lengths = true,
                 .lower = -50,
                 .upper = 50,
                 .guess = {-4, -1, -1, -4}}};
  p.minimise = 0.5 * integral(square(m.symbol("u")));
  p.end = {gallery::at_end("x", 0), gallery::at_end("v", -1)};
  p.path = {{.value = m.symbol("x"), .upper = l, .label = "x"}};
  const Optimum best = optimise(m, p, one_second);
  EXPECT_TRUE(best.ok()) << best.message;
  EXPECT_NEAR(best.objective, 4.0 / (9.0 * l), 1e-4);
  for (double t = 0.0; t <= 1.0; t += 1e-3) EXPECT_LE(best.run->at(t, "x"), l + 1e-6);
}

/// From a guess with a cost of millions to one that is next to nothing.
TEST(Programme, SmallObjectivesAreFoundFromLargeOnes) {
  const Model m = cart();
  Programme p;
  p.controls = {{.input = "u", .intervals = 5, .lower = -1e4, .upper = 1e4, .guess = {5000}}};
  const Expr miss = m.symbol("x") - 1.0;
  p.minimise = final_value(square(miss)) + 1e-6 * integral(square(m.symbol("u")));
  const Optimum best = optimise(m, p, one_second);
  ASSERT_EQ(best.status, OptimumStatus::optimal) << best.message;
  // least effort for a final place y is 3 y^2 with any control, (3 + a) y^2 with five constant ones
  double h = 0.2, sum = 0.0;
  for (int k = 0; k < 5; ++k) sum += h * std::pow(1.0 - h * (k + 0.5), 2);
  const double effort = 1e-6 / sum;  // times y^2
  EXPECT_NEAR(best.objective, effort / (1.0 + effort), 1e-12);
}

/// A run that the model ends before its time: the end moves, and path conditions with it.
TEST(Programme, RunsThatTheModelEnds) {
  Model m("lift");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), a = m.parameter("a", 1.0), J = m.variable("J");
  m.equation(der(x) == a);
  m.equation(J == -a);
  m.when(x >= 1.0).terminate();
  Programme p;
  p.parameters = {{.name = "a", .guess = 1.0, .lower = 0.5, .upper = 10}};
  p.minimise = final_value("J");
  p.path = {{.value = a * x + m.time() * m.time(), .upper = 3.0, .label = "load"}};
  const Optimum best = optimise(m, p, {.simulate = {.stop = 5.0, .rtol = 1e-9, .atol = 1e-11}});
  ASSERT_TRUE(best.ok()) << best.message;
  // at the end, t = 1/a, the load is a + 1/a^2 = 3
  const double found = best.values[0].value;
  EXPECT_NEAR(found + 1.0 / (found * found), 3.0, 1e-6);
  EXPECT_GT(found, 2.0);
}

TEST(Programme, LeastTime) {
  const Model m = cart();
  Programme p = to_one(m, {.input = "u", .intervals = 2, .free_lengths = true, .lower = -1, .upper = 1});
  p.stop = FreeValue{.guess = 3, .lower = 0.5, .upper = 10};
  p.minimise = final_value(m.time());
  const Optimum best = optimise(m, p, {.simulate = {.rtol = 1e-9, .atol = 1e-11}});
  ASSERT_TRUE(best.ok()) << best.message;
  EXPECT_NEAR(best.objective, 2.0, 1e-6);
  EXPECT_NEAR(best.stop, 2.0, 1e-6);
  EXPECT_NEAR(best.controls[0].times[1], 1.0, 1e-5);
}

/// The maximum of a flight is between all steps and samples.
TEST(Programme, ExtremaAreLocated) {
  const Model m = ball();
  Programme p;
  p.parameters = {{.name = "v.start", .guess = 3, .lower = 0, .upper = 20}};
  p.minimise = -1.0 * final_value("start");
  Model with = m.copy();
  with.equation(with.variable("start") == with.symbol("v") + 9.81 * with.time());
  p.path = {{.value = m.symbol("h"), .upper = 6, .label = "h"}};
  const Optimum best = optimise(with, p, {.simulate = {.stop = 1.5, .rtol = 1e-9, .atol = 1e-11}});
  ASSERT_TRUE(best.ok()) << best.message;
  const double speed = std::sqrt(2.0 * 9.81 * 5.0);
  EXPECT_NEAR(best.values[0].value, speed, 1e-6);
  double found = 0.0;
  for (const FoundCondition& c : best.conditions)
    if (std::abs(c.value - 6.0) < 1e-5) found = c.t;
  EXPECT_NEAR(found, speed / 9.81, 1e-4);
}

TEST(Programme, TimesOfEvents) {
  const Model m = ball();
  Programme p;
  p.parameters = {{.name = "e", .guess = 0.5, .lower = 0.1, .upper = 0.99}};
  p.minimise = final_value("e copy");
  Model with = m.copy();
  with.equation(with.variable("e copy") == with.symbol("e"));
  p.end = {{.value = event_time("when h < 0", 3), .lower = 1.2, .upper = 1.2, .label = "third bounce"}};
  const Optimum best = optimise(with, p, {.simulate = {.stop = 1.5, .rtol = 1e-9, .atol = 1e-11}});
  ASSERT_TRUE(best.ok()) << best.message;
  const double first = std::sqrt(2.0 / 9.81), e = best.values[0].value;
  EXPECT_NEAR(first * (1.0 + 2.0 * e + 2.0 * e * e), 1.2, 1e-6);
}

TEST(Programme, SaysWhatIsInfeasible) {
  const Model m = cart();
  const Optimum best =
      optimise(m, to_one(m, {.input = "u", .intervals = 5, .lower = -1, .upper = 1, .guess = {0}}), one_second);
  EXPECT_EQ(best.status, OptimumStatus::infeasible);
  EXPECT_NE(best.message.find("'x'"), std::string::npos) << best.message;
  EXPECT_GT(best.violation, 0.7);
  EXPECT_EQ(best.conditions.size(), 2U);
}

TEST(Programme, SaysWhatIsDead) {
  const Model m = block();
  const Programme p = to_one(m, {.input = "u", .intervals = 5, .lower = -0.9, .upper = 0.9, .guess = {0}});
  const Optimum best = optimise(m, p, one_second);
  EXPECT_EQ(best.status, OptimumStatus::dead) << best.message;
  EXPECT_NE(best.message.find("'x'"), std::string::npos) << best.message;
}

TEST(Programme, HomotopyLeavesADeadZone) {
  Model m("block");
  const Expr u = m.input("u"), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  const Expr F = m.parameter("F", 1.0);
  m.equation(der(x) == v);
  m.equation(der(v) == u - F * sign(v));
  OptimiseOptions options = one_second;
  options.homotopy = "F";
  options.shooting = Shooting::single;
  const Optimum best = optimise(m, to_one(m, {.input = "u", .intervals = 10, .lower = -20, .upper = 20}), options);
  EXPECT_TRUE(best.ok()) << best.message;
  EXPECT_LE(best.violation, 1e-6);
}

TEST(Programme, InterruptedSearchesHaveTheBestPoint) {
  OptimiseOptions options = gallery::voice_coil().options;
  int calls = 0;
  options.progress = [&](const OptimiseProgress&) { return ++calls < 14; };
  const gallery::Case c = gallery::voice_coil();
  const Optimum best = optimise(c.model, c.programme, options);
  EXPECT_EQ(best.status, OptimumStatus::interrupted);
  EXPECT_EQ(calls, 14);
  EXPECT_TRUE(best.run.has_value());
  EXPECT_EQ(best.controls.size(), 1U);
}

TEST(Programme, SameBitsEveryTime) {
  const gallery::Case c = gallery::sliding_mode();
  const Optimum a = optimise(c.model, c.programme, c.options), b = optimise(c.model, c.programme, c.options);
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.runs, b.runs);
}

TEST(Programme, BudgetIsKept) {
  gallery::Case c = gallery::throwing_ball();
  c.options.max_runs = 20;
  const Optimum best = optimise(c.model, c.programme, c.options);
  EXPECT_EQ(best.status, OptimumStatus::not_converged);
  EXPECT_LE(best.runs, 20 + 4);  // the last one may be made again beside its point
}

TEST(Programme, WrongOnesAreRefused) {
  const Model m = cart();
  const auto refused = [&](const std::function<void(Programme&, OptimiseOptions&)>& change, const std::string& words) {
    Programme p = to_one(m, {.input = "u", .intervals = 5});
    OptimiseOptions options = one_second;
    change(p, options);
    try {
      optimise(m, p, options);
      ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
  };
  refused([](Programme& p, auto&) { p.controls[0].input = "w"; }, "is no input of the model");
  refused([](Programme& p, auto&) { p.controls.push_back(p.controls[0]); }, "given twice");
  refused([](Programme& p, auto&) { p.controls[0].intervals = 0; }, "at least one interval");
  refused([](Programme& p, auto&) { p.controls[0].guess = {1, 2}; }, "has 5 values, and its guess 2");
  refused([](Programme& p, auto&) { p.controls[0].lower = 2, p.controls[0].upper = 1; }, "the first must be less");
  refused([](Programme& p, auto&) { p.controls[0].guess = {3}, p.controls[0].upper = 1; }, "outside of its bounds");
  refused([](Programme& p, auto&) { p.controls.clear(); }, "nothing is free");
  refused([](Programme& p, auto&) { p.minimise = {}; }, "say what is to be minimised");
  refused([](Programme& p, auto&) { p.minimise = final_value("z"); }, "'z'");
  refused([](Programme& p, auto&) { p.minimise = sum_over_events("x > 0", "x"); }, "sums over events");
  refused([](Programme& p, auto&) { p.stop = FreeValue{.lower = 1}; }, "needs bounds");
  refused([](Programme& p, auto&) { p.parameters = {{.name = "mass"}}; }, "mass");
  refused([](auto&, OptimiseOptions& o) { o.homotopy = "F"; }, "F");
  refused([](auto&, OptimiseOptions& o) { o.tolerance = 0; }, "must be positive");
  refused([](auto&, OptimiseOptions& o) { o.simulate.stop = 0; }, "runs with a length");
  refused(
      [](Programme& p, OptimiseOptions& o) {
        p.controls[0].curve = ControlCurve::linear;
        o.shooting = Shooting::multiple;
      },
      "multiple shooting is not possible");
}

}  // namespace
