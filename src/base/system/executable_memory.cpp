#include "base/system/executable_memory.hpp"

#include <sys/mman.h>

#include <cstring>

namespace saltus {

ExecutableMemory::~ExecutableMemory() {
  if (memory_) ::munmap(memory_, size_);
}

const std::uint8_t* ExecutableMemory::assign(std::span<const std::uint8_t> code) {
  void* const memory = ::mmap(nullptr, code.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  memory_ = memory;
  size_ = code.size();
  std::memcpy(memory_, code.data(), size_);
  return ::mprotect(memory_, size_, PROT_READ | PROT_EXEC) == 0 ? static_cast<const std::uint8_t*>(memory_) : nullptr;
}

}  // namespace saltus
