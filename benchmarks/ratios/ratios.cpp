// One of five problems, by the library or by the loop that a careful programmer writes for it: saltus_ratios PROBLEM
// WHO
//
// scripts/check_ratios.py counts the instructions of `counted` in both. Their ratio is what generality costs; it does
// not depend on the load of a machine, and hardly on the machine.
#include <fmt/format.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/saltus.hpp>

#include <functional>
#include <string_view>

#include "by_hand.hpp"
#include "friction.hpp"
#include "problems.hpp"

namespace saltus::bench {
namespace {

/// Steps alone.
struct Oscillator {
  static constexpr int n = 2;
  static constexpr double end = 2000.0, longest_step = std::numeric_limits<double>::infinity();
  std::array<double, 2> y{1.0, 0.0};
  long events = 0;
  double reached = 0.0;
  bool done = false;

  double stop() const { return end; }
  void rhs(double, const double* x, double* dx) const {
    dx[0] = x[1];
    dx[1] = -x[0];
  }
  double guard(double, const double*) const { return 1.0; }
  double next_time() const { return end; }
  void on_event(double, double*) {}
  void on_time(double, double* x) {
    reached = x[0];
    done = true;
  }
  double error() const { return std::abs(reached - std::cos(end)); }

  static Model model() {
    Model m("oscillator");
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == v);
    m.equation(der(v) == -x);
    return m;
  }
};

/// What a run has found; the value is one that needs all of its steps.
struct Result {
  long events = -1;
  double value = 0.0;
};
/// A run, without its preparation.
using Run = std::function<Result()>;

template <class Automaton>
Run prepared(const Automaton& p, const Model& model, double stop, bool by_hand, double first_step) {
  constexpr double rtol = 1e-6;
  if (by_hand)
    return [=] {
      const Work work = run_by_hand(p, rtol, rtol, first_step);
      return Result{work.events, work.error};
    };
  const auto compiled = std::make_shared<CompiledModel>(model);
  return [=] {
    const Trajectory run =
        simulate(compiled, {.stop = stop, .rtol = rtol, .atol = rtol, .method = Method::dopri5, .keep_steps = false});
    return run.status().ok() ? Result{static_cast<long>(run.statistics().events), run.final()[0]} : Result{};
  };
}

Run find(std::string_view problem, bool by_hand) {
  if (problem == "steps") return prepared(Oscillator(), Oscillator::model(), Oscillator::end, by_hand, 1e-3);
  if (problem == "ball") return prepared(Ball(2000), Ball::model(), Ball(2000).stop(), by_hand, 1e-3);
  if (problem == "buck") return prepared(Buck(2000), Buck::model(), Buck(2000).stop(), by_hand, 1e-6);
  if (problem == "sampled") return prepared(Sampled(2000), Sampled::model(), Sampled(2000).stop(), by_hand, 1e-3);
  if (problem == "friction") {
    Model model = friction_model();
    model.set("w", 1.0 / 3.0);
    const Friction p(0.4, 1.0 / 3.0, 200);
    return prepared(p, model, p.end, by_hand, 1e-3);
  }
  return {};
}

}  // namespace
}  // namespace saltus::bench

extern "C" [[gnu::noinline]] void counted(const saltus::bench::Run& run, saltus::bench::Result& result) {
  result = run();
}

int main(int argc, char** argv) {
  const std::string_view who = argc == 3 ? argv[2] : "";
  const saltus::bench::Run run =
      who == "library" || who == "hand" ? saltus::bench::find(argv[1], who == "hand") : saltus::bench::Run();
  if (!run) {
    fmt::print(stderr, "usage: {} steps|ball|buck|sampled|friction library|hand\n", argv[0]);
    return 2;
  }
  saltus::bench::Result result;
  counted(run, result);
  fmt::print("{} events, {:.6g}\n", result.events, result.value);
  return result.events < 0 ? 1 : 0;
}
