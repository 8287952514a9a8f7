// Taylor coefficients of the solution of x' = f(t, x): plain C++ with a power series type, the series evaluator, and
// the recurrences recorded and made into a program. Every variant computes coefficients 0 … N of all states, state by
// state.
#include <saltus/program/taylor.hpp>

#include <algorithm>
#include <cstdio>

#include "models.hpp"
#include "recorded.hpp"

namespace saltus::bench {
namespace {

template <class M>
Program recurrences(const Recorded<M>& model, int order, Backend backend) {
  std::vector<std::vector<Expr>> outputs(1);
  for (const auto& series : solution_taylor_expressions(model.inputs[0][0], model.inputs[1], model.rhs, order))
    outputs[0].insert(outputs[0].end(), series.begin(), series.end());
  return Program(model.inputs, outputs, {.backend = backend});
}

template <class M>
class SeriesEvaluator {
 public:
  explicit SeriesEvaluator(const Recorded<M>& model)
      : workspace_(TaylorProgram(model.inputs, {true, true, false, false}, std::vector<std::vector<Expr>>{model.rhs})) {
  }

  void expand(const Data<M>& data, int order, std::vector<double>& out) {
    const std::size_t stride = static_cast<std::size_t>(order) + 1;
    workspace_.start(order);
    workspace_.set(0, 0, 1, 1.0);
    for (int g = 0; g < 4; ++g) workspace_.set(g, 0, data.in[static_cast<std::size_t>(g)]);
    for (std::size_t i = 0; i < next_.size(); ++i) out[i * stride] = data.in[1][i];
    for (int k = 0; k < order; ++k) {
      workspace_.advance(k);
      workspace_.get(0, k, next_);
      for (std::size_t i = 0; i < next_.size(); ++i)
        out[i * stride + static_cast<std::size_t>(k) + 1] = next_[i] /= k + 1;
      workspace_.set(1, k + 1, next_);
    }
  }

 private:
  TaylorWorkspace workspace_;
  std::vector<double> next_ = std::vector<double>(M::states);
};

std::size_t count(int states, int order) {
  return static_cast<std::size_t>(states) * (static_cast<std::size_t>(order) + 1);
}

/// Empty if all variants agree to 1e-12 of the largest coefficient of the same order.
template <class M, int N>
std::string disagreement() {
  const Recorded<M> model;
  Data<M> data(model, count(M::states, N), 1);
  std::vector<double> reference(data.out.size());
  SeriesEvaluator<M>(model).expand(data, N, reference);
  const auto agrees = [&] {
    for (std::size_t k = 0; k <= N; ++k) {
      double scale = 0.0, difference = 0.0;
      for (std::size_t i = k; i < reference.size(); i += N + 1) {
        scale = std::max(scale, std::abs(reference[i]));
        difference = std::max(difference, std::abs(data.out[i] - reference[i]));
      }
      if (!(difference <= 1e-12 * scale)) return false;
    }
    return true;
  };
  const std::vector<double> lock = peer_locks(data);
  for (const Plain plain : {PlainModel<M>::template taylor<N>, PlainModel<M>::template taylor_unrolled<N>}) {
    plain(data.in[0][0], data.in[1].data(), data.in[2].data(), lock.data(), data.out.data());
    if (!agrees()) return std::string(M::name) + " Taylor, plain";
  }
  for (const Backend backend : {Backend::interpreter, Backend::automatic}) {
    const Program program = recurrences(model, N, backend);
    Workspace w = program.workspace();
    program(data.in_pointers, data.out_pointers, w);
    if (!agrees()) return std::string(M::name) + " Taylor, recorded";
  }
  return "";
}

template <class M, int N>
void run_series(benchmark::State& state) {
  const Recorded<M> model;
  Data<M> data(model, count(M::states, N), 1);
  SeriesEvaluator<M> evaluator(model);
  for (auto _ : state) {
    evaluator.expand(data, N, data.out);
    benchmark::ClobberMemory();
  }
  state.counters["evaluation"] = benchmark::Counter(1.0, inverse_rate);
}

template <class M, int N>
bool register_order() {
  if (const std::string text = disagreement<M, N>(); !text.empty()) {
    std::fprintf(stderr, "peer and program disagree: %s\n", text.c_str());
    return false;
  }
  const std::string prefix = std::string(M::name) + "/taylor_" + std::to_string(N) + "/";
  const auto add = [&](const std::string& name, auto function) {
    benchmark::RegisterBenchmark((prefix + name).c_str(), function);
  };
  const auto add_plain = [&](const char* name, Plain plain) {
    add(name, [plain](benchmark::State& s) {
      Data<M> data(Recorded<M>(), count(M::states, N), 1);
      time_plain(s, plain, data);
    });
  };
  add_plain("plain", PlainModel<M>::template taylor<N>);
  add_plain("plain_unrolled", PlainModel<M>::template taylor_unrolled<N>);
  add("series", run_series<M, N>);
  for (const Backend backend : {Backend::native, Backend::interpreter}) {
    if (backend == Backend::native && !native_code_available()) continue;
    add(backend == Backend::native ? "native/1" : "interpreter/1", [=](benchmark::State& s) {
      const Recorded<M> model;
      Data<M> data(model, count(M::states, N), 1);
      time_program(s, recurrences(model, N, backend), data, 1);
    });
  }
  add("record_lower_and_compile", [](benchmark::State& s) {
    for (auto _ : s) {
      s.PauseTiming();
      const Recorded<M> model;  // its graph grows with every recording
      s.ResumeTiming();
      benchmark::DoNotOptimize(recurrences(model, N, Backend::automatic));
    }
  });
  return true;
}

}  // namespace

bool register_taylor() {
  return register_order<StickSlip, 10>() && register_order<StickSlip, 20>() && register_order<TwoMasses, 10>() &&
         register_order<TwoMasses, 20>() && register_order<Arm, 10>();
}

}  // namespace saltus::bench
