// Examples of Piiroinen and Kuznetsov (2008) and of the DISODE45 manual (2016) against reference event times. The references were
// computed with Taylor series of order 20 at tolerance 1e-15 and, where marked, agree with closed forms.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

struct Expected {
  double t;
  EventKind kind;
};

constexpr EventKind cross = EventKind::crossing, enter = EventKind::slide_enter, leave = EventKind::slide_exit;

// Errors of event times are the error of the solution over its speed through the surface: a few hundred times the tolerance here.
void expect_events(const Trajectory& run, const std::vector<Expected>& expected, double tolerance) {
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_NEAR(run.events()[k].t, expected[k].t, tolerance) << "event " << k + 1 << ": " << run.events()[k].describe();
    EXPECT_EQ(run.events()[k].kind, expected[k].kind) << "event " << k + 1 << ": " << run.events()[k].describe();
  }
}

SimulateOptions to(double stop) { return {.stop = stop, .rtol = 1e-11, .atol = 1e-11}; }
constexpr double loose = 1e-8;

// DISODE45, example 1 (the listing's friction values): 14 crossings, sliding on v1 = 0 with three crossings, then both masses at rest.
TEST(SlidingReference, Disode45Example1EndsInCodimensionTwo) {
  Model m("two masses");
  const Expr x1 = m.variable("x1", -2), x2 = m.variable("x2", 3), v1 = m.variable("v1", 0), v2 = m.variable("v2", 0);
  m.equation(der(x1) == v1);
  m.equation(der(x2) == v2);
  m.equation(der(v1) == -(x1 - x2) - if_else(x1 > 0.0, Expr(1.0), Expr(0.6)) * sign(v1));
  m.equation(der(v2) == -(x2 - x1) - if_else(x2 > 0.0, Expr(0.2), Expr(0.5)) * sign(v2));
  const Trajectory run = simulate(m, to(20.0));
  expect_events(run,
                {{1.052478819128, cross}, {1.277292667360, cross}, {2.061102560252, cross}, {2.287834158601, cross},
                 {3.337920923050, cross}, {3.601161367377, cross}, {4.444080531436, cross}, {4.525605416929, cross},
                 {5.552968414608, cross}, {5.943251431929, cross}, {6.497070286416, cross}, {6.754632921083, cross},
                 {7.633580741831, cross}, {8.825923432708, enter}, {9.097358518980, cross}, {9.295495083911, cross},
                 {9.604495196526, cross}, {10.819728308718, enter}},
                loose);
  EXPECT_EQ(run.events().back().surfaces.size(), 2u);
  EXPECT_NEAR(run.final()[0], -0.4682060438923, loose);
  EXPECT_NEAR(run.final()[1], -0.05953691159358, loose);
  EXPECT_EQ(run.final()[2], 0.0);
  EXPECT_EQ(run.final()[3], 0.0);
}

// DISODE45, example 2: a mass on a belt whose speed varies; the surface moves.
TEST(SlidingReference, Disode45Example2SlidesOnAMovingSurface) {
  Model m("belt");
  const Expr x = m.variable("x", 3), v = m.variable("v", 0), t = m.time();
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.4 * v + cos(0.7 * t) - 0.4 * sign(v - (cos(t) + 0.7)));
  const Trajectory run = simulate(m, to(30.0));
  expect_events(run,
                {{7.605569964746, cross}, {9.483378578865, enter}, {9.765258754459, leave}, {14.805105689085, cross},
                 {17.458939643915, cross}, {26.131681824649, enter}, {27.291156893477, leave}},
                loose);
  EXPECT_NEAR(run.final()[0], 0.190596631593, loose);
  EXPECT_NEAR(run.final()[1], -1.135390730860, loose);
}

// Piiroinen and Kuznetsov, 4.1: dry-friction oscillator, F = 0.4, omega = 1/3.
TEST(SlidingReference, DryFrictionOscillator) {
  Model m("oscillator");
  const Expr x = m.variable("x", 1), v = m.variable("v", 2);
  m.equation(der(x) == v);
  m.equation(der(v) == -x + sin(m.time() / 3.0) - 0.4 * sign(v));
  const Trajectory run = simulate(m, to(12.0 * pi));
  expect_events(run,
                {{1.0251204651562, cross}, {3.8239162192904, cross}, {6.7348240073041, enter}, {7.5058206343780, leave},
                 {12.9474994137335, enter}, {17.2378825063518, leave}, {22.5382868750994, enter}, {26.4778005994152, leave},
                 {31.8612122667858, enter}, {36.0121498104400, leave}},
                loose);
  EXPECT_NEAR(run.final()[0], -0.722843671607, loose);
  EXPECT_NEAR(run.final()[1], 0.345576898964, loose);
}

// The limit cycles I, II and III of their figure 4: crossings and slides per period, state at the section.
TEST(SlidingReference, LimitCyclesOfTheDryFrictionOscillator) {
  struct Cycle {
    double inverse_omega, x, v;
    int slides_per_period;
  };
  for (const Cycle& c : {Cycle{0.5, -0.13665631, -0.48778123, 0}, Cycle{3.0, -0.72126788, 0.35703024, 2},
                         Cycle{6.0, -0.53745000, 0.25446292, 4}}) {
    Model m("oscillator");
    const Expr x = m.variable("x", c.x), v = m.variable("v", c.v);
    m.equation(der(x) == v);
    m.equation(der(v) == -x + sin(m.time() / c.inverse_omega) - 0.4 * sign(v));
    const double period = 2.0 * pi * c.inverse_omega;
    const Trajectory run = simulate(m, to(10.0 * period));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    int slides = 0;
    for (const Event& e : run.events()) slides += e.kind == enter;
    EXPECT_EQ(slides, 10 * c.slides_per_period);
    EXPECT_NEAR(run.final()[0], c.x, 5e-8);  // the reference has eight digits
    EXPECT_NEAR(run.final()[1], c.v, 5e-8);
  }
}

// Piiroinen and Kuznetsov, 4.2: relay feedback with many short slides.
TEST(SlidingReference, RelayFeedback) {
  Model m("relay");
  const double z = 0.05, w = 25.0, s = 1.0;
  const Expr a = m.variable("a", 0), b = m.variable("b", 0.5), c = m.variable("c", 1), u = -sign(a);
  m.equation(der(a) == -(2.0 * z * w + 1.0) * a + b + u);
  m.equation(der(b) == -(2.0 * z * w + w * w) * a + c - 2.0 * s * u);
  m.equation(der(c) == -w * w * a + u);
  const Trajectory run = simulate(m, to(8.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // the first event is the slide that begins at the start
  ASSERT_EQ(run.events().size(), 39u);
  std::vector<double> exits, hits;
  for (const Event& e : run.events()) {
    if (e.kind == leave) exits.push_back(e.t);
    if (e.kind != leave && e.t > 0.0) hits.push_back(e.t);
  }
  EXPECT_NEAR(exits[0], 0.208089542141, loose);
  EXPECT_NEAR(exits[1], 0.460606075035, loose);
  EXPECT_NEAR(exits[2], 0.714381169026, loose);
  EXPECT_NEAR(hits[0], 0.448339103997, loose);
  EXPECT_NEAR(hits[1], 0.695686087415, loose);
  EXPECT_NEAR(hits.back(), 7.537455134850, loose);
  EXPECT_EQ(run.final()[0], 0.0);
  EXPECT_NEAR(run.final()[1], 0.818534668, 1e-7);
  EXPECT_NEAR(run.final()[2], -2.45723364, 1e-7);
}

// Piiroinen and Kuznetsov, 4.3, with the torques divided by their inertias and T_fl = … (1 - 2/(1 + exp(beta |w|))). Limit cycles by long
// integration: period, where sliding (the lower disc sticks) begins, how long it lasts; it ends where the spring reaches the static torque.
TEST(SlidingReference, DrillString) {
  struct Cycle {
    double u, period, twist, upper, length;
    bool crossing;
  };
  const Cycle cycles[] = {{2, 4.240705, -0.45455, 3.50243, 0.47719, false},
                          {3, 4.254552, -0.72064, 5.35292, 0.36209, true},
                          {5, 4.194525, 0.78952, 8.96766, 0.04639, true}};
  const auto model = [](double u) {
    Model m("drill");
    const Expr twist = m.variable("twist", 0), upper = m.variable("upper", 2), lower = m.variable("lower", 2);
    const Expr size = if_else(lower > 0.0, lower, -lower);
    const Expr torque = 0.0940 + 0.0826 * (1 - 2 / (1 + exp(6.3598 * size))) - 0.2910 * (1 - 2 / (1 + exp(0.0786 * size)));
    m.equation(der(twist) == upper - lower);
    m.equation(0.4765 * der(upper) == 3.5693 * u - 0.078 * twist - 1.9667 * upper - if_else(upper > 0.0, Expr(0.3216), Expr(-0.3026)));
    m.equation(0.0326 * der(lower) == 0.078 * twist - if_else(lower > 0.0, torque, -torque));
    return m;
  };
  for (const Cycle& cycle : cycles) {
    const Trajectory run = simulate(model(cycle.u), {.stop = 120.0, .rtol = 1e-10, .atol = 1e-10});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    std::vector<Event> entries, exits, crossings;
    for (const Event& e : run.events()) {
      if (e.t < 90.0) continue;
      (e.kind == enter ? entries : e.kind == leave ? exits : crossings).push_back(e);
    }
    ASSERT_GE(entries.size(), 3u) << cycle.u;
    EXPECT_NEAR(entries[2].t - entries[1].t, cycle.period, 2e-6) << cycle.u;
    EXPECT_NEAR(entries[1].after[0], cycle.twist, 2e-5) << cycle.u;
    EXPECT_NEAR(entries[1].after[1], cycle.upper, 2e-5) << cycle.u;
    for (const Event& e : exits) EXPECT_NEAR(e.after[0], 0.0940 / 0.078, 1e-8) << cycle.u;
    double end = 0.0;
    for (const Event& e : exits)
      if (end == 0.0 && e.t > entries[1].t) end = e.t;
    EXPECT_NEAR(end - entries[1].t, cycle.length, 2e-5) << cycle.u;
    EXPECT_EQ(!crossings.empty(), cycle.crossing) << cycle.u;
  }
  const Trajectory smooth = simulate(model(1.0), {.stop = 120.0, .rtol = 1e-10, .atol = 1e-10});
  double low = 1e9, high = 0.0;
  for (double t = 90.0; t < 120.0; t += 1e-3) {
    low = std::min(low, smooth.at(t, "lower"));
    high = std::max(high, smooth.at(t, "lower"));
  }
  EXPECT_NEAR(low, 0.10558, 2e-5);
  EXPECT_NEAR(high, 3.16077, 2e-5);
  for (const Event& e : smooth.events()) EXPECT_LT(e.t, 90.0);
}

// Mehrmann and Wunderlich, example 1, from p = 0.5, L = 0.079 (the article gives no start): slides along the overflow level.
TEST(SlidingReference, EvaporatorVessel) {
  Model m("evaporator");
  const Expr p = m.variable("p", 0.5), L = m.variable("L", 0.079);
  const BoolExpr overflow = L > 0.08;
  m.equation(0.5 * der(p) == -0.5 * p + if_else(overflow, L, Expr(0.0)));
  m.equation(15.0 * der(L) == -L - if_else(overflow, p, Expr(0.0)) + 0.25);
  const Trajectory run = simulate(m, to(5.0));
  expect_events(run, {{0.08797679, enter}, {2.42593974, leave}}, 1e-8);
  EXPECT_NEAR(run.events()[0].after[0], 0.45789107, 1e-8);
  EXPECT_NEAR(run.events()[1].after[0], 0.17, 1e-9);
}

}  // namespace
}  // namespace saltus
