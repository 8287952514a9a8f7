// The loops of lane_kernels.hpp, to be compiled for a set of instructions.
#pragma once

#include "sens/lane_kernels.hpp"
#include "sens/lanes.hpp"

namespace saltus {
namespace {

/// The lanes of one value, as vectors of four (or a single number).
template <int Width>
struct LaneSum {
  static constexpr int part = Width == 1 ? 1 : 4, parts = Width / part;
  typename LaneVector<part>::type sum[parts];

  LaneSum() {
    for (int q = 0; q < parts; ++q) sum[q] = typename LaneVector<part>::type{};
  }
  explicit LaneSum(const double* from) {
    for (int q = 0; q < parts; ++q) sum[q] = lanes_at<part>(from + q * part);
  }
  void add(double factor, const double* x) {
    for (int q = 0; q < parts; ++q) sum[q] += factor * lanes_at<part>(x + q * part);
  }
  void store(double* to) const {
    for (int q = 0; q < parts; ++q) lanes_at<part>(to + q * part) = sum[q];
  }
  void add(const LaneSum& other) {
    for (int q = 0; q < parts; ++q) sum[q] += other.sum[q];
  }
  void scale(double factor) {
    for (int q = 0; q < parts; ++q) sum[q] *= factor;
  }
};

template <int Width>
void multiply_lanes(const LaneRows& pattern, const double* values, const double* x, double* out) {
  const int* const column = pattern.column.data();
  const int* const start = pattern.start.data();
  const std::size_t rows = pattern.start.size() - 1;
  for (std::size_t i = 0; i < rows; ++i) {
    LaneSum<Width> sum(out + i * Width);
    for (int e = start[i]; e < start[i + 1]; ++e) sum.add(values[e], x + static_cast<std::size_t>(column[e]) * Width);
    sum.store(out + i * Width);
  }
}

template <int Width>
void solve_lanes(const LaneFactors& f, double* b, double* work) {
  const std::size_t n = f.inverse.size();
  const auto subtract = [work](const LaneRows& rows, const std::vector<double>& values, std::size_t k,
                               LaneSum<Width>& sum) {
    const int* const column = rows.column.data();
    const double* const value = values.data();
    const auto at = [&](int e) { return work + static_cast<std::size_t>(column[e]) * Width; };
    int e = rows.start[k];
    const int end = rows.start[k + 1];
    // long rows: four sums, which do not wait for each other
    if (Width < 16 && end - e >= 8) {
      LaneSum<Width> more[3];
      for (; e + 4 <= end; e += 4) {
        sum.add(-value[e], at(e));
        for (int q = 0; q < 3; ++q) more[q].add(-value[e + 1 + q], at(e + 1 + q));
      }
      more[0].add(more[1]);
      sum.add(more[2]);
      sum.add(more[0]);
    }
    for (; e < end; ++e) sum.add(-value[e], at(e));
  };
  for (std::size_t k = 0; k < n; ++k) {
    LaneSum<Width> sum(b + static_cast<std::size_t>(f.row[k]) * Width);
    subtract(f.lower, f.lower_values, k, sum);
    sum.store(work + k * Width);
  }
  for (std::size_t k = n; k-- > 0;) {
    LaneSum<Width> sum(work + k * Width);
    subtract(f.upper, f.upper_values, k, sum);
    sum.scale(f.inverse[k]);
    sum.store(work + k * Width);
    sum.store(b + static_cast<std::size_t>(f.column[k]) * Width);
  }
}

/// `Grows`: the argument is that of the stage before, and one stage more.
template <int Count, bool Grows, int Width>
void add_stages_at(const StageSums& s, std::size_t k) {
  auto argument = lanes_at<Width>(s.base + k);
  auto sum = argument - argument;
  for (int j = 0; j < Count; ++j) {
    const auto u = lanes_at<Width>(s.stages + static_cast<std::size_t>(j) * s.stride + k);
    if (!Grows || j == Count - 1) argument += s.a[j] * u;
    sum += s.c[j] * u;
  }
  lanes_at<Width>(s.argument + k) = argument;
  lanes_at<Width>(s.sum + k) = sum;
}

template <int Count, bool Grows>
void add_stages(const StageSums& sums) {
  const StageSums s = sums;
  std::size_t k = 0;
  for (; k + 4 <= s.size; k += 4) add_stages_at<Count, Grows, 4>(s, k);
  for (; k < s.size; ++k) add_stages_at<Count, Grows, 1>(s, k);
}

template <bool Grows>
void add_stages(const StageSums& s) {
  switch (s.count) {
    case 0:
      return add_stages<0, false>(s);
    case 1:
      return add_stages<1, Grows>(s);
    case 2:
      return add_stages<2, Grows>(s);
    case 3:
      return add_stages<3, Grows>(s);
    case 4:
      return add_stages<4, Grows>(s);
    case 5:
      return add_stages<5, Grows>(s);
    case 6:
      return add_stages<6, Grows>(s);
    case 7:
      return add_stages<7, Grows>(s);
    default:
      return add_stages<8, Grows>(s);
  }
}

void sum_stages(const StageSums& s) {
  if (s.count > 0 && s.first == s.count - 1 && s.first > 0)
    add_stages<true>(s);
  else
    add_stages<false>(s);
}

template <int Width>
const LaneKernels& kernels_of() {
  static constexpr LaneKernels kernels{multiply_lanes<Width>, solve_lanes<Width>, sum_stages};
  return kernels;
}

const LaneKernels& compiled_kernels(int width) {
  switch (width) {
    case 1:
      return kernels_of<1>();
    case 4:
      return kernels_of<4>();
    case 8:
      return kernels_of<8>();
    default:
      return kernels_of<16>();
  }
}

}  // namespace
}  // namespace saltus
