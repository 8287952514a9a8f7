// Guards with nominal values: their errors count in steps, so that a factor on such a guard changes steps.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <numbers>

namespace saltus {
namespace {

struct Outcome {
  std::int64_t steps = 0;
  double error = 0.0;  // of the last event
};

/// x'' = -x from x = 1; the guard is factor * (x - 1/2), or its hyperbolic sine. nominal 0: it has none.
Outcome swing(Method method, double factor, double nominal, bool linear, std::int64_t flights_after = -1) {
  Model m("swing");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  const Expr distance = factor * (x - 0.5);
  const BoolExpr condition = (linear ? distance : sinh(distance)) > 0.0;
  m.when(condition).record();
  if (nominal > 0.0) m.guard_nominal(condition, nominal);
  SimulateOptions options{.stop = 30.0, .rtol = 1e-4, .atol = 1e-4, .method = method};
  if (flights_after >= 0) options.flights_after = flights_after;
  const Trajectory run = simulate(m, options);
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.events().size(), 9u);
  const double exact = std::acos(0.5) + 8.0 * std::numbers::pi;
  return {run.statistics().steps, std::abs(run.events()[8].t - exact)};
}

constexpr Method methods[] = {Method::automatic, Method::dopri5, Method::tsit5, Method::rodas5p,
                              Method::radau,     Method::bdf,    Method::taylor};

TEST(GuardNominal, AFactorOnAGuardChangesStepsWhereItShould) {
  for (const Method method : methods) {
    for (const bool linear : {true, false}) {
      SCOPED_TRACE(std::string(to_string(method)) + (linear ? ", linear" : ", not linear"));
      const Outcome plain = swing(method, 1.0, 0.0, linear), loose = swing(method, 1.0, 1e6, linear);
      const Outcome tight = swing(method, 1e3, 1.0, linear), tighter = swing(method, 1e3, 1e-2, linear);
      EXPECT_EQ(loose.steps, plain.steps);
      EXPECT_EQ(loose.error, plain.error);
      EXPECT_GE(tight.steps, plain.steps);
      EXPECT_GT(tighter.steps, plain.steps);
      // errors near the surface alone are held down: those of the way there remain
      EXPECT_LT(tighter.error, plain.error);
    }
  }
}

TEST(GuardNominal, WithoutANominalValueFactorsChangeNothing) {
  const Outcome plain = swing(Method::dopri5, 1.0, 0.0, true), scaled = swing(Method::dopri5, 1024.0, 0.0, true);
  EXPECT_EQ(plain.steps, scaled.steps);
  EXPECT_EQ(plain.error, scaled.error);
}

TEST(GuardNominal, SuchRunsDoNotFly) {
  const Outcome loop = swing(Method::dopri5, 1e3, 1.0, true), early = swing(Method::dopri5, 1e3, 1.0, true, 0);
  EXPECT_EQ(loop.steps, early.steps);
  EXPECT_EQ(loop.error, early.error);
}

TEST(GuardNominal, WrongValuesAreRefused) {
  Model m("wrong");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -x);
  m.when(x < 0.5).record();
  EXPECT_THROW(m.guard_nominal(x < 0.5, 0.0), ModelError);
  EXPECT_THROW(m.guard_nominal(x < 0.5, std::nan("")), ModelError);
  m.guard_nominal(x < 0.25, 1.0);  // not a guard of the model
  EXPECT_THROW(compile(m), ModelError);
}

TEST(UnstableSliding, TheSolutionStaysWhereTheModelWantsIt) {
  const auto at = [](SurfaceRule rule, double stop) {
    Model m("fold");
    const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", 0.0, {.fixed = true});
    m.equation(der(x) == 1.0);
    m.equation(der(y) == if_else(y > 0, 1.0 - x, -1.0));  // both sides push away until x = 1, then downwards
    m.surface(y > 0, rule);
    Trajectory run = simulate(m, {.stop = stop});
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    return run;
  };
  const Trajectory stays = at(SurfaceRule::stay, 0.9);
  EXPECT_EQ(stays.final()[1], 0.0);
  EXPECT_GT(stays.statistics().sliding_steps, 0);
  EXPECT_NEAR(at(SurfaceRule::stay, 3.0).final()[1], -2.0, 1e-8);
  EXPECT_GT(std::abs(at(SurfaceRule::filippov, 0.9).final()[1]), 0.1);
}

// Stable sliding is what it was, and a surface that is crossed is crossed.
TEST(UnstableSliding, OtherSurfacesAreAsBefore) {
  for (const SurfaceRule rule : {SurfaceRule::filippov, SurfaceRule::stay}) {
    Model m("relay");
    const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 1.0, {.fixed = true});
    m.equation(der(x) == if_else(x > 0, -1.0, 1.0));
    m.equation(der(y) == if_else(y > 0, -1.0, -2.0));
    m.surface(x > 0, rule);
    m.surface(y > 0, rule);
    const Trajectory run = simulate(m, {.stop = 2.0});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NEAR(run.final()[0], 0.0, 1e-9);
    EXPECT_NEAR(run.final()[1], -2.0, 1e-9);
  }
}

}  // namespace
}  // namespace saltus
