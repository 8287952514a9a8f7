// Arrays of variables and loops over them.
#include <pybind11/functional.h>
#include <pybind11/operators.h>
#include <pybind11/stl.h>
#include <saltus/model/compile.hpp>
#include <saltus/model/model.hpp>

#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bindings.hpp"

namespace saltus::python {

namespace py = pybind11;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Sizes = std::variant<int, std::vector<int>>;

ArraySize size_of(const Sizes& sizes) {
  if (const int* n = std::get_if<int>(&sizes)) return *n;
  ArraySize size(0);
  size.dims = std::get<std::vector<int>>(sizes);
  return size;
}

/// A number of passes, or (first, end).
using Range = std::variant<int, std::pair<int, int>>;

IndexRange range_of(const Range& range) {
  if (const int* n = std::get_if<int>(&range)) return *n;
  const auto& [first, end] = std::get<std::pair<int, int>>(range);
  return {first, end};
}

template <class Elements>
auto element(const Elements& array, const py::object& subscripts) {
  if (!py::isinstance<py::tuple>(subscripts)) return array[subscripts.cast<Index>()];
  const auto all = subscripts.cast<std::vector<Index>>();
  if (all.size() == 1) return array[all[0]];
  if (all.size() != 2) throw UsageError("arrays have one or two subscripts");
  return array(all[0], all[1]);
}

using Starts = std::variant<double, std::vector<double>>;

Array make_array(Model& m, const std::string& name, const Sizes& size, const Starts& start, bool fixed, double nominal,
                 double min, double max, const std::string& unit, const std::string& description) {
  const VariableOptions options{
      .fixed = fixed, .nominal = nominal, .min = min, .max = max, .unit = unit, .description = description};
  if (const double* one = std::get_if<double>(&start)) return m.array(name, size_of(size), *one, options);
  return m.array(name, size_of(size), std::get<std::vector<double>>(start), options);
}

}  // namespace

void add_array_models(py::module_& m, py::class_<Model>& model) {
  py::class_<Index>(m, "Index", "A whole number of a loop: subscripts are made of it.")
      .def(py::init<int>(), py::arg("value"))
      .def(py::self + py::self)
      .def(py::self - py::self)
      .def(py::self * py::self)
      .def(-py::self)
      .def("__radd__", [](const Index& a, int b) { return Index(b) + a; })
      .def("__rsub__", [](const Index& a, int b) { return Index(b) - a; })
      .def("__rmul__", [](const Index& a, int b) { return Index(b) * a; })
      .def("number", &Index::number, "Its value in expressions.")
      .def(
          "__eq__",
          [](const Index&, const py::object&) -> bool {
            throw UsageError(
                "an index has no value while the body of a loop is written, so it cannot be compared: write loops over "
                "parts of the range, or subscripts with clip");
          })
      .def(
          "clip", [](const Index& i, const Index& low, const Index& high) { return min(max(i, low), high); },
          py::arg("low"), py::arg("high"), "The nearest number from low to high.");
  py::implicitly_convertible<int, Index>();
  m.attr("Index").attr("__hash__") = py::none();
  py::class_<Array>(m, "Array", "Variables, discrete variables or parameters with one name.")
      .def("__getitem__", &element<Array>, py::arg("subscripts"))
      .def("__len__", &Array::size)
      .def_property_readonly("elements", &Array::elements, "All of them, for sums.");
  py::class_<BoolArray>(m, "BoolArray", "Truth values with one name.")
      .def("__getitem__", &element<BoolArray>, py::arg("subscripts"))
      .def("__len__", &BoolArray::size);
  model
      .def("array", &make_array, py::arg("name"), py::arg("size"), py::arg("start") = 0.0, py::kw_only(),
           py::arg("fixed") = false, py::arg("nominal") = 1.0, py::arg("min") = -infinity, py::arg("max") = infinity,
           py::arg("unit") = "", py::arg("description") = "",
           "Variables name[0], name[1], …; size is a number or (rows, columns), start one number for all or a list.")
      .def(
          "parameter_array",
          [](Model& s, const std::string& name, std::vector<double> values) {
            return s.parameter_array(name, std::move(values));
          },
          py::arg("name"), py::arg("values"))
      .def(
          "discrete_array",
          [](Model& s, const std::string& name, const Sizes& size, bool start) {
            return s.discrete_array(name, size_of(size), start);
          },
          py::arg("name"), py::arg("size"), py::arg("start").noconvert())
      .def(
          "discrete_array",
          [](Model& s, const std::string& name, const Sizes& size, double start) {
            return s.discrete_array(name, size_of(size), start);
          },
          py::arg("name"), py::arg("size"), py::arg("start") = 0.0)
      .def(
          "for_each",
          [](Model& s, const Range& range, const std::function<void(const Index&)>& body) {
            s.for_each(range_of(range), body);
          },
          py::arg("range"), py::arg("body"),
          "Writes down what body(i) says for all values of i: a number of passes, or (first, end) without the end. The "
          "body is called once.")
      .def(
          "for_each",
          [](Model& s, const Range& rows, const Range& columns,
             const std::function<void(const Index&, const Index&)>& body) {
            s.for_each(range_of(rows), range_of(columns), body);
          },
          py::arg("rows"), py::arg("columns"), py::arg("body"));
  m.def(
      "compile",
      [](const Model& written) {
        const py::gil_scoped_release release;
        return compile(written);
      },
      py::arg("model"), "The model as something to run: loops over arrays stay loops where that is possible.");
}

}  // namespace saltus::python
