// Random models whose events every method must see, and none of them twice: relays behind fast lags, friction, sliding, differential-algebraic
// equations. Errors of the state that are within the tolerance become large ones of its derivatives there.
#include "method_agreement.hpp"

namespace saltus {
namespace {

using testing::Random;

/// A relay with hysteresis that acts on a slow variable, through up to three lags of which one is much faster, and sees the last one.
Model relay_behind_lags(unsigned seed, bool algebraic, double shift) {
  Random random(seed);
  const std::size_t count = 2 + random.whole() % 3;
  Model m("relay");
  std::vector<Expr> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(m.variable("x" + std::to_string(i), random()));
  const Expr q = m.discrete("q", 1.0), y = m.variable("y", 0.0);
  const double fast = random.power_of_ten(1.0, 4.0), frequency = random(1.0, 4.0);
  m.equation(der(x[0]) == -x[0] + 1.5 * q + 0.8 * sin(frequency * m.time()));
  for (std::size_t i = 1; i < count; ++i) {
    const double rate = i + 1 == count ? fast : random.power_of_ten(0.0, 2.0), back = 0.3 * random(), direct = 0.2 * random();
    m.equation(der(x[i]) == rate * (x[i - 1] + back * x[(i + 1) % count] - x[i]) + direct * q);
  }
  const Expr seen = x.back() + 0.2 * x[0];
  m.equation(algebraic ? y + 0.1 * y * y * y == seen : y == seen);
  const double low = random(-0.5, -0.1), high = low + random(0.15, 0.45);
  m.when(y > high + shift).assign(q, -1.0);
  m.when(y < low - shift).assign(q, 1.0);
  return m;
}

Model explicit_relay(unsigned seed, double shift) { return relay_behind_lags(seed, false, shift); }
Model algebraic_relay(unsigned seed, double shift) { return relay_behind_lags(seed, true, shift); }

const testing::Comparison explicit_equations{.stop = 20.0, .reference = Method::dop853, .methods = testing::all_methods},
    algebraic_equations{.stop = 20.0};

TEST(MethodAgreement, RelaysBehindFastLags) {
  testing::expect_agreement(explicit_relay, explicit_equations, 25);
  testing::expect_agreement(algebraic_relay, algebraic_equations, 25);
}

/// Dry friction behind a fast actuator, of two masses, with a force from an algebraic equation, and a relay that is slid on.
Model sliding_model(unsigned seed, int kind, double shift) {
  Random random(4 * seed + static_cast<unsigned>(kind));
  Model m("sliding");
  const double frequency = random(0.4, 2.5), friction = random(0.2, 1.2) + shift, force = random(0.8, 2.0), stiffness = random(0.5, 3.0),
               damping = random(0.0, 0.3);
  const Expr x = m.variable("x", random()), v = m.variable("v", random()), drive = force * sin(frequency * m.time());
  if (kind != 3) m.equation(der(x) == v);
  switch (kind) {
    case 0: {
      const Expr f = m.variable("f", 0.0);
      const double rate = random.power_of_ten(1.0, 4.0);
      m.equation(der(v) == f - stiffness * x - damping * v - friction * sign(v));
      m.equation(der(f) == rate * (drive - f));
      break;
    }
    case 1: {
      const Expr y = m.variable("y", random()), u = m.variable("u", random());
      const double other = random(0.1, 0.8), coupling = random(0.5, 20.0);
      m.equation(der(v) == drive - stiffness * x - coupling * (x - y) - friction * sign(v));
      m.equation(der(y) == u);
      m.equation(der(u) == -coupling * (y - x) - 0.2 * u - other * sign(u));
      break;
    }
    case 2: {
      const Expr f = m.variable("f", 0.0);
      m.equation(der(v) == drive - stiffness * x - f);
      m.equation(f + 0.1 * f * f * f == friction * sign(v) + damping * v);
      break;
    }
    default: {
      const double rate = random.power_of_ten(0.5, 2.5);
      m.equation(der(x) == -x + drive - 2.0 * friction * sign(x + 0.3 * v));
      m.equation(der(v) == rate * (sin(0.7 * m.time()) - v));
    }
  }
  return m;
}

/// Three masses with dry friction, coupled by springs. The ends of their stops are hidden in errors of forces that are large and nearly cancel.
Model masses_with_friction(unsigned seed, double shift) {
  Random random(seed);
  Model m("masses");
  const double frequency = random(0.4, 2.5), force = random(1.0, 3.0);
  std::vector<Expr> x, v;
  for (int i = 0; i < 3; ++i) x.push_back(m.variable("x" + std::to_string(i), random()));
  for (int i = 0; i < 3; ++i) v.push_back(m.variable("v" + std::to_string(i), 0.0));
  Expr pull = force * sin(frequency * m.time());
  for (std::size_t i = 0; i < 3; ++i) {
    const double friction = random(0.1, 0.8) + shift, stiffness = random(0.5, 20.0);
    const Expr next = i < 2 ? stiffness * (x[i] - x[i + 1]) : Expr(0.0);
    m.equation(der(x[i]) == v[i]);
    m.equation(der(v[i]) == pull - next - 0.2 * x[i] - 0.1 * v[i] - friction * sign(v[i]));
    pull = next;
  }
  return m;
}

/// A relay that keeps the state on a curve, as long as it can. What it sees and what it does come from algebraic equations.
Model along_a_curve(unsigned seed, double shift) {
  Random random(seed);
  Model m("curve");
  const double frequency = random(0.4, 2.5), force = random(0.3, 1.5), strength = random(0.6, 2.0) + shift, curvature = random(0.2, 1.0);
  const Expr x = m.variable("x", random()), y = m.variable("y", random()), seen = m.variable("seen", 0.0), f = m.variable("f", 0.0);
  m.equation(der(x) == cos(frequency * m.time()) - 0.2 * x);
  m.equation(der(y) == force * sin(0.7 * frequency * m.time() + 0.3) - 0.3 * y - f);
  m.equation(seen + 0.1 * seen * seen * seen == y - curvature * x * x);
  m.equation(f + 0.05 * f * f * f == strength * sign(seen));
  return m;
}

template <int kind>
Model sliding_of_kind(unsigned seed, double shift) {
  return sliding_model(seed, kind, shift);
}

TEST(MethodAgreement, FrictionAndSliding) {
  testing::expect_agreement(sliding_of_kind<0>, explicit_equations, 12);
  testing::expect_agreement(sliding_of_kind<1>, explicit_equations, 12);
  testing::expect_agreement(sliding_of_kind<2>, algebraic_equations, 12);
  testing::expect_agreement(sliding_of_kind<3>, explicit_equations, 12);
}

TEST(MethodAgreement, FrictionOfCoupledMasses) { testing::expect_agreement(masses_with_friction, explicit_equations, 8); }

TEST(MethodAgreement, SlidingAlongACurve) { testing::expect_agreement(along_a_curve, algebraic_equations, 15); }

}  // namespace
}  // namespace saltus
