// How large a pivot is.
#pragma once

#include <cmath>
#include <complex>

namespace saltus {

inline double size_of(double v) {
  return std::abs(v);
}
inline double size_of(const std::complex<double>& v) {
  return std::abs(v.real()) + std::abs(v.imag());
}

}  // namespace saltus
