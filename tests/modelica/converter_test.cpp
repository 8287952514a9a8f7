// Rectifiers and thyristors with small resistances: their starts, their jumps and their truth values.
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

// Six diodes behind three inductors that meet in a floating point. i[1] + i[2] + i[3] = 0 is a hidden constraint, and
// the initial equations determine what is left.
const std::string bridge = R"(
model Diode
  Real v, i, s;
  Boolean off = s < 0;
equation
  v = s*(if off then 1 else 1e-3) + 2;
  i = s*(if off then 1e-3 else 1) + 2e-3;
end Diode;
model Bridge
  constant Real pi = 3.141592653589793;
  Diode up[3], down[3];
  Real i[3], u[3], leg[3], star, v1, v2;
initial equation
  i[2] = 0;
  i[3] = 0;
  v1 = 200*sqrt(2);
  v2 = v1 + i[2];
equation
  for k in 1:3 loop
    u[k] = 400*sqrt(2/3)*sin(100*pi*time - (k - 1)*2*pi/3);
    60e-6*der(i[k]) = u[k] + star - leg[k];
    up[k].v = leg[k] - v1;
    down[k].v = -v2 - leg[k];
    i[k] = up[k].i - down[k].i;
  end for;
  sum(i) = 0;
  0.03*der(v1) = sum(up.i) - 500;
  0.03*der(v2) = sum(down.i) - 500;
end Bridge;
)";

TEST(Converters, InitialEquationsAreSolvedBesideHiddenConstraints) {
  const Trajectory begun = simulate(load_text(bridge).model, {.stop = 1e-6, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_TRUE(begun.status().ok()) << begun.status().message;
  // all diodes block: no currents, and each leg is in the middle
  for (const std::string k : {"[1]", "[2]", "[3]"}) {
    EXPECT_NEAR(begun.at(0.0, "i" + k), 0.0, 1e-9);
    EXPECT_NEAR(begun.at(0.0, "leg" + k), 0.0, 1e-9);
    EXPECT_NEAR(begun.at(0.0, "up" + k + ".s"), -200.0 * std::sqrt(2.0) - 2.0, 1e-9);
  }
  EXPECT_NEAR(begun.at(0.0, "v2"), 200.0 * std::sqrt(2.0), 1e-9);
  // the sources add up to zero, and so do the slopes of the currents
  EXPECT_NEAR(begun.at(0.0, "star"), 0.0, 1e-9);
}

TEST(Converters, ABooleanFollowsItsRelationThroughEveryEvent) {
  const Model model = load_text(bridge).model;
  for (const Method method : {Method::automatic, Method::radau, Method::bdf, Method::rodas5p})
    for (const double tolerance : {1e-6, 1e-8}) {
      const Trajectory run = simulate(model, {.stop = 0.1, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      for (int row = 1; row < 2000; ++row) {
        const double t = 5e-5 * row;
        for (const std::string name : {"up[1]", "up[2]", "up[3]", "down[1]", "down[2]", "down[3]"})
          if (const double s = run.at(t, name + ".s"); std::abs(s) > 1e-3) {
            ASSERT_EQ(run.at(t, name + ".off"), s < 0.0 ? 1.0 : 0.0) << name << " at " << t << ", " << tolerance;
          }
      }
    }
}

TEST(Converters, InitialEquationsOfLargeModesWithHiddenConstraints) {
  // di_k/dt = sin(k) - s and sum i = 0: s is the mean of sin(k)
  constexpr int n = 1100;
  const Trajectory result = run_text(
      "model Star parameter Integer n = 1100; Real i[n], s; equation for k in 1:n loop der(i[k]) = sin(k) - s; end "
      "for; "
      "sum(i) = 0; initial equation for k in 1:n-1 loop i[k] - i[k+1] = cos(k); end for; end Star;",
      1.0);
  double mean = 0.0, first = 0.0, fallen = 0.0;
  for (int k = 1; k <= n; ++k) {
    mean += std::sin(k) / n;
    first += fallen / n;  // i[1] is the mean of i[1] - i[k]
    fallen += std::cos(k);
  }
  EXPECT_NEAR(result.at(1.0, "s"), mean, 1e-9);
  EXPECT_NEAR(result.at(0.0, "i[1]"), first, 1e-9);
  EXPECT_NEAR(result.at(1.0, "i[1]"), first + std::sin(1.0) - mean, 1e-9);
}

// At each zero of the voltage one thyristor ends, and a sample resets the ramp at the same instant.
TEST(Converters, ThyristorsThatEndAtASampleAreFiredInTurn) {
  const Model model = load_text(R"(
model Dimmer
  constant Real pi = 3.141592653589793;
  Real x(start = 0, fixed = true), y, v, s1, s2, i1, i2;
  Boolean off1(start = true, fixed = true), off2(start = true, fixed = true), fire;
equation
  der(x) = 1;
  when sample(0.01, 0.01) then reinit(x, 0); end when;
  y = 100*pi*x;
  fire = y >= 1.2 and y <= 1.5;
  v = s1*(if off1 then 1 else 1e-5);
  i1 = s1*(if off1 then 1e-5 else 1);
  off1 = s1 < 0 or pre(off1) and not fire;
  -v = s2*(if off2 then 1 else 1e-5);
  i2 = s2*(if off2 then 1e-5 else 1);
  off2 = s2 < 0 or pre(off2) and not fire;
  325*sin(100*pi*time) - v = 100*(i1 - i2);
end Dimmer;
)")
                          .model;
  for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
    const Trajectory run = simulate(model, {.stop = 0.2, .rtol = 1e-8, .atol = 1e-8, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    for (int half = 0; half < 20; ++half) {
      const double begin = 0.01 * half, sign = half % 2 == 0 ? 1.0 : -1.0;
      // the thyristor that blocks leaks as 1e5 Ohm
      EXPECT_NEAR(run.at(begin + 0.002, "v"), sign * 325.0 * std::sin(0.2 * M_PI) / 1.002, 1e-5);
      EXPECT_NEAR(run.at(begin + 0.005, "v"), sign * 325.0 / (1.0 + 100.0 * (1e5 + 1e-5)), 1e-9);
      EXPECT_EQ(run.at(begin + 0.005, half % 2 == 0 ? "off1" : "off2"), 0.0);
      EXPECT_EQ(run.at(begin + 0.005, half % 2 == 0 ? "off2" : "off1"), 1.0);
    }
  }
}

// Two thyristors in opposite directions. At the start all values are tiny: sizes that were found there say nothing
// about later ones, and the current into the ground, in which all others cancel, is rounding errors.
const std::string triac = R"(
connector Pin Real v; flow Real i; end Pin;
partial model OnePort Pin p, n; Real v, i; equation v = p.v - n.v; 0 = p.i + n.i; i = p.i; end OnePort;
model Resistor extends OnePort; parameter Real R; equation v = R*i; end Resistor;
model Capacitor extends OnePort; parameter Real C; equation i = C*der(v); end Capacitor;
model Sine
  extends OnePort;
  parameter Real t0 = 0;
equation
  v = if time >= t0 then 5*sin(4*3.141592653589793*(time - t0)) else 0;
end Sine;
model Ground Pin p; equation p.v = 0; end Ground;
model Thyristor
  extends OnePort;
  Real s;
  input Boolean fire;
  Boolean off(start = true, fixed = true);
equation
  v = s*(if off then 1 else 1e-5) + 0.8;
  i = s*(if off then 1e-5 else 1) + 0.8e-5;
  off = s < 0 or pre(off) and not fire;
end Thyristor;
model Triac
  Pin n, p;
  input Boolean fire;
  Thyristor a(fire = fire), b(fire = fire);
  Resistor r(R = 100);
  Capacitor c(C = 0.005, v(start = 0, fixed = true));
equation
  connect(a.n, c.n); connect(c.n, b.p); connect(b.n, r.p); connect(r.p, a.p); connect(r.n, c.p);
  connect(n, a.p); connect(b.p, p);
end Triac;
model Circuit
  discrete Real begin(start = 0.1);
  Boolean fire = time >= begin and time < begin + 0.125;
  Ground ground;
  Resistor R(R = 20);
  Sine V;
  Triac triac(fire = fire);
equation
  when sample(0.1, 0.25) then begin = time; end when;
  connect(V.n, ground.p); connect(R.p, V.p); connect(R.n, triac.n); connect(triac.p, ground.p);
end Circuit;
)";

TEST(Converters, AJumpDoesNotDependOnWhereTheModeWasAnalysed) {
  const Model model = load_text(triac).model;
  const auto simulated = [&](Method method) {
    return simulate(model, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
  };
  const Trajectory one = simulated(Method::rodas5p), other = simulated(Method::radau);
  ASSERT_TRUE(one.status().ok()) << one.status().message;
  ASSERT_TRUE(other.status().ok()) << other.status().message;
  // the thyristors conduct in turn, with 0.8 V and the current times 1e-5
  EXPECT_NEAR(one.at(0.15, "triac.a.v"), 0.8 + 1e-5 * one.at(0.15, "triac.a.s"), 1e-12);
  EXPECT_NEAR(one.at(0.4, "triac.b.v"), 0.8 + 1e-5 * one.at(0.4, "triac.b.s"), 1e-12);
  EXPECT_GT(one.at(0.15, "triac.a.s"), 0.1);
  EXPECT_GT(one.at(0.4, "triac.b.s"), 0.1);
  for (const double t : {0.05, 0.15, 0.24, 0.4, 0.6, 0.99})
    for (const std::string name : {"triac.c.v", "R.i", "triac.a.s", "triac.b.s"})
      EXPECT_NEAR(one.at(t, name), other.at(t, name), 1e-6 * (1.0 + std::abs(one.at(t, name)))) << name << " at " << t;
}

}  // namespace
}  // namespace saltus
