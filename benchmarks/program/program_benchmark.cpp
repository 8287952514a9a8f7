// Right-hand sides and Jacobians: plain C++ against native code and the interpreter, and what it costs to make a
// program.
//
// Run with --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
// --benchmark_report_aggregates_only=true and compare the medians. "evaluation" is the time of one evaluation (a call
// divided by its lanes), "instruction" that of one instruction of the tape in one lane.
#include <benchmark/benchmark.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "models.hpp"
#include "plain.hpp"

namespace saltus::bench {
namespace {

const auto inverse_rate = benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert;

/// A recorded model: groups of inputs are time, states, parameters, locks.
template <class M>
struct Recorded {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<std::vector<Expr>> inputs;
  std::vector<Expr> rhs;

  Recorded() {
    const auto make = [&](const char* prefix, SymbolKind kind, int n) {
      std::vector<Expr> list;
      for (int k = 0; k < n; ++k) list.emplace_back(graph, graph->symbol(prefix + std::to_string(k), kind));
      return list;
    };
    inputs = {make("t", SymbolKind::time, 1), make("x", SymbolKind::variable, M::states),
              make("p", SymbolKind::parameter, M::parameters)};
    rhs.resize(M::states);
    M::rhs(inputs[0][0], inputs[1].data(), inputs[2].data(), rhs.data(),
           [](int, const Expr& g, const Expr& yes, const Expr& no) { return if_else(g > 0.0, yes, no); });
    inputs.push_back(locks_of(rhs));
  }
  std::vector<Expr> jacobian_entries() const {
    std::vector<Expr> values;
    for (const auto& entry : jacobian(rhs, inputs[1]).entries) values.push_back(entry.value);
    return values;
  }
};

/// Inputs in several lanes, all lanes a little different.
template <class M>
struct Data {
  std::vector<std::vector<double>> in;
  std::vector<double> out;
  std::vector<const double*> in_pointers;
  std::vector<double*> out_pointers;

  Data(const Recorded<M>& model, std::size_t outputs, int lanes) {
    const auto value = [&](std::size_t k, int lane, double scale) {
      return scale * (1.3 + std::sin(1.7 * static_cast<double>(k) + 0.1 * lane));
    };
    const auto width = static_cast<std::size_t>(lanes);
    for (const auto& group : model.inputs) {
      auto& values = in.emplace_back(group.size() * width);
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = value(k / width, static_cast<int>(k % width), in.size() == 3 ? 0.4 : 0.7);
    }
    // the locks have the values that the relations have here
    const std::vector<std::vector<Expr>> live{model.inputs[0], model.inputs[1], model.inputs[2]},
        locks{model.inputs[3]};
    const Program relations(live, locks, {.backend = Backend::interpreter});
    Workspace w = relations.workspace(lanes);
    double* const target[] = {in[3].data()};
    const double* const source[] = {in[0].data(), in[1].data(), in[2].data()};
    relations(source, target, w);
    out.resize(outputs * width);
    for (const auto& group : in) in_pointers.push_back(group.data());
    out_pointers = {out.data()};
  }
};

template <class M>
void run_plain(benchmark::State& state, Plain function) {
  const Recorded<M> model;
  const auto size = static_cast<std::size_t>(M::states);
  Data<M> data(model, std::max(size * 3, size < 20 ? size * size : 0), 1);
  // the recorded relation may be the negation of the written one, so the peer's locks are found by the same rule as it
  // uses
  std::vector<double> lock(M::relations), ignored(size);
  M::rhs(data.in[0][0], data.in[1].data(), data.in[2].data(), ignored.data(),
         [&](int k, double g, double yes, double no) {
           lock[static_cast<std::size_t>(k)] = g > 0.0;
           return g > 0.0 ? yes : no;
         });
  benchmark::DoNotOptimize(function);
  for (auto _ : state) {
    function(data.in[0][0], data.in[1].data(), data.in[2].data(), lock.data(), data.out.data());
    benchmark::ClobberMemory();
  }
  state.counters["evaluation"] = benchmark::Counter(1.0, inverse_rate);
}

template <class M>
void run_program(benchmark::State& state, bool derivative, Backend backend, int lanes) {
  const Recorded<M> model;
  const std::vector<std::vector<Expr>> outputs{derivative ? model.jacobian_entries() : model.rhs};
  const Program program(model.inputs, outputs, {.backend = backend});
  Data<M> data(model, outputs[0].size(), lanes);
  Workspace workspace = program.workspace(lanes);
  for (auto _ : state) {
    program(data.in_pointers, data.out_pointers, workspace);
    benchmark::ClobberMemory();
  }
  const auto instructions = static_cast<double>(program.tape().code.size());
  state.counters["evaluation"] = benchmark::Counter(lanes, inverse_rate);
  state.counters["instruction"] = benchmark::Counter(lanes * instructions, inverse_rate);
  state.counters["instructions"] = instructions;
  state.counters["code_bytes"] = static_cast<double>(program.code_size());
}

template <class M>
void record(benchmark::State& state, bool derivative) {
  for (auto _ : state) {
    const Recorded<M> model;
    benchmark::DoNotOptimize(derivative ? model.jacobian_entries() : model.rhs);
  }
}

template <class M>
void lower_tape(benchmark::State& state, bool derivative) {
  const Recorded<M> model;
  const std::vector<std::vector<Expr>> outputs{derivative ? model.jacobian_entries() : model.rhs};
  for (auto _ : state) benchmark::DoNotOptimize(lower(model.inputs, outputs));
}

/// Lowering, then compiling for one lane and for four.
template <class M>
void compile(benchmark::State& state, bool derivative) {
  const Recorded<M> model;
  const std::vector<std::vector<Expr>> outputs{derivative ? model.jacobian_entries() : model.rhs};
  std::size_t instructions = 0;
  for (auto _ : state) {
    const Program program(model.inputs, outputs, {.backend = Backend::native});
    instructions = program.tape().code.size();
  }
  state.counters["instruction"] = benchmark::Counter(static_cast<double>(instructions), inverse_rate);
}

bool native_code_available() {
  return Program(std::vector<std::vector<Expr>>{}, std::vector<std::vector<Expr>>{}).backend() == Backend::native;
}

/// Empty if the peer and the program agree: entries to 1e-10 of the largest, since the peer may contract where we do
/// not.
template <class M>
std::string disagreement() {
  const Recorded<M> model;
  constexpr auto n = static_cast<std::size_t>(M::states);
  for (const bool derivative : {false, true}) {
    const auto entries = jacobian(model.rhs, model.inputs[1]).entries;
    const std::vector<std::vector<Expr>> outputs{derivative ? model.jacobian_entries() : model.rhs};
    Data<M> data(model, outputs[0].size(), 1);
    const Program program(model.inputs, outputs);
    Workspace w = program.workspace();
    program(data.in_pointers, data.out_pointers, w);
    std::vector<double> lock(M::relations), plain(derivative && n < 20 ? n * n : 3 * n);
    M::rhs(data.in[0][0], data.in[1].data(), data.in[2].data(), plain.data(),
           [&](int k, double g, double yes, double no) {
             lock[static_cast<std::size_t>(k)] = g > 0.0;
             return g > 0.0 ? yes : no;
           });
    const Plain function = derivative ? PlainModel<M>::jacobian : PlainModel<M>::rhs;
    function(data.in[0][0], data.in[1].data(), data.in[2].data(), lock.data(), plain.data());
    double scale = 0.0;
    for (const double v : data.out) scale = std::max(scale, std::abs(v));
    for (std::size_t k = 0; k < data.out.size(); ++k) {
      const bool dense = derivative && n < 20;
      const double v =
          plain[dense ? static_cast<std::size_t>(entries[k].row) * n + static_cast<std::size_t>(entries[k].column) : k];
      if (!(std::abs(v - data.out[k]) <= 1e-10 * scale))
        return std::string(M::name) + (derivative ? " Jacobian" : " rhs");
    }
  }
  return "";
}

template <class M>
void register_model() {
  for (const bool derivative : {false, true}) {
    const std::string prefix = std::string(M::name) + (derivative ? "/jacobian/" : "/rhs/");
    const auto add = [&](const std::string& name, auto function) {
      benchmark::RegisterBenchmark((prefix + name).c_str(), function);
    };
    const Plain plain = derivative ? PlainModel<M>::jacobian : PlainModel<M>::rhs;
    add("plain", [plain](benchmark::State& s) { run_plain<M>(s, plain); });
    for (const int lanes : {1, 4, 8})
      for (const Backend backend : {Backend::native, Backend::interpreter}) {
        if (backend == Backend::native && (lanes == 8 || !native_code_available())) continue;
        add((backend == Backend::native ? "native/" : "interpreter/") + std::to_string(lanes),
            [=](benchmark::State& s) { run_program<M>(s, derivative, backend, lanes); });
      }
    add("record", [=](benchmark::State& s) { record<M>(s, derivative); });
    add("lower", [=](benchmark::State& s) { lower_tape<M>(s, derivative); });
    if (native_code_available()) add("lower_and_compile", [=](benchmark::State& s) { compile<M>(s, derivative); });
  }
}

template <class... M>
bool register_models() {
  for (const std::string& text : {disagreement<M>()...})
    if (!text.empty()) {
      std::fprintf(stderr, "peer and program disagree: %s\n", text.c_str());
      return false;
    }
  (register_model<M>(), ...);
  return true;
}

}  // namespace
}  // namespace saltus::bench

int main(int argc, char** argv) {
  using namespace saltus::bench;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  if (!register_models<StickSlip, TwoMasses, Arm, Stencil>()) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
