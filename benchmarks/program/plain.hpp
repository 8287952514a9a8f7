// The models as plain C++, compiled on their own with everything the processor has.
#pragma once

namespace saltus::bench {

/// Right-hand side and Jacobian; lock[k] != 0 stands for relation k. The Jacobian is dense by rows for the small
/// models, and (left, diagonal, right) by rows without the two corners for the stencil.
using Plain = void (*)(double t, const double* x, const double* p, const double* lock, double* out);

template <class M>
struct PlainModel {
  static void rhs(double t, const double* x, const double* p, const double* lock, double* out);
  static void jacobian(double t, const double* x, const double* p, const double* lock, double* out);
  /// The Taylor coefficients 0 … N of the solution of x' = rhs, N + 1 for each state; N is 10 or, for at most four
  /// states, 20. One order after the other in a loop, or with all loops over orders unrolled.
  template <int N>
  static void taylor(double t, const double* x, const double* p, const double* lock, double* out);
  template <int N>
  static void taylor_unrolled(double t, const double* x, const double* p, const double* lock, double* out);
};

}  // namespace saltus::bench
