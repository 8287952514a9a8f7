// Derivatives of runs against numbers that are known to twenty digits.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>

#include "sens/reference_problems.hpp"

namespace saltus {
namespace {

using testing::ReferenceProblem;

double bound(double rtol, double value) {
  return 300.0 * rtol * (1.0 + std::abs(value));
}

void expect_reference(const ReferenceProblem& problem, Method method, double rtol) {
  SCOPED_TRACE(problem.name);
  const ModelicaModel loaded = load_modelica(problem.text, problem.name + ".mo");
  SimulateOptions options{.stop = problem.stop, .rtol = rtol, .atol = 0.01 * rtol};
  options.method = method;
  const SensitivityRun run = simulate_with_sensitivities(loaded.model, problem.parameters, options);
  ASSERT_EQ(run.trajectory().status().code, StatusCode::success) << run.trajectory().status().message;
  ASSERT_EQ(run.why(), "") << "at t = " << run.end();
  EXPECT_EQ(run.end(), problem.stop);
  for (const auto& d : problem.final)
    EXPECT_NEAR(run.final(d.variable, d.parameter), d.value, bound(rtol, d.value))
        << "d(" << d.variable << ")/d(" << d.parameter << ")";
  const std::vector<Event>& events = run.trajectory().events();
  ASSERT_EQ(run.events().size(), events.size());
  std::size_t next = 0;
  for (const auto& known : problem.events) {
    while (next < events.size() && std::abs(events[next].t - known.t) > 1e-3) ++next;
    ASSERT_LT(next, events.size()) << "no event at t = " << known.t;
    ASSERT_EQ(run.events()[next].dt.size(), known.dt.size());
    for (std::size_t k = 0; k < known.dt.size(); ++k)
      EXPECT_NEAR(run.events()[next].dt[k], known.dt[k], 3.0 * bound(rtol, known.dt[k]))
          << "event at t = " << known.t << " by " << problem.parameters[k];
  }
}

class Reference : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Reference, DerivativesAreThoseOfTheSolution) {
  expect_reference(testing::reference_problems()[GetParam()], Method::automatic, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Problems, Reference, ::testing::Range<std::size_t>(0, testing::reference_problems().size()),
                         [](const auto& problem) { return testing::reference_problems()[problem.param].name; });

}  // namespace
}  // namespace saltus
