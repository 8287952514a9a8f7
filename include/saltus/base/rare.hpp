// Rare: a member that few objects of many use. It takes the room of a pointer.
#pragma once

#include <atomic>
#include <utility>

namespace saltus {

/// A T that is mostly T(): that value is not stored at all, and copies of another one share it. Read by `*` and `->`; to change it, assign a
/// whole T.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value) : shared_(value == T() ? nullptr : new Shared{std::move(value)}) {}
  Rare(const Rare& other) : shared_(other.shared_) {
    if (shared_) shared_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  Rare(Rare&& other) noexcept : shared_(std::exchange(other.shared_, nullptr)) {}
  Rare& operator=(Rare other) noexcept {
    std::swap(shared_, other.shared_);
    return *this;
  }
  ~Rare() {
    if (shared_ && shared_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared_;
  }

  const T& operator*() const {
    static const T none{};
    return shared_ ? shared_->value : none;
  }
  const T* operator->() const { return &**this; }
  bool operator==(const Rare& other) const { return **this == *other; }

 private:
  struct Shared {
    T value;
    std::atomic<int> owners = 1;
  };
  Shared* shared_ = nullptr;
};

}  // namespace saltus
