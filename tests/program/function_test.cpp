#include <gtest/gtest.h>
#include <saltus/program/function.hpp>

#include <cmath>
#include <memory>

namespace saltus {
namespace {

struct FunctionTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(FunctionTest, ValuesJacobianDirectionAndSeries) {
  const Function f({x, y}, {sin(x) * y, x / y, abs(y)});
  const auto v = f({0.5, 2.0});
  EXPECT_EQ(v[0], elementary::sin(0.5) * 2.0);
  EXPECT_EQ(v[1], 0.25);
  EXPECT_EQ(f({0.5, -2.0})[2], 2.0);  // relations are evaluated
  EXPECT_EQ(f.pattern().nonzeros(), 5);
  const auto j = f.jacobian()({0.5, 2.0});  // columns: d/dx of rows 0, 1; d/dy of rows 0, 1, 2
  EXPECT_NEAR(j[0], std::cos(0.5) * 2.0, 1e-15);
  EXPECT_NEAR(j[1], 0.5, 1e-15);
  EXPECT_NEAR(j[3], -0.125, 1e-15);
  const auto d = f.directional()({0.5, 2.0, 3.0, -1.0});
  EXPECT_NEAR(d[1], 3.0 * 0.5 + 0.125, 1e-15);
  const auto c = f.taylor(3, std::vector{0.5, 2.0}, std::vector{1.0, 0.0});
  EXPECT_NEAR(c[3][0], -std::cos(0.5) / 6.0 * 2.0, 1e-15);
  EXPECT_TRUE(f.enclose({{0.4, 0.6}, {1.9, 2.1}})[0].contains(v[0]));
  const Function copy = f;
  EXPECT_EQ(copy({0.5, 2.0}), v);
}

TEST_F(FunctionTest, WrongUseSaysWhatIsNeeded) {
  const Function f({x, y}, {x + y});
  EXPECT_THROW(f({1.0}), UsageError);
  EXPECT_THROW(Function({x}, {x + y}), UsageError);
  EXPECT_THROW(Function({x + y}, {x}), UsageError);
  EXPECT_THROW(f.taylor(-1, std::vector{0.0, 0.0}, std::vector{0.0, 0.0}), UsageError);
}

}  // namespace
}  // namespace saltus
