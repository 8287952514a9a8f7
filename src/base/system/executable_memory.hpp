// Memory for code that is made while the program runs: written first, then made executable and read-only (never both).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace saltus {

class ExecutableMemory {
 public:
  ExecutableMemory() = default;
  ~ExecutableMemory();
  ExecutableMemory(const ExecutableMemory&) = delete;
  ExecutableMemory& operator=(const ExecutableMemory&) = delete;

  /// A copy of the code, once. Null if the system does not allow it.
  const std::uint8_t* assign(std::span<const std::uint8_t> code);

 private:
  void* memory_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace saltus
