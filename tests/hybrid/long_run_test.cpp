// Many events: what accumulates over thousands of them shows whether each is located on the right side and to the last digits.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

// A ball that loses nothing: impact k at (2k - 1) sqrt(2 h/g). A location that is always late by a few units would pump energy.
TEST(LongRun, AnElasticBallKeepsItsEnergyOverThousandsOfImpacts) {
  Model m("ball");
  const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v);
  const double first = std::sqrt(20.0 / 9.81);
  constexpr int impacts = 5000;
  const Trajectory run = simulate(m, {.stop = 2.0 * first * impacts, .rtol = 1e-6, .atol = 1e-9, .keep_steps = false});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), static_cast<std::size_t>(impacts));
  double worst_speed = 0.0, worst_time = 0.0;
  for (int k = 0; k < impacts; ++k) {
    const Event& e = run.events()[static_cast<std::size_t>(k)];
    worst_speed = std::max(worst_speed, std::abs(std::abs(e.after[1]) / (9.81 * first) - 1.0));
    worst_time = std::max(worst_time, std::abs(e.t / ((2.0 * k + 1.0) * first) - 1.0));
  }
  // One unit of time at t = 14000 is 1.8e-12, 9e-13 of a flight of 2.86/2: times the number of impacts if all go in one direction.
  const double unit = eps * run.t_end() / first;
  EXPECT_LE(worst_speed, impacts * unit);
  EXPECT_LE(worst_time, impacts * unit);
  ::testing::Test::RecordProperty("speed", std::to_string(worst_speed / eps));
}

// A point in a circular table: all chords have the same length and all angles of reflection are the same.
TEST(LongRun, ACircularBilliardHasEqualChords) {
  Model m("billiard");
  const double angle = 0.7;  // of the velocity with the radius at the wall
  const Expr x = m.variable("x", 0.0), y = m.variable("y", std::sin(angle)), u = m.variable("u", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == 0.0);
  m.equation(der(v) == 0.0);
  const Expr r2 = x * x + y * y, normal = (u * x + v * y) / r2;
  m.when(r2 > 1.0).reset(u, u - 2.0 * normal * x).reset(v, v - 2.0 * normal * y);
  constexpr int bounces = 2000;
  const double half = std::cos(angle);  // of a chord, in time and length
  const Trajectory run = simulate(m, {.stop = 2.0 * half * bounces, .rtol = 1e-6, .atol = 1e-9});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), static_cast<std::size_t>(bounces));
  // A bracket of one unit of time moves the wall by up to eps t; the angle of reflection follows, and with it the next chords: k bounces
  // give an error of the chord of k eps t, their sum k^2 eps t / 2.
  for (int k = 0; k < bounces; ++k) {
    const double t = (2.0 * k + 1.0) * half;
    EXPECT_NEAR(run.events()[static_cast<std::size_t>(k)].t, t, 4.0 * eps * t * (k + 1.0)) << k;
  }
  const auto& end = run.final();
  EXPECT_NEAR(std::hypot(end[2], end[3]), 1.0, 8.0 * eps * bounces);                          // speed
  EXPECT_NEAR(end[0] * end[3] - end[1] * end[2], -std::sin(angle), 8.0 * eps * bounces * run.t_end());  // angular momentum
}

/// Buck converter (di Bernardo, Garofalo, Glielmo, Vasca 1998): the switch is closed while a (v - reference) is below the sawtooth.
struct Buck {
  static constexpr double R = 22.0, C = 47e-6, L = 20e-3, gain = 8.4, reference = 11.3, low = 3.8, high = 8.2, T = 400e-6, source = 20.0;

  static Model model() {
    Model m("buck");
    const Expr v = m.variable("v", 12.0), i = m.variable("i", 0.6), t = m.time();
    const Expr ramp = low + (high - low) * mod(t, T) / T;
    m.equation(der(v) == (i - v / R) / C);
    m.equation(der(i) == (if_else(gain * (v - reference) < ramp, Expr(source), Expr(0.0)) - v) / L);
    return m;
  }

  /// The voltage after a time s in one position of the switch, from (v0, i0), in closed form: damped oscillation around (E, E/R).
  struct Circuit {
    double v0, i0, E;
    void at(double s, double& v, double& i) const {
      const double a = 1.0 / (2.0 * R * C), w = std::sqrt(1.0 / (L * C) - a * a);
      const double p = v0 - E, q = i0 - E / R;
      const double slope = (q - p / R) / C;  // of p
      const double B = (slope + a * p) / w;
      const double decay = std::exp(-a * s), c = std::cos(w * s), d = std::sin(w * s);
      const double value = decay * (p * c + B * d), derivative = decay * ((B * w - a * p) * c - (p * w + a * B) * d);
      v = E + value;
      i = E / R + C * derivative + value / R;
    }
  };
};

TEST(LongRun, ABuckConverterSwitchesForTenThousandPeriods) {
  constexpr int periods = 10000;
  // the same circuit from closed forms: the comparator is looked at 64 times per period, then bisected
  std::vector<double> exact;
  double v = 12.0, i = 0.6;
  for (int k = 0; k < periods; ++k) {
    double s = 0.0;
    bool closed = Buck::gain * (v - Buck::reference) < Buck::low;
    while (s < Buck::T) {
      const Buck::Circuit circuit{v, i, closed ? Buck::source : 0.0};
      const double from = s;
      const auto over = [&](double at) {
        double v1, i1;
        circuit.at(at - from, v1, i1);
        return Buck::gain * (v1 - Buck::reference) - (Buck::low + (Buck::high - Buck::low) * at / Buck::T);
      };
      double a = s, b = s;
      bool found = false;
      while (b < Buck::T && !found) {
        a = b;
        b = std::min(b + Buck::T / 64.0, Buck::T);
        found = closed ? over(b) > 0.0 : over(b) < 0.0;
      }
      if (found) {
        for (int n = 0; n < 60; ++n) ((over(0.5 * (a + b)) < 0.0) == closed ? a : b) = 0.5 * (a + b);
        exact.push_back(k * Buck::T + b);
        closed = !closed;
      }
      circuit.at(b - from, v, i);
      s = b;
    }
  }
  const double tolerance = 1e-8;
  const Trajectory run = simulate(Buck::model(), {.stop = periods * Buck::T, .rtol = tolerance, .atol = tolerance, .keep_steps = false});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  std::vector<double> found;
  int resets = 0;
  for (const Event& e : run.events()) {
    if (e.kind == EventKind::time)
      ++resets;
    else
      found.push_back(e.t);
  }
  EXPECT_EQ(resets, periods);
  ASSERT_EQ(found.size(), exact.size());
  ASSERT_GE(found.size(), static_cast<std::size_t>(periods));
  // the circuit forgets errors within some periods: v is right to about ten times the tolerance, over the slope gain v' - ramp'
  double worst = 0.0;
  for (std::size_t k = 0; k < exact.size(); ++k) worst = std::max(worst, std::abs(found[k] - exact[k]));
  const double slope = (Buck::high - Buck::low) / Buck::T;
  EXPECT_LE(worst, 10.0 * tolerance * 12.0 * Buck::gain / slope);
  EXPECT_NEAR(run.final()[0], v, 10.0 * tolerance * 12.0);
}

// x' = -x + u, u = r - K x at the sample times: x_{k+1} = a x_k + (1 - a)(r - K x_k) with a = exp(-h).
TEST(LongRun, ASampledControllerTakesAHundredThousandSamples) {
  constexpr int samples = 100000;
  constexpr double h = 0.01, K = 3.0, tolerance = 1e-8;
  Model m("sampled");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 0.0), n = m.discrete("n", 0.0);
  // a reference that moves for ever: +1 and -1 by turns, 100 samples each
  const Expr reference = if_else(mod(m.pre(n), 200.0) < 99.5, Expr(1.0), Expr(-1.0));
  m.equation(der(x) == u - x);
  m.when(m.sample(0.0, h)).assign(u, reference - K * x).assign(n, m.pre(n) + 1.0);
  const Trajectory run = simulate(m, {.stop = (samples - 0.5) * h, .rtol = tolerance, .atol = tolerance, .keep_steps = false});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[2], static_cast<double>(samples));
  ASSERT_GE(run.events().size(), static_cast<std::size_t>(samples - 1));
  const double a = std::exp(-h);
  double state = 1.0, worst = 0.0, worst_time = 0.0;
  std::size_t event = run.events().size() - static_cast<std::size_t>(samples - 1);
  for (int k = 1; k < samples; ++k, ++event) {
    const double r = (k - 1) % 200 < 100 ? 1.0 : -1.0;
    state = a * state + (1.0 - a) * (r - K * state);
    worst = std::max(worst, std::abs(run.events()[event].before[0] - state));
    worst_time = std::max(worst_time, std::abs(run.events()[event].t / (k * h) - 1.0));
  }
  EXPECT_LE(worst, 10.0 * tolerance);  // the loop forgets errors
  EXPECT_LE(worst_time, 2.0 * eps);
}

TEST(KeptSize, CountsEachStepOnce) {
  Model m("oscillator");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == if_else(x > 0.0, -1.0, 1.0));
  Simulator simulator(std::make_shared<CompiledModel>(m), {.stop = 400.0, .method = Method::dopri5});
  KeptSize size;
  std::size_t bytes = 0, steps = 0, again = 0;
  while (simulator.step()) bytes += size.new_steps(simulator.trajectory());
  bytes += size.new_steps(simulator.trajectory());
  EXPECT_EQ(size.new_steps(simulator.trajectory()), 0u);
  for (const Trajectory::Segment& segment : simulator.trajectory().segments())
    for (const Trajectory::Step& step : segment.steps) {
      ++steps;
      again += sizeof step + sizeof(double) * step.polynomial.c.size();
    }
  EXPECT_GT(steps, 100u);
  EXPECT_EQ(bytes, again);
  simulator.forget_steps();
  EXPECT_EQ(KeptSize().new_steps(simulator.trajectory()), 0u);
}

}  // namespace
}  // namespace saltus
