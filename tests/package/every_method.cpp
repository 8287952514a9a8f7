// A user's program that runs a model with every method: through steps, events and dense output.
#include <saltus/saltus.hpp>

#include <cmath>
#include <iostream>

namespace {

/// A ball that falls faster below zero; it gets there at 0.2 + sqrt(0.24).
bool runs_with(saltus::Method method) {
  using namespace saltus;
  Model m("ball");
  auto h = m.variable("h", 1), v = m.variable("v", 2);
  m.equation(der(h) == v);
  m.equation(der(v) == if_else(h > 0.0, Expr(-10.0), Expr(-20.0)));
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
  return run.status().ok() && run.events().size() == 1 && std::abs(run.events()[0].t - 0.2 - std::sqrt(0.24)) < 1e-5 &&
         std::isfinite(run.at(0.1, "h"));
}

}  // namespace

int main() {
  for (const saltus::MethodInfo& row : saltus::method_table())
    if (!runs_with(row.method)) {
      std::cout << "the run with " << row.name << " failed\n";
      return 1;
    }
  std::cout << "all methods run\n";
}
