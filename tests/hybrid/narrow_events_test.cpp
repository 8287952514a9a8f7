// Conditions that hold for a small part of a step: every method finds them, and a result says where that is not proved.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <numbers>

namespace saltus {
namespace {

SimulateOptions options(Method method, double stop, double tolerance) {
  SimulateOptions o;
  o.stop = stop;
  o.rtol = o.atol = tolerance;
  o.method = method;
  return o;
}

constexpr Method methods[] = {Method::automatic, Method::dopri5, Method::dop853, Method::rodas5p,
                              Method::radau,     Method::bdf,    Method::taylor};

// x = exp(-t) passes 0.357 within 5e-4 of time; steps are 1000 times as long.
TEST(NarrowEvents, EveryMethodFindsAPulseInsideAStep) {
  const double width = 1e-4 * std::sqrt(std::numbers::ln2);
  const double rises = -std::log(0.357 + width), falls = -std::log(0.357 - width);
  for (const Method method : methods) {
    for (const double tolerance : {1e-5, 1e-7, 1e-9}) {
      Model m("pulse");
      const Expr x = m.variable("x", 1.0);
      m.equation(der(x) == -x);
      const Expr z = (x - 0.357) / 1e-4;
      m.when(exp(-z * z) > 0.5).record();
      const Trajectory run = simulate(m, options(method, 3.0, tolerance));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 2u) << "tolerance " << tolerance;
      // an error of e in x moves the events by e / 0.357; methods are within some tolerances
      EXPECT_NEAR(run.events()[0].t, rises, 30.0 * tolerance);
      EXPECT_NEAR(run.events()[1].t, falls, 30.0 * tolerance);
      EXPECT_EQ(run.statistics().unproved, 0);
      EXPECT_TRUE(run.status().message.empty()) << run.status().message;
    }
  }
}

// The same behind a constraint, where the guard reads an algebraic variable: y = x^2 passes 0.25 at x = 1/2.
TEST(NarrowEvents, PulsesOfAlgebraicVariablesAreFound) {
  for (const Method method : {Method::automatic, Method::rodas5p, Method::radau, Method::bdf, Method::taylor}) {
    for (const double tolerance : {1e-6, 1e-8}) {
      Model m("constraint");
      const Expr x = m.variable("x", 1.0), y = m.variable("y", 1.0);
      m.equation(der(x) == -x);
      m.equation(y + 0.1 * y * y * y == x * x + 0.1 * pow(x, 6.0));
      const Expr z = (y - 0.25) / 1e-3;
      m.when(1.0 / (1.0 + z * z) > 0.5).record();
      const Trajectory run = simulate(m, options(method, 2.0, tolerance));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 2u);
      EXPECT_NEAR(run.events()[0].t, -0.5 * std::log(0.251), 100.0 * tolerance);
      EXPECT_NEAR(run.events()[1].t, -0.5 * std::log(0.249), 100.0 * tolerance);
      EXPECT_EQ(run.statistics().unproved, 0);
    }
  }
}

TEST(NarrowEvents, TheStatusSaysWhereNothingIsProved) {
  Model m("foreign");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  auto pulse = std::make_shared<ExternalFunction>();
  pulse->name = "pulse";
  pulse->inputs = pulse->outputs = 1;
  pulse->values = [](std::span<const double> in, std::span<double> out) { out[0] = std::sin(in[0]); };
  m.when(call(pulse, std::vector{x})[0] > 0.5).record();
  const Trajectory run = simulate(m, options(Method::dopri5, 1.0, 1e-6));
  ASSERT_TRUE(run.status().ok());
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, std::numbers::pi / 6.0, 1e-9);
  EXPECT_GT(run.statistics().unproved, 0);
  EXPECT_NE(run.status().message.find("not proved"), std::string::npos) << run.status().message;
  EXPECT_NE(run.status().message.find("max-step"), std::string::npos) << run.status().message;
}

}  // namespace
}  // namespace saltus
