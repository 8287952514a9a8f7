// Linear combinations of stages: what methods with many stages do most in large systems. Their cost is the number of
// times that the stages are read, so that all combinations of one moment are formed in one pass.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "step/few_variables.hpp"

namespace saltus {

/// Vectors of length n that stand behind each other, each `stride` behind the one before.
struct Stages {
  const double* first;
  std::size_t n, stride;

  Stages(const double* begin, std::size_t length) : Stages(begin, length, length) {}
  Stages(const double* begin, std::size_t length, std::size_t distance) : first(begin), n(length), stride(distance) {}
};

/// A combination base + weights_0 u_0 + … and where it goes; a null base is zero.
struct Combination {
  const double* weights;
  const double* base;
  double* target;
};

namespace detail {

/// What a sum begins with: itself, zero, or its base.
enum class Begin { sum, zero, base };

template <Begin How, int Count>
void add_to_one(const double* v, std::size_t stride, std::size_t length, const double* weights, const double* base,
                double* __restrict target) {
  double w[Count];
  std::copy_n(weights, Count, w);
  for (std::size_t j = 0; j < length; ++j) {
    double sum = 0.0;
    for (int k = 0; k < Count; ++k) sum += w[k] * v[static_cast<std::size_t>(k) * stride + j];
    target[j] = How == Begin::sum ? target[j] + sum : How == Begin::base ? base[j] + sum : sum;
  }
}

/// The second sum has no base.
template <Begin How, int Count>
void add_to_two(const double* v, std::size_t stride, std::size_t length, const double* weights, const double* other_weights,
                const double* base, double* __restrict target, double* __restrict other_target) {
  double w[Count], z[Count];
  std::copy_n(weights, Count, w);
  std::copy_n(other_weights, Count, z);
  for (std::size_t j = 0; j < length; ++j) {
    double sum = 0.0, other = 0.0;
    for (int k = 0; k < Count; ++k) {
      const double value = v[static_cast<std::size_t>(k) * stride + j];
      sum += w[k] * value;
      other += z[k] * value;
    }
    target[j] = How == Begin::sum ? target[j] + sum : How == Begin::base ? base[j] + sum : sum;
    other_target[j] = How == Begin::sum ? other_target[j] + other : other;
  }
}

/// Adds the `Count` vectors behind `from` to the sums.
template <Begin How, int Count, std::size_t Targets>
void add_vectors(Stages u, std::size_t first, std::size_t length, int from, const std::array<Combination, Targets>& sums) {
  const double* const v = u.first + static_cast<std::size_t>(from) * u.stride + first;
  const double* const base = How == Begin::base ? sums[0].base + first : nullptr;
  if constexpr (Targets == 1)
    add_to_one<How, Count>(v, u.stride, length, sums[0].weights + from, base, sums[0].target + first);
  else
    add_to_two<How, Count>(v, u.stride, length, sums[0].weights + from, sums[1].weights + from, base, sums[0].target + first,
                           sums[1].target + first);
}

}  // namespace detail

/// The same sums for a few variables, whose number the compiler knows.
void combine_few(const Stages& u, int count, const Combination& sum);

/// One or two combinations of the first `count` stages; a second one has no base. In pieces that stay in the cache, four
/// vectors at a time, summed up before they are added to the base, which is larger and would round every one of them;
/// always in the same order, so that the same input gives the same bits.
template <std::size_t Targets>
void combine(const Stages& u, int count, const std::array<Combination, Targets>& sums) {
  static_assert(Targets == 1 || Targets == 2);
  using detail::Begin;
  if (few_variables(u.n) && u.stride == u.n) {
    for (const Combination& sum : sums) combine_few(u, count, sum);
    return;
  }
  constexpr std::size_t piece = 512;
  for (std::size_t first = 0; first < u.n; first += piece) {
    const std::size_t length = std::min(piece, u.n - first);
    const auto add = [&]<int Count>(std::integral_constant<int, Count>, int from) {
      if (from > 0)
        detail::add_vectors<Begin::sum, Count>(u, first, length, from, sums);
      else if (sums[0].base == nullptr)
        detail::add_vectors<Begin::zero, Count>(u, first, length, from, sums);
      else
        detail::add_vectors<Begin::base, Count>(u, first, length, from, sums);
    };
    int k = 0;
    for (; k + 4 <= count; k += 4) add(std::integral_constant<int, 4>(), k);
    if (count - k == 3) add(std::integral_constant<int, 3>(), k);
    if (count - k == 2) add(std::integral_constant<int, 2>(), k);
    if (count - k == 1) add(std::integral_constant<int, 1>(), k);
  }
}

}  // namespace saltus
