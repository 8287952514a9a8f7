// A ball that loses a tenth of its speed at every impact: resets, the events as results, values at any time.
#include <saltus/saltus.hpp>

#include <iostream>
using namespace saltus;

int main() {
  Model m("ball");
  auto g = m.parameter("g", 9.8), e = m.parameter("e", 0.9);
  auto h = m.variable("h", 10.0, {.unit = "m"}), v = m.variable("v", 0.0, {.unit = "m/s"});
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < 0).reset(v, -e * v);

  const Trajectory run = simulate(m, {.stop = 20.0, .rtol = 1e-10, .atol = 1e-10});
  for (const Event& impact : run.events())
    std::cout << "impact at " << impact.t << " s with " << -impact.before[run.index("v")] << " m/s\n";
  std::cout << "height after 3 s: " << run.at(3.0, "h") << " m\n" << to_string(run.status().code) << '\n';
  return run.status().ok() ? 0 : 1;
}
