// Members of a study in many threads: they share the compiled model, the block and the list of failures.
#include <gtest/gtest.h>
#include <saltus/study/run_study.hpp>

#include "study/models.hpp"

namespace saltus::testing {
namespace {

TEST(StudyInThreads, HasTheSameBitsForAnyNumberOfThreads) {
  StudyPlan plan = impact_plan(12);
  const auto expected = bits(run_study(impact_oscillator(), plan, {.threads = 1}));
  for (const int threads : {2, 8})
    EXPECT_EQ(bits(run_study(impact_oscillator(), plan, {.threads = threads, .block = 10})), expected);
}

TEST(StudyInThreads, CollectsFailuresOfAllThreadsAndStopsWhenAsked) {
  Model m("trouble");
  const Expr a = m.parameter("a", 1.0), x = m.variable("x", 1.0, {.fixed = true});
  m.equation(der(x) == a * x * x);
  const StudyPlan plan{.axes = {{"a", -1.0, 4.0, 40}},
                       .simulate = {.stop = 0.6, .max_steps = 2000},
                       .collect = {{Collect::final_value, "x"}}};
  const StudyResult result = run_study(m, plan, {.threads = 8});
  EXPECT_GE(result.failures(100).size(), 15u);
  EXPECT_EQ(bits(run_study(m, plan, {.threads = 1})), bits(result));
  const StudyResult stopped =
      run_study(m, plan, {.threads = 8, .block = 4, .progress = [](const StudyProgress& p) { return p.done < 8; }});
  EXPECT_FALSE(stopped.finished());
}

}  // namespace
}  // namespace saltus::testing
