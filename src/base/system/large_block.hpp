// The memory of the machine, and blocks of it for large arrays, in large pages where the system has them: to touch a
// page for the first time costs more than to copy it, and there are fewer large ones.
#pragma once

#include <cstddef>

namespace saltus {

inline constexpr std::size_t large_page = std::size_t{1} << 21;

/// `bytes` is a multiple of large_page. Null where there is no memory. std::free frees it.
void* large_block(std::size_t bytes);

/// Bytes that the machine has.
double memory_of_machine();

}  // namespace saltus
