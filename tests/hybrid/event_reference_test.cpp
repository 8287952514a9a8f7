// Event times of problems from the literature, against closed forms or references with more digits.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

SimulateOptions to(double stop, double rtol = 1e-10, double atol = 1e-10) { return {.stop = stop, .rtol = rtol, .atol = atol}; }

// DISODE45 manual (Calvo, Montijano, Rández 2016), example 6: x' = -(x - 18)/10 + 2 u, off above 23.5, on below 22.
TEST(EventReference, Disode45Example6SwitchesItsHeating) {
  Model m("heating");
  const Expr x = m.variable("x", 15.0), u = m.discrete("u", 1.0);
  m.equation(der(x) == -0.1 * (x - 18.0) + 2.0 * u);
  m.when(x > 23.5).assign(u, 0.0);
  m.when(x < 22.0).assign(u, 1.0);
  for (const double tolerance : {1e-6, 1e-10}) {
    const Trajectory run = simulate(m, to(20.0, tolerance, tolerance));
    std::vector<double> switches;  // x also passes 22 on its way up, where nothing acts
    for (const Event& e : run.events())
      if (!e.actions.empty()) switches.push_back(e.t);
    ASSERT_EQ(switches.size(), 7u);
    // from x to y with the limit L: 10 ln((L - x)/(L - y))
    double t = 10.0 * std::log(23.0 / 14.5);
    const double off = 10.0 * std::log(5.5 / 4.0), on = 10.0 * std::log(16.0 / 14.5);
    for (std::size_t k = 0; k < 7; ++k) {
      // the error of x is about rtol |x| per unit of time, over the smallest slope 0.4; 24 is the largest |x|
      EXPECT_NEAR(switches[k], t, 10.0 * tolerance * 24.0 / 0.4) << k;
      t += k % 2 == 0 ? off : on;
    }
    EXPECT_NEAR(switches[6], 17.1202698, 1e-4);  // as printed
  }
}

// GESDA report (Wunderlich 2009), appendix A: stick-slip with hysteresis instead of sliding. The relative velocity follows sin t -+ 0.8 and
// switches at -+0.003. In exact arithmetic there are 395 switches in [0, 10]; the one after them comes at 10.0193.
TEST(EventReference, GesdaStickSlipWithHysteresisSwitches395Times) {
  constexpr double band = 0.003;
  // closed form: v(t) = v_k + cos t_k - cos t -+ 0.8 (t - t_k)
  std::vector<double> exact;
  double t = 0.0, v = 0.0;
  for (int sign = +1; t < 10.0; sign = -sign) {
    // in mode `sign` the friction is -0.8 sign; the mode ends where sign v falls below -band; the first zero is found by small steps and
    // bisection
    const auto after = [&](double s) { return sign * (v + std::cos(t) - std::cos(s) - 0.8 * sign * (s - t)) + band; };
    double low = t, high = t + 1e-4;
    for (; after(high) > 0.0 && high < 10.1; high += 1e-4) low = high;
    for (int i = 0; i < 60; ++i) (after(0.5 * (low + high)) > 0.0 ? low : high) = 0.5 * (low + high);
    v = -band * sign;
    t = high;
    if (t <= 10.0) exact.push_back(t);
  }
  ASSERT_EQ(exact.size(), 395u);
  EXPECT_NEAR(exact[0], 0.003759, 1e-6);

  Model m("stick-slip");
  const Expr p1 = m.variable("p1", 1.0), p2 = m.variable("p2", 1.0), v1 = m.variable("v1", 0.0), v2 = m.variable("v2", 0.0);
  m.equation(der(p1) == v1);
  m.equation(der(p2) == v2);
  auto right = m.mode("right"), left = m.mode("left");
  right.equation(der(v1) == sin(m.time()) - 0.4);
  right.equation(der(v2) == 0.4);
  left.equation(der(v1) == sin(m.time()) + 0.4);
  left.equation(der(v2) == -0.4);
  right.transition(v1 - v2 < -band).to(left);
  left.transition(v1 - v2 > band).to(right);
  const Trajectory run = simulate(m, to(10.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 395u);
  // Between switches |v'| may be as small as 0; the first after a turn of the velocity is the worst. Errors of v of 1e-10 per unit of time
  // add up; where v' = cos t (t - t_turn) they count with its square root at most.
  for (std::size_t k = 0; k < 395; ++k) EXPECT_NEAR(run.events()[k].t, exact[k], 1e-8) << k;
}

// Robertson's reaction as in the SUNDIALS examples: roots of y1 - 1e-4 and y3 - 0.01. References in quadruple precision.
void expect_robertson_roots(const Trajectory& run) {
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_NEAR(run.events()[0].t, 0.2640190781876325, 1e-9 * 0.264);
  EXPECT_NEAR(run.events()[1].t, 2.07954968830e7, 1e-9 * 2.08e7);
}

TEST(EventReference, RobertsonAsAnOrdinaryEquation) {
  Model m("robertson");
  const Expr y1 = m.variable("y1", 1.0), y2 = m.variable("y2", 0.0), y3 = m.variable("y3", 0.0);
  const Expr a = 0.04 * y1, b = 1e4 * y2 * y3, c = 3e7 * y2 * y2;
  m.equation(der(y1) == -a + b);
  m.equation(der(y2) == a - b - c);
  m.equation(der(y3) == c);
  m.when(y1 < 1e-4).record();
  m.when(y3 > 0.01).record();
  expect_robertson_roots(simulate(m, {.stop = 4e7, .rtol = 1e-11, .atol_each = {1e-14, 1e-18, 1e-14}}));
}

TEST(EventReference, RobertsonWithItsConservationLaw) {
  Model m("robertson");
  const Expr y1 = m.variable("y1", 1.0), y2 = m.variable("y2", 0.0), y3 = m.variable("y3", 0.0);
  const Expr a = 0.04 * y1, b = 1e4 * y2 * y3, c = 3e7 * y2 * y2;
  m.equation(der(y1) == -a + b);
  m.equation(der(y2) == a - b - c);
  m.equation(y1 + y2 + y3 == 1.0);
  m.when(y1 < 1e-4).record();
  m.when(y3 > 0.01).record();
  const Trajectory run = simulate(m, {.stop = 4e7, .rtol = 1e-11, .atol = 1e-16});
  expect_robertson_roots(run);
}

// Van der Pol, mu = 100, from (2, 0): zeros of y. References by two independent methods.
TEST(EventReference, VanDerPolCrossesZero) {
  Model m("van der pol");
  const Expr y = m.variable("y", 2.0), v = m.variable("v", 0.0);
  m.equation(der(y) == v);
  m.equation(der(v) == 100.0 * (1.0 - y * y) * v - y);
  m.when(y > 0.0).record();
  const Trajectory run = simulate(m, to(250.0, 1e-11, 1e-13));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 3u);
  const double exact[] = {81.172377900538, 162.5909134467, 244.0094489929};
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(run.events()[k].t, exact[k], 1e-9 * exact[k]);
}

// heyoka's tutorial: x'' = -9.8 sin x from 0.05; half a period is 1.003701787940065. A guard v and one that dips below zero for a
// very short time around it: v^2 - 1e-12, 4e-6 wide.
TEST(EventReference, APendulumTurnsAndItsSpeedDipsBelowATinyLevel) {
  Model m("pendulum");
  const Expr x = m.variable("x", 0.05), v = m.variable("v", 0.025);
  m.equation(der(x) == v);
  m.equation(der(v) == -9.8 * sin(x));
  m.when(v > 0.0).record();
  m.when(v * v < 1e-12).record();
  for (const Method method : {Method::dop853, Method::taylor, Method::dopri5}) {
    SimulateOptions o = to(5.0, 1e-13, 1e-14);
    o.method = method;
    const Trajectory run = simulate(m, o);
    // every turn has three events: below the level, the zero, above the level
    ASSERT_EQ(run.events().size(), 15u) << to_string(method);
    for (std::size_t k = 0; k + 2 < 15; k += 3) {
      const double turn = run.events()[k + 1].t;
      // |v'| = 9.8 sin|x| at the turn
      const double slope = 9.8 * std::sin(std::abs(run.events()[k + 1].after[0]));
      EXPECT_NEAR(turn - run.events()[k].t, 1e-6 / slope, 1e-9 / slope);
      EXPECT_NEAR(run.events()[k + 2].t - turn, 1e-6 / slope, 1e-9 / slope);
    }
  }
  m.set("v", 0.0);
  const Trajectory run = simulate(m, to(3.1, 1e-13, 1e-14));
  std::vector<double> turns;
  for (const Event& e : run.events())
    for (const std::string& g : e.guards)
      if (g == "v > 0") turns.push_back(e.t);
  ASSERT_EQ(turns.size(), 3u);
  for (std::size_t k = 0; k < 3; ++k)
    EXPECT_NEAR(turns[k], 1.003701787940065 * static_cast<double>(k + 1), 1e-11);
}

// López and Maset: y' = z, y^2 - z^2 = 1, so y = cosh t. It starts at t = 1/2, since at t = 0 z = 0 makes the constraint singular.
TEST(EventReference, LopezMasetReachesFifty) {
  Model m("hyperbola");
  const Expr y = m.variable("y", std::cosh(0.5), {.fixed = true}), z = m.variable("z", 0.5);
  m.equation(der(y) == z);
  m.equation(y * y - z * z == 1.0);
  m.when(y > 50.0).terminate("far");
  const Trajectory run = simulate(m, {.start = 0.5, .stop = 10.0, .rtol = 1e-11, .atol = 1e-11});
  EXPECT_EQ(run.status().code, StatusCode::terminated) << run.status().message;
  // the error grows as y does; over the slope, which is y, rtol times the time remains
  EXPECT_NEAR(run.t_end(), std::acosh(50.0), 10.0 * 1e-11 * 4.6);
  EXPECT_NEAR(run.final()[0], 50.0, 1e-8);
}

// A clutch: two shafts, J1 = 1 driven by a torque of 5, J2 = 3 braked by 1; locked from t = 1 to t = 2, open otherwise.
TEST(EventReference, AClutchEngagesAndOpens) {
  Model m("clutch");
  const Expr w1 = m.variable("w1", 10.0), w2 = m.variable("w2", 2.0), tau = m.variable("tau", 0.0), t = m.time();
  m.equation(der(w1) == 5.0 - tau);
  m.equation(3.0 * der(w2) == tau - 1.0);
  m.equation(if_else(t >= 1.0 && t < 2.0, w1 - w2, tau) == 0.0);
  const Trajectory run = simulate(m, to(3.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].t, 1.0);
  EXPECT_EQ(run.events()[1].t, 2.0);
  // before: 15 and 5/3; the momentum 15 + 5 = 20 is kept: 5 each; locked: 4 w' = 4; tau = 5 - 1; open again
  EXPECT_NEAR(run.events()[0].before[0], 15.0, 1e-8);
  EXPECT_NEAR(run.events()[0].after[0], 5.0, 1e-8);
  EXPECT_NEAR(run.events()[0].after[1], 5.0, 1e-8);
  EXPECT_NEAR(run.events()[0].jump, 10.0, 1e-8);
  EXPECT_NEAR(run.at(1.5, "tau"), 4.0, 1e-8);
  EXPECT_NEAR(run.at(2.0, "w1"), 6.0, 1e-8);
  EXPECT_NEAR(run.final()[0], 11.0, 1e-8);
  EXPECT_NEAR(run.final()[1], 6.0 - 1.0 / 3.0, 1e-8);
}

// Dry friction, x'' = sin(w t) - x - F sign x'. With F = 0.2, w = 0.377419 and tolerance 1e-6 a slip at t = 78.14 is so short that an automaton
// of the modes slip and stick on a multistep code repeats one event for ever.
Model dry_friction(bool automaton) {
  Model m("friction");
  const double F = 0.2, w = 0.377419;
  const Expr x = m.variable("x", 0.0), v = m.variable("v", 1.0), t = m.time();
  m.equation(der(x) == v);
  if (!automaton) {
    m.equation(der(v) == sin(w * t) - x - F * sign(v));
    return m;
  }
  const Expr force = sin(w * t) - x;
  auto forward = m.mode("forward"), stick = m.mode("stick"), backward = m.mode("backward");
  forward.equation(der(v) == force - F);
  stick.equation(der(v) == 0.0);
  backward.equation(der(v) == force + F);
  forward.transition(v < 0.0 && force < -F).to(backward);
  forward.transition(v < 0.0).to(stick).reset(v, 0.0);
  backward.transition(v > 0.0 && force > F).to(forward);
  backward.transition(v > 0.0).to(stick).reset(v, 0.0);
  stick.transition(force > F).to(forward);
  stick.transition(force < -F).to(backward);
  return m;
}

TEST(EventReference, TheLockUpOfDryFrictionDoesNotHappen) {
  for (const bool automaton : {false, true}) {
    const Trajectory reference = simulate(dry_friction(automaton), to(150.0, 1e-12, 1e-12));
    ASSERT_TRUE(reference.status().ok()) << reference.status().message;
    for (const double tolerance : {1e-6, 1e-9}) {
      const Trajectory run = simulate(dry_friction(automaton), to(150.0, tolerance, tolerance));
      ASSERT_TRUE(run.status().ok()) << run.status().message << " " << automaton << " " << tolerance;
      // A slip below the tolerance, and the events in it, may be seen or not; where the mass is does not depend on it. The motion is damped:
      // no growth of errors, some hundred times the tolerance remain.
      EXPECT_LE(run.events().size(), reference.events().size() + 4);
      EXPECT_GE(run.events().size() + 4, reference.events().size());
      for (int k = 1; k <= 15; ++k) {
        EXPECT_NEAR(run.at(10.0 * k, "x"), reference.at(10.0 * k, "x"), 300.0 * tolerance) << automaton << " " << tolerance << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace saltus
