#include "problems/ode_problems.hpp"

#include <saltus/expr/derivative.hpp>

#include <cmath>

namespace saltus::problem {
namespace {

struct Symbols {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr variable(const std::string& name) { return {graph, graph->symbol(name, SymbolKind::variable)}; }
};

Problem with_solution(std::string name, RecordedEquations equations, double t0, double t1,
                      std::function<std::vector<double>(double)> exact) {
  Problem problem{.name = std::move(name),
                  .system = std::make_unique<RecordedSystem>(std::move(equations)),
                  .t0 = t0,
                  .t1 = t1,
                  .exact = std::move(exact)};
  problem.x0 = problem.exact(t0);
  problem.x1 = problem.exact(t1);
  return problem;
}

/// Place and velocity on an ellipse with half axis 1 and unit gravity, nearest point at t = 0.
std::vector<double> kepler_orbit(double t, double e) {
  double E = t;
  for (int i = 0; i < 50; ++i) E -= (E - e * std::sin(E) - t) / (1.0 - e * std::cos(E));
  const double root = std::sqrt(1.0 - e * e), rate = 1.0 / (1.0 - e * std::cos(E));
  return {std::cos(E) - e, root * std::sin(E), -std::sin(E) * rate, root * std::cos(E) * rate};
}

}  // namespace

Problem harmonic_oscillator() {
  Symbols s;
  const Expr x = s.variable("x"), v = s.variable("v");
  return with_solution("oscillator", {.time = s.t, .variables = {x, v}, .equations = {der(x) - v, der(v) + x}}, 0.0,
                       13.0, [](double t) {
                         return std::vector{std::cos(t), -std::sin(t)};
                       });
}

Problem exponential_of_sine(double w) {
  Symbols s;
  const Expr x = s.variable("x");
  return with_solution("exp(sin t)", {.time = s.t, .variables = {x}, .equations = {der(x) - w * cos(w * s.t) * x}}, 0.0,
                       5.0, [w](double t) { return std::vector{std::exp(std::sin(w * t))}; });
}

Problem logistic() {
  Symbols s;
  const Expr x = s.variable("x");
  return with_solution("logistic", {.time = s.t, .variables = {x}, .equations = {der(x) - x * (1.0 - x)}}, 0.0, 6.0,
                       [](double t) { return std::vector{1.0 / (1.0 + 9.0 * std::exp(-t))}; });
}

Problem kepler(double eccentricity) {
  Symbols s;
  const Expr x = s.variable("x"), y = s.variable("y"), u = s.variable("u"), v = s.variable("v");
  const Expr r2 = x * x + y * y;
  const Expr r3 = r2 * sqrt(r2);
  return with_solution(
      "kepler",
      {.time = s.t, .variables = {x, y, u, v}, .equations = {der(x) - u, der(y) - v, der(u) + x / r3, der(v) + y / r3}},
      0.0, 3.0 * M_PI, [eccentricity](double t) { return kepler_orbit(t, eccentricity); });
}

Problem arenstorf() {
  Symbols s;
  const Expr x = s.variable("x"), y = s.variable("y"), u = s.variable("u"), v = s.variable("v");
  const double mu = 0.012277471, nu = 1.0 - mu;
  const Expr a = (x + mu) * (x + mu) + y * y, b = (x - nu) * (x - nu) + y * y;
  const Expr d1 = a * sqrt(a), d2 = b * sqrt(b);
  Problem problem{
      .name = "arenstorf",
      .system = std::make_unique<RecordedSystem>(RecordedEquations{
          .time = s.t,
          .variables = {x, y, u, v},
          .equations = {der(x) - u, der(y) - v, der(u) - (x + 2.0 * v - nu * (x + mu) / d1 - mu * (x - nu) / d2),
                        der(v) - (y - 2.0 * u - nu * y / d1 - mu * y / d2)}}),
      .t0 = 0.0,
      .t1 = 17.0652165601579625588917206249,
      .x0 = {0.994, 0.0, 0.0, -2.00158510637908252240537862224},
  };
  problem.x1 = problem.x0;
  return problem;
}

Problem prothero_robinson(double lambda) {
  Symbols s;
  const Expr x = s.variable("x");
  return with_solution("prothero-robinson",
                       {.time = s.t, .variables = {x}, .equations = {der(x) + lambda * (x - sin(s.t)) - cos(s.t)}}, 0.0,
                       5.0, [](double t) { return std::vector{std::sin(t)}; });
}

}  // namespace saltus::problem
