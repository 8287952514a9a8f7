#include <saltus/base/status.hpp>

namespace saltus {

std::string_view to_string(StatusCode code) {
  switch (code) {
    case StatusCode::success: return "success";
    case StatusCode::terminated: return "terminated";
    case StatusCode::cancelled: return "cancelled";
    case StatusCode::initialisation_failed: return "initialisation_failed";
    case StatusCode::not_finite: return "not_finite";
    case StatusCode::step_too_small: return "step_too_small";
    case StatusCode::too_many_steps: return "too_many_steps";
    case StatusCode::too_many_mode_changes: return "too_many_mode_changes";
    case StatusCode::singular_mode: return "singular_mode";
    case StatusCode::no_forward_solution: return "no_forward_solution";
    case StatusCode::non_unique: return "non_unique";
    case StatusCode::assertion_failed: return "assertion_failed";
    case StatusCode::chattering: return "chattering";
    case StatusCode::zeno: return "zeno";
    case StatusCode::contradiction: return "contradiction";
    case StatusCode::equation_violated: return "equation_violated";
  }
  return "unknown";
}

StatusExplanation explain(StatusCode code) {
  switch (code) {
    case StatusCode::success:
      return {"The stop time was reached.", ""};
    case StatusCode::terminated:
      return {"The model ended the run itself (terminate).", ""};
    case StatusCode::cancelled:
      return {"The user ended the run (Ctrl-C, or the progress callback).", "The result reaches up to there."};
    case StatusCode::initialisation_failed:
      return {"No values were found at the start that satisfy all equations and fixed start values.",
              "Free a fixed start value, or give a better guess (start = …) for the variables named."};
    case StatusCode::not_finite:
      return {
          "An equation gave NaN or infinity, and shorter steps did not help.",
          "Let a condition switch before the domain of the expression ends: if x > 0 then sqrt(x) else 0."};
    case StatusCode::step_too_small:
      return {"The step size fell below the resolution of time.",
              "The solution may have a pole here: end the run before it (--stop, terminate). Or the tolerance cannot "
              "be met: try a larger one (--rtol) or another method (--method)."};
    case StatusCode::too_many_steps:
      return {"The limit on the number of steps, or of events, was reached.",
              "Try an implicit method for a stiff model (--method radau), a larger tolerance, or a higher limit "
              "(--max-steps, --max-events)."};
    case StatusCode::too_many_mode_changes:
      return {"The discrete part does not settle: its clauses or guards change each other in a cycle at one instant.",
              "The message lists the cycle. Break it with pre(…), or with conditions that exclude each other."};
    case StatusCode::singular_mode:
      return {
          "The equations of a mode do not determine its variables.",
          "Look for an equation in which a factor becomes zero or a branch drops a variable; add the equation that "
          "holds there, or end the run before."};
    case StatusCode::no_forward_solution:
      return {"At this point neither a side of the surface nor sliding on it continues the solution.",
              "Check the signs of the fields on both sides: each must lead away from the surface, or both towards it."};
    case StatusCode::non_unique:
      return {
          "Several continuations exist at this point, and the options say stop.",
          "Start elsewhere, or leave out --stop-on non-unique: one continuation is then chosen and the event says so."};
    case StatusCode::assertion_failed:
      return {"An assertion of the model is violated.",
              "Look at the values up to there (--csv, --html): what the model demands no longer holds."};
    case StatusCode::chattering:
      return {"One or two guards switch to and fro in short intervals, and the options say stop.",
              "Widen the hysteresis band, or remove it: without a band the solution slides along the surface."};
    case StatusCode::zeno:
      return {"Events accumulate at one instant, and no mode continues the solution after it.",
              "Write the mode that holds after the accumulation, or end the run there (terminate)."};
    case StatusCode::contradiction:
      return {"Two clauses give a variable different values in one round of an instant.",
              "Write one clause for both conditions, with elsewhen or a vector of conditions."};
    case StatusCode::equation_violated:
      return {"The result does not satisfy an equation of the model, by far more than the tolerance allows.",
              "The message names the equation and the place. Try a smaller tolerance or another method, and look for a "
              "point at which the equations are singular."};
  }
  return {"", ""};
}

}  // namespace saltus
