// Bounds of guards over pieces of steps contain all values, and become sharp where pieces are short.
#include "flight/guard_bounds.hpp"

#include <gtest/gtest.h>
#include <saltus/expr/derivative.hpp>

#include <cmath>
#include <random>

namespace saltus {
namespace {

/// Time, two variables, a datum and a lock.
struct Symbols {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr x{graph, graph->symbol("x", SymbolKind::variable)}, y{graph, graph->symbol("y", SymbolKind::variable)};
  Expr a{graph, graph->symbol("a", SymbolKind::parameter)};
};

/// x and y are polynomials of degree 3 in time; a piece has the half-length `radius`.
struct Piece {
  double middle, radius;
  double x[4], y[4];  // about the middle
  double a;

  static double at(const double* p, double d) { return p[0] + d * (p[1] + d * (p[2] + d * p[3])); }
  static double slope(const double* p, double d) { return p[1] + d * (2.0 * p[2] + d * 3.0 * p[3]); }
};

struct Found {
  double lower, upper, slope_lower, slope_upper;
};

Found bounds_of(const GuardBounds& bounds, const Piece& p) {
  const double t[] = {p.middle, p.radius}, r = p.radius;
  const auto beyond = [&](const double* c) { return r * r * std::abs(c[2]) + r * r * r * std::abs(c[3]); };
  const auto slope_beyond = [&](const double* c) { return 3.0 * r * r * std::abs(c[3]); };
  const double c[] = {p.x[0], p.y[0]}, s[] = {r * p.x[1], r * p.y[1]}, d[] = {beyond(p.x), beyond(p.y)},
               slope_c[] = {p.x[1], p.y[1]}, slope_s[] = {2.0 * r * p.x[2], 2.0 * r * p.y[2]},
               slope_d[] = {slope_beyond(p.x), slope_beyond(p.y)};
  Found f{};
  const double* const in[] = {t, c, s, d, slope_c, slope_s, slope_d, &p.a};
  double* const out[] = {&f.lower, &f.upper, &f.slope_lower, &f.slope_upper};
  Workspace work = bounds.program.workspace();
  bounds.program(in, out, work);
  return f;
}

std::vector<Expr> guards_of(const Symbols& s) {
  return {s.x * s.y - s.a,
          sin(3.0 * s.t) - s.x,
          cos(s.x * s.t) * s.y + s.a,
          exp(0.5 * s.x) - s.y * s.y,
          s.y / (2.5 + s.x) - 0.3,
          sqrt(4.0 + s.x) * s.t - s.a,
          log(4.0 + s.y) + s.x * s.x * s.x,
          atan(s.x + s.t) - tanh(s.y * s.a),
          if_else(s.a > 0.0, s.x * s.x, -s.y * s.y) + 0.1};
}

TEST(GuardBounds, ContainAllValuesAndSlopes) {
  std::mt19937 random(3);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (std::size_t k = 0; k < 9; ++k) {
    Symbols s;
    const std::vector<Expr> guard{guards_of(s)[k]};
    // the choice by a datum is made before: a lock would be a datum itself
    const GuardBounds bounds = make_guard_bounds(s.t, {s.x, s.y}, {s.a}, guard, {0});
    ASSERT_FALSE(bounds.empty()) << k;
    const std::vector<Expr> slope = directional_derivative(guard, std::vector<Expr>{s.t, s.x, s.y},
                                                           std::vector<Expr>{Expr(1.0), der(s.x), der(s.y)});
    const Program exact(std::vector<std::vector<Expr>>{{s.t}, {s.x, s.y}, {der(s.x), der(s.y)}, {s.a}},
                        std::vector<std::vector<Expr>>{guard, slope});
    Workspace work = exact.workspace();
    for (int trial = 0; trial < 2000; ++trial) {
      Piece p{between(-5.0, 5.0), std::exp(between(-12.0, 0.0)), {}, {}, between(-1.0, 1.0)};
      for (double* list : {p.x, p.y})
        for (int i = 0; i < 4; ++i) list[i] = between(-1.0, 1.0);
      const Found f = bounds_of(bounds, p);
      for (int i = 0; i <= 40; ++i) {
        const double d = p.radius * (i / 20.0 - 1.0), t = p.middle + d;
        const double x[] = {Piece::at(p.x, d), Piece::at(p.y, d)}, v[] = {Piece::slope(p.x, d), Piece::slope(p.y, d)};
        double g, dg;
        const double* const in[] = {&t, x, v, &p.a};
        double* const out[] = {&g, &dg};
        exact(in, out, work);
        if (!std::isfinite(g) || !std::isfinite(dg)) continue;
        ASSERT_LE(f.lower, g + 1e-13) << "guard " << k << ", trial " << trial;
        ASSERT_GE(f.upper, g - 1e-13) << "guard " << k << ", trial " << trial;
        ASSERT_LE(f.slope_lower, dg + 1e-13) << "guard " << k << ", trial " << trial;
        ASSERT_GE(f.slope_upper, dg - 1e-13) << "guard " << k << ", trial " << trial;
      }
    }
  }
}

TEST(GuardBounds, BecomeSharpWithTheSquareOfThePiece) {
  Symbols s;
  const GuardBounds bounds = make_guard_bounds(s.t, {s.x, s.y}, {s.a}, {sin(3.0 * s.t) - s.x * s.y}, {0});
  const auto excess = [&](double radius) {
    const Found f = bounds_of(bounds, {0.7, radius, {0.3, -0.4, 0.5, 0.1}, {0.8, 0.2, -0.3, 0.2}, 0.0});
    const double slope = 3.0 * std::cos(2.1) - (0.3 * 0.2 - 0.4 * 0.8);
    return f.upper - f.lower - 2.0 * radius * std::abs(slope);
  };
  EXPECT_LT(excess(1e-2), 2e-3);
  EXPECT_LT(excess(1e-3), 2e-5);
  EXPECT_LT(excess(1e-4), 2e-7);
}

TEST(GuardBounds, AreUnboundedWhereAFunctionIsNotDefined) {
  Symbols s;
  for (const Expr& guard : {sqrt(s.x), log(s.x), 1.0 / s.x}) {
    const GuardBounds bounds = make_guard_bounds(s.t, {s.x, s.y}, {s.a}, {guard}, {0});
    const Found f = bounds_of(bounds, {0.0, 0.5, {0.1, 1.0, 0.0, 0.0}, {}, 0.0});
    EXPECT_FALSE(f.lower > 0.0);
    EXPECT_FALSE(f.upper < 0.0);
  }
}

TEST(GuardBounds, LeaveOutWhatTheyDoNotKnow) {
  Symbols s;
  const GuardBounds bounds =
      make_guard_bounds(s.t, {s.x, s.y}, {s.a}, {s.x, asin(s.x), sin(s.x), if_else(s.y > 0.0, s.x, s.y)}, {1, 0, 0, 0});
  EXPECT_EQ(bounds.places, (std::vector<int>{-1, -1, 0, -1}));
}

}  // namespace
}  // namespace saltus
