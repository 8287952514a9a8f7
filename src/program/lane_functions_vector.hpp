// What the functions for AVX2 and for AVX-512 have in common: templates over the type of a vector register. The type
// keeps the compilations for different instruction sets apart; inline functions of other headers must not be used here.
#pragma once

#include <utility>

#include "base/inline_functions.hpp"
#include "program/lane_functions.hpp"

namespace saltus::lanes {

template <class V>
inline constexpr int width = sizeof(V) / sizeof(double);

/// The lower limits of functions. (Templates take limits by reference: not all compilers take numbers, clang 16 does
/// not.)
inline constexpr double lowest_exponent = -arithmetic::exponent_limit, lowest_angle = -arithmetic::angle_limit,
                        lowest_of_logarithm = 1.0 / arithmetic::logarithm_limit;

/// Lane by lane.
template <class V, Op op>
V each(V x) {
  constexpr auto function = operators[static_cast<std::size_t>(op)].unary;
  for (int k = 0; k < width<V>; ++k) x[k] = function(x[k]);
  return x;
}
template <class V, Op op>
V each_pair(V x, V y) {
  constexpr auto function = operators[static_cast<std::size_t>(op)].binary;
  for (int k = 0; k < width<V>; ++k) x[k] = function(x[k], y[k]);
  return x;
}

/// A vector function with a limited range; the lanes beyond are evaluated one by one.
template <class V, auto function, double (*beyond)(double), const double& limit>
V within(V x) {
  V y = function(x);
  for (int k = 0; k < width<V>; ++k)
    if (__builtin_fabs(x[k]) > limit) [[unlikely]]
      y[k] = beyond(x[k]);
  return y;
}

/// A vector function for arguments between two limits. All lanes are evaluated one by one if an argument is beyond, or
/// NaN.
template <class V, auto function, double (*one)(double), const double& low, const double& high>
V between(V x) {
  if (arithmetic::Kind<V>::all_hold((x >= low) & (x <= high))) [[likely]]
    return function(x);
  for (int k = 0; k < width<V>; ++k) x[k] = one(x[k]);
  return x;
}

template <class V>
V load(const double* x) {
  V v;
  __builtin_memcpy(&v, x, sizeof v);
  return v;
}
template <class V>
void store(double* x, V v) {
  __builtin_memcpy(x, &v, sizeof v);
}

/// `lanes` lanes through memory, in as many registers as they need.
template <class V, auto function, int lanes>
void unary(double* x) {
  for (int k = 0; k < lanes; k += width<V>) store<V>(x + k, function(load<V>(x + k)));
}
template <class V, auto function, int lanes>
void binary(double* x) {
  for (int k = 0; k < lanes; k += width<V>) store<V>(x + k, function(load<V>(x + k), load<V>(x + lanes + k)));
}

template <class V, auto function>
LaneRow unary_row() {
  return {reinterpret_cast<const void*>(function), width<V> == 4 ? unary<V, function, 4> : nullptr,
          unary<V, function, 8>};
}
template <class V, auto function>
LaneRow binary_row() {
  return {reinterpret_cast<const void*>(function), width<V> == 4 ? binary<V, function, 4> : nullptr,
          binary<V, function, 8>};
}

/// A row that evaluates lane by lane: for functions that SLEEF does not have, and for builds without it.
template <class V, Op op>
LaneRow row_of_each() {
  constexpr const Operator& row = operators[static_cast<std::size_t>(op)];
  if constexpr (row.kind != OpKind::function)
    return {};
  else if constexpr (row.operands == 1)
    return unary_row<V, each<V, op>>();
  else
    return binary_row<V, each_pair<V, op>>();
}
template <class V, std::size_t... k>
LaneRow row_of_each(Op op, std::index_sequence<k...>) {
  using Maker = LaneRow (*)();
  static constexpr Maker makers[] = {row_of_each<V, static_cast<Op>(k)>...};
  return makers[static_cast<std::size_t>(op)]();
}

}  // namespace saltus::lanes
