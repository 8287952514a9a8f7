// Memory of one large object at a time, kept for the next one of its kind: the general allocator tidies up all of its
// small blocks whenever a large one is asked for.
#pragma once

#include <cstddef>
#include <new>
#include <utility>

namespace saltus {

/// Memory for a T: one block for each thread. All blocks have the size of the first one.
template <class T>
class KeptMemory {
 public:
  static void* take(std::size_t size) {
    void* const kept = std::exchange(block().memory, nullptr);
    return kept ? kept : ::operator new(size);
  }
  static void give_back(void* memory) { ::operator delete(std::exchange(block().memory, memory)); }

 private:
  struct Block {
    void* memory = nullptr;
    ~Block() { ::operator delete(std::exchange(memory, nullptr)); }
  };
  static Block& block() {
    thread_local Block own;
    return own;
  }
};

}  // namespace saltus
