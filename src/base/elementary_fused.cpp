#include "base/elementary_fused.hpp"

#include "base/inline_functions.hpp"
#include "base/sleef_scalar.hpp"

namespace saltus::elementary::fused {

namespace {
bool small_angle(double x) {
  return x <= arithmetic::angle_limit && x >= -arithmetic::angle_limit;
}
}  // namespace

double exp(double x) {
  const bool inside = x <= arithmetic::exponent_limit && x >= -arithmetic::exponent_limit;
  return inside ? arithmetic::exp(x) : Sleef_finz_expd1_u10purecfma(x);
}
double log(double x) {
  const bool inside = x <= arithmetic::logarithm_limit && x >= 1.0 / arithmetic::logarithm_limit;
  return inside ? arithmetic::log(x) : Sleef_finz_logd1_u10purecfma(x);
}
double sin(double x) {
  return small_angle(x) ? arithmetic::sin(x) : Sleef_finz_sind1_u10purecfma(x);
}
double cos(double x) {
  return small_angle(x) ? arithmetic::cos(x) : Sleef_finz_cosd1_u10purecfma(x);
}

}  // namespace saltus::elementary::fused
