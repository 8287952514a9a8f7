// The problems of the layer, each with its best known value.
#pragma once

#include <saltus/modelica/modelica.hpp>
#include <saltus/optimise/optimise.hpp>

#include <numbers>
#include <string>
#include <vector>

namespace saltus::gallery {

struct Case {
  Model model;
  Programme programme;
  OptimiseOptions options;
};

inline Model read(const std::string& text) {
  return load_modelica(text, "test.mo").model;
}

inline EndCondition at_end(const std::string& variable, double value, double nominal = 1.0) {
  return {.value = final_value(variable), .lower = value, .upper = value, .nominal = nominal, .label = variable};
}

inline EndCondition between(const std::string& variable, double lower, double upper, double nominal = 1.0) {
  return {.value = final_value(variable), .lower = lower, .upper = upper, .nominal = nominal, .label = variable};
}

inline Expr square(const Expr& x) {
  return x * x;
}

inline SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-8, .atol = 1e-10};
}

inline Model motor(const std::string& scale) {
  const std::string T = scale.empty() ? "" : scale + "*";
  return read("model VoiceCoil\n" + (scale.empty() ? std::string() : "  parameter Real " + scale + " = 0.09;\n") + R"(
    parameter Real m1 = 1.03, m2 = 0.56, k = 2.4e3, R = 2, L = 2e-3, K = 12, F = 2.1;
    input Real u;
    Real x1(start = 0, fixed = true), v1(start = 0, fixed = true), x2(start = 0, fixed = true);
    Real v2(start = 0, fixed = true), I(start = 0, fixed = true);
  equation
    der(x1) = v1;
    m1*der(v1) = -k*(x1 - x2) + K*I - F*sign(v1);
    der(x2) = v2;
    m2*der(v2) = k*(x1 - x2);
    L*der(I) = u - R*I - K*v1;
  end VoiceCoil;)");
}

inline std::vector<EndCondition> motor_rests() {
  return {at_end("x1", 0.01, 0.01), at_end("v1", 0, 0.1), at_end("x2", 0.01, 0.01), at_end("v2", 0, 0.1),
          at_end("I", 0)};
}

/// A voice coil motor with dry friction moves a load by a hundredth with the least energy.
inline Case voice_coil() {
  const Model m = motor("");
  Programme p;
  p.controls = {{.input = "u", .intervals = 53, .lower = -5, .upper = 5, .guess = {0}}};
  p.minimise = integral(square(m.symbol("u")));
  p.end = motor_rests();
  return {m, p, {.simulate = to(0.08)}};
}

/// The same in the least time.
inline Case voice_coil_time() {
  const Model m = motor("");
  Programme p;
  p.controls = {{.input = "u", .intervals = 30, .lower = -5, .upper = 5, .guess = {0}}};
  p.stop = FreeValue{.guess = 0.09, .lower = 0.02, .upper = 0.3};
  p.minimise = 100.0 * final_value(m.time());
  p.end = motor_rests();
  return {m, p, {.simulate = to(0.3)}};
}

/// Two surfaces on which the solution slides, of codimension two where they meet.
inline Case sliding_mode() {
  const Model m = read(R"(model SlidingMode
    input Real u1, u2;
    Real x1(start = 2*3.141592653589793/3, fixed = true), x2(start = 3.141592653589793/3, fixed = true);
  equation
    der(x1) = u1 - sign(x1 + 0.15*x2^2);
    der(x2) = u2 - sign(x2 - 0.05*x1^3);
  end SlidingMode;)");
  Programme p;
  p.controls = {{.input = "u1", .intervals = 6, .lower = -2, .upper = 2, .guess = {0}},
                {.input = "u2", .intervals = 6, .lower = -2, .upper = 2, .guess = {0}}};
  p.minimise = integral(square(m.symbol("u1")) + square(m.symbol("u2")));
  p.end = {at_end("x1", -std::numbers::pi / 6), at_end("x2", -std::numbers::pi / 4)};
  return {m, p, {.simulate = to(4)}};
}

inline Model car(const std::string& turbo) {
  return read(R"(model Car
    input Real u;
    Real q(start = 0, fixed = true), v(start = 0, fixed = true);
    Boolean turbo(start = false, fixed = true);
  equation
    turbo = )" +
              turbo + R"(;
    der(q) = v;
    der(v) = if turbo then 3*u else u;
  end Car;)");
}

/// A car with a turbo above a speed, 200 in the least time: 13 1/3 in closed form.
inline Case car_turbo() {
  const Model m = car("v > 10");
  Programme p;
  p.controls = {{.input = "u", .intervals = 10, .lower = -5, .upper = 5, .guess = {1}}};
  p.stop = FreeValue{.guess = 15, .lower = 1, .upper = 40};
  p.minimise = final_value(m.time());
  p.end = {at_end("q", 200, 100), at_end("v", 0, 10)};
  p.path = {{.value = m.symbol("v"), .lower = -20, .upper = 20, .nominal = 10, .label = "v"}};
  return {m, p, {.simulate = to(40)}};
}

/// The same with free lengths of five intervals.
inline Case car_turbo_free() {
  Case c = car_turbo();
  Control& u = c.programme.controls[0];
  u.intervals = 5;
  u.free_lengths = true;
  u.guess = {5, 3, 0, -3, -5};
  return c;
}

/// A turbo that comes late and goes late: 10.13333 with free lengths, in closed form.
inline Case car_hysteresis(bool free_lengths) {
  const Model m = car("not pre(turbo) and v > 15 or pre(turbo) and v >= 10");
  Programme p;
  p.controls = {{.input = "u", .intervals = 10, .lower = -5, .upper = 5, .guess = {4}}};
  if (free_lengths) {
    p.controls[0].intervals = 5;
    p.controls[0].free_lengths = true;
    p.controls[0].guess = {5, 5, 3, -5, -5};
  }
  p.stop = FreeValue{.guess = 17, .lower = 1, .upper = 50};
  p.minimise = final_value(m.time());
  p.end = {at_end("q", 150, 100), at_end("v", 0, 10)};
  p.path = {{.value = m.symbol("v"), .lower = 0, .upper = 25, .nominal = 10, .label = "v"}};
  return {m, p, {.simulate = to(50)}};
}

/// Three carts on a floor with friction; the middle one is driven and pushes the others to their places.
inline Case three_carts() {
  const Model m = read(R"(model ThreeCarts
    parameter Real m1 = 1, m2 = 1, m3 = 1, c = 0.2*9.81;
    input Real u;
    Real x1(start = -3, fixed = true), x2(start = 0, fixed = true), x3(start = 3, fixed = true);
    Real v1(start = 0, fixed = true), v2(start = 0, fixed = true), v3(start = 0, fixed = true);
  equation
    der(x1) = v1; der(x2) = v2; der(x3) = v3;
    der(v1) = -c*sign(v1); der(v2) = u/m2 - c*sign(v2); der(v3) = -c*sign(v3);
    when x2 - x1 < 2 then
      reinit(v1, (m1*pre(v1) + m2*pre(v2))/(m1 + m2));
      reinit(v2, (m1*pre(v1) + m2*pre(v2))/(m1 + m2));
    end when;
    when x3 - x2 < 2 then
      reinit(v2, pre(v2) + 1.5*m3/(m2 + m3)*(pre(v3) - pre(v2)));
      reinit(v3, pre(v3) - 1.5*m2/(m2 + m3)*(pre(v3) - pre(v2)));
    end when;
  end ThreeCarts;)");
  const auto x = [&](const char* name) { return m.symbol(name); };
  const Expr speeds = square(x("v1")) + square(x("v2")) + square(x("v3"));
  Programme p;
  p.controls = {{.input = "u", .intervals = 20, .lower = -30, .upper = 30, .guess = {0}}};
  p.minimise = integral(10.0 * square(x("x1") + 7.0) + square(x("x2")) + 10.0 * square(x("x3") - 5.0) + 0.1 * speeds +
                        0.1 * square(x("u"))) +
               final_value(1000.0 * square(x("x1") + 7.0) + 100.0 * square(x("x2")) + 1000.0 * square(x("x3") - 5.0) +
                           10.0 * speeds);
  return {m, p, {.simulate = to(6)}};
}

/// A body on a leg with a light foot hops and stands again; the foot lands without restitution.
inline Case hopper() {
  const Model m = read(R"(model Hopper
    parameter Real mb = 1, mf = 0.1, g = 9.81;
    input Real u;
    Real y(start = 0.5, fixed = true), f(start = 0, fixed = true), v(start = 0, fixed = true);
    Real w(start = 0, fixed = true), l;
    Boolean stands(start = true, fixed = true);
  equation
    l = y - f;
    der(y) = v;
    der(f) = w;
    der(v) = -g + (u + mb*g)/mb;
    der(w) = if stands then 0 else -g - (u + mb*g)/mf;
    stands = pre(stands) and u + mb*g + mf*g >= 0 or not pre(stands) and f < 0;
    when f < 0 then
      reinit(w, 0);
      reinit(f, 0);
    end when;
  end Hopper;)");
  const Expr t = m.time(), y = m.symbol("y");
  Programme p;
  p.controls = {{.input = "u", .intervals = 20, .lower = -50, .upper = 50, .guess = {0}}};
  p.minimise = integral(0.01 * square(m.symbol("u")) + 50.0 * square(y - 0.5 - 1.2 * t * (1.0 - t))) +
               final_value(300.0 * square(y - 0.5) + 300.0 * square(m.symbol("f")) + square(m.symbol("v")));
  p.path = {{.value = m.symbol("l"), .lower = 0.1, .upper = 0.6, .nominal = 0.1, .label = "l"}};
  return {m, p, {.simulate = to(1)}};
}

/// A ball is thrown over a floor on which it bounces.
inline Case throwing_ball() {
  const Model m = read(R"(model ThrowingBall
    input Real ux, uy;
    Real x(start = 0, fixed = true), y(start = 0.5, fixed = true), vx(start = 0, fixed = true);
    Real vy(start = 0, fixed = true);
  equation
    der(x) = vx;
    der(y) = vy;
    der(vx) = ux;
    der(vy) = uy - 9.81;
    when y < 0 then
      reinit(vy, -0.9*pre(vy));
    end when;
  end ThrowingBall;)");
  const Expr force = square(m.symbol("ux")) + square(m.symbol("uy"));
  Programme p;
  p.controls = {{.input = "ux", .intervals = 20, .lower = -9, .upper = 9, .guess = {0}},
                {.input = "uy", .intervals = 20, .lower = -9, .upper = 9, .guess = {0}}};
  p.minimise = integral(force) + final_value(100.0 * (square(m.symbol("vx")) + square(m.symbol("vy"))));
  p.end = {at_end("x", 4), at_end("y", 0.5)};
  p.path = {{.value = force, .upper = 81, .nominal = 50, .label = "force"}};
  return {m, p, {.simulate = to(4)}};
}

/// The start of x' = 3 below zero and 1 above that keeps the square small; closed form.
inline Case two_regions() {
  const Model m = read(R"(model TwoRegions
    Real x(start = -1.5, fixed = true);
  equation
    der(x) = if x > 0 then 1 else 3;
  end TwoRegions;)");
  const Expr x = m.symbol("x");
  Programme p;
  p.parameters = {{.name = "x.start", .guess = -1.9, .lower = -2, .upper = -0.2}};
  p.minimise = integral(square(x)) + final_value(square(x - 5.0 / 3.0));
  return {m, p, {.simulate = to(2)}};
}

/// Least time through three layers (Snell): headings and lengths are free.
inline Case three_regions() {
  const Model m = read(R"(model ThreeRegions
    input Real a;
    Real x(start = 0, fixed = true), y(start = 0, fixed = true), c;
  equation
    c = if y < 1 then 1.0 elseif y < 2 then 2.0 else 0.5;
    der(x) = c*cos(a);
    der(y) = c*sin(a);
  end ThreeRegions;)");
  Programme p;
  p.controls = {{.input = "a", .intervals = 3, .free_lengths = true, .lower = 0.05, .upper = 1.5, .guess = {0.7}}};
  p.stop = FreeValue{.guess = 4.5, .lower = 0.2, .upper = 18};
  p.minimise = final_value(m.time());
  p.end = {at_end("x", 4), at_end("y", 3)};
  return {m, p, {.simulate = to(18)}};
}

inline Model fish() {
  return read(R"(model Fishing
    input Real w;
    Real x1(start = 0.5, fixed = true), x2(start = 0.7, fixed = true);
  equation
    der(x1) = x1 - x1*x2 - 0.4*x1*w;
    der(x2) = -x2 + x1*x2 - 0.2*x2*w;
  end Fishing;)");
}

/// Fishing with a fleet that is out or in: the switching times are free.
inline Case fishing(int switches) {
  const Model m = fish();
  Programme p;
  p.controls = {{.input = "w", .intervals = switches + 1, .free_lengths = true, .fixed_values = true}};
  for (int k = 0; k <= switches; ++k) p.controls[0].guess.push_back(k % 2);
  p.minimise = integral(square(m.symbol("x1") - 1.0) + square(m.symbol("x2") - 1.0));
  return {m, p, {.simulate = to(12)}};
}

/// Fishing with any part of the fleet.
inline Case fishing_relaxed() {
  const Model m = fish();
  Programme p;
  p.controls = {{.input = "w", .intervals = 60, .lower = 0, .upper = 1, .guess = {0.5}}};
  p.minimise = integral(square(m.symbol("x1") - 1.0) + square(m.symbol("x2") - 1.0));
  return {m, p, {.simulate = to(12)}};
}

/// A converter with a diode and a limit of its current: times at which its switch goes on and off.
inline Case buck_start() {
  const Model m = read(R"(model BuckStart
    parameter Real L = 1e-4, C = 1e-4, R = 10, E = 24;
    input Real on;
    Real i(start = 0, fixed = true), v(start = 0, fixed = true);
    Boolean flows(start = true, fixed = true);
  equation
    flows = on > 0.5 or pre(flows) and i > 0;
    der(i) = 1e-5*(if flows then (on*E - v)/L else 0);
    der(v) = 1e-5*(i - v/R)/C;
  end BuckStart;)");
  Programme p;
  p.controls = {{.input = "on", .intervals = 24, .free_lengths = true, .fixed_values = true}};
  for (int k = 0; k < 24; ++k) p.controls[0].guess.push_back(1 - k % 2);
  p.stop = FreeValue{.guess = 48, .lower = 12, .upper = 120};
  p.minimise = 1e-2 * integral(square(m.symbol("v") - 12.0)) + 1e-3 * final_value(m.time());
  p.end = {at_end("v", 12), at_end("i", 1.2)};
  p.path = {{.value = m.symbol("i"), .upper = 8, .label = "i"}};
  return {m, p, {.simulate = to(120)}};
}

/// An oscillator with dry friction comes to rest at zero in the least time: a force of one size that turns round.
inline Case friction_rest() {
  const Model m = read(R"(model FrictionRest
    parameter Real F = 0.3;
    input Real u;
    Real x(start = 3, fixed = true), v(start = 0, fixed = true);
  equation
    der(x) = v;
    der(v) = -x + u - F*sign(v);
  end FrictionRest;)");
  Programme p;
  p.controls = {{.input = "u", .intervals = 6, .free_lengths = true, .fixed_values = true}};
  p.controls[0].guess = {-1, 1, -1, 1, -1, 1};
  p.stop = FreeValue{.guess = 6, .lower = 1, .upper = 24};
  p.minimise = final_value(m.time());
  p.end = {at_end("x", 0), at_end("v", 0)};
  return {m, p, {.simulate = to(24)}};
}

/// Width and size of a relay, so that its cycle has a period of 8 and peaks of 0.5.
inline Case relay_period() {
  const Model m = read(R"(model RelayPeriod
    parameter Real h = 0.1, a = 1;
    Real x1(start = 0.3, fixed = true), x2(start = 0, fixed = true), x3(start = 0, fixed = true), size;
    discrete Real t0(start = 0, fixed = true), per(start = 0, fixed = true), peak(start = 0, fixed = true);
    Boolean up(start = true, fixed = true);
  equation
    der(x1) = -x1 + (if up then a else -a);
    der(x2) = x1 - x2;
    der(x3) = x2 - x3;
    size = a;
    up = not pre(up) and x3 < -h or pre(up) and x3 <= h;
    when up then
      per = time - pre(t0);
      t0 = time;
    end when;
    when x2 - x3 < 0 then
      peak = x3;
    end when;
  end RelayPeriod;)");
  Programme p;
  p.parameters = {{.name = "h", .lower = 0.01, .upper = 1}, {.name = "a", .lower = 0.2, .upper = 10}};
  p.minimise = final_value("size");
  p.end = {at_end("per", 8), at_end("peak", 0.5)};
  return {m, p, {.simulate = to(60)}};
}

/// Two tanks behind valves with an algebraic pressure, a weir and a heater: a grade is to be reached.
inline Case batch_valves() {
  const Model m = read(R"(model BatchValves
    parameter Real kv = 0.6, H = 1.0;
    input Real F, Q, w;
    Real L1(start = 0.5, fixed = true), L2(start = 0.2, fixed = true), T(start = 20, fixed = true);
    Real c(start = 1, fixed = true), p(start = 0.3), q(start = 0.3), over, r;
  equation
    q = (0.05 + w)*kv*(L1 - p);
    q = kv*(p - L2*0.5)*(1 + 0.1*p);
    over = if L1 > H then 2*(L1 - H) else 0;
    der(L1) = F - q - over;
    der(L2) = q - 0.2*L2;
    r = 0.02*exp((T - 60)/15);
    der(T) = Q - 0.05*(T - 20) - (if F > 0.3 then 2*(F - 0.3) else 0);
    der(c) = -r*c;
  end BatchValves;)");
  Programme p;
  p.controls = {{.input = "F", .intervals = 20, .lower = 0, .upper = 1, .guess = {0.3}},
                {.input = "Q", .intervals = 20, .lower = 0, .upper = 5, .guess = {2}},
                {.input = "w", .intervals = 20, .lower = 0, .upper = 1, .guess = {0.5}}};
  p.minimise = integral(m.symbol("over") + 0.02 * square(m.symbol("Q")) + 0.05 * square(m.symbol("F")));
  p.end = {between("c", -unbounded, 0.7), at_end("L2", 0.8)};
  p.path = {{.value = m.symbol("T"), .upper = 75, .nominal = 10, .label = "T"}};
  return {m, p, {.simulate = to(20)}};
}

/// A pendulum on a cart with friction swings up.
inline Case cart_pole() {
  const Model m = read(R"(model CartPole
    parameter Real F = 2;
    input Real u;
    Real p(start = 1, fixed = true), a(start = 0, fixed = true), v(start = 0, fixed = true);
    Real w(start = 0, fixed = true), s, k;
  equation
    der(p) = v;
    der(a) = w;
    1.1*s + 0.1*cos(a)*k = u + 0.1*w^2*sin(a) - F*sign(v);
    0.1*cos(a)*s + 0.1*k = -0.981*sin(a);
    der(v) = s;
    der(w) = k;
  end CartPole;)");
  const auto x = [&](const char* name) { return m.symbol(name); };
  const Expr up = square(x("a") - std::numbers::pi);
  Programme p;
  p.controls = {{.input = "u", .intervals = 30, .lower = -30, .upper = 30, .guess = {0}}};
  p.minimise = integral(square(x("p")) + 100.0 * up + square(x("v")) + square(x("w")) + square(x("u"))) +
               final_value(100.0 * square(x("p")) + 100.0 * up + 10.0 * square(x("v")) + 10.0 * square(x("w")));
  p.path = {{.value = x("p"), .lower = 0, .upper = 5, .label = "p"}};
  return {m, p, {.simulate = to(4)}};
}

/// Three tanks behind each other with weirs and four valves.
inline Case tanks() {
  const Model m = read(R"(model Tanks
    input Real w0, w1, w2, w3;
    Real L1(start = 0.1, fixed = true), L2(start = 0.1, fixed = true), L3(start = 0.1, fixed = true), q1, q2, q3;
  equation
    q1 = w1*0.1*sqrt(noEvent(max(if L2 < -0.5 then L1 else L1 - L2 + 0.5, 1e-6)));
    q2 = w2*0.1*sqrt(noEvent(max(if L3 < -0.5 then L2 else L2 - L3 + 0.5, 1e-6)));
    q3 = w3*0.1*sqrt(noEvent(max(L3, 1e-6)));
    der(L1) = w0*0.1 - q1;
    der(L2) = q1 - q2;
    der(L3) = q2 - q3;
  end Tanks;)");
  Programme p;
  Functional sum;
  for (const char* w : {"w0", "w1", "w2", "w3"})
    p.controls.push_back({.input = w, .intervals = 25, .lower = 0.25, .upper = 1.25, .guess = {0.25}});
  for (const char* L : {"L1", "L2", "L3"}) {
    sum += integral(square(m.symbol(L) - 0.75));
    p.path.push_back({.value = m.symbol(L), .lower = 1e-3, .label = L});
  }
  p.minimise = sum;
  return {m, p, {.simulate = to(100)}};
}

/// A point falls on a floor with friction and is pushed sideways.
inline Case drop_and_slide() {
  const Model m = read(R"(model DropAndSlide
    input Real u;
    Real x(start = 0, fixed = true), y(start = 1.5, fixed = true), vx(start = 0, fixed = true);
    Real vy(start = 0, fixed = true);
    Boolean down(start = false, fixed = true);
  equation
    down = pre(down) or y < 0;
    der(x) = vx;
    der(y) = vy;
    der(vx) = u - (if down then 0.6*9.81*sign(vx) else 0);
    der(vy) = if down then 0 else -9.81;
    when down then
      reinit(vy, 0);
      reinit(vx, if noEvent(abs(pre(vx)) < 0.6*abs(pre(vy))) then 0
        else pre(vx)*(1 - 0.6*abs(pre(vy))/abs(pre(vx))));
    end when;
  end DropAndSlide;)");
  Programme p;
  p.controls = {{.input = "u", .intervals = 20, .lower = -10, .upper = 10, .guess = {0}}};
  p.minimise = integral(square(m.symbol("u")));
  p.end = {at_end("x", 3), at_end("vx", 0)};
  return {m, p, {.simulate = to(2)}};
}

/// A car whose tyres hold sideways drives through a chicane.
inline Case race_car() {
  const Model m = read(R"(model RaceCar
    input Real a, s;
    Real x(start = 0, fixed = true), y(start = 0, fixed = true), vx(start = 0, fixed = true);
    Real vy(start = 0, fixed = true), al(start = 0, fixed = true), n, off;
  equation
    n = -sin(al)*vx + cos(al)*vy;
    der(x) = vx;
    der(y) = vy;
    der(vx) = a*cos(al) + 4*sign(n)*sin(al);
    der(vy) = a*sin(al) - 4*sign(n)*cos(al);
    der(al) = s*(cos(al)*vx + sin(al)*vy);
    off = y - (2 + 2*tanh(x - 5));
  end RaceCar;)");
  Programme p;
  p.controls = {{.input = "a", .intervals = 50, .lower = -2, .upper = 2, .guess = {2}},
                {.input = "s", .intervals = 50, .lower = -2, .upper = 2, .guess = {0}}};
  p.minimise = integral(square(m.symbol("a")) + square(m.symbol("s")));
  p.end = {at_end("x", 10), at_end("y", 4)};
  p.path = {{.value = m.symbol("off"), .lower = -0.5, .upper = 0.5, .label = "off"}};
  return {m, p, {.simulate = to(5)}};
}

}  // namespace saltus::gallery
