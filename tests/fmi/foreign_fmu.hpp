// FMUs as another tool would make them: the models in foreign/, packed with a description.
#pragma once

#include <fmt/format.h>
#include <saltus/fmi/export_fmu.hpp>

#include <fstream>
#include <string>
#include <vector>

#include "fmi/files.hpp"
#include "fmi/zip_archive.hpp"

namespace saltus::fmi_tests {

/// What the description of a foreign FMU says.
struct Foreign {
  std::string name;  ///< of the model in foreign/models.h
  int states = 0, indicators = 0, parameters = 0;
  std::vector<double> values = {1.0, 0.0};  ///< of the parameters
  bool inputs = false, output = false, counter = false;
  bool saves_states = true;
  bool needs_steps = false;   ///< asks to be told about completed steps
  std::string steps = {};     ///< attributes of <CoSimulation>; empty: the FMU is for model exchange
  std::string resource = {};  ///< the content of resources/y.txt; empty: there is none
  std::string experiment = R"(<DefaultExperiment startTime="0" stopTime="1" tolerance="1e-8"/>)";
};

inline const Foreign bouncing_ball{
    .name = "BouncingBall", .states = 2, .indicators = 1, .parameters = 2, .values = {9.81, 0.7}};
inline const Foreign endless_ball{
    .name = "EndlessBall", .states = 2, .indicators = 1, .parameters = 2, .values = {9.81, 0.7}};
inline const Foreign van_der_pol{.name = "VanDerPol", .states = 2, .parameters = 1};
inline const Foreign dahlquist{.name = "Dahlquist", .states = 1, .parameters = 1};
inline const Foreign stair{.name = "Stair", .counter = true};
inline const Foreign relay{
    .name = "Relay", .states = 1, .indicators = 1, .parameters = 1, .values = {0.25}, .output = true};
inline const Foreign resource{.name = "Resource", .counter = true, .resource = "a"};
inline const Foreign state_space{
    .name = "StateSpace", .states = 2, .parameters = 2, .values = {4.0, 0.4}, .inputs = true, .output = true};
inline const Foreign feedthrough{.name = "Feedthrough", .states = 1, .inputs = true, .output = true, .counter = true};
inline const Foreign circle{.name = "Circle", .states = 1, .output = true, .counter = true, .needs_steps = true};
inline const Foreign steps{.name = "Steps", .states = 1, .parameters = 1, .needs_steps = true};
inline const Foreign broken{.name = "Broken", .states = 1, .parameters = 2};

/// modelDescription.xml. In FMI 2.0 the indices of variables count from 1 in this order: time, states, derivatives, ….
inline std::string describe(const Foreign& f, FmiVersion version) {
  const bool fmi2 = version == FmiVersion::fmi2;
  std::string variables, structure;
  const auto variable = [&](const std::string& name, int reference, const std::string& rest, const std::string& type,
                            const std::string& attributes) {
    variables +=
        fmi2 ? fmt::format("<ScalarVariable name=\"{}\" valueReference=\"{}\" {}><{} {}/></ScalarVariable>\n", name,
                           reference, rest, type == "Float64" ? "Real" : "Integer", attributes)
             : fmt::format("<{} name=\"{}\" valueReference=\"{}\" {} {}/>\n", type, name, reference, rest, attributes);
  };
  variable("time", 0, R"(causality="independent" variability="continuous")", "Float64", "");
  for (int k = 1; k <= f.states; ++k)
    variable(fmt::format("x{}", k), k, R"(causality="output" variability="continuous" initial="exact")", "Float64",
             fmt::format("start=\"{}\" unit=\"m\"", f.name == "VanDerPol"                   ? (k == 1 ? 2 : 0)
                                                    : k == 1 && !f.inputs && !f.needs_steps ? 1
                                                                                            : 0));
  for (int k = 1; k <= f.states; ++k) {
    variable(fmt::format("der(x{})", k), 10 + k, R"(causality="local" variability="continuous" initial="calculated")",
             "Float64", fmt::format("derivative=\"{}\"", fmi2 ? 1 + k : k));
    structure += fmi2 ? fmt::format("<Unknown index=\"{}\"/>", 1 + f.states + k)
                      : fmt::format("<ContinuousStateDerivative valueReference=\"{}\"/>", 10 + k);
  }
  for (int k = 0; k < f.parameters; ++k)
    variable(fmt::format("p{}", k), 21 + k, R"(causality="parameter" variability="fixed" initial="exact")", "Float64",
             fmt::format("start=\"{}\"", f.values[static_cast<std::size_t>(k)]));
  if (f.inputs) {
    variable("u", 31, R"(causality="input" variability="continuous")", "Float64", "start=\"0\"");
    variable("m", 32, R"(causality="input" variability="discrete")", "Int32", "start=\"0\"");
  }
  if (f.output) variable("y", 41, R"(causality="output" variability="continuous" initial="calculated")", "Float64", "");
  if (f.counter) variable("n", 51, R"(causality="output" variability="discrete" initial="calculated")", "Int32", "");
  for (int k = 0; !fmi2 && k < f.indicators; ++k) {
    variable(fmt::format("z{}", k), 61 + k, R"(description="height" causality="local" variability="continuous")",
             "Float64", "");
    structure += fmt::format("<EventIndicator valueReference=\"{}\"/>", 61 + k);
  }
  const char* saves = f.saves_states ? "true" : "false";
  const std::string told = fmi2 ? fmt::format("completedIntegratorStepNotNeeded=\"{}\"", !f.needs_steps)
                                : fmt::format("needsCompletedIntegratorStep=\"{}\"", f.needs_steps);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiModelDescription fmiVersion=\"{}\" modelName=\"{}\" "
      "{}=\"{{foreign}}\" "
      "generationTool=\"another tool\"{}>\n<{} modelIdentifier=\"{}\" {} {}=\"{}\"/>\n{}\n"
      "<ModelVariables>\n{}</ModelVariables>\n<ModelStructure>{}</ModelStructure>\n</fmiModelDescription>\n",
      fmi2 ? "2.0" : "3.0", f.name, fmi2 ? "guid" : "instantiationToken",
      fmi2 ? fmt::format(" numberOfEventIndicators=\"{}\"", f.indicators) : "",
      f.steps.empty() ? "ModelExchange" : "CoSimulation", f.name, f.steps.empty() ? told : f.steps,
      fmi2 ? "canGetAndSetFMUstate" : "canGetAndSetFMUState", saves, f.experiment, variables,
      fmi2 ? "<Derivatives>" + structure + "</Derivatives>" : structure);
}

/// The library of a model, as the build made it.
inline std::string foreign_library(const std::string& name, FmiVersion version) {
  return read_whole_file(fmt::format("{}/{}{}.so", SALTUS_FOREIGN, name, version == FmiVersion::fmi2 ? 2 : 3));
}

/// The FMU as bytes.
inline std::string pack(const Foreign& f, FmiVersion version, const std::string& description = {}) {
  ZipWriter zip;
  zip.add("modelDescription.xml", description.empty() ? describe(f, version) : description);
  zip.add(fmt::format("binaries/{}/{}.so", version == FmiVersion::fmi2 ? "linux64" : "x86_64-linux", f.name),
          foreign_library((f.steps.empty() ? "" : "Steps") + f.name, version));
  if (!f.resource.empty()) zip.add("resources/y.txt", f.resource);
  return zip.finish();
}

/// The FMU in a folder that ends with the object.
class ForeignFile {
 public:
  ForeignFile(const Foreign& f, FmiVersion version) : ForeignFile(pack(f, version), f.name) {}
  ForeignFile(const std::string& bytes, const std::string& name) : path_(folder_.path() + "/" + name + ".fmu") {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

}  // namespace saltus::fmi_tests
