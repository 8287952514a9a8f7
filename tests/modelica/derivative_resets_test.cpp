// Clauses and transitions that choose a derivative where the equations leave a choice (der(x)^2 = 4).
#include <saltus/expr/derivative.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

bool refuses(const MethodInfo& method, const Trajectory& run) {
  return method.family == MethodFamily::explicit_runge_kutta && run.status().code == StatusCode::singular_mode;
}

/// The triangle wave of slope 2 between -1 and 1 that starts at 0 and rises.
double triangle(double t) {
  const double phase = std::fmod(t, 2.0);
  return phase < 0.5 ? 2.0 * phase : phase < 1.5 ? 2.0 - 2.0 * phase : 2.0 * phase - 4.0;
}

// Every formulation means the same: x goes to and fro between -1 and 1.
TEST(DerivativeResets, ChooseARootWithEveryMethodAndInEveryFormulation) {
  const std::vector<std::string> formulations{
      "Real x(start=0, fixed=true); initial equation der(x) = 2; equation der(x)^2 = 4; "
      "when x > 1 then reinit(der(x), -2); elsewhen x < -1 then reinit(der(x), 2); end when;",
      "Real x(start=0, fixed=true); initial equation der(x) = 2; equation der(x)*der(x) - 4 = 0; "
      "when abs(x) > 1 then reinit(der(x), -der(x)); end when;",
      "Real x(start=0, fixed=true), d(start=2); equation der(x) = d; d^2 = 4; "
      "when x > 1 then reinit(d, -2); elsewhen x < -1 then reinit(d, 2); end when;"};
  for (const std::string& text : formulations) {
    const ModelicaModel loaded = load_text("model M " + text + " end M;");
    for (const MethodInfo& method : method_table())
      for (const double tolerance : {1e-4, 1e-6, 1e-9}) {
        SCOPED_TRACE(text + " " + std::string(method.name) + " " + std::to_string(std::log10(tolerance)));
        const Trajectory run =
            simulate(loaded.model, {.stop = 3.2, .rtol = tolerance, .atol = tolerance, .method = method.method});
        if (refuses(method, run)) continue;
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        // slopes are constant: every method is exact, up to the place of the events
        for (const double t : {0.3, 0.9, 1.7, 2.3, 3.2}) EXPECT_NEAR(run.at(t, "x"), triangle(t), 20.0 * tolerance);
      }
  }
}

// x' solves x'^2 + x' x = 2, of which both roots move with x.
TEST(DerivativeResets, TheChosenRootIsFollowed) {
  const ModelicaModel loaded = load_text(
      "model M Real x(start=0, fixed=true); initial equation der(x) = sqrt(2); equation der(x)^2 + der(x)*x = 2; "
      "when time > 1 then reinit(der(x), -3); end when; end M;");
  const auto reference = load_text(
      "model M Real x(start=0, fixed=true); equation "
      "der(x) = (-x + (if time > 1 then -1 else 1)*sqrt(x^2 + 8))/2; end M;");
  const Trajectory exact = run(reference.model, 2.0);
  for (const Method method : {Method::automatic, Method::radau, Method::bdf, Method::rodas5p, Method::taylor}) {
    const Trajectory result = simulate(loaded.model, {.stop = 2.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
    ASSERT_TRUE(result.status().ok()) << to_string(method) << ": " << result.status().message;
    for (const double t : {0.5, 1.0, 1.5, 2.0})
      EXPECT_NEAR(result.at(t, "x"), exact.at(t, "x"), 3e-7) << to_string(method) << t;
  }
}

TEST(DerivativeResets, TransitionsOfExplicitModesSetThem) {
  Model m("to and fro");
  const Expr x = m.variable("x", 0.0, {.fixed = true});
  m.initial_equation(der(x) == 2.0);
  ExplicitMode slow = m.mode("slow"), fast = m.mode("fast");
  slow.equation(der(x) * der(x) == 4.0);
  fast.equation(der(x) * der(x) == 9.0);
  slow.transition(x > 1.0).to(fast).reset(der(x), -3.0);
  fast.transition(x < -1.0).to(slow).reset(der(x), 2.0);
  m.start_in(slow);
  const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double back = 0.5 + 2.0 / 3.0;
  EXPECT_NEAR(run.at(1.0, "x"), 1.0 - 3.0 * 0.5, 1e-8);
  EXPECT_NEAR(run.at(2.0, "x"), -1.0 + 2.0 * (2.0 - back), 1e-8);
  EXPECT_NEAR(run.at(1.0, "der(x)"), -3.0, 1e-8);
}

TEST(DerivativeResets, AValueThatTheEquationsDoNotAllowIsTold) {
  const ModelicaModel loaded = load_text(
      "model M Real x(start=1, fixed=true); equation der(x) = -x; when time > 0.5 then reinit(der(x), 3); end when; "
      "end M;");
  const Trajectory result = simulate(loaded.model, {.stop = 1.0});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  ASSERT_EQ(result.events().size(), 1u);
  EXPECT_NE(result.events()[0].message.find("the reset of der(x) to 3 contradicts the equations"), std::string::npos)
      << result.events()[0].message;
  EXPECT_NEAR(result.at(1.0, "x"), std::exp(-1.0), 1e-5);
}

TEST(DerivativeResets, OnlyVariablesAndTheirDerivativesCanBeSet) {
  const std::string error = load_errors(
      "model M Real x, y; equation der(x) = -x; y = x; when time > 1 then reinit(x + y, 1); end when; end M;");
  EXPECT_NE(error.find("'reinit' needs a Real variable or its derivative, not 'x + y'"), std::string::npos) << error;
}

}  // namespace
}  // namespace saltus
