// Circuits of transistors and junctions whose currents are functions with many branches, as those of Spice are. The
// references are found by bisection and small steps, in numbers with more digits.
#include <cmath>
#include <functional>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

using Number = long double;

// Drain current of a transistor of level 1, with drain and source in either role.
Number drain(Number vgs, Number vds) {
  const Number side = vds >= 0 ? 1 : -1, vd = side * vds, on = (vds >= 0 ? vgs : vgs - vds) - 0.7L;
  if (on <= 0) return 0;
  const Number i = on <= vd ? 0.5e-3L * on * on : 1e-3L * vd * (on - vd / 2);
  return side * i * (1 + 0.02L * vd);
}

constexpr const char* inverters = R"(
function drain
  input Real vgs;
  input Real vds;
  output Real i;
protected
  Real on, vd, side;
algorithm
  side := if vds >= 0 then 1 else -1;
  vd := if vds >= 0 then vds else -vds;
  on := (if vds >= 0 then vgs else vgs - vds) - 0.7;
  if on <= 0 then
    i := 0;
  elseif on <= vd then
    i := 0.5e-3*on^2*(1 + 0.02*vd);
  else
    i := 1e-3*vd*(on - vd/2)*(1 + 0.02*vd);
  end if;
  i := side*i;
end drain;
model Inverters
  Real vin = 5*sin(time)^2, vdd = 5*time/(0.1 + time);
  Real middle, out;
equation
  drain(vin, middle) + 1e-9*middle = drain(vdd - vin, vdd - middle);
  drain(middle, out) + 1e-9*out + 1e-4*der(out) = drain(vdd - middle, vdd - out);
end Inverters;
)";

// The root of an increasing function between two numbers.
Number root(const std::function<Number(Number)>& f, Number low, Number high) {
  for (int k = 0; k < 80; ++k) {
    const Number half = (low + high) / 2;
    (f(half) < 0 ? low : high) = half;
  }
  return low;
}

struct Reference {
  Number out = 0;
  static Number vin(Number t) { return 5 * std::sin(t) * std::sin(t); }
  static Number vdd(Number t) { return 5 * t / (0.1L + t); }
  static Number middle(Number t) {
    const auto current = [t](Number v) { return drain(vin(t), v) + 1e-9L * v - drain(vdd(t) - vin(t), vdd(t) - v); };
    return root(current, -1, 6);
  }
  static Number slope(Number t, Number v) {
    const Number m = middle(t);
    return (drain(vdd(t) - m, vdd(t) - v) - drain(m, v) - 1e-9L * v) / 1e-4L;
  }
  // The classical method of Runge and Kutta; where the currents bend its error is that of order two.
  void advance(Number t, Number h) {
    const Number a = slope(t, out), b = slope(t + h / 2, out + h / 2 * a), c = slope(t + h / 2, out + h / 2 * b),
                 d = slope(t + h, out + h * c);
    out += h / 6 * (a + 2 * b + 2 * c + d);
  }
};

TEST(Semiconductors, InvertersStartAndSwitch) {
  const Model model = load_text(inverters).model;
  for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
    const Trajectory run = simulate(model, {.stop = 4.0, .rtol = 1e-7, .atol = 1e-7, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    Reference reference;
    constexpr int steps = 10000;  // so that the reference has errors of 1e-6 of the slopes, at most 1e-5
    for (int k = 0; k < steps; ++k) {
      const Number h = 4.0L / steps, t = k * h;
      reference.advance(t, h);
      if (k % 500 != 499) continue;
      const auto at = static_cast<double>(t + h);
      EXPECT_NEAR(run.at(at, "middle"), static_cast<double>(Reference::middle(t + h)), 2e-4) << at;
      EXPECT_NEAR(run.at(at, "out"), static_cast<double>(reference.out), 2e-4) << at;
    }
  }
}

TEST(Semiconductors, TheCurrentOfAJunctionMayDieAway) {
  // its conductance falls by eleven powers of ten, and nothing becomes singular
  const Model model = load_text(R"(
model Junction
  Real v(start = 0.6), q(start = 0, fixed = true), i = 1e-3*exp(-30*time);
equation
  1e-14*(exp(v/0.025) - 1) + 1e-12*v = i;
  der(q) = i;
end Junction;
)")
                          .model;
  for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
    const Trajectory run = simulate(model, {.stop = 1.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    for (const double t : {0.2, 0.5, 0.7, 0.8, 0.9, 1.0}) {
      const Number i = 1e-3L * std::exp(-30.0L * t);
      const auto current = [i](Number v) { return 1e-14L * std::expm1(v / 0.025L) + 1e-12L * v - i; };
      EXPECT_NEAR(run.at(t, "v"), static_cast<double>(root(current, -1, 1)), 1e-5) << to_string(method) << " " << t;
    }
  }
}

}  // namespace
}  // namespace saltus
