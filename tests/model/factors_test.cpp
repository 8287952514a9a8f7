// Switching functions without factors whose sign is certain.
#include "model/factors.hpp"

#include <saltus/expr/graph.hpp>
#include <saltus/expr/print.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

class Factors : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr x = symbol("x", SymbolKind::variable), y = symbol("y", SymbolKind::variable),
             p = symbol("p", SymbolKind::parameter), q = symbol("q", SymbolKind::parameter);
  /// What is left, with p = 3 and q = -2.
  Expr left(const Expr& g) const { return plain_factors(g, {{p.id(), 3.0}, {q.id(), -2.0}}); }
};

TEST_F(Factors, WhoseSignIsCertainAreLeftOut) {
  for (const Expr& positive : {Expr(2.0) + 0.0 * x, pow(y, 2.0) + 1.0, y * y + 1.0, exp(y), exp(y) + y * y, cosh(x),
                               abs(y) + 1.0, if_else(2.0 * y / 2.0 > 0.0, 3.0 * y, -(y * 2.0) / 2.0) + 1.0, p + y * y,
                               sqrt(y * y + 2.0), p, -q, 1.0 - q * y * y, 1.0 / (exp(y) + 1.0), atan(exp(y)),
                               pow(exp(x), y), if_else(y > 0.0, exp(y), Expr(1.0) + y * y)}) {
    SCOPED_TRACE(to_string(positive));
    EXPECT_TRUE(left(x * positive).same(x));
    EXPECT_TRUE(left(positive * (x - y)).same(x - y));
    EXPECT_TRUE(left(x / positive).same(x));
    EXPECT_TRUE(left(-(x * positive)).same(-1.0 * x)) << to_string(left(-(x * positive)));
    EXPECT_TRUE(left(x * (-positive)).same(-1.0 * x)) << to_string(left(x * (-positive)));
    EXPECT_TRUE(left(pow(x, 3.0) * positive).same(x));
  }
}

TEST_F(Factors, WhoseSignIsNotCertainStay) {
  for (const Expr& other : {y, y * y, pow(y, 2.0) - 1.0, sin(y) + 1.0, abs(y), exp(y) - 1.0, sqrt(y), log(y),
                            sqrt(y) + 1.0, p - y * y, if_else(y > 0.0, Expr(1.0), Expr(-1.0)) + 0.5 * y}) {
    SCOPED_TRACE(to_string(other));
    EXPECT_TRUE(left(x * other).same(x * other)) << to_string(left(x * other));
  }
}

TEST_F(Factors, AFunctionWithoutOthersStaysAsItIs) {
  EXPECT_TRUE(left(exp(y)).same(exp(y)));
  EXPECT_TRUE(left(x).same(x));
  EXPECT_TRUE(left(x + exp(y)).same(x + exp(y)));
  EXPECT_TRUE(left(Expr(1.0)).same(Expr(1.0)));
}

}  // namespace
}  // namespace saltus
