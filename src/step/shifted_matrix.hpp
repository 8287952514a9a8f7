// The matrix c F_x' + F_x of all implicit methods: assembled, factorised and solved by the means that fit its size and
// pattern.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <complex>
#include <span>
#include <string>
#include <vector>

namespace saltus {

/// Scalar is double or std::complex<double>.
template <class Scalar>
class ShiftedMatrix {
 public:
  /// Prepares for a mode. Cheap if the patterns are those of before: then it returns true, and factors are still there.
  /// Throws UsageError if the system is not square.
  bool set_structure(const Structure& structure);
  /// Factorises c F_x' + F_x with values at the places of the two patterns; false if it is singular or not finite. A
  /// workspace of entries() numbers, if given, saves memory: nothing is kept there.
  [[nodiscard]] bool factorise(Scalar c, std::span<const double> Fx, std::span<const double> Fxp,
                               std::span<Scalar> workspace = {});
  std::size_t entries() const { return lu_.pattern().row.size(); }
  /// b := (c F_x' + F_x)^{-1} b; NaN if there are no factors. A workspace of n numbers, if given, saves memory, too.
  void solve(std::span<Scalar> b, std::span<Scalar> workspace = {}) { lu_.solve(b, workspace); }
  /// Large matrices may be solved iteratively (BasicStructuredLu::allow_iteration), each about so many times. Before
  /// set_structure.
  void allow_iteration(int solutions) { lu_.allow_iteration(solutions); }
  bool iterates() const { return lu_.iterates(); }
  /// Where it iterates, after factorise: the errors that solutions may have.
  void set_accuracy(std::span<const double> weights, double tolerance) { lu_.set_accuracy(weights, tolerance); }
  bool analysed() const { return lu_.analysed(); }
  double fill_per_unknown() const { return lu_.fill_per_unknown(); }
  double factor_cost() const { return lu_.factor_cost(); }
  double solve_cost() const { return lu_.solve_cost(); }
  /// What was chosen with the first values: "banded (1 + 1)".
  std::string description() const { return lu_.description(); }

 private:
  bool same_patterns(const Structure& structure) const;

  int n_ = -1;
  std::vector<int> from_x_, from_xp_;  // places of the entries of F_x and F_x' in values_
  std::vector<Scalar> values_;  // where no workspace is given
  BasicStructuredLu<Scalar> lu_;
};

extern template class ShiftedMatrix<double>;
extern template class ShiftedMatrix<std::complex<double>>;

}  // namespace saltus
