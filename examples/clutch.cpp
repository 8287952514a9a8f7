// Two shafts and a clutch: the index of the equations changes, and the speeds jump so that angular momentum is conserved.
#include <saltus/saltus.hpp>

#include <iostream>
using namespace saltus;

int main() {
  Model m("clutch");
  auto w1 = m.variable("w1", 3.0, {.fixed = true, .unit = "rad/s"}), w2 = m.variable("w2", 0.0, {.fixed = true, .unit = "rad/s"});
  auto torque = m.variable("torque", 0.0, {.unit = "N.m"});
  m.equation(1.0 * der(w1) == 1.0 - torque);
  m.equation(2.0 * der(w2) == torque - 0.5);
  m.equation(if_else(m.time() > 1.0 && m.time() < 3.0, w1 - w2, torque) == 0.0);

  const Trajectory run = simulate(m, {.stop = 4.0, .rtol = 1e-9, .atol = 1e-9});
  for (const Event& e : run.events())
    std::cout << "t = " << e.t << "  speeds " << e.before[0] << ", " << e.before[1] << " -> " << e.after[0] << ", " << e.after[1] << '\n';
  std::cout << "torque while engaged: " << run.at(2.0, "torque") << " N.m\n";
  return run.status().ok() ? 0 : 1;
}
