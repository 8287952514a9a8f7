// Fields with an infinite derivative: roots of something that becomes zero, at the start, at a surface, or for good.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>

#include "suites/every_method.hpp"

namespace saltus {
namespace {

const std::vector<Method> all_methods = suite::every_method();
// Errors of single steps add up, and sensitivities near roots are large: a hundred tolerances are allowed where exact solutions are compared.
constexpr double many = 100.0;

/// Runs with all methods and compares variables at the end.
void expect_end(const Model& m, double stop, const std::vector<std::pair<std::string, double>>& values) {
  for (const Method method : all_methods)
    for (const double tol : {1e-5, 1e-7}) {
      SCOPED_TRACE(to_string(method));
      const Trajectory run = simulate(m, {.stop = stop, .rtol = tol, .atol = tol, .method = method, .max_steps = 10'000});
      EXPECT_EQ(run.status().code, StatusCode::success) << run.status().message;
      for (const auto& [name, value] : values) EXPECT_NEAR(run.final()[run.index(name)], value, many * tol) << name;
    }
}

/// s with t = -2 s/k - 2 q/k^2 ln(1 - k s/q): the root of the level h' = q - k sqrt(h), h(0) = 0.
double root_of_level(double q, double k, double t) {
  double low = 0.0, high = q / k;
  for (int i = 0; i < 100; ++i) {
    const double s = 0.5 * (low + high);
    (-2.0 * s / k - 2.0 * q / (k * k) * std::log1p(-k * s / q) < t ? low : high) = s;
  }
  return low;
}

// The difference d of two levels, d' = -2 sign(d) sqrt(|d|), vanishes at t = sqrt(d(0)) and stays zero.
TEST(RootsOfZero, TwoTanksComeToRest) {
  Model m("tanks");
  const auto a = m.variable("a", 1.0), b = m.variable("b", 0.0);
  const auto flow = sign(a - b) * sqrt(abs(a - b));
  m.equation(der(a) == -flow);
  m.equation(der(b) == flow);
  expect_end(m, 3.0, {{"a", 0.5}, {"b", 0.5}});
  for (const Method method : {Method::dopri5, Method::dop853, Method::rodas5p}) {
    constexpr double tol = 1e-6;
    const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tol, .atol = tol, .method = method});
    ASSERT_FALSE(run.events().empty()) << to_string(method);
    const Event* const rest = &run.events().front();
    EXPECT_NEAR(rest->t, 1.0, 10.0 * std::sqrt(tol)) << to_string(method);  // d = (1 - t)^2: an error of d is one of sqrt(d) in time
  }
}

// Both are filled alike meanwhile, and on: they move along the surface.
TEST(RootsOfZero, TwoTanksAreFilledAlike) {
  Model m("tanks");
  const auto a = m.variable("a", 1.0), b = m.variable("b", 0.0);
  const auto flow = sign(a - b) * sqrt(abs(a - b));
  m.equation(der(a) == 0.1 - flow);
  m.equation(der(b) == 0.1 + flow);
  expect_end(m, 3.0, {{"a", 0.8}, {"b", 0.8}});
}

// A cube root, and rest that ends when something flows in: from there h' = q - k sqrt(h).
TEST(RootsOfZero, RestEnds) {
  Model cube("cube");
  const auto x = cube.variable("x", 1.0);
  cube.equation(der(x) == -1.0 * sign(x) * pow(abs(x), 1.0 / 3.0));
  expect_end(cube, 3.0, {{"x", 0.0}});

  constexpr double q = 0.7, k = 2.0;
  Model m("inflow");
  const auto d = m.variable("d", 1.0);
  m.equation(der(d) == -k * sign(d) * sqrt(abs(d)) + if_else(m.time() > 2.0, q, 0.0));
  const double s = root_of_level(q, k, 1.0);
  expect_end(m, 3.0, {{"d", s * s}});
}

TEST(RootsOfZero, AStartAtTheEdge) {
  constexpr double q = 1.3, k = 1.0;
  Model m("level");
  const auto h = m.variable("h", 0.0);
  m.equation(der(h) == q - k * sqrt(h));
  const double s = root_of_level(q, k, 2.0);
  expect_end(m, 2.0, {{"h", s * s}});
}

// The integral of acos from 0 to 1 is 1.
TEST(RootsOfZero, ASurfaceAtTheEdge) {
  Model m("edge");
  const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.0);
  m.equation(der(y) == if_else(x < 1.0, acos(x), 0.0));
  expect_end(m, 2.0, {{"y", 1.0}});
  Model tank("tank");
  const auto h = tank.variable("h", 1.0);
  tank.equation(der(h) == if_else(h > 0.0, -1.0 * sqrt(h), 0.0));
  expect_end(tank, 3.0, {{"h", 0.0}});
}

}  // namespace
}  // namespace saltus
