// The parts of the module, one function for each source file.
#pragma once

#include <pybind11/pybind11.h>
#include <saltus/model/model.hpp>

namespace saltus::python {

void add_expressions(pybind11::module_& m);
void add_models(pybind11::module_& m);
void add_array_models(pybind11::module_& m, pybind11::class_<Model>& model);
void add_fmus(pybind11::module_& m);
void add_inputs(pybind11::module_& m);
void add_runs(pybind11::module_& m);
void add_sensitivities(pybind11::module_& m);
void add_gradients(pybind11::module_& m);
void add_fits(pybind11::module_& m);
void add_optima(pybind11::module_& m);
void add_cycles(pybind11::module_& m);
void add_questions(pybind11::module_& m);
void add_stepping(pybind11::module_& m);
void add_studies(pybind11::module_& m);
void add_callbacks(pybind11::module_& m);
void add_command_line(pybind11::module_& m);

}  // namespace saltus::python
