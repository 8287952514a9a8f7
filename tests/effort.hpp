// How much work random and exhaustive tests do: SALTUS_TEST_EFFORT is 1 in ./test, 10 at night, 100 by hand. ctest
// gives rapidcheck as much more.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace saltus {

inline int test_effort() {
  const char* text = std::getenv("SALTUS_TEST_EFFORT");
  return text ? std::clamp(std::atoi(text), 1, 100000) : 1;
}

/// `once` cases at effort 1.
inline int test_cases(int once) {
  return once * test_effort();
}

}  // namespace saltus
