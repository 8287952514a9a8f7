// Arrays of variables, and loops over them that are written down once: for models of very many equal cells.
//
//   Model m("rod");
//   const int n = 1'000'000;
//   const Array T = m.array("T", n, 20.0);
//   m.for_each(n, [&](Index i) {
//     m.equation(der(T[i]) == 100.0 * (T[max(i - 1, 0)] - 2.0 * T[i] + T[min(i + 1, n - 1)]));
//   });
//
// `simulate` and `compile` keep such loops as they are where cells are explicit and read each other's states alone.
// Everything else writes them out, with the same results.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace saltus {

struct ModelData;
struct IteratorForm;

/// A whole number of a loop: its body is run once, for all values. So it has none yet, and `if (i == 0)` cannot be
/// asked: loops over parts of a range, and min and max of subscripts, take its place.
class Index {
 public:
  Index(int value);  // NOLINT: numbers are subscripts
  /// As a number in expressions: 0.1 * i.number().
  Expr number() const;

  friend Index operator+(const Index& a, const Index& b);
  friend Index operator-(const Index& a, const Index& b);
  friend Index operator*(const Index& a, const Index& b);
  friend Index operator-(const Index& a);
  friend Index min(const Index& a, const Index& b);
  friend Index max(const Index& a, const Index& b);
  friend bool operator==(const Index& a, const Index& b) = delete;

 private:
  friend class Array;
  friend class Model;
  Index(std::shared_ptr<ModelData> data, std::size_t loop, std::shared_ptr<const IteratorForm> form);
  static Index combined(int kind, const Index& a, const Index& b);
  /// Throws UsageError outside of the loop.
  void require_loop() const;

  std::shared_ptr<ModelData> data_;  // null: a number
  std::size_t loop_ = 0;             // the innermost one of which it has the index
  std::shared_ptr<const IteratorForm> form_;
};

/// How many elements an array has: 100, or {20, 30}.
struct ArraySize {
  ArraySize(int size) : dims{size} {}  // NOLINT: a number is a size
  ArraySize(std::initializer_list<int> sizes) : dims(sizes) {}

  std::vector<int> dims;
};

/// Values of an iterator: 0 … n-1, or from `first` up to `end`, which does not count.
struct IndexRange {
  IndexRange(int n) : end(n) {}  // NOLINT: a number of passes is a range
  IndexRange(int first_value, int end_value) : first(first_value), end(end_value) {}

  int first = 0, end = 0;
};

/// Variables, discrete variables or parameters with one name: T[0], T[1], … Made by Model.
class Array {
 public:
  Expr operator[](const Index& i) const { return element({i}); }
  template <class... More>
  Expr operator()(const Index& i, const More&... more) const {
    return element({i, Index(more)...});
  }
  /// All of them, for sums. Loops are not kept where this is used with many.
  std::vector<Expr> elements() const;
  std::size_t size() const;

 private:
  friend class Model;
  Array(std::shared_ptr<ModelData> data, std::size_t number) : data_(std::move(data)), number_(number) {}
  Expr element(const std::vector<Index>& subscripts) const;

  std::shared_ptr<ModelData> data_;
  std::size_t number_;
};

/// The same for truth values.
class BoolArray {
 public:
  BoolExpr operator[](const Index& i) const { return BoolExpr(array_[i]); }
  template <class... More>
  BoolExpr operator()(const Index& i, const More&... more) const {
    return BoolExpr(array_(i, more...));
  }
  std::size_t size() const { return array_.size(); }

 private:
  friend class Model;
  explicit BoolArray(Array array) : array_(std::move(array)) {}

  Array array_;
};

}  // namespace saltus
