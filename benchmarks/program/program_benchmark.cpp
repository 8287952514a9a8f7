// Right-hand sides, Jacobians and Taylor coefficients: plain C++ against native code and the interpreter, and what it
// costs to make a program.
//
// Run with --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true
// --benchmark_report_aggregates_only=true and compare the medians. "evaluation" is the time of one evaluation (a call
// divided by its lanes), "instruction" that of one instruction of the tape in one lane.
#include <algorithm>
#include <cstdio>

#include "models.hpp"
#include "recorded.hpp"

namespace saltus::bench {
namespace {

template <class M>
void run_plain(benchmark::State& state, Plain function) {
  const Recorded<M> model;
  const auto size = static_cast<std::size_t>(M::states);
  Data<M> data(model, std::max(size * 3, size < 20 ? size * size : 0), 1);
  time_plain(state, function, data);
}

template <class M>
void run_program(benchmark::State& state, bool derivative, Backend backend, int lanes) {
  const Recorded<M> model;
  const std::vector<std::vector<Expr>> outputs{derivative ? model.jacobian_entries() : model.rhs};
  const Program program(model.inputs, outputs, {.backend = backend});
  Data<M> data(model, outputs[0].size(), lanes);
  time_program(state, program, data, lanes);
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
    const std::vector<double> lock = peer_locks(data);
    std::vector<double> plain(derivative && n < 20 ? n * n : 3 * n);
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
        if (backend == Backend::native && !native_code_available()) continue;
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
  if (!register_models<StickSlip, TwoMasses, Arm, Stencil>() || !register_taylor()) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
