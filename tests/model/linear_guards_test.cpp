// Coefficients of guards that are affine in the time and the variables.
#include "model/linear_guards.hpp"

#include <saltus/expr/expr.hpp>
#include <saltus/expr/operators.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

class LinearGuardsOf : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr t = symbol("time", SymbolKind::time), x = symbol("x", SymbolKind::variable),
             y = symbol("y", SymbolKind::variable), p = symbol("p", SymbolKind::parameter);
  const std::vector<Expr> variables{x, y}, data{p};

  LinearGuards made(const std::vector<Expr>& guards) const { return {t, variables, guards, data, {}, {}}; }
};

/// Of the guard: {-2: constant, -1: time, k: variable}, without zeros.
std::map<int, double> coefficients(const LinearGuard& guard) {
  std::map<int, double> result;
  if (guard.constant != 0.0) result[-2] = guard.constant;
  if (guard.time != 0.0) result[-1] = guard.time;
  for (std::size_t k = 0; k < guard.variables.size(); ++k)
    if (guard.coefficients[k] != 0.0) result[guard.variables[k]] = guard.coefficients[k];
  return result;
}

TEST_F(LinearGuardsOf, AffineGuardsAreFoundAndOthersAreNot) {
  const LinearGuards guards = made({2.0 * x - 3.0 * y + 4.0 * t - 5.0, x * y, x - 1.0, sin(x), x * x - 1.0});
  const std::vector<LinearGuard>& found = guards.values().guards;
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].guard, 0);
  EXPECT_EQ(coefficients(found[0]), (std::map<int, double>{{-2, -5.0}, {-1, 4.0}, {0, 2.0}, {1, -3.0}}));
  EXPECT_EQ(found[1].guard, 2);
  EXPECT_EQ(coefficients(found[1]), (std::map<int, double>{{-2, -1.0}, {0, 1.0}}));
  EXPECT_FALSE(guards.change());
}

TEST_F(LinearGuardsOf, CoefficientsFollowData) {
  LinearGuards guards = made({x - p * y + p * p, 3.0 * x - 1.0});
  EXPECT_TRUE(guards.change());
  for (const double value : {2.0, -0.5}) {
    const std::array<double, 1> now{value};
    const std::span<const LinearGuard> found = guards.at(now, {});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(coefficients(found[0]), (std::map<int, double>{{-2, value * value}, {0, 1.0}, {1, -value}}));
    EXPECT_EQ(coefficients(found[1]), (std::map<int, double>{{-2, -1.0}, {0, 3.0}}));
  }
}

TEST_F(LinearGuardsOf, ACopyHasValuesOfItsOwn) {
  LinearGuards one = made({x - p});
  LinearGuards other = one;
  const std::array<double, 1> three{3.0}, seven{7.0};
  const double first = one.at(three, {})[0].constant;
  EXPECT_EQ(other.at(seven, {})[0].constant, -7.0);
  EXPECT_EQ(first, -3.0);
  EXPECT_EQ(one.values().guards[0].constant, -3.0);
}

}  // namespace
}  // namespace saltus
