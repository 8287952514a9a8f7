#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>

#include <cmath>
#include <memory>
#include <string>

namespace saltus {
namespace {

struct ProgramTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};

  double value(const Expr& f, double a, double b = 0.0) {
    const std::vector<std::vector<Expr>> inputs{{x, y}}, outputs{{f}};
    const Program p(inputs, outputs);
    Workspace w = p.workspace();
    const double in[] = {a, b};
    double out = 0.0;
    const double* ins[] = {in};
    double* const outs[] = {&out};
    p(ins, outs, w);
    return out;
  }
};

TEST_F(ProgramTest, FunctionsHaveTheirValues) {
  for (const double a : {-2.7, -1.0, -0.3, 0.0, 0.4, 1.0, 2.5, 7.0}) {
    for (const double b : {-3.0, -0.7, 0.6, 2.0}) {
      EXPECT_EQ(value(floor(x), a), std::floor(a));
      EXPECT_EQ(value(ceil(x), a), std::ceil(a));
      EXPECT_EQ(value(abs(x), a), std::abs(a));
      EXPECT_EQ(value(max(x, y), a, b), std::max(a, b));
      EXPECT_EQ(value(min(x, y), a, b), std::min(a, b));
      EXPECT_EQ(value(div(x, y), a, b), std::trunc(a / b));
      EXPECT_NEAR(value(rem(x, y), a, b), std::fmod(a, b), 1e-14);
      EXPECT_NEAR(value(mod(x, y), a, b), a - std::floor(a / b) * b, 1e-15 * 10);
      EXPECT_EQ(value(atan2(x, y), a, b), elementary::atan2(a, b));
      EXPECT_EQ(value(if_else(x > y, x, -y), a, b), a > b ? a : -b);
      EXPECT_EQ(value(equal(x, y).expr(), a, b), a == b ? 1.0 : 0.0);
    }
    EXPECT_EQ(value(sign(x), a), a > 0 ? 1.0 : a < 0 ? -1.0 : 0.0);
    EXPECT_NEAR(value(smooth_abs(x, 1e-9), a), std::abs(a), 1e-9);
    EXPECT_NEAR(value(pow(x, 3.0), a), a * a * a, 4e-16 * 400);
  }
  EXPECT_EQ(value(log10(x), 1000.0), elementary::log(1000.0) / std::log(10.0));
  EXPECT_EQ(value(pow(x, y), 2.0, 0.3), elementary::pow(2.0, 0.3));
  EXPECT_EQ(value(equal(x, y).expr(), 3.0, 3.0), 1.0);
}

TEST_F(ProgramTest, ExternalFunctionsTakePart) {
  auto f = std::make_shared<ExternalFunction>();
  f->name = "polar";
  f->inputs = 2;
  f->outputs = 2;
  f->values = [](std::span<const double> in, std::span<double> out) {
    out[0] = std::hypot(in[0], in[1]);
    out[1] = std::atan2(in[1], in[0]);
  };
  const auto r = call(f, std::vector{x + 1.0, 2.0 * y});
  EXPECT_EQ(value(r[0] * 2.0 + r[1], 2.0, 2.0), 2.0 * 5.0 + std::atan2(4.0, 3.0));
  EXPECT_EQ(value(r[1], 2.0, 2.0), std::atan2(4.0, 3.0));
  // no Jacobian given: central differences, good to about eps^(2/3)
  EXPECT_NEAR(value(derivative(r[0], x), 2.0, 2.0), 3.0 / 5.0, 1e-9);
  EXPECT_NEAR(value(derivative(r[0], y), 2.0, 2.0), 2.0 * 4.0 / 5.0, 1e-9);
}

TEST_F(ProgramTest, AGivenJacobianIsUsed) {
  auto f = std::make_shared<ExternalFunction>();
  f->name = "square";
  f->inputs = f->outputs = 1;
  f->values = [](std::span<const double> in, std::span<double> out) { out[0] = in[0] * in[0]; };
  f->jacobian = [](std::span<const double> in, std::span<double> out) { out[0] = 2.0 * in[0]; };
  EXPECT_EQ(value(derivative(call(f, std::vector{x})[0], x), 3.0), 6.0);
}

TEST_F(ProgramTest, CSourceSaysWhatItCannotDo) {
  const std::vector<std::vector<Expr>> inputs{{x, y}}, outputs{{sin(x) + y * 2.0}};
  const Program p(inputs, outputs);
  const std::string text = p.c_source("f");
  EXPECT_NE(text.find("void f(const double* const* in, double* const* out)"), std::string::npos) << text;
  EXPECT_NE(text.find("fma"), std::string::npos) << text;
  EXPECT_THROW(p.c_source("2f"), UsageError);
  EXPECT_THROW(p.c_source(""), UsageError);
}

TEST_F(ProgramTest, WorkspacesHaveOneFourOrEightLanes) {
  const std::vector<std::vector<Expr>> inputs{{x}}, outputs{{sin(x)}};
  EXPECT_THROW(Program(inputs, outputs).workspace(3), UsageError);
}

}  // namespace
}  // namespace saltus
