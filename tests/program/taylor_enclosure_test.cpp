#include <gtest/gtest.h>
#include <saltus/program/taylor_enclosure.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <random>

namespace saltus {
namespace {

struct TaylorEnclosureTest : ::testing::Test {
  using Groups = std::vector<std::vector<Expr>>;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)}, p{graph, graph->symbol("p", SymbolKind::parameter)};

  TaylorProgram program(const std::vector<Expr>& f) {
    return TaylorProgram(Groups{{t}, {p}}, {true, false}, Groups{f});
  }

  /// Enclosures of the coefficients of all f along t = a … b.
  static void enclose(TaylorEnclosure& w, Interval piece, double parameter, int order) {
    w.start(order);
    w.set(0, 0, 0, piece);
    if (order > 0) w.set(0, 0, 1, 1.0);
    w.set(1, 0, 0, parameter);
    for (int k = 0; k <= order; ++k) w.advance(k);
  }
};

TEST_F(TaylorEnclosureTest, CoefficientsAtEveryPointLieInTheEnclosure) {
  const std::vector<Expr> f{t * t * p,
                            exp(-t * t) / (1.0 + p * t),
                            sin(3.0 * t) + cos(t) * tan(0.3 * t),
                            log(1.0 + t) * sqrt(2.0 + t),
                            asin(0.5 * t) + acos(0.4 * t) + atan(t),
                            sinh(t) - cosh(t) * tanh(t),
                            asinh(t) + acosh(2.0 + t) + atanh(0.5 * t),
                            pow(t, 3.0) + pow(1.0 + t, p) + pow(2.0, t),
                            atan2(sin(t), 2.0 + t),
                            if_else(p > 0.0, t * t, t),
                            (t - 0.5) * (t - 0.5) * (t - 0.5)};
  const TaylorProgram series = program(f);
  TaylorEnclosure enclosure(series);
  TaylorWorkspace point(series);
  constexpr int order = 3;
  constexpr double eps = std::numeric_limits<double>::epsilon();
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> place(0.0, 0.9), exponent(-8.0, -1.0);
  for (int trial = 0; trial < 300; ++trial) {
    const double a = place(random), b = a + std::pow(10.0, exponent(random)), parameter = 0.1 + place(random);
    enclose(enclosure, {a, b}, parameter, order);
    for (const double s : {a, b, 0.5 * (a + b), std::uniform_real_distribution<double>(a, b)(random)}) {
      point.start(order);
      point.set(0, 0, 0, s);
      point.set(0, 0, 1, 1.0);
      point.set(1, 0, 0, parameter);
      for (int k = 0; k <= order; ++k) {
        point.advance(k);
        for (int i = 0; i < static_cast<int>(f.size()); ++i) {
          // the numbers themselves are rounded; powers of t divide by t
          const double value = point.get(0, i, k),
                       slack = 100.0 * eps * (1.0 + std::abs(value)) / (i == 7 ? a * a * a : 1.0);
          const Interval found = enclosure.get(0, i, k);
          EXPECT_LE(found.lower - slack, value) << "function " << i << ", order " << k << " at " << s;
          EXPECT_GE(found.upper + slack, value) << "function " << i << ", order " << k << " at " << s;
        }
      }
    }
  }
}

TEST_F(TaylorEnclosureTest, SlopesOfPowersAreKnownAtZero) {
  TaylorEnclosure w(program({pow(t, 4.0), pow(t, 3.0), t * t}));
  enclose(w, {-1e-3, 1e-3}, 0.0, 2);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k <= 2; ++k) EXPECT_LE(w.get(0, i, k).width(), 12.0 * std::pow(1e-3, std::max(4 - i - k, 0)));
}

// What no input locks may jump within the piece, also where it is one of the constants for the recurrences.
TEST_F(TaylorEnclosureTest, NothingIsKnownAboutSlopesWhereValuesMayJump) {
  const std::vector<Expr> f{floor(2.0 * t) * t, 1.0 + 3.0 * floor(2.0 * t), if_else(t > 0.5, t * t, 2.0 * t),
                            if_else(t > 0.5, Expr(1.0), Expr(2.0)) * t};
  TaylorEnclosure w(program(f));
  enclose(w, {0.4, 0.6}, 0.0, 1);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(w.get(0, i, 1),
              Interval(-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()))
        << i;
  EXPECT_TRUE(w.get(0, 1, 0).contains(1.0) && w.get(0, 1, 0).contains(4.0));
  enclose(w, {0.6, 0.7}, 0.0, 1);
  for (int i = 0; i < 4; ++i) EXPECT_LE(w.get(0, i, 1).width(), 0.3) << i;
}

TEST_F(TaylorEnclosureTest, AnEvaluationForgetsTheOneBefore) {
  const std::vector<Expr> f{sinh(1e7 * t), cosh(1e7 * t), tan(t), 1.0 / cosh(1e7 * t), sqrt(t), log(t), 1.0 / t};
  TaylorEnclosure used(program(f)), fresh(program(f));
  enclose(used, {-2.0, 2.0}, 0.0, 2);  // unbounded
  enclose(used, {1e-7, 2e-7}, 0.0, 2);
  enclose(fresh, {1e-7, 2e-7}, 0.0, 2);
  for (int i = 0; i < 7; ++i)
    for (int k = 0; k <= 2; ++k) EXPECT_EQ(used.get(0, i, k), fresh.get(0, i, k));
}

TEST_F(TaylorEnclosureTest, ASelectionOfOutputsGivesTheSame) {
  const std::vector<Expr> f{sin(t), cos(t) * p, tan(t), exp(sin(t)), tanh(p * t)};
  TaylorEnclosure all(program(f)), some(program(f));
  enclose(all, {0.2, 0.3}, 0.7, 2);
  for (int i = 0; i < 5; ++i) {
    some.select(std::vector{i});
    enclose(some, {0.2, 0.3}, 0.7, 2);
    for (int k = 0; k <= 2; ++k) EXPECT_EQ(some.get(0, i, k), all.get(0, i, k));
  }
}

}  // namespace
}  // namespace saltus
