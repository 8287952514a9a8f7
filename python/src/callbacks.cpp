// y' = fun(t, y) with event functions, called back: for functions that cannot be recorded.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/stl.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>
#include <optional>

#include "bindings.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// The functions of a problem in SciPy's form.
struct Functions {
  py::function fun;
  std::vector<py::function> events;
  std::optional<py::function> jacobian;
};

/// Values go to Python as fresh arrays: a function may keep them.
py::array_t<double> array(std::span<const double> x) {
  return py::array_t<double>(static_cast<py::ssize_t>(x.size()), x.data());
}

/// What a function returned, as real numbers; nothing if it is something else.
std::optional<Numbers> real_numbers(const py::object& value) {
  const auto any = py::array::ensure(value);
  if (any && any.dtype().kind() == 'c')
    throw UsageError("complex values are not supported; write real and imaginary parts as two states");
  const auto numbers = any ? Numbers::ensure(any) : Numbers();
  PyErr_Clear();
  return numbers ? std::optional(numbers) : std::nullopt;
}

class CallbackSystem final : public System {
 public:
  CallbackSystem(const Functions& functions, int n) : functions_(functions), base_(n), moved_(n), point_(n) {
    std::vector<std::pair<int, int>> full, diagonal;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) full.emplace_back(i, j);
      diagonal.emplace_back(j, j);
    }
    structure_.variables = structure_.equations = n;
    structure_.guards = static_cast<int>(functions_.events.size());
    structure_.state_pattern = make_pattern(n, n, full);
    structure_.derivative_pattern = make_pattern(n, n, diagonal);
    structure_.explicit_ode = structure_.constant_mass = true;
    structure_.guards_read_xp = false;
  }

  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return "y[" + std::to_string(j) + "]"; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const py::gil_scoped_acquire acquire;
    const auto y = real_numbers(functions_.fun(t, array(x)));
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
    if (functions_.jacobian)
      given_jacobian(t, x, Fx);
    else
      differences(t, x, Fx);
  }
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    if (functions_.events.empty()) return;
    const py::gil_scoped_acquire acquire;
    const auto y = array(x);
    for (std::size_t k = 0; k < g.size(); ++k) {
      const auto value = real_numbers(functions_.events[k](t, y));
      if (!value || value->size() != 1) throw UsageError("event functions must return one number");
      g[k] = *value->data();
    }
  }

 private:
  void given_jacobian(double t, std::span<const double> x, std::span<double> Fx) {
    const py::gil_scoped_acquire acquire;
    const auto J = real_numbers((*functions_.jacobian)(t, array(x)));
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

  const Functions& functions_;
  Structure structure_;
  std::vector<double> base_, moved_, point_;
};

/// Guards with SciPy's attributes: the direction in which a zero counts, and after how many the run ends (0: never).
class CallbackProblem final : public HybridSystem {
 public:
  CallbackProblem(Functions functions, const std::vector<double>& y0, std::vector<int> directions,
                  std::vector<int> terminals)
      : functions_(std::move(functions)),
        system_(functions_, static_cast<int>(y0.size())),
        directions_(std::move(directions)),
        terminals_(std::move(terminals)),
        counts_(functions_.events.size(), 0) {
    for (std::size_t j = 0; j < y0.size(); ++j)
      variables_.push_back({.name = "y[" + std::to_string(j) + "]", .start = y0[j], .fixed = true});
    for (std::size_t k = 0; k < functions_.events.size(); ++k)
      guards_.push_back({.name = "event " + std::to_string(k), .rule = SurfaceRule::crossing});
  }
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override {
    const std::vector<double> above(guards_.size(), 1.0);
    return {.locks = above, .conditions = above};
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
    for (std::size_t k = 0; k < guards_.size(); ++k) {
      if (mode.conditions[k] == mode.locks[k]) continue;
      mode.conditions[k] = mode.locks[k];
      acted = true;
      if (directions_[k] != 0 && (directions_[k] > 0) != (mode.locks[k] > 0.0)) continue;
      transition.recorded = true;
      transition.fired.push_back(guards_[k].name);
      if (terminals_[k] > 0 && ++counts_[k] >= terminals_[k]) {
        transition.terminate = true;
        transition.message = guards_[k].name + " ended the run";
      }
    }
    return acted;
  }

 private:
  std::string name_ = "solve_ivp";
  Functions functions_;
  CallbackSystem system_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_;
  std::vector<int> directions_, terminals_, counts_;
};

}  // namespace

void add_callbacks(py::module_& m) {
  m.def(
      "run_callbacks",
      [](py::function fun, const std::vector<double>& y0, std::vector<py::function> events, std::vector<int> directions,
         std::vector<int> terminals, std::optional<py::function> jacobian, const py::dict& options) {
        auto problem =
            std::make_shared<CallbackProblem>(Functions{std::move(fun), std::move(events), std::move(jacobian)}, y0,
                                              std::move(directions), std::move(terminals));
        return run_system(std::move(problem), read_options(options));
      },
      py::arg("fun"), py::arg("y0"), py::arg("events"), py::arg("directions"), py::arg("terminals"),
      py::arg("jacobian"), py::arg("options"));
}

}  // namespace saltus::python
