#include "plain.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models.hpp"
#include "series.hpp"

namespace saltus::bench {

namespace {

struct Locked {
  const double* lock;
  template <class T, class R>
  R operator()(int k, const T&, const R& yes, const R& no) const {
    return lock[k] != 0.0 ? yes : no;
  }
};

/// A number with derivatives in N directions: the plain C++ way to the Jacobian of the arm.
template <int N>
struct Dual {
  double v = 0.0;
  std::array<double, N> d{};
  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: numbers are duals

  template <class F>
  static Dual make(double v, F f) {
    Dual r(v);
    for (int k = 0; k < N; ++k) r.d[k] = f(k);
    return r;
  }
  friend Dual operator+(const Dual& a, const Dual& b) {
    return make(a.v + b.v, [&](int k) { return a.d[k] + b.d[k]; });
  }
  friend Dual operator-(const Dual& a, const Dual& b) {
    return make(a.v - b.v, [&](int k) { return a.d[k] - b.d[k]; });
  }
  friend Dual operator-(const Dual& a) {
    return make(-a.v, [&](int k) { return -a.d[k]; });
  }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return make(a.v * b.v, [&](int k) { return a.v * b.d[k] + b.v * a.d[k]; });
  }
  friend Dual operator*(double a, const Dual& b) {
    return make(a * b.v, [&](int k) { return a * b.d[k]; });
  }
  friend Dual operator*(const Dual& a, double b) { return b * a; }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const double inverse = 1.0 / b.v, q = a.v * inverse;
    return make(q, [&](int k) { return (a.d[k] - q * b.d[k]) * inverse; });
  }
  friend Dual sin(const Dual& a) {
    const double c = std::cos(a.v);
    return make(std::sin(a.v), [&](int k) { return c * a.d[k]; });
  }
  friend Dual cos(const Dual& a) {
    const double s = -std::sin(a.v);
    return make(std::cos(a.v), [&](int k) { return s * a.d[k]; });
  }
};

}  // namespace

template <class M>
void PlainModel<M>::rhs(double t, const double* x, const double* p, const double* lock, double* out) {
  // no array overlaps another; without this the compiler reloads after every store
  const double* __restrict state = x;
  const double* __restrict parameter = p;
  double* __restrict result = out;
  M::rhs(t, state, parameter, result, Locked{lock});
}

template <>
void PlainModel<StickSlip>::jacobian(double, const double* x, const double* p, const double* lock, double* out) {
  const double s = lock[0] != 0.0 ? 1.0 : -1.0;
  const double denominator = 1.0 + p[3] * (s * (x[1] - p[4]));
  out[0] = 0.0;
  out[1] = 1.0;
  out[2] = -p[0];
  out[3] = p[2] * p[3] / (denominator * denominator) - p[1];  // s*s = 1
}

template <>
void PlainModel<TwoMasses>::jacobian(double, const double* x, const double* p, const double* lock, double* out) {
  std::fill_n(out, 16, 0.0);
  const double gap = x[1] - x[0], stiffness = p[0] + 3.0 * p[6] * (gap * gap);
  const double s2 = lock[0] != 0.0 ? 1.0 : -1.0, s3 = lock[1] != 0.0 ? 1.0 : -1.0;
  const double d2 = 1.0 + p[5] * (s2 * x[2]), d3 = 1.0 + p[5] * (s3 * x[3]);
  out[2] = out[7] = 1.0;
  out[8] = -stiffness - p[2];
  out[9] = stiffness;
  out[10] = p[3] * p[5] / (d2 * d2) - p[1];
  out[11] = p[1];
  out[12] = stiffness;
  out[13] = -stiffness;
  out[14] = p[1];
  out[15] = p[4] * p[5] / (d3 * d3) - p[1];
}

template <>
void PlainModel<Arm>::jacobian(double t, const double* x, const double* p, const double* lock, double* out) {
  constexpr int n = Arm::states;
  using D = Dual<n>;
  D state[n], result[n];
  for (int k = 0; k < n; ++k) {
    state[k].v = x[k];
    state[k].d[k] = 1.0;
  }
  Arm::rhs(D(t), state, p, result, Locked{lock});
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k) out[i * n + k] = result[i].d[k];
}

template <>
void PlainModel<Stencil>::jacobian(double, const double* x, const double* p, const double* lock, double* out) {
  constexpr int n = Stencil::states;
  double* __restrict entry = out;
  for (int i = 0; i < n; ++i) {
    const double left = i > 0 ? x[i - 1] : 0.0, right = i + 1 < n ? x[i + 1] : 0.0, u = x[i];
    const double advection = p[1] * u;
    if (i > 0) *entry++ = p[0] + advection;
    *entry++ = -2.0 * p[0] - p[1] * (right - left) + (1.0 - 2.0 * u) * (u - p[2]) + u * (1.0 - u) -
               (lock[i] != 0.0 ? p[4] : 0.0);
    if (i + 1 < n) *entry++ = p[0] - advection;
  }
}

namespace {

/// Rows of coefficients: more than any model here has operations.
constexpr int rows = 1000;
template <int N>
double table[rows * (N + 1)];

/// From coefficients 0 … k of the states to coefficient k + 1.
template <class M, int N, class Order>
void next_coefficient(double* time, const double* p, const double* lock, double* out) {
  using S = Series<N, Order>;
  S state[M::states], result[M::states];
  for (int i = 0; i < M::states; ++i) state[i] = S::at(out + i * (N + 1));
  S::next_row = table<N>;
  M::rhs(S::at(time), state, p, result, Locked{lock});
  const int k = Order::value;
  for (int i = 0; i < M::states; ++i) out[i * (N + 1) + k + 1] = result[i].coefficient() / (k + 1);
}

}  // namespace

template <class M>
template <int N>
void PlainModel<M>::taylor(double t, const double* x, const double* p, const double* lock, double* out) {
  double time[N + 1] = {t, 1.0};
  for (int i = 0; i < M::states; ++i) out[i * (N + 1)] = x[i];
  for (int k = 0; k < N; ++k) {
    RunTimeOrder::value = k;
    next_coefficient<M, N, RunTimeOrder>(time, p, lock, out);
  }
}

template <class M>
template <int N>
void PlainModel<M>::taylor_unrolled(double t, const double* x, const double* p, const double* lock, double* out) {
  double time[N + 1] = {t, 1.0};
  for (int i = 0; i < M::states; ++i) out[i * (N + 1)] = x[i];
  [&]<int... K>(std::integer_sequence<int, K...>) {
    (next_coefficient<M, N, FixedOrder<K>>(time, p, lock, out), ...);
  }
  (std::make_integer_sequence<int, N>());
}

template void PlainModel<StickSlip>::taylor<10>(double, const double*, const double*, const double*, double*);
template void PlainModel<StickSlip>::taylor<20>(double, const double*, const double*, const double*, double*);
template void PlainModel<TwoMasses>::taylor<10>(double, const double*, const double*, const double*, double*);
template void PlainModel<TwoMasses>::taylor<20>(double, const double*, const double*, const double*, double*);
template void PlainModel<Arm>::taylor<10>(double, const double*, const double*, const double*, double*);
template void PlainModel<StickSlip>::taylor_unrolled<10>(double, const double*, const double*, const double*, double*);
template void PlainModel<StickSlip>::taylor_unrolled<20>(double, const double*, const double*, const double*, double*);
template void PlainModel<TwoMasses>::taylor_unrolled<10>(double, const double*, const double*, const double*, double*);
template void PlainModel<TwoMasses>::taylor_unrolled<20>(double, const double*, const double*, const double*, double*);
template void PlainModel<Arm>::taylor_unrolled<10>(double, const double*, const double*, const double*, double*);

template struct PlainModel<StickSlip>;
template struct PlainModel<TwoMasses>;
template struct PlainModel<Arm>;
template struct PlainModel<Stencil>;

}  // namespace saltus::bench
