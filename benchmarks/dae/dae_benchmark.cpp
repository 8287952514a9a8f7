// How do structural analysis, its certificate, consistent initialisation and the numerical analysis of dense modes grow
// with the number of variables?
#include <benchmark/benchmark.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>

#include "problems/heat.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"
#include "problems/structures.hpp"

namespace {

using namespace saltus;

void analyse(benchmark::State& state, const Structure& structure) {
  for (auto _ : state) {
    StructuralAnalysis analysis = analyse_structure(structure);
    benchmark::DoNotOptimize(analysis);
  }
  state.SetComplexityN(structure.variables);
}

void structural_hanging_chain(benchmark::State& state) {
  analyse(state, problems::hanging_chain(static_cast<int>(state.range(0)) / 5));
}
void structural_shuffled_chain(benchmark::State& state) {
  analyse(state, problems::shuffled(problems::hanging_chain(static_cast<int>(state.range(0)) / 5), 1));
}
void structural_heat_rod(benchmark::State& state) {
  analyse(state, problems::shuffled(problems::heat_rod(static_cast<int>(state.range(0)) / 2), 2));
}
void structural_differentiators(benchmark::State& state) {
  analyse(state, problems::differentiator_chain(static_cast<int>(state.range(0))));
}

// All of the analysis of a large sparse mode of index 1: structure, consistent point, certificate.
void heat_rod_analysis(benchmark::State& state) {
  const problems::Problem p = problems::heat_rod_model(static_cast<int>(state.range(0)) / 2);
  bool clear = true;
  for (auto _ : state) {
    const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
    clear &= values.status == AnalysisStatus::clear && values.numbers == p.expected;
  }
  if (!clear) state.SkipWithError("wrong characteristic values");
  state.SetComplexityN(state.range(0));
}

void heat_rod_initialisation(benchmark::State& state) {
  const problems::Problem p = problems::heat_rod_model(static_cast<int>(state.range(0)) / 2);
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  bool ok = true;
  for (auto _ : state) ok &= initialise(*p.system, p.t, p.guess, values).ok();
  if (!ok) state.SkipWithError("no consistent values");
  state.SetComplexityN(state.range(0));
}

void dense(benchmark::State& state, const problems::Problem& p) {
  bool right = true;
  for (auto _ : state) right &= characteristic_values(*p.system, p.t, p.guess, {.max_level = 12}).numbers == p.expected;
  if (!right) state.SkipWithError("wrong characteristic values");
}

// Dense modes: index 2 k + 1 with 5 k variables (certified), index k with k + 1 variables (rank decisions alone).
void dense_pendula(benchmark::State& state) {
  dense(state, problems::multi_pendula(static_cast<int>(state.range(0))));
}
void dense_rotating_block(benchmark::State& state) {
  dense(state, problems::rotating_block(static_cast<int>(state.range(0))));
}
// The same index-1 model through the dense procedure and through the certificate: where does the switch pay?
void dense_heat_rod(benchmark::State& state) {
  const problems::Problem p = problems::heat_rod_model(static_cast<int>(state.range(0)) / 2);
  const CharacteristicOptions options{.neighbours = false, .use_structure = false};
  bool right = true;
  for (auto _ : state) right &= characteristic_values(*p.system, p.t, p.guess, options).numbers == p.expected;
  if (!right) state.SkipWithError("wrong characteristic values");
}

// What a step of an implicit integrator pays for the reduction: one refresh with Jacobian, one residual.
void reduced_pendulum_jacobian(benchmark::State& state) {
  const problems::Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values);
  ReducedSystem reduced(*p.system, values);
  std::vector<double> Fx(25), Fxp(reduced.structure().derivative_pattern.row.size());
  for (auto _ : state) reduced.jacobian(p.t, start.x, start.xp, Fx, Fxp);
}
void reduced_pendulum_residual(benchmark::State& state) {
  const problems::Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values);
  ReducedSystem reduced(*p.system, values);
  std::vector<double> F(5);
  for (auto _ : state) reduced.residual(p.t + 1e-3, start.x, start.xp, F);
}

void up_to_a_million(benchmark::internal::Benchmark* b) {
  b->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
}
BENCHMARK(structural_hanging_chain)->Apply(up_to_a_million);
BENCHMARK(structural_shuffled_chain)->Apply(up_to_a_million);
BENCHMARK(structural_heat_rod)->Apply(up_to_a_million);
BENCHMARK(structural_differentiators)->Apply(up_to_a_million);
BENCHMARK(heat_rod_analysis)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);
BENCHMARK(heat_rod_initialisation)->RangeMultiplier(10)->Range(1000, 100000)->Unit(benchmark::kMillisecond);
BENCHMARK(dense_pendula)->DenseRange(1, 5)->Unit(benchmark::kMillisecond);
BENCHMARK(dense_rotating_block)->DenseRange(1, 5)->Unit(benchmark::kMillisecond);
BENCHMARK(dense_heat_rod)->RangeMultiplier(2)->Range(16, 128)->Unit(benchmark::kMillisecond);
BENCHMARK(reduced_pendulum_jacobian)->Unit(benchmark::kMicrosecond);
BENCHMARK(reduced_pendulum_residual)->Unit(benchmark::kMicrosecond);

}  // namespace
