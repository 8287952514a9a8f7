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
