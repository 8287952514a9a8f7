// Model predictive control in a closed loop.
#include <gtest/gtest.h>
#include <saltus/optimise/controller.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "optimise/gallery.hpp"

using namespace saltus;
using gallery::square;

namespace {

/// A mass on a spring with dry friction, which is to go to 2 and stay there.
Model mass(double friction) {
  Model m("mass");
  const Expr u = m.input("u"), x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  const Expr F = m.parameter("F", friction);
  m.equation(der(x) == v);
  m.equation(der(v) == -0.8 * x - 0.5 * v - F * sign(v) + u);
  return m;
}

struct Loop {
  double cost = 0.0, x = 0.0, v = 0.0, seconds = 0.0;
  int without_step = 0;
};

/// 50 samples of 0.15 with a plant that has a tenth more friction.
Loop run(int iterations) {
  constexpr double sample = 0.15;
  const Model m = mass(0.2);
  const Expr effort = square(m.symbol("x") - 2.0) + square(m.symbol("v"));
  Programme p;
  p.controls = {{.input = "u", .intervals = 20, .lower = -2, .upper = 2, .guess = {1}}};
  p.minimise = integral(effort + 0.1 * square(m.symbol("u") - 1.8)) + final_value(effort);
  Controller controller(m, p, {.simulate = {.stop = 3.0, .rtol = 1e-7, .atol = 1e-9}}, iterations);
  Model with_cost = mass(0.22);
  const auto of = [&](const char* name) { return with_cost.symbol(name); };
  with_cost.equation(der(with_cost.variable("cost", 0.0, {.fixed = true})) ==
                     square(of("x") - 2.0) + square(of("v")) + 0.1 * square(of("u") - 1.8));
  const CompiledModel plant(with_cost);
  Loop loop;
  for (int k = 0; k < 50; ++k) {
    const std::clock_t begin = std::clock();
    const ControlSample now = controller.step({{"x", loop.x}, {"v", loop.v}});
    loop.seconds += static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    loop.without_step += !now.why.empty();
    const Trajectory moved = simulate(
        plant.with_values({{"x", loop.x}, {"v", loop.v}}),
        {.stop = sample, .rtol = 1e-9, .atol = 1e-11, .inputs = {{"u", InputSignal::constant(now.controls[0])}}});
    loop.x = moved.at(sample, "x");
    loop.v = moved.at(sample, "v");
    loop.cost += moved.at(sample, "cost");
  }
  return loop;
}

TEST(Controller, ClosedLoopWithFriction) {
  const Loop one = run(1), many = run(15);
  if (std::getenv("SALTUS_SHOW"))
    std::printf("cost %.6f and %.6f, %.3f and %.3f ms a sample, without step %d and %d, ends at %.5f and %.5f\n",
                one.cost, many.cost, 20.0 * one.seconds, 20.0 * many.seconds, one.without_step, many.without_step,
                one.x, many.x);
  // a second method, with sampled squares, gives 5.49716 and 5.49715
  EXPECT_NEAR(one.cost, 5.4971, 2e-4);
  EXPECT_NEAR(many.cost, 5.4971, 2e-4);
  EXPECT_LE(many.cost, one.cost);
  EXPECT_NEAR(one.x, 2.0, 0.1);
  EXPECT_LT(std::abs(one.v), 1e-2);
}

/// Iterated to the end, a sample has the controls that a search finds.
TEST(Controller, SolvesTheProgramme) {
  const Model m = mass(0.2);
  const Expr effort = square(m.symbol("x") - 2.0) + square(m.symbol("v"));
  Programme p;
  p.controls = {{.input = "u", .intervals = 10, .lower = -2, .upper = 2, .guess = {1}}};
  const Expr u = m.symbol("u");
  p.minimise = integral(effort + 0.1 * (u - 1.8) * (u - 1.8)) + final_value(effort);
  const OptimiseOptions options{.simulate = {.stop = 3.0, .rtol = 1e-8, .atol = 1e-10}};
  Controller controller(m, p, options, 30);
  const ControlSample sample = controller.step({});
  const Optimum best = optimise(m, p, options);
  ASSERT_TRUE(best.ok()) << best.message;
  EXPECT_NEAR(sample.controls[0], best.controls[0].values[0], 1e-4);
  EXPECT_NEAR(sample.objective, best.objective, 1e-5 * best.objective);
  EXPECT_EQ(controller.plan()[0].values.size(), 10U);
}

TEST(Controller, RefusesOtherObjectives) {
  const Model m = mass(0.2);
  Programme p;
  p.controls = {{.input = "u", .intervals = 10}};
  p.minimise = final_value("x");
  EXPECT_THROW(Controller(m, p), UsageError);
  p.minimise = integral(square(m.symbol("u")));
  EXPECT_THROW(Controller(m, p, {}, 0), UsageError);
  Controller controller(m, p);
  EXPECT_THROW(controller.step({{"w", 1.0}}), Error);
}

}  // namespace
