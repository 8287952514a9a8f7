// Switching functions without poles and cuts: the sign is that of the function wherever it has one.
#include "model/poles.hpp"

#include <saltus/expr/expr.hpp>
#include <saltus/expr/operators.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/program/function.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

class Poles : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr x = symbol("x", SymbolKind::variable), y = symbol("y", SymbolKind::variable),
             p = symbol("p", SymbolKind::parameter), d = symbol("d", SymbolKind::discrete);

  Function function_of(std::vector<Expr> values) const { return {{x, y, p, d}, std::move(values)}; }
  static constexpr double at_p = 0.5, at_d = 2.0;
};

int sign_of(double value) {
  return (value > 0.0) - (value < 0.0);
}

TEST_F(Poles, BecomeZerosAndAllOtherSignsStay) {
  const std::vector<Expr> functions{
      1.0 / x,           1.0 / x - 2.0,     (x + 1.0) / (x - y),          x / y + y / x,    1.0 / (x * y) - 1.0,
      1.0 / x + 1.0 / y, x / (1.0 + x / y), if_else(y > 0.0, 1.0 / x, x), -(3.0 / (x - p)), pow(x, -1.0) + 1.0};
  for (const Expr& g : functions) {
    const Expr plain = without_poles(g);
    const Function both = function_of({g, plain});
    for (double at_x = -2.0; at_x <= 2.0; at_x += 0.25) {
      for (double at_y = -2.0; at_y <= 2.0; at_y += 0.25) {
        const std::vector<double> values = both({at_x, at_y, at_p, at_d});
        const double before = values[0], after = values[1];
        if (!std::isfinite(before)) continue;
        // a zero of a divisor inside of another one may be a zero of the product, too: only there
        if (sign_of(after) != sign_of(before)) {
          EXPECT_EQ(after, 0.0) << to_string(g) << " is " << before << " and " << to_string(plain) << " " << after
                                << " at " << at_x << ", " << at_y;
        }
      }
    }
  }
}

TEST_F(Poles, OfASimpleQuotientAreExactZeros) {
  EXPECT_EQ(function_of({without_poles(1.0 / x)})({0.0, 1.0, at_p, at_d})[0], 0.0);
  EXPECT_EQ(function_of({without_poles(1.0 / x - 2.0)})({0.0, 1.0, at_p, at_d})[0], 0.0);
  EXPECT_EQ(function_of({without_poles((x + 1.0) / (x - y))})({1.5, 1.5, at_p, at_d})[0], 0.0);
}

TEST_F(Poles, OfParametersAndInsideOfFunctionsStay) {
  for (const Expr& g : {x / p, x / d - 1.0, tanh(1.0 / x), x + y, sin(x)})
    EXPECT_TRUE(without_poles(g).same(g)) << to_string(without_poles(g));
}

TEST_F(Poles, CutsOfAnglesBecomeRelationsWithTheSameValues) {
  for (const Expr& g : {atan2(y, x), atan2(y, x) - 1.0, atan(y / x), 2.0 * atan2(y - p, x + d)}) {
    const Expr plain = without_cuts(g);
    EXPECT_FALSE(plain.same(g)) << to_string(g);
    const Function both = function_of({g, plain});
    for (double at_x = -1.9; at_x <= 2.0; at_x += 0.3) {
      for (double at_y = -1.85; at_y <= 2.0; at_y += 0.3) {
        const std::vector<double> values = both({at_x, at_y, at_p, at_d});
        EXPECT_NEAR(values[1], values[0], 1e-15) << to_string(g) << " at " << at_x << ", " << at_y;
      }
    }
  }
  EXPECT_TRUE(without_cuts(sin(x) + y).same(sin(x) + y));
}

}  // namespace
}  // namespace saltus
