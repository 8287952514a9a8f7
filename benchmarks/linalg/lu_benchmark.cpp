// Where do dense, banded and sparse factors change places? One factorisation and four solutions of the same matrix by
// each: the unit of work of implicit methods. The cost formulas in src/linalg/structured_lu.cpp are fitted to this.
#include <benchmark/benchmark.h>
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <random>

using namespace saltus;

namespace {

constexpr int solutions = 4;

SparsePattern band(int n, int lower, int upper) {
  std::vector<std::pair<int, int>> places;
  for (int i = 0; i < n; ++i)
    for (int j = std::max(0, i - lower); j <= std::min(n - 1, i + upper); ++j) places.emplace_back(i, j);
  return make_pattern(n, n, places);
}

template <class Scalar>
std::vector<Scalar> values_of(const SparsePattern& p) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> u(-1.0, 1.0);
  std::vector<Scalar> values(p.row.size());
  for (int j = 0; j < p.columns; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) values[k] = u(generator) + (p.row[k] == j ? 8.0 : 0.0);
  return values;
}

void dense(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  const SparsePattern p = band(n, n, n);
  const auto values = values_of<double>(p);
  DenseLu lu;
  std::vector<double> b(static_cast<std::size_t>(n), 1.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(lu.factorise(n, values));
    for (int k = 0; k < solutions; ++k) lu.solve(b);
  }
}

template <class Scalar>
void banded(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0)), w = static_cast<int>(state.range(1));
  const SparsePattern p = band(n, w, w);
  const auto values = values_of<Scalar>(p);
  BasicBandedLu<Scalar> lu;
  lu.set_shape(n, w, w);
  std::vector<Scalar> b(static_cast<std::size_t>(n), 1.0);
  for (auto _ : state) {
    lu.clear();
    for (int j = 0; j < n; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) lu.values()[lu.place(p.row[k], j)] = values[k];
    benchmark::DoNotOptimize(lu.factorise());
    for (int k = 0; k < solutions; ++k) lu.solve(b);
  }
  state.counters["ns/n"] = benchmark::Counter(static_cast<double>(n) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Scalar>
void sparse(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0)), w = static_cast<int>(state.range(1));
  const SparsePattern p = band(n, w, w);
  const auto values = values_of<Scalar>(p);
  BasicSparseLu<Scalar> lu;
  lu.analyse(p);
  std::vector<Scalar> b(static_cast<std::size_t>(n), 1.0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(lu.factorise(values));
    for (int k = 0; k < solutions; ++k) lu.solve(b);
  }
  state.counters["ns/n"] = benchmark::Counter(static_cast<double>(n) * 1e-9,
                                              benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  state.counters["entries/n"] = lu.expected_entries() / n;
  state.counters["operations/n"] = lu.expected_operations() / n;
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int n : {10, 30, 100, 1000, 100000})
    for (const int w : {1, 2, 4, 8, 16, 32})
      if (2 * w < n) b->Args({n, w});
}

}  // namespace

BENCHMARK(dense)->Arg(2)->Arg(4)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(128)->Arg(256);
BENCHMARK(banded<double>)->Apply(sizes);
BENCHMARK(sparse<double>)->Apply(sizes);
BENCHMARK(banded<std::complex<double>>)->Args({1000, 1})->Args({1000, 8});
BENCHMARK(sparse<std::complex<double>>)->Args({1000, 1})->Args({1000, 8});
