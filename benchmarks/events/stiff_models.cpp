// How fast are small stiff models and the pendulum of index 3, against loops that were written for them?
//
// A converter with a switch and a diode of 0.05 and 1e5 ohm and a parasitic capacitance (three states, stiff, some
// three events in each period); Van der Pol's and Robertson's problems; the pendulum in Cartesian coordinates. Saltus
// gets plain models. Errors: converter, of the last switching in periods; others, of the states at the end.
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstdlib>

#include "by_hand.hpp"
#include "measure.hpp"
#include "problems.hpp"
#include "problems/mechanics.hpp"
#include "stiff_by_hand.hpp"

namespace saltus::bench {
namespace {

/// Buck, with resistances for its switch and its diode.
struct StiffBuck {
  static constexpr int n = 3, guard_count = 2;
  static constexpr double on = 0.05, off = 1e5, parasitic = 1e-9;
  long periods, period = 0, events = 0;
  std::array<double, 3> y{12.0, 0.6, -0.6 * on};
  bool closed, conducts = true, done = false;
  double last_event = 0.0, exact_last = 0.0;

  explicit StiffBuck(long count) : periods(count) {
    closed = Buck::gain * (y[0] - Buck::reference) < Buck::low;
    if (closed) conducts = false, y[2] = Buck::source;
  }
  double stop() const { return static_cast<double>(periods) * Buck::T; }
  double through_switch() const { return 1.0 / (closed ? on : off); }
  double through_diode() const { return 1.0 / (conducts ? on : off); }
  std::array<double, 3> atol(double rtol) const { return {rtol, rtol, rtol}; }
  void rhs(const double* x, double* dx) const {
    dx[0] = (x[1] - x[0] / Buck::R) / Buck::C;
    dx[1] = (x[2] - x[0]) / Buck::L;
    dx[2] = ((Buck::source - x[2]) * through_switch() - x[2] * through_diode() - x[1]) / parasitic;
  }
  void jacobian(const double*, std::array<std::array<double, 3>, 3>& J) const {
    J = {{{-1.0 / (Buck::R * Buck::C), 1.0 / Buck::C, 0.0},
          {-1.0 / Buck::L, 0.0, 1.0 / Buck::L},
          {0.0, -1.0 / parasitic, -(through_switch() + through_diode()) / parasitic}}};
  }
  double guard(double t, const double* x, int k) const {
    if (k == 1) return conducts ? -x[2] : x[2];
    const double over = Buck::gain * (x[0] - Buck::reference) -
                        (Buck::low + (Buck::high - Buck::low) * (t - static_cast<double>(period) * Buck::T) / Buck::T);
    return closed ? -over : over;
  }
  double next_time() const { return static_cast<double>(period + 1) * Buck::T; }
  double on_event(double t, double*, int k) {
    ++events;
    if (k == 1) {
      conducts = !conducts;
      return 0.0;
    }
    closed = !closed;
    last_event = t;
    return 1e-11;  // the node moves within picoseconds
  }
  double on_time(double, double* x) {
    if (++period == periods) {
      done = true;
      return 0.0;
    }
    const bool now = Buck::gain * (x[0] - Buck::reference) < Buck::low;
    if (now == closed) return 0.0;
    ++events;
    closed = now;
    return 1e-11;
  }
  double error(const double*) const { return std::abs(last_event - exact_last) / Buck::T; }

  static Model model() {
    Model m("stiff converter");
    const StiffBuck start(1);
    const Expr v = m.variable("v", start.y[0]), i = m.variable("i", start.y[1]), node = m.variable("node", start.y[2]);
    const Expr ramp = Buck::low + (Buck::high - Buck::low) * mod(m.time(), Buck::T) / Buck::T;
    const Expr through = if_else(Buck::gain * (v - Buck::reference) < ramp, Expr(1.0 / on), Expr(1.0 / off));
    const Expr back = if_else(node < 0.0, Expr(1.0 / on), Expr(1.0 / off));
    m.equation(der(v) == (i - v / Buck::R) / Buck::C);
    m.equation(der(i) == (node - v) / Buck::L);
    m.equation(der(node) == ((Buck::source - node) * through - node * back - i) / parasitic);
    return m;
  }
};

/// A smooth problem: no guards.
template <int size>
struct Smooth {
  static constexpr int n = size, guard_count = 0;
  std::array<double, size> y, reference;
  double end, absolute;
  long events = 0;
  bool done = false;

  std::array<double, size> atol(double rtol) const {
    std::array<double, size> each;
    each.fill(absolute * rtol);
    return each;
  }
  double guard(double, const double*, int) const { return 1.0; }
  double next_time() const { return end; }
  double on_event(double, double*, int) { return 0.0; }
  double on_time(double, double*) {
    done = true;
    return 0.0;
  }
  double error(const double* x) const {
    double largest = 0.0;
    for (int j = 0; j < size; ++j) largest = std::max(largest, std::abs(x[j] / reference[j] - 1.0));
    return largest;
  }
};

struct VanDerPol : Smooth<2> {
  static constexpr double epsilon = 1e-6;
  VanDerPol() : Smooth{{2.0, -0.66}, {1.7061674375431953661488, -8.9281001655110441093853e-01}, 2.0, 1.0} {}
  void rhs(const double* x, double* dx) const {
    dx[0] = x[1];
    dx[1] = ((1.0 - x[0] * x[0]) * x[1] - x[0]) / epsilon;
  }
  void jacobian(const double* x, std::array<std::array<double, 2>, 2>& J) const {
    J = {{{0.0, 1.0}, {(-2.0 * x[0] * x[1] - 1.0) / epsilon, (1.0 - x[0] * x[0]) / epsilon}}};
  }
  static Model model() {
    Model m("Van der Pol");
    const Expr x = m.variable("x", 2.0), v = m.variable("v", -0.66);
    m.equation(der(x) == v);
    m.equation(der(v) == ((1.0 - x * x) * v - x) / epsilon);
    return m;
  }
};

struct Robertson : Smooth<3> {
  Robertson()
      : Smooth{{1.0, 0.0, 0.0},
               {5.2083451767992339041511e-08, 2.0833381779254869171128e-13, 9.9999994791633989818987e-01},
               4e10,
               1e-10} {}
  void rhs(const double* x, double* dx) const {
    dx[0] = -0.04 * x[0] + 1e4 * x[1] * x[2];
    dx[2] = 3e7 * x[1] * x[1];
    dx[1] = -dx[0] - dx[2];
  }
  void jacobian(const double* x, std::array<std::array<double, 3>, 3>& J) const {
    J = {{{-0.04, 1e4 * x[2], 1e4 * x[1]}, {0.04, -1e4 * x[2] - 6e7 * x[1], -1e4 * x[1]}, {0.0, 6e7 * x[1], 0.0}}};
  }
  static Model model() {
    Model m("Robertson");
    const Expr a = m.variable("a", 1.0), b = m.variable("b", 0.0), c = m.variable("c", 0.0);
    const Expr first = 0.04 * a, second = 1e4 * b * c, third = 3e7 * b * b;
    m.equation(der(a) == second - first);
    m.equation(der(b) == first - second - third);
    m.equation(der(c) == third);
    return m;
  }
};

/// Position and speed, put back onto the circle behind every step: dopri5 on the form that a user would derive.
struct Pendulum {
  static constexpr int n = 4;
  static constexpr double gravity = 9.81;
  double end;
  std::array<double, 4> y{1.0, 0.0, 0.0, 0.0};

  static void rhs(const double* x, double* dx) {
    const double pull = (x[2] * x[2] + x[3] * x[3] - gravity * x[1]) / (x[0] * x[0] + x[1] * x[1]);
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = -pull * x[0];
    dx[3] = -pull * x[1] - gravity;
  }
  static void project(std::array<double, 4>& x) {
    const double length = std::sqrt(x[0] * x[0] + x[1] * x[1]);
    x[0] /= length;
    x[1] /= length;
    const double along = x[0] * x[2] + x[1] * x[3];
    x[2] -= along * x[0];
    x[3] -= along * x[1];
  }
  Work run(double rtol, const std::vector<double>& exact) const {
    Work work;
    HandStep<4> step;
    const auto f = [&](double, const double* x, double* dx) {
      ++work.evaluations;
      rhs(x, dx);
    };
    step.x = y;
    double t = 0.0, h = 1e-3;
    while (t < end) {
      f(t, step.x.data(), step.k[0].data());
      const bool last = t + 1.0000001 * h >= end;
      const double size = last ? end - t : h, error = step.error_of(f, t, size, rtol, rtol);
      h = size * std::clamp(0.9 * fifth_root_inverse(std::max(error, 1e-8)), 0.2, 5.0);
      if (error > 1.0) continue;
      ++work.steps;
      step.x = step.end;
      project(step.x);
      t = last ? end : t + size;
    }
    for (int j = 0; j < 2; ++j) work.error = std::max(work.error, std::abs(step.x[j] - exact[j]));
    return work;
  }
  static Model model() {
    Model m("pendulum");
    const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
               pull = m.variable("pull", 0.0);
    m.equation(der(x) == u);
    m.equation(der(y) == v);
    m.equation(der(u) == -pull * x);
    m.equation(der(v) == -pull * y - gravity);
    m.equation(x * x + y * y == 1.0);
    return m;
  }
};

Work work_of(const Trajectory& run) {
  const RunStatistics& s = run.statistics();
  Work work{s.steps, s.evaluations, 0, static_cast<long>(s.events)};
  work.note = run.status().ok() ? s.method : run.status().message;
  return work;
}

void circuit(long periods, int rounds) {
  const auto model = std::make_shared<CompiledModel>(StiffBuck::model());
  StiffBuck p(periods);
  const auto options = [&](double rtol, Method method) {
    return SimulateOptions{.stop = p.stop(), .rtol = rtol, .atol = rtol, .method = method, .keep_steps = false};
  };
  const auto last_switching = [&](const Trajectory& run) {
    for (auto e = run.events().rbegin(); e != run.events().rend(); ++e)
      if (e->kind != EventKind::time && e->guards.front().find("node") == std::string::npos) return e->t;
    return 0.0;
  };
  p.exact_last = last_switching(simulate(model, options(1e-11, Method::radau)));
  for (const double rtol : {1e-4, 1e-6}) {
    Table table;
    for (const Method method : {Method::automatic, Method::rodas4, Method::rodas5p, Method::radau})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        const double begin = cpu_seconds();
        const Trajectory run = simulate(model, options(rtol, method));
        const double seconds = cpu_seconds() - begin;
        Work work = work_of(run);
        work.seconds = seconds;
        work.error = std::abs(last_switching(run) - p.exact_last) / Buck::T;
        return work;
      });
    table.add("by hand, rodas4", [=] { return run_stiff_by_hand(p, rtol, 1e-9); });
    table.run("stiff converter", rtol, rounds);
  }
}

template <class Problem>
void smooth(const char* name, int rounds) {
  const auto model = std::make_shared<CompiledModel>(Problem::model());
  const Problem p;
  for (const double rtol : {1e-4, 1e-5, 1e-6, 1e-7, 1e-8}) {
    Table table;
    for (const Method method : {Method::automatic, Method::rodas4, Method::rodas5p, Method::radau})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        const Trajectory run = simulate(
            model, {.stop = p.end, .rtol = rtol, .atol = p.absolute * rtol, .method = method, .keep_steps = false});
        Work work = work_of(run);
        work.error = p.error(run.final().data());
        return work;
      });
    table.add("by hand, rodas4", [=] { return run_stiff_by_hand(p, rtol, 1e-8); });
    table.run(name, rtol, rounds);
  }
}

void pendulum(double end, int rounds) {
  const auto model = std::make_shared<CompiledModel>(Pendulum::model());
  const std::vector<double>& exact = end == 10.0 ? problems::pendulum_reference : problems::pendulum_reference_at_100;
  for (const double rtol : {1e-4, 1e-5, 1e-6, 1e-7}) {
    Table table;
    for (const Method method : {Method::automatic, Method::radau})
      table.add("Saltus " + std::string(to_string(method)), [=] {
        const Trajectory run =
            simulate(model, {.stop = end, .rtol = rtol, .atol = rtol, .method = method, .keep_steps = false});
        Work work = work_of(run);
        for (std::size_t j = 0; j < 2; ++j) work.error = std::max(work.error, std::abs(run.final()[j] - exact[j]));
        return work;
      });
    table.add("by hand, dopri5", [=] { return Pendulum{end}.run(rtol, exact); });
    table.run("pendulum to " + std::to_string(static_cast<int>(end)), rtol, rounds);
  }
}

}  // namespace
}  // namespace saltus::bench

/// Arguments: rounds (5), and a divisor of the periods of the converter (1) for a quick look.
int main(int argc, char** argv) {
  constexpr const char* usage = "[ROUNDS [PART]]";
  const int rounds = static_cast<int>(saltus::bench::argument(argc, argv, 1, 5, usage));
  const long part = static_cast<long>(saltus::bench::argument(argc, argv, 2, 1, usage));
  saltus::bench::Table::header();
  saltus::bench::circuit(5000 / part, rounds);
  saltus::bench::smooth<saltus::bench::VanDerPol>("Van der Pol", rounds);
  saltus::bench::smooth<saltus::bench::Robertson>("Robertson", rounds);
  saltus::bench::pendulum(10.0, rounds);
  saltus::bench::pendulum(100.0, rounds);
}
