// A small master for FMUs: unpacks, loads, and calls the functions of the standard by their names.
#pragma once

#include <gtest/gtest.h>
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/modelica/modelica.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "fmi/fmi2.hpp"
#include "fmi/fmi3.hpp"
#include "fmi/shared_library.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus::fmi_tests {

/// A file below the folder of temporary files, removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) : path_(folder_.path() + "/" + name) {}
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
};

inline ModelicaModel gallery_model(const std::string& name) {
  return load_modelica_file(std::string(SALTUS_GALLERY) + "/" + name + ".mo");
}

inline std::vector<std::string> gallery_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SALTUS_GALLERY))
    if (entry.path().extension() == ".mo") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// An exported FMU, unpacked and loaded, with its description.
class LoadedFmu {
 public:
  LoadedFmu(const ModelicaModel& model, const FmuOptions& options) {
    const ScratchFile file("model.fmu");
    FmuOptions with_library = options;
    with_library.library = SALTUS_FMU_LIBRARY;
    export_fmu(model, file.path(), with_library);
    load(file.path());
  }
  explicit LoadedFmu(const std::string& file) { load(file); }

  pugi::xml_node root() const { return description_->document_element(); }
  std::string token() const {
    const pugi::xml_attribute guid = root().attribute("guid");
    return guid ? guid.value() : root().attribute("instantiationToken").value();
  }
  std::string resources() const { return unpacked_->folder() + "/resources"; }
  std::string library_file() const { return library_file_; }
  /// A function of the library.
  template <class Function>
  Function* function(const char* name) const {
    return library_->function<Function>(name);
  }
  /// The value reference of a variable by its name.
  unsigned reference(const std::string& name) const {
    for (const pugi::xml_node variable : root().child("ModelVariables").children())
      if (name == variable.attribute("name").value()) return variable.attribute("valueReference").as_uint();
    ADD_FAILURE() << "no variable " << name;
    return 0;
  }
  /// The element of a variable in the description.
  pugi::xml_node variable(const std::string& name) const {
    for (const pugi::xml_node variable : root().child("ModelVariables").children())
      if (name == variable.attribute("name").value()) return variable;
    return {};
  }

 private:
  void load(const std::string& file) {
    unpacked_ = std::make_unique<UnpackedFmu>(file);
    description_ = std::make_unique<pugi::xml_document>();
    if (!description_->load_string(unpacked_->description().c_str())) throw std::runtime_error("no XML");
    pugi::xml_node kind = root().child("CoSimulation");
    if (!kind) kind = root().child("ModelExchange");
    library_file_ = unpacked_->library(kind.attribute("modelIdentifier").value());
    library_ = std::make_unique<SharedLibrary>(library_file_);
  }
  std::unique_ptr<UnpackedFmu> unpacked_;
  std::unique_ptr<pugi::xml_document> description_;
  std::string library_file_;
  std::unique_ptr<SharedLibrary> library_;
};

/// The last messages of all instances.
inline std::string& last_message() {
  static std::string text;
  return text;
}

inline void log2(fmi2::Environment, fmi2::String, fmi2::Status, fmi2::String, fmi2::String format, ...) {
  char text[2000];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  last_message() = text;
}
inline void log3(fmi3::Environment, fmi3::Status, fmi3::String, fmi3::String message) {
  last_message() = message;
}

/// An instance of FMI 2.0.
class Instance2 {
 public:
  Instance2(const LoadedFmu& fmu, fmi2::Type type, const std::string& token = {})
      : fmu_(fmu), callbacks_{log2, std::calloc, std::free, nullptr, nullptr} {
    component_ = fmu.function<fmi2::InstantiateFunction>("fmi2Instantiate")(
        "test", type, token.empty() ? fmu.token().c_str() : token.c_str(), ("file://" + fmu.resources()).c_str(),
        &callbacks_, 0, 0);
  }
  ~Instance2() { fmu_.function<fmi2::FreeInstanceFunction>("fmi2FreeInstance")(component_); }
  Instance2(const Instance2&) = delete;
  Instance2& operator=(const Instance2&) = delete;

  bool exists() const { return component_ != nullptr; }
  template <class Function, class... Arguments>
  fmi2::Status call(const char* name, Arguments... arguments) const {
    return fmu_.function<Function>(name)(component_, arguments...);
  }
  fmi2::Status plain(const char* name) const { return call<fmi2::PlainFunction>(name); }
  fmi2::Status setup(double start, double stop) const {
    return call<fmi2::SetupExperimentFunction>("fmi2SetupExperiment", 0, 0.0, start, 1, stop);
  }
  fmi2::Status setup(double start) const {
    return call<fmi2::SetupExperimentFunction>("fmi2SetupExperiment", 0, 0.0, start, 0, 0.0);
  }
  /// Through initialisation.
  void initialise(double start, double stop) const {
    ASSERT_EQ(setup(start, stop), fmi2::ok) << last_message();
    ASSERT_EQ(plain("fmi2EnterInitializationMode"), fmi2::ok) << last_message();
    ASSERT_EQ(plain("fmi2ExitInitializationMode"), fmi2::ok) << last_message();
  }
  fmi2::Status step(double t, double h) const { return call<fmi2::DoStepFunction>("fmi2DoStep", t, h, 1); }
  double real(const std::string& name) const {
    const unsigned reference = fmu_.reference(name);
    double value = 0.0;
    EXPECT_EQ(call<fmi2::GetFunction<double>>("fmi2GetReal", &reference, 1, &value), fmi2::ok) << last_message();
    return value;
  }
  bool boolean(const std::string& name) const {
    const unsigned reference = fmu_.reference(name);
    int value = 0;
    EXPECT_EQ(call<fmi2::GetFunction<int>>("fmi2GetBoolean", &reference, 1, &value), fmi2::ok) << last_message();
    return value != 0;
  }
  int integer(const std::string& name) const {
    const unsigned reference = fmu_.reference(name);
    int value = 0;
    EXPECT_EQ(call<fmi2::GetFunction<int>>("fmi2GetInteger", &reference, 1, &value), fmi2::ok) << last_message();
    return value;
  }
  fmi2::Status set(const std::string& name, double value) const {
    const unsigned reference = fmu_.reference(name);
    return call<fmi2::SetFunction<double>>("fmi2SetReal", &reference, 1, &value);
  }
  /// A value of any type as a number.
  double number(const std::string& name, VariableType type) const {
    if (type == VariableType::real) return real(name);
    return type == VariableType::boolean ? boolean(name) : integer(name);
  }

 private:
  const LoadedFmu& fmu_;
  fmi2::CallbackFunctions callbacks_;
  fmi2::Component component_ = nullptr;
};

/// An instance of FMI 3.0.
class Instance3 {
 public:
  struct Steps {
    bool event_mode = false;
  };
  Instance3(const LoadedFmu& fmu, Steps steps) : fmu_(fmu) {
    instance_ = fmu.function<fmi3::InstantiateCoSimulationFunction>("fmi3InstantiateCoSimulation")(
        "test", fmu.token().c_str(), fmu.resources().c_str(), false, false, steps.event_mode, steps.event_mode, nullptr,
        0, nullptr, log3, nullptr);
  }
  explicit Instance3(const LoadedFmu& fmu) : fmu_(fmu) {
    instance_ = fmu.function<fmi3::InstantiateModelExchangeFunction>("fmi3InstantiateModelExchange")(
        "test", fmu.token().c_str(), fmu.resources().c_str(), false, false, nullptr, log3);
  }
  ~Instance3() { fmu_.function<fmi3::FreeInstanceFunction>("fmi3FreeInstance")(instance_); }
  Instance3(const Instance3&) = delete;
  Instance3& operator=(const Instance3&) = delete;

  bool exists() const { return instance_ != nullptr; }
  template <class Function, class... Arguments>
  fmi3::Status call(const char* name, Arguments... arguments) const {
    return fmu_.function<Function>(name)(instance_, arguments...);
  }
  fmi3::Status plain(const char* name) const { return call<fmi3::PlainFunction>(name); }
  void initialise(double start, double stop) const {
    ASSERT_EQ(call<fmi3::EnterInitializationFunction>("fmi3EnterInitializationMode", false, 0.0, start, true, stop),
              fmi3::ok)
        << last_message();
    ASSERT_EQ(plain("fmi3ExitInitializationMode"), fmi3::ok) << last_message();
  }
  struct Outcome {
    fmi3::Status status;
    bool event = false, terminate = false, early = false;
    double t = 0.0;
  };
  Outcome step(double t, double h) const {
    Outcome o{};
    o.status = call<fmi3::DoStepFunction>("fmi3DoStep", t, h, true, &o.event, &o.terminate, &o.early, &o.t);
    return o;
  }
  template <class Value>
  Value get(const char* function, const std::string& name) const {
    const unsigned reference = fmu_.reference(name);
    Value value{};
    EXPECT_EQ(call<fmi3::GetFunction<Value>>(function, &reference, 1, &value, 1), fmi3::ok) << last_message();
    return value;
  }
  double real(const std::string& name) const { return get<double>("fmi3GetFloat64", name); }
  double number(const std::string& name, VariableType type) const {
    if (type == VariableType::real) return real(name);
    if (type == VariableType::boolean) return get<bool>("fmi3GetBoolean", name);
    return type == VariableType::integer ? get<std::int32_t>("fmi3GetInt32", name)
                                         : static_cast<double>(get<std::int64_t>("fmi3GetInt64", name));
  }
  fmi3::Status set(const std::string& name, double value) const {
    const unsigned reference = fmu_.reference(name);
    return call<fmi3::SetFunction<double>>("fmi3SetFloat64", &reference, 1, &value, 1);
  }

 private:
  const LoadedFmu& fmu_;
  fmi3::Instance instance_ = nullptr;
};

}  // namespace saltus::fmi_tests
