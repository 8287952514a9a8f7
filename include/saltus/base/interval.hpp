// Intervals with outward rounding: an enclosure of every value that an expression can take.
#pragma once

namespace saltus {

/// A closed interval [lower, upper]; empty intervals do not occur, [-inf, inf] means "nothing is known".
struct Interval {
  double lower = 0.0, upper = 0.0;

  Interval() = default;
  Interval(double value) : lower(value), upper(value) {}  // NOLINT: numbers are intervals
  Interval(double l, double u) : lower(l), upper(u) {}

  bool contains(double x) const { return lower <= x && x <= upper; }
  /// upper - lower.
  double width() const { return upper - lower; }
  bool operator==(const Interval&) const = default;
};

Interval operator+(Interval a, Interval b);
Interval operator-(Interval a, Interval b);
Interval operator*(Interval a, Interval b);
inline Interval& operator+=(Interval& a, Interval b) {
  return a = a + b;
}
/// A divisor that contains zero gives [-inf, inf].
Interval operator/(Interval a, Interval b);
inline Interval operator-(Interval a) {
  return {-a.upper, -a.lower};
}

Interval sqr(Interval a);
Interval sqrt(Interval a);
Interval exp(Interval a);
Interval log(Interval a);
Interval sin(Interval a);
Interval cos(Interval a);
Interval tan(Interval a);
Interval asin(Interval a);
Interval acos(Interval a);
Interval atan(Interval a);
Interval sinh(Interval a);
Interval cosh(Interval a);
Interval tanh(Interval a);
Interval asinh(Interval a);
Interval acosh(Interval a);
Interval atanh(Interval a);
Interval pow(Interval a, Interval b);
Interval atan2(Interval y, Interval x);
Interval floor(Interval a);
/// The smallest interval that contains both.
Interval hull(Interval a, Interval b);

}  // namespace saltus
