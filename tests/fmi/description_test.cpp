// modelDescription.xml: dependencies, terminals, and the published schemas where they are at hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "fmi/files.hpp"
#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

using Names = std::set<std::string>;

/// Names of the knowns on which an output or the derivative of a state depends; nothing: all of them.
std::optional<Names> dependencies(const LoadedFmu& fmu, const std::string& unknown) {
  const bool fmi2 = std::string(fmu.root().attribute("fmiVersion").value()) == "2.0";
  std::vector<pugi::xml_node> variables;
  for (const pugi::xml_node v : fmu.root().child("ModelVariables").children()) variables.push_back(v);
  const auto variable = [&](unsigned number) {
    if (fmi2) return variables.at(number - 1);
    for (const pugi::xml_node v : variables)
      if (v.attribute("valueReference").as_uint() == number) return v;
    return pugi::xml_node();
  };
  const pugi::xml_node structure = fmu.root().child("ModelStructure");
  std::vector<pugi::xml_node> entries;
  if (fmi2) {
    for (const char* group : {"Outputs", "Derivatives"})
      for (const pugi::xml_node e : structure.child(group).children()) entries.push_back(e);
  } else {
    for (const char* name : {"Output", "ContinuousStateDerivative"})
      for (const pugi::xml_node e : structure.children(name)) entries.push_back(e);
  }
  for (const pugi::xml_node e : entries) {
    if (unknown != variable(e.attribute(fmi2 ? "index" : "valueReference").as_uint()).attribute("name").value())
      continue;
    if (!e.attribute("dependencies")) return {};
    std::istringstream list(e.attribute("dependencies").value());
    Names names;
    unsigned last = 0;
    for (unsigned number; list >> number; last = number) {
      EXPECT_TRUE(names.empty() || number > last) << "in ascending order";
      names.insert(variable(number).attribute("name").value());
    }
    return names;
  }
  ADD_FAILURE() << "no unknown " << unknown;
  return {};
}

TEST(Dependencies, are_those_of_the_equations) {
  const ModelicaModel model = load_modelica(R"(
    model Parts
      input Real u;
      input Real w;
      input Boolean on;
      output Real a(start = 1, fixed = true), b(start = 0, fixed = true), c(start = 0, fixed = true);
      output Real y, z, s, constant_one = 1;
      Real p, q, r, lag(start = 0, fixed = true);
      output Integer n(start = 0, fixed = true);
    equation
      der(a) = -a;
      der(b) = y + u;
      y = 2*a + sin(time);
      p + q = u;
      p - q^3 = b;
      z = q;
      der(c) = if on then w else 0;
      der(lag) = -lag;
      r = lag + w;
      s = r;
      when b > 0.5 then
        n = pre(n) + 1;
      end when;
    end Parts;)",
                                            "Parts.mo");
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const LoadedFmu fmu(model, {.version = version, .kind = FmuKind::both});
    EXPECT_EQ(dependencies(fmu, "der(a)"), Names({"a"}));
    EXPECT_EQ(dependencies(fmu, "der(b)"), Names({"time", "a", "u"}));
    EXPECT_EQ(dependencies(fmu, "der(c)"), Names({"w", "on"}));
    EXPECT_EQ(dependencies(fmu, "der(lag)"), Names({"lag"}));
    EXPECT_EQ(dependencies(fmu, "a"), Names({"a"}));
    EXPECT_EQ(dependencies(fmu, "y"), Names({"time", "a"}));
    EXPECT_EQ(dependencies(fmu, "z"), Names({"b", "u"}));
    EXPECT_EQ(dependencies(fmu, "s"), Names({"lag", "w"}));
    EXPECT_EQ(dependencies(fmu, "n"), Names({"b"}));
    EXPECT_EQ(dependencies(fmu, "constant_one"), Names());
  }
}

TEST(Description, discrete_inputs_are_discrete) {
  const ModelicaModel model = load_modelica(
      "model M input Real u; discrete input Real k; input Integer n; Real x(start = 0, fixed = true); "
      "equation der(x) = u + k + n; end M;",
      "M.mo");
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const LoadedFmu fmu(model, {.version = version, .kind = FmuKind::both});
    const auto variability = [&](const char* name) {
      return std::string(fmu.variable(name).attribute("variability").value());
    };
    EXPECT_EQ(variability("u"), "continuous");
    EXPECT_EQ(variability("k"), "discrete");
    EXPECT_EQ(variability("n"), "discrete");
  }
}

TEST(Dependencies, of_a_slide_reach_what_keeps_it_on_its_surface) {
  // on v = 0 friction balances the force: its weight, and so der(e), depends on u and f
  const ModelicaModel model = load_modelica(R"(
    model Slides
      input Real u;
      Real v(start = 1, fixed = true), f(start = 0, fixed = true), e(start = 0, fixed = true);
      Real alone(start = 0, fixed = true);
    equation
      der(v) = u + f - (if v > 0 then 2 else -2);
      der(f) = -f;
      der(e) = if v > 0 then 1 else -1;
      der(alone) = -alone;
    end Slides;)",
                                            "Slides.mo");
  const LoadedFmu fmu(model, {.version = FmiVersion::fmi2, .kind = FmuKind::both});
  EXPECT_EQ(dependencies(fmu, "der(e)"), Names({"v", "f", "u"}));
  EXPECT_EQ(dependencies(fmu, "der(alone)"), Names({"alone"}));
}

TEST(Dependencies, of_constrained_states_are_all_that_hangs_together) {
  const ModelicaModel model = load_modelica(R"(
    model Rod
      input Real u, w;
      Real x(start = 1, fixed = true), y, vx(start = 0, fixed = true), vy, force;
      output Real other(start = 0, fixed = true);
    equation
      der(x) = vx;
      der(y) = vy;
      der(vx) = -force*x;
      der(vy) = -force*y - 9.81 + u;
      x^2 + y^2 = 1;
      der(other) = w - other;
    end Rod;)",
                                            "Rod.mo");
  const LoadedFmu fmu(model, {.version = FmiVersion::fmi3});
  EXPECT_EQ(dependencies(fmu, "der(other)"), Names({"other", "w"}));
  const std::optional<Names> rod = dependencies(fmu, "der(vx)");
  ASSERT_TRUE(rod);
  EXPECT_TRUE(rod->contains("u"));
  EXPECT_FALSE(rod->contains("w"));
}

/// Models of the gallery that can be exported for model exchange.
std::vector<std::string> exchanged_models() {
  std::vector<std::string> names = gallery_names();
  std::erase_if(names, [](const std::string& name) {
    return name == "Clutch" || name == "FrictionPendulum" || name == "RopePendulum";
  });
  return names;
}

class GalleryDependencies : public testing::TestWithParam<std::string> {};

// What is not in the list must not matter: moved alone, it changes nothing. Modes are those of a run.
TEST_P(GalleryDependencies, name_all_that_matters) {
  const ModelicaModel model = gallery_model(GetParam());
  const LoadedFmu fmu(model, {.version = FmiVersion::fmi2, .kind = FmuKind::both});
  const Instance2 instance(fmu, fmi2::model_exchange);
  const double stop = model.experiment.stop.value_or(1.0);
  const Trajectory run = simulate(model.model, {.stop = stop, .rtol = 1e-6, .atol = 1e-6});
  instance.initialise(0.0, stop);
  std::vector<std::string> states;
  for (const pugi::xml_node v : fmu.root().child("ModelVariables").children())
    if (const std::string name = v.attribute("name").value(); name.starts_with("der("))
      states.push_back(name.substr(4, name.size() - 5));
  int looked = 0;
  for (int k = 0; k <= 20; ++k) {
    // the importer's way to a point: its time and states, then an event
    const double t = stop * k / 20.0;
    std::vector<double> x;
    for (const std::string& name : states) x.push_back(run.at(t, name));
    ASSERT_EQ(instance.plain("fmi2EnterContinuousTimeMode"), fmi::ok) << last_message();
    ASSERT_EQ(instance.call<fmi2::SetTimeFunction>("fmi2SetTime", t), fmi::ok);
    ASSERT_EQ(instance.call<fmi2::SetNumbersFunction>("fmi2SetContinuousStates", x.data(), x.size()), fmi::ok);
    ASSERT_EQ(instance.plain("fmi2EnterEventMode"), fmi::ok);
    fmi2::EventInfo info{};
    ASSERT_EQ(instance.call<fmi2::NewDiscreteStatesFunction>("fmi2NewDiscreteStates", &info), fmi::ok)
        << last_message();
    for (const std::string& state : states) {
      const std::string unknown = "der(" + state + ")";
      const std::optional<Names> listed = dependencies(fmu, unknown);
      if (!listed) continue;
      for (const std::string& known : states) {
        if (listed->contains(known)) continue;
        const unsigned u = fmu.reference(unknown), v = fmu.reference(known);
        const double seed = 1.0;
        double result = 1.0;
        ASSERT_EQ(instance.call<fmi2::DirectionalDerivativeFunction>("fmi2GetDirectionalDerivative", &u, 1, &v, 1,
                                                                     &seed, &result),
                  fmi::ok)
            << last_message();
        EXPECT_EQ(result, 0.0) << unknown << " by " << known << " at t = " << t;
        ++looked;
      }
    }
  }
  RecordProperty("looked", looked);
}

INSTANTIATE_TEST_SUITE_P(models, GalleryDependencies, testing::ValuesIn(exchanged_models()),
                         [](const auto& test) { return test.param; });

const char* const with_connectors = R"(
  package P
    connector Pin "electrical"
      Real v(unit = "V");
      flow Real i(unit = "A");
    end Pin;
    connector Plug "two pins and a signal"
      Pin a, b;
      output Real level;
    end Plug;
    model Load
      Plug plug "to the grid";
      Pin ground;
      input Real u;
    equation
      plug.a.v = u;
      plug.b.v = ground.v;
      ground.v = 0;
      plug.level = 2*u;
    end Load;
  end P;)";

TEST(Terminals, show_the_connectors_of_the_model) {
  const ModelicaModel model = load_modelica(with_connectors, "Load.mo");
  ASSERT_EQ(model.connectors.size(), 2u);
  EXPECT_EQ(model.connectors[0].type, "P.Plug");
  const LoadedFmu fmu(model, {.version = FmiVersion::fmi3});
  pugi::xml_document document;
  ASSERT_TRUE(document.load_file((fmu.resources() + "/../terminalsAndIcons/terminalsAndIcons.xml").c_str()));
  const pugi::xml_node terminals = document.document_element().child("Terminals");
  const pugi::xml_node plug = terminals.find_child_by_attribute("Terminal", "name", "plug");
  EXPECT_STREQ(plug.attribute("description").value(), "to the grid");
  EXPECT_STREQ(plug.attribute("terminalKind").value(), "P.Plug");
  const auto member = [](pugi::xml_node of, const char* name) {
    return of.find_child_by_attribute("TerminalMemberVariable", "memberName", name);
  };
  EXPECT_STREQ(member(plug, "level").attribute("variableName").value(), "plug.level");
  EXPECT_STREQ(member(plug, "level").attribute("variableKind").value(), "signal");
  const pugi::xml_node inner = plug.find_child_by_attribute("Terminal", "name", "a");
  EXPECT_STREQ(member(inner, "i").attribute("variableName").value(), "plug.a.i");
  EXPECT_STREQ(member(inner, "i").attribute("variableKind").value(), "inflow");
  EXPECT_STREQ(
      member(terminals.find_child_by_attribute("Terminal", "name", "ground"), "v").attribute("variableName").value(),
      "ground.v");
  // every name is that of a variable
  for (const pugi::xpath_node& m : document.select_nodes("//TerminalMemberVariable"))
    EXPECT_TRUE(fmu.variable(m.node().attribute("variableName").value())) << m.node().attribute("variableName").value();
  // FMI 2.0 has none, and models without connectors neither
  for (const LoadedFmu& other : {LoadedFmu(model, {.version = FmiVersion::fmi2}),
                                 LoadedFmu(gallery_model("BouncingBall"), {.version = FmiVersion::fmi3})})
    EXPECT_FALSE(std::filesystem::exists(other.resources() + "/../terminalsAndIcons"));
}

/// xmllint says nothing about a file against a schema.
void expect_valid(const std::string& schema, const std::string& file) {
  const std::string command = fmt::format("xmllint --noout --schema '{}' '{}' 2>&1", schema, file);
  std::FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string said;
  char line[1000];
  while (std::fgets(line, sizeof line, pipe)) said += line;
  EXPECT_EQ(pclose(pipe), 0) << said;
}

// SALTUS_FMI_SCHEMAS names a folder with the published schemas: fmi2ModelDescription.xsd, fmi3ModelDescription.xsd,
// fmi3TerminalsAndIcons.xsd and what they include.
TEST(Description, is_valid_by_the_published_schemas) {
  const char* folder = std::getenv("SALTUS_FMI_SCHEMAS");
  if (!folder) GTEST_SKIP() << "SALTUS_FMI_SCHEMAS names no folder with schemas";
  if (std::system("command -v xmllint > /dev/null") != 0) GTEST_SKIP() << "xmllint is not installed";
  std::vector<ModelicaModel> models{load_modelica(with_connectors, "Load.mo")};
  for (const std::string& name : gallery_names()) models.push_back(gallery_model(name));
  for (const ModelicaModel& model : models)
    for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
      SCOPED_TRACE(model.model.name());
      const bool exchanged = std::ranges::count(exchanged_models(), model.model.name()) > 0;
      const LoadedFmu fmu(model, {.version = version, .kind = exchanged ? FmuKind::both : FmuKind::co_simulation});
      const std::string number = version == FmiVersion::fmi2 ? "2" : "3", root = fmu.resources() + "/..";
      expect_valid(fmt::format("{}/fmi{}ModelDescription.xsd", folder, number), root + "/modelDescription.xml");
      if (const std::string terminals = root + "/terminalsAndIcons/terminalsAndIcons.xml";
          std::filesystem::exists(terminals))
        expect_valid(fmt::format("{}/fmi3TerminalsAndIcons.xsd", folder), terminals);
    }
}

}  // namespace
}  // namespace saltus::fmi_tests
