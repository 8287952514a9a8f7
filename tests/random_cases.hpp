// How many random cases a property test draws, and from which seed: a moderate number in ctest, more by hand.
#pragma once

#include <cstdlib>
#include <string>

namespace saltus {

/// SALTUS_RANDOM_CASES, or the usual number.
inline int random_cases(int usual) {
  const char* wanted = std::getenv("SALTUS_RANDOM_CASES");
  return wanted ? std::atoi(wanted) : usual;
}

/// The first seed: SALTUS_RANDOM_SEED, or 0.
inline int random_seed() {
  const char* wanted = std::getenv("SALTUS_RANDOM_SEED");
  return wanted ? std::atoi(wanted) : 0;
}

}  // namespace saltus
