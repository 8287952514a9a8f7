// FMUs of FMI 3.0 with arrays and all types of numbers; what is refused by its name.
#include <gtest/gtest.h>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>

#include "fmi/foreign_fmu.hpp"

namespace saltus::fmi_tests {
namespace {

/// The description of foreign/types3.c. `more`: further variables.
std::string describe_types(const std::string& more = {}) {
  const auto number = [](const char* type, const char* name, int reference) {
    return fmt::format(R"(<{} name="{}" valueReference="{}" causality="parameter" variability="fixed" start="0"/>)",
                       type, name, reference);
  };
  return R"xml(<?xml version="1.0"?>
<fmiModelDescription fmiVersion="3.0" modelName="Types" instantiationToken="{foreign}">
<ModelExchange modelIdentifier="Types" canGetAndSetFMUState="true" providesDirectionalDerivatives="true"/>
<DefaultExperiment startTime="0" stopTime="4" tolerance="1e-8"/>
<ModelVariables>
<Float64 name="time" valueReference="0" causality="independent" variability="continuous"/>
<UInt64 name="n" valueReference="1" causality="structuralParameter" variability="fixed" start="2"/>
<Float64 name="x" valueReference="2" causality="output" initial="exact" start="1 2">
<Dimension valueReference="1"/></Float64>
<Float64 name="der(x)" valueReference="3" derivative="2"><Dimension start="2"/></Float64>
<Float64 name="k" valueReference="4" causality="parameter" variability="fixed" start="1 0.5">
<Dimension start="2"/></Float64>
<Float64 name="u" valueReference="5" causality="input" start="0 0"><Dimension start="2"/></Float64>)xml" +
         number("Float32", "f32", 6) + number("Int8", "i8", 7) + number("UInt8", "u8", 8) + number("Int16", "i16", 9) +
         number("UInt16", "u16", 10) + number("Int32", "i32", 11) + number("UInt32", "u32", 12) +
         number("Int64", "i64", 13) + number("UInt64", "u64", 14) + R"(
<Boolean name="flags" valueReference="16" causality="parameter" variability="fixed" start="true false">
<Dimension start="2"/></Boolean>
<Int64 name="total" valueReference="20" causality="output" variability="discrete"/>
<Float64 name="A" valueReference="21" causality="output"><Dimension start="2"/><Dimension start="3"/></Float64>
<String name="text" valueReference="22" causality="local"><Start value="hello"/></String>
<Binary name="blob" valueReference="23" causality="local"/>
<Float64 name="z" valueReference="24"><Dimension start="2"/></Float64>
<Int32 name="count" valueReference="25" causality="output" variability="discrete"/>
<Float32 name="twice" valueReference="26" causality="output"/>)" +
         more + R"(
</ModelVariables>
<ModelStructure><ContinuousStateDerivative valueReference="3"/><EventIndicator valueReference="24"/></ModelStructure>
</fmiModelDescription>)";
}

const Foreign types{.name = "Types"};

TEST(ImportTypes, arrays_are_their_elements) {
  const ForeignFile file(pack(types, FmiVersion::fmi3, describe_types()), "Types");
  const auto fmu = import_fmu(file.path(), ImportOptions{.values = {{"k[1]", 2.0}, {"x[2]", 4.0}}});
  EXPECT_EQ(fmu->notes().size(), 1u);  // a text and a binary value are not shown
  // u[2] is t/4
  const Trajectory run = simulate(
      fmu, {.stop = 4.0, .rtol = 1e-9, .atol = 1e-9, .inputs = {{"u[2]", InputSignal::table({0.0, 8.0}, {0.0, 2.0})}}});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // x1' = -2 x1 from 1; x2' = t/4 - x2/2 from 4: x2 = 5 exp(-t/2) + t/2 - 1
  const auto x2 = [](double t) { return 5.0 * std::exp(-0.5 * t) + 0.5 * t - 1.0; };
  for (const double t : {0.3, 1.0, 2.5, 4.0}) {
    EXPECT_NEAR(run.at(t, "x[1]"), std::exp(-2.0 * t), 1e-8);
    EXPECT_NEAR(run.at(t, "x[2]"), x2(t), 1e-8);
    EXPECT_NEAR(run.at(t, "der(x)[2]"), 0.25 * t - 0.5 * x2(t), 1e-8);
    EXPECT_NEAR(run.at(t, "A[1,3]"), 13.0 + t, 1e-12);
    EXPECT_NEAR(run.at(t, "A[2,1]"), 21.0 + t, 1e-12);
    EXPECT_NEAR(run.at(t, "twice"), 2.0 * std::exp(-2.0 * t), 1e-6);
  }
  ASSERT_EQ(run.events().size(), 1u);  // x2 stays above 0.5
  EXPECT_NEAR(run.events()[0].t, 0.5 * std::log(2.0), 1e-8);
  EXPECT_EQ(run.at(3.0, "count"), 1.0);
}

TEST(ImportTypes, implicit_methods_take_derivatives_of_arrays) {
  const ForeignFile file(pack(types, FmiVersion::fmi3, describe_types()), "Types");
  const Trajectory run =
      simulate(import_fmu(file.path()), {.stop = 4.0, .rtol = 1e-9, .atol = 1e-9, .method = Method::radau});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(4.0, "x[1]"), std::exp(-4.0), 1e-7);
  EXPECT_NEAR(run.at(4.0, "x[2]"), 2.0 * std::exp(-2.0), 1e-7);
}

TEST(ImportTypes, numbers_of_all_types_reach_the_fmu) {
  const ForeignFile file(pack(types, FmiVersion::fmi3, describe_types()), "Types");
  const auto total = [&](std::vector<std::pair<std::string, double>> values) {
    const auto fmu = import_fmu(file.path(), ImportOptions{.values = std::move(values)});
    return simulate(fmu, {.stop = 0.1}).at(0.1, "total");
  };
  EXPECT_EQ(total({{"flags[1]", 0.0}}), 0.0);
  EXPECT_EQ(total({{"flags[2]", 1.0}}), 3.0);  // the first is true by its start value: arrays are set as a whole
  const std::vector<std::pair<std::string, double>> numbers = {{"f32", 0.5},
                                                               {"i8", -100.0},
                                                               {"u8", 200.0},
                                                               {"i16", -30000.0},
                                                               {"u16", 60000.0},
                                                               {"i32", -2.0e9},
                                                               {"u32", 4.0e9},
                                                               {"i64", -9007199254740000.0},
                                                               {"u64", 9007199254740991.0}};
  double sum = 0.0;
  for (const auto& [name, value] : numbers) {
    if (name == "f32") continue;
    EXPECT_EQ(total({{name, value}}), value + 1.0) << name;
    sum += value;
  }
  EXPECT_EQ(total(numbers), sum + 1.0);
}

std::string refusal(const std::string& description, const ImportOptions& options = {}) {
  const ForeignFile file(pack(types, FmiVersion::fmi3, description), "Types");
  try {
    const auto fmu = import_fmu(file.path(), options);
    return "";
  } catch (const UsageError& problem) {
    return problem.what();
  }
}

TEST(ImportTypes, what_cannot_be_run_is_refused_by_its_name) {
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(refusal(describe_types()), "");
  const std::string clock = R"(<Clock name="tick" valueReference="30" causality="input" intervalVariability="constant"
                               intervalDecimal="0.1"/>)";
  EXPECT_TRUE(contains(refusal(describe_types(clock)), "1 clocks, the first is 'tick'"));
  EXPECT_TRUE(contains(refusal(describe_types(), {.values = {{"n", 3.0}}}), "'n' decides sizes"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = describe_types();
    return refusal(text.replace(text.find(from), from.size(), to));
  };
  EXPECT_TRUE(contains(with("start=\"1 0.5\"", "start=\"1 0.5 3\""), "'k' has 2 elements and 3 start values"));
  EXPECT_TRUE(contains(with("start=\"1 0.5\"", "start=\"1 half\""), "the start value half of 'k' is not a number"));
  EXPECT_TRUE(contains(with("causality=\"structuralParameter\"", "causality=\"parameter\""),
                       "a size of 'x' is the variable 1, which is no structural parameter"));
  EXPECT_TRUE(contains(with("<Dimension start=\"2\"/></Float64>", "<Dimension start=\"3\"/></Float64>"),
                       "derivative of a variable of another size"));
  EXPECT_TRUE(contains(with("<Dimension start=\"2\"/></Float64>", "<Dimension start=\"4000000000\"/></Float64>"),
                       "more than 100000 elements"));
}

}  // namespace
}  // namespace saltus::fmi_tests
