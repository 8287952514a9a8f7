// How many random models a test draws, and from which seed: a moderate number in ctest, more by
// scripts/random_models.py, which sets the variables of the environment and reads the record.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "effort.hpp"

namespace saltus {

/// SALTUS_RANDOM_CASES, or the usual number at this effort.
inline int random_cases(int usual) {
  const char* wanted = std::getenv("SALTUS_RANDOM_CASES");
  return wanted ? std::atoi(wanted) : test_cases(usual);
}

/// The first seed: SALTUS_RANDOM_SEED, or the usual one.
inline int random_seed(int usual = 0) {
  const char* wanted = std::getenv("SALTUS_RANDOM_SEED");
  return wanted ? std::atoi(wanted) : usual;
}

/// Writes the number of simulated models into the record of the running test (--gtest_output). It is smaller than the
/// number of seeds: models without a unique solution are not simulated.
inline void record_models(int count) {
  testing::Test::RecordProperty("models", count);
}

/// Expects that a share of the seeds gave what the test is about, up to three standard deviations of so few seeds.
/// Fewer than a hundred prove nothing.
inline void expect_share(int found, double share, int seeds) {
  if (seeds < 100 || testing::Test::HasFailure()) return;
  EXPECT_GT(found, share * seeds - 3.0 * std::sqrt(share * seeds));
}

}  // namespace saltus
