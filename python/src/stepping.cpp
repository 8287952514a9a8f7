// Simulator: a run in steps.
#include <pybind11/stl.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "descriptions.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

/// A Simulator that serves one thread at a time. It goes on without the interpreter lock, so another thread, or a
/// function of the run itself, could use it in the middle of a step: such calls are refused.
class Stepping {
 public:
  explicit Stepping(Simulator run) : run_(std::move(run)) {}
  static std::unique_ptr<Stepping> begin(const std::shared_ptr<HybridSystem>& system, const SimulateOptions& options,
                                         const SimulatorState* from) {
    return unlocked([&] {
      return std::make_unique<Stepping>(from ? Simulator(system, options, *from) : Simulator(system, options));
    });
  }
  bool step() {
    return alone([&] { return run_.step(); });
  }
  bool advance_to(double t) {
    return alone([&] { return run_.advance_to(t); });
  }
  void finish() {
    alone([&] {
      run_.run();
      return true;
    });
  }
  void set_inputs(const std::map<std::string, std::pair<double, double>>& values) {
    std::vector<InputChange> changes;
    for (const auto& [name, change] : values) changes.push_back({name, change.first, change.second});
    alone([&] {
      run_.set_inputs(changes);
      return true;
    });
  }
  std::unique_ptr<Stepping> fork() const { return std::make_unique<Stepping>(run().fork()); }
  void forget_past() {
    run();
    run_.forget_past();
  }
  const Simulator& run() const {
    if (busy_)
      throw UsageError("this run is in the middle of a step, in another thread or in a function that it calls");
    return run_;
  }

 private:
  /// Works without the interpreter lock. `busy_` changes with the lock only.
  template <class Work>
  bool alone(Work&& work) {
    run();
    struct Busy {
      explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
      ~Busy() { flag_ = false; }
      bool& flag_;
    } const busy(busy_);
    return unlocked(std::forward<Work>(work));
  }

  Simulator run_;
  bool busy_ = false;
};

}  // namespace

void add_stepping(py::module_& m) {
  py::class_<Stepping>(m, "Simulator")
      .def(py::init([](const std::shared_ptr<HybridSystem>& system, const py::dict& options,
                       const SimulatorState* from) { return Stepping::begin(system, read_options(options), from); }),
           py::arg("system"), py::arg("options"), py::arg("from_state").none(true) = py::none())
      .def("step", &Stepping::step)
      .def("advance_to", &Stepping::advance_to, py::arg("t"))
      .def("finish", &Stepping::finish)
      .def("set_inputs", &Stepping::set_inputs, py::arg("values"))
      .def("forget_past", &Stepping::forget_past)
      .def("fork", &Stepping::fork)
      .def("state", [](const Stepping& s) { return s.run().state(); })
      .def_property_readonly("t", [](const Stepping& s) { return s.run().t(); })
      .def_property_readonly(
          "values", [](const Stepping& s) { return named(s.run().values(), s.run().trajectory().variables()); })
      .def_property_readonly("finished", [](const Stepping& s) { return s.run().finished(); })
      .def_property_readonly("status", [](const Stepping& s) { return describe(s.run().status()); })
      .def_property_readonly("result",
                             [](const Stepping& s) { return std::make_shared<Trajectory>(s.run().trajectory()); });
}

}  // namespace saltus::python
