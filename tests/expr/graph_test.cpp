#include <gtest/gtest.h>
#include <saltus/expr/expr.hpp>

#include <cmath>
#include <memory>

namespace saltus {
namespace {

struct GraphTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(GraphTest, EqualExpressionsAreOneNode) {
  EXPECT_TRUE((x + y).same(y + x));
  EXPECT_TRUE((sin(x) * y).same(y * sin(x)));
  EXPECT_FALSE((x - y).same(y - x));
  const std::size_t size = graph->size();
  (void)(sin(x) * y + 1.0);
  (void)(1.0 + y * sin(x));
  EXPECT_EQ(graph->size(), size + 2);  // the constant 1 and the sum
}

TEST_F(GraphTest, ConstantsFold) {
  EXPECT_TRUE((Expr(2.0) * 3.0).is_constant());
  EXPECT_EQ((Expr(2.0) * 3.0 + (x - x)).constant_value(), 6.0);
  EXPECT_EQ(sin(Expr(1.0)).constant_value(), elementary::sin(1.0));
  EXPECT_EQ(if_else(Expr(1.0) > 0.0, Expr(4.0), Expr(5.0)).constant_value(), 4.0);
}

TEST_F(GraphTest, NeutralElementsVanish) {
  EXPECT_TRUE((x + 0.0).same(x));
  EXPECT_TRUE((x * 1.0).same(x));
  EXPECT_TRUE((x / 1.0).same(x));
  EXPECT_TRUE((x * 0.0).same(Expr(0.0)));
  EXPECT_TRUE((-(-x)).same(x));
  EXPECT_TRUE((x - (-y)).same(x + y));
  EXPECT_TRUE((-(x - y)).same(y - x));
  EXPECT_TRUE(pow(x, 1.0).same(x));
  EXPECT_TRUE(pow(x, 2.0).same(x * x));
  EXPECT_TRUE(pow(x, 0.5).same(sqrt(x)));
  EXPECT_TRUE(pow(x, -2.0).same(1.0 / (x * x)));
}

TEST_F(GraphTest, DivisionByTheNumberZeroIsKept) {
  EXPECT_FALSE((Expr(graph, graph->constant(0.0)) / (x - x)).same(Expr(0.0)));  // 0/0 is NaN, not 0
}

TEST_F(GraphTest, AMillionNodesAreSharedWithoutRecursion) {
  Expr e = x;
  for (int k = 0; k < 500000; ++k) e = sin(e) + y;
  EXPECT_EQ(graph->size(), 2u + 1000000u);
  const NodeId root = e.id();
  EXPECT_EQ(graph->reachable(std::span(&root, 1)).size(), 1000002u);
}

TEST_F(GraphTest, AClonedGraphHasTheSameNodesAndGrowsByItself) {
  const Expr e = sin(x) * y + 2.0;
  const std::size_t size = graph->size();
  const auto other = graph->clone();
  const Expr copy(other, e.id());
  EXPECT_TRUE((sin(Expr(other, x.id())) * Expr(other, y.id()) + 2.0).same(copy));
  EXPECT_EQ(other->size(), size);
  EXPECT_FALSE(exp(copy).same(exp(e)));
  EXPECT_EQ(other->size(), size + 1);
  EXPECT_EQ(graph->size(), size + 1);
  EXPECT_EQ(other->symbol_of(x.id()).name, graph->symbol_of(x.id()).name);
}

TEST_F(GraphTest, AFrozenGraphFindsItsNodesAndRefusesNewOnes) {
  const Expr e = sin(x) + 3.0;
  graph->freeze();
  const std::size_t size = graph->size();
  EXPECT_TRUE((sin(x) + 3.0).same(e));
  EXPECT_THROW(cos(x), UsageError);
  EXPECT_THROW(x + 4.0, UsageError);
  EXPECT_THROW(graph->symbol("z", SymbolKind::variable), UsageError);
  EXPECT_EQ(graph->size(), size);
  EXPECT_FALSE(graph->clone()->frozen());
}

TEST_F(GraphTest, ExternalCallsAreShared) {
  auto f = std::make_shared<ExternalFunction>();
  f->name = "f";
  f->inputs = 1;
  f->outputs = 2;
  f->values = [](std::span<const double> in, std::span<double> out) { out[0] = out[1] = in[0]; };
  const std::vector<Expr> a = call(f, std::vector{x}), b = call(f, std::vector{x});
  EXPECT_TRUE(a[0].same(b[0]));
  EXPECT_TRUE(a[1].same(b[1]));
  EXPECT_FALSE(a[0].same(a[1]));
  EXPECT_THROW(call(f, std::vector{x, y}), UsageError);
}

}  // namespace
}  // namespace saltus
