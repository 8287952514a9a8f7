// Flights through modes with constraints agree with the simulator's loop, which takes other steps there, and with what
// mechanics says.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>

#include "flight/constrained_form.hpp"
#include "model/rehome.hpp"

namespace saltus {
namespace {

/// A pendulum in Cartesian coordinates, of index 3, from rest. `unit`: that of lengths, in metres.
struct Pendulum {
  Model m{"pendulum"};
  Expr x, y, u, v, force;

  explicit Pendulum(double unit = 1.0, double angle = 0.9) {
    const double size = 1.0 / unit;
    x = m.variable("x", size * std::sin(angle), {.nominal = size});
    y = m.variable("y", -size * std::cos(angle), {.nominal = size});
    u = m.variable("u", 0.0, {.nominal = size});
    v = m.variable("v", 0.0, {.nominal = size});
    force = m.variable("force", 0.0);
    m.equation(der(x) == u);
    m.equation(der(y) == v);
    m.equation(der(u) == -force * x);
    m.equation(der(v) == -force * y - 9.81 / unit);
    m.equation(x * x + y * y == 1.0 / (unit * unit));
  }
};

SimulateOptions options(double stop, std::int64_t flights_after, double tolerance) {
  SimulateOptions o;
  o.stop = stop;
  o.rtol = o.atol = tolerance;
  o.flights_after = flights_after;
  return o;
}

/// The same events and, between them, values within `allowed`.
void expect_agreement(const Model& model, double stop, double allowed, double tolerance = 1e-10) {
  const CompiledModel compiled(model);
  const Trajectory flown = simulate(compiled, options(stop, 0, tolerance)),
                   plain = simulate(compiled, options(stop, -1, tolerance));
  ASSERT_TRUE(plain.status().ok()) << plain.status().message;
  ASSERT_TRUE(flown.status().ok()) << flown.status().message;
  EXPECT_GT(flown.statistics().flown, flown.statistics().steps / 2);
  ASSERT_EQ(flown.events().size(), plain.events().size());
  for (std::size_t k = 0; k < plain.events().size(); ++k) {
    const Event &a = flown.events()[k], &b = plain.events()[k];
    SCOPED_TRACE("event " + std::to_string(k) + " at " + std::to_string(b.t) + ": " + b.describe());
    ASSERT_NEAR(a.t, b.t, allowed);
    ASSERT_EQ(a.kind, b.kind);
    ASSERT_EQ(a.guards, b.guards);
    ASSERT_EQ(a.actions, b.actions);
    ASSERT_EQ(a.cause, b.cause);
    for (std::size_t j = 0; j < b.after.size(); ++j) {
      ASSERT_NEAR(a.before[j], b.before[j], 100.0 * allowed * (1.0 + std::abs(b.before[j]))) << j;
      ASSERT_NEAR(a.after[j], b.after[j], 100.0 * allowed * (1.0 + std::abs(b.after[j]))) << j;
    }
  }
  for (int k = 0; k <= 499; ++k) {
    const double t = stop * k / 499.0;
    const auto near_event = [&](const Event& e) { return std::abs(e.t - t) <= 2.0 * allowed; };
    if (std::ranges::any_of(plain.events(), near_event)) continue;
    const std::vector<double> a = flown.at(t), b = plain.at(t);
    for (std::size_t j = 0; j < a.size(); ++j)
      ASSERT_NEAR(a[j], b[j], 100.0 * allowed * (1.0 + std::abs(b[j]))) << j << " at " << t;
  }
}

TEST(ConstrainedFlights, CountsSwings) {
  Pendulum p;
  const Expr count = p.m.discrete("count", 0.0);
  p.m.when(p.x < 0.0).assign(count, p.m.pre(count) + 1.0);
  expect_agreement(p.m, 30.0, 1e-6);
}

// The speed along the wall's normal is turned round; what the rod makes of the other one follows from the constraint.
TEST(ConstrainedFlights, RodTakesImpactsOnAWall) {
  Pendulum p;
  p.m.when(p.x < -0.3).reset(p.u, -0.97 * p.u);
  expect_agreement(p.m, 100.0, 1e-6);
}

// A speed that was set leaves the other one to the rod. A position leaves both speeds open; two speeds are too many.
TEST(ConstrainedFlights, ProjectionsHoldOnlyWhatConstraintsCanAnswer) {
  Pendulum p;
  CompiledModel compiled(p.m);
  const auto& system = dynamic_cast<const RecordedSystem&>(compiled.system(compiled.initial_mode()));
  RecordedEquations equations = system.equations();
  rehome(equations, equations.variables.front().graph()->clone());
  std::string why;
  const auto mode = ConstrainedMode::find(system, why);
  ASSERT_TRUE(mode) << why;
  const int x = 0, u = 2, v = 3;
  EXPECT_EQ(mode->projection_holding(equations, {u}).size(), 5u);
  EXPECT_EQ(mode->projection_holding(equations, {v}).size(), 5u);
  EXPECT_TRUE(mode->projection_holding(equations, {x}).empty());
  EXPECT_TRUE(mode->projection_holding(equations, {u, v}).empty());
}

}  // namespace
}  // namespace saltus
