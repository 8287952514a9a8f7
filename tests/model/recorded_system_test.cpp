#include <gtest/gtest.h>
#include <saltus/dae/solution_series.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <cmath>
#include <memory>

#include "suites/check_derivatives.hpp"

namespace saltus {
namespace {

struct RecordedSystemTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr p{graph, graph->symbol("p", SymbolKind::parameter)};
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(RecordedSystemTest, ExplicitEquationsAreRecognisedInAnyOrderAndScale) {
  // 2 y' = -x + t,  p x' = y  as residuals in the "wrong" order
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {x - t + 2.0 * der(y), p * der(x) - y}, .data = {p}}, {4.0});
  ASSERT_TRUE(s.structure().explicit_ode);
  EXPECT_TRUE(s.structure().linear);
  EXPECT_TRUE(s.structure().constant_jacobian);
  double xp[2], F[2];
  s.rhs(3.0, std::vector{1.0, 2.0}, xp);
  EXPECT_EQ(xp[0], 0.5);
  EXPECT_EQ(xp[1], 1.0);
  s.residual(3.0, std::vector{1.0, 2.0}, xp, F);
  EXPECT_EQ(F[0], 0.0);
  EXPECT_EQ(F[1], 0.0);
  EXPECT_THROW(s.set_data(std::vector{0.0}), UsageError);
}

// All stages in one program against one evaluation after the other: the same formulas, rounded differently (fused operations).
TEST_F(RecordedSystemTest, EvaluatesAllStagesOfAStepAtOnce) {
  const Expr lock = if_else(x > 0.0, Expr(2.0), Expr(3.0));
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {der(x) - sin(t) * y * lock, der(y) + p * x * y - cos(x)}, .data = {p}},
                   {0.7});
  // the classical method of order four, with a last stage at the end
  const std::vector<double> c{0.0, 0.5, 0.5, 1.0, 1.0};
  const std::vector<double> a{0,   0, 0, 0, 0,  //
                              0.5, 0, 0, 0, 0,  //
                              0,   0.5, 0, 0, 0,  //
                              0,   0, 1, 0, 0,  //
                              1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6, 0};
  const std::vector<double> dense{1, -1, 0, 1, 0, 2, 0, 0.5, 0, 0};  // any weights, for two powers
  const std::size_t nodes = graph->size();
  StageEvaluator* at_once = s.stages({.stages = 5, .a = a, .c = c, .dense_degree = 2, .dense = dense});
  EXPECT_EQ(graph->size(), nodes);  // the model does not grow with what is made from it
  if (!at_once) GTEST_SKIP() << "no native code on this machine";
  EXPECT_EQ(s.stages({.stages = 5, .a = a, .c = c, .dense_degree = 2, .dense = dense}), at_once);
  EXPECT_NE(s.stages({.stages = 5, .a = a, .c = c}), at_once);
  const double t0 = 0.3, h = 0.2;
  const std::vector<double> x0{0.4, -1.1};
  std::vector<std::vector<double>> k(5, std::vector<double>(2)), wanted = k;
  std::vector<double> before_last(2), last(2), powers(4), argument(2), argument_before(2);
  s.rhs(t0, x0, k[0]);
  wanted[0] = k[0];
  const std::vector<double*> rows{k[0].data(), k[1].data(), k[2].data(), k[3].data(), k[4].data()};
  at_once->evaluate(t0, h, t0 + h, x0, rows, before_last, last, powers);
  constexpr double rounding = 1e-15;
  for (std::size_t i = 1; i < 5; ++i) {
    argument_before = argument;
    for (std::size_t j = 0; j < 2; ++j) {
      argument[j] = x0[j];
      for (std::size_t l = 0; l < i; ++l) argument[j] += h * a[5 * i + l] * wanted[l][j];
    }
    s.rhs(t0 + c[i] * h, argument, wanted[i]);
    for (std::size_t j = 0; j < 2; ++j) EXPECT_NEAR(k[i][j], wanted[i][j], rounding);
  }
  for (std::size_t j = 0; j < 2; ++j) {
    EXPECT_NEAR(before_last[j], argument_before[j], rounding);
    EXPECT_NEAR(last[j], argument[j], rounding);
    for (std::size_t power = 0; power < 2; ++power) {
      double sum = 0.0;
      for (std::size_t i = 0; i < 5; ++i) sum += dense[2 * i + power] * wanted[i][j];
      EXPECT_NEAR(powers[2 * power + j], h * sum, rounding);
    }
  }
}

TEST_F(RecordedSystemTest, KnowsWhichVariablesItsGuardsRead) {
  const Expr z(graph, graph->symbol("z", SymbolKind::variable));
  RecordedSystem s({.time = t,
                    .variables = {x, y, z},
                    .equations = {der(x) - y, y * y - x, der(z) + z * y},
                    .guards = {der(z) - t, x * x - 1.0}});
  EXPECT_EQ(s.structure().guard_variables, (std::vector{0, 2}));
}

TEST_F(RecordedSystemTest, LinearGuardsFollowDataAndLocks) {
  const Expr lock = (x > 1.0).expr();
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {der(x) - y, der(y) + x}, .data = {p}, .locks = {lock},
                    .guards = {p * x + 3.0 * t - 2.0, x * y, y - lock}},
                   {4.0}, {0.0});
  const auto check = [&](double data, double locked) {
    for (int again = 0; again < 2; ++again) {
      const auto linear = s.linear_guards();
      ASSERT_EQ(linear.size(), 2u);  // x y is not
      EXPECT_EQ(linear[0].guard, 0);
      EXPECT_EQ(linear[0].constant, -2.0);
      EXPECT_EQ(linear[0].time, 3.0);
      ASSERT_EQ(linear[0].coefficients.size(), 1u);
      EXPECT_EQ(linear[0].coefficients[0], data);
      EXPECT_EQ(linear[1].guard, 2);
      EXPECT_EQ(linear[1].constant, -locked);
    }
  };
  check(4.0, 0.0);
  s.set_data(std::vector{5.0});
  check(5.0, 0.0);
  s.set_locks(std::vector{1.0});
  check(5.0, 1.0);
  s.set_locks(std::vector{1.0});
  RecordedSystem moved = std::move(s);
  s = std::move(moved);
  check(5.0, 1.0);
  s.set_locks(std::vector{0.0});
  s.set_data(std::vector{-1.0});
  check(-1.0, 0.0);
  EXPECT_THROW(s.set_locks(std::vector{0.0, 1.0}), UsageError);
  EXPECT_THROW(s.set_data(std::vector<double>{}), UsageError);
  check(-1.0, 0.0);
}

TEST_F(RecordedSystemTest, OnlyExplicitSystemsHaveRightHandSides) {
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {der(x) - y, y - x}});
  double xp[2];
  for (int again = 0; again < 2; ++again) EXPECT_THROW(s.rhs(0.0, std::vector{1.0, 2.0}, xp), UsageError);
  EXPECT_TRUE(s.linear_guards().empty());
  s.guards(0.0, std::vector{1.0, 2.0}, std::vector{0.0, 0.0}, {});
}

TEST_F(RecordedSystemTest, AZeroCoefficientMeansNoExplicitForm) {
  RecordedSystem s({.time = t, .variables = {x}, .equations = {p * der(x) - x}, .data = {p}}, {0.0});
  EXPECT_FALSE(s.structure().explicit_ode);
  double xp[1];
  EXPECT_THROW(s.rhs(0.0, std::vector{1.0}, xp), UsageError);
}

TEST_F(RecordedSystemTest, StructureFollowsTheLocks) {
  // if l then x - y = 0 else y - 1 = 0: in one branch x does not occur
  const BoolExpr l = t > 1.0;
  RecordedSystem s({.time = t,
                    .variables = {x, y},
                    .equations = {der(x) + y, if_else(l, x - y, y - 1.0)},
                    .locks = locks_of(std::vector{l.expr()})},
                   {}, {1.0});
  EXPECT_EQ(s.structural_locks(), (std::vector{0}));
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 3);
  s.set_locks(std::vector{0.0});
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 2);
  double Fx[2], Fxp[1];
  s.jacobian(0.0, std::vector{5.0, 6.0}, std::vector{0.0, 0.0}, Fx, Fxp);
  EXPECT_EQ(Fx[0], 1.0);
  EXPECT_EQ(Fx[1], 1.0);
  s.set_locks(std::vector{1.0});
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 3);
}

TEST_F(RecordedSystemTest, StructureFollowsADiscreteVariableThatChooses) {
  const Expr q(graph, graph->symbol("q", SymbolKind::discrete)), gain(graph, graph->symbol("gain", SymbolKind::discrete));
  RecordedSystem s({.time = t,
                    .variables = {x, y},
                    .equations = {der(x) + gain * y, if_else(BoolExpr(q), x - y, y - 1.0)},
                    .data = {q, gain}},
                   {1.0, 0.0});
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 3);  // a gain that happens to be zero is no zero of the structure
  s.set_data(std::vector{0.0, 0.0});
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 2);
  const Structure* before = &s.structure();
  s.set_data(std::vector{0.0, 2.0});
  EXPECT_EQ(&s.structure(), before);
  s.set_data(std::vector{1.0, 2.0});
  EXPECT_EQ(s.structure().state_pattern.nonzeros(), 3);
  EXPECT_TRUE(s.structural_locks().empty());
}

TEST_F(RecordedSystemTest, LocksThatOnlyChangeValuesAreNotStructural) {
  RecordedSystem s({.time = t,
                    .variables = {x},
                    .equations = {der(x) + if_else(x > 0.0, Expr(0.1), Expr(0.0)) + if_else(x > 1.0, 2.0 * x, 3.0 * x)},
                    .locks = locks_of(std::vector{(x > 0.0).expr(), (x > 1.0).expr()})},
                   {}, {0.0, 0.0});
  EXPECT_TRUE(s.structural_locks().empty());
}

TEST_F(RecordedSystemTest, TaylorCoefficientsOfTheResidualAndItsJacobians) {
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {der(x) * y - sin(t), x * x + y * y - 1.0}});
  // along x = cos(s), y = sin(s) + 0 at t = 0.3 + s: coefficients by hand at level 2
  const double a = 0.3;
  const auto c = [&](int k) { return std::cos(a + k * M_PI / 2) / std::tgamma(k + 1.0); };
  const auto n = [&](int k) { return std::sin(a + k * M_PI / 2) / std::tgamma(k + 1.0); };
  std::vector<double> X;
  for (int k = 0; k <= 3; ++k) {
    X.push_back(c(k));
    X.push_back(n(k));
  }
  std::vector<double> F(6), Fx(3 * 3), Fxp(3);
  s.taylor_jacobian(a, 2, X, F, Fx, Fxp);
  // F1 = -sin^2(t) - sin(t), F2 = 0
  EXPECT_NEAR(F[0], -std::sin(a) * std::sin(a) - std::sin(a), 1e-15);
  EXPECT_NEAR(F[2], -2.0 * std::sin(a) * std::cos(a) - std::cos(a), 1e-15);
  EXPECT_NEAR(F[4], -std::cos(2.0 * a) + std::sin(a) / 2.0, 1e-15);
  for (const int i : {1, 3, 5}) EXPECT_NEAR(F[i], 0.0, 1e-15);
  // Fx in column order: dF2/dx = 2x; dF1/dy = x', dF2/dy = 2y.  Fxp: dF1/dx' = y
  EXPECT_NEAR(Fx[3 * 1 + 0], 2.0 * c(1), 1e-15);
  EXPECT_NEAR(Fx[3 * 2 + 1], 3.0 * c(3), 1e-15);
  EXPECT_NEAR(Fxp[2], n(2), 1e-15);
  std::vector<double> again(6);
  s.taylor(a, 2, X, again);
  EXPECT_EQ(again, F);
}

TEST_F(RecordedSystemTest, SolutionSeriesAndGuards) {
  RecordedSystem s({.time = t, .variables = {x, y}, .equations = {der(x) - y, der(y) + x}, .guards = {x * y, der(x) - t}});
  std::vector<double> X(2 * 6);
  X[0] = 1.0;
  s.solution_taylor(0.5, 5, X);
  EXPECT_NEAR(X[2 * 4], 1.0 / 24.0, 1e-16);
  EXPECT_NEAR(X[2 * 5 + 1], -1.0 / 120.0, 1e-16);
  std::vector<double> G(2 * 4);
  s.guards_taylor(0.5, 3, X, G);
  // cos*(-sin) = -sin(2s)/2 = -s + 2/3 s^3;   der(x) becomes y = -sin: guard 2 is -sin(s) - 0.5 - s
  EXPECT_NEAR(G[2 * 1], -1.0, 1e-15);
  EXPECT_NEAR(G[2 * 3], 2.0 / 3.0, 1e-15);
  EXPECT_NEAR(G[1], -0.5, 1e-15);
  EXPECT_NEAR(G[2 * 1 + 1], -2.0, 1e-15);
  double g[2];
  s.guards(0.5, std::vector{1.0, 0.0}, {}, g);
  EXPECT_EQ(g[1], -0.5);
}

TEST_F(RecordedSystemTest, SolutionSeriesAsNativeCodeAndByTheSeriesEvaluatorAgree) {
  // y^2 and the quotient are convolutions; the relation is locked, whatever its value at the point.
  const auto equations = [&] {
    return RecordedEquations{.time = t,
                             .variables = {x, y},
                             .equations = {der(x) - y * y + sin(t), der(y) + x / (1.0 + if_else(x > 2.0, y, t))},
                             .locks = locks_of(std::vector{if_else(x > 2.0, y, t)})};
  };
  for (const double lock : {0.0, 1.0}) {
    RecordedSystem automatic(equations(), {}, {lock}), interpreted(equations(), {}, {lock}, {.backend = Backend::interpreter});
    // 100 is beyond the size for which native code is made
    for (const std::size_t order : {9, 4, 9, 100}) {
      std::vector<double> a(2 * (order + 1)), b(a.size());
      a[0] = b[0] = 0.4;
      a[1] = b[1] = 0.3;
      automatic.solution_taylor(0.5, static_cast<int>(order), a);
      interpreted.solution_taylor(0.5, static_cast<int>(order), b);
      // a coefficient is made of some 10 k roundings of terms not much larger than itself
      for (std::size_t k = 0; k < a.size(); ++k)
        EXPECT_NEAR(a[k], b[k], 1e-15 * 10.0 * static_cast<double>(order) * (1.0 + std::abs(b[k]))) << k;
    }
  }
}

TEST_F(RecordedSystemTest, TimeDerivative) {
  RecordedSystem s({.time = t, .variables = {x}, .equations = {der(x) - sin(2.0 * t) * x}});
  double Ft[1];
  s.time_derivative(0.4, std::vector{3.0}, std::vector{0.0}, Ft);
  EXPECT_NEAR(Ft[0], -2.0 * std::cos(0.8) * 3.0, 1e-15);
}

// As many derivatives as equations, each in one equation only, but two of them in the same: the last equation is a constraint.
TEST(RecordedSystem, TwoDerivativesInOneEquationAreNotAnExplicitForm) {
  Model m("bead");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 1.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0);
  const std::vector<Expr> equations{der(x) - u, der(y) - v, der(v) - der(u) + 4.0, x + y - 1.0};
  RecordedSystem system({m.time(), {x, y, u, v}, equations});
  EXPECT_FALSE(system.structure().explicit_ode);
}

// A sliding bead on a rotating rod: x^2 + y^2 = 1 with a drag that a lock and a parameter decide, index 3.
TEST_F(RecordedSystemTest, DifferentiatedEquationsHoldOnTheSolution) {
  const Expr u{graph, graph->symbol("u", SymbolKind::variable)}, v{graph, graph->symbol("v", SymbolKind::variable)},
      force{graph, graph->symbol("force", SymbolKind::variable)};
  const BoolExpr fast = u > 0.5;
  const Expr drag = p * if_else(fast, u, 2.0 * u) + 0.1 * sin(t);
  RecordedSystem s({.time = t,
                    .variables = {x, y, u, v, force},
                    .equations = {der(x) - u, der(y) - v, der(u) + x * force + drag, der(v) + y * force + 9.81, x * x + y * y - 1.0},
                    .data = {p},
                    .locks = {fast.expr()}},
                   {0.3}, {0.0});
  const StructuralAnalysis analysis = analyse_structure(s.structure());
  ASSERT_EQ(analysis.equation_offset, (std::vector{1, 1, 0, 0, 2}));
  ASSERT_EQ(analysis.variable_offset, (std::vector{2, 2, 1, 1, 0}));
  const std::vector<int> states{0, 2, 0, 0, 0};  // y and y'
  System* extended = s.differentiated({analysis.equation_offset, analysis.variable_offset, states});
  ASSERT_NE(extended, nullptr);
  ASSERT_EQ(extended->structure().variables, 11);
  ASSERT_EQ(extended->structure().equations, 11);
  EXPECT_TRUE(extended->structure().constant_mass);
  EXPECT_EQ(extended->variable_name(6), "der(der(x))");
  const double when = 0.7;
  for (const double lock : {0.0, 1.0})
    for (const double parameter : {0.3, 0.8}) {
      s.set_locks(std::vector{lock});
      s.set_data(std::vector{parameter});
      EXPECT_EQ(s.differentiated({analysis.equation_offset, analysis.variable_offset, states}), extended);
      const std::vector<double> point{0.8, -0.6, 0.3, 0.4, 0.0};
      const CharacteristicValues values = characteristic_values(s, when, point);
      std::vector<double> X, F(11), Fx(extended->structure().state_pattern.row.size()), Fxp(extended->structure().derivative_pattern.row.size());
      ASSERT_TRUE(solution_series(s, when, point, values, 3, X));
      std::vector<double> Y(X.begin(), X.begin() + 5), Yp(X.begin() + 5, X.begin() + 10);
      for (std::size_t j = 0; j < 5; ++j)
        for (int order = 1; order <= analysis.variable_offset[j]; ++order) {
          const double factorial = order == 2 ? 2.0 : 1.0;
          Y.push_back(factorial * X[static_cast<std::size_t>(order) * 5 + j]);
          Yp.push_back(factorial * (order + 1) * X[static_cast<std::size_t>(order + 1) * 5 + j]);
        }
      extended->residual(when, Y, Yp, F);
      for (std::size_t i = 0; i < 11; ++i) EXPECT_NEAR(F[i], 0.0, 1e-11) << i << " " << lock << " " << parameter;
      // the Jacobian, against difference quotients
      extended->jacobian(when, Y, Yp, Fx, Fxp);
      const SparsePattern& pattern = extended->structure().state_pattern;
      for (int j = 0; j < 11; ++j) {
        std::vector<double> more = Y, less = Y, F_more(11), F_less(11), column(11, 0.0);
        const double h = 1e-6 * (1.0 + std::abs(Y[static_cast<std::size_t>(j)]));
        more[static_cast<std::size_t>(j)] += h;
        less[static_cast<std::size_t>(j)] -= h;
        extended->residual(when, more, Yp, F_more);
        extended->residual(when, less, Yp, F_less);
        for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) column[static_cast<std::size_t>(pattern.row[k])] = Fx[static_cast<std::size_t>(k)];
        for (std::size_t i = 0; i < 11; ++i) EXPECT_NEAR(column[i], (F_more[i] - F_less[i]) / (2.0 * h), 1e-7) << i << " " << j;
      }
    }
}

}  // namespace
}  // namespace saltus
