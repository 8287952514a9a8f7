// sin, cos, exp and log by polynomials, written once for one number and for vectors of them. Everything is arithmetic
// that rounds in one way, so one lane and many have the same bits, on every processor with fused multiply-add.
//
// Arguments beyond a limit, where reduction needs more digits or results overflow, are the caller's: the limits stand
// beside the functions. Errors are below 1 ulp (tests/base/elementary_test.cpp).
//
// R is double or a vector of doubles of GCC, with a Kind. Reduction: k = x/(pi/2) or x/ln 2, rounded. x - k p, with p
// the constant to 53 digits, is a multiple of 2^-53 below 1 and therefore exact in a fused operation; further digits of
// the constant follow, and what rounding has lost is kept. The polynomials are Taylor series.
#pragma once

namespace saltus::arithmetic {

/// What the kinds of numbers differ in.
template <class R>
struct Kind;
template <>
struct Kind<double> {
  using Whole = long long;
#ifdef __CUDACC_RTC__
  static double fma(double a, double b, double c) {
    return ::fma(a, b, c);
  }
#else
  static double fma(double a, double b, double c) {
    return __builtin_fma(a, b, c);
  }
#endif
  /// All bits or none.
  static Whole equal(double a, double b) {
    return -static_cast<Whole>(a == b);
  }
};
template <class R>
using Whole = typename Kind<R>::Whole;

template <class R>
inline Whole<R> bits_of(R x) {
  return __builtin_bit_cast(Whole<R>, x);
}
template <class R>
inline R from_bits(Whole<R> x) {
  return __builtin_bit_cast(R, x);
}
/// All lanes.
template <class R>
inline R all(double value) {
  return R{} + value;
}
template <class R>
inline R fma(R a, R b, R c) {
  return Kind<R>::fma(a, b, c);
}
/// The next step of a polynomial: p x + c.
template <class R>
inline R next(R p, R x, double c) {
  return Kind<R>::fma(p, x, all<R>(c));
}

/// sin and cos are for |x| up to here.
inline constexpr double angle_limit = 1073741824.0;
/// exp is for |x| up to here.
inline constexpr double exponent_limit = 708.0;
/// log is for x from its reciprocal up to here.
inline constexpr double logarithm_limit = 0x1p1000;

/// Adding this to a number below 2^51 rounds it to an integer, which then stands in the last bits.
inline constexpr double rounding = 6755399441055744.0;

/// sin(x + quarters pi/2).
template <class R>
inline R sine(R x, int quarters) {
  const R shifted = next(all<R>(0x1.45f306dc9c883p-1), x, rounding);
  const Whole<R> quadrant = bits_of(shifted) + quarters;
  const R k = rounding - shifted;  // -k
  const R t = fma(k, all<R>(0x1.921fb54442d18p+0), x);
  const R r = fma(k, all<R>(0x1.1a62633145c07p-54), t);
  const R moved = t - r;
  const R lost = fma(k, all<R>(0x1.1a62633145c07p-54), moved) + ((t - moved) - r);
  const R c = fma(k, all<R>(-0x1.f1976b7ed8fbcp-110), lost);
  const R z = r * r;
  R s = next(all<R>(1.0 / 355687428096000.0), z, -1.0 / 1307674368000.0);
  s = next(s, z, 1.0 / 6227020800.0);
  s = next(s, z, -1.0 / 39916800.0);
  s = next(s, z, 1.0 / 362880.0);
  s = next(s, z, -1.0 / 5040.0);
  s = next(s, z, 1.0 / 120.0);
  s = next(s, z, -1.0 / 6.0);
  const R half = 0.5 * z, rest = 1.0 - half;
  const R sin_r = r + fma(r * z, s, c * rest);
  R p = next(all<R>(1.0 / 20922789888000.0), z, -1.0 / 87178291200.0);
  p = next(p, z, 1.0 / 479001600.0);
  p = next(p, z, -1.0 / 3628800.0);
  p = next(p, z, 1.0 / 40320.0);
  p = next(p, z, -1.0 / 720.0);
  p = next(p, z, 1.0 / 24.0);
  const R cos_r = rest + (((1.0 - rest) - half) + fma(z * z, p, -(r * c)));
  const Whole<R> odd = -(quadrant & 1), negative = (quadrant & 2) << 62;
  const R value = from_bits<R>((odd & bits_of(cos_r)) | (~odd & bits_of(sin_r)));
  return from_bits<R>(bits_of(value) ^ negative);
}

template <class R>
inline R sin(R x) {
  const Whole<R> zero = Kind<R>::equal(x, R{});  // keeps its sign
  return from_bits<R>((zero & bits_of(x)) | (~zero & bits_of(sine(x, 0))));
}

template <class R>
inline R cos(R x) {
  return sine(x, 1);
}

template <class R>
inline R exp(R x) {
  const R shifted = next(all<R>(0x1.71547652b82fep+0), x, rounding);
  const Whole<R> whole = bits_of(shifted);
  const R k = rounding - shifted;  // -k
  const R t = fma(k, all<R>(0x1.62e42fefa39efp-1), x);
  const R r = fma(k, all<R>(0x1.abc9e3b39803fp-56), t);
  const R c = fma(k, all<R>(0x1.abc9e3b39803fp-56), t - r);
  R p = next(all<R>(1.0 / 6227020800.0), r, 1.0 / 479001600.0);
  p = next(p, r, 1.0 / 39916800.0);
  p = next(p, r, 1.0 / 3628800.0);
  p = next(p, r, 1.0 / 362880.0);
  p = next(p, r, 1.0 / 40320.0);
  p = next(p, r, 1.0 / 5040.0);
  p = next(p, r, 1.0 / 720.0);
  p = next(p, r, 1.0 / 120.0);
  p = next(p, r, 1.0 / 24.0);
  p = next(p, r, 1.0 / 6.0);
  p = next(p, r, 0.5);
  const R value = 1.0 + (r + fma(r * r, p, c));
  return from_bits<R>(bits_of(value) + (whole << 52));
}

/// s = (m - 1)/(m + 1), log m = 2 artanh s, in the arrangement of fdlibm's e_log.c: large terms last.
template <class R>
inline R log(R x) {
  const Whole<R> above = bits_of(x) - 0x3fe6a09e667f3bcd;  // of the root of 1/2
  const Whole<R> exponent = above >> 52;
  const R f = from_bits<R>(bits_of(x) - (exponent << 52)) - 1.0;
  const R k = from_bits<R>(exponent + 0x4338000000000000) - rounding;
  const R s = f / (2.0 + f), z = s * s, half = 0.5 * (f * f);
  R p = next(all<R>(2.0 / 23.0), z, 2.0 / 21.0);
  p = next(p, z, 2.0 / 19.0);
  p = next(p, z, 2.0 / 17.0);
  p = next(p, z, 2.0 / 15.0);
  p = next(p, z, 2.0 / 13.0);
  p = next(p, z, 2.0 / 11.0);
  p = next(p, z, 2.0 / 9.0);
  p = next(p, z, 2.0 / 7.0);
  p = next(p, z, 2.0 / 5.0);
  p = next(p, z, 2.0 / 3.0);
  const R small = fma(s, half + z * p, k * 0x1.473de6af278edp-34);
  return k * 0x1.62e42fef00000p-1 - ((half - small) - f);
}

}  // namespace saltus::arithmetic
