#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>

#include <memory>

namespace saltus {
namespace {

struct ExprTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};

  std::size_t switching_functions(std::vector<Expr> f) {
    std::vector<NodeId> ids;
    for (const Expr& lock : locks_of(f)) {
      const NodeId id = switching_function(lock).id();
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids.size();
  }
};

TEST_F(ExprTest, AllWaysToCompareTwoValuesShareOneSwitchingFunction) {
  const std::vector<Expr> f{(x < y).expr(),  (y > x).expr(),  (x <= y).expr(), (y - x > 0.0).expr(), sign(x - y), sign(y - x),
                            abs(x - y),      abs(y - x),      max(x, y),       max(y, x),            min(x, y),
                            (2.0 * x - 2.0 * y > 0.0).expr(), (-3.0 * (x - y) >= 0.0).expr()};
  // 2x - 2y is a node of its own: constant factors are stripped from products, not from sums
  EXPECT_EQ(switching_functions({f.begin(), f.end() - 2}), 1u);
  EXPECT_EQ(switching_functions({f[0], f.back()}), 1u);
}

TEST_F(ExprTest, ComparisonsWithNumbersShareOneSwitchingFunction) {
  EXPECT_EQ(switching_functions({(x < 3.0).expr(), (3.0 < x).expr(), (x - 3.0 >= 0.0).expr(), (-x + 3.0 > 0.0).expr(),
                                 (x + (-3.0) > 0.0).expr()}),
            1u);
  EXPECT_EQ(switching_functions({(x < 3.0).expr(), (x < 4.0).expr()}), 2u);
}

TEST_F(ExprTest, OppositeRelationsAreNegations) {
  EXPECT_TRUE((x < y).same(!(x >= y)));
  EXPECT_TRUE((x <= y).same(!(x > y)));
  EXPECT_TRUE((y > x).same(x < y));
  EXPECT_TRUE((!(!(x < y))).same(x < y));
}

TEST_F(ExprTest, StrictAndWeakRelationsDiffer) { EXPECT_FALSE((x > y).same(x >= y)); }

TEST_F(ExprTest, SignHasThreeValues) {
  EXPECT_EQ(sign(Expr(0.0)).constant_value(), 0.0);
  EXPECT_EQ(sign(Expr(-3.0)).constant_value(), -1.0);
  EXPECT_EQ(locks_of(std::vector{sign(x)}).size(), 2u);
  EXPECT_TRUE(sign(x).same(if_else(x > 0.0, Expr(1.0), if_else(x < 0.0, Expr(-1.0), Expr(0.0)))));
}

// A relation on a number that conditions choose is made of these conditions, not a switching function of its own.
TEST_F(ExprTest, RelationsOnChosenNumbersAreConditions) {
  EXPECT_TRUE((sign(x) > 0.5).same(x > 0.0));
  EXPECT_TRUE((2.0 * sign(x) + 1.0 < 0.0).same(!(x > 0.0) && x < 0.0));
  EXPECT_TRUE((if_else(x > y, Expr(1.0), Expr(0.0)) > 0.5).same(x > y));
  EXPECT_TRUE((1.0 - if_else(x > y, Expr(1.0), Expr(0.0)) > 0.5).same(x <= y));
  EXPECT_TRUE((if_else(x > y, Expr(1.0), Expr(2.0)) > 0.5).same(BoolExpr(true)));
  EXPECT_TRUE((if_else(x > y, if_else(x > 0.0, Expr(3.0), Expr(0.0)), Expr(-1.0)) >= 1.0).same(x > y && x > 0.0));
  EXPECT_EQ(switching_functions({(if_else(x > 0.0, y, Expr(0.0)) > 0.5).expr()}), 2u);  // y is no number
}

TEST_F(ExprTest, LogicFoldsConstants) {
  EXPECT_TRUE(((x > y) && true).same(x > y));
  EXPECT_TRUE(((x > y) && false).same(BoolExpr(false)));
  EXPECT_TRUE(((x > y) || true).same(BoolExpr(true)));
}

TEST_F(ExprTest, MixingTwoModelsIsAnErrorThatNamesBoth) {
  auto other = std::make_shared<Graph>();
  const Expr z(other, other->symbol("z", SymbolKind::variable));
  try {
    (void)(x + z);
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'x'"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("'z'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(if_else(x > 0.0, x, z), UsageError);
  EXPECT_THROW((void)(x == z), UsageError);
}

TEST_F(ExprTest, NoEventHasNoLocks) {
  const Expr f = no_event(abs(x) + floor(y) + if_else(x > y && y > 0.0, x, y));
  EXPECT_TRUE(locks_of(std::vector{f}).empty());
  EXPECT_EQ(locks_of(std::vector{abs(x) + floor(y)}).size(), 2u);
}

TEST_F(ExprTest, SumIsBalanced) {
  std::vector<Expr> terms(1000, x);
  for (std::size_t k = 0; k < terms.size(); ++k) terms[k] = x * static_cast<double>(k);
  std::vector<int> depth(graph->size() + 2000, 0);
  const Expr s = sum(terms);
  for (NodeId id = 0; id < graph->size(); ++id) {
    int d = 0;
    graph->for_each_operand(id, [&](NodeId o) { d = std::max(d, depth[o] + 1); });
    depth[id] = d;
  }
  EXPECT_LE(depth[s.id()], 12);  // log2(1000) rounded up, plus the product, plus one
}

}  // namespace
}  // namespace saltus
