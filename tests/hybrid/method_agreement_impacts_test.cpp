// Random models with impacts, samples and switched flows: every method must see the same events.
#include "method_agreement.hpp"

namespace saltus {
namespace {

using testing::Random;

constexpr double gravity = 9.81;

/// A driven mass that hits a stop. A fast actuator makes it stiff.
Model hitting_a_stop(unsigned seed, double shift) {
  Random random(seed);
  Model m("stop");
  const double frequency = random(2.0, 4.5), restitution = random(0.4, 0.9), rate = random.power_of_ten(1.0, 4.0), gap = random(0.1, 0.3) + shift,
               speed = random(), force = random(1.0, 2.0);
  const Expr x = m.variable("x", 0.0), v = m.variable("v", speed), f = m.variable("f", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == f - 10.0 * x - 0.1 * v);
  m.equation(der(f) == rate * (force * sin(frequency * m.time()) - f));
  m.when(x > gap).reset(v, -restitution * v);
  return m;
}

/// A pendulum in Cartesian coordinates, of index three, that hits a wall beyond its lowest point (where it would come to rest at the wall, the
/// tolerance decides after how many impacts).
Model pendulum_at_a_wall(unsigned seed, double shift) {
  Random random(seed);
  Model m("pendulum");
  const double wall = random(0.1, 0.5) + shift, restitution = random(0.5, 0.95), angle = random(0.3, 1.2);
  const Expr x = m.variable("x", -std::sin(angle), {.fixed = true}), y = m.variable("y", -std::cos(angle)),
             u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0), F = m.variable("F", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -F * x - 0.05 * u);
  m.equation(der(v) == -F * y - 0.05 * v - gravity);
  m.equation(x * x + y * y == 1.0);
  m.when(x > wall).reset(u, -restitution * u).reset(v, -restitution * v);
  return m;
}

/// A controller with a sampled, limited output, which a fast sensor overrides.
Model sampled_control(unsigned seed, double shift) {
  Random random(seed);
  Model m("control");
  const double rate = random.power_of_ten(1.0, 3.5), period = random(0.11, 0.37), gain = random(0.5, 2.5);
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), u = m.discrete("u", 0.0);
  m.equation(der(x) == -0.3 * x + max(min(u + 0.5 * sin(m.time()), 0.8 + shift), -0.8));
  m.equation(der(y) == rate * (x - y));
  m.when(m.sample(0.0, period)).assign(u, -gain * y);
  m.when(y > 0.2 + shift).assign(u, -1.0);
  return m;
}

/// A tank whose valve is opened and closed by a fast sensor of its pressure.
Model tank_with_valve(unsigned seed, double shift) {
  Random random(seed);
  Model m("tank");
  const double inflow = random(0.5, 1.5), rate = random.power_of_ten(1.0, 3.5), frequency = random(0.5, 2.0);
  const Expr h = m.variable("h", 0.2), p = m.variable("p", 0.0), valve = m.discrete("valve", 0.0);
  m.equation(der(h) == inflow * (1.0 + 0.5 * sin(frequency * m.time())) - 1.4 * p * if_else(valve > 0.5, Expr(1.0), Expr(0.1)));
  m.equation(der(p) == rate * (sqrt(max(h, 1e-3)) - p));
  m.when(p > 0.9 + shift).assign(valve, 1.0);
  m.when(p < 0.6 - shift).assign(valve, 0.0);
  return m;
}

const testing::Comparison explicit_equations{.reference = Method::dop853, .methods = testing::all_methods};

TEST(AgreementOnResets, OfAMassWithAFastActuator) { testing::expect_agreement(hitting_a_stop, explicit_equations, 12); }

TEST(AgreementOnResets, OfAPendulumOfIndexThree) {
  std::vector<Method> methods = testing::implicit_methods;
  methods.push_back(Method::taylor);
  testing::expect_agreement(pendulum_at_a_wall, {.reference = Method::taylor, .methods = methods}, 10);
}

TEST(AgreementOnResets, OfSampledControlWithLimits) { testing::expect_agreement(sampled_control, explicit_equations, 20); }

TEST(AgreementOnResets, OfATankWithAValve) { testing::expect_agreement(tank_with_valve, explicit_equations, 20); }

/// A ball in air that slows it down linearly. Its flights have a closed form: x'' = -g - c x'.
struct Ball {
  double height, drag, restitution;

  double speed_after(double speed, double time) const { return (speed + gravity / drag) * std::exp(-drag * time) - gravity / drag; }
  double height_after(double from, double speed, double time) const {
    return from - (speed + gravity / drag) * std::expm1(-drag * time) / drag - gravity / drag * time;
  }
  /// When a flight ends: it falls from its top on, and is below the floor after the time of a flight without air.
  double flight(double from, double speed) const {
    double above = std::log1p(drag * speed / gravity) / drag, below = above + 10.0;
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (above + below);
      (height_after(from, speed, middle) > 0.0 ? above : below) = middle;
    }
    return below;
  }
  /// The times of the first impacts. `error`: every flight starts so much higher, and faster, than it should.
  std::vector<double> impacts(std::size_t count, double error = 0.0) const {
    std::vector<double> times;
    double t = 0.0, from = height + error, speed = error;
    for (; times.size() < count; times.push_back(t)) {
      const double time = flight(from, speed);
      t += time;
      speed = -restitution * speed_after(speed, time) + error;
      from = error;
    }
    return times;
  }
  Model model(double rate) const {
    Model m("ball");
    const Expr x = m.variable("x", height), v = m.variable("v", 0.0), seen = m.variable("seen", height);
    m.equation(der(x) == v);
    m.equation(der(v) == -gravity - drag * v);
    m.equation(der(seen) == rate * (x - seen));  // a fast motion, which makes implicit methods take their large steps
    m.when(x < 0.0).reset(v, -restitution * v);
    return m;
  }
};

// Each step has an error of one tolerance at most; until an impact the errors of all steps may add up.
TEST(AgreementOnResets, OfABallWithTheClosedForm) {
  constexpr std::size_t impacts = 8;
  for (unsigned seed = 0; seed < 10; ++seed) {
    Random random(seed);
    const Ball ball{random(0.5, 2.0), random(0.05, 0.5), random(0.6, 0.95)};
    const std::vector<double> expected = ball.impacts(impacts + 1);
    const auto model = std::make_shared<CompiledModel>(ball.model(random.power_of_ten(0.0, 3.0)));
    const testing::Comparison comparison{.stop = 0.5 * (expected[impacts - 1] + expected[impacts])};
    for (const Method method : testing::all_methods)
      for (const bool pauses : {false, true}) {
        const SimulateOptions options = comparison.options(method, testing::tolerance);
        Simulator simulator = pauses ? testing::paused(model, options, seed) : Simulator(model, options);
        simulator.run();
        const Trajectory run = simulator.take();
        const std::string what = "seed " + std::to_string(seed) + ", " + std::string(to_string(method)) + (pauses ? ", paused" : "");
        ASSERT_TRUE(run.status().ok()) << what << ": " << run.status().message;
        ASSERT_EQ(run.events().size(), impacts) << what;
        const double largest = std::sqrt(2.0 * gravity * ball.height);  // value: the speed of the first impact, without air
        const std::vector<double> late =
            ball.impacts(impacts, static_cast<double>(run.statistics().steps) * testing::tolerance * (1.0 + largest));
        for (std::size_t k = 0; k < impacts; ++k) {
          EXPECT_EQ(to_string(run.events()[k].kind), to_string(EventKind::reset)) << what;
          EXPECT_NEAR(run.events()[k].t, expected[k], late[k] - expected[k]) << what << ", impact " << k;
        }
      }
  }
}

}  // namespace
}  // namespace saltus
