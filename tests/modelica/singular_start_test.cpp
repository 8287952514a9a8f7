// Equations that are singular at the start alone, or have an infinite derivative there. Each model in several
// formulations, with every method that takes it and at three tolerances, against its exact solution.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

using Solution = std::function<double(double)>;

struct Case {
  const char* name;
  const char* text;
  std::vector<std::pair<const char*, Solution>> expected;
};

const double stop = 1.0;

double quotient(double t) {
  return t == 0.0 ? 1.0 : t / std::sin(t);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"sine times x", "Real x; equation sin(time)*x = time;", {{"x", quotient}}},
      {"sine times x, other side", "Real x; equation time = x*sin(time);", {{"x", quotient}}},
      {"quotient", "Real x; equation x = time/sin(time);", {{"x", quotient}}},
      {"sine as a variable", "Real x, s; equation s = sin(time); s*x = time;", {{"x", quotient}}},
      {"cubic",
       "Real x; equation sin(time)*(x + x^3) = 2*time;",
       {{"x",
         [](double t) {
           double x = 1.0;
           for (int k = 0; k < 50; ++k) x -= (x + x * x * x - 2.0 * quotient(t)) / (1.0 + 3.0 * x * x);
           return x;
         }}}},
      {"beside a state",
       "Real x, z(start=0, fixed=true); equation sin(time)*x = time; der(z) = x;",
       {{"x", quotient},
        {"z",
         [](double t) {
           double sum = 0.0;  // the integral, by Simpson's rule with an error of 1e-14
           const int n = 2000;
           for (int k = 0; k <= n; ++k) sum += (k == 0 || k == n ? 1.0 : k % 2 ? 4.0 : 2.0) * quotient(t * k / n);
           return sum * t / (3.0 * n);
         }}}},
      {"three unknowns",
       "Real x1, x2, x3; equation x1 + x2 + sin(time) = 0; x1 + 2*x2 - sin(time)*x3 = 0; x2 = 0.1*sin(time);",
       {{"x1", [](double t) { return -1.1 * std::sin(t); }},
        {"x2", [](double t) { return 0.1 * std::sin(t); }},
        {"x3", [](double) { return -0.9; }}}},
      {"three unknowns, other order",
       "Real x3, x1, x2; equation x2 = 0.1*sin(time); x1 + 2*x2 = x3*sin(time); x1 = -x2 - sin(time);",
       {{"x1", [](double t) { return -1.1 * std::sin(t); }}, {"x3", [](double) { return -0.9; }}}},
      {"root", "Real p = sqrt(time);", {{"p", [](double t) { return std::sqrt(t); }}}},
      {"root in an equation",
       "Real p; equation p + p^3 = sqrt(time) + time*sqrt(time);",
       {{"p", [](double t) { return std::sqrt(t); }}}},
      {"root beside a state",
       "Real p, z(start=0, fixed=true); equation p + p^3 = sqrt(time) + time*sqrt(time); der(z) = p;",
       {{"p", [](double t) { return std::sqrt(t); }}, {"z", [](double t) { return std::pow(t, 1.5) / 1.5; }}}},
  };
  return all;
}

bool refused(Method method, const Status& status) {
  return method != Method::automatic && status.code == StatusCode::singular_mode &&
         (status.message.find("explicit") != std::string::npos ||
          status.message.find("use method") != std::string::npos);
}

class SingularStarts : public testing::TestWithParam<int> {};

TEST_P(SingularStarts, FollowTheSolutionFromItsLimit) {
  const Case& c = cases()[static_cast<std::size_t>(GetParam())];
  SCOPED_TRACE(c.name);
  const ModelicaModel loaded = load_text(std::string("model M ") + c.text + " end M;");
  for (const MethodInfo& method : method_table())
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(std::string(method.name) + " at " + std::to_string(std::log10(tolerance)));
      const Trajectory run =
          simulate(loaded.model, {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method.method});
      if (refused(method.method, run.status())) continue;
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      for (const auto& [name, solution] : c.expected) {
        // the distance from the start at which the limit is taken is 1e-14, and a root of it 1e-7
        EXPECT_NEAR(run.at(0.0, name), solution(0.0), 1e-6) << name;
        EXPECT_NEAR(run.at(stop, name), solution(stop), 50.0 * tolerance * (1.0 + std::abs(solution(stop)))) << name;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(All, SingularStarts, testing::Range(0, static_cast<int>(cases().size())),
                         [](const testing::TestParamInfo<int>& which) {
                           std::string name = cases()[static_cast<std::size_t>(which.param)].name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return std::to_string(which.param) + "_" + name;
                         });

TEST(SingularStart, IsRefusedWhereTheSolutionHasNoLimit) {
  for (const char* text : {"Real x; equation sin(time)*x = 1;", "Real x; equation time*x = cos(time);",
                           "Real x, y; equation time*x = y; y = 1 + time;"}) {
    const Trajectory run = simulate(load_text(std::string("model M ") + text + " end M;").model, {.stop = 1.0});
    EXPECT_EQ(run.status().code, StatusCode::singular_mode) << text;
    EXPECT_NE(run.status().message.find("no limit"), std::string::npos) << text << ": " << run.status().message;
  }
}

// The algebraic equation is singular at the start, and near it the solution is below the absolute tolerance: a method
// that takes linear steps may lose it. `auto` and the iterative methods must not.
TEST(SingularStart, ASquareRootThatAnEquationDefines) {
  for (const char* text :
       {"Real x(start=1), z(start=0, fixed=true); equation x^2 = time; der(z) = x;",
        "Real z(start=0, fixed=true), x(start=1), w; equation w*x = time; w = x + 0*z; der(z) - w = 0;"})
    for (const Method method : {Method::automatic, Method::radau, Method::radau5, Method::bdf})
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        SCOPED_TRACE(std::string(text) + " " + std::string(to_string(method)) + " " +
                     std::to_string(std::log10(tolerance)));
        const Trajectory run = simulate(load_text(std::string("model M ") + text + " end M;").model,
                                        {.stop = 1.0, .rtol = tolerance, .atol = tolerance, .method = method});
        // at a loose tolerance the root is lost, which the status says
        if (tolerance > 1e-5 && !run.status().ok()) continue;
        ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
        EXPECT_NEAR(run.at(0.0, "x"), 0.0, 1e-6);
        for (const double t : {1e-3, 0.3, 1.0}) EXPECT_NEAR(run.at(t, "x"), std::sqrt(t), 1e-9 + 50.0 * tolerance);
        EXPECT_NEAR(run.at(1.0, "z"), 2.0 / 3.0, 50.0 * tolerance);
      }
}

TEST(SingularStart, WorksBackwardsInTime) {
  const ModelicaModel loaded = load_text("model M Real x; equation sin(time)*x = time; end M;");
  const Trajectory run = simulate(loaded.model, {.stop = -1.0, .rtol = 1e-6, .atol = 1e-6});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(-1.0, "x"), quotient(1.0), 1e-4);
}

// At h = 0 the derivative of the root is infinite: the run may end there with a status, and must not throw.
TEST(SingularPoints, ARootThatBecomesZeroBehindAnAlgebraicEquationEndsWithAStatus) {
  for (const char* text :
       {"Real h(start=1, fixed=true), q; equation der(h) = -q; q + 0.1*q^3 = if h > 0 then sqrt(h) else 0;",
        "Real q, h(start=1, fixed=true); equation q*(1 + 0.1*q^2) - (if h > 0 then sqrt(h) else 0) = 0; der(h) + q = "
        "0;"})
    for (const Method method : {Method::automatic, Method::radau, Method::bdf})
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        const Trajectory run = simulate(load_text(std::string("model M ") + text + " end M;").model,
                                        {.stop = 4.0, .rtol = tolerance, .atol = tolerance, .method = method});
        EXPECT_GT(run.status().t, 2.0);  // -h' <= sqrt(h), so that h(t) >= (1 - t/2)^2
        EXPECT_NEAR(run.final()[run.index("h")], 0.0, 50.0 * tolerance);
      }
}

}  // namespace
}  // namespace saltus
