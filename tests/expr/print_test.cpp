#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <cstdlib>
#include <memory>

namespace saltus {
namespace {

struct PrintTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(PrintTest, ParenthesesWhereNeeded) {
  EXPECT_EQ(to_string(x + y * 2.0), "x + 2*y");
  EXPECT_EQ(to_string((x + y) * y), "y*(x + y)");  // the older operand comes first
  EXPECT_EQ(to_string(x - (y - 1.0)), "x - (y - 1)");
  EXPECT_EQ(to_string(x + (-1.0)), "x - 1");
  EXPECT_EQ(to_string(x / (y * 3.0)), "x/(3*y)");
  EXPECT_EQ(to_string(-(x * y)), "-x*y");
  EXPECT_EQ(to_string(pow(x, y + 1.0)), "x^(y + 1)");
  EXPECT_EQ(to_string(-((x - y) * (x - y))), "-(x - y)^2");
  EXPECT_EQ(to_string((x / y) * (x / y) * x), "x*(x/y)^2");
  EXPECT_EQ(to_string(x * x), "x*x");
  EXPECT_EQ(to_string(atan2(x, y)), "atan2(x, y)");
  EXPECT_EQ(to_string(der(x)), "der(x)");
}

TEST_F(PrintTest, RelationsReadAsWritten) {
  EXPECT_EQ(to_string(x > y), "x > y");
  EXPECT_EQ(to_string(x < y), "x < y");
  EXPECT_EQ(to_string(x >= 3.0), "x >= 3");
  EXPECT_EQ(to_string(x > 0.0 && !(y > 0.0)), "x > 0 and y <= 0");
  EXPECT_EQ(to_string(if_else(x > 0.0, x, y)), "if x > 0 then x else y");
  EXPECT_EQ(to_string(x == y + 1.0), "x = y + 1");
}

TEST_F(PrintTest, ChoicesThatHaveANameAreCalls) {
  EXPECT_EQ(to_string(abs(x)), "abs(x)");
  EXPECT_EQ(to_string(abs(x - y) < 3.0), "abs(x - y) < 3");
  EXPECT_EQ(to_string(max(x, y) + 1.0), "max(x, y) + 1");
  EXPECT_EQ(to_string(min(x, y)), "min(x, y)");
  EXPECT_EQ(to_string(max(x, 0.0)), "max(x, 0)");
  EXPECT_EQ(to_string(min(x, 2.5)), "min(x, 2.5)");
  EXPECT_EQ(to_string(sign(x)), "sign(x)");
  EXPECT_EQ(to_string(no_event(abs(x))), "abs(x)");
  EXPECT_EQ(to_string(equal(x, y)), "x == y");
  EXPECT_EQ(to_string(equal(x, 2.0)), "x == 2");
  EXPECT_EQ(to_string(!equal(x, y)), "not x == y");
  EXPECT_EQ(to_string(x > y || x < y), "x <> y");
  // what only looks alike stays as it is
  EXPECT_EQ(to_string(if_else(x > 0.0, x, y)), "if x > 0 then x else y");
  EXPECT_EQ(to_string(if_else(x > y, x, x + y)), "if x > y then x else x + y");
  EXPECT_EQ(to_string(x >= 0.0 && x <= 1.0), "x >= 0 and x <= 1");
  EXPECT_EQ(to_string(x > 0.0 && x < 0.0), "x > 0 and x < 0");
}

TEST_F(PrintTest, ATextStandsForItsNode) {
  const BoolExpr relation = x * 2.0 > y + 1.0;
  graph->set_text(relation.expr().id(), "2*x > limit");
  EXPECT_EQ(to_string(relation), "2*x > limit");
  EXPECT_EQ(to_string(!relation), "2*x <= limit");
  EXPECT_EQ(to_string(relation && x > 0.0), "2*x > limit and x > 0");
  graph->set_text(relation.expr().id(), "another");
  EXPECT_EQ(to_string(relation), "2*x > limit");  // the first one counts
  EXPECT_EQ(*graph->clone()->text_of(relation.expr().id()), "2*x > limit");
}

TEST_F(PrintTest, TheGraphKnowsWhichRelationWasWritten) {
  const BoolExpr below = x < 0.0;
  EXPECT_TRUE(graph->was_written(below.expr().id()));
  EXPECT_FALSE(graph->was_written((!below).expr().id()));
}

TEST_F(PrintTest, WhatMovesStandsFirstInARelation) {
  const Expr limit{graph, graph->symbol("limit", SymbolKind::parameter)}, t{graph, graph->symbol("t", SymbolKind::time)},
      count{graph, graph->symbol("count", SymbolKind::discrete)};
  EXPECT_EQ(to_string(limit > x), "x < limit");
  EXPECT_EQ(to_string(limit >= x), "x <= limit");
  EXPECT_EQ(to_string(!(limit > x)), "x >= limit");
  EXPECT_EQ(to_string(!(limit >= x)), "x > limit");
  EXPECT_EQ(to_string(limit > 2.0 * y), "2*y < limit");
  EXPECT_EQ(to_string(count > t), "t < count");
  EXPECT_EQ(to_string(x > limit), "x > limit");
  EXPECT_EQ(to_string(limit > count), "limit > count");  // neither moves
  EXPECT_EQ(to_string(x > t), "x > t");                  // both do
}

TEST_F(PrintTest, LongTextIsCut) {
  Expr e = x;
  for (int k = 0; k < 100000; ++k) e = sin(e) + y;
  const std::string text = to_string(e, 60);
  EXPECT_LT(text.size(), 400u);
  EXPECT_NE(text.find("…"), std::string::npos);
}

TEST(NumberText, ReadsBackExactly) {
  for (const double v : {0.1, 1.0 / 3.0, 1e300, 5e-324, -2.5, 123456789.0}) EXPECT_EQ(std::strtod(number_text(v).c_str(), nullptr), v);
}

}  // namespace
}  // namespace saltus
