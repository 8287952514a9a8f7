// The matrix c F_x' + F_x of all implicit methods: assembled, factorised and solved by the means that fit its size and
// pattern.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/linalg/lu.hpp>

#include <complex>
#include <span>
#include <string_view>
#include <vector>

namespace saltus {

/// Scalar is double or std::complex<double>.
template <class Scalar>
class ShiftedMatrix {
 public:
  /// Chooses the method for a mode. Cheap if the patterns are those of before. Throws UsageError if the system is not
  /// square.
  void set_structure(const Structure& structure);
  /// Factorises c F_x' + F_x with values at the places of the two patterns; false if it is singular or not finite.
  bool factorise(Scalar c, std::span<const double> Fx, std::span<const double> Fxp);
  /// b := (c F_x' + F_x)^{-1} b.
  void solve(std::span<Scalar> b) const;
  /// "dense" or "sparse".
  std::string_view kind() const { return dense_ ? "dense" : "sparse"; }

 private:
  SparsePattern state_pattern_, derivative_pattern_;
  int n_ = -1;
  bool dense_ = true;
  std::vector<int> from_x_, from_xp_;  // places in values_
  std::vector<Scalar> values_;
  BasicDenseLu<Scalar> dense_lu_;
  BasicSparseLu<Scalar> sparse_lu_;
};

extern template class ShiftedMatrix<double>;
extern template class ShiftedMatrix<std::complex<double>>;

}  // namespace saltus
