// Variables of very different sizes: nominal values scale tolerances, and badly scaled models run.
#include <saltus/model/compiled_model.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

// 1e8 x = cos(t), y = 1e8 x' = -sin(t), and z = 0 follows. Rounding errors of y' are 1e-8 in z, so that fixed methods
// may refuse tolerances near it; `auto` must run.
TEST(Scaling, AModelWithFactorsOfTenToTheEighthRuns) {
  struct {
    const char* text;
    std::vector<Method> methods;
    double tightest;  // tolerance that can be met
  } const cases[] = {{"Real x, y, z; equation der(x) = 1e-8*y; der(y) = -1e8*x + 1e-8*z; 1e8*x = cos(time);",
                      {Method::automatic, Method::radau, Method::radau5},
                      1e-8},
                     {"Real z, y, x; equation cos(time) = 1e8*x; 1e8*der(x) = y; 1e8*der(y) = z - 1e16*x;",
                      {Method::automatic},
                      1e-6}};
  for (const auto& c : cases) {
    const ModelicaModel loaded = load_text(std::string("model M ") + c.text + " end M;");
    for (const Method method : c.methods)
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        if (tolerance < c.tightest) continue;
        SCOPED_TRACE(std::string(c.text) + " " + std::string(to_string(method)) + " " +
                     std::to_string(std::log10(tolerance)));
        const Trajectory run =
            simulate(loaded.model, {.stop = 1.0, .rtol = tolerance, .atol = tolerance, .method = method});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        EXPECT_NEAR(1e8 * run.at(1.0, "x"), std::cos(1.0), 50.0 * tolerance);
        EXPECT_NEAR(run.at(1.0, "y"), -std::sin(1.0), 50.0 * tolerance);
      }
  }
}

// An oscillation of 1e-6 is below an absolute tolerance of 1e-6 unless the nominal values say what is small.
TEST(Scaling, NominalValuesScaleTolerances) {
  const auto text = [](const std::string& equations) {
    return "model M Real x(start=1e-6, fixed=true, nominal=1e-6), v(start=0, fixed=true, nominal=1e-6); equation " +
           equations + " end M;";
  };
  for (const char* equations : {"der(x) = v; der(v) = -x;", "der(x) = v; der(v) + x = 0*time;"}) {
    const ModelicaModel loaded = load_text(text(equations));
    for (const MethodInfo& method : method_table())
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        SCOPED_TRACE(std::string(equations) + " " + std::string(method.name) + " " +
                     std::to_string(std::log10(tolerance)));
        const Trajectory run =
            simulate(loaded.model, {.stop = 6.0, .rtol = tolerance, .atol = tolerance, .method = method.method});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        EXPECT_NEAR(run.at(6.0, "x"), 1e-6 * std::cos(6.0), 200.0 * tolerance * 1e-6);  // errors grow with time
        EXPECT_NEAR(run.at(6.0, "v"), -1e-6 * std::sin(6.0), 200.0 * tolerance * 1e-6);
      }
  }
}

// An oscillation and a decay that share nothing but the steps: each is as accurate as its own tolerance asks, with
// every method.
TEST(Scaling, RelativeTolerancesOfSingleVariables) {
  for (const char* text :
       {"Real x(start=1, fixed=true), y(start=1, fixed=true); equation der(x) = -x; der(y) = -y*cos(20*time);",
        "Real x(start=1, fixed=true), y(start=1, fixed=true), w; equation der(x) = w; w + x = 0*w^2; "
        "der(y) + y*cos(20*time) = 0;"}) {
    const ModelicaModel loaded = load_text(std::string("model M ") + text + " end M;");
    const auto compiled = std::make_shared<CompiledModel>(loaded.model);
    std::vector<double> loose, tight;
    for (const VariableInfo& v : compiled->variables()) {
      loose.push_back(v.name == "x" ? 1e-8 : 1e-2);
      tight.push_back(v.name == "y" ? 1e-8 : 1e-2);
    }
    for (const MethodInfo& method : method_table()) {
      SCOPED_TRACE(std::string(text) + " " + std::string(method.name));
      const auto run = [&](const std::vector<double>& rtol) {
        return simulate(compiled,
                        {.stop = 3.0, .rtol = 1e-2, .rtol_each = rtol, .atol = 1e-12, .method = method.method});
      };
      const Trajectory with_loose = run(loose), with_tight = run(tight);
      if (method.family == MethodFamily::explicit_runge_kutta && with_loose.status().code == StatusCode::singular_mode)
        continue;
      ASSERT_TRUE(with_loose.status().ok()) << with_loose.status().message;
      ASSERT_TRUE(with_tight.status().ok()) << with_tight.status().message;
      EXPECT_NEAR(with_loose.at(3.0, "x"), std::exp(-3.0), 1e-6);
      EXPECT_NEAR(with_tight.at(3.0, "y"), std::exp(-std::sin(60.0) / 20.0), 1e-6);
      EXPECT_LT(with_loose.statistics().steps, with_tight.statistics().steps);  // y is the fast one
    }
  }
  const auto one = std::make_shared<CompiledModel>(load_text("model M Real x; equation der(x) = 1; end M;").model);
  EXPECT_THROW(simulate(one, {.rtol_each = {1e-3, 1e-3}}), UsageError);
  EXPECT_THROW(simulate(one, {.rtol_each = {0.0}}), UsageError);
}

TEST(Scaling, OrdersCanBeLimited) {
  const ModelicaModel loaded = load_text("model M Real x(start=1, fixed=true); equation der(x) = -x; end M;");
  for (const Method method : {Method::bdf, Method::radau, Method::taylor}) {
    const auto run = [&](int most) {
      return simulate(loaded.model, {.stop = 5.0, .rtol = 1e-10, .atol = 1e-10, .method = method, .max_order = most});
    };
    const Trajectory limited = run(method == Method::bdf ? 2 : 5), free = run(0);
    ASSERT_TRUE(limited.status().ok()) << limited.status().message;
    EXPECT_NEAR(limited.at(5.0, "x"), std::exp(-5.0), 1e-8);
    EXPECT_GT(limited.statistics().steps, 2 * free.statistics().steps) << to_string(method);
  }
  EXPECT_THROW(simulate(loaded.model, {.max_order = 1}), UsageError);
}

}  // namespace
}  // namespace saltus
