// Taylor coefficients of expressions along curves: if the inputs are power series in s, so are the outputs.
#pragma once

#include <saltus/expr/expr.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// The recurrences for a set of outputs. Immutable, cheap to copy; evaluation needs a TaylorWorkspace.
class TaylorProgram {
 public:
  struct Recurrences;

  TaylorProgram() = default;
  /// `varying[g]` says whether the inputs of group g change along the curve; the others (parameters, locks) are constant, which
  /// saves work. Throws UsageError for external functions (foreign code has no Taylor coefficients) and for missing inputs.
  TaylorProgram(std::span<const std::vector<Expr>> inputs, const std::vector<bool>& varying,
                std::span<const std::vector<Expr>> outputs);

  bool empty() const { return !recurrences_; }
  /// About how many operations the coefficients 0 … order take; a multiply-add counts as one.
  std::size_t operations(int order) const;
  const Recurrences& recurrences() const { return *recurrences_; }

 private:
  std::shared_ptr<const Recurrences> recurrences_;
};

/// Evaluates a TaylorProgram coefficient by coefficient: set the inputs' coefficient k, call advance(k), read the outputs' coefficient k.
/// Coefficients must be computed in the order 0, 1, 2, …; inputs that are not set are zero for k > 0.
class TaylorWorkspace {
 public:
  TaylorWorkspace() = default;
  explicit TaylorWorkspace(TaylorProgram program);

  /// Makes room for coefficients 0 … order; allocates only if the order is larger than ever before. Forgets all coefficients.
  /// Starting at the order of the last time is cheapest.
  void start(int order);
  int order() const { return order_; }
  /// Sets coefficient k of all inputs of a group.
  void set(int group, int k, std::span<const double> values);
  /// Sets coefficient k of one input.
  void set(int group, int index, int k, double value);
  void advance(int k);
  double get(int group, int index, int k) const;
  /// Coefficient k of all outputs of a group.
  void get(int group, int k, std::span<double> values) const;

 private:
  TaylorProgram program_;
  int order_ = -1;
  std::vector<double> series_;
};

/// The Taylor coefficients x_[1] … x_[order] of the solution of x' = f(t, x) as expressions of t and x: result[i][k] is coefficient k
/// of x_i (result[i][0] is x_i). For small models and orders this makes very fast programs.
std::vector<std::vector<Expr>> solution_taylor_expressions(const Expr& t, std::span<const Expr> x, std::span<const Expr> f,
                                                           int order);

}  // namespace saltus
