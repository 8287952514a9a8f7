// homotopy(actual, simplified): starts that are found by continuation only.
#include <saltus/model/homotopy.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

// Far from the solution the hyperbolic tangents are constant to the last digit: no guess near 0 leads to it.
const std::string first = "tanh(x - 3000 + sin(y))", second = "tanh(y + 2000 + sin(x))";

void expect_solution(const Trajectory& run) {
  const double x = run.at(1.0, "x"), y = run.at(1.0, "y");
  EXPECT_NEAR(x - 3000.0 + std::sin(y), std::atanh(0.3), 1e-5);
  EXPECT_NEAR(y + 2000.0 + std::sin(x), std::atanh(-0.2), 1e-5);
}

TEST(Homotopy, FindsAStartThatIsNotFoundOtherwise) {
  const Trajectory plain = simulate(
      load_text("model M Real x, y; equation " + first + " = 0.3; " + second + " = -0.2; end M;").model, {.stop = 1.0});
  EXPECT_EQ(plain.status().code, StatusCode::initialisation_failed) << plain.status().message;
  const std::vector<std::string> formulations{
      "Real x, y; equation homotopy(" + first + ", x - 3000) = 0.3; homotopy(" + second + ", y + 2000) = -0.2;",
      "Real a, y, x; equation 0 = homotopy(simplified = y + 2000, actual = " + second +
          ") + 0.2; 0.3 - a = 0; "
          "a = homotopy(" +
          first + ", x - 3000);"};
  for (const std::string& text : formulations) {
    const ModelicaModel loaded = load_text("model M " + text + " end M;");
    for (const Method method : {Method::automatic, Method::radau, Method::bdf, Method::rodas5p})
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        const Trajectory run =
            simulate(loaded.model, {.stop = 1.0, .rtol = tolerance, .atol = tolerance, .method = method});
        ASSERT_EQ(run.status().code, StatusCode::success) << text << ": " << run.status().message;
        EXPECT_NE(run.status().message.find("found by homotopy"), std::string::npos) << run.status().message;
        expect_solution(run);
      }
  }
}

// The simplified expression has no part in a run whose start is found without it, not even its structure.
TEST(Homotopy, IsTheActualExpressionWhereTheStartIsFound) {
  const Trajectory with =
      run_text("model M Real x(start=1, fixed=true); equation der(x) = homotopy(-x, 1/(x - x)); end M;", 1.0);
  const Trajectory without = run_text("model M Real x(start=1, fixed=true); equation der(x) = -x; end M;", 1.0);
  EXPECT_EQ(with.final(), without.final());
  EXPECT_EQ(with.status().message, "");
  EXPECT_EQ(with.statistics().method, without.statistics().method);
}

TEST(Homotopy, InCppIsAFunctionOfTheModel) {
  Model m("flat");
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(homotopy(m, tanh(x - 3000.0 + sin(y)), x - 3000.0) == 0.3);
  m.equation(homotopy(m, tanh(y + 2000.0 + sin(x)), y + 2000.0) == -0.2);
  const CompiledModel compiled(m);
  EXPECT_TRUE(compiled.parameters().empty());  // the share is no parameter of the user
  const Trajectory run = simulate(compiled, {.stop = 1.0});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  expect_solution(run);
}

TEST(Homotopy, NeedsTwoArgumentsOfOneSize) {
  EXPECT_NE(
      load_errors("model M Real x[2], y; equation x = homotopy({y, y}, y); y = 1; end M;").find("of the same size"),
      std::string::npos);
}

}  // namespace
}  // namespace saltus
