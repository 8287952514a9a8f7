// Vendor annotations of Saltus.
#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/text.hpp>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::vector<SurfaceRule> rules_of(std::string_view text) {
  const CompiledModel compiled(load_text(text).model);
  std::vector<SurfaceRule> rules;
  for (const GuardInfo& guard : compiled.guards()) rules.push_back(guard.rule);
  return rules;
}

TEST(SurfaceAnnotation, OfAnEquationReachesItsRelationsOnly) {
  EXPECT_EQ(rules_of(R"(model M
  Real x(start = 1), y(start = 1);
equation
  der(x) = if x > 0 then -1 else 1 annotation(__saltus_surface = "stop");
  der(y) = if y > 0 then -1 else 1;
end M;
)"),
            (std::vector{SurfaceRule::stop, SurfaceRule::filippov}));
}

TEST(SurfaceAnnotation, OfAnIfEquationAndOfADeclaration) {
  EXPECT_EQ(rules_of(R"(model M
  Real x(start = 1), y(start = 1);
  Real f = if y > 0 then -1 else 1 annotation(__saltus_surface = "crossing");
equation
  if x > 0 then
    der(x) = -1;
  else
    der(x) = 1;
  end if annotation(__saltus_surface = "stop");
  der(y) = f;
end M;
)"),
            (std::vector{SurfaceRule::crossing, SurfaceRule::stop}));
}

TEST(SurfaceAnnotation, EndsTheRunWhereTheSolutionWouldSlide) {
  const char* text = R"(model M
  Real x(start = 1, fixed = true);
equation
  der(x) = if x > 0 then -1 else 1 annotation(__saltus_surface = "%");
end M;
)";
  const auto with = [&](const std::string& rule) {
    std::string model = text;
    return simulate(load_text(model.replace(model.find('%'), 1, rule)).model, {.stop = 2.0});
  };
  EXPECT_TRUE(with("filippov").status().ok());
  EXPECT_EQ(with("filippov").t_end(), 2.0);
  const Trajectory stopped = with("stop");
  EXPECT_NEAR(stopped.t_end(), 1.0, 1e-9);  // x = 1 - t; located to rounding
}

TEST(SurfaceAnnotation, OfAnotherNameIsAnError) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = 1 annotation(__saltus_surfaec = "stop", __other_tool = 2);
end M;
)"),
            R"(a.mo:4:25: error: there is no annotation '__saltus_surfaec'
    der(x) = 1 annotation(__saltus_surfaec = "stop", __other_tool = 2);
                          ^~~~~~~~~~~~~~~~~~~~~~~~~
hint: did you mean '__saltus_surface'?
)");
  EXPECT_NE(load_errors("model M\n  Real x annotation(__saltus_surfac = 1);\nequation\n  der(x) = 1;\nend M;\n")
                .find("a.mo:2:21: error: there is no annotation '__saltus_surfac'"),
            std::string::npos);
}

TEST(SurfaceAnnotation, OfAnotherValueIsAnError) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = if x > 0 then -1 else 1 annotation(__saltus_surface = "filipov");
end M;
)"),
            R"(a.mo:4:66: error: '__saltus_surface' is one of "filippov", "stay", "crossing" and "stop"
    der(x) = if x > 0 then -1 else 1 annotation(__saltus_surface = "filipov");
                                                                   ^~~~~~~~~
hint: did you mean 'filippov'?
)");
}

TEST(SurfaceAnnotation, OfAModelIsAnError) {
  EXPECT_NE(
      load_errors("model M\n  Real x;\nequation\n  der(x) = 1;\n  annotation(__saltus_surface = \"stop\");\nend M;\n")
          .find("belongs to an equation"),
      std::string::npos);
}

TEST(SurfaceAnnotation, WithoutARelationIsPointedOut) {
  const ModelicaModel m =
      load_text("model M\n  Real x;\nequation\n  der(x) = 1 annotation(__saltus_surface = \"stop\");\nend M;\n");
  ASSERT_EQ(m.notes.size(), 1U);
  EXPECT_EQ(m.notes[0].severity, Severity::warning);
}

TEST(SurfaceAnnotation, StaysOnASurfaceThatPushesAway) {
  const char* text = R"(model M
  Real x(start = 0, fixed = true);
equation
  der(x) = if x > 0 then 1 else -1 annotation(__saltus_surface = "stay", __saltus_nominal = 1e-3);
end M;
)";
  const ModelicaModel loaded = load_text(text);
  const CompiledModel compiled(loaded.model);
  ASSERT_EQ(compiled.guards().size(), 1u);
  EXPECT_EQ(compiled.guards()[0].rule, SurfaceRule::stay);
  EXPECT_EQ(compiled.guards()[0].nominal, 1e-3);
  EXPECT_EQ(simulate(loaded.model, {.stop = 1.0}).final()[0], 0.0);
  // as text, and back
  const CompiledModel again(load_text(base_modelica(loaded.model)).model);
  ASSERT_EQ(again.guards().size(), 1u);
  EXPECT_EQ(again.guards()[0].rule, SurfaceRule::stay);
  EXPECT_EQ(again.guards()[0].nominal, 1e-3);
}

TEST(SurfaceAnnotation, ANominalValueIsAPositiveNumber) {
  for (const char* value : {"0", "-1", "\"big\"", "x"})
    EXPECT_NE(load_errors("model M\n  Real x;\nequation\n  der(x) = if x > 0 then -1 else 1 "
                          "annotation(__saltus_nominal = " +
                          std::string(value) + ");\nend M;\n")
                  .find("'__saltus_nominal' is a positive number"),
              std::string::npos)
        << value;
}

}  // namespace
}  // namespace saltus
