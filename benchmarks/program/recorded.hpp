// What all benchmarks of programs share: a model as recorded expressions, data for it, and the loops that are timed.
#pragma once

#include <benchmark/benchmark.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/program/program.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "plain.hpp"

namespace saltus::bench {

inline const auto inverse_rate = benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert;

/// A recorded model: groups of inputs are time, states, parameters, locks.
template <class M>
struct Recorded {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::vector<std::vector<Expr>> inputs;
  std::vector<Expr> rhs;

  Recorded() {
    const auto make = [&](const std::string& prefix, SymbolKind kind, int n) {
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

/// The peer's locks. They are found by the rule that it uses: a recorded relation may be the negation of the written
/// one.
template <class M>
std::vector<double> peer_locks(const Data<M>& data) {
  std::vector<double> lock(M::relations), ignored(M::states);
  M::rhs(data.in[0][0], data.in[1].data(), data.in[2].data(), ignored.data(),
         [&](int k, double g, double yes, double no) {
           lock[static_cast<std::size_t>(k)] = g > 0.0;
           return g > 0.0 ? yes : no;
         });
  return lock;
}

inline bool native_code_available() {
  return Program(std::vector<std::vector<Expr>>{}, std::vector<std::vector<Expr>>{}).backend() == Backend::native;
}

/// Evaluates a program in the benchmark's loop.
template <class M>
void time_program(benchmark::State& state, const Program& program, Data<M>& data, int lanes) {
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

/// Evaluates the peer in the benchmark's loop.
template <class M>
void time_plain(benchmark::State& state, Plain function, Data<M>& data) {
  const std::vector<double> lock = peer_locks(data);
  benchmark::DoNotOptimize(function);
  for (auto _ : state) {
    function(data.in[0][0], data.in[1].data(), data.in[2].data(), lock.data(), data.out.data());
    benchmark::ClobberMemory();
  }
  state.counters["evaluation"] = benchmark::Counter(1.0, inverse_rate);
}

/// Taylor coefficients (taylor_benchmark.cpp). False if peer and programs disagree.
bool register_taylor();

}  // namespace saltus::bench
