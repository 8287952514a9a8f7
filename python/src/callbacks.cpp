// y' = fun(t, y) with event functions, called back: for functions that cannot be recorded.
#include <pybind11/stl.h>
#include <saltus/base/error.hpp>
#include <saltus/dae/hybrid_system.hpp>
#include <saltus/dae/system.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "interpreter.hpp"
#include "options.hpp"
#include "runs.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

/// A problem in SciPy's form. Nothing in it changes during a run.
struct IvpProblem {
  std::string name = "solve_ivp";
  Callback fun;
  std::vector<Callback> events;
  std::optional<Callback> jacobian;
  std::vector<int> directions;  ///< of an event: in which direction a zero counts; 0: in both
  std::vector<int> terminals;   ///< of an event: after how many the run ends; 0: never
  std::vector<VariableInfo> variables;
  std::vector<GuardInfo> guards;
};

/// What a function returned, as real numbers; nothing if it is something else.
std::optional<Numbers> real_numbers(const py::object& value) {
  const auto any = py::array::ensure(value);
  if (any && any.dtype().kind() == 'c')
    throw UsageError("complex values are not supported; write real and imaginary parts as two states");
  const auto numbers = any ? Numbers::ensure(any) : Numbers();
  PyErr_Clear();
  return numbers ? std::optional(numbers) : std::nullopt;
}

/// The functions of a problem. They get fresh arrays, which they may keep.
class CallbackSystem final : public System {
 public:
  explicit CallbackSystem(std::shared_ptr<const IvpProblem> problem)
      : problem_(std::move(problem)),
        base_(problem_->variables.size()),
        moved_(problem_->variables.size()),
        point_(problem_->variables.size()) {
    const int n = static_cast<int>(problem_->variables.size());
    std::vector<std::pair<int, int>> full, diagonal;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) full.emplace_back(i, j);
      diagonal.emplace_back(j, j);
    }
    structure_.variables = structure_.equations = n;
    structure_.guards = static_cast<int>(problem_->events.size());
    structure_.state_pattern = make_pattern(n, n, full);
    structure_.derivative_pattern = make_pattern(n, n, diagonal);
    structure_.explicit_ode = structure_.constant_mass = true;
    structure_.guards_read_xp = false;
  }

  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return problem_->variables[static_cast<std::size_t>(j)].name; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const py::gil_scoped_acquire acquire;
    const auto y = real_numbers(problem_->fun(t, array_of(x)));
    if (!y || static_cast<std::size_t>(y->size()) != xp.size())
      throw UsageError("fun(t, y) must return " + std::to_string(xp.size()) + " numbers");
    std::copy_n(y->data(), xp.size(), xp.begin());
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    rhs(t, x, F);
    for (std::size_t i = 0; i < F.size(); ++i) F[i] = xp[i] - F[i];
  }
  void jacobian(double t, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    std::fill(Fxp.begin(), Fxp.end(), 1.0);
    if (problem_->jacobian)
      given_jacobian(t, x, Fx);
    else
      differences(t, x, Fx);
  }
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    if (problem_->events.empty()) return;
    const py::gil_scoped_acquire acquire;
    const auto y = array_of(x);
    for (std::size_t k = 0; k < g.size(); ++k) {
      const auto value = real_numbers(problem_->events[k](t, y));
      if (!value || value->size() != 1) throw UsageError("event functions must return one number");
      g[k] = *value->data();
    }
  }

 private:
  void given_jacobian(double t, std::span<const double> x, std::span<double> Fx) {
    const py::gil_scoped_acquire acquire;
    const auto J = real_numbers((*problem_->jacobian)(t, array_of(x)));
    if (!J || static_cast<std::size_t>(J->size()) != Fx.size())
      throw UsageError("jac(t, y) must return a square matrix, one row for each equation");
    const std::size_t n = x.size();
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) Fx[j * n + i] = -J->data()[i * n + j];
  }
  void differences(double t, std::span<const double> x, std::span<double> Fx) {
    const std::size_t n = x.size();
    rhs(t, x, base_);
    std::copy(x.begin(), x.end(), point_.begin());
    for (std::size_t j = 0; j < n; ++j) {
      const double h = std::sqrt(std::numeric_limits<double>::epsilon()) * std::max(std::abs(x[j]), 1e-3);
      point_[j] = x[j] + h;
      rhs(t, point_, moved_);
      point_[j] = x[j];
      for (std::size_t i = 0; i < n; ++i) Fx[j * n + i] = -(moved_[i] - base_[i]) / h;
    }
  }

  std::shared_ptr<const IvpProblem> problem_;
  Structure structure_;
  std::vector<double> base_, moved_, point_;
};

/// The modes of a problem: the sides of its event functions, and how often the functions fired (Mode::discrete).
class CallbackFamily final : public HybridSystem {
 public:
  explicit CallbackFamily(std::shared_ptr<const IvpProblem> problem)
      : problem_(std::move(problem)), system_(problem_) {}

  std::unique_ptr<HybridSystem> instance() const override { return std::make_unique<CallbackFamily>(problem_); }
  const std::string& name() const override { return problem_->name; }
  const std::vector<VariableInfo>& variables() const override { return problem_->variables; }
  const std::vector<GuardInfo>& guards() const override { return problem_->guards; }
  Mode initial_mode() const override {
    const std::vector<double> above(guards().size(), 1.0);
    return {.discrete = std::vector<double>(guards().size(), 0.0), .locks = above, .conditions = above};
  }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { return system_; }
  bool same_equations(const Mode&, const Mode&) const override { return true; }
  int side(const Mode& mode, int guard) const override {
    return mode.locks[static_cast<std::size_t>(guard)] > 0.0 ? 1 : -1;
  }
  void set_side(Mode& mode, int guard, int side) const override {
    mode.locks[static_cast<std::size_t>(guard)] = side > 0 ? 1.0 : 0.0;
  }
  /// Mode::conditions hold the sides of the round before.
  bool transition(const EventInput& input, Transition& transition) override {
    Mode& mode = transition.mode;
    if (input.initial) {
      mode.conditions = mode.locks;
      return false;
    }
    bool acted = false;
    for (std::size_t k = 0; k < guards().size(); ++k) {
      if (mode.conditions[k] == mode.locks[k]) continue;
      mode.conditions[k] = mode.locks[k];
      acted = true;
      const int direction = problem_->directions[k], terminal = problem_->terminals[k];
      if (direction != 0 && (direction > 0) != (mode.locks[k] > 0.0)) continue;
      transition.recorded = true;
      transition.fired.push_back(guards()[k].name);
      mode.discrete[k] += 1.0;
      if (terminal > 0 && mode.discrete[k] >= terminal) {
        transition.terminate = true;
        transition.message = guards()[k].name + " ended the run";
      }
    }
    return acted;
  }

 private:
  std::shared_ptr<const IvpProblem> problem_;
  CallbackSystem system_;
};

IvpProblem make_problem(py::function fun, const std::vector<double>& y0, const std::vector<py::function>& events,
                        std::vector<int> directions, std::vector<int> terminals,
                        const std::optional<py::function>& jacobian) {
  IvpProblem problem{.fun = Callback(std::move(fun)),
                     .events = {},
                     .jacobian = {},
                     .directions = std::move(directions),
                     .terminals = std::move(terminals),
                     .variables = {},
                     .guards = {}};
  if (jacobian) problem.jacobian.emplace(*jacobian);
  for (std::size_t j = 0; j < y0.size(); ++j)
    problem.variables.push_back({.name = "y[" + std::to_string(j) + "]", .start = y0[j], .fixed = true});
  for (std::size_t k = 0; k < events.size(); ++k) {
    problem.events.emplace_back(events[k]);
    problem.guards.push_back({.name = "event " + std::to_string(k), .rule = SurfaceRule::crossing});
  }
  return problem;
}

}  // namespace

void add_callbacks(py::module_& m) {
  m.def(
      "run_callbacks",
      [](py::function fun, const std::vector<double>& y0, const std::vector<py::function>& events,
         std::vector<int> directions, std::vector<int> terminals, const std::optional<py::function>& jacobian,
         const py::dict& options) {
        auto problem = std::make_shared<const IvpProblem>(
            make_problem(std::move(fun), y0, events, std::move(directions), std::move(terminals), jacobian));
        return run_system(std::make_shared<CallbackFamily>(std::move(problem)), read_options(options));
      },
      py::arg("fun"), py::arg("y0"), py::arg("events"), py::arg("directions"), py::arg("terminals"),
      py::arg("jacobian"), py::arg("options"));
}

}  // namespace saltus::python
