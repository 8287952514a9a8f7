// Derivatives with factors that are zero for the values of the parameters: they are left out where variables are among
// the factors, and this is seen by no result.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>
#include <string>

namespace saltus {
namespace {

/// A junction with a capacitance k*(1 + v^2) and a resistance: no state where k is zero.
Model junction(double k) {
  Model m("junction");
  const Expr c = m.parameter("k", k), v = m.variable("v", 0.0, {.fixed = k != 0.0}), w = m.variable("w");
  m.equation(w == sin(m.time()) - v);
  m.equation(c * (1.0 + v * v) * der(v) == w + w * w * w);
  return m;
}

TEST(ZeroFactors, AJunctionWithoutCapacitanceHasNoState) {
  CompiledModel compiled(junction(0.0));
  const Structure& s = compiled.system(compiled.initial_mode()).structure();
  for (int j = 0; j < s.variables; ++j) EXPECT_FALSE(s.differentiated(j)) << j;
  const Trajectory run = simulate(compiled, {.stop = 3.0, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  for (const double t : {0.5, 1.0, 2.0, 3.0}) EXPECT_NEAR(run.at(t, "v"), std::sin(t), 1e-7) << t;
}

TEST(ZeroFactors, OtherValuesBringTheDerivativeBack) {
  Model fresh = junction(0.5);
  const CompiledModel other = CompiledModel(junction(0.0)).with_values({{"k", 0.5}});
  const SimulateOptions options{.stop = 3.0, .rtol = 1e-8, .atol = 1e-8};
  const Trajectory a = simulate(other, options), b = simulate(fresh, options);
  ASSERT_TRUE(a.status().ok()) << a.status().message;
  for (const double t : {0.5, 1.0, 2.0, 3.0}) {
    EXPECT_NEAR(a.at(t, "v"), b.at(t, "v"), 1e-6) << t;
    EXPECT_GT(std::abs(a.at(t, "v") - std::sin(t)), 0.02) << t;
  }
}

TEST(ZeroFactors, DerivativesByThemAreRefused) {
  const CompiledModel compiled(junction(0.0));
  try {
    simulate_with_sensitivities(compiled, {"k"}, {.stop = 1.0});
    FAIL() << "a derivative by k was given";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("give 'k' another value"), std::string::npos) << error.what();
  }
}

// x' + m y' = -x, y' + m x' = x - y at m = 0: x = exp(-t), y = (2 + t) exp(-t) with x(0) = 1 and y(0) = 2. With
// X = dx/dm and Y = dy/dm, X' = -X - y' and Y' = X - Y - x', from zero; y' = -(1 + t) exp(-t), so X = (t + t^2/2)
// exp(-t), and Y = (t^2/2 + t^3/6 + t) exp(-t).
TEST(ZeroFactors, FactorsOfParametersAloneStay) {
  Model m("coils");
  const Expr mutual = m.parameter("m", 0.0), x = m.variable("x", 1.0, {.fixed = true}),
             y = m.variable("y", 2.0, {.fixed = true});
  m.equation(der(x) + mutual * der(y) == -x);
  m.equation(der(y) + mutual * der(x) == x - y);
  const SensitivityRun run =
      simulate_with_sensitivities(CompiledModel(m), {"m"}, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9});
  ASSERT_TRUE(run.trajectory().status().ok()) << run.trajectory().status().message;
  const double e = std::exp(-1.0);
  EXPECT_NEAR(run.at(1.0, "x", "m"), 1.5 * e, 1e-7);
  EXPECT_NEAR(run.at(1.0, "y", "m"), (0.5 + 1.0 / 6.0 + 1.0) * e, 1e-7);
}

}  // namespace
}  // namespace saltus
