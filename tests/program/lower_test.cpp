#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/tape.hpp>

#include <memory>
#include <string>

namespace saltus {
namespace {

struct LowerTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};

  Tape tape(std::vector<Expr> in, std::vector<Expr> out, LowerOptions options = {}) {
    const std::vector<std::vector<Expr>> inputs{std::move(in)}, outputs{std::move(out)};
    return lower(inputs, outputs, options);
  }
};

TEST_F(LowerTest, ProductsWithOneUseAreFusedIntoSums) {
  EXPECT_EQ(tape({x, y}, {x * y + 1.0}).code.size(), 1u);
  EXPECT_EQ(tape({x, y}, {x * y + 1.0}).code[0].op, Op::fma);
  EXPECT_EQ(tape({x, y}, {x * y - sin(x)}).code.back().op, Op::fms);
  EXPECT_EQ(tape({x, y}, {sin(x) - x * y}).code.back().op, Op::fnma);
  EXPECT_EQ(tape({x, y}, {x * y + 1.0, x * y + 2.0}).code.size(), 3u);  // the product is shared: not fused
  EXPECT_EQ(tape({x, y}, {x * y, x * y + 2.0}).code.size(), 2u);        // the product is an output: not fused
  EXPECT_EQ(tape({x, y}, {x * y + 1.0}, {.fuse = false}).code.size(), 2u);
}

TEST_F(LowerTest, SlotsAreReused) {
  Expr e = x;
  for (int k = 0; k < 1000; ++k) e = sin(e) + y;
  EXPECT_LE(tape({x, y}, {e}).temporaries, 2u);
  EXPECT_EQ(tape({x, y}, {e}, {.reuse_slots = false}).temporaries, 2000u);
}

TEST_F(LowerTest, ALockAmongTheInputsIsNotEvaluated) {
  const Expr f = if_else(sin(x) > y, x, y);
  const auto locks = locks_of(std::vector{f});
  EXPECT_EQ(tape({x, y}, {f}).code.size(), 4u);  // sin, difference, relation, choice
  EXPECT_EQ(tape({x, y, locks[0]}, {f}).code.size(), 1u);
}

TEST_F(LowerTest, AMissingInputIsNamed) {
  try {
    tape({x}, {x + y});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'y'"), std::string::npos);
  }
  EXPECT_THROW(tape({x, x}, {x}), UsageError);
  EXPECT_THROW(tape({x + y}, {x}), UsageError);
}

TEST_F(LowerTest, TheStencilModelTakesLessThan100BytesPerNode) {
  constexpr int n = 100000;
  std::vector<Expr> u, f;
  for (int k = 0; k < n; ++k) u.emplace_back(graph, graph->symbol("u", SymbolKind::variable));
  const std::size_t nodes_before = graph->size(), bytes_before = graph->memory();
  for (int k = 0; k < n; ++k) {
    const Expr left = k > 0 ? u[k - 1] : u[k], right = k + 1 < n ? u[k + 1] : u[k];
    f.push_back(1e2 * (left - 2.0 * u[k] + right) + u[k] * (1.0 - u[k]) + if_else(u[k] > 0.5, Expr(0.1), Expr(0.0)));
  }
  const std::vector<std::vector<Expr>> inputs{u, locks_of(f)}, outputs{f};
  const Tape t = lower(inputs, outputs);
  const std::size_t nodes = graph->size() - nodes_before;
  EXPECT_GT(nodes, 8u * n);
  EXPECT_LT(t.memory() + (graph->memory() - bytes_before), 100u * nodes);
  EXPECT_LT(t.temporaries, n + 10u);  // the outputs, and a handful of intermediate values
}

TEST_F(LowerTest, AProgramIsTheSameInALargeGraph) {
  const auto sample = [this](const Expr& u, const Expr& v) {
    const Expr product = u * v;
    return to_string(tape({v, u}, {product + sin(u) * 2.0, product - v, if_else(u > v, Expr(1.0), u / v)}));
  };
  const std::string small = sample(x, y);
  Expr sum = x;  // nodes between and behind those of the program
  for (int k = 0; k < 1000; ++k) sum = sum * y + static_cast<double>(k) + 0.5;
  EXPECT_EQ(sample(x, y), small);
}

TEST_F(LowerTest, TapesPrint) {
  const std::string text = to_string(tape({x}, {sin(x) * 2.0}));
  EXPECT_NE(text.find("sin"), std::string::npos);
  EXPECT_NE(text.find("output 0[0]"), std::string::npos);
}

}  // namespace
}  // namespace saltus
