// Networks of ideal diodes: which of them conduct is found from the equations, at the start and at every event.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>
#include <string>

namespace saltus {
namespace {

using std::numbers::pi;

/// An ideal diode as a curve with the parameter s: it conducts the current s > 0 without a voltage, or blocks the voltage s <= 0.
struct Diode {
  Expr s, current, voltage;
  Diode(Model& m, const std::string& name)
      : s(m.variable(name, 0.0)), current(if_else(s > 0, s, 0.0)), voltage(if_else(s > 0, 0.0, s)) {}
};

// Three phases, six diodes, a load of R and L. No resistance, no capacitance anywhere else: at a commutation one diode takes over the whole
// current from another, and both together would short two phases.
TEST(Network, SixDiodeBridgeFindsItsModeAtEveryEvent) {
  constexpr double w = 2.0 * pi * 50.0, V = 325.0, R = 10.0, L = 0.02, shift = 0.1, stop = 0.1;
  Model m("bridge");
  const auto load = m.variable("i", 0.0), plus = m.variable("plus", 0.0), minus = m.variable("minus", 0.0);
  Expr above = 0.0, below = 0.0;
  for (int k = 0; k < 3; ++k) {
    const Expr phase = V * sin(w * m.time() + shift - 2.0 * pi * k / 3.0);
    const Diode upper(m, "upper" + std::to_string(k + 1)), lower(m, "lower" + std::to_string(k + 1));
    m.equation(phase - plus == upper.voltage);
    m.equation(minus - phase == lower.voltage);
    above += upper.current;
    below += lower.current;
  }
  m.equation(above == load);
  m.equation(below == load);
  m.equation(L * der(load) + R * load == plus - minus);
  const Trajectory run = simulate(m, {.stop = stop, .rtol = 1e-9, .atol = 1e-9});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  // two phases are equal at w t + shift = pi/6 + k pi/3 when they are the highest, or the lowest, of the three
  std::vector<double> expected;
  for (int k = 0; (pi / 6 + k * pi / 3 - shift) / w < stop; ++k)
    if (const double t = (pi / 6 + k * pi / 3 - shift) / w; t > 0) expected.push_back(t);
  ASSERT_EQ(run.events().size(), expected.size());
  // the current: L i' + R i = highest - lowest, a piece of a sine wave of amplitude sqrt(3) V in each interval
  const double amplitude = std::sqrt(3.0) * V, Z = std::hypot(R, w * L), lag = std::atan2(w * L, R);
  double i = 0.0, t = 0.0;
  for (std::size_t k = 0; k <= expected.size(); ++k) {
    const double next = k < expected.size() ? expected[k] : stop;
    if (k < expected.size()) {
      EXPECT_NEAR(run.events()[k].t, next, 1e-12) << k;
      EXPECT_EQ(run.events()[k].guards.size(), 2u) << k;  // one takes over from another
    }
    // highest - lowest peaks in the middle of the interval between commutations
    const double middle = std::ceil((w * (0.5 * (t + next)) + shift - pi / 3) / (pi / 3) - 0.5) * (pi / 3) + pi / 3;
    const auto steady = [&](double when) { return amplitude / Z * std::cos(w * when + shift - middle - lag); };
    i = steady(next) + (i - steady(t)) * std::exp(-R / L * (next - t));
    t = next;
    EXPECT_NEAR(run.at(t, "i"), i, 1e-7 * (1.0 + std::abs(i))) << k;
  }
}

// One diode, a resistance and a capacitor: conducts while the source is above the capacitor.
TEST(Network, HalfWaveRectifierChargesItsCapacitor) {
  constexpr double w = 2.0 * pi, R = 0.1, load = 10.0, C = 0.5;
  Model m("rectifier");
  const auto u = m.variable("u", 0.0);
  const Diode d(m, "s");
  m.equation(sin(w * m.time()) - u == d.voltage + R * d.current);
  m.equation(C * der(u) == d.current - u / load);
  const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  // on and off alternate; off is an exponential, and both kinds of event happen where the source equals the capacitor
  ASSERT_GE(run.events().size(), 5u);
  for (const Event& e : run.events()) EXPECT_NEAR(std::sin(w * e.t), run.at(e.t, "u"), 1e-8) << e.t;
  for (std::size_t k = 0; k + 1 < run.events().size(); k += 2) {
    const double off = run.events()[k].t, on = run.events()[k + 1].t;
    EXPECT_NEAR(run.at(on, "u"), run.at(off, "u") * std::exp(-(on - off) / (load * C)), 1e-8) << k;
  }
}

}  // namespace
}  // namespace saltus
