#include "step/shifted_matrix.hpp"

#include <algorithm>

namespace saltus {

/// The patterns themselves are not kept: an entry is where its place in the union says.
template <class Scalar>
bool ShiftedMatrix<Scalar>::same_patterns(const Structure& structure) const {
  if (structure.variables != n_) return false;
  const auto same = [this](const SparsePattern& pattern, const std::vector<int>& from) {
    const SparsePattern& both = lu_.pattern();
    if (pattern.row.size() != from.size()) return false;
    for (int j = 0; j < n_; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
        if (from[k] < both.start[j] || from[k] >= both.start[j + 1] || both.row[from[k]] != pattern.row[k]) return false;
    return true;
  };
  return same(structure.state_pattern, from_x_) && same(structure.derivative_pattern, from_xp_);
}

template <class Scalar>
bool ShiftedMatrix<Scalar>::set_structure(const Structure& structure) {
  if (structure.equations != structure.variables)
    throw UsageError("implicit methods need as many equations as variables; this mode has " +
                     std::to_string(structure.equations) + " and " + std::to_string(structure.variables));
  if (same_patterns(structure)) return true;
  n_ = structure.variables;
  SparsePattern both = unite(structure.state_pattern, structure.derivative_pattern, &from_x_, &from_xp_);
  both.row.shrink_to_fit();
  std::vector<Scalar>().swap(values_);
  // equations without derivatives may define variables
  std::vector<char> algebraic(static_cast<std::size_t>(n_), 1);
  for (const int i : structure.derivative_pattern.row) algebraic[i] = 0;
  lu_.set_pattern(std::move(both), std::move(algebraic));
  return false;
}

template <class Scalar>
bool ShiftedMatrix<Scalar>::factorise(Scalar c, std::span<const double> Fx, std::span<const double> Fxp,
                                      std::span<Scalar> workspace) {
  if (workspace.empty()) values_.resize(entries());
  const std::span<Scalar> values = workspace.empty() ? std::span<Scalar>(values_) : workspace;
  if (from_x_.size() == entries()) {  // in the same order
    std::copy(Fx.begin(), Fx.end(), values.begin());
  } else {
    std::fill(values.begin(), values.end(), Scalar(0));
    for (std::size_t k = 0; k < from_x_.size(); ++k) values[from_x_[k]] = Fx[k];
  }
  for (std::size_t k = 0; k < from_xp_.size(); ++k) values[from_xp_[k]] += c * Fxp[k];
  return lu_.factorise(values);
}

template class ShiftedMatrix<double>;
template class ShiftedMatrix<std::complex<double>>;

}  // namespace saltus
