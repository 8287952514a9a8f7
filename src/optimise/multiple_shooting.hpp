// Multiple shooting: runs over single intervals, whose starts are unknown, too, and are joined step by step. It begins
// with a straight line of states, so that it leaves places at which a single run rests and nothing moves it.
#pragma once

#include <Eigen/Core>
#include <functional>
#include <optional>
#include <string>

#include "optimise/transcript.hpp"

namespace saltus {

struct ShootingResult {
  std::optional<Eigen::VectorXd> controls;  ///< values of what is free in the whole programme; nothing: none found
  std::string why;                          ///< why none were found
  double gap = 0.0;                         ///< sum of what is open between intervals and at the end
  int iterations = 0;
  double runs = 0.0;  ///< of single intervals, in whole runs
  int nudged = 0;
  bool interrupted = false;
};

/// Why a programme cannot be solved so; "" if it can.
std::string refuse_multiple_shooting(const Model& model, const Programme& programme, const Transcript& whole);

/// `whole`: the same programme, of which the values are returned.
ShootingResult multiple_shooting(const Model& model, const Programme& programme, const Transcript& whole,
                                 const OptimiseOptions& options, double most_runs);

}  // namespace saltus
