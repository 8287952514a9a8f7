// Values that are only ever appended, as what a run writes down. A large block is given more room by the operating system where it lies, as a
// rule: nothing is copied, and no page is touched before it is needed.
#pragma once

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>

namespace saltus {

template <class Value>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray& other) { append(std::span<const Value>(other.values_, other.size_)); }
  GrowingArray& operator=(const GrowingArray&) = delete;
  ~GrowingArray() { std::free(values_); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const Value& operator[](std::size_t place) const { return values_[place]; }
  const Value& back() const { return values_[size_ - 1]; }
  const Value* data() const { return values_; }

  void push_back(const Value& value) {
    if (size_ == room_) grow(1);
    values_[size_++] = value;
  }
  /// These lists, one after the other.
  template <class... Lists>
  void append(const Lists&... lists) {
    const std::size_t more = (lists.size() + ...);
    if (more > room_ - size_) grow(more);
    Value* place = values_ + size_;
    const auto add = [&place](std::span<const Value> list) {
      for (const Value& value : list) *place++ = value;
    };
    (add(lists), ...);
    size_ += more;
  }

 private:
  /// Each page that is touched for the first time costs as much as several events.
  static void ask_for_large_pages([[maybe_unused]] void* block, [[maybe_unused]] std::size_t bytes) {
#ifdef __linux__
    constexpr std::size_t page = 4096, worthwhile = std::size_t{1} << 22;
    if (bytes < worthwhile) return;
    const auto begin = (reinterpret_cast<std::uintptr_t>(block) + page - 1) / page * page;
    madvise(reinterpret_cast<void*>(begin), bytes - page, MADV_HUGEPAGE);  // whether it is heard does not matter
#endif
  }

  [[gnu::noinline]] void grow(std::size_t more) {
    const std::size_t room = std::max({2 * room_, room_ + more, std::size_t{16}});
    void* const moved = std::realloc(static_cast<void*>(values_), room * sizeof(Value));
    if (!moved) throw std::bad_alloc();
    ask_for_large_pages(moved, room * sizeof(Value));
    values_ = static_cast<Value*>(moved);
    room_ = room;
  }

  Value* values_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace saltus
