// Values that are only ever appended, as what a run writes down. Large arrays lie in large pages, if the operating
// system has any: to touch a page for the first time costs more than to copy it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>

#include "base/system/large_block.hpp"

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

  /// Keeps the memory.
  void clear() { size_ = 0; }
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
  [[gnu::noinline]] void grow(std::size_t more) {
    // room that is not touched costs nothing, but to move what is there touches it again
    const bool small = room_ * sizeof(Value) < large_page / 8, medium = room_ * sizeof(Value) < 64 * large_page;
    std::size_t room = std::max({(small || !medium ? 2 : 8) * room_, room_ + more, std::size_t{16}});
    void* moved;
    if (room * sizeof(Value) < large_page) {
      moved = std::realloc(static_cast<void*>(values_), room * sizeof(Value));
    } else {
      const std::size_t bytes = (room * sizeof(Value) + large_page - 1) / large_page * large_page;
      room = bytes / sizeof(Value);
      moved = large_block(bytes);
      if (moved && values_) std::memcpy(moved, static_cast<const void*>(values_), size_ * sizeof(Value));
      if (moved) std::free(values_);
    }
    if (!moved) throw std::bad_alloc();
    values_ = static_cast<Value*>(moved);
    room_ = room;
  }

  Value* values_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace saltus
