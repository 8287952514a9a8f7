// Limits of searches.
#include "base/work_limit.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace saltus {
namespace {

/// How many trials of so many operations are begun before a limit stops them; -1: more than a thousand.
int trials_until(const WorkLimit& limit, double operations) {
  for (int k = 0; k < 1000; ++k) try {
      WorkLimit::begin_trial(operations);
    } catch (const WorkStopped& stopped) {
      EXPECT_EQ(stopped.limit, &limit);
      return k;
    }
  return -1;
}

TEST(WorkLimit, EndsASearchAfterItsOperations) {
  WorkLimit::begin_trial(1e300);  // without a limit nothing ends
  {
    const WorkLimit limit(100.0);
    EXPECT_EQ(trials_until(limit, 30.0), 4);
    EXPECT_EQ(limit.trials(), 4);
  }
  {
    const WorkLimit limit(100.0);
    EXPECT_EQ(trials_until(limit, 1e9), 1);  // one is always made
  }
  WorkLimit::begin_trial(1e300);
}

TEST(WorkLimit, CountsForTheLimitsAroundIt) {
  const WorkLimit outer(100.0);
  {
    const WorkLimit inner(50.0);
    EXPECT_EQ(trials_until(inner, 20.0), 3);
  }
  const WorkLimit inner(1000.0);
  EXPECT_EQ(trials_until(outer, 20.0), 3);
}

TEST(WorkLimit, EndsAtATimeOrOnRequestInItsThreadAlone) {
  std::atomic<bool> stop = false;
  const WorkLimit never(std::numeric_limits<double>::infinity(), stop);
  WorkLimit::look(1e9);
  {
    const WorkLimit soon(0.01, stop);
    WorkLimit::look(1e9);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    WorkLimit::look(1.0);  // too little to look at the clock
    EXPECT_THROW(WorkLimit::look(1e9), WorkStopped);
    std::jthread([] { WorkLimit::look(1e9); });
  }
  WorkLimit::look(1e9);
  stop = true;
  EXPECT_THROW(WorkLimit::look(1e9), WorkStopped);
}

}  // namespace
}  // namespace saltus
