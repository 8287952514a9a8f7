// Runs of small models, and what they reach.
#pragma once

#include <algorithm>
#include <string>

#include "load_helpers.hpp"

namespace saltus {

inline Trajectory run_model(const std::string& body, double stop, double tolerance = 1e-6,
                            Method method = Method::automatic) {
  return simulate(load_text("model M " + body + " end M;").model,
                  {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
}

/// The lowest value of a variable over the whole run, inside of steps too.
inline double lowest(const Trajectory& run, const std::string& variable) {
  double least = run.at(run.status().t, variable);
  for (int k = 0; k <= 4000; ++k) least = std::min(least, run.at(run.status().t * k / 4000.0, variable));
  return least;
}

}  // namespace saltus
