#pragma once

#include <cstddef>

namespace saltus::test {

/// How often this test program has called operator new.
std::size_t allocation_count();

}  // namespace saltus::test
