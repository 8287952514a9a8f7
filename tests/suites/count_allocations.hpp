// Counts calls of operator new in this program (count_allocations.cpp replaces it).
#pragma once

#include <cstdint>

namespace saltus::suite {

std::int64_t allocations();

}  // namespace saltus::suite
