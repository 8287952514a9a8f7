// Stands in for elementary.cpp where SLEEF is missing.
#include <saltus/base/elementary.hpp>

#include <cmath>

namespace saltus::elementary {

bool reproducible() {
  return false;
}
double exp(double x) {
  return std::exp(x);
}
double log(double x) {
  return std::log(x);
}
double sin(double x) {
  return std::sin(x);
}
double cos(double x) {
  return std::cos(x);
}
double tan(double x) {
  return std::tan(x);
}
double asin(double x) {
  return std::asin(x);
}
double acos(double x) {
  return std::acos(x);
}
double atan(double x) {
  return std::atan(x);
}
double sinh(double x) {
  return std::sinh(x);
}
double cosh(double x) {
  return std::cosh(x);
}
double tanh(double x) {
  return std::tanh(x);
}
double asinh(double x) {
  return std::asinh(x);
}
double acosh(double x) {
  return std::acosh(x);
}
double atanh(double x) {
  return std::atanh(x);
}
double pow(double base, double exponent) {
  return std::pow(base, exponent);
}
double atan2(double y, double x) {
  return std::atan2(y, x);
}

}  // namespace saltus::elementary
