// What becomes of a model that was read when it is compiled, run and changed.
#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>

#include <cmath>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::string compile_error(std::string_view text) {
  const ModelicaModel loaded = load_modelica(text, "a.mo");
  try {
    const CompiledModel compiled(loaded.model);
  } catch (const ModelError& error) {
    return error.what();
  }
  return {};
}

TEST(CompileErrors, AMissingEquationShowsAVariableThatNothingDetermines) {
  EXPECT_EQ(compile_error(R"(model M
  Real x, y;
  Real lost;
equation
  der(x) = y;
  der(y) = -x;
end M;
)"),
            R"(a.mo:3:8: model 'M': 2 equations for 3 variables; 1 more equation is needed among the variables 'lost'
    Real lost;
         ^)");
}

TEST(CompileErrors, AnEquationTooManyShowsOneOfThem) {
  const std::string text = compile_error("model M\n  Real x;\nequation\n  der(x) = 1;\n\t  x + der(x) = 2;\nend M;\n");
  EXPECT_NE(text.find("2 equations for 1 variable; 1 equation is too many among"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n    der(x) = 1;\n    ^")) << text;
}

TEST(CompileErrors, AStructuralSingularityShowsItsPlace) {
  // as many equations as variables, but z is in none of them
  const std::string text = compile_error(R"(model M
  Real x, y, z;
equation
  x + y = 1;
  x - y = 2;
  x + 2*y = time;
end M;
)");
  EXPECT_NE(text.find("a.mo:"), std::string::npos) << text;
  EXPECT_NE(text.find('^'), std::string::npos) << text;
}

TEST(StartValues, FollowTheParametersTheyAreMadeOf) {
  ModelicaModel m = load_text(R"(model M
  parameter Real a = 2;
  parameter Real b = 3*a;
  Real x(start = a + 1, fixed = true), y, z[2](start = {a, 7}, each fixed = true);
  discrete Real q(start = b);
initial equation
  y = 10*a;
equation
  der(x) = 0;
  der(y) = 0;
  der(z) = {0, 0};
  when time > 0.5 then
    q = 1;
  end when;
end M;
)");
  const auto starts = [&] {
    const Trajectory result = run(m.model, 0.25);
    std::vector<double> values;
    for (const char* name : {"x", "y", "z[1]", "z[2]", "q"}) values.push_back(result.at(0.0, name));
    return values;
  };
  EXPECT_EQ(starts(), (std::vector{3.0, 20.0, 2.0, 7.0, 6.0}));
  m.model.set("a", 5.0);
  EXPECT_EQ(starts(), (std::vector{6.0, 50.0, 5.0, 7.0, 15.0}));
  m.model.set("x", 1.0);  // a number of its own from now on
  m.model.set("a", 4.0);
  EXPECT_EQ(starts()[0], 1.0);
  EXPECT_EQ(starts()[2], 4.0);
}

TEST(StartValues, ThatAreNoNumbersForNewParametersAreRefused) {
  ModelicaModel m = load_text(
      "model M\n  parameter Real a = 2;\n  Real x(start = log(a), fixed = true);\nequation\n  der(x) = 0;\nend M;\n");
  m.model.set("a", -1.0);
  EXPECT_THROW(CompiledModel{m.model}, ModelError);
}

TEST(Events, AreMadeByRelationsThatOnlyAnOutputSees) {
  // the output is eliminated, nothing depends on it; its switch is an event all the same
  const Trajectory result = run_text(R"(model M
  Real x(start = 0, fixed = true);
  Real late = if x > 0.5 then 1 else 0;
equation
  der(x) = 1;
end M;
)",
                                     1.0);
  ASSERT_EQ(result.events().size(), 1U);
  EXPECT_NEAR(result.events()[0].t, 0.5, 1e-9);  // x = t; located to rounding
  EXPECT_EQ(result.at(0.4999, "late"), 0.0);
  EXPECT_EQ(result.at(0.5001, "late"), 1.0);
}

TEST(Arrays, OfAnArrayTypeHaveTheirOwnDimensionsFirst) {
  // Modelica 3.6, section 10.1: in Real[3] x[2] the dimensions of the declaration come first
  const ModelicaModel m = load_text(R"(model M
  Real[3] x[2] = {{1, 2, 3}, {4, 5, 6}};
  type V = Real[3];
  V v[2] = x;
  Real s = x[2, 1] + 10*v[1, 3] + 100*size(x, 1) + 1000*size(v, 2);
end M;
)");
  EXPECT_EQ(run(m.model, 1.0).at(1.0, "s"), 4.0 + 30.0 + 200.0 + 3000.0);
}

}  // namespace
}  // namespace saltus
