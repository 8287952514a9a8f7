// A pendulum in Cartesian coordinates (index 3) with dry friction in its pivot: it sticks, and the mode for that is made by the solver.
#include <saltus/saltus.hpp>

#include <cmath>
#include <iostream>
using namespace saltus;

int main() {
  Model m("pendulum");
  auto x = m.variable("x", std::sin(1.0), {.fixed = true}), y = m.variable("y", -std::cos(1.0));
  auto vx = m.variable("vx", 0.0, {.fixed = true}), vy = m.variable("vy", 0.0), force = m.variable("force", 0.0);
  auto moment = -3.0 * sign(x * vy - y * vx);
  m.equation(der(x) == vx);
  m.equation(der(y) == vy);
  m.equation(der(vx) == -force * x - moment * y + 6.0 * sin(2.0 * m.time()));
  m.equation(der(vy) == -force * y + moment * x - 9.81);
  m.equation(x * x + y * y == 1.0);

  const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-9, .atol = 1e-9});
  for (const Event& e : run.events()) std::cout << e.t << "  " << to_string(e.kind) << '\n';
  std::cout << "length of the rod at the end, minus 1: " << std::hypot(run.final()[0], run.final()[1]) - 1.0 << '\n';
  return run.status().ok() ? 0 : 1;
}
