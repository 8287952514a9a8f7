// A mass that dry friction holds: when it breaks loose, and how it comes to be held.
#include <cmath>
#include <string>

#include "method_agreement.hpp"

namespace saltus {
namespace {

using testing::Random;

/// A mass hangs on a spring whose other end moves as a sin(w t). It breaks loose when the force of the spring is that of friction.
struct Held {
  double frequency, stiffness, place, friction, amplitude;

  static Held random(unsigned seed) {
    Random random(seed);
    const double w = random(0.5, 3.0), k = random.power_of_ten(0.0, 2.0);
    return {w, k, random(), random(0.5, 2.0), random(0.5, 2.0)};
  }
  /// The force that solves f + 0.1 f^3 = friction, or friction itself.
  double force(bool algebraic) const {
    double f = friction;
    for (int i = 0; i < 50 && algebraic; ++i) f -= (f + 0.1 * f * f * f - friction) / (1.0 + 0.3 * f * f);
    return f;
  }
  /// Where the other end is then, as a part of its amplitude.
  double reach(bool algebraic) const { return force(algebraic) / (stiffness * amplitude); }
  double time(bool algebraic) const { return std::asin(reach(algebraic)) / frequency; }

  enum class Order { together, by_kind };
  Model model(Order order, bool algebraic) const {
    Model m("held");
    const Expr x = m.variable("x", place);
    Expr v, y;
    if (order == Order::together) v = m.variable("v", 0.0);
    y = m.variable("y", place);
    if (order == Order::by_kind) v = m.variable("v", 0.0);
    const Expr u = m.variable("u", amplitude * frequency);
    m.equation(der(x) == v);
    m.equation(der(y) == u);
    m.equation(der(u) == -frequency * frequency * (y - place));
    if (!algebraic) {
      m.equation(der(v) == stiffness * (y - x) - friction * sign(v));
    } else {
      const Expr f = m.variable("f", 0.0);
      m.equation(f + 0.1 * f * f * f == friction * sign(v));
      m.equation(der(v) == stiffness * (y - x) - f);
    }
    return m;
  }
};

// At that instant the speed has no slope, and rounding errors give it one.
void expect_to_break_loose(Held::Order order, bool algebraic, const std::vector<Method>& methods, unsigned cases) {
  for (unsigned seed = 0; seed < cases; ++seed) {
    const Held held = Held::random(seed);
    if (held.reach(algebraic) > 0.95) continue;  // hardly, or never
    const double expected = held.time(algebraic);
    const auto model = std::make_shared<CompiledModel>(held.model(order, algebraic));
    for (const Method method : methods) {
      const std::string what = "seed " + std::to_string(seed) + ", " + std::string(to_string(method));
      const Trajectory run =
          simulate(model, {.stop = expected + 0.01, .rtol = testing::tolerance, .atol = testing::tolerance, .method = method, .keep_steps = false});
      ASSERT_TRUE(run.status().ok()) << what << ": " << run.status().message;
      ASSERT_EQ(run.events().size(), 2u) << what;  // the first says that it is held from the start
      EXPECT_EQ(run.events()[1].kind, EventKind::slide_exit) << what;
      // errors of all steps, and the speed of the other end
      const double error = static_cast<double>(run.statistics().steps) * testing::tolerance * (1.0 + held.amplitude * (1.0 + held.frequency));
      EXPECT_NEAR(run.events()[1].t, expected, error / (held.amplitude * held.frequency * std::cos(held.frequency * expected))) << what;
    }
  }
}

TEST(Sticking, EndsWhateverTheOrderOfVariablesIs) {
  expect_to_break_loose(Held::Order::together, false, testing::all_methods, 130);
  expect_to_break_loose(Held::Order::by_kind, false, testing::implicit_methods, 20);
}

TEST(Sticking, EndsWithAnAlgebraicForce) {
  expect_to_break_loose(Held::Order::by_kind, true, testing::implicit_methods, 60);
}

TEST(Sticking, BeginsWithAReset) {
  // a mass runs into a soft wall, which takes its speed; friction holds it there
  for (const Method method : testing::all_methods) {
    Model m("wall");
    const Expr x = m.variable("x", 0.0), v = m.variable("v", 2.0), hits = m.discrete("hits", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == 0.1 - 0.5 * sign(v));
    m.when(x > 1.0).reset(v, Expr(0.0)).assign(hits, m.pre(hits) + 1.0);
    const Trajectory run = simulate(m, {.stop = 3.0, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 1u) << to_string(method);
    const Event& event = run.events()[0];
    EXPECT_NEAR(event.t, (2.0 - std::sqrt(3.2)) / 0.4, 1e-4) << to_string(method);  // x = 2 t - 0.2 t^2
    EXPECT_EQ(event.kind, EventKind::reset);
    EXPECT_EQ(event.actions.size(), 1u);
    ASSERT_EQ(event.weights.size(), 1u);
    EXPECT_NEAR(event.weights[0], 0.6, 1e-12);  // 0.1 + 0.5 = w (0.1 + 0.5 - (0.1 - 0.5))
    EXPECT_EQ(run.at(3.0, "hits"), 1.0);
    EXPECT_NEAR(run.at(3.0, "x"), 1.0, 1e-12) << to_string(method);
    EXPECT_NEAR(run.at(3.0, "v"), 0.0, 1e-15) << to_string(method);
  }
}

TEST(Sticking, BeginsAtTheStartBesideAReset) {
  Model m("start");
  const Expr v = m.variable("v", 0.0), n = m.variable("n", 0.0);
  m.equation(der(n) == Expr(0.0));
  m.equation(der(v) == 0.1 - 0.5 * sign(v));
  m.when(m.initial()).reset(n, Expr(1.0));
  const Trajectory run = simulate(m, {.stop = 3.0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].actions, std::vector<std::string>{"when initial()"});
  EXPECT_EQ(run.at(3.0, "n"), 1.0);
  EXPECT_NEAR(run.at(3.0, "v"), 0.0, 1e-15);
}

TEST(Sticking, DoesNotExplainResetsThatGoRound) {
  // each reset undoes the other
  Model m("round");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(x > 1.0).reset(x, Expr(0.0));
  m.when(x < 0.5).reset(x, Expr(2.0));
  const Trajectory run = simulate(m, {.stop = 3.0});
  EXPECT_EQ(run.status().code, StatusCode::too_many_mode_changes);
}

}  // namespace
}  // namespace saltus
