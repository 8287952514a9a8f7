#include "flight/kept_analyses.hpp"

#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

Model pendulum(double length) {
  Model m("pendulum");
  const Expr l = m.parameter("l", length), x = m.variable("x", length), y = m.variable("y", 0.0),
             u = m.variable("u", 0.0), v = m.variable("v", 0.0), pull = m.variable("pull", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -pull * x);
  m.equation(der(v) == -pull * y - 9.81);
  m.equation(x * x + y * y == l * l);
  return m;
}

void expect_equal(const CharacteristicValues& a, const CharacteristicValues& b) {
  EXPECT_EQ(a.numbers, b.numbers);
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.X, b.X);
  EXPECT_EQ(a.variable_scale, b.variable_scale);
  ASSERT_EQ(a.T2.rows(), b.T2.rows());
  ASSERT_EQ(a.T2.columns(), b.T2.columns());
  for (int i = 0; i < a.T2.rows(); ++i)
    for (int j = 0; j < a.T2.columns(); ++j) EXPECT_EQ(a.T2(i, j), b.T2(i, j));
}

// More questions than are kept, each of them twice, of two models: the answers are those of the analysis itself.
TEST(KeptAnalyses, AnswerAsTheAnalysisItself) {
  CompiledModel first(pendulum(1.0)), second = first.with_values({{"l", 2.0}});
  KeptAnalyses kept;
  for (int k = 0; k < 40; ++k) {
    const double angle = 0.1 + 0.07 * k, t = 0.01 * (k % 5);
    for (auto* model : {&first, &second, &first}) {
      const double l = model == &first ? 1.0 : 2.0;
      System& system = model->system(model->initial_mode());
      const std::vector<double> x{l * std::sin(angle), -l * std::cos(angle), 0.3 * std::cos(angle),
                                  0.3 * std::sin(angle), 1.0};
      for (const bool neighbours : {false, true}) {
        const CharacteristicOptions options{.neighbours = neighbours};
        expect_equal(kept.find(system, t, x, options), characteristic_values(system, t, x, options));
      }
    }
  }
}

TEST(KeptAnalyses, BelongToTheCodeOfAModel) {
  const CompiledModel model(pendulum(1.0));
  const CompiledModel copy = model, other(pendulum(1.0));
  EXPECT_EQ(KeptAnalyses::of(model), KeptAnalyses::of(copy));
  EXPECT_NE(KeptAnalyses::of(model), KeptAnalyses::of(other));
}

// Runs that find analyses have the bits of those that made them.
TEST(KeptAnalyses, ChangeNoRun) {
  const SimulateOptions options{.stop = 2.0};
  const CompiledModel model(pendulum(1.0));
  const std::vector<double> first = simulate(model, options).final(), second = simulate(model, options).final(),
                            fresh = simulate(CompiledModel(pendulum(1.0)), options).final();
  EXPECT_EQ(first, second);
  EXPECT_EQ(first, fresh);
}

}  // namespace
}  // namespace saltus
