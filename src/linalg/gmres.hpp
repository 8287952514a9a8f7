// Iterative solution of large sparse systems: GMRES with an incomplete factorisation.
#pragma once

#include <saltus/linalg/sparse.hpp>

#include <complex>
#include <span>
#include <vector>

namespace saltus {

/// For matrices in which every row has its largest entry in a column of its own, as those of diffusion and of short
/// steps have: these entries become the diagonal, and an incomplete LU without fill preconditions GMRES. The memory is
/// a few times that of the matrix. Scalar is double or std::complex<double>.
template <class Scalar>
class BasicGmres {
 public:
  /// Takes a square pattern and the values that decide on the diagonal. False: the rows do not have largest entries in
  /// different columns.
  bool set_pattern(const SparsePattern& pattern, std::span<const Scalar> values);
  /// Makes the incomplete factors of the matrix with these values; false if a pivot is too small.
  bool factorise(std::span<const Scalar> values);
  /// b := x with A x = b, such that the error of x_j is about `tolerance` * weights[j] or less for all j. False if that
  /// takes more than `most` iterations; then b is as before.
  bool solve(std::span<Scalar> b, std::span<const double> weights, double tolerance, int most);

  /// Of the last call of solve.
  int iterations() const { return iterations_; }

 private:
  /// The basis of a Krylov space is kept in single precision: errors of directions cost iterations, not accuracy.
  using Single = std::conditional_t<std::is_same_v<Scalar, double>, float, std::complex<float>>;

  void residual(std::span<const Scalar> b, const std::vector<Scalar>& x);
  void precondition(std::vector<Scalar>& v) const;
  double largest_in_weights(std::span<const double> weights) const;
  int cycle(std::span<const double> weights, double target, int most);
  double orthogonalise(int k);

  int n_ = 0, iterations_ = 0;
  // By rows in the order of their diagonals: row i of the system is row row_[i] of the user.
  std::vector<int> row_, start_, column_, diagonal_;
  std::vector<int> place_;       // in the user's values
  std::vector<Scalar> value_;    // of the matrix
  std::vector<Single> factor_;   // of L with a unit diagonal; of D^{-1} U beside the diagonal
  std::vector<Scalar> inverse_;  // of the diagonal of U
  std::vector<Scalar> x_, r_;
  std::vector<std::vector<Single>> basis_;
  std::vector<Scalar> column_of_h_, h_, sines_, g_;
  std::vector<double> cosines_;
  double smallest_ = 1.0;  // by what the preconditioned matrix shortens a direction, as far as was seen
};

using Gmres = BasicGmres<double>;
using ComplexGmres = BasicGmres<std::complex<double>>;

}  // namespace saltus
