// Derivatives whose factor is zero for the present parameters leave their equations.
#include "model/zero_factors.hpp"

#include <saltus/expr/expr.hpp>
#include <saltus/expr/operators.hpp>
#include <saltus/expr/print.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace saltus {
namespace {

class ZeroFactorsOf : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr v = symbol("v", SymbolKind::variable), i = symbol("i", SymbolKind::variable),
             C = symbol("C", SymbolKind::parameter), k = symbol("k", SymbolKind::parameter);
  std::unordered_map<NodeId, double> values{{C.id(), 0.0}, {k.id(), 2.0}};

  std::string without(const Expr& residual) { return to_string(ZeroFactors(graph, values).without(residual)); }
};

TEST_F(ZeroFactorsOf, AProductWithADerivativeLeaves) {
  EXPECT_EQ(without(i - C * sqrt(v) * der(v)), to_string(i));
  EXPECT_EQ(without(C * v * der(v) + (k - 2.0) * i * der(i) + i), to_string(i));
}

TEST_F(ZeroFactorsOf, OtherProductsStay) {
  for (const Expr& e : {i - k * sqrt(v) * der(v),  // not zero
                        i - C * sqrt(v),           // no derivative
                        i - C * der(v)}) {         // a factor of parameters alone
    EXPECT_EQ(without(e), to_string(e));
  }
}

TEST_F(ZeroFactorsOf, WhatCountedIsNamed) {
  ZeroFactors zeros(graph, values);
  zeros.without(i - C * sqrt(v) * der(v));
  const std::vector<Expr> counted = zeros.counted();
  ASSERT_EQ(counted.size(), 1U);
  EXPECT_TRUE(counted[0].same(C)) << to_string(counted[0]);

  ZeroFactors none(graph, values);
  none.without(i - k * der(v));
  EXPECT_TRUE(none.counted().empty());
}

}  // namespace
}  // namespace saltus
