// Gradients by the adjoint: from the terms of a functional to its value and derivatives.
#include <saltus/sens/adjoint.hpp>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "functionals.hpp"
#include "interpreter.hpp"
#include "options.hpp"

namespace py = pybind11;

namespace saltus::python {

Functional functional_of(const std::vector<Term>& terms) {
  Functional sum;
  for (const auto& [kind, weight, value, event, number] : terms) {
    const auto of = [&](auto make) { return std::visit([&](const auto& v) { return make(v); }, value); };
    if (kind == "final_value")
      sum += weight * of([](const auto& v) { return final_value(v); });
    else if (kind == "integral")
      sum += weight * of([](const auto& v) { return integral(v); });
    else if (kind == "event_time")
      sum += weight * event_time(event, number);
    else if (const auto* expression = std::get_if<Expr>(&value))
      sum += weight * sum_over_events(event, *expression);
    else
      throw UsageError("sum_over_events needs an expression of a Model, not text, where the model is compiled");
  }
  return sum;
}

void add_gradients(py::module_& m) {
  m.def(
      "gradient",
      [](const CompiledModel& model, const std::vector<Term>& terms, const std::vector<std::string>& parameters,
         const py::dict& options, std::size_t memory) {
        const SimulateOptions read = read_options_of_search(options);
        const Functional functional = functional_of(terms);
        FunctionalGradient g =
            unlocked([&] { return gradient(model, functional, parameters, read, {.memory = memory}); });
        py::dict d;
        d["value"] = g.value;
        d["parameters"] = g.parameters;
        d["derivatives"] = array_of(g.derivatives);
        d["why"] = g.why;
        d["steps"] = g.steps;
        d["pieces"] = g.pieces;
        d["run"] = std::make_shared<Trajectory>(std::move(g.trajectory));
        return d;
      },
      py::arg("model"), py::arg("terms"), py::arg("parameters"), py::arg("options"), py::arg("memory"));
}

}  // namespace saltus::python
