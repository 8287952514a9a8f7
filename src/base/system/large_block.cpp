#include "base/system/large_block.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif
#include <unistd.h>

#include <cstdlib>

namespace saltus {

void* large_block(std::size_t bytes) {
  // large pages can be used from their own boundaries on
  void* const block = std::aligned_alloc(large_page, bytes);
#ifdef __linux__
  if (block) ::madvise(block, bytes, MADV_HUGEPAGE);  // whether it is heard does not matter
#endif
  return block;
}

double memory_of_machine() {
  return static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace saltus
