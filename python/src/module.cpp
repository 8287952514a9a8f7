// The module saltus._core. What is comfort (plots, tables, solve_ivp) is written in Python on top of it.
#include <pybind11/stl.h>
#include <saltus/base/names.hpp>
#include <saltus/base/version.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include "bindings.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

py::list describe(const Diagnostics& diagnostics) {
  py::list items;
  for (const Diagnostic& d : diagnostics.items()) {
    py::dict item;
    item["file"] = d.where.file;
    item["line"] = d.where.line;
    item["column"] = d.where.column;
    item["message"] = d.message;
    item["hint"] = d.hint;
    items.append(item);
  }
  return items;
}

/// Error <- UsageError (a ValueError, too), ModelError <- ModelicaError, as in C++.
void add_errors(py::module_& m) {
  static py::exception<Error> error(m, "Error", PyExc_RuntimeError);
  static py::exception<UsageError> usage_error(m, "UsageError", py::make_tuple(error, py::handle(PyExc_ValueError)));
  static py::exception<ModelError> model_error(m, "ModelError", error);
  static py::exception<ModelicaError> modelica_error(m, "ModelicaError", model_error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const ModelicaError& e) {
      py::object value = py::reinterpret_borrow<py::object>(modelica_error)(e.what());
      value.attr("diagnostics") = describe(e.diagnostics());
      PyErr_SetObject(modelica_error.ptr(), value.ptr());
    } catch (const ModelError& e) {
      model_error(e.what());
    } catch (const UsageError& e) {
      usage_error(e.what());
    } catch (const Error& e) {
      error(e.what());
    }
  });
}

/// The spellings of names that the command line and C++ understand, too.
class Names {
 public:
  explicit Names(std::vector<std::string> names) : names_(std::move(names)), table_(names_) {}
  const NameTable& table() const { return table_; }

 private:
  std::vector<std::string> names_;
  NameTable table_;
};

void add_names(py::module_& m) {
  py::class_<Names>(m, "Names")
      .def(py::init<std::vector<std::string>>(), py::arg("names"))
      .def_static(
          "base", [](const std::string& text) { return read_name(text).name; }, py::arg("text"))
      .def(
          "find", [](const Names& names, const std::string& text) { return names.table().find(text); }, py::arg("text"))
      .def(
          "find_settable",
          [](const Names& names, const std::string& text) { return names.table().find_settable(text); },
          py::arg("text"))
      .def(
          "find_all", [](const Names& names, const std::string& text) { return names.table().find_all(text); },
          py::arg("text"))
      .def(
          "hint", [](const Names& names, const std::string& text) { return names.table().hint(text); },
          py::arg("text"));
}

}  // namespace
}  // namespace saltus::python

PYBIND11_MODULE(_core, m) {
  using namespace saltus::python;
  m.doc() = "The compiled part of saltus";
  m.attr("__version__") = std::string(saltus::version());
  add_errors(m);
  add_names(m);
  add_expressions(m);
  add_models(m);
  add_fmus(m);
  add_inputs(m);
  add_runs(m);
  add_sensitivities(m);
  add_gradients(m);
  add_fits(m);
  add_optima(m);
  add_cycles(m);
  add_questions(m);
  add_stepping(m);
  add_studies(m);
  add_callbacks(m);
  add_command_line(m);
}
