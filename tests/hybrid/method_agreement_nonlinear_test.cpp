// Random models with nonlinear guards, or with guards that are unknowns of algebraic equations: every method must see the same events.
#include "method_agreement.hpp"

#include <numbers>

namespace saltus {
namespace {

using testing::Random;

/// An ideal diode: either the current or the voltage (in the direction in which it blocks) is zero, the other one is |s|.
struct Diode {
  Expr current, voltage;

  Diode(Model& m, const std::string& name) : current(m.variable("i" + name, 0.0)), voltage(m.variable("u" + name, 0.0)) {
    const Expr s = m.variable("s" + name, -1.0);
    m.equation(current == if_else(s > 0.0, s, Expr(0.0)));
    m.equation(voltage == if_else(s > 0.0, Expr(0.0), s));
  }
};

/// A diode that charges a capacitor with a load.
Model rectifier(unsigned seed, double shift) {
  Random random(seed);
  Model m("rectifier");
  const double frequency = random(1.0, 6.0), resistance = random(0.05, 3.0), capacity = random(0.1, 2.0), load = random(0.5, 5.0),
               charge = random(0.1, 0.5), amplitude = random(0.8, 1.5) + shift;
  const Expr u = m.variable("u", charge);
  const Diode diode(m, "D");
  m.equation(amplitude * sin(frequency * m.time()) == resistance * diode.current + diode.voltage + u);
  m.equation(capacity * der(u) == diode.current - u / load);
  return m;
}

/// A coil behind a diode, and another diode through which its current goes on. Before the source comes back the current has decayed by exp(-decay):
/// it stays far above the tolerance, below which no diode could carry it.
Model freewheeling_coil(unsigned seed, double shift) {
  Random random(seed);
  Model m("coil");
  const double frequency = random(1.0, 6.0), resistance = random(0.2, 2.0), decay = random(0.3, 3.0), amplitude = random(0.8, 1.5) + shift,
               inductance = resistance * std::numbers::pi / (frequency * decay);
  const Expr i = m.variable("i", 0.0), u = m.variable("u", 0.0);
  const Diode source(m, "S"), free(m, "F");
  m.equation(amplitude * sin(frequency * m.time()) - u == source.voltage + 0.01 * source.current);
  m.equation(-u == free.voltage + 0.01 * free.current);
  m.equation(source.current + free.current == i);
  m.equation(inductance * der(i) == u - resistance * i);
  return m;
}

/// A pendulum in Cartesian coordinates, of index three, that is lighter after it has been fast.
Model pendulum_with_speed_guard(unsigned seed, double shift) {
  Random random(seed);
  Model m("pendulum");
  const double angle = random(0.5, 1.4), fast = random(0.5, 2.5) + shift, light = random(0.5, 0.9);
  const Expr x = m.variable("x", -std::sin(angle), {.fixed = true}), y = m.variable("y", -std::cos(angle)),
             u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0), F = m.variable("F", 0.0), q = m.discrete("q", 1.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -F * x - 0.1 * u);
  m.equation(der(v) == -F * y - 0.1 * v - 9.81 * q);
  m.equation(x * x + y * y == 1.0);
  m.when(u * u + v * v > fast).assign(q, light);
  m.when(u * u + v * v < 0.2 - shift).assign(q, 1.0);
  return m;
}

/// Robertson's reaction, whose first substance is refilled.
Model refilled_reaction(unsigned seed, double shift) {
  Random random(seed);
  Model m("reaction");
  const double slow = random(0.02, 0.08);
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0), q = m.discrete("q", 0.0);
  m.equation(der(x) == -slow * x + 1e4 * y * z + 0.2 * q * (1.0 - x));
  m.equation(der(y) == slow * x - 1e4 * y * z - 3e7 * y * y);
  m.equation(x + y + z == 1.0);
  m.when(x < 0.8 - shift).assign(q, 1.0);
  m.when(x > 0.9 + shift).assign(q, 0.0);
  return m;
}

/// Van der Pol's oscillator, more or less stiff, and a guard that is a product.
Model oscillator_with_product(unsigned seed, double shift) {
  Random random(seed);
  Model m("oscillator");
  const double stiffness = random.power_of_ten(0.0, 2.0);
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 0.0), q = m.discrete("q", 0.0);
  m.equation(der(x) == y);
  m.equation(der(y) == stiffness * (1.0 - x * x) * y - x - 0.3 * q);
  m.when(x * y > 0.5 + shift).assign(q, 1.0);
  m.when(x * y < -0.5 - shift).assign(q, 0.0);
  return m;
}

TEST(AgreementOnNonlinearGuards, OfARectifier) { testing::expect_agreement(rectifier, {}, 20); }

TEST(AgreementOnNonlinearGuards, OfAFreewheelingCoil) { testing::expect_agreement(freewheeling_coil, {}, 20); }

TEST(AgreementOnNonlinearGuards, OfAPendulumOfIndexThree) {
  std::vector<Method> methods = testing::implicit_methods;
  methods.push_back(Method::taylor);
  testing::expect_agreement(pendulum_with_speed_guard, {.reference = Method::taylor, .methods = methods}, 10);
}

// y is about 1e-5.
TEST(AgreementOnNonlinearGuards, OfARefilledReaction) { testing::expect_agreement(refilled_reaction, {.atol = 1e-4}, 20); }

TEST(AgreementOnNonlinearGuards, OfAnOscillatorWithAProduct) {
  testing::expect_agreement(oscillator_with_product, {.methods = testing::all_methods}, 20);
}

}  // namespace
}  // namespace saltus
