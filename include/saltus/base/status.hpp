// How a run ended: one code, one sentence, and where it happened.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// Every way in which a run can end. Codes from `cancelled` on mean that the run did not reach its end.
enum class StatusCode {
  success,                ///< the stop time was reached
  terminated,             ///< the model asked to stop (terminate, terminal guard)
  cancelled,              ///< the user's callback asked to stop
  initialisation_failed,  ///< no consistent initial values were found
  not_finite,             ///< an equation gave NaN or infinity and a smaller step did not help
  step_too_small,         ///< the error test or Newton's method needs a step below the resolution of time
  too_many_steps,         ///< the step limit was reached
  too_many_mode_changes,  ///< immediate mode changes go round in a cycle
  singular_mode,          ///< a mode's equations do not determine its variables
  no_forward_solution,    ///< no mode continues the solution at a point
  non_unique,             ///< several modes continue the solution and the options say stop
  assertion_failed,       ///< an assertion of the model is violated
  chattering,             ///< events follow each other too closely and the options say stop
  zeno,                   ///< events accumulate and no limit mode exists
  contradiction,          ///< two clauses give a variable different values at one instant
  equation_violated,      ///< the result does not satisfy an equation of the model to the tolerance
};

/// The code as it stands in JSON files: its name in this file.
std::string_view to_string(StatusCode code);

/// A status for people who meet it for the first time: what it means, and what to try (empty where nothing is wrong).
struct StatusExplanation {
  std::string_view meaning, advice;
};
StatusExplanation explain(StatusCode code);

/// All codes, in the order of the enumeration.
inline constexpr StatusCode all_status_codes[] = {
    StatusCode::success, StatusCode::terminated, StatusCode::cancelled, StatusCode::initialisation_failed,
    StatusCode::not_finite, StatusCode::step_too_small, StatusCode::too_many_steps, StatusCode::too_many_mode_changes,
    StatusCode::singular_mode, StatusCode::no_forward_solution, StatusCode::non_unique, StatusCode::assertion_failed,
    StatusCode::chattering, StatusCode::zeno, StatusCode::contradiction, StatusCode::equation_violated};

/// The outcome of a run.
struct Status {
  StatusCode code = StatusCode::success;
  std::string message;               ///< what happened and what to try, one or two sentences
  double t = 0.0;                    ///< the last time that the result covers
  std::string mode;                  ///< the mode at that time
  std::vector<std::string> culprits; ///< names of guards, equations or variables involved

  bool ok() const { return code == StatusCode::success || code == StatusCode::terminated; }
};

}  // namespace saltus
