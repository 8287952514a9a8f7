// Pauses at arbitrary times, some of them by millionths of a step apart, as a program makes that runs beside others: they cost the steps that
// they cut, and change nothing.
#include <cstdint>

#include "method_agreement.hpp"

namespace saltus::testing {
namespace {

Model plane_pendulum() {
  Model m("plane pendulum");
  const Expr angle = m.variable("angle", 0.9, {.fixed = true}), w = m.variable("w", 0.0, {.fixed = true});
  m.equation(der(angle) == w);
  m.equation(der(w) == -9.81 * sin(angle));
  return m;
}

Model diode_circuit() {
  Model m("diode circuit");
  const Expr charge = m.variable("charge", 0.5, {.fixed = true}), flux = m.variable("flux", 0.1, {.fixed = true}), i = m.variable("i", 0.1);
  m.equation(der(charge) == flux - 0.1 * charge);
  m.equation(der(flux) == -i);
  m.equation(i + 0.1 * (exp(3.0 * i) - 1.0) == 5.0 * charge + sin(4.0 * m.time()));
  return m;
}

/// The constraint is x^2 + y^2 = 1, or what it says about velocities.
Model cartesian_pendulum(bool differentiated) {
  Model m("cartesian pendulum");
  const Expr x = m.variable("x", -0.8, {.fixed = true}), y = m.variable("y", -0.6, {.fixed = differentiated}), F = m.variable("F", 0.0);
  const Expr u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -F * x);
  m.equation(der(v) == -F * y - 9.81);
  m.equation(differentiated ? x * u + y * v == 0.0 : x * x + y * y == 1.0);
  return m;
}

struct Run {
  std::vector<double> end;
  std::int64_t steps = 0, pauses = 0;
};

Run finished(Simulator simulator, std::int64_t pauses, const std::string& what) {
  simulator.run();
  EXPECT_TRUE(simulator.status().ok()) << what << ": " << simulator.status().message;
  return {simulator.values(), simulator.trajectory().statistics().steps, pauses};
}

/// Groups of pauses a hundredth to a hundred-millionth of a step apart.
Run with_short_pauses(const std::shared_ptr<CompiledModel>& model, const SimulateOptions& options, double step, unsigned seed, const std::string& what) {
  Random random(seed);
  Simulator simulator(model, options);
  std::int64_t pauses = 0;
  for (double t = random(0.0, 2.0); t < options.stop; t += random(0.0, 4.0))
    for (int k = 0; k < 3 && t < options.stop && !simulator.finished(); ++k, ++pauses) {
      simulator.advance_to(t);
      t += step * random.power_of_ten(-8.0, -2.0);
    }
  return finished(std::move(simulator), pauses, what);
}

double distance(const Run& a, const Run& b) {
  double largest = 0.0;
  for (std::size_t j = 0; j < std::min(a.end.size(), b.end.size()); ++j)
    largest = std::max(largest, std::abs(a.end[j] - b.end[j]) / (1.0 + std::abs(b.end[j])));
  return largest;
}

/// Ten times the error of the run that does not pause, or ten tolerances, if that happens to be accurate. A pause costs a step and may halve the
/// one before; the steps of BDF at most double, 27 times from 1e-8.
void expect_no_change(const Model& made, unsigned cases) {
  const auto model = std::make_shared<CompiledModel>(made);
  const Comparison comparison;
  const Run exact = finished(Simulator(model, comparison.options(Method::radau, 1e-11)), 0, "reference");
  for (const Method method : implicit_methods) {
    const SimulateOptions options = comparison.options(method, tolerance);
    const Run whole = finished(Simulator(model, options), 0, std::string(to_string(method)));
    const double error = std::max(distance(whole, exact), tolerance), step = options.stop / static_cast<double>(whole.steps);
    for (unsigned seed = 0; seed < cases; ++seed) {
      const std::string what = std::string(to_string(method)) + ", seed " + std::to_string(seed);
      const Run run = with_short_pauses(model, options, step, seed, what);
      EXPECT_LT(distance(run, exact), 10.0 * error) << what;
      EXPECT_LE(run.steps, whole.steps + (method == Method::bdf ? 30 : 2) * run.pauses + whole.steps / 10) << what;
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ShortPauses, OfDifferentialEquations) { expect_no_change(plane_pendulum(), 20); }

TEST(ShortPauses, OfEquationsOfIndexOne) { expect_no_change(diode_circuit(), 20); }

TEST(ShortPauses, OfEquationsOfIndexTwo) { expect_no_change(cartesian_pendulum(true), 15); }

TEST(ShortPauses, OfEquationsOfIndexThree) { expect_no_change(cartesian_pendulum(false), 15); }

// steps of order 13, from whose short ones predictions reached a thousand times as far
TEST(ShortPauses, InTheStepsOfHighOrder) {
  const auto model = std::make_shared<CompiledModel>(cartesian_pendulum(false));
  for (const double apart : {1e-3, 2e-4, 1e-6})
    for (int k = 1; k < 50; ++k) {
      Simulator simulator(model, Comparison{}.options(Method::radau, tolerance));
      simulator.advance_to(0.06 * k);
      simulator.advance_to(0.06 * k + apart);
      for (int steps = 0; steps < 3; ++steps) simulator.step();
      EXPECT_TRUE(simulator.status().ok()) << k << ": " << simulator.status().message;
      EXPECT_GT(simulator.t(), 0.06 * k + 0.1) << k << ", " << apart;  // steps are a quarter long
    }
}

}  // namespace
}  // namespace saltus::testing
