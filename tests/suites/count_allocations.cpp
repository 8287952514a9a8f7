#include "suites/count_allocations.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> count{0}, held{0}, peak{0}, held_at_start{0};

void* counted(std::size_t size) {
  ++count;
  void* p = std::malloc(size == 0 ? 1 : size);
  if (!p) throw std::bad_alloc();
  const std::int64_t now = held += static_cast<std::int64_t>(malloc_usable_size(p));
  std::int64_t before = peak;
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return p;
}
void release(void* p) {
  held -= static_cast<std::int64_t>(malloc_usable_size(p));
  std::free(p);
}
}  // namespace

std::int64_t saltus::suite::allocations() {
  return count;
}
std::int64_t saltus::suite::peak_bytes() {
  return peak - held_at_start;
}
void saltus::suite::forget_peak() {
  held_at_start = held.load();
  peak = held.load();
}

void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new[](std::size_t size) {
  return counted(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return counted(size);
}
void operator delete(void* p) noexcept {
  release(p);
}
void operator delete[](void* p) noexcept {
  release(p);
}
void operator delete(void* p, std::size_t) noexcept {
  release(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  release(p);
}
