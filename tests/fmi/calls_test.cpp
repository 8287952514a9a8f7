// What an importer may do with an exported FMU, and what it may not.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

const FmuOptions fmi2_both{.version = FmiVersion::fmi2, .kind = FmuKind::both};
const FmuOptions fmi3_both{.version = FmiVersion::fmi3, .kind = FmuKind::both};

/// A tank with an input, an output, parameters of several types and a discrete state.
ModelicaModel tank() {
  return load_modelica(R"(
    model Tank
      type Level = enumeration(low, middle, high);
      input Real u(start = 1, unit = "m3/s") "inflow";
      input Boolean open(start = false) "the valve";
      output Real h(start = 0.5, fixed = true, unit = "m", min = 0);
      output Level level;
      output Integer switches(start = 0, fixed = true);
      parameter Real A(unit = "m2") = 2 "area";
      parameter Integer factor = 3;
      parameter Integer cells = 2;
      Real x[cells](each start = 1, each fixed = true);
    equation
      der(h) = (u - (if open then factor else 0))/A;
      level = if h < 1 then Level.low elseif h < 2 then Level.middle else Level.high;
      when level <> pre(level) then
        switches = pre(switches) + 1;
      end when;
      der(x) = -x;
      annotation(experiment(StopTime = 4, Tolerance = 1e-9, Interval = 0.1));
    end Tank;)",
                       "Tank.mo");
}

TEST(FmuCalls, the_library_needs_the_c_library_alone) {
  const LoadedFmu fmu(tank(), fmi2_both);
  const std::string command = "ldd " + fmu.library_file();
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  char line[1000];
  std::vector<std::string> lines;
  while (std::fgets(line, sizeof line, pipe)) lines.emplace_back(line);
  std::vector<std::string> names = {"linux-vdso", "libc.so", "libm.so", "ld-linux"};
  const auto is_sanitizer = [](const std::string& text) {
    return text.find("libasan") != std::string::npos || text.find("libubsan") != std::string::npos ||
           text.find("libtsan") != std::string::npos;
  };
  if (std::ranges::any_of(lines, is_sanitizer))  // which need these two
    names.insert(names.end(), {"libasan", "libubsan", "libtsan", "libgcc_s.so", "libstdc++.so"});
  for (const std::string& text : lines) {
    const auto in_it = [&](const std::string& name) { return text.find(name) != std::string::npos; };
    EXPECT_TRUE(std::ranges::any_of(names, in_it)) << text;
  }
  EXPECT_GE(lines.size(), 2u);
  EXPECT_EQ(pclose(pipe), 0);
}

TEST(FmuCalls, the_library_has_all_functions_of_the_standard) {
  const SharedLibrary library(SALTUS_FMU_LIBRARY);
  for (const char* name : {"GetTypesPlatform",
                           "GetVersion",
                           "SetDebugLogging",
                           "Instantiate",
                           "FreeInstance",
                           "SetupExperiment",
                           "EnterInitializationMode",
                           "ExitInitializationMode",
                           "Terminate",
                           "Reset",
                           "GetReal",
                           "GetInteger",
                           "GetBoolean",
                           "GetString",
                           "SetReal",
                           "SetInteger",
                           "SetBoolean",
                           "SetString",
                           "GetFMUstate",
                           "SetFMUstate",
                           "FreeFMUstate",
                           "SerializedFMUstateSize",
                           "SerializeFMUstate",
                           "DeSerializeFMUstate",
                           "GetDirectionalDerivative",
                           "EnterEventMode",
                           "NewDiscreteStates",
                           "EnterContinuousTimeMode",
                           "CompletedIntegratorStep",
                           "SetTime",
                           "SetContinuousStates",
                           "GetDerivatives",
                           "GetEventIndicators",
                           "GetContinuousStates",
                           "GetNominalsOfContinuousStates",
                           "SetRealInputDerivatives",
                           "GetRealOutputDerivatives",
                           "DoStep",
                           "CancelStep",
                           "GetStatus",
                           "GetRealStatus",
                           "GetIntegerStatus",
                           "GetBooleanStatus",
                           "GetStringStatus"})
    EXPECT_NE(library.function<void()>(std::string("fmi2") + name), nullptr);
  for (const char* name : {"GetVersion",
                           "SetDebugLogging",
                           "InstantiateModelExchange",
                           "InstantiateCoSimulation",
                           "InstantiateScheduledExecution",
                           "FreeInstance",
                           "EnterInitializationMode",
                           "ExitInitializationMode",
                           "EnterEventMode",
                           "Terminate",
                           "Reset",
                           "GetFloat32",
                           "GetFloat64",
                           "GetInt8",
                           "GetUInt8",
                           "GetInt16",
                           "GetUInt16",
                           "GetInt32",
                           "GetUInt32",
                           "GetInt64",
                           "GetUInt64",
                           "GetBoolean",
                           "GetString",
                           "GetBinary",
                           "GetClock",
                           "SetFloat32",
                           "SetFloat64",
                           "SetInt8",
                           "SetUInt8",
                           "SetInt16",
                           "SetUInt16",
                           "SetInt32",
                           "SetUInt32",
                           "SetInt64",
                           "SetUInt64",
                           "SetBoolean",
                           "SetString",
                           "SetBinary",
                           "SetClock",
                           "GetNumberOfVariableDependencies",
                           "GetVariableDependencies",
                           "GetFMUState",
                           "SetFMUState",
                           "FreeFMUState",
                           "SerializedFMUStateSize",
                           "SerializeFMUState",
                           "DeserializeFMUState",
                           "GetDirectionalDerivative",
                           "GetAdjointDerivative",
                           "EnterConfigurationMode",
                           "ExitConfigurationMode",
                           "GetIntervalDecimal",
                           "GetIntervalFraction",
                           "GetShiftDecimal",
                           "GetShiftFraction",
                           "SetIntervalDecimal",
                           "SetIntervalFraction",
                           "SetShiftDecimal",
                           "SetShiftFraction",
                           "EvaluateDiscreteStates",
                           "UpdateDiscreteStates",
                           "EnterContinuousTimeMode",
                           "CompletedIntegratorStep",
                           "SetTime",
                           "SetContinuousStates",
                           "GetContinuousStateDerivatives",
                           "GetEventIndicators",
                           "GetContinuousStates",
                           "GetNominalsOfContinuousStates",
                           "GetNumberOfEventIndicators",
                           "GetNumberOfContinuousStates",
                           "EnterStepMode",
                           "GetOutputDerivatives",
                           "DoStep",
                           "ActivateModelPartition"})
    EXPECT_NE(library.function<void()>(std::string("fmi3") + name), nullptr);
}

TEST(FmuCalls, the_description_has_types_units_and_structure) {
  for (const FmuOptions& options : {fmi2_both, fmi3_both}) {
    const bool fmi2 = options.version == FmiVersion::fmi2;
    const LoadedFmu fmu(tank(), options);
    const auto variable = [&](const char* name) { return fmu.variable(name); };
    const auto type = [&](const char* name) { return fmi2 ? *variable(name).children().begin() : variable(name); };
    EXPECT_STREQ(fmu.root().attribute("fmiVersion").value(), fmi2 ? "2.0" : "3.0");
    EXPECT_STREQ(variable("u").attribute("causality").value(), "input");
    EXPECT_STREQ(type("u").attribute("start").value(), "1");
    EXPECT_STREQ(type("open").name(), "Boolean");
    EXPECT_STREQ(variable("h").attribute("initial").value(), "exact");
    EXPECT_STREQ(type("h").attribute("unit").value(), "m");
    EXPECT_STREQ(type("h").attribute("min").value(), "0");
    EXPECT_STREQ(type("level").name(), "Enumeration");
    EXPECT_STREQ(variable("level").attribute("variability").value(), "discrete");
    EXPECT_STREQ(type("switches").name(), fmi2 ? "Integer" : "Int32");
    EXPECT_STREQ(variable("A").attribute("variability").value(), "tunable");
    EXPECT_STREQ(variable("cells").attribute("variability").value(), "constant");
    EXPECT_STREQ(type("cells").attribute("start").value(), "2");
    EXPECT_STREQ(variable("x[1]").attribute("causality").value(), "local");
    const pugi::xml_node unit =
        fmu.root().child("UnitDefinitions").find_child_by_attribute("Unit", "name", "m3/s").child("BaseUnit");
    EXPECT_STREQ(unit.attribute("m").value(), "3");
    EXPECT_STREQ(unit.attribute("s").value(), "-1");
    const pugi::xml_node literals = fmu.root().child("TypeDefinitions").first_child();
    EXPECT_STREQ((fmi2 ? literals.first_child() : literals).last_child().attribute("name").value(), "high");
    EXPECT_STREQ(fmu.root().child("DefaultExperiment").attribute("stopTime").value(), "4");
    EXPECT_STREQ(fmu.root().child("DefaultExperiment").attribute("stepSize").value(), "0.1");
    // der(h) is the derivative of h
    const pugi::xml_node derivative = type("der(h)");
    if (fmi2) {
      int index = 0, of_h = 0;
      for (const pugi::xml_node v : fmu.root().child("ModelVariables").children()) {
        ++index;
        if (std::strcmp(v.attribute("name").value(), "h") == 0) of_h = index;
      }
      EXPECT_EQ(derivative.attribute("derivative").as_int(), of_h);
    } else {
      EXPECT_EQ(derivative.attribute("derivative").as_uint(), fmu.reference("h"));
    }
  }
}

TEST(FmuCalls, inputs_parameters_and_types_reach_the_run) {
  const LoadedFmu fmu(tank(), fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  ASSERT_TRUE(instance.exists()) << last_message();
  EXPECT_EQ(instance.real("A"), 2.0);
  EXPECT_EQ(instance.integer("cells"), 2);
  ASSERT_EQ(instance.set("A", 1.0), fmi2::ok) << last_message();
  ASSERT_EQ(instance.set("h", 0.25), fmi2::ok) << last_message();
  ASSERT_EQ(instance.set("u", 0.5), fmi2::ok) << last_message();
  instance.initialise(0.0, 4.0);
  EXPECT_EQ(instance.integer("level"), 1);
  ASSERT_EQ(instance.step(0.0, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 0.75, 1e-8);  // 0.25 + 0.5
  ASSERT_EQ(instance.set("u", 2.0), fmi2::ok);
  ASSERT_EQ(instance.set("A", 4.0), fmi2::ok) << last_message();  // tunable
  ASSERT_EQ(instance.step(1.0, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 1.25, 1e-8);  // + 2/4
  EXPECT_EQ(instance.integer("level"), 2);
  EXPECT_EQ(instance.integer("switches"), 1);
  EXPECT_NEAR(instance.real("der(h)"), 0.5, 1e-12);
  // an input along a line: 2 + s, so that h rises by (2 + 1/2)/4
  const unsigned u = fmu.reference("u"), open = fmu.reference("open");
  const int order = 1, truth = 1;
  const double slope = 1.0;
  ASSERT_EQ(instance.call<fmi2::SetInputDerivativesFunction>("fmi2SetRealInputDerivatives", &u, 1, &order, &slope),
            fmi2::ok)
      << last_message();
  ASSERT_EQ(instance.step(2.0, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 1.875, 1e-8);
  EXPECT_NEAR(instance.real("u"), 3.0, 1e-12);
  ASSERT_EQ(instance.set("u", 0.0), fmi2::ok);
  ASSERT_EQ(instance.call<fmi2::SetFunction<int>>("fmi2SetBoolean", &open, 1, &truth), fmi2::ok) << last_message();
  ASSERT_EQ(instance.step(3.0, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 1.125, 1e-8);  // - 3/4
}

TEST(FmuCalls, two_instances_do_not_disturb_each_other) {
  const LoadedFmu fmu(tank(), fmi3_both);
  const Instance3 one(fmu, {}), other(fmu, {});
  ASSERT_EQ(other.set("u", 3.0), fmi3::ok);
  one.initialise(0.0, 4.0);
  other.initialise(0.0, 4.0);
  for (int k = 0; k < 4; ++k) {
    ASSERT_EQ(one.step(0.5 * k, 0.5).status, fmi3::ok) << last_message();
    ASSERT_EQ(other.step(0.5 * k, 0.5).status, fmi3::ok) << last_message();
  }
  EXPECT_NEAR(one.real("h"), 0.5 + 1.0, 1e-8);
  EXPECT_NEAR(other.real("h"), 0.5 + 3.0, 1e-8);
}

TEST(FmuCalls, a_reset_forgets_everything_that_was_set) {
  const LoadedFmu fmu(tank(), fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  ASSERT_EQ(instance.set("A", 1.0), fmi2::ok);
  instance.initialise(0.0, 4.0);
  ASSERT_EQ(instance.step(0.0, 1.0), fmi2::ok);
  EXPECT_NEAR(instance.real("h"), 1.5, 1e-8);
  ASSERT_EQ(instance.plain("fmi2Reset"), fmi2::ok);
  EXPECT_EQ(instance.real("A"), 2.0);
  instance.initialise(0.0, 4.0);
  ASSERT_EQ(instance.step(0.0, 1.0), fmi2::ok);
  EXPECT_NEAR(instance.real("h"), 1.0, 1e-8);
}

TEST(FmuCalls, saved_states_go_back_in_time_also_as_bytes) {
  const LoadedFmu fmu(gallery_model("StickSlip"), fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  instance.initialise(0.0, 20.0);
  ASSERT_EQ(instance.step(0.0, 2.0), fmi2::ok) << last_message();
  fmi2::State state = nullptr;
  ASSERT_EQ(instance.call<fmi2::GetStateFunction>("fmi2GetFMUstate", &state), fmi2::ok) << last_message();
  std::size_t size = 0;
  ASSERT_EQ(instance.call<fmi2::StateSizeFunction>("fmi2SerializedFMUstateSize", state, &size), fmi2::ok);
  std::vector<char> bytes(size);
  ASSERT_EQ(instance.call<fmi2::SerializeFunction>("fmi2SerializeFMUstate", state, bytes.data(), size), fmi2::ok);
  ASSERT_EQ(instance.step(2.0, 3.0), fmi2::ok) << last_message();
  const double there = instance.real("v1");
  ASSERT_EQ(instance.call<fmi2::SetStateFunction>("fmi2SetFMUstate", state), fmi2::ok) << last_message();
  EXPECT_EQ(instance.real("time"), 2.0);
  ASSERT_EQ(instance.step(2.0, 3.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("v1"), there, 1e-7);
  // the bytes serve another instance, too
  const Instance2 other(fmu, fmi2::co_simulation);
  fmi2::State from_bytes = nullptr;
  ASSERT_EQ(other.call<fmi2::DeserializeFunction>("fmi2DeSerializeFMUstate", bytes.data(), size, &from_bytes), fmi2::ok)
      << last_message();
  ASSERT_EQ(other.call<fmi2::SetStateFunction>("fmi2SetFMUstate", from_bytes), fmi2::ok) << last_message();
  ASSERT_EQ(other.step(2.0, 3.0), fmi2::ok) << last_message();
  EXPECT_NEAR(other.real("v1"), there, 1e-7);
  EXPECT_EQ(instance.call<fmi2::GetStateFunction>("fmi2FreeFMUstate", &state), fmi2::ok);
  EXPECT_EQ(state, nullptr);
}

TEST(FmuCalls, damaged_bytes_of_a_state_are_refused) {
  const LoadedFmu fmu(gallery_model("BouncingBall"), fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  instance.initialise(0.0, 20.0);
  ASSERT_EQ(instance.step(0.0, 2.0), fmi2::ok);
  fmi2::State state = nullptr;
  ASSERT_EQ(instance.call<fmi2::GetStateFunction>("fmi2GetFMUstate", &state), fmi2::ok);
  std::size_t size = 0;
  ASSERT_EQ(instance.call<fmi2::StateSizeFunction>("fmi2SerializedFMUstateSize", state, &size), fmi2::ok);
  std::vector<char> bytes(size);
  ASSERT_EQ(instance.call<fmi2::SerializeFunction>("fmi2SerializeFMUstate", state, bytes.data(), size), fmi2::ok);
  const auto reads = [&](const std::vector<char>& given) {
    fmi2::State read = nullptr;
    const auto status =
        instance.call<fmi2::DeserializeFunction>("fmi2DeSerializeFMUstate", given.data(), given.size(), &read);
    if (status != fmi2::ok) return false;
    return instance.call<fmi2::SetStateFunction>("fmi2SetFMUstate", read) == fmi2::ok;
  };
  EXPECT_FALSE(reads(std::vector<char>(bytes.begin(), bytes.end() - 8)));
  EXPECT_FALSE(reads(std::vector<char>(bytes.begin(), bytes.end() - 3)));
  EXPECT_FALSE(reads(std::vector<char>(80, 'x')));
  std::vector<char> longer = bytes;
  longer.resize(size + 8, '\0');
  EXPECT_FALSE(reads(longer));
  EXPECT_TRUE(reads(bytes));
}

TEST(FmuCalls, wrong_calls_return_an_error_and_the_instance_goes_on) {
  const LoadedFmu fmu(tank(), fmi2_both);
  EXPECT_FALSE(Instance2(fmu, fmi2::co_simulation, "{another token}").exists());
  EXPECT_NE(last_message().find("belongs to another model"), std::string::npos) << last_message();
  const Instance2 instance(fmu, fmi2::co_simulation);
  const unsigned nowhere = 12345, h = fmu.reference("h"), cells = fmu.reference("cells"),
                 level = fmu.reference("level");
  double value = 1.0;
  int whole = 1;
  // before the initialisation
  EXPECT_EQ(instance.step(0.0, 1.0), fmi2::error);
  EXPECT_EQ(instance.plain("fmi2ExitInitializationMode"), fmi2::error);
  EXPECT_EQ(instance.plain("fmi2EnterInitializationMode"), fmi2::error);  // without an experiment
  EXPECT_EQ(instance.plain("fmi2Terminate"), fmi2::error);
  EXPECT_EQ(instance.plain("fmi2EnterEventMode"), fmi2::error);
  EXPECT_EQ(instance.plain("fmi2EnterContinuousTimeMode"), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::SetTimeFunction>("fmi2SetTime", 1.0), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::GetNumbersFunction>("fmi2GetDerivatives", &value, 1), fmi2::error);
  EXPECT_EQ(instance.setup(1.0, 0.0), fmi2::error);  // stops before it starts
  EXPECT_EQ(instance.setup(std::nan("")), fmi2::error);
  instance.initialise(0.0, 4.0);
  // variables that are not there, of another type, or cannot be set
  EXPECT_EQ(instance.call<fmi2::GetFunction<double>>("fmi2GetReal", &nowhere, 1, &value), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::GetFunction<double>>("fmi2GetReal", &level, 1, &value), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::GetFunction<int>>("fmi2GetBoolean", &h, 1, &whole), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::GetFunction<double>>("fmi2GetReal", nullptr, 1, &value), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::SetFunction<int>>("fmi2SetInteger", &cells, 1, &whole), fmi2::error);
  EXPECT_NE(last_message().find("structure"), std::string::npos) << last_message();
  EXPECT_EQ(instance.set("h", 2.0), fmi2::error);  // it runs
  EXPECT_EQ(instance.set("u", std::nan("")), fmi2::error);
  EXPECT_EQ(instance.plain("fmi2EnterInitializationMode"), fmi2::error);
  EXPECT_EQ(instance.setup(0.0, 1.0), fmi2::error);
  // steps
  EXPECT_EQ(instance.step(0.5, 0.1), fmi2::error);  // the run stands at 0
  EXPECT_EQ(instance.step(0.0, 0.0), fmi2::error);
  EXPECT_EQ(instance.step(0.0, -1.0), fmi2::error);
  EXPECT_EQ(instance.step(0.0, 100.0), fmi2::error);  // behind the stop time
  EXPECT_EQ(instance.plain("fmi2CancelStep"), fmi2::error);
  EXPECT_EQ(instance.call<fmi2::SetStateFunction>("fmi2SetFMUstate", &value), fmi2::error);
  EXPECT_EQ(fmu.function<fmi2::PlainFunction>("fmi2Terminate")(nullptr), fmi2::error);
  // and still the run is right
  ASSERT_EQ(instance.step(0.0, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 1.0, 1e-8);
  ASSERT_EQ(instance.plain("fmi2Terminate"), fmi2::ok);
  EXPECT_EQ(instance.step(1.0, 1.0), fmi2::error);
  EXPECT_NEAR(instance.real("h"), 1.0, 1e-8);
}

TEST(FmuCalls, a_model_that_ends_the_run_discards_the_step) {
  const ModelicaModel ends = load_modelica(R"(
    model Ends
      Real x(start = 0, fixed = true);
    equation
      der(x) = 1;
      when x > 1.25 then
        terminate("there");
      end when;
      annotation(experiment(StopTime = 4));
    end Ends;)",
                                           "Ends.mo");
  const LoadedFmu fmu(ends, fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  instance.initialise(0.0, 4.0);
  ASSERT_EQ(instance.step(0.0, 1.0), fmi2::ok);
  EXPECT_EQ(instance.step(1.0, 1.0), fmi2::discard);
  int ended = 0;
  double t = 0.0;
  EXPECT_EQ(instance.call<fmi2::GetStatusFunction<int>>("fmi2GetBooleanStatus", fmi2::terminated, &ended), fmi2::ok);
  EXPECT_EQ(instance.call<fmi2::GetStatusFunction<double>>("fmi2GetRealStatus", fmi2::last_successful_time, &t),
            fmi2::ok);
  EXPECT_EQ(ended, 1);
  EXPECT_NEAR(t, 1.25, 1e-9);
}

TEST(FmuCalls, a_run_that_fails_says_why) {
  const ModelicaModel fails = load_modelica(R"(
    model Fails
      Real x(start = 1, fixed = true);
    equation
      der(x) = x*x;
      assert(x < 5, "x is too large");
    end Fails;)",
                                            "Fails.mo");
  const LoadedFmu fmu(fails, {.version = FmiVersion::fmi2});
  const Instance2 instance(fmu, fmi2::co_simulation);
  instance.initialise(0.0, 4.0);
  ASSERT_EQ(instance.step(0.0, 0.5), fmi2::ok) << last_message();
  EXPECT_EQ(instance.step(0.5, 1.0), fmi2::error);
  EXPECT_NE(last_message().find("x is too large"), std::string::npos) << last_message();
  EXPECT_EQ(instance.step(0.8, 0.1), fmi2::error);  // only a reset helps
  ASSERT_EQ(instance.plain("fmi2Reset"), fmi2::ok);
  instance.initialise(0.0, 4.0);
  ASSERT_EQ(instance.step(0.0, 0.5), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("x"), 2.0, 1e-4);
}

TEST(FmuCalls, runs_without_a_stop_time_go_on_behind_that_of_the_experiment) {
  const LoadedFmu fmu(tank(), fmi2_both);
  const Instance2 instance(fmu, fmi2::co_simulation);
  ASSERT_EQ(instance.setup(0.0), fmi2::ok);
  ASSERT_EQ(instance.plain("fmi2EnterInitializationMode"), fmi2::ok);
  ASSERT_EQ(instance.plain("fmi2ExitInitializationMode"), fmi2::ok);
  for (int k = 0; k < 10; ++k) ASSERT_EQ(instance.step(k, 1.0), fmi2::ok) << last_message();
  EXPECT_NEAR(instance.real("h"), 5.5, 1e-7);
}

TEST(FmuCalls, directional_derivatives_are_those_of_the_equations) {
  const LoadedFmu fmu(tank(), fmi2_both);
  const Instance2 instance(fmu, fmi2::model_exchange);
  instance.initialise(0.0, 4.0);
  const unsigned unknowns[] = {fmu.reference("der(h)"), fmu.reference("der(x[1])")};
  const unsigned knowns[] = {fmu.reference("u"), fmu.reference("x[1]")};
  const double seed[] = {2.0, 3.0};
  double result[2] = {};
  ASSERT_EQ(instance.call<fmi2::DirectionalDerivativeFunction>("fmi2GetDirectionalDerivative", unknowns, 2, knowns, 2,
                                                               seed, result),
            fmi2::ok)
      << last_message();
  EXPECT_NEAR(result[0], 1.0, 1e-9);  // 2/A
  EXPECT_NEAR(result[1], -3.0, 1e-9);
}

}  // namespace
}  // namespace saltus::fmi_tests
