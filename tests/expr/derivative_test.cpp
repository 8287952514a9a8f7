// Numerical correctness of derivatives is tested through programs (tests/program); here: structure and rules.
#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <memory>

namespace saltus {
namespace {

struct DerivativeTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr p{graph, graph->symbol("p", SymbolKind::parameter)};
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(DerivativeTest, Rules) {
  EXPECT_TRUE(derivative(x * y, x).same(y));
  EXPECT_TRUE(derivative(x * x, x).same(x + x));
  EXPECT_TRUE(derivative(sin(x), x).same(cos(x)));
  EXPECT_TRUE(derivative(exp(x), x).same(exp(x)));
  EXPECT_TRUE(derivative(y, x).same(Expr(0.0)));
  EXPECT_TRUE(derivative(floor(x) * x, x).same(floor(x)));
  EXPECT_TRUE(derivative(abs(x), x).same(if_else(x > 0.0, Expr(1.0), Expr(-1.0))));
}

TEST_F(DerivativeTest, TotalDerivativeWithRespectToTime) {
  EXPECT_TRUE(der(x * y).same(y * der(x) + x * der(y)));
  EXPECT_TRUE(der(p * t).same(p));
  EXPECT_TRUE(der(p).same(Expr(0.0)));
  EXPECT_TRUE(der(Expr(3.0)).same(Expr(0.0)));
  EXPECT_EQ(to_string(der(x)), "der(x)");
  EXPECT_THROW(der(der(x)), UsageError);
}

TEST_F(DerivativeTest, JacobianHasTheExactPattern) {
  const std::vector<Expr> f{x * y, y + p, Expr(1.0), x - x + y * 0.0};
  const auto j = jacobian(f, std::vector{x, y});
  ASSERT_EQ(j.entries.size(), 3u);
  EXPECT_EQ(j.entries[0].row, 0);
  EXPECT_EQ(j.entries[0].column, 0);
  EXPECT_TRUE(j.entries[0].value.same(y));
  EXPECT_EQ(j.entries[2].row, 1);
  EXPECT_EQ(j.entries[2].column, 1);
}

TEST_F(DerivativeTest, AWideOutputIsSweptBackwardsInLinearSize) {
  // a chain of sums: forward propagation alone would make about n^2/2 nodes
  constexpr int n = 3000;
  std::vector<Expr> symbols;
  for (int k = 0; k < n; ++k) symbols.emplace_back(graph, graph->symbol("s", SymbolKind::variable));
  Expr chain = 0.0;
  for (const Expr& s : symbols) chain = chain + sin(s);
  const std::size_t before = graph->size();
  const auto j = jacobian(std::vector{chain}, symbols);
  ASSERT_EQ(j.entries.size(), static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k) EXPECT_TRUE(j.entries[k].value.same(cos(symbols[k])));
  EXPECT_LT(graph->size() - before, 4u * n);
}

TEST_F(DerivativeTest, RelaxedSwitchesAreMultilinear) {
  const Expr u(graph, graph->symbol("u", SymbolKind::variable)), w(graph, graph->symbol("w", SymbolKind::variable));
  const BoolExpr a = x > 0.0, b = y > 0.0;
  const std::pair<Expr, Expr> weights[] = {{a.expr(), u}, {b.expr(), w}};
  const auto r = relax(std::vector{if_else(a, Expr(1.0), Expr(-1.0)), if_else(a && b, Expr(3.0), Expr(1.0)), if_else(!a, x, y)}, weights);
  EXPECT_TRUE(r[0].same(u * 2.0 - 1.0)) << to_string(r[0]);
  EXPECT_TRUE(r[1].same(1.0 + (u * w) * 2.0)) << to_string(r[1]);
  EXPECT_TRUE(derivative(r[2], u).same(y - x)) << to_string(r[2]);
}

// x > 0 and x >= 0 differ at zero alone: what they decide together has two values beside it, and no third one takes part.
TEST_F(DerivativeTest, RelationsOnOneFunctionAreRelaxedTogether) {
  const Expr u(graph, graph->symbol("u", SymbolKind::variable)), w(graph, graph->symbol("w", SymbolKind::variable));
  const BoolExpr above = x > 0.0, below = x < 0.0, b = y > 0.0;
  const Expr weak = (x >= 0.0).expr();
  const std::pair<Expr, Expr> weights[] = {{above.expr(), u}, {b.expr(), w}, {weak, u}};
  const Expr three = if_else(above, Expr(5.0), if_else(below, Expr(2.0), y));
  const auto r = relax(std::vector{three, if_else(above || below, Expr(1.0), y), if_else(above && b, three, Expr(0.0)), three * weak}, weights);
  EXPECT_TRUE(r[0].same(2.0 + u * 3.0)) << to_string(r[0]);
  EXPECT_TRUE(r[1].same(Expr(1.0))) << to_string(r[1]);
  EXPECT_TRUE(derivative(derivative(r[2], u), u).same(Expr(0.0))) << to_string(r[2]);
  EXPECT_TRUE(derivative(derivative(r[2], u), w).same(Expr(5.0))) << to_string(r[2]);
  EXPECT_TRUE(r[3].same((2.0 + u * 3.0) * u)) << to_string(r[3]);  // a product of choices stays one
  const auto field = relax_field(std::vector{three * weak, if_else(b, y, three)}, weights);
  EXPECT_TRUE(field[0].same(u * 5.0)) << to_string(field[0]);  // in a field it is 5 on one side and 0 on the other
  EXPECT_TRUE(derivative(derivative(field[1], u), w).same(Expr(-3.0))) << to_string(field[1]);
  EXPECT_TRUE(relax(std::vector{sign(x)}, weights)[0].same(u * 2.0 - 1.0));
}

TEST_F(DerivativeTest, AChoiceWithinTheSameChoiceIsNotRelaxedAgain) {
  const Expr u(graph, graph->symbol("u", SymbolKind::variable)), w(graph, graph->symbol("w", SymbolKind::variable));
  const BoolExpr above = x > 0.0, b = y > 0.0;
  const std::pair<Expr, Expr> weights[] = {{above.expr(), u}, {(x >= 0.0).expr(), u}, {b.expr(), w}};
  const Expr inner = if_else(b && above, Expr(1.0), y);
  const auto r = relax(std::vector{if_else(above, sign(x) * 2.0, sign(x)), if_else(above, inner, Expr(3.0))}, weights);
  EXPECT_TRUE(r[0].same(u * 3.0 - 1.0)) << to_string(r[0]);
  EXPECT_TRUE(derivative(derivative(r[1], u), u).same(Expr(0.0))) << to_string(r[1]);
}

TEST_F(DerivativeTest, SubstituteReplacesSymbols) {
  const std::pair<Expr, Expr> replacement[] = {{x, y + 1.0}};
  EXPECT_TRUE(substitute(std::vector{x * x}, replacement)[0].same((y + 1.0) * (y + 1.0)));
}

}  // namespace
}  // namespace saltus
