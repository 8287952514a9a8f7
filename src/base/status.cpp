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
  }
  return "unknown";
}

}  // namespace saltus
