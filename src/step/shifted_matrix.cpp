#include "step/shifted_matrix.hpp"

#include <algorithm>

namespace saltus {
namespace {

/// Where dense elimination is faster than the sparse one: always for the smallest, and for larger ones that are mostly
/// filled.
bool better_dense(int n, int nonzeros) {
  const double filled = n == 0 ? 1.0 : static_cast<double>(nonzeros) / (static_cast<double>(n) * n);
  return n <= 16 || (n <= 400 && filled > 0.25) || (n <= 40 && filled > 0.12);
}

}  // namespace

template <class Scalar>
void ShiftedMatrix<Scalar>::set_structure(const Structure& structure) {
  if (structure.equations != structure.variables)
    throw UsageError("implicit methods need as many equations as variables; this mode has " +
                     std::to_string(structure.equations) + " and " + std::to_string(structure.variables));
  if (structure.variables == n_ && structure.state_pattern == state_pattern_ &&
      structure.derivative_pattern == derivative_pattern_)
    return;
  n_ = structure.variables;
  state_pattern_ = structure.state_pattern;
  derivative_pattern_ = structure.derivative_pattern;
  const SparsePattern both = unite(state_pattern_, derivative_pattern_, &from_x_, &from_xp_);
  dense_ = better_dense(n_, both.nonzeros());
  if (!dense_) {
    values_.assign(both.row.size(), Scalar(0));
    sparse_lu_.analyse(both);
    return;
  }
  values_.assign(static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_), Scalar(0));
  const auto place = [this](const SparsePattern& pattern, std::vector<int>& where) {
    for (int j = 0; j < n_; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) where[k] = j * n_ + pattern.row[k];
  };
  place(state_pattern_, from_x_);
  place(derivative_pattern_, from_xp_);
}

template <class Scalar>
bool ShiftedMatrix<Scalar>::factorise(Scalar c, std::span<const double> Fx, std::span<const double> Fxp) {
  std::fill(values_.begin(), values_.end(), Scalar(0));
  for (std::size_t k = 0; k < from_xp_.size(); ++k) values_[from_xp_[k]] = c * Fxp[k];
  for (std::size_t k = 0; k < from_x_.size(); ++k) values_[from_x_[k]] += Fx[k];
  return dense_ ? dense_lu_.factorise(n_, values_) : sparse_lu_.factorise(values_);
}

template <class Scalar>
void ShiftedMatrix<Scalar>::solve(std::span<Scalar> b) const {
  dense_ ? dense_lu_.solve(b) : sparse_lu_.solve(b);
}

template class ShiftedMatrix<double>;
template class ShiftedMatrix<std::complex<double>>;

}  // namespace saltus
