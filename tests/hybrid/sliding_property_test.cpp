// Sliding against exact solutions over long times, against closed forms over many parameters, and against what
// Filippov's solutions are the limit of: the same systems with a steep continuous switch.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "problems/friction_oscillator.hpp"

namespace saltus {
namespace {

using std::numbers::pi;

constexpr Method all_methods[] = {Method::dopri5, Method::tsit5,   Method::bs3,    Method::dop853, Method::taylor,
                                  Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9};

// --- on the surface, for long

TEST(SlidingForLong, AlongACircleEveryMethodStaysOnIt) {
  Model m("circle");
  const auto x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  const BoolExpr outside = x * x + y * y > 1.0;
  m.equation(der(x) == if_else(outside, -y - x * (1.0 + 0.3 * y), -y + 0.7 * x));
  m.equation(der(y) == if_else(outside, x - 1.2 * y, x + y * (1.0 + 0.2 * x)));
  for (const Method method : all_methods) {
    const double stop = method == Method::bs3 || method == Method::rodas4 ? 100.0 : 1000.0;
    Simulator run(std::make_shared<CompiledModel>(m), {.stop = stop, .rtol = 1e-6, .atol = 1e-6, .method = method});
    double worst = 0.0;
    while (run.step()) worst = std::max(worst, std::abs(run.x()[0] * run.x()[0] + run.x()[1] * run.x()[1] - 1.0));
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << run.status().message;
    EXPECT_LT(worst, 1e-12) << to_string(method);
    EXPECT_EQ(run.mode().sliding.size(), 1u) << to_string(method);
  }
}

TEST(SlidingForLong, AlongAMovingSurfaceEveryMethodStaysOnIt) {
  Model m("belt");
  const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  const Expr surface = x - 0.5 * sin(m.time()) - 0.1 * y;
  m.equation(der(x) == -2.0 * sign(surface));
  m.equation(der(y) == cos(m.time()) - 0.1 * y);
  for (const Method method : all_methods) {
    const double stop = method == Method::bs3 || method == Method::rodas4 ? 100.0 : 1000.0;
    Simulator run(std::make_shared<CompiledModel>(m), {.stop = stop, .rtol = 1e-6, .atol = 1e-6, .method = method});
    double worst = 0.0;
    while (run.step()) worst = std::max(worst, std::abs(run.x()[0] - 0.5 * std::sin(run.t()) - 0.1 * run.x()[1]));
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << run.status().message;
    EXPECT_LT(worst, 1e-12) << to_string(method);
  }
}

// The stabilised field of Piiroinen and Kuznetsov (their equation (50)) instead of projection, for comparison: it stays
// near, not on it.
TEST(SlidingForLong, TheStabilisedFieldStaysNear) {
  Model m("circle");
  const auto x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  const BoolExpr outside = x * x + y * y > 1.0;
  m.equation(der(x) == if_else(outside, -y - x * (1.0 + 0.3 * y), -y + 0.7 * x));
  m.equation(der(y) == if_else(outside, x - 1.2 * y, x + y * (1.0 + 0.2 * x)));
  for (const double wrong : {0.0, -1.0, std::nan("")}) EXPECT_THROW(m.stabilise_sliding(wrong), ModelError) << wrong;
  m.stabilise_sliding(10.0);
  Simulator run(std::make_shared<CompiledModel>(m),
                {.stop = 200.0, .rtol = 1e-6, .atol = 1e-9, .method = Method::dopri5});
  double worst = 0.0;
  while (run.step()) worst = std::max(worst, std::abs(run.x()[0] * run.x()[0] + run.x()[1] * run.x()[1] - 1.0));
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_LT(worst, 1e-5);   // the tolerance, not rounding
  EXPECT_GT(worst, 1e-12);  // no projection happened
}

// --- the dry-friction oscillator x'' + x = sin(w t) - F sign(x') has a closed form between its events

// No lock-up, no event too many or too few, on a grid of frequencies and friction forces. A count may differ only where
// the tolerance decides: where the closed form itself changes its count if F changes by some tolerances.
TEST(SlidingSweep, EventCountsOfTheDryFrictionOscillator) {
  constexpr double tolerance = 1e-8;
  Model m("oscillator");
  const auto F = m.parameter("F", 0.4), w = m.parameter("w", 1.0);
  const auto x = m.variable("x", 1.0), v = m.variable("v", 1.0);
  m.equation(der(x) == v);
  m.equation(der(v) == sin(w * m.time()) - x - F * sign(v));
  int differ = 0, undecided = 0;
  for (int i = 0; i < 15; ++i)
    for (int j = 0; j < 20; ++j) {
      const double f = 0.1 + 0.05 * i, frequency = 0.171 + 0.083 * j, stop = 20.0 * 2.0 * pi / frequency;
      m.set("F", f);
      m.set("w", frequency);
      const Trajectory run = simulate(m, {.stop = stop, .rtol = tolerance, .atol = tolerance, .keep_steps = false});
      ASSERT_EQ(run.status().code, StatusCode::success) << f << " " << frequency << run.status().message;
      const problems::FrictionOscillator exact = problems::friction_oscillator(f, frequency, stop, 1.0, 1.0);
      if (static_cast<int>(run.events().size()) == exact.events) {
        EXPECT_NEAR(run.final()[0], exact.x, 1e-5) << f << " " << frequency;
        continue;
      }
      const int less = problems::friction_oscillator(f * (1.0 - 100.0 * tolerance), frequency, stop, 1.0, 1.0).events;
      const int more = problems::friction_oscillator(f * (1.0 + 100.0 * tolerance), frequency, stop, 1.0, 1.0).events;
      const bool on_the_edge = less != exact.events || more != exact.events;
      ++(on_the_edge ? undecided : differ);
      EXPECT_TRUE(on_the_edge) << "F = " << f << " w = " << frequency << ": " << run.events().size() << " events, not "
                               << exact.events;
    }
  EXPECT_EQ(differ, 0);
  EXPECT_LE(undecided, 3);
}

// --- limits of steep continuous switches

// x' = A± x + b± in two or three dimensions, switched on n·x = 0. The regularised system replaces the switch by (1 +
// tanh(n·x / eps)) / 2 and is integrated by a stiff method.
TEST(SlidingLimit, RandomSystemsAreTheLimitOfSteepSwitches) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  int slid = 0, compared = 0, rough = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + trial % 2;
    std::vector<std::vector<double>> plus(n), minus(n);
    std::vector<double> normal(n), start(n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= n; ++j) {
        plus[i].push_back(uniform(random));
        minus[i].push_back(uniform(random));
      }
      normal[i] = uniform(random);
      start[i] = uniform(random);
    }
    const auto system = [&](double eps) {
      Model m("random");
      std::vector<Expr> x;
      Expr g = 0.0;
      for (int i = 0; i < n; ++i) x.push_back(m.variable("x" + std::to_string(i), start[i]));
      for (int i = 0; i < n; ++i) g += normal[i] * x[i];
      for (int i = 0; i < n; ++i) {
        Expr above = plus[i][n] - normal[i],
             below = minus[i][n] + normal[i];  // both pushed towards the surface: sliding is frequent
        for (int j = 0; j < n; ++j) {
          above += plus[i][j] * x[j];
          below += minus[i][j] * x[j];
        }
        const Expr weight = 0.5 + 0.5 * tanh(g / (eps > 0 ? eps : 1.0));
        m.equation(der(x[i]) == (eps > 0 ? weight * above + (1.0 - weight) * below : if_else(g > 0, above, below)));
      }
      return m;
    };
    const Trajectory exact = simulate(system(0.0), {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9});
    ASSERT_EQ(exact.status().code, StatusCode::success) << trial << exact.status().message;
    bool slides = false;
    for (const Event& e : exact.events()) slides = slides || !e.surfaces.empty();
    slid += slides;
    double error[2];
    const double widths[] = {1e-4, 1e-6};
    for (int k = 0; k < 2; ++k) {
      const Trajectory steep =
          simulate(system(widths[k]), {.stop = 2.0, .rtol = 1e-9, .atol = 1e-10, .method = Method::radau5});
      ASSERT_EQ(steep.status().code, StatusCode::success) << trial << steep.status().message;
      error[k] = 0.0;
      for (int j = 0; j < n; ++j) error[k] = std::max(error[k], std::abs(steep.final()[j] - exact.final()[j]));
      // the same regime: near the surface where the exact solution slides, away from it where it does not (with room
      // for transitions)
      for (double t = 0.05; k == 1 && t < 2.0; t += 0.1) {
        double g = 0.0, g_exact = 0.0;
        const auto there = steep.at(t), expected = exact.at(t);
        for (int j = 0; j < n; ++j) {
          g += normal[j] * there[j];
          g_exact += normal[j] * expected[j];
        }
        const bool slides_here = std::abs(g_exact) < 1e-12;
        if (slides_here) {
          EXPECT_LT(std::abs(g), 30.0 * widths[k]) << trial << " " << t;
        } else if (std::abs(g_exact) > 1e-3) {
          EXPECT_EQ(g > 0, g_exact > 0) << trial << " " << t;
        }
        ++compared;
      }
    }
    // first order in the width; tangencies cost half an order
    EXPECT_LT(error[0], 1e-2) << trial;
    if (error[1] > 100.0 * widths[1]) ++rough;
    EXPECT_LT(error[1], 1e-3) << trial;
  }
  EXPECT_GT(slid, 20);
  EXPECT_GT(compared, 1000);
  EXPECT_LE(rough, 3);
}

TEST(Sliding, AReleaseThatLeavesZeroSlowlyIsNoTrap) {
  // at a loose tolerance the polynomial of the step behind a release dips below zero again, at the very time of the
  // release: a loop that takes this for an event never ends
  constexpr double stop = 1652.0;
  Model m("friction");
  const Expr x = m.variable("x", 0.3), v = m.variable("v", 0.2);
  m.equation(der(x) == v);
  m.equation(der(v) == sin(0.5016 * m.time()) - x - 0.189110889 * sign(v));
  const auto model = std::make_shared<CompiledModel>(m);
  const problems::FrictionOscillator exact = problems::friction_oscillator(0.189110889, 0.5016, stop, 0.3, 0.2);
  for (const Method method : {Method::dopri5, Method::dop853, Method::taylor, Method::rodas5p, Method::radau})
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(testing::Message() << to_string(method) << " at " << tolerance);
      const Trajectory run = simulate(model, {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
      EXPECT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_NEAR(run.final()[0], exact.x, 100.0 * tolerance);
      if (tolerance < 1e-5) {
        EXPECT_EQ(run.events().size(), static_cast<std::size_t>(exact.events));
      }
    }
}

}  // namespace
}  // namespace saltus
