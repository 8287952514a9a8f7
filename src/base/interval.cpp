// Interval arithmetic. Results are widened by a relative amount instead of switching the rounding mode: one ulp for the
// arithmetic, whose results are correctly rounded, and four ulp for the elementary functions. Their errors are below
// that: 1 ulp, 3 where sinh and cosh nearly overflow, and 2.1 for the C library. The absolute part is the smallest
// normal number, since subnormal ones are slow.
#include <saltus/base/elementary.hpp>
#include <saltus/base/interval.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/finite.hpp"

namespace saltus {

namespace {

constexpr double largest = std::numeric_limits<double>::max();
constexpr double tiny = std::numeric_limits<double>::min();
constexpr double pi = std::numbers::pi;

Interval widen(double lower, double upper, double ulps) {
  const double factor = ulps * eps;
  if (std::isnan(lower)) lower = -inf;
  if (std::isnan(upper)) upper = inf;
  if (lower == inf) lower = largest;  // an overflow: the value is a number, but larger than any that there is
  if (upper == -inf) upper = -largest;
  return {lower - (std::abs(lower) * factor + tiny), upper + (std::abs(upper) * factor + tiny)};
}

template <class F>
Interval increasing(Interval a, F f) {
  return widen(f(a.lower), f(a.upper), 4.0);
}

Interval clip(Interval a, double low, double high) {
  return {std::max(a.lower, low), std::min(a.upper, high)};
}

// Does [a.lower, a.upper] contain a point offset + k*period? The reduction errs on the side of "yes".
bool hits(Interval a, double offset, double period) {
  const double slack = 4.0 * eps * (1.0 + std::max(std::abs(a.lower), std::abs(a.upper)) / period);
  const double first = std::ceil((a.lower - offset) / period - slack);
  return first <= (a.upper - offset) / period + slack;
}

}  // namespace

Interval operator+(Interval a, Interval b) {
  return widen(a.lower + b.lower, a.upper + b.upper, 1.0);
}
Interval operator-(Interval a, Interval b) {
  return widen(a.lower - b.upper, a.upper - b.lower, 1.0);
}

Interval operator*(Interval a, Interval b) {
  const auto product = [](double x, double y) { return x == 0.0 || y == 0.0 ? 0.0 : x * y; };
  const double p = product(a.lower, b.lower), q = product(a.lower, b.upper), r = product(a.upper, b.lower),
               s = product(a.upper, b.upper);
  return widen(std::min({p, q, r, s}), std::max({p, q, r, s}), 1.0);
}

Interval operator/(Interval a, Interval b) {
  if (b.contains(0.0)) return {-inf, inf};
  const double p = a.lower / b.lower, q = a.lower / b.upper, r = a.upper / b.lower, s = a.upper / b.upper;
  if (std::isnan(p) || std::isnan(q) || std::isnan(r) || std::isnan(s)) return {-inf, inf};
  return widen(std::min({p, q, r, s}), std::max({p, q, r, s}), 1.0);
}

Interval sqr(Interval a) {
  const double p = a.lower * a.lower, q = a.upper * a.upper;
  if (a.contains(0.0)) return {0.0, widen(0.0, std::max(p, q), 1.0).upper};
  return clip(widen(std::min(p, q), std::max(p, q), 1.0), 0.0, inf);
}

Interval sqrt(Interval a) {
  if (a.upper < 0.0) return {-inf, inf};
  return clip(widen(std::sqrt(std::max(a.lower, 0.0)), std::sqrt(a.upper), 1.0), 0.0, inf);
}

Interval exp(Interval a) {
  return clip(increasing(a, [](double x) { return elementary::exp(x); }), 0.0, inf);
}
Interval log(Interval a) {
  if (a.upper <= 0.0) return {-inf, inf};
  return increasing({std::max(a.lower, 0.0), a.upper}, [](double x) { return elementary::log(x); });
}

Interval cos(Interval a) {
  if (!(std::abs(a.lower) < 1e15 && std::abs(a.upper) < 1e15)) return {-1.0, 1.0};
  const double p = elementary::cos(a.lower), q = elementary::cos(a.upper);
  Interval r = widen(std::min(p, q), std::max(p, q), 4.0);
  if (hits(a, 0.0, 2.0 * pi)) r.upper = 1.0;
  if (hits(a, pi, 2.0 * pi)) r.lower = -1.0;
  return clip(r, -1.0, 1.0);
}

Interval sin(Interval a) {
  if (!(std::abs(a.lower) < 1e15 && std::abs(a.upper) < 1e15)) return {-1.0, 1.0};
  const double p = elementary::sin(a.lower), q = elementary::sin(a.upper);
  Interval r = widen(std::min(p, q), std::max(p, q), 4.0);
  if (hits(a, 0.5 * pi, 2.0 * pi)) r.upper = 1.0;
  if (hits(a, -0.5 * pi, 2.0 * pi)) r.lower = -1.0;
  return clip(r, -1.0, 1.0);
}

Interval tan(Interval a) {
  if (!(std::abs(a.lower) < 1e15 && std::abs(a.upper) < 1e15) || hits(a, 0.5 * pi, pi)) return {-inf, inf};
  return increasing(a, [](double x) { return elementary::tan(x); });
}

Interval asin(Interval a) {
  return increasing(clip(a, -1.0, 1.0), [](double x) { return elementary::asin(x); });
}
Interval acos(Interval a) {
  const Interval b = clip(a, -1.0, 1.0);
  return widen(elementary::acos(b.upper), elementary::acos(b.lower), 4.0);
}
Interval atan(Interval a) {
  return increasing(a, [](double x) { return elementary::atan(x); });
}
Interval sinh(Interval a) {
  return increasing(a, [](double x) { return elementary::sinh(x); });
}
Interval cosh(Interval a) {
  const double p = elementary::cosh(a.lower), q = elementary::cosh(a.upper);
  const Interval r = widen(a.contains(0.0) ? 1.0 : std::min(p, q), std::max(p, q), 4.0);
  return clip(r, 1.0, inf);
}
Interval tanh(Interval a) {
  return clip(increasing(a, [](double x) { return elementary::tanh(x); }), -1.0, 1.0);
}
Interval asinh(Interval a) {
  return increasing(a, [](double x) { return elementary::asinh(x); });
}
Interval acosh(Interval a) {
  if (a.upper < 1.0) return {-inf, inf};
  return clip(increasing({std::max(a.lower, 1.0), a.upper}, [](double x) { return elementary::acosh(x); }), 0.0, inf);
}
Interval atanh(Interval a) {
  return increasing(clip(a, -1.0, 1.0), [](double x) { return elementary::atanh(x); });
}

Interval pow(Interval a, Interval b) {
  if (a.lower > 0.0) return exp(b * log(a));
  if (b.lower == b.upper && b.lower == std::floor(b.lower) && std::abs(b.lower) < 1e9) {  // integer exponent, any base
    const double e = b.lower;
    if (e < 0.0) return Interval(1.0) / pow(a, Interval(-e));
    const bool even = std::fmod(e, 2.0) == 0.0;
    const double p = elementary::pow(a.lower, e), q = elementary::pow(a.upper, e);
    Interval r = widen(std::min(p, q), std::max(p, q), 4.0);
    if (even && a.contains(0.0)) r.lower = 0.0;
    return r;
  }
  if (a.lower >= 0.0 && b.lower > 0.0) {
    const double candidates[] = {elementary::pow(a.upper, b.lower), elementary::pow(a.upper, b.upper)};
    return {0.0, widen(0.0, std::max(candidates[0], candidates[1]), 4.0).upper};
  }
  return {-inf, inf};
}

Interval atan2(Interval y, Interval x) {
  if (x.lower > 0.0) return atan(y / x);
  if (y.lower > 0.0) return Interval(0.5 * pi) - atan(x / y);
  if (y.upper < 0.0) return Interval(-0.5 * pi) - atan(x / y);
  return widen(-pi, pi, 4.0);
}

Interval floor(Interval a) {
  return {std::floor(a.lower), std::floor(a.upper)};
}
Interval hull(Interval a, Interval b) {
  return {std::min(a.lower, b.lower), std::max(a.upper, b.upper)};
}

}  // namespace saltus
