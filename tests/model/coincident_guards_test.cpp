// Which switching functions have the same zeros: what can be proved, and nothing else.
#include "model/coincident_guards.hpp"

#include <saltus/expr/print.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

class CoincidentFunctions : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr t = symbol("time", SymbolKind::time), x = symbol("x", SymbolKind::variable),
             y = symbol("y", SymbolKind::variable), d = symbol("d", SymbolKind::discrete),
             p = symbol("p", SymbolKind::parameter), q = symbol("q", SymbolKind::parameter);
  std::vector<double> values{0.7, 1.0 / 3.0};  // of p and q

  /// +1, -1: on the same sides, on opposite ones; 0: they are not one.
  int same(const Expr& f, const Expr& g) const {
    const Coincidence first = CoincidentGuards({f, g}, {p, q}, values).found()[0],
                      second = CoincidentGuards({f, g}, {p, q}, values).found()[1];
    return first.with >= 0 ? first.sign : second.with >= 0 ? second.sign : 0;
  }
};

TEST_F(CoincidentFunctions, MultiplesAreOne) {
  const std::vector<std::pair<Expr, Expr>> pairs{
      {x, 2.0 * x},
      {x, 0.5 * x + 1.0 - 1.0},
      {x - 3.0, 0.1 * x - 0.3},
      {x - 2.1, x / 0.7 - 3.0},
      {x - 1.0 / 3.0, 3.0 * x - 1.0},
      {x - p * y, x / p - y},
      {x - q * y, 3.0 * x - y},
      {x - 0.7, x - p},
      {x - sqrt(p), x / sqrt(p) - 1.0},
      {x / (p + q) - 1.0, x - (p + q)},
      {x - d, 1e-7 * x - 1e-7 * d},
      {t - 1.0, 1e10 * (t - 1.0)},
      {x * y - 1.0, 2.0 * y * x - 2.0},
      {x * (y + 1.0), 3.0 * (x * y + x)},
      {sin(2.0 * x) - 0.5, 2.0 * sin(x + x) - 1.0},
      {abs(x) - 1.0, 2.0 * abs(x) - 2.0},
  };
  for (const auto& [f, g] : pairs) {
    EXPECT_EQ(same(f, g), 1) << to_string(f) << " and " << to_string(g);
    EXPECT_EQ(same(g, f), 1) << to_string(g) << " and " << to_string(f);
    EXPECT_EQ(same(f, -g), -1) << to_string(f) << " and " << to_string(-g);
  }
}

TEST_F(CoincidentFunctions, FactorsOfOneSignAndIncreasingFunctionsCountForNothing) {
  const std::vector<std::pair<Expr, Expr>> pairs{
      {x, pow(x, 3.0)},
      {x, x + pow(x, 3.0)},
      {x, x * (pow(y, 2.0) + 1.0)},
      {x, x * exp(y)},
      {x, sinh(x)},
      {x, x + 0.1 * tanh(3.0 * x)},
      {x - y, tanh(2.0 * x - 2.0 * y)},
      {x, exp(x) - 1.0},
      {x - 1.0, log(x)},
      {x - 4.0, sqrt(x) - 2.0},
      {x - 2.0, pow(x, 3.0) - 8.0},
      {x - 1.0, exp(2.0 * log(x)) - 1.0},
      {x + 1.0, pow(x, 5.0) + 1.0},
      {x - p, atan(x / p) - std::atan(1.0)},
  };
  for (const auto& [f, g] : pairs) {
    EXPECT_EQ(same(f, g), 1) << to_string(f) << " and " << to_string(g);
    EXPECT_EQ(same(f, 5.0 - 5.0 - g), -1) << to_string(f) << " and " << to_string(-g);
  }
}

TEST_F(CoincidentFunctions, OthersAreTwo) {
  const std::vector<std::pair<Expr, Expr>> pairs{
      {sin(7.27e-5 * t), t},  // one zero in common of very many
      {t - 21600.0 - 86400.0 * floor(t / 86400.0), t - 64800.0 - 86400.0 * floor(t / 86400.0)},
      {if_else(sin(t - 1.0) > 0.0, Expr(4.0), Expr(1.0)) - 1.5, sin(t - 1.0)},  // one jumps where the other vanishes
      {t - 1e10, t - (1e10 + 3e-6)},
      {1e10 * (t - 1.0), 1e10 * (t - 1.000003)},
      {x + 1e10 - 1e10, x - 3e-6},
      {x, x * y},
      {x, x - pow(y, 2.0)},
      {x, pow(x, 2.0)},
      {x, pow(x, 2.0) + x},
      {x - 1.0, pow(x, 2.0) - 1.0},
      {x, sqrt(x)},  // has no value beyond its zero
      {x, x - y},
      {x - d, x},
      {x - 0.3, x - 0.30000000000001},
      {sin(x), x},
      {x, x - 0.1 * tanh(3.0 * x)},
      {x - p, x - q},
      {if_else(y > 0.0, x, -x), x},
  };
  for (const auto& [f, g] : pairs) {
    EXPECT_EQ(same(f, g), 0) << to_string(f) << " and " << to_string(g);
    EXPECT_EQ(same(g, f), 0) << to_string(g) << " and " << to_string(f);
  }
}

TEST_F(CoincidentFunctions, AnAffineOneLeads) {
  const std::vector<Coincidence> found = CoincidentGuards({exp(x) - 1.0, x, -x}, {p, q}, values).found();
  EXPECT_EQ(found[0], (Coincidence{1, 1}));
  EXPECT_EQ(found[1].with, -1);
  EXPECT_EQ(found[2], (Coincidence{1, -1}));
}

TEST_F(CoincidentFunctions, DependOnTheValuesOfParameters) {
  const CoincidentGuards guards({x - p, x - 0.5, y - p, y - 0.5}, {p, q}, values);
  ASSERT_TRUE(guards.depends_on_parameters());
  const std::vector<double> other{0.8, 0.5}, equal{0.5, 0.5};
  EXPECT_TRUE(guards.same_for(values, other));
  EXPECT_FALSE(guards.same_for(values, equal));
  EXPECT_FALSE(CoincidentGuards({x - p, y - p}, {p, q}, values).depends_on_parameters());
}

TEST_F(CoincidentFunctions, ManyThresholdsAreComparedInProportionToTheirNumber) {
  std::vector<Expr> functions;
  for (int k = 0; k < 20000; ++k) functions.push_back(t - 0.25 * (k / 2));
  for (std::size_t k = 1; k < functions.size(); k += 2) functions[k] = 4.0 * functions[k];
  const std::vector<Coincidence> found = CoincidentGuards(functions, {p, q}, values).found();
  for (std::size_t k = 0; k < found.size(); k += 2) {
    ASSERT_EQ(found[k].with, -1) << k;
    ASSERT_EQ(found[k + 1], (Coincidence{static_cast<int>(k), 1})) << k;
  }
}

}  // namespace
}  // namespace saltus
