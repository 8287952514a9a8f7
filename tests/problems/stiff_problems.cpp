#include "problems/stiff_problems.hpp"

#include <saltus/expr/derivative.hpp>

#include <cmath>

namespace saltus::problem {
namespace {

struct Symbols {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  std::vector<Expr> variables(int n) {
    std::vector<Expr> y;
    for (int i = 1; i <= n; ++i) y.emplace_back(graph, graph->symbol("y" + std::to_string(i), SymbolKind::variable));
    return y;
  }
};

Problem make(std::string name, RecordedEquations equations, double t1, std::vector<double> x0, std::vector<double> x1) {
  return {.name = std::move(name),
          .system = std::make_unique<RecordedSystem>(std::move(equations)),
          .t1 = t1,
          .x0 = std::move(x0),
          .x1 = std::move(x1)};
}

Problem explicit_ode(std::string name, Symbols& s, const std::vector<Expr>& y, const std::vector<Expr>& f, double t1,
                     std::vector<double> x0, std::vector<double> x1) {
  std::vector<Expr> equations;
  for (std::size_t i = 0; i < y.size(); ++i) equations.push_back(der(y[i]) - f[i]);
  return make(std::move(name), {.time = s.t, .variables = y, .equations = equations}, t1, std::move(x0), std::move(x1));
}

}  // namespace

Problem robertson() {
  Symbols s;
  const auto y = s.variables(3);
  const Expr a = 0.04 * y[0], b = 1e4 * y[1] * y[2], c = 3e7 * y[1] * y[1];
  return explicit_ode("robertson", s, y, {b - a, a - b - c, c}, 1e11, {1, 0, 0},
                      {0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050});
}

Problem hires() {
  Symbols s;
  const auto y = s.variables(8);
  const Expr r = 280.0 * y[5] * y[7];
  const Expr f7 = r - 1.81 * y[6];
  return explicit_ode(
      "hires", s, y,
      {-1.71 * y[0] + 0.43 * y[1] + 8.32 * y[2] + 0.0007, 1.71 * y[0] - 8.75 * y[1],
       -10.03 * y[2] + 0.43 * y[3] + 0.035 * y[4], 8.32 * y[1] + 1.71 * y[2] - 1.12 * y[3],
       -1.745 * y[4] + 0.43 * y[5] + 0.43 * y[6], -r + 0.69 * y[3] + 1.71 * y[4] - 0.43 * y[5] + 0.69 * y[6], f7, -f7},
      321.8122, {1, 0, 0, 0, 0, 0, 0, 0.0057},
      {0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
       0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2});
}

Problem oregonator() {
  Symbols s;
  const auto y = s.variables(3);
  const double k = 77.27, w = 0.161, q = 8.375e-6;
  return explicit_ode(
      "oregonator", s, y,
      {k * (y[1] - y[0] * y[1] + y[0] - q * y[0] * y[0]), (y[2] - (1.0 + y[0]) * y[1]) / k, w * (y[0] - y[2])}, 360.0,
      {1, 2, 3}, {0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3});
}

Problem van_der_pol() {
  Symbols s;
  const auto y = s.variables(2);
  return explicit_ode("van der Pol", s, y, {y[1], ((1.0 - y[0] * y[0]) * y[1] - y[0]) / 1e-6}, 2.0, {2, 0},
                      {0.1706167732170483e1, -0.8928097010247975e0});
}

Problem ring_modulator() {
  Symbols s;
  const auto y = s.variables(15);
  const double C = 1.6e-8, Cs = 2e-12, Cp = 1e-8, Lh = 4.45, Ls1 = 2e-3, Ls2 = 5e-4, Ls3 = 5e-4, R = 25e3, Rp = 50.0,
               Rg1 = 36.3, Rg2 = 17.3, Rg3 = 17.3, Ri = 50.0, Rc = 600.0;
  const auto q = [](const Expr& u) { return 40.67286402e-9 * (exp(17.7493332 * u) - 1.0); };
  const Expr u1 = 0.5 * sin(2000.0 * M_PI * s.t), u2 = 2.0 * sin(20000.0 * M_PI * s.t);
  const Expr q1 = q(y[2] - y[4] - y[6] - u2), q2 = q(-y[3] + y[5] - y[6] - u2), q3 = q(y[3] + y[4] + y[6] + u2),
             q4 = q(-y[2] - y[5] + y[6] + u2);
  return explicit_ode("ring modulator", s, y,
                      {(y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / R) / C,
                       (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / R) / C,
                       (y[9] - q1 + q4) / Cs,
                       (-y[10] + q2 - q3) / Cs,
                       (y[11] + q1 - q3) / Cs,
                       (-y[12] - q2 + q4) / Cs,
                       (-y[6] / Rp + q1 + q2 - q3 - q4) / Cp,
                       -y[0] / Lh,
                       -y[1] / Lh,
                       (0.5 * y[0] - y[2] - Rg2 * y[9]) / Ls2,
                       (-0.5 * y[0] + y[3] - Rg3 * y[10]) / Ls3,
                       (0.5 * y[1] - y[4] - Rg2 * y[11]) / Ls2,
                       (-0.5 * y[1] + y[5] - Rg3 * y[12]) / Ls3,
                       (-y[0] + u1 - (Ri + Rg1) * y[13]) / Ls1,
                       (-y[1] - (Rc + Rg1) * y[14]) / Ls1},
                      1e-3, std::vector<double>(15, 0.0),
                      {-0.2339057358486745e-1, -0.7367485485540825e-2, 0.2582956709291169,    -0.4064465721283450,
                       -0.4039455665149794,    0.2607966765422943,     0.1106761861269975,    0.2939904342435596e-6,
                       -0.2840029933642329e-7, 0.7267198267264553e-3,  0.7929487196960840e-3, -0.7255283495698965e-3,
                       -0.7941401968526521e-3, 0.7088495416976114e-4,  0.2390059075236570e-4});
}

Problem transistor_amplifier() {
  Symbols s;
  const auto y = s.variables(8);
  const double ub = 6.0, alpha = 0.99, r0 = 1000.0, r = 9000.0;
  const auto g = [](const Expr& u) { return 1e-6 * (exp(u / 0.026) - 1.0); };
  const Expr ue = 0.1 * sin(200.0 * M_PI * s.t), g1 = g(y[1] - y[2]), g2 = g(y[4] - y[5]);
  const auto c = [](int k) { return k * 1e-6; };
  const Expr i1 = c(1) * (der(y[1]) - der(y[0])), i3 = c(3) * (der(y[4]) - der(y[3])),
             i5 = c(5) * (der(y[7]) - der(y[6]));
  Problem problem =
      make("transistor amplifier",
           {.time = s.t,
            .variables = y,
            .equations = {i1 - (y[0] - ue) / r0, -i1 - (-ub / r + 2.0 * y[1] / r - (alpha - 1.0) * g1),
                          -c(2) * der(y[2]) - (y[2] / r - g1), i3 - (-ub / r + y[3] / r + alpha * g1),
                          -i3 - (-ub / r + 2.0 * y[4] / r - (alpha - 1.0) * g2), -c(4) * der(y[5]) - (y[5] / r - g2),
                          i5 - (-ub / r + y[6] / r + alpha * g2), -i5 - y[7] / r}},
           0.2, {0, ub / 2, ub / 2, ub, ub / 2, ub / 2, ub, 0},
           {-0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241, 2.704617865010554,
            2.761837778393145, 4.770927631616772, 1.236995868091548});
  problem.xp0 = {51.338775,    51.338775,   -ub / 2 / (c(2) * r), -24.9757667, -24.9757667, -ub / 2 / (c(4) * r),
                 -10.00564453, -10.00564453};
  return problem;
}

Problem index_1() {
  Symbols s;
  const auto v = s.variables(2);
  const Expr x = v[0], y = v[1];
  const auto exact = [](double t) {
    const double value = std::exp(std::sin(t));
    return std::vector{value, value * value};
  };
  Problem problem =
      make("index 1", {.time = s.t, .variables = v, .equations = {der(x) - y * cos(s.t) / x, y * y - x * x * x * x}},
           5.0, exact(0.0), exact(5.0));
  problem.exact = exact;
  problem.xp0 = {1.0, 2.0};
  return problem;
}

Problem implicit_index_1() {
  Symbols s;
  const auto v = s.variables(2);
  const Expr x = v[0], y = v[1], c = cos(s.t) * x;
  const auto exact = [](double t) {
    const double value = std::exp(std::sin(t));
    return std::vector{value, std::cos(t) * value * value};
  };
  Problem problem = make("implicit index 1",
                         {.time = s.t,
                          .variables = v,
                          .equations = {der(x) + 0.1 * der(x) * der(x) * der(x) - c - 0.1 * c * c * c, y - x * der(x)}},
                         5.0, exact(0.0), exact(5.0));
  problem.exact = exact;
  problem.xp0 = {1.0, 2.0};
  return problem;
}

Problem fast_index_1() {
  Symbols s;
  const auto v = s.variables(2);
  const Expr x = v[0], y = v[1], sine = sin(4.0 * s.t), c = 4.0 * cos(4.0 * s.t);
  const auto exact = [](double t) { return std::vector{std::sin(4.0 * t), 4.0 * std::cos(4.0 * t)}; };
  Problem problem = make("fast index 1",
                         {.time = s.t,
                          .variables = v,
                          .equations = {der(x) - y - 0.1 * (x * x - sine * sine),
                                        y + 0.01 * y * y * y + x - c - 0.01 * c * c * c - sine}},
                         5.0, exact(0.0), exact(5.0));
  problem.exact = exact;
  problem.xp0 = {4.0, 0.0};
  return problem;
}

Problem heat(int n) {
  Symbols s;
  const auto u = s.variables(n + 2);
  const double scale = (n + 1.0) * (n + 1.0);
  std::vector<Expr> equations = {u[0]};
  for (int i = 1; i <= n; ++i) equations.push_back(der(u[i]) - scale * (u[i - 1] - 2.0 * u[i] + u[i + 1]));
  equations.push_back(u[n + 1]);
  const double lambda = 4.0 * scale * std::pow(std::sin(M_PI / (2.0 * (n + 1.0))), 2);
  const auto exact = [=](double t) {
    std::vector<double> x(static_cast<std::size_t>(n) + 2, 0.0);
    for (int i = 1; i <= n; ++i) x[i] = std::exp(-lambda * t) * std::sin(M_PI * i / (n + 1.0));
    return x;
  };
  Problem problem = make("heat", {.time = s.t, .variables = u, .equations = equations}, 0.2, exact(0.0), exact(0.2));
  problem.exact = exact;
  problem.xp0 = problem.x0;
  for (double& slope : problem.xp0) slope *= -lambda;
  return problem;
}

}  // namespace saltus::problem
