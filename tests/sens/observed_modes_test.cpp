// Derivatives of variables that depend on the mode although no equation of motion does.
#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <tuple>

namespace saltus {
namespace {

// x = 0.1 + p t, a = if x > 0.5 then 0.5 x else p, b = n x with n = 3 from t = 0.3 on.
TEST(ObservedModes, DerivativesOfResultsAreThoseOfTheirBranchAndTheirDiscreteVariables) {
  Model m("results");
  const Expr p = m.parameter("p", 2.0), x = m.variable("x", 0.1, {.fixed = true});
  const Expr a = m.variable("a"), b = m.variable("b"), n = m.discrete("n", 1.0);
  m.equation(der(x) == p);
  m.equation(a == if_else(x > 0.5, 0.5 * x, p));
  m.equation(b == n * x);
  m.when(m.time() > 0.3).assign(n, 3.0);
  for (const Method method : {Method::dopri5, Method::rodas5p, Method::radau, Method::taylor}) {
    const SensitivityRun run =
        simulate_with_sensitivities(m, {"p", "x.start"}, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
    ASSERT_TRUE(run.trajectory().status().ok()) << run.trajectory().status().message;
    // dx/dp = t and dx/dx0 = 1: linear, so errors are those of rounding
    EXPECT_NEAR(run.at(0.1, "a", "p"), 1.0, 1e-9);
    EXPECT_NEAR(run.at(0.1, "b", "p"), 0.1, 1e-9);
    EXPECT_NEAR(run.at(1.0, "a", "p"), 0.5, 1e-9);
    EXPECT_NEAR(run.at(1.0, "a", "x.start"), 0.5, 1e-9);
    EXPECT_NEAR(run.at(1.0, "b", "p"), 3.0, 1e-9);
    EXPECT_NEAR(run.at(1.0, "b", "x.start"), 3.0, 1e-9);
    for (const auto& [name, by_p, by_start] : {std::tuple{"a", 0.5, 0.5}, {"b", 3.0, 3.0}}) {
      const FunctionalGradient g =
          gradient(m, final_value(name), {"p", "x.start"}, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
      ASSERT_EQ(g.derivatives.size(), 2u) << g.why;
      EXPECT_NEAR(g.derivatives[0], by_p, 1e-9) << name;
      EXPECT_NEAR(g.derivatives[1], by_start, 1e-9) << name;
    }
  }
}

TEST(ObservedModes, DerivativesInASlideAreThoseOfTheirBranchToo) {
  Model m("results beside a slide");
  const Expr p = m.parameter("p", 2.0), x = m.variable("x", 0.1, {.fixed = true});
  const Expr v = m.variable("v", 0.0, {.fixed = true}), a = m.variable("a"), b = m.variable("b");
  const Expr n = m.discrete("n", 1.0);
  m.equation(der(x) == p);
  m.equation(der(v) == 0.5 - sign(v));
  m.equation(a == if_else(x > 0.5, 0.5 * x, p));
  m.equation(b == n * x);
  m.when(m.time() > 0.3).assign(n, 3.0);
  const SensitivityRun run = simulate_with_sensitivities(m, {"p", "x.start"}, {.stop = 1.0});
  ASSERT_TRUE(run.trajectory().status().ok()) << run.trajectory().status().message;
  EXPECT_NEAR(run.at(1.0, "a", "p"), 0.5, 1e-9);  // linear, as above
  EXPECT_NEAR(run.at(1.0, "a", "x.start"), 0.5, 1e-9);
  EXPECT_NEAR(run.at(1.0, "b", "p"), 3.0, 1e-9);
  EXPECT_NEAR(run.at(1.0, "b", "x.start"), 3.0, 1e-9);
}

}  // namespace
}  // namespace saltus
