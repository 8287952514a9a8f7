// One model, run by any of the executors.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/modelica/modelica.hpp>

#include <string>
#include <vector>

#include "executors/promises.hpp"

namespace saltus::executors {

/// What an executor made of a model with one value of its parameter.
struct Outcome {
  double p = 0.0;
  bool taken = true;    ///< by this executor; false: it has refused, and the loop has run the model instead
  std::string refusal;  ///< what it has said
  bool proved = true;   ///< no event was missed
  StatusCode status = StatusCode::success;
  std::string message;
  Values values;             ///< of the variables at the end; empty if nothing has run
  std::int64_t events = -1;  ///< of the run; -1: it cannot be told
};

/// A model that is run for values of p: from the lowest to the highest.
struct Task {
  std::string text;  ///< as Promise::text
  double low = 1.0, high = 1.0;
  SimulateOptions options;
};

/// With one value of p.
Outcome run_by_loop(const Task& task, double p);
/// Outcomes in the order of p.
std::vector<Outcome> execute(Executor executor, const Task& task);

}  // namespace saltus::executors
