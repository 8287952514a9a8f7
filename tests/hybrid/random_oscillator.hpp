// Random oscillators with something that switches: walls, friction, hysteresis, sampled forces.
#pragma once

#include <saltus/saltus.hpp>

#include <random>

namespace saltus {

/// A damped, forced oscillator with something that switches.
struct RandomOscillator {
  explicit RandomOscillator(int seed) : random(static_cast<unsigned>(seed)) {}

  std::mt19937 random;
  int kind = 0;
  static constexpr int kinds = 10;

  double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }

  Model make() {
    kind = std::uniform_int_distribution<int>(0, kinds - 1)(random);
    Model m("random");
    const Expr x = m.variable("x", between(0.2, 1.0)), v = m.variable("v", between(-1.0, 1.0));
    const Expr push = between(0.5, 2.0) * cos(between(0.5, 2.0) * m.time());
    const double damping = between(0.1, 0.6), stiffness = between(0.5, 4.0), level = between(0.1, 0.8);
    const Expr force = push - damping * v - stiffness * x + switching(m, x, v, level);
    m.equation(der(x) == v);
    m.equation(der(v) == force);
    if (kind == 0 || kind == 6) m.when(x < -0.3 * level).reset(v, -between(0.5, 0.9) * v);
    return m;
  }

 private:
  Expr switching(Model& m, const Expr& x, const Expr& v, double level) {
    switch (kind) {
      case 1:  // a relay on the position
        return -level * if_else(x > 0.1 * level, Expr(1.0), Expr(-1.0));
      case 2:  // dry friction
      case 6:  // the same, and a wall
        return -level * sign(v);
      case 3: {  // a hysteresis that counts
        const Expr on = m.discrete("on", 0.0), count = m.discrete("count", 0.0);
        m.when(x > 0.2 * level).assign(on, 1.0).assign(count, m.pre(count) + 1.0);
        m.when(x < -0.2 * level).assign(on, 0.0);
        return -level * on;
      }
      case 4: {  // a sampled force
        const Expr u = m.discrete("u", 0.0);
        m.when(m.sample(0.0, between(0.1, 0.7))).assign(u, -level * x);
        return u;
      }
      case 5: {  // friction against a second mass
        const Expr y = m.variable("y", between(-0.5, 0.5)), w = m.variable("w", 0.0);
        const Expr friction = level * sign(v - w);
        m.equation(der(y) == w);
        m.equation(der(w) == friction - between(0.5, 2.0) * y - 0.2 * w);
        return -friction;
      }
      case 7: {  // a comparator with a sawtooth
        const double period = between(0.3, 1.5);
        return level * if_else(x < between(0.5, 1.5) * (mod(m.time(), period) / period - 0.5), Expr(1.0), Expr(-1.0));
      }
      case 8: {  // a force while the energy is low: a guard that is not affine
        const double energy = between(0.3, 1.5);
        return level * if_else(v * v + x * x < energy, 1.5 * v, Expr(0.0));
      }
      case 9: {  // a clause that only counts, and a force that nothing switches
        const Expr count = m.discrete("count", 0.0);
        m.when(sin(x) * v > 0.1).assign(count, m.pre(count) + 1.0);
        return -level * x * x * x;
      }
      default:
        return Expr(0.0);  // the wall is a clause
    }
  }
};

}  // namespace saltus
