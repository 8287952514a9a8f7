// LU factorisations that are kept and used many times: dense and banded with partial pivoting, sparse by KLU.
//
// The rule of all factors: `factorise` returns false for a singular matrix, and there are no factors then. A solution
// without factors is NaN in every component, never what is left of a failed or an earlier factorisation.
#pragma once

#include <saltus/linalg/matrix.hpp>
#include <saltus/linalg/sparse.hpp>

#include <complex>
#include <concepts>
#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// Dense LU with partial pivoting; Scalar is double or std::complex<double>. Does not allocate while the size stays the
/// same.
template <class Scalar>
class BasicDenseLu {
 public:
  BasicDenseLu();
  ~BasicDenseLu();
  BasicDenseLu(BasicDenseLu&&) noexcept;
  BasicDenseLu& operator=(BasicDenseLu&&) noexcept;

  int size() const;
  /// Factorises the n x n matrix with these entries (column order). False if it is singular or has entries that are not
  /// finite: there are no factors then.
  [[nodiscard]] bool factorise(int n, std::span<const Scalar> values);
  /// b := A^{-1} b; NaN if there are no factors.
  void solve(std::span<Scalar> b) const;
  /// b := A^{-T} b (without conjugation); NaN if there are no factors.
  void solve_transposed(std::span<Scalar> b) const;
  /// An estimate of 1 / (‖A‖₁ ‖A^{-1}‖₁) (Hager and Higham); 0 if singular.
  double reciprocal_condition() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using DenseLu = BasicDenseLu<double>;
using ComplexDenseLu = BasicDenseLu<std::complex<double>>;

/// Banded LU with partial pivoting, stored by rows (tridiagonal matrices: by diagonals). The matrix is written in place:
/// `clear`, set values()[place(i, j)], `factorise`. Allocates in set_shape only.
template <class Scalar>
class BasicBandedLu {
 public:
  /// n x n matrices with `lower` diagonals below and `upper` above the main one.
  void set_shape(int n, int lower, int upper);
  int size() const { return n_; }
  int lower() const { return lower_; }
  int upper() const { return upper_; }
  /// Where entry (i, j), -lower <= j - i <= upper, stands in values().
  std::size_t place(int i, int j) const {
    return static_cast<std::size_t>(i) * row_stride_ + static_cast<std::size_t>(j - i + lower_) * column_stride_;
  }
  std::span<Scalar> values() { return values_; }
  void clear();
  /// Replaces the matrix by its factors; false if it is singular or a pivot is not finite.
  [[nodiscard]] bool factorise();
  /// b := A^{-1} b; NaN if there are no factors.
  void solve(std::span<Scalar> b) const;

 private:
  bool tridiagonal() const { return lower_ == 1 && upper_ == 1; }

  int n_ = 0, lower_ = 0, upper_ = 0;
  std::size_t row_stride_ = 1, column_stride_ = 1;
  std::vector<Scalar> values_;
  std::vector<int> pivot_;  // by how much the row exchanged with row k in step k lies below it
  bool exchanged_ = false, from_both_ends_ = false, regular_ = false;
};

using BandedLu = BasicBandedLu<double>;
using ComplexBandedLu = BasicBandedLu<std::complex<double>>;

/// Sparse LU by SuiteSparse KLU (block triangular form, then Gilbert-Peierls per block): made for circuit-like
/// matrices. The ordering is computed once per pattern; factorisations with the pivots of the one before are tried
/// first and repeated with fresh pivots when these turn out to be bad.
template <class Scalar>
class BasicSparseLu {
 public:
  BasicSparseLu();
  ~BasicSparseLu();
  BasicSparseLu(BasicSparseLu&&) noexcept;
  BasicSparseLu& operator=(BasicSparseLu&&) noexcept;

  int size() const;
  /// Orders the pattern. Throws UsageError if it is not square; false if it is structurally singular.
  bool analyse(const SparsePattern& pattern);
  /// What a factorisation will cost, as the ordering predicts: entries of both factors, and multiplications.
  double expected_entries() const;
  double expected_operations() const;
  /// Factorises the matrix with these values at the places of the analysed pattern; false if it is singular.
  [[nodiscard]] bool factorise(std::span<const Scalar> values);
  /// b := A^{-1} b; NaN if there are no factors.
  void solve(std::span<Scalar> b) const;
  /// b := A^{-T} b (without conjugation); NaN if there are no factors.
  void solve_transposed(std::span<Scalar> b) const;
  /// An estimate of 1 / (‖A‖₁ ‖A^{-1}‖₁) for the values last factorised; 0 if singular.
  double reciprocal_condition() const;
  /// Gives the memory of the factors back; the ordering stays. The next factorisation chooses its pivots anew.
  void release_factors();
  /// The sign of the determinant of the values last factorised: -1 or +1; 0 if singular.
  int determinant_sign() const requires std::same_as<Scalar, double>;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

using SparseLu = BasicSparseLu<double>;
using ComplexSparseLu = BasicSparseLu<std::complex<double>>;

}  // namespace saltus
