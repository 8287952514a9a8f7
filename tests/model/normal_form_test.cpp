// Polynomials of expressions: what algebra makes equal has one form, and a form has the values of its expression.
#include "model/normal_form.hpp"

#include <saltus/expr/expr.hpp>
#include <saltus/expr/operators.hpp>
#include <saltus/expr/print.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace saltus {
namespace {

class NormalFormsOf : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr x = symbol("x", SymbolKind::variable), y = symbol("y", SymbolKind::variable),
             z = symbol("z", SymbolKind::variable), p = symbol("p", SymbolKind::parameter);
  NormalForms forms{*graph, {p.id()}};

  Polynomial of(const Expr& e) {
    const std::optional<Polynomial> found = forms.of(e.in(*graph));
    EXPECT_TRUE(found.has_value()) << to_string(e);
    return found.value_or(Polynomial{});
  }
};

TEST_F(NormalFormsOf, EqualExpressionsAreEqual) {
  const std::vector<std::pair<Expr, Expr>> pairs{
      {x * (y + 2.0) - 2.0 * x, y * x},
      {pow(x + y, 2.0), x * x + 2.0 * x * y + y * y},
      {(x - y) * (x + y), pow(x, 2.0) - pow(y, 2.0)},
      {x + y + z, z + y + x},
      {x - x, Expr(0.0) * y},
      {-(x - 3.0), 3.0 - x},
      {p * (x + y) / p, x + y},
      {sin(2.0 * x) * y, y * sin(x + x)},
      {exp(x * y) + 1.0, 1.0 + exp(y * x)},
  };
  for (const auto& [a, b] : pairs) EXPECT_EQ(of(a), of(b)) << to_string(a) << " and " << to_string(b);
}

TEST_F(NormalFormsOf, OtherExpressionsDiffer) {
  const std::vector<std::pair<Expr, Expr>> pairs{
      {x, y}, {x * x, x}, {x + 1.0, x}, {sin(x), sin(y)}, {sin(x), cos(x)}, {p * x, x}, {x / y, y / x}, {x * y, x + y},
  };
  for (const auto& [a, b] : pairs) EXPECT_NE(of(a), of(b)) << to_string(a) << " and " << to_string(b);
}

TEST_F(NormalFormsOf, OnlyDivisorsThatAreConstantAreTakenOut) {
  EXPECT_NE(of(x * y / y), of(x));  // at y = 0 one has no value
  EXPECT_EQ(of(x * p / p), of(x));
}

TEST_F(NormalFormsOf, WrittenNumbersAreEnclosed) {
  EXPECT_EQ(written_number(3.0), Interval(3.0));
  EXPECT_EQ(written_number(-1e15), Interval(-1e15));
  const Interval tenth = written_number(0.1);
  EXPECT_LT(tenth.lower, 0.1);
  EXPECT_GT(tenth.upper, 0.1);
  EXPECT_LT(tenth.width(), 1e-16);
}

TEST_F(NormalFormsOf, MultiplesAreProvedWithTheirSign) {
  EXPECT_EQ(multiple(of(3.0 * x - 6.0 * y), of(x - 2.0 * y)), 1);
  EXPECT_EQ(multiple(of(2.0 * y - x), of(x - 2.0 * y)), -1);
  EXPECT_EQ(multiple(of(0.1 * x - 0.3), of(x - 3.0)), 1);  // within the rounding of what is written
  EXPECT_EQ(multiple(of(x / 4.0 - y), of(0.25 * x - y)), 1);
  EXPECT_EQ(multiple(of(x - 2.0 * y), of(x - 2.0000001 * y)), 0);
  EXPECT_EQ(multiple(of(x), of(x + 1.0)), 0);
  EXPECT_EQ(multiple(of(x * y), of(x)), 0);
}

/// A random expression of whole numbers, and its value for (x, y, z), without rounding.
struct Drawn {
  Expr e;
  std::array<std::int64_t, 3> value;
};

Drawn draw(std::mt19937& random, const std::array<Expr, 3>& symbols, int depth) {
  static constexpr std::array<std::array<std::int64_t, 3>, 3> points{{{2, -1, 3}, {-3, 2, 1}, {1, 1, -2}}};
  if (depth == 0 || random() % 6 == 0) {
    if (random() % 3 == 0) {
      const int number = static_cast<int>(random() % 7) - 3;
      return {Expr(static_cast<double>(number)), {number, number, number}};
    }
    const std::size_t k = random() % 3;
    return {symbols[k], {points[0][k], points[1][k], points[2][k]}};
  }
  const Drawn a = draw(random, symbols, depth - 1), b = draw(random, symbols, depth - 1);
  const auto kind = random() % 4;
  Drawn result{kind == 0 ? a.e + b.e : kind == 1 ? a.e - b.e : kind == 2 ? a.e * b.e : pow(a.e, 2.0), {}};
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int64_t u = a.value[k], v = b.value[k];
    result.value[k] = kind == 0 ? u + v : kind == 1 ? u - v : kind == 2 ? u * v : u * u;
  }
  return result;
}

TEST_F(NormalFormsOf, RandomPolynomialsHaveTheValuesOfTheirExpressions) {
  std::mt19937 random(1);
  const std::array<Expr, 3> symbols{x, y, z};
  const std::array<std::array<double, 3>, 3> points{{{2, -1, 3}, {-3, 2, 1}, {1, 1, -2}}};
  int compared = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const Drawn drawn = draw(random, symbols, 4);
    const Polynomial form = of(drawn.e);
    for (std::size_t k = 0; k < points.size(); ++k) {
      if (std::abs(drawn.value[k]) > (std::int64_t{1} << 40)) continue;  // doubles hold all terms exactly below
      double value = 0.0;
      for (const Term& term : form) {
        ASSERT_EQ(term.coefficient.lower, term.coefficient.upper) << to_string(drawn.e);
        double product = term.coefficient.lower;
        for (const Power& power : term.monomial) {
          const NodeId node = forms.atoms()[static_cast<std::size_t>(power.atom)].node;
          const std::size_t place = node == x.id() ? 0 : node == y.id() ? 1 : 2;
          for (int n = 0; n < power.power; ++n) product *= points[k][place];
        }
        value += product;
      }
      ASSERT_EQ(value, static_cast<double>(drawn.value[k])) << to_string(drawn.e);
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace saltus
