// One compiled model, many runs with derivatives at the same time.
#include <gtest/gtest.h>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include "threads/models.hpp"

namespace saltus::testing {
namespace {

Model bouncing() {
  Model m("bouncing");
  const Expr e = m.parameter("e", 0.8), g = m.parameter("g", 9.8);
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g - 0.1 * v);
  m.when(h < 0.0).reset(v, -e * v);
  return m;
}

// Programs are made by the first thread that needs them, and all results have the bits of a run alone.
TEST(SensitivitiesInThreads, AreThoseOfARunAlone) {
  const SimulateOptions options{.stop = 1.5, .rtol = 1e-8};
  const std::vector<std::string> names = {"e", "g", "h.start"};
  const SensitivityRun alone = simulate_with_sensitivities(bouncing(), names, options);
  const FunctionalGradient backwards = gradient(bouncing(), final_value("h"), names, options);
  const CompiledModel model(bouncing());
  constexpr int threads = 8;
  std::vector<std::vector<double>> forward(threads), adjoint(threads), inside(threads);
  in_threads(threads, [&](int thread) {
    const auto k = static_cast<std::size_t>(thread);
    for (int repeat = 0; repeat < 3; ++repeat) {
      const SensitivityRun run = simulate_with_sensitivities(model, names, options);
      forward[k] = run.final("e");
      inside[k] = run.at(0.7, "g");
      adjoint[k] = gradient(model, final_value("h"), names, options).derivatives;
    }
  });
  for (std::size_t k = 0; k < threads; ++k) {
    EXPECT_EQ(forward[k], alone.final("e"));
    EXPECT_EQ(inside[k], alone.at(0.7, "g"));
    EXPECT_EQ(adjoint[k], backwards.derivatives);
  }
}

}  // namespace
}  // namespace saltus::testing
