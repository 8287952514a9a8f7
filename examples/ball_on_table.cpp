// A ball on a vibrating table: infinitely many bounces in finite time, rest, and release, again and again.
#include <saltus/saltus.hpp>

#include <cmath>
#include <iostream>
#include <numbers>
using namespace saltus;

int main() {
  constexpr double g = 10.0, A = 0.3, w = 2.0 * std::numbers::pi, e = 0.3;
  Model m("table");
  auto h = m.variable("h", 0.01, {.unit = "m"}), v = m.variable("v", 0.0, {.unit = "m/s"}), t = m.time();
  auto speed = A * w * cos(w * t);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < A * sin(w * t)).reset(v, speed - e * (v - speed));

  const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-9, .atol = 1e-9});
  for (const Event& event : run.events())
    if (event.kind == EventKind::contact || event.kind == EventKind::release)
      std::cout << to_string(event.kind) << " at " << event.t << '\n';
  std::cout << "expected release: " << 1.0 + std::asin(g / (A * w * w)) / w << '\n';
  return run.status().ok() ? 0 : 1;
}
