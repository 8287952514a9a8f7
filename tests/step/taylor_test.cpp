#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/step/taylor.hpp>

#include <cmath>

#include "problems/mechanics.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

TEST(Taylor, IsNotDeceivedByVanishingCoefficients) {
  // a pendulum that starts at rest and horizontal: all coefficients of the angle vanish but those of order 2 mod 4
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), a(graph, graph->symbol("a", SymbolKind::variable)),
      w(graph, graph->symbol("w", SymbolKind::variable));
  RecordedSystem system(
      {.time = t, .variables = {a, w}, .equations = {der(a) - w, der(w) + problems::gravity * sin(a)}});
  for (const int order : {0, 11, 12, 13, 14, 15, 20}) {
    auto stepper = make_taylor({.rtol = 1e-10, .atol = {1e-10}}, {.order = order});
    stepper->start(system, {.x = std::vector{M_PI / 2, 0.0}});
    while (stepper->t() < 10.0) ASSERT_TRUE(stepper->advance(10.0).ok());
    // the angle from the vertical: px = sin a, py = -cos a; seven swings amplify by 50 at most
    EXPECT_NEAR(std::sin(stepper->x()[0]), problems::pendulum_reference[0], 1e-8) << order;
    EXPECT_NEAR(-std::cos(stepper->x()[0]), problems::pendulum_reference[1], 1e-8) << order;
    EXPECT_LT(stepper->statistics().steps, 500);
  }
}

TEST(Taylor, ClosesTheArenstorfOrbitInFewSteps) {
  auto problem = problem::arenstorf();
  auto stepper = make_taylor({.rtol = 1e-12, .atol = {1e-12}});
  EXPECT_LT(suite::error_at_end(*stepper, problem), 1e-7);  // the orbit amplifies by 1e4
  EXPECT_LT(stepper->statistics().steps, 300);
}

TEST(Taylor, EndsASeriesThatIsAPolynomial) {
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), x(graph, graph->symbol("x", SymbolKind::variable));
  RecordedSystem system({.time = t, .variables = {x}, .equations = {der(x) - 2.0 * t}});
  auto stepper = make_taylor({});
  stepper->start(system, {.x = std::vector{1.0}});
  ASSERT_TRUE(stepper->advance(7.0).ok());
  EXPECT_EQ(stepper->t(), 7.0);
  EXPECT_DOUBLE_EQ(stepper->x()[0], 50.0);
}

TEST(Taylor, RefusesWhatItCannotDo) {
  EXPECT_THROW(make_taylor({}, {.order = 1}), UsageError);
}

}  // namespace
}  // namespace saltus
