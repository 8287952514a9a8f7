// Function: expressions of some symbols as a function of numbers, for those who want to compute rather than simulate.
//
//   Function f({x, y}, {sin(x) * y, x / y});
//   f({1.0, 2.0});                      // two values
//   f.jacobian()({1.0, 2.0});           // the entries of f.pattern(), by columns
//   f.taylor(5, {1.0, 2.0}, {1.0, 0.0}) // coefficients along the line (1, 2) + s (1, 0)
//   f.c_source("f");
#pragma once

#include <saltus/linalg/sparse.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

/// Immutable; evaluation is for one thread at a time per object (a copy has its own memory). Relations are evaluated, never locked.
class Function {
 public:
  /// Throws UsageError if an input is not a symbol, is listed twice, or an output depends on a symbol that is not an input.
  Function(std::vector<Expr> inputs, std::vector<Expr> outputs, ProgramOptions options = {});
  Function(const Function& other);
  Function& operator=(const Function& other);
  Function(Function&&) noexcept = default;
  Function& operator=(Function&&) noexcept = default;

  std::size_t input_count() const { return inputs_.size(); }
  std::size_t output_count() const { return outputs_.size(); }
  const Program& program() const { return program_; }

  std::vector<double> operator()(std::span<const double> x) const;
  std::vector<double> operator()(std::initializer_list<double> x) const { return (*this)(std::span(x.begin(), x.size())); }
  /// Without allocation.
  void evaluate(std::span<const double> x, std::span<double> y) const;
  std::vector<Interval> enclose(const std::vector<Interval>& x) const;

  /// Where the Jacobian may be non-zero.
  SparsePattern pattern() const;
  /// The entries of the Jacobian at the places of pattern(), by columns.
  Function jacobian() const;
  /// J v as a function of the inputs followed by v.
  Function directional() const;
  /// Coefficients 0 … order of the outputs along x + s v: result[k] belongs to s^k.
  std::vector<std::vector<double>> taylor(int order, std::span<const double> x, std::span<const double> v) const;
  std::string c_source(const std::string& name) const { return program_.c_source(name); }

 private:
  struct Entries;
  Entries entries() const;
  void check(std::size_t given, std::size_t wanted, const char* what) const;

  std::vector<Expr> inputs_, outputs_;
  ProgramOptions options_;
  Program program_;
  mutable Workspace work_;
};

}  // namespace saltus
