// Why a round of events has failed, as messages begin.
#pragma once

#include <string_view>

namespace saltus {

/// A discrete variable or a reset gets infinity, or no number at all. The run ends with `not_finite`.
inline constexpr std::string_view no_finite_value = "no finite value";

}  // namespace saltus
