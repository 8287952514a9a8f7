#include "executors/known_models.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "executors/spelling.hpp"

namespace saltus::executors {
namespace {

// --- Drive trains: two inertias, a brake on the first, and a clutch that closes for a while.

/// A body of inertia J under a force f with dry friction a, from the speed v: its speed after a time.
double after(double v, double f, double a, double J, double time) {
  for (int turn = 0; turn < 2 && time > 0.0; ++turn) {
    if (v == 0.0 && std::abs(f) <= a) return 0.0;
    const double side = v != 0.0 ? std::copysign(1.0, v) : std::copysign(1.0, f), rate = (f - side * a) / J;
    const double zero = v * rate < 0.0 ? -v / rate : time + 1.0;
    if (zero > time) return v + rate * time;
    v = 0.0;
    time -= zero;
  }
  return v;
}

struct DriveTrain {
  double J1, J2, f1, f2, a, closes, opens, v0;

  Values at(double w0, double t) const {
    if (std::abs(t - closes) < 1e-3) return {};
    double v = after(v0, f1, a, J1, std::min(t, closes)), w = w0 + f2 / J2 * std::min(t, closes);
    if (t < closes) return {{"v", v}, {"w", w}};
    v = (J1 * v + J2 * w) / (J1 + J2);
    v = after(v, f1 + f2, a, J1 + J2, std::min(t, opens) - closes);
    if (t < opens) return {{"v", v}, {"w", v}};
    return {{"v", after(v, f1, a, J1, t - opens)}, {"w", v + f2 / J2 * (t - opens)}};
  }
};

KnownModel drive_train(unsigned seed) {
  Spelling s(seed);
  const DriveTrain train{.J1 = s.between(0.5, 3.0),
                         .J2 = s.between(0.5, 3.0),
                         .f1 = s.pick(2) == 0 ? 0.0 : s.between(-1.0, 1.0),
                         .f2 = s.pick(2) == 0 ? 0.0 : s.between(-1.0, 1.0),
                         .a = s.between(0.1, 0.8),
                         .closes = s.between(0.5, 1.0),
                         .opens = s.pick(2) == 0 ? 9.0 : s.between(1.3, 1.8),
                         .v0 = s.pick(2) == 0 ? 0.0 : s.between(-1.0, 1.0)};
  const double speed = s.unit(), force = s.pick(2) == 0 ? 1.0 : s.unit();
  const std::string v = s.variable("v", Spelling::text(train.v0), true, speed), w = s.variable("w", "p", true, speed);
  const std::string F = s.variable("F", "0", false, force), a = Spelling::text(train.a);
  const std::string friction = s.pick(2) == 0 ? a + "*sign(v)" : s.choice(s.greater("v", "0"), a, "-" + a);
  s.derivative("v", speed,
               "(" + F + " + " + Spelling::text(train.f1) + " - " + friction + ")/" + Spelling::text(train.J1));
  s.derivative("w", speed, "(" + Spelling::text(train.f2) + " - " + F + ")/" + Spelling::text(train.J2));
  std::string closed = s.greater("time", Spelling::text(train.closes));
  if (train.opens < 9.0) closed = "(" + closed + " and not " + s.greater("time", Spelling::text(train.opens)) + ")";
  if (s.pick(2) == 0)
    s.equate("if " + closed + " then v = w; else F = 0; end if;");
  else
    s.equate("0 = " + s.choice(closed, v + " - " + w, F) + ";");
  return {.text = s.written(),
          .low = 0.7,
          .high = 1.6,
          .stop = s.between(1.0, 2.5),
          .tolerance = 1e-5,
          .exact = [train](double p, double t) { return train.at(p, t); },
          .unit = {{"v", speed}, {"w", speed}}};
}

// --- Schedules: levels that change at parts of a period, of any length.

struct Schedule {
  double period, first, second, phase;  // parts of the period
  double low, middle, high;

  double level(double part, double p) const { return part < p ? low : part < second ? middle : high; }
  /// The integral over a time.
  double integral(double t, double p) const {
    const double turns = t / period + phase;
    const auto up_to = [&](double x) {
      const double whole = std::floor(x), part = x - whole;
      const double one = p * low + (second - p) * middle + (1.0 - second) * high;
      const double rest = std::min(part, p) * low + std::clamp(part - p, 0.0, second - p) * middle +
                          std::max(part - second, 0.0) * high;
      return whole * one + rest;
    };
    return up_to(turns) - up_to(phase);
  }
};

KnownModel schedule(unsigned seed) {
  Spelling s(seed);
  const Schedule plan{.period = s.unit() * s.between(0.5, 2.0),
                      .first = 0.0,
                      .second = s.between(0.6, 0.95),
                      .phase = s.pick(2) == 0 ? 0.0 : s.between(0.0, 1.0),
                      .low = s.between(-1.0, 1.0),
                      .middle = s.between(-1.0, 1.0),
                      .high = s.between(-1.0, 1.0)};
  const double unit = plan.period;
  s.variable("I", "0", true, unit);
  const auto text = Spelling::text;
  const std::string turns = "(time/" + text(plan.period) + " + " + text(plan.phase) + ")";
  std::string part;
  switch (s.pick(3)) {
    case 0:
      part = "mod(" + turns + ", 1)";
      break;
    case 1:
      part =
          "(mod(time + " + text(plan.phase * plan.period) + ", " + text(plan.period) + ")/" + text(plan.period) + ")";
      break;
    default:
      part = "(" + turns + " - floor(" + turns + "))";
      break;
  }
  if (s.pick(2) == 0) {
    s.declare("Real part;");
    s.equate("part = " + part + ";");
    part = "part";
  }
  const std::string later = s.choice(s.greater(part, text(plan.second), false), text(plan.high), text(plan.middle));
  const std::string y = s.choice(s.greater(part, "p", false), later, text(plan.low));
  s.equate("der(I) = " + y + ";");
  return {.text = s.written(),
          .low = 0.05,
          .high = 0.5,
          .stop = plan.period * s.between(0.5, 6.0),
          .tolerance = 1e-5,
          .exact = [plan](double p, double t) -> Values {
            return {{"I", plan.integral(t, p)}};
          },
          .unit = {{"I", unit}}};
}

// --- Falling floors: a body on a floor that swings, with a plastic impact. It rests while the floor pushes, and flies
// while the floor falls faster than it.

struct FallingFloor {
  double amplitude, frequency, gravity;

  double floor(double t) const { return amplitude * std::cos(frequency * t); }
  double speed(double t) const { return -amplitude * frequency * std::sin(frequency * t); }
  /// What pushes the body.
  double push(double t) const { return gravity - amplitude * frequency * frequency * std::cos(frequency * t); }

  /// A time in (from, to) at which a function becomes negative; `to` if it does not.
  template <class Function>
  static double first_negative(double from, double to, Function f) {
    const int parts = 4000;
    for (int k = 1; k <= parts; ++k) {
      double low = from + (to - from) * (k - 1) / parts, high = from + (to - from) * k / parts;
      if (f(high) >= 0.0) continue;
      for (int i = 0; i < 80; ++i) {
        const double middle = 0.5 * (low + high);
        (f(middle) < 0.0 ? high : low) = middle;
      }
      return high;
    }
    return to;
  }

  Values at(double height, double end) const {
    double t = 0.0, h = height, v = 0.0;
    const double longest = 20.0;
    for (int phase = 0; phase < 100; ++phase) {
      const auto flight = [&](double s) { return h + v * (s - t) - 0.5 * gravity * (s - t) * (s - t); };
      // a flight that begins on the floor begins above it
      const double begin = t == 0.0 ? t : t + 1e-4;
      const double lands = first_negative(begin, longest, [&](double s) { return flight(s) - floor(s); });
      if (end <= lands) return {{"h", flight(end)}};
      const double leaves =
          push(lands) < 0.0 ? lands : first_negative(lands, longest, [&](double s) { return push(s); });
      if (end <= leaves) return {{"h", floor(end)}};
      h = floor(leaves);
      v = speed(leaves);
      t = leaves;
    }
    return {};
  }
};

KnownModel falling_floor(unsigned seed) {
  Spelling s(seed);
  const double frequency = s.between(1.0, 3.0), ratio = s.pick(3) == 0 ? s.between(0.2, 0.9) : s.between(1.1, 1.8);
  const FallingFloor body{.amplitude = ratio / (frequency * frequency), .frequency = frequency, .gravity = 1.0};
  const double length = s.unit(), speed = s.pick(2) == 0 ? length : s.unit();
  const std::string h = s.variable("h", Spelling::text(body.amplitude) + " + p", true, length);
  const std::string v = s.variable("v", "0", true, speed);
  const std::string A = Spelling::text(body.amplitude), k = Spelling::text(frequency);
  std::string floor = A + "*cos(" + k + "*time)";
  const std::string moves = "-" + A + "*" + k + "*sin(" + k + "*time)";
  if (s.pick(2) == 0) floor = s.variable("floor", "0", false, length);
  if (floor.starts_with("(floor") || floor == "floor") s.equate(floor + " = " + A + "*cos(" + k + "*time);");
  s.derivative("h", length, v);
  s.derivative("v", speed, "-1");
  s.equate("when " + s.greater(floor, h) + " then " + Spelling::reset("v", speed, moves) + " end when;");
  return {.text = s.written(),
          .low = 0.05,
          .high = 0.4,
          .stop = s.between(1.0, 6.0),
          .tolerance = 1e-3,
          .exact = [body](double p, double t) { return body.at(body.amplitude + p, t); },
          .unit = {{"h", length}}};
}

// --- Initial equations: relations of discrete variables, numbers and states that the start determines together.

KnownModel initial_equations(unsigned seed) {
  Spelling s(seed);
  const auto text = Spelling::text;
  const double level = s.between(-0.8, 0.8), a = s.between(1.0, 2.0), b = s.between(-2.0, -1.0),
               q = s.between(-1.0, 1.0);
  const double rate = s.between(0.5, 2.0), unit = s.unit();
  const std::string c = s.variable("c", "0", false, s.pick(2) == 0 ? 1.0 : s.unit());
  s.equate(c + " = cos(time + p);");
  s.declare("discrete Real d, e;");
  const std::string x = s.variable("x", "0", false, unit);
  s.derivative("x", unit, "-" + text(rate) + "*" + x);
  s.equate("when time > 1e3 then d = 0; e = 0; end when;");
  std::vector<std::string> lines;
  const std::string first = c + " < " + text(level);
  lines.push_back(s.pick(2) == 0 ? "if " + first + " then d = " + text(a) + "; else d = " + text(b) + "; end if;"
                                 : "d = " + s.choice(first, text(a), text(b)) + ";");
  lines.push_back("e = " + s.choice("(d > " + text(q) + ")", "d + " + c, "d - 2*" + c) + ";");
  lines.push_back(s.pick(2) == 0 ? x + " = " + c + " + 1;" : x + " + " + text(0.1) + "*" + x + "^3 = " + c + ";");
  const bool cubic = lines.back().find("^3") != std::string::npos;
  for (std::size_t k = lines.size(); k > 1; --k)
    std::swap(lines[k - 1], lines[static_cast<std::size_t>(s.pick(static_cast<int>(k)))]);
  std::string initial;
  for (const std::string& line : lines) initial += line + " ";
  const auto exact = [=](double p, double t) -> Values {
    const double cosine = std::cos(p);
    if (std::abs(cosine - level) < 1e-6) return {};
    const double d = cosine < level ? a : b, e = d > q ? d + cosine : d - 2.0 * cosine;
    double start = cosine + 1.0;
    if (cubic) {
      double low = -10.0, high = 10.0;
      for (int k = 0; k < 200; ++k) {
        const double middle = 0.5 * (low + high);
        (middle + 0.1 * middle * middle * middle < cosine ? low : high) = middle;
      }
      start = low;
    }
    return {{"d", d}, {"e", e}, {"x", start * std::exp(-rate * t)}};
  };
  return {.text = s.written(initial),
          .low = 0.1,
          .high = 3.0,
          .stop = s.between(0.3, 1.5),
          .tolerance = 1e-5,
          .exact = exact,
          .unit = {{"d", 1.0}, {"e", 1.0}, {"x", unit}}};
}

}  // namespace

std::vector<KnownClass> known_classes() {
  return {{"DriveTrains", drive_train},
          {"Schedules", schedule},
          {"FallingFloors", falling_floor, false, true},
          {"InitialEquations", initial_equations, true}};
}

}  // namespace saltus::executors
