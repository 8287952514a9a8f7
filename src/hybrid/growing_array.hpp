// Values that are only ever appended, as what a run writes down. A large block is given more room by the operating system where it lies, as a
// rule: nothing is copied, and no page is touched before it is needed.
#pragma once

#include <algorithm>
#include <cstddef>
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
  GrowingArray(const GrowingArray& other) { append({other.values_, other.size_}); }
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
  void append(std::span<const Value> values) {
    if (values.size() > room_ - size_) grow(values.size());
    for (const Value& value : values) values_[size_++] = value;
  }

 private:
  [[gnu::noinline]] void grow(std::size_t more) {
    const std::size_t room = std::max({2 * room_, room_ + more, std::size_t{16}});
    void* const moved = std::realloc(static_cast<void*>(values_), room * sizeof(Value));
    if (!moved) throw std::bad_alloc();
    values_ = static_cast<Value*>(moved);
    room_ = room;
  }

  Value* values_ = nullptr;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace saltus
