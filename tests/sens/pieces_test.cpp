// Gradients of runs whose record is kept in pieces: those of one that is kept as a whole.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>

#include <cmath>

#include "sens/reference_problems.hpp"

namespace saltus {
namespace {

using testing::ReferenceProblem;

class Pieces : public ::testing::TestWithParam<std::size_t> {};

// The 22 reference problems, with borders of pieces between steps and right behind events.
TEST_P(Pieces, GiveTheGradientOfTheWholeRun) {
  const ReferenceProblem& problem = testing::reference_problems()[GetParam()];
  if (problem.final.empty()) return;
  const double rtol = 1e-9;
  const CompiledModel model(load_modelica(problem.text, problem.name + ".mo").model);
  for (const Method method : {Method::automatic, Method::radau}) {
    SimulateOptions options{.stop = problem.stop, .rtol = rtol, .atol = 0.01 * rtol};
    options.method = method;
    const Functional value = final_value(problem.final.front().variable);
    const FunctionalGradient whole = gradient(model, value, problem.parameters, options);
    ASSERT_EQ(whole.why, "");
    EXPECT_EQ(whole.pieces, 1);
    for (const std::size_t memory : {30'000, 6'000, 600}) {
      const FunctionalGradient parts = gradient(model, value, problem.parameters, options, {.memory = memory});
      SCOPED_TRACE(std::string(to_string(method)) + " in " + std::to_string(parts.pieces) + " pieces");
      ASSERT_EQ(parts.why, "");
      EXPECT_NEAR(parts.value, whole.value, 300.0 * rtol * (1.0 + std::abs(whole.value)));
      for (std::size_t k = 0; k < whole.derivatives.size(); ++k)
        EXPECT_NEAR(parts.derivatives[k], whole.derivatives[k], 3000.0 * rtol * (1.0 + std::abs(whole.derivatives[k])))
            << problem.parameters[k];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, Pieces, ::testing::Range(std::size_t{0}, testing::reference_problems().size()),
                         [](const auto& test) { return testing::reference_problems()[test.param].name; });

/// A block between a wall and a belt: impacts, slides, and all kinds of terms.
struct Block {
  Model m{"block"};
  Expr mu = m.parameter("mu", 0.3), e = m.parameter("e", 0.6), k = m.parameter("k", 1.0);
  Expr x = m.variable("x", -0.2), v = m.variable("v", 0.0);
  std::vector<std::string> parameters = {"mu", "e", "k", "x.start"};

  Block() {
    m.equation(der(x) == v);
    m.equation(der(v) == -k * x + sin(1.3 * m.time()) - mu * sign(v - 0.4));
    m.when(x > 0.9).reset(v, -e * v);
  }
};

// Explicit Runge-Kutta methods go on from saved states with the bits of a run that is not divided, and so does the way
// back through their steps.
TEST(PiecesOfRuns, HaveTheSameBitsWithExplicitSteps) {
  const Block block;
  const CompiledModel model(block.m);
  for (const Method method : {Method::dopri5, Method::dop853, Method::tsit5}) {
    const SimulateOptions options{.stop = 30.0, .rtol = 1e-8, .method = method};
    const Functional value = final_value(block.x) + 0.5 * final_value(block.v) + event_time("x > 0.9", 3) +
                             sum_over_events("x > 0.9", block.v * block.v);
    const FunctionalGradient whole = gradient(model, value, block.parameters, options);
    ASSERT_EQ(whole.why, "");
    const FunctionalGradient parts = gradient(model, value, block.parameters, options, {.memory = 14'000});
    EXPECT_GT(parts.pieces, 3);
    EXPECT_EQ(parts.value, whole.value);
    EXPECT_EQ(parts.derivatives, whole.derivatives);
    EXPECT_EQ(parts.trajectory.t_end(), 30.0);
    EXPECT_GT(parts.trajectory.t_start(), 20.0);
  }
}

TEST(PiecesOfRuns, CountEventsAndAddIntegralsAcrossBorders) {
  const Block block;
  const CompiledModel model(block.m);
  const SimulateOptions options{.stop = 30.0, .rtol = 1e-9};
  const Functional value = integral(block.x * block.x + block.v / 4) + event_time("x > 0.9", 2) +
                           sum_over_events("x > 0.9", block.v * block.v);
  const FunctionalGradient whole = gradient(model, value, block.parameters, options);
  const FunctionalGradient parts = gradient(model, value, block.parameters, options, {.memory = 10'000});
  EXPECT_GT(parts.pieces, 3);
  EXPECT_NEAR(parts.value, whole.value, 1e-7);
  for (std::size_t k = 0; k < block.parameters.size(); ++k)
    EXPECT_NEAR(parts.derivatives[k], whole.derivatives[k], 1e-6 * (1.0 + std::abs(whole.derivatives[k])));
  EXPECT_THROW(gradient(model, event_time("x > 0.9", 1000), {"mu"}, options, {.memory = 10'000}), UsageError);
}

// Steps are limited over all pieces, and a run that fails has no derivatives.
TEST(PiecesOfRuns, KeepTheLimitOfSteps) {
  const Block block;
  const FunctionalGradient g =
      gradient(block.m, final_value(block.x), {"mu"}, {.stop = 1e4, .max_steps = 2000}, {.memory = 10'000});
  EXPECT_EQ(g.trajectory.status().code, StatusCode::too_many_steps);
  EXPECT_LT(g.trajectory.t_end(), 1e4);
  EXPECT_TRUE(g.derivatives.empty());
  EXPECT_NE(g.why.find("the run failed"), std::string::npos) << g.why;
}

}  // namespace
}  // namespace saltus
