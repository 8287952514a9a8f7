// When learning events in order to repeat them is given up.
#pragma once

#include <cstddef>

namespace saltus {

/// Events on an edge that were learned and never followed: their modes have numbers that change at every event.
inline constexpr int often_enough = 16;
/// Modes with more numbers hardly ever come back, and an edge keeps several of them.
inline constexpr std::size_t most_numbers = 200;

}  // namespace saltus
