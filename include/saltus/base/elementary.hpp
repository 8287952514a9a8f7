// Elementary functions: the one definition that constant folding, the interpreter, native code, lanes, Taylor series
// and intervals share.
//
// exp, log, sin and cos are polynomials of our own, the others functions of SLEEF. Their errors are below 1 ulp, and an
// argument gives the same bits for one, four and eight lanes on every processor with fused multiply-add. Processors
// without it, and builds without SLEEF, take the functions of the C library; then the bits are those of that library.
#pragma once

namespace saltus::elementary {

/// True if the bits of the functions do not depend on the processor or on the C library.
bool reproducible();

double exp(double x);
double log(double x);
double sin(double x);
double cos(double x);
double tan(double x);
double asin(double x);
double acos(double x);
double atan(double x);
double sinh(double x);
double cosh(double x);
double tanh(double x);
double asinh(double x);
double acosh(double x);
double atanh(double x);
double pow(double base, double exponent);
double atan2(double y, double x);

}  // namespace saltus::elementary
