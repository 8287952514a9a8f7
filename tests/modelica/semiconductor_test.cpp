// Circuits of transistors and junctions whose currents are functions with many branches, as those of Spice are. The
// references are found by bisection and small steps, in numbers with more digits.
#include <cmath>
#include <functional>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

using Number = long double;

// The root of an increasing function between two numbers.
Number root(const std::function<Number(Number)>& f, Number low, Number high) {
  for (int k = 0; k < 80; ++k) {
    const Number half = (low + high) / 2;
    (f(half) < 0 ? low : high) = half;
  }
  return low;
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
