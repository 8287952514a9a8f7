// Coefficients stage by stage against all coefficients at once.
#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/staged_taylor.hpp>

#include <cmath>

namespace saltus {
namespace {

/// Three variables with offsets 2, 1, 0 in equations with offsets 2, 1, 0 that contain every function.
struct Example {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)}, p{graph, graph->symbol("p", SymbolKind::parameter)};
  std::vector<Expr> x, xp, F;
  std::vector<int> c{2, 1, 0}, d{2, 1, 0};
  TaylorProgram program;

  Example() {
    for (const char* name : {"a", "b", "c"}) x.emplace_back(graph, graph->symbol(name, SymbolKind::variable));
    for (const Expr& e : x) xp.push_back(der(e));
    const Expr &a = x[0], &b = x[1], &z = x[2], &ap = xp[0], &bp = xp[1];
    F.push_back(a * a + sin(a) * exp(0.3 * a) + sqrt(2.0 + a) + t * a + log(3.0 + a) + tanh(a) / (2.0 + cos(t)));
    F.push_back(ap * (1.0 + b * b) + atan(b) - pow(2.0 + a, 1.5) + asin(0.3 * b) + if_else(p > 0, ap, b) + atan2(b, 1.0 + a * a));
    F.push_back(bp - z * a + sinh(z) * cosh(0.2 * b) + tan(0.1 * z) + acosh(3.0 + z * z) / (4.0 + ap) + acos(0.2 * z) + atanh(0.1 * z) +
                asinh(z) + pow(z + 3.0, b) - p * z);
    const std::vector<std::vector<Expr>> inputs{{t}, x, xp, {p}}, outputs{F};
    program = TaylorProgram(inputs, {true, true, true, false}, outputs);
  }
};

std::vector<double> some_coefficients(std::size_t count) {
  std::vector<double> X(count);
  for (std::size_t k = 0; k < count; ++k) X[k] = 0.4 * std::sin(1.0 + 2.3 * static_cast<double>(k)) / (1.0 + static_cast<double>(k) / 6.0);
  return X;
}

/// Coefficient k of F_i along X, from all coefficients at once.
double reference(const Example& e, double t, double p, std::span<const double> X, std::size_t i, int k) {
  TaylorWorkspace work(e.program);
  work.start(k);
  for (int q = 0; q <= k; ++q) {
    work.set(0, 0, q, q == 0 ? t : q == 1 ? 1.0 : 0.0);
    for (int j = 0; j < 3; ++j) {
      work.set(1, j, q, X[static_cast<std::size_t>(3 * q + j)]);
      work.set(2, j, q, (q + 1) * X[static_cast<std::size_t>(3 * (q + 1) + j)]);
    }
    if (q == 0) work.set(3, 0, 0, p);
    work.advance(q);
  }
  return work.get(0, static_cast<int>(i), k);
}

TEST(StagedTaylor, GivesTheCoefficientsOfEachStage) {
  const Example e;
  for (const double p : {1.5, -0.5}) {
    StagedTaylor staged(e.program);
    const std::vector<double> data{p};
    const std::span<const double> constants[] = {data};
    ASSERT_TRUE(staged.prepare(e.c, e.d, constants));
    const int last = 6;
    const std::vector<double> all = some_coefficients(3 * (2 + last + 3));
    for (int round = 0; round < 2; ++round) {
      const double t = 0.3 + round;
      std::vector<double> X(all.size(), 0.0), F(3);  // known up to the stage, zero beyond
      staged.start(t, last);
      for (int stage = -2; stage <= last; ++stage) {
        if (stage > 0) staged.residual(stage, X, F);  // with unknowns that are zero
        for (std::size_t i = 0; stage > 0 && i < 3; ++i) {
          const double expected = reference(e, t, p, X, i, e.c[i] + stage);
          EXPECT_NEAR(F[i], expected, 1e-13 * (1.0 + std::abs(expected))) << "stage " << stage << ", equation " << i;
        }
        for (std::size_t j = 0; j < 3; ++j)
          if (e.d[j] + stage >= 0) X[3 * static_cast<std::size_t>(e.d[j] + stage) + j] = all[3 * static_cast<std::size_t>(e.d[j] + stage) + j];
        if (stage > 0) {
          staged.settle(stage, X);
          continue;
        }
        staged.residual(stage, X, F);
        for (std::size_t i = 0; i < 3; ++i) {
          const double expected = e.c[i] + stage < 0 ? 0.0 : reference(e, t, p, X, i, e.c[i] + stage);
          EXPECT_NEAR(F[i], expected, 1e-13 * (1.0 + std::abs(expected))) << "stage " << stage << ", equation " << i;
        }
      }
    }
  }
}

TEST(StagedTaylor, RecordedFormsDoTheSame) {
  const Example e;
  StagedTaylor staged(e.program);
  const double t = 0.3;
  const std::vector<double> data{1.5};
  const std::span<const double> constants[] = {data};
  ASSERT_TRUE(staged.prepare(e.c, e.d, constants));
  const auto graph = std::make_shared<Graph>();
  const auto symbols = [&](std::size_t count) {
    std::vector<Expr> list;
    while (list.size() < count) list.emplace_back(graph, graph->symbol("s", SymbolKind::parameter));
    return list;
  };
  const auto factor = [](int offset, int stage) { return std::tgamma(offset + stage + 1.0) / std::tgamma(std::max(stage, 0) + 1.0); };
  const StagedTaylor::Symbols s{.time = symbols(1)[0], .X = symbols(9), .inverse = symbols(9), .constants = {symbols(1)}, .factor = factor};
  const std::vector<std::vector<Expr>> inputs{{s.time}, s.X, s.inverse, s.constants[0]};
  const int order = 5;
  const Program correction(inputs, std::vector<std::vector<Expr>>{staged.record_correction(s)}),
      extension(inputs, std::vector<std::vector<Expr>>{staged.record_extension(s, order)});
  // any matrix will do that does not lead out of the domain of the functions
  std::vector<double> inverse(9), X = some_coefficients(9);
  for (std::size_t k = 0; k < 9; ++k) inverse[k] = k % 4 == 0 ? 0.07 : 0.01 * std::cos(static_cast<double>(k));
  X[5] = X[7] = X[8] = 0.0;  // beyond the offsets: c_[1], b_[2], c_[2]
  const double* in[] = {&t, X.data(), inverse.data(), data.data()};

  std::vector<double> recorded(9);
  double* out[] = {recorded.data()};
  Workspace work = correction.workspace();
  correction(in, out, work);
  std::vector<double> Y(3 * (order + 4), 0.0), F(3);
  const auto stage_by_hand = [&](int stage) {
    staged.residual(stage, Y, F);
    for (std::size_t j = 0; j < 3; ++j) {
      if (e.d[j] + stage < 0) continue;
      double sum = 0.0;
      for (std::size_t i = 0; i < 3; ++i)
        if (e.c[i] + stage >= 0) sum += inverse[3 * i + j] * factor(e.c[i], stage) * F[i];
      Y[3 * static_cast<std::size_t>(e.d[j] + stage) + j] -= sum / factor(e.d[j], stage);
    }
  };
  std::copy(X.begin(), X.end(), Y.begin());
  staged.start(t, order);
  for (int stage = -2; stage <= 0; ++stage) {
    stage_by_hand(stage);
    staged.residual(stage, Y, F);
  }
  for (std::size_t k = 0; k < 9; ++k) {
    if (static_cast<int>(k / 3) <= e.d[k % 3]) {
      EXPECT_NEAR(recorded[k], Y[k], 1e-13) << k;
    }
  }

  std::copy(X.begin(), X.end(), Y.begin());
  std::vector<double> tail(3 * order);
  out[0] = tail.data();
  Workspace extension_work = extension.workspace();
  extension(in, out, extension_work);
  staged.start(t, order);
  for (int stage = -2; stage <= 0; ++stage) staged.residual(stage, Y, F);
  for (int stage = 1; stage <= order; ++stage) {
    stage_by_hand(stage);
    staged.settle(stage, Y);
  }
  for (std::size_t k = 0; k < tail.size(); ++k) EXPECT_NEAR(tail[k], Y[k + 3], 1e-11 * (1.0 + std::abs(Y[k + 3]))) << k;
}

TEST(StagedTaylor, RefusesTermsThatOnlySeemToBeThere) {
  // offsets of an analysis that has not seen the second variable
  auto graph = std::make_shared<Graph>();
  const Expr t(graph, graph->symbol("time", SymbolKind::time)), a(graph, graph->symbol("a", SymbolKind::variable)),
      b(graph, graph->symbol("b", SymbolKind::variable));
  const std::vector<std::vector<Expr>> inputs{{t}, {a, b}, {der(a), der(b)}}, outputs{{a + sin(b) / exp(b)}};
  StagedTaylor staged(TaylorProgram(inputs, {true, true, true}, outputs));
  const std::vector<int> c{1}, d{1, 0};
  EXPECT_FALSE(staged.prepare(c, d, {}));
}

}  // namespace
}  // namespace saltus
