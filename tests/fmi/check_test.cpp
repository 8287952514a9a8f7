// What `saltus fmu check` finds in FMUs of all kinds.
#include <gtest/gtest.h>
#include <saltus/fmi/check_fmu.hpp>

#include <algorithm>

#include "fmi/fmu_master.hpp"
#include "fmi/foreign_fmu.hpp"

namespace saltus::fmi_tests {
namespace {

using Level = FmuFinding::Severity;

std::vector<std::string> texts(const FmuCheck& check, Level severity) {
  std::vector<std::string> list;
  for (const FmuFinding& f : check.findings)
    if (f.severity == severity) list.push_back(f.where + ": " + f.text);
  return list;
}

TEST(CheckFmu, finds_nothing_wrong_with_exported_models) {
  for (const std::string& name : gallery_names())
    for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
      const ScratchFile file("model.fmu");
      export_fmu(gallery_model(name), file.path(), {.version = version, .library = SALTUS_FMU_LIBRARY});
      const FmuCheck check = check_fmu(file.path());
      EXPECT_TRUE(check.ok()) << name << check.json();
      EXPECT_EQ(texts(check, Level::warning), std::vector<std::string>()) << name;
      EXPECT_EQ(texts(check, Level::note), (std::vector<std::string>{"binaries: there are none for Windows",
                                                                     "binaries: there are none for macOS"}));
    }
}

/// The only error of an FMU whose description is changed at one place.
std::string found(FmiVersion version, const std::string& from, const std::string& to) {
  std::string xml = describe(state_space, version);
  // the description of the tests names no outputs in its structure
  const bool fmi2 = version == FmiVersion::fmi2;
  const std::string outputs =
      fmi2 ? "<Outputs><Unknown index=\"2\"/><Unknown index=\"3\"/><Unknown index=\"10\"/></Outputs>"
           : "<Output valueReference=\"1\"/><Output valueReference=\"2\"/>"
             "<Output valueReference=\"41\"/>";
  xml.insert(xml.find("<ModelStructure>") + std::string("<ModelStructure>").size(), outputs);
  const std::string units = R"(<UnitDefinitions><Unit name="m"/></UnitDefinitions>)";
  xml.insert(xml.find("<ModelVariables>"), units);
  if (!from.empty()) {
    const std::size_t at = xml.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    xml.replace(at, from.size(), to);
  }
  const ForeignFile file(pack(state_space, version, xml), "StateSpace");
  const FmuCheck check = check_fmu(file.path());
  const std::vector<std::string> errors = texts(check, Level::error), warnings = texts(check, Level::warning);
  EXPECT_LE(errors.size() + warnings.size(), 1u) << check.json();
  EXPECT_EQ(check.ok(), errors.empty());
  return !errors.empty() ? errors.front() : !warnings.empty() ? "warning " + warnings.front() : "";
}

TEST(CheckFmu, names_each_rule_that_is_broken) {
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const bool fmi2 = version == FmiVersion::fmi2;
    EXPECT_EQ(found(version, "", ""), "");
    EXPECT_EQ(found(version, R"(causality="parameter" variability="fixed")",
                    R"(causality="parameter" variability="discrete")"),
              "ModelVariables: p0: a variable with the causality 'parameter' cannot be 'discrete'");
    EXPECT_EQ(found(version, R"(start="0" unit="m")", R"(unit="m")"),
              "ModelVariables: x1: it needs a start value: its initial value is 'exact'");
    EXPECT_EQ(found(version, R"(start="0" unit="m")", R"(start="0" unit="furlong")"),
              std::string(fmi2 ? "warning " : "") + "ModelVariables: x1: its unit 'furlong' is not defined");
    EXPECT_EQ(found(version, R"(start="0" unit="m")", R"(start="0" min="1" unit="m")"),
              "ModelVariables: x1: its start value 0 is outside of its bounds");
    EXPECT_EQ(found(version, R"(initial="calculated")", R"(initial="exact")"),
              "ModelVariables: der(x1): it needs a start value: its initial value is 'exact'");
    EXPECT_EQ(found(version, fmi2 ? "<Unknown index=\"10\"/></Outputs>" : "<Output valueReference=\"41\"/>",
                    fmi2 ? "</Outputs>" : ""),
              "ModelStructure: outputs: 'y' is an output and is not listed");
    EXPECT_EQ(
        found(version, fmi2 ? "<Unknown index=\"10\"/>" : "<Output valueReference=\"41\"/>",
              fmi2 ? "<Unknown index=\"10\" dependencies=\"2 99\"/>"
                   : "<Output valueReference=\"41\" dependencies=\"2 99\"/>"),
        std::string("ModelStructure: ") + (fmi2 ? "Outputs" : "Output") + ": 'y' depends on '99', which is not there");
  }
  EXPECT_EQ(found(FmiVersion::fmi3, R"(valueReference="32")", R"(valueReference="31")"),
            "ModelVariables: m: it has the value reference of 'u'");
}

TEST(CheckFmu, runs_the_default_experiment_where_that_is_wanted) {
  const ForeignFile good(dahlquist, FmiVersion::fmi2);
  const FmuCheck ran = check_fmu(good.path(), {.run = true});
  const std::vector<std::string> notes = texts(ran, Level::note);
  EXPECT_TRUE(std::ranges::any_of(notes, [](const std::string& t) {
    return t.starts_with("run: the default experiment ends with success at t = 1");
  }));
  Foreign f = broken;
  f.values = {1.0, 5.0};
  const ForeignFile bad(f, FmiVersion::fmi2);
  const FmuCheck failed = check_fmu(bad.path(), {.run = true});
  EXPECT_FALSE(failed.ok());
}

TEST(CheckFmu, is_an_object_for_programs) {
  const ForeignFile file(pack(dahlquist, FmiVersion::fmi2, "<a b=\"\\\"/>"), "Dahlquist");
  const FmuCheck check = check_fmu(file.path());
  EXPECT_FALSE(check.ok());
  EXPECT_EQ(
      check.json().find("{\n  \"ok\": false,\n  \"summary\": [],\n  \"findings\": [\n    {\"severity\": \"error\", "
                        "\"where\": \"modelDescription.xml\""),
      0u)
      << check.json();
}

}  // namespace
}  // namespace saltus::fmi_tests
