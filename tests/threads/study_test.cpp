// Members of a study in many threads: they share the compiled model, the block and the list of failures.
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/study/run_study.hpp>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

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

TEST(StudyInThreads, HasTheSameBitsInLanes) {
  StudyPlan plan = impact_plan(40);
  plan.path = MemberPath::lanes;
  plan.sampling.transient = 2;
  const StudyResult one = run_study(impact_oscillator(), plan, {.threads = 1});
  EXPECT_GT(one.members_in_lanes(), 40);
  for (const int threads : {2, 8})
    EXPECT_EQ(bits(run_study(impact_oscillator(), plan, {.threads = threads, .block = 24})), bits(one));
}

// Shards with two threads each in one folder, and a reader that looks at the study while it grows.
TEST(StudyInThreads, MeetsOtherShardsAndReadersInItsFolder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("saltus-threads-" + std::to_string(::getpid()));
  const Model model = impact_oscillator();
  StudyPlan plan = impact_plan(10);
  plan.sampling.transient = 0;
  const auto expected = bits(run_study(model, plan, {.threads = 1}));
  for (const bool reduce : {false, true}) {
    fs::remove_all(folder);
    constexpr std::int64_t shards = 3;
    std::atomic<std::int64_t> ended = 0;
    {
      std::vector<std::jthread> threads;
      for (std::int64_t k = 0; k < shards; ++k)
        threads.emplace_back([&, k] {
          StudyOptions options{.store = folder, .threads = 2, .block = 2, .shard = k, .shards = shards};
          if (reduce) options.reduce = DensityPlan{.x = "omega", .y = "x", .columns = 20, .rows = 30};
          run_study(model, plan, options);
          ++ended;
        });
      threads.emplace_back([&] {
        while (ended < shards) {
          if (!fs::exists(folder)) continue;
          const StudyResult now = StudyResult::open(folder);
          std::int64_t members = 0;
          for (const auto& [status, count] : now.count_by_status()) members += count;
          EXPECT_EQ(members, 20);
        }
      });
    }
    const StudyResult result = StudyResult::open(folder);
    EXPECT_TRUE(result.finished());
    EXPECT_EQ(result.check(), std::vector<std::string>{});
    if (reduce)
      EXPECT_EQ(result.density()->points(), 80);
    else
      EXPECT_EQ(bits(result), expected);
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace saltus::testing
