// Rare: a member that few objects of many use. It takes the room of a pointer.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace saltus {

/// A T that is mostly T(): that value is not stored at all. Made from what a T is made from, read by `*` and `->` or where a T is asked
/// for.
template <class T>
class Rare {
 public:
  Rare() = default;
  template <class U>
    requires(std::convertible_to<U &&, T> && !std::same_as<std::remove_cvref_t<U>, Rare>)
  Rare(U&& value) {
    T whole = std::forward<U>(value);
    if (!(whole == T())) value_ = std::make_unique<T>(std::move(whole));
  }
  Rare(const Rare& other) : value_(other.value_ ? std::make_unique<T>(*other.value_) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) { return *this = Rare(other); }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  const T& operator*() const {
    static const T none{};
    return value_ ? *value_ : none;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  friend bool operator==(const Rare& a, const Rare& b) { return *a == *b; }
  template <class U>
    requires(!std::same_as<U, Rare>)
  friend bool operator==(const Rare& a, const U& b) {
    return *a == b;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace saltus
