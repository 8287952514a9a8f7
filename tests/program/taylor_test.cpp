#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>

#include <cmath>
#include <memory>

#include "allocations.hpp"

namespace saltus {
namespace {

struct TaylorTest : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};

  Expr exponent{graph, graph->symbol("p", SymbolKind::parameter)};

  /// Coefficients of f along t = t0 + s; p: the value of `exponent`.
  std::vector<double> along_time(const Expr& f, double t0, int order, double p = 1.0) {
    TaylorWorkspace w(
        TaylorProgram(std::vector<std::vector<Expr>>{{t}, {exponent}}, {true, false}, std::vector<std::vector<Expr>>{{f}}));
    w.start(order);
    std::vector<double> c;
    for (int k = 0; k <= order; ++k) {
      if (k == 0) w.set(0, 0, 0, t0);
      if (k == 0) w.set(1, 0, 0, p);
      if (k == 1) w.set(0, 0, 1, 1.0);
      w.advance(k);
      c.push_back(w.get(0, 0, k));
    }
    return c;
  }
};

TEST_F(TaylorTest, CoefficientsOfKnownSeries) {
  const auto e = along_time(exp(t), 0.0, 20), s = along_time(sin(t), 0.0, 20), q = along_time(1.0 / (1.0 - t), 0.0, 20),
             l = along_time(log(1.0 + t), 0.0, 20), a = along_time(atan(t), 0.0, 20), r = along_time(sqrt(1.0 + t), 0.0, 20);
  double factorial = 1.0, binomial = 1.0;
  for (int k = 0; k <= 20; ++k) {
    if (k > 0) factorial *= k;
    EXPECT_NEAR(e[k] * factorial, 1.0, 1e-14);
    EXPECT_NEAR(s[k] * factorial, k % 2 == 0 ? 0.0 : (k % 4 == 1 ? 1.0 : -1.0), 1e-14);
    EXPECT_NEAR(q[k], 1.0, 1e-14);
    if (k > 0) {
      EXPECT_NEAR(l[k] * k, k % 2 == 1 ? 1.0 : -1.0, 1e-14);
      EXPECT_NEAR(a[k] * k, k % 2 == 0 ? 0.0 : (k % 4 == 1 ? 1.0 : -1.0), 1e-14);
    }
    EXPECT_NEAR(r[k], binomial, 1e-15);
    binomial *= (0.5 - k) / (k + 1);
  }
}

// The derivatives of x^p at x = 0 vanish up to the order below p; those above exist where p is an integer, or where the
// series of x begins so late that a power of t comes out: (t^2 + t^3)^1.5 = t^3 (1 + t)^1.5.
TEST_F(TaylorTest, PowersOfZero) {
  const Expr& p = exponent;
  const auto high = along_time(pow(t, p), 0.0, 12, 9.5), cube = along_time(pow(t, p), 0.0, 8, 3.0),
             root = along_time(pow(t * t + t * t * t, p), 0.0, 7, 1.5),
             negative = along_time(pow(-t, p), 0.0, 5, 3.0);
  for (int k = 0; k <= 9; ++k) EXPECT_EQ(high[k], 0.0) << k;
  for (int k = 10; k <= 12; ++k) EXPECT_TRUE(std::isnan(high[k])) << k;
  for (int k = 0; k <= 8; ++k) EXPECT_EQ(cube[k], k == 3 ? 1.0 : 0.0) << k;
  for (int k = 0; k <= 5; ++k) EXPECT_EQ(negative[k], k == 3 ? -1.0 : 0.0) << k;
  double binomial = 1.0;
  for (int k = 0; k <= 7; ++k) {
    EXPECT_NEAR(root[k], k < 3 ? 0.0 : binomial, 1e-15) << k;
    if (k >= 3) binomial *= (1.5 - (k - 3)) / (k - 2);
  }
}

TEST_F(TaylorTest, InverseFunctionsUndoEachOther) {
  const double t0 = 0.3;
  for (const Expr& identity : {asin(sin(t)), acos(cos(t)), atan(tan(t)), asinh(sinh(t)), acosh(cosh(t)), atanh(tanh(t)),
                               log(exp(t)), atan2(sin(t), cos(t)), pow(pow(t, 3.3), 1.0 / 3.3), pow(pow(2.0, t), 1.0)}) {
    const bool power_of_two = identity.same(pow(pow(2.0, t), 1.0));
    const auto c = along_time(power_of_two ? log(identity) / std::log(2.0) : identity, t0, 12);
    EXPECT_NEAR(c[0], t0, 1e-15);
    EXPECT_NEAR(c[1], 1.0, 1e-14);
    // rounding errors of a series with radius of convergence near t0 grow like t0^-k
    for (int k = 2; k <= 12; ++k) EXPECT_NEAR(c[k], 0.0, 1e-14 * std::pow(t0, -k)) << k;
  }
}

TEST_F(TaylorTest, SolutionOfTheHarmonicOscillator) {
  const auto c = solution_taylor_expressions(t, std::vector{x, y}, std::vector{y, -x}, 10);
  const std::vector<std::vector<Expr>> inputs{{x, y}}, outputs{c[0]};
  const Program p(inputs, outputs);
  Workspace w = p.workspace();
  const double in[] = {1.0, 0.0};
  double out[11];
  const double* ins[] = {in};
  double* const outs[] = {out};
  p(ins, outs, w);
  double factorial = 1.0;
  for (int k = 0; k <= 10; ++k) {
    if (k > 0) factorial *= k;
    EXPECT_NEAR(out[k] * factorial, k % 2 == 1 ? 0.0 : (k % 4 == 0 ? 1.0 : -1.0), 1e-15);
  }
}

TEST_F(TaylorTest, RecordedAndNumericalRecurrencesAgree) {
  const std::vector<Expr> f{y * cos(t) + tanh(x), -sin(x) / (1.0 + y * y) + if_else(x > 0.2, exp(-t), log(2.0 + t))};
  constexpr int order = 9;
  const std::vector<double> x0{0.7, -0.4};
  const double t0 = 0.25;
  const auto locks = locks_of(f);
  TaylorWorkspace w(TaylorProgram(std::vector<std::vector<Expr>>{{t}, {x, y}, locks}, {true, true, false},
                                  std::vector<std::vector<Expr>>{f}));
  w.start(order);
  w.set(0, 0, 0, t0);
  w.set(0, 0, 1, 1.0);
  w.set(2, 0, std::vector{1.0});
  std::vector<std::vector<double>> c{x0};
  for (int k = 0; k < order; ++k) {
    w.set(1, k, c[k]);
    w.advance(k);
    c.push_back({w.get(0, 0, k) / (k + 1), w.get(0, 1, k) / (k + 1)});
  }
  const auto recorded = solution_taylor_expressions(t, std::vector{x, y}, f, order);
  const std::vector<std::vector<Expr>> inputs{{t}, {x, y}, locks}, outputs{recorded[0], recorded[1]};
  const Program p(inputs, outputs);
  Workspace work = p.workspace();
  std::vector<double> a(order + 1), b(order + 1);
  const double lock = 1.0;
  const double* ins[] = {&t0, x0.data(), &lock};
  double* const outs[] = {a.data(), b.data()};
  p(ins, outs, work);
  for (int k = 0; k <= order; ++k) {
    EXPECT_NEAR(a[k], c[k][0], 1e-14 * (1.0 + std::abs(c[k][0])));
    EXPECT_NEAR(b[k], c[k][1], 1e-14 * (1.0 + std::abs(c[k][1])));
  }
}

TEST_F(TaylorTest, WhatDoesNotVaryHasZerosAboveOrderZeroAlsoAfterAChangeOfOrder) {
  const Expr p{graph, graph->symbol("p", SymbolKind::parameter)};
  TaylorWorkspace w(TaylorProgram(std::vector<std::vector<Expr>>{{t}, {p}}, {true, false},
                                  std::vector<std::vector<Expr>>{{exp(p), exp(p) + t, t * (exp(p) - t)}}));
  for (const int order : {3, 7, 2, 7}) {
    w.start(order);
    w.set(0, 0, 0, 0.5);
    w.set(0, 0, 1, 1.0);
    w.set(1, 0, 0, 0.0);
    for (int k = 0; k <= order; ++k) w.advance(k);
    // 1, 1.5 + s, (0.5 + s)(0.5 - s) = 0.25 - s^2
    for (int k = 0; k <= order; ++k) {
      EXPECT_EQ(w.get(0, 0, k), k == 0 ? 1.0 : 0.0);
      EXPECT_EQ(w.get(0, 1, k), k == 0 ? 1.5 : k == 1 ? 1.0 : 0.0);
      EXPECT_EQ(w.get(0, 2, k), k == 0 ? 0.25 : k == 2 ? -1.0 : 0.0);
    }
  }
}

TEST_F(TaylorTest, SineAndCosineOfOneArgumentShareTheirSeries) {
  const auto both = along_time(sin(t) + 2.0 * cos(t), 0.4, 12), sine = along_time(sin(t), 0.4, 12),
             cosine = along_time(cos(t), 0.4, 12), cosh_first = along_time(cosh(t) * cosh(t) - sinh(t) * sinh(t), 0.4, 12);
  for (std::size_t k = 0; k <= 12; ++k) {
    EXPECT_EQ(both[k], sine[k] + 2.0 * cosine[k]);
    // cosh^2 - sinh^2 = 1. Coefficient k of either square is at most cosh(0.8) 2^(k-1)/k! + 1/2 < 2, a sum of k + 1 positive
    // terms with about k + 4 roundings (more than 4 of them only where it is below 1): 2 * 2 * 8 * 1.1e-16 < 4e-15
    EXPECT_NEAR(cosh_first[k], k == 0 ? 1.0 : 0.0, 4e-15);
  }
}

TEST_F(TaylorTest, NothingIsAllocatedOnceAnOrderHasBeenUsed) {
  const std::vector<Expr> f{y * cos(t) + tanh(x), -sin(x) / (1.0 + y * y) + sqrt(2.0 + t)};
  TaylorWorkspace w(TaylorProgram(std::vector<std::vector<Expr>>{{t}, {x, y}}, {true, true}, std::vector<std::vector<Expr>>{f}));
  const auto expand = [&](int order) {
    double c[] = {0.7, -0.4};
    w.start(order);
    w.set(0, 0, 0, 0.25);
    w.set(0, 0, 1, 1.0);
    for (int k = 0; k < order; ++k) {
      w.set(1, k, c);
      w.advance(k);
      w.get(0, k, c);
      for (double& value : c) value /= k + 1;
    }
  };
  const std::size_t before_the_first = test::allocation_count();
  expand(12);
  EXPECT_GT(test::allocation_count(), before_the_first);
  const std::size_t before = test::allocation_count();
  for (const int order : {12, 5, 12, 9, 12}) expand(order);
  EXPECT_EQ(test::allocation_count(), before);
}

TEST_F(TaylorTest, ForeignCodeIsRefusedByName) {
  auto f = std::make_shared<ExternalFunction>();
  f->name = "tyre";
  f->inputs = f->outputs = 1;
  f->values = [](std::span<const double> in, std::span<double> out) { out[0] = in[0]; };
  try {
    along_time(call(f, std::vector{t})[0], 0.0, 2);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'tyre'"), std::string::npos);
  }
}

}  // namespace
}  // namespace saltus
