// StateArchive: the numbers of an object that remembers, written one after the other and read back in the same order.
//
// One function lists the members and serves both ways, so that what is written and what is read cannot differ:
//   void persist(StateArchive& archive) { archive(t_, h_, x_); }
#pragma once

#include <saltus/base/error.hpp>

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace saltus {

/// Writes, or reads what another one has written. Whole numbers keep their value up to 2^53. Reading throws UsageError
/// where numbers are missing or do not fit.
class StateArchive {
 public:
  /// Writes.
  StateArchive() : writes_(true) {}
  /// Reads these numbers.
  explicit StateArchive(std::vector<double> numbers) : writes_(false), numbers_(std::move(numbers)) {}

  bool writes() const { return writes_; }
  /// What has been written.
  const std::vector<double>& numbers() const { return numbers_; }
  /// Whether all numbers have been read.
  bool at_end() const { return place_ == numbers_.size(); }

  /// Numbers, truth values, enumerators, texts, lists of these, and objects with a function persist(StateArchive&).
  template <class... Values>
  void operator()(Values&... values) {
    (one(values), ...);
  }

 private:
  double next() {
    if (place_ >= numbers_.size()) throw UsageError("the saved state is incomplete");
    return numbers_[place_++];
  }
  template <class T>
  void one(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (writes_)
        numbers_.push_back(static_cast<double>(value));
      else
        value = static_cast<T>(next());
    } else {
      value.persist(*this);
    }
  }
  template <class T>
  void list(T& values) {
    std::size_t size = values.size();
    one(size);
    if (!writes_ && size > numbers_.size() - place_) throw UsageError("the saved state is incomplete");
    values.resize(size);
    for (auto& value : values) one(value);
  }
  template <class T>
  void one(std::vector<T>& values) {
    list(values);
  }
  void one(std::string& text) { list(text); }

  bool writes_;
  std::vector<double> numbers_;
  std::size_t place_ = 0;
};

}  // namespace saltus
