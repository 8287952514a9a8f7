// Why a round of events has failed, or is ambiguous: texts in messages.
#pragma once

#include <string_view>

namespace saltus {

/// A discrete variable or a reset gets infinity, or no number at all. The run ends with `not_finite`.
inline constexpr std::string_view no_finite_value = "no finite value";

/// A note on an event with this text: two transitions are possible, and the first one was taken. With
/// SimulateOptions::stop_if_non_unique the run ends with `non_unique`.
inline constexpr std::string_view another_transition = "' is possible too; '";

}  // namespace saltus
