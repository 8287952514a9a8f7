// Our own polynomials (exp, log, sin, cos) and the functions of SLEEF, or those of the C library where the processor
// has no fused multiply-add.
#include <saltus/base/elementary.hpp>

#include <cmath>
#include <numbers>

#include "base/elementary_fused.hpp"
#include "base/elementary_limits.hpp"
#include "base/sleef_scalar.hpp"

namespace saltus::elementary {

// SLEEF compiles these functions with the instructions that they need.
bool reproducible() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return true;
#endif
}

namespace {

// e^|x|/2 without overflow of e^|x|.
double half_exp(double size) {
  const double root = fused::exp(0.5 * size);
  return 0.5 * root * root;
}
// asinh and acosh are log(2 x) to all digits here.
double log_of_double(double size) {
  return fused::log(size) + std::numbers::ln2;
}

}  // namespace

double exp(double x) {
  return reproducible() ? fused::exp(x) : std::exp(x);
}
double log(double x) {
  return reproducible() ? fused::log(x) : std::log(x);
}
double sin(double x) {
  return reproducible() ? fused::sin(x) : std::sin(x);
}
double cos(double x) {
  return reproducible() ? fused::cos(x) : std::cos(x);
}
double tan(double x) {
  return reproducible() ? Sleef_finz_tand1_u10purecfma(x) : std::tan(x);
}
double asin(double x) {
  return reproducible() ? Sleef_finz_asind1_u10purecfma(x) : std::asin(x);
}
double acos(double x) {
  return reproducible() ? Sleef_finz_acosd1_u10purecfma(x) : std::acos(x);
}
double atan(double x) {
  return reproducible() ? Sleef_finz_atand1_u10purecfma(x) : std::atan(x);
}
double sinh(double x) {
  if (!reproducible()) return std::sinh(x);
  if (std::abs(x) > hyperbolic_limit) return std::copysign(half_exp(std::abs(x)), x);
  return Sleef_finz_sinhd1_u10purecfma(x);
}
double cosh(double x) {
  if (!reproducible()) return std::cosh(x);
  return std::abs(x) > hyperbolic_limit ? half_exp(std::abs(x)) : Sleef_finz_coshd1_u10purecfma(x);
}
double tanh(double x) {
  return reproducible() ? Sleef_finz_tanhd1_u10purecfma(x) : std::tanh(x);
}
double asinh(double x) {
  if (!reproducible()) return std::asinh(x);
  if (std::abs(x) > inverse_hyperbolic_limit) return std::copysign(log_of_double(std::abs(x)), x);
  return Sleef_finz_asinhd1_u10purecfma(x);
}
double acosh(double x) {
  if (!reproducible()) return std::acosh(x);
  return x > inverse_hyperbolic_limit ? log_of_double(x) : Sleef_finz_acoshd1_u10purecfma(x);
}
double atanh(double x) {
  return reproducible() ? Sleef_finz_atanhd1_u10purecfma(x) : std::atanh(x);
}
double pow(double base, double exponent) {
  return reproducible() ? Sleef_finz_powd1_u10purecfma(base, exponent) : std::pow(base, exponent);
}
double atan2(double y, double x) {
  return reproducible() ? Sleef_finz_atan2d1_u10purecfma(y, x) : std::atan2(y, x);
}

}  // namespace saltus::elementary
