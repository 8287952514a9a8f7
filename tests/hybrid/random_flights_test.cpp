// Random models, in flight and by the simulator's loop: the same events and values.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

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

/// Without the last bounces before contact begins, whose number depends on rounding errors.
std::vector<const Event*> clear_events(const Trajectory& run) {
  constexpr double thousand_tolerances = 1e-6;
  std::vector<const Event*> events;
  for (const Event& e : run.events())
    if (e.kind != EventKind::reset || e.jump > thousand_tolerances) events.push_back(&e);
  return events;
}

/// How far apart two runs are, in times and relative to values: 1 where their events are not the same ones.
double apart(const Trajectory& a, const Trajectory& b) {
  const std::vector<const Event*> first = clear_events(a), second = clear_events(b);
  if (first.size() != second.size() || a.status().code != b.status().code) return 1.0;
  double largest = 0.0;
  for (std::size_t e = 0; e < first.size(); ++e) {
    const Event &p = *first[e], &q = *second[e];
    if (p.kind != q.kind || p.guards != q.guards || p.actions != q.actions) return 1.0;
    largest = std::max(largest, std::abs(p.t - q.t));
  }
  for (std::size_t j = 0; j < a.final().size(); ++j)
    largest = std::max(largest, std::abs(a.final()[j] - b.final()[j]) / (1.0 + std::abs(b.final()[j])));
  return largest;
}

// Two tolerances, and dopri5, which is less accurate than asked for sooner than others, show which models forget their
// errors; of these, flights and loop have the same events and values.
TEST(RandomFlights, AgreeWithTheLoop) {
  constexpr std::array methods{Method::dopri5, Method::dop853, Method::tsit5, Method::taylor};
  const int cases = random_cases(200), first = random_seed();
  int compared = 0, flown = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    RandomOscillator oscillator(seed);
    const CompiledModel model(oscillator.make());
    const Method method = methods[static_cast<std::size_t>(seed) % methods.size()];
    const auto run = [&](Method by, double tolerance, std::int64_t flights_after) {
      SimulateOptions o;
      o.stop = 150.0;
      o.rtol = o.atol = tolerance;
      o.method = by;
      o.flights_after = flights_after;
      o.keep_steps = false;
      o.max_steps = 50000;  // a relay on a position may switch faster and faster
      return simulate(model, o);
    };
    const Trajectory plain = run(method, 1e-9, -1);
    if (!plain.status().ok() || apart(plain, run(method, 1e-10, -1)) > 1e-6 ||
        apart(plain, run(Method::dopri5, 1e-9, -1)) > 1e-6)
      continue;
    const Trajectory own = run(method, 1e-9, 0);
    ++compared;
    flown += own.statistics().flown > 0 ? 1 : 0;
    EXPECT_LT(apart(own, plain), 1e-5) << "seed " << seed << ", kind " << oscillator.kind << ", " << to_string(method)
                                       << ": " << own.status().message << " " << own.events().size() << " events, not "
                                       << plain.events().size();
  }
  record_models(compared);
  expect_share(compared, 0.7, cases);
  expect_share(flown, 0.6, cases);
}

}  // namespace
}  // namespace saltus
