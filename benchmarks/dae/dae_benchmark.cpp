// How does the time of structural analysis grow with the number of variables?
#include <benchmark/benchmark.h>
#include <saltus/dae/structural_analysis.hpp>

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

BENCHMARK(structural_hanging_chain)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(structural_shuffled_chain)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(structural_heat_rod)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);
BENCHMARK(structural_differentiators)->RangeMultiplier(10)->Range(1000, 1000000)->Unit(benchmark::kMillisecond);

}  // namespace
