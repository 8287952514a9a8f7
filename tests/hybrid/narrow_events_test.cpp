// Conditions that hold for a small part of a step: every method finds them, and a result says where that is not proved.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <memory>
#include <numbers>
#include <random>

#include "random_cases.hpp"

namespace saltus {
namespace {

SimulateOptions options(Method method, double stop, double tolerance) {
  SimulateOptions o;
  o.stop = stop;
  o.rtol = o.atol = tolerance;
  o.method = method;
  return o;
}

constexpr Method methods[] = {Method::automatic, Method::dopri5, Method::dop853, Method::rodas5p,
                              Method::radau,     Method::bdf,    Method::taylor};

// x = exp(-t) passes 0.357 within 5e-4 of time; steps are 1000 times as long.
TEST(NarrowEvents, EveryMethodFindsAPulseInsideAStep) {
  const double width = 1e-4 * std::sqrt(std::numbers::ln2);
  const double rises = -std::log(0.357 + width), falls = -std::log(0.357 - width);
  for (const Method method : methods) {
    for (const double tolerance : {1e-5, 1e-7, 1e-9}) {
      Model m("pulse");
      const Expr x = m.variable("x", 1.0);
      m.equation(der(x) == -x);
      const Expr z = (x - 0.357) / 1e-4;
      m.when(exp(-z * z) > 0.5).record();
      const Trajectory run = simulate(m, options(method, 3.0, tolerance));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 2u) << "tolerance " << tolerance;
      // an error of e in x moves the events by e / 0.357; methods are within some tolerances
      EXPECT_NEAR(run.events()[0].t, rises, 30.0 * tolerance);
      EXPECT_NEAR(run.events()[1].t, falls, 30.0 * tolerance);
      EXPECT_EQ(run.statistics().unproved, 0);
      EXPECT_TRUE(run.status().message.empty()) << run.status().message;
    }
  }
}

// The same behind a constraint, where the guard reads an algebraic variable: y = x^2 passes 0.25 at x = 1/2.
TEST(NarrowEvents, PulsesOfAlgebraicVariablesAreFound) {
  for (const Method method : {Method::automatic, Method::rodas5p, Method::radau, Method::bdf, Method::taylor}) {
    for (const double tolerance : {1e-6, 1e-8}) {
      Model m("constraint");
      const Expr x = m.variable("x", 1.0), y = m.variable("y", 1.0);
      m.equation(der(x) == -x);
      m.equation(y + 0.1 * y * y * y == x * x + 0.1 * pow(x, 6.0));
      const Expr z = (y - 0.25) / 1e-3;
      m.when(1.0 / (1.0 + z * z) > 0.5).record();
      const Trajectory run = simulate(m, options(method, 2.0, tolerance));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_EQ(run.events().size(), 2u);
      EXPECT_NEAR(run.events()[0].t, -0.5 * std::log(0.251), 100.0 * tolerance);
      EXPECT_NEAR(run.events()[1].t, -0.5 * std::log(0.249), 100.0 * tolerance);
      EXPECT_EQ(run.statistics().unproved, 0);
    }
  }
}

// z rises only where x is near a place that no step looks at: its polynomial does not show it, its equation does. The
// guard may read z, a variable that follows from it, or the derivative of a third one.
class HiddenPulse {
 public:
  explicit HiddenPulse(int seed) : random_(static_cast<unsigned>(seed)) {
    place = between(0.15, 0.85);
    width = std::pow(10.0, between(-5.0, -2.0));
    level = between(0.2, 0.7);
    shape = static_cast<int>(random_() % 4);
    tolerance = std::pow(10.0, between(-8.0, -5.0));
    constexpr Method implicit[] = {Method::automatic, Method::rodas5p, Method::radau, Method::bdf, Method::taylor};
    method = implicit[random_() % 5];
    unit = std::pow(10.0, between(-4.0, 4.0));
  }

  Model model() const {
    Model m("hidden");
    const Expr x = m.variable("x", 1.0), z = m.variable("z", 0.0, {.nominal = unit});
    const Expr far = (x - place) / width, pulse = exp(-far * far), own = z / unit;
    m.equation(der(x) == -x);
    Expr seen = own;
    if (shape == 0) m.equation(own + 0.1 * own * own * own == pulse);
    if (shape == 1) m.equation(own + 0.3 * sin(own) == pulse);
    if (shape >= 2) {  // two that need each other
      const Expr y = m.variable("y", 0.0);
      m.equation(own + 0.2 * y == pulse);
      m.equation(y + 0.1 * y * y * y == own);
      if (shape == 3) seen = y;
    }
    m.when(seen > level).record();
    return m;
  }
  /// What the pulse is where the guard is zero.
  double threshold() const {
    if (shape == 0) return level + 0.1 * level * level * level;
    if (shape == 1) return level + 0.3 * std::sin(level);
    const auto own_of = [](double y) { return y + 0.1 * y * y * y; };
    double low = 0.0, high = level;  // y, where own is the level
    for (int k = 0; k < 100; ++k) (own_of(0.5 * (low + high)) < level ? low : high) = 0.5 * (low + high);
    return shape == 2 ? level + 0.2 * low : own_of(level) + 0.2 * level;
  }

  double place, width, level, tolerance, unit;
  int shape;
  Method method;

 private:
  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  std::mt19937 random_;
};

TEST(NarrowEvents, PulsesThatNoPolynomialShowsAreFound) {
  const int first = random_seed(), cases = random_cases(40);
  for (int seed = first; seed < first + cases; ++seed) {
    const HiddenPulse pulse(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", shape " + std::to_string(pulse.shape) + ", width " +
                 std::to_string(pulse.width));
    const Trajectory run = simulate(pulse.model(), options(pulse.method, 3.0, pulse.tolerance));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_LT(pulse.threshold(), 1.0);
    const double away = pulse.width * std::sqrt(-std::log(pulse.threshold()));
    ASSERT_EQ(run.events().size(), 2u) << run.status().message;
    const double error = 100.0 * pulse.tolerance;
    EXPECT_NEAR(run.events()[0].t, -std::log(pulse.place + away), error / pulse.place);
    EXPECT_NEAR(run.events()[1].t, -std::log(pulse.place - away), error / pulse.place);
  }
  record_models(cases);
}

TEST(NarrowEvents, TheStatusSaysWhereNothingIsProved) {
  Model m("foreign");
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  auto pulse = std::make_shared<ExternalFunction>();
  pulse->name = "pulse";
  pulse->inputs = pulse->outputs = 1;
  pulse->values = [](std::span<const double> in, std::span<double> out) { out[0] = std::sin(in[0]); };
  m.when(call(pulse, std::vector{x})[0] > 0.5).record();
  const Trajectory run = simulate(m, options(Method::dopri5, 1.0, 1e-6));
  ASSERT_TRUE(run.status().ok());
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, std::numbers::pi / 6.0, 1e-9);
  EXPECT_GT(run.statistics().unproved, 0);
  EXPECT_NE(run.status().message.find("not proved"), std::string::npos) << run.status().message;
  EXPECT_NE(run.status().message.find("max-step"), std::string::npos) << run.status().message;
}

}  // namespace
}  // namespace saltus
