// What does the search for events cost: per guard when nothing happens, and per event?
//
// The guards are linear in the state, hand-written (the cost of the search itself) or recorded (with the programs of
// the library).
#include <benchmark/benchmark.h>
#include <saltus/event/event_locator.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>

#include <cmath>
#include <numeric>

namespace saltus {
namespace {

/// n variables, guard k is x_k - level_k.
class Levels final : public System {
 public:
  Levels(int n, double level) : level_(level) { structure_.variables = structure_.equations = structure_.guards = n; }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double>, std::span<const double>, std::span<double>) override {}
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double>) override {}
  void guards(double, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    for (std::size_t k = 0; k < g.size(); ++k) g[k] = x[k] - level_;
  }

 private:
  Structure structure_;
  double level_;
};

/// x_k falls from 1 to 0.07, like a quarter of a cosine, as a polynomial of degree 5, slightly different for each k;
/// the first falls `first` times as far.
DensePolynomial quarter(int n, double first = 1.0) {
  DensePolynomial step{.t0 = 0.0, .h = 1.5, .degree = 5, .variables = n, .c = {}};
  const double c[6] = {1.0, 0.0, -1.125, 0.0, 0.2109375, -0.02};
  for (int k = 0; k <= 5; ++k) {
    for (int j = 0; j < n; ++j) step.c.push_back(c[k] * (1.0 + 1e-3 * j / n) * (j == 0 && k > 0 ? first : 1.0));
  }
  return step;
}

/// A guard for each variable: x_k - level. Not to be copied: the guards refer to its lists.
struct LevelGuards {
  std::vector<int> variables;
  double one = 1.0;
  std::vector<LinearGuard> guards;

  LevelGuards(int n, double level) : variables(static_cast<std::size_t>(n)) {
    std::iota(variables.begin(), variables.end(), 0);
    for (int k = 0; k < n; ++k)
      guards.push_back({k, -level, 0.0, std::span(&variables[static_cast<std::size_t>(k)], 1), std::span(&one, 1)});
  }
};

RecordedSystem recorded_levels(int n, double level) {
  const auto graph = std::make_shared<Graph>();
  RecordedEquations equations{
      .time = Expr(graph, graph->symbol("time", SymbolKind::time)), .variables = {}, .equations = {}};
  for (int j = 0; j < n; ++j) {
    const Expr x(graph, graph->symbol("x" + std::to_string(j), SymbolKind::variable));
    equations.variables.push_back(x);
    equations.equations.push_back(der(x) + x);
    equations.guards.push_back(x - level);
  }
  return RecordedSystem(std::move(equations));
}

void search(benchmark::State& state, System& system, const DensePolynomial& step, bool expected,
            const std::vector<LinearGuard>& linear = {}, unsigned char known = 0) {
  std::vector<GuardWatch> watch(static_cast<std::size_t>(step.variables), GuardWatch{1, known, 0.0});
  EventLocator locator;
  LocatedEvent event;
  for (auto _ : state) {
    const bool found = locator.earliest(system, step, watch, event, linear);
    if (found != expected) state.SkipWithError("wrong answer");
    benchmark::DoNotOptimize(event.t_after);
  }
  const double calls = static_cast<double>(locator.statistics().steps);
  state.counters["guard evaluations"] = static_cast<double>(locator.statistics().evaluations) / calls;
  state.counters["time/guard"] = benchmark::Counter(static_cast<double>(state.iterations()) * step.variables,
                                                    benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void nothing_happens(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  Levels system(n, -0.5);
  search(state, system, quarter(n), false);
}
BENCHMARK(nothing_happens)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

void nothing_happens_recorded(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  RecordedSystem system = recorded_levels(n, -0.5);
  search(state, system, quarter(n), false);
}
BENCHMARK(nothing_happens_recorded)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

void nothing_happens_linear(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  Levels system(n, -0.5);
  search(state, system, quarter(n), false, LevelGuards(n, -0.5).guards);
}
BENCHMARK(nothing_happens_linear)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

/// One of the guards crosses in the middle of the step, the others stay where they are.
void one_crossing(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  Levels system(n, -0.5);
  search(state, system, quarter(n, 3.0), true);
}
BENCHMARK(one_crossing)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

void one_crossing_linear(benchmark::State& state) {
  const int n = static_cast<int>(state.range(0));
  Levels system(n, -0.5);
  search(state, system, quarter(n, 3.0), true, LevelGuards(n, -0.5).guards);
}
BENCHMARK(one_crossing_linear)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

void one_crossing_recorded(benchmark::State& state) {
  RecordedSystem system = recorded_levels(1, -0.5);
  search(state, system, quarter(1, 3.0), true);
}
BENCHMARK(one_crossing_recorded);

/// The first step after an event: the guard starts at zero and stays on its new side.
void known_root(benchmark::State& state) {
  Levels system(1, 1.0);
  search(state, system, quarter(1, -1.0), false, {}, 2);
}
BENCHMARK(known_root);

void known_root_linear(benchmark::State& state) {
  Levels system(1, 1.0);
  search(state, system, quarter(1, -1.0), false, LevelGuards(1, 1.0).guards, 2);
}
BENCHMARK(known_root_linear);

void isolation(benchmark::State& state) {
  // roots of a polynomial of the given degree, spread over (0, 1)
  const int n = static_cast<int>(state.range(0));
  std::vector<double> c{1.0};
  for (int r = 0; r < n; ++r) {
    c.push_back(0.0);
    for (std::size_t k = c.size(); k-- > 0;)
      c[k] = (k > 0 ? c[k - 1] : 0.0) - (r + 0.7) / (n + 0.3) * (k + 1 < c.size() ? c[k] : 0.0);
  }
  const Bernstein p = Bernstein::from_monomial(c, 1e-15);
  RootCells cells;
  for (auto _ : state) {
    isolate_roots(p, cells);
    if (cells.count != n) state.SkipWithError("roots were lost");
    benchmark::DoNotOptimize(cells);
  }
  state.counters["time/root"] = benchmark::Counter(static_cast<double>(state.iterations()) * n,
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(isolation)->Arg(1)->Arg(3)->Arg(5)->Arg(8);

}  // namespace
}  // namespace saltus
