// x^p for step-size control: exponent arithmetic and two short polynomials instead of std::pow, which costs a quarter
// of a small step. Plain arithmetic: the text is also compiled for devices.
#pragma once

namespace saltus {

/// log2(x) for x in the range of normal numbers, absolute error below 0.0002.
inline double fast_log2(double x) {
  const auto bits = __builtin_bit_cast(unsigned long long, x);
  const auto exponent = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
  const double m = __builtin_bit_cast(double, (bits & 0x000fffffffffffffULL) | 0x3ff0000000000000ULL) - 1.0;
  // log2(1+m) on [0,1): exact at both ends, so that the whole is continuous
  return exponent + m * (1.0 + (1.0 - m) * (0.43838 + m * (-0.2375 + m * 0.08065)));
}

/// 2^y for |y| < 1000, relative error below 0.0002.
inline double fast_exp2(double y) {
  const double shifted = y + 1023.0;
  const auto whole = static_cast<long long>(shifted);
  const double r = shifted - static_cast<double>(whole);
  const double power = __builtin_bit_cast(double, static_cast<unsigned long long>(whole) << 52);
  return power * (1.0 + r * (0.6951 + r * (0.2276 + r * 0.0773)));
}

/// x^p for a normal positive x; relative error below 0.0004 for |p| <= 1.
inline double fast_power(double x, double p) {
  return fast_exp2(p * fast_log2(x));
}

}  // namespace saltus
