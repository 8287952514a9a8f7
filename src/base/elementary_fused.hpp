// The functions of inline_functions.hpp for one number, and SLEEF's beyond their limits. They are compiled for
// processors with fused multiply-add, and must be called on these alone (elementary::reproducible).
#pragma once

namespace saltus::elementary::fused {

double exp(double x);
double log(double x);
double sin(double x);
double cos(double x);

}  // namespace saltus::elementary::fused
