// Counts calls of operator new in this program and the bytes that they hold (count_allocations.cpp replaces it).
#pragma once

#include <cstdint>

namespace saltus::suite {

std::int64_t allocations();

/// The most bytes that were held at once since the last call of forget_peak, beyond those held at that call.
std::int64_t peak_bytes();
void forget_peak();

}  // namespace saltus::suite
