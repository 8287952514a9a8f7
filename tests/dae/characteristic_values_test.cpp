#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <saltus/dae/characteristic_values.hpp>

#include <chrono>
#include <cstdio>

#include "problems/circuits.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

using problems::Problem;

void show(const Problem& p, const CharacteristicValues& c, double seconds) {
  std::printf("%-34s %-28s expected %-28s %s%s kept %.1e dropped %.1e rc %.1e  %.2f ms\n", p.name.c_str(), to_string(c.numbers).c_str(),
              to_string(p.expected).c_str(), std::string(to_string(c.status)).c_str(), c.decided_by_structure ? " (structure)" : "", c.kept,
              c.dropped, c.certificate.reciprocal_condition, 1e3 * seconds);
  if (getenv("V")) for (auto& l : c.levels) std::printf("    d %d a %d v %d r %d  M %d %.1e/%.1e A %d %.1e/%.1e E %d %.1e/%.1e\n", l.d,l.a,l.v,l.r,l.derivatives.rank,l.derivatives.kept,l.derivatives.dropped,l.algebraic.rank,l.algebraic.kept,l.algebraic.dropped,l.differential.rank,l.differential.kept,l.differential.dropped);
}
void check(const Problem& p, const CharacteristicOptions& o = {}) {
  auto t0 = std::chrono::steady_clock::now();
  const auto c = characteristic_values(*p.system, p.t, p.guess, o);
  show(p, c, std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count());
}

TEST(Debug, A) {
  check(problems::manifold_matters(1e-3));
  check(problems::slider_crank({M_PI / 2 - 0.1, -M_PI / 2 + 0.1, 0, 0, 0}, 1, 1));
  check(problems::slider_crank({M_PI / 2, -M_PI / 2, 0, 0, 0}, 1, 1));
  check(problems::car_axis());
  check(problems::multi_pendula(2), {.max_level = 12});
}
TEST(Explore, All) {
  check(problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0}));
  check(problems::pendulum({0, -1, 1, 0, 1.0}));
  check(problems::pendulum({1, 0, 0, 0, 0}));
  check(problems::pendulum({2, 0.5, 0, 0, 0}));
  check(problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0}, 1, 9.81, 0.3, 2.0));
  check(problems::pendulum({0.6e-6, -0.8e-6, 0, 0, 1e7}, 1e-6));
  check(problems::pendulum({600, -800, 0, 0, 1e-12}, 1e3, 9.81e-9));
  check(problems::pendulum({0.6e9, -0.8e9, 0, 0, 1e-9}, 1e9, 9.81));
  check(problems::pendulum({0.6e-9, -0.8e-9, 0, 0, 1e9}, 1e-9, 9.81));
  check(problems::slider_crank({0.5, -0.2, 1, 0, 0}));
  check(problems::nonlinear_circuit());
  check(problems::transistor_amplifier());
  for (int k = 1; k <= 5; ++k) check(problems::rotating_block(k));
  check(problems::regular_pencil_not_unique());
  check(problems::singular_pencil_unique());
  check(problems::pendulum_with_hidden_constraints());
  check(problems::pendulum_ggl());
  check(problems::control_system());
  check(problems::redundant_and_free());
  for (double d : {0.3, 1e-3, 1e-9, 1e-13}) check(problems::manifold_matters(d));
  check(problems::robot_arm());
  check(problems::car_axis());
  for (int k = 1; k <= 5; ++k) check(problems::multi_pendula(k), {.max_level = 12});
  for (double e : {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 0.0}) {
    const double a = M_PI / 2 - e;
    check(problems::slider_crank({a, -a, 0, 0, 0}, 1, 1));
  }
}

}  // namespace
}  // namespace saltus
