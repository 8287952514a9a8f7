// The value of an expression at a point, and its derivatives by everything that it reads.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <vector>

namespace saltus {

class Gradient {
 public:
  struct Entry {
    std::size_t group, place;  ///< of the input
    double value;
  };

  Gradient() = default;
  /// `inputs` are groups of symbols; `locks` are relations whose truth is given. The graph must be able to grow.
  Gradient(const Expr& f, const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& locks);

  /// Shares the program, for another thread or another run.
  Gradient with_own_memory() const;

  /// One pointer per group, the last for the locks.
  void evaluate(std::span<const double* const> in);
  double value() const { return values_.empty() ? 0.0 : values_.front(); }
  const std::vector<Entry>& entries() const { return entries_; }
  /// Whether a group occurs.
  bool reads(std::size_t group) const;

 private:
  Program program_;
  Workspace work_;
  std::vector<double> values_;
  std::vector<Entry> entries_;
};

}  // namespace saltus
