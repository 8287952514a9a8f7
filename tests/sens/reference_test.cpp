// Derivatives of runs against numbers that are known to twenty digits.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>

#include "sens/reference_problems.hpp"

namespace saltus {
namespace {

using testing::ReferenceProblem;

/// How many tolerances a derivative may be off.
double bound(double rtol, double value, double tolerances) {
  return tolerances * rtol * (1.0 + std::abs(value));
}

void expect_reference(const ReferenceProblem& problem, Method method, double rtol, double tolerances) {
  SCOPED_TRACE(problem.name + " with " + std::string(to_string(method)));
  const ModelicaModel loaded = load_modelica(problem.text, problem.name + ".mo");
  SimulateOptions options{.stop = problem.stop, .rtol = rtol, .atol = 0.01 * rtol};
  options.method = method;
  const SensitivityRun run = simulate_with_sensitivities(loaded.model, problem.parameters, options);
  const Status& status = run.trajectory().status();
  // a method that does not take the modes of the problem says so
  if (method != Method::automatic && status.message.find("use method") != std::string::npos) return;
  ASSERT_EQ(status.code, StatusCode::success) << status.message;
  ASSERT_EQ(run.why(), "") << "at t = " << run.end();
  EXPECT_EQ(run.end(), problem.stop);
  for (const auto& d : problem.final)
    EXPECT_NEAR(run.final(d.variable, d.parameter), d.value, bound(rtol, d.value, tolerances))
        << "d(" << d.variable << ")/d(" << d.parameter << ")";
  const std::vector<Event>& events = run.trajectory().events();
  ASSERT_EQ(run.events().size(), events.size());
  std::size_t next = 0;
  for (const auto& known : problem.events) {
    while (next < events.size() && std::abs(events[next].t - known.t) > 1e-3) ++next;
    ASSERT_LT(next, events.size()) << "no event at t = " << known.t;
    ASSERT_EQ(run.events()[next].dt.size(), known.dt.size());
    // a run that is off at an event has another derivative there
    const double off = std::abs(events[next].t - known.t);
    for (std::size_t k = 0; k < known.dt.size(); ++k)
      EXPECT_NEAR(run.events()[next].dt[k], known.dt[k],
                  3.0 * bound(rtol, known.dt[k], tolerances) + 300.0 * off * (1.0 + std::abs(known.dt[k])))
          << "event at t = " << known.t << " by " << problem.parameters[k];
  }
}

class Reference : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Reference, DerivativesAreThoseOfTheSolution) {
  expect_reference(testing::reference_problems()[GetParam()], Method::automatic, 1e-9, 300.0);
}

TEST_P(Reference, EveryMethodGivesTheSame) {
  for (const MethodInfo& info : method_table())
    if (info.method != Method::automatic)
      expect_reference(testing::reference_problems()[GetParam()], info.method, 1e-8, 1000.0);
}

INSTANTIATE_TEST_SUITE_P(Problems, Reference, ::testing::Range<std::size_t>(0, testing::reference_problems().size()),
                         [](const auto& problem) { return testing::reference_problems()[problem.param].name; });

// A mode with hidden constraints jumps together with all its derivatives, however many there are: here all are those
// by gr.
TEST(ManyDirections, JumpAlongImpulses) {
  ReferenceProblem problem = *std::ranges::find(testing::reference_problems(), "Rope", &ReferenceProblem::name);
  problem.text.replace(problem.text.find("gr = 9.81"), 9, "q[24] = zeros(24), gr = 9.81 + sum(q)");
  problem.parameters.clear();
  for (int k = 1; k <= 24; ++k) problem.parameters.push_back("q[" + std::to_string(k) + "]");
  std::erase_if(problem.final, [](const auto& d) { return d.parameter != "gr"; });
  for (auto& d : problem.final) d.parameter = "q[17]";
  for (auto& event : problem.events) event.dt.assign(24, event.dt[1]);
  expect_reference(problem, Method::automatic, 1e-9, 300.0);
}

}  // namespace
}  // namespace saltus
