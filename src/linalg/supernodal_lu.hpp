// Sparse LU by SuperLU: columns with equal patterns are factorised together, as dense blocks. Made for matrices with
// much fill, such as those of plates.
#pragma once

#include <saltus/linalg/sparse.hpp>

#include <complex>
#include <memory>
#include <span>

namespace saltus {

/// Scalar is double or std::complex<double>.
template <class Scalar>
class BasicSupernodalLu {
 public:
  BasicSupernodalLu();
  ~BasicSupernodalLu();
  BasicSupernodalLu(BasicSupernodalLu&&) noexcept;
  BasicSupernodalLu& operator=(BasicSupernodalLu&&) noexcept;

  /// Whether this build has SuperLU. Without it nothing else may be called.
  static bool available();
  /// Takes a square pattern; its ordering is found with the first values and kept.
  void set_pattern(const SparsePattern& pattern);
  /// Factorises the matrix with these values at the places of the pattern; false if it is singular, not finite or too
  /// large for the memory.
  [[nodiscard]] bool factorise(std::span<const Scalar> values);
  /// b := A^{-1} b; NaN if there are no factors.
  void solve(std::span<Scalar> b) const;
  /// Entries of both factors.
  double entries() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace saltus
