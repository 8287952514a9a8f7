// Two bodies that rub against each other: the program of the README.
#include <saltus/saltus.hpp>

#include <iostream>
using namespace saltus;

int main() {
  Model m("stick-slip");
  auto mu = m.parameter("mu", 0.4);
  auto p1 = m.variable("p1", 1), p2 = m.variable("p2", 1), v1 = m.variable("v1", 0), v2 = m.variable("v2", 0);
  m.equation(der(p1) == v1);
  m.equation(der(p2) == v2);
  m.equation(der(v1) == sin(m.time()) - mu * sign(v1 - v2));
  m.equation(der(v2) == mu * sign(v1 - v2));
  auto run = simulate(m, {.stop = 10.0, .rtol = 1e-8, .atol = 1e-8});
  for (const auto& e : run.events()) std::cout << e.t << "  " << e.describe() << '\n';
}
