// FMUs: models of other simulators that are run, and models that are written for other simulators.
#include <pybind11/stl.h>
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/fmi/imported_fmu.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "descriptions.hpp"

namespace py = pybind11;

namespace saltus::python {
namespace {

FmiVersion fmi_version(int number) {
  if (number == 2) return FmiVersion::fmi2;
  if (number == 3) return FmiVersion::fmi3;
  throw UsageError("fmi: the version of the standard is 2 or 3, not " + std::to_string(number));
}

FmuKind fmu_kind(const std::string& name) {
  if (name == "auto") return FmuKind::automatic;
  if (name == "cs") return FmuKind::co_simulation;
  if (name == "me") return FmuKind::model_exchange;
  if (name == "both") return FmuKind::both;
  throw UsageError("kind: an FMU is \"cs\" (co-simulation), \"me\" (model exchange), \"both\" or \"auto\", not \"" +
                   name + "\"");
}

}  // namespace

void add_fmus(py::module_& m) {
  using Values = std::vector<std::pair<std::string, double>>;
  py::class_<ImportedFmu, HybridSystem, std::shared_ptr<ImportedFmu>>(m, "ImportedFmu")
      .def(py::init([](const std::string& file, const Values& values, std::optional<double> start,
                       std::optional<double> stop, std::optional<double> tolerance, std::optional<double> step) {
             const py::gil_scoped_release release;
             return import_fmu(
                 file,
                 ImportOptions{.values = values, .start = start, .stop = stop, .tolerance = tolerance, .step = step});
           }),
           py::arg("file"), py::arg("values"), py::arg("start") = py::none(), py::arg("stop") = py::none(),
           py::arg("tolerance") = py::none(), py::arg("step") = py::none())
      .def_property_readonly("description", &ImportedFmu::description)
      .def_property_readonly("experiment", [](const ImportedFmu& fmu) { return describe(fmu.experiment()); })
      .def_property_readonly("parameters", &ImportedFmu::parameters)
      .def_property_readonly("notes", &ImportedFmu::notes);

  m.def("describe_fmu", &describe_fmu, py::arg("file"), "What an FMU is, in some lines; none of its code runs.");
  m.def(
      "export_fmu",
      [](ModelicaModel source, const std::map<std::string, std::optional<double>>& experiment, const std::string& file,
         int version, const std::string& kind) {
        for (const auto& [key, place] :
             {std::pair("start", &source.experiment.start), std::pair("stop", &source.experiment.stop),
              std::pair("rtol", &source.experiment.tolerance)})
          if (const auto given = experiment.find(key); given != experiment.end() && given->second)
            *place = given->second;
        const FmuOptions options{.version = fmi_version(version), .kind = fmu_kind(kind)};
        const py::gil_scoped_release release;
        export_fmu(source, file, options);
      },
      py::arg("source"), py::arg("experiment"), py::arg("file"), py::arg("version"), py::arg("kind"));
}

}  // namespace saltus::python
