// Classes: inheritance, modifications, packages, records, enumerations, conditional components.
#include <gtest/gtest.h>
#include <saltus/expr/print.hpp>

#include <cmath>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

double start_of(const ModelicaModel& m, const std::string& name) {
  return m.model.data().variable_info.at(m.model.data().names.at(name).index).start;
}

TEST(Classes, ComponentsAreModifiedFromOutside) {
  const auto m = load_text(
      "model Tank\n  parameter Real area = 1, level0 = 2*area;\n  Real level(start = level0, fixed = true);\nequation\n"
      "  area*der(level) = -level;\nend Tank;\n"
      "model M\n  parameter Real a = 4;\n  Tank one(area = a), two(level(start = 7), final area = 2), three;\nend "
      "M;\n");
  EXPECT_EQ(start_of(m, "one.level"), 8.0);
  EXPECT_EQ(start_of(m, "two.level"), 7.0);
  EXPECT_EQ(start_of(m, "three.level"), 2.0);
  std::vector<std::string> parameters;
  for (const auto& p : m.model.data().parameters) parameters.push_back(p.name);
  EXPECT_EQ(parameters,
            (std::vector<std::string>{"a", "two.level0", "three.area"}));  // one.area follows a, two.area is final
}

TEST(Classes, ExtendsInheritsComponentsEquationsAndModifications) {
  const auto m = load_text(
      "partial model Base\n  parameter Real k = 1;\n  Real x(start = k, fixed = true);\nequation\n  der(x) = "
      "u;\nprotected\n"
      "  Real u;\nend Base;\n"
      "model Middle\n  extends Base(k = 3);\nequation\n  u = -k*x;\nend Middle;\n"
      "model M\n  extends Middle(x(nominal = 5));\nend M;\n");
  EXPECT_EQ(start_of(m, "x"), 3.0);
  EXPECT_EQ(m.model.data().variable_info[0].nominal, 5.0);
  EXPECT_NEAR(run(m.model, 1.0).at(1.0, "x"), 3.0 * std::exp(-3.0), 1e-8);
}

TEST(Classes, TheInnermostModificationIsTheWeakest) {
  const auto m = load_text(
      "model A\n  parameter Real p = 1;\n  Real x = p;\nend A;\nmodel B\n  A a(p = 2);\nend B;\n"
      "model C\n  B b(a(p = 3)), c, d(a.p = 4);\nend C;\n");
  EXPECT_EQ(m.model.data().parameters.at(0).value, 3.0);
  EXPECT_EQ(m.model.data().parameters.at(1).value, 2.0);
  EXPECT_EQ(m.model.data().parameters.at(2).value, 4.0);
}

TEST(Classes, ArraysOfComponentsTakeArraysOfModifications) {
  const auto m = load_text(
      "model A\n  parameter Real p = 1;\n  parameter Real q[2] = {0, 0};\n  Real x = p;\nend A;\n"
      "model M\n  Real z;\n  A a[3](p = {1, 2, 3}, each q = {7, 8});\n  Real s = sum(a.x), t = a[2].q[2];\nequation\n  "
      "der(z) = 0;\nend M;\n");
  EXPECT_EQ(m.model.data().parameters.size(), 9u);
  const auto r = run(m.model, 1.0);
  EXPECT_NEAR(r.at(1.0, "s"), 6.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "t"), 8.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "a[3].x"), 3.0, 1e-12);
}

TEST(Classes, PackagesHoldConstantsTypesAndClasses) {
  const auto m = load_text(
      "package P\n  constant Real g = 9.81;\n  package Q\n    constant Real h = 2*g;\n    type Length = Real(unit = "
      "\"m\", min = 0);\n"
      "    model Inner\n      Length x(start = g);\n    equation\n      der(x) = h;\n    end Inner;\n  end Q;\nend P;\n"
      "model M\n  import P.Q;\n  import G = P.g;\n  import P.Q.{h};\n  Q.Inner part;\n  Real y = G + P.Q.h + h;\nend "
      "M;\n");
  EXPECT_EQ(start_of(m, "part.x"), 9.81);
  EXPECT_EQ(m.model.data().variable_info[0].details->unit, "m");
  EXPECT_EQ(m.model.data().variable_info[0].details->min, 0.0);
  EXPECT_EQ(to_string(m.model.data().equations[0].equation), "y = 49.05");
}

TEST(Classes, ConstantsAndUnitsOfTheStandardLibraryAreThere) {
  const auto m = load_text(
      "model M\n  import SI = Modelica.Units.SI;\n  import Modelica.Constants.pi;\n  SI.Voltage u = 2*pi;\n"
      "  Modelica.SIunits.Mass m = Modelica.Constants.g_n;\n  Real y = Modelica.Math.sin(pi/2);\nend M;\n");
  EXPECT_EQ(m.model.data().variable_info[0].details->unit, "V");
  EXPECT_EQ(m.model.data().variable_info[1].details->unit, "kg");
  EXPECT_EQ(to_string(m.model.data().equations[1].equation), "m = 9.80665");
  EXPECT_EQ(to_string(m.model.data().equations[2].equation), "y = 1");
  // a package of that name in the text wins
  EXPECT_EQ(
      to_string(
          load_text(
              "package Modelica\n  constant Real x = 3;\nend Modelica;\nmodel M\n  Real y = Modelica.x;\nend M;\n")
              .model.data()
              .equations[0]
              .equation),
      "y = 3");
}

TEST(Classes, ShortClassesCarryModificationsAndSizes) {
  const auto m = load_text(
      "model A\n  parameter Real k = 1;\n  Real x = k;\nend A;\nmodel B = A(k = 5);\n"
      "type Vector = Real[3](each unit = \"N\");\nconnector Input = input Real;\n"
      "model M\n  B b;\n  Vector f[2];\nequation\n  f = fill(1, 2, 3);\nend M;\n");
  EXPECT_EQ(m.model.data().parameters.at(0).value, 5.0);
  EXPECT_EQ(m.model.data().variables.size(), 7u);
  EXPECT_EQ(m.model.data().variable_info[6].name, "f[2,3]");
  EXPECT_EQ(m.model.data().variable_info[6].details->unit, "N");
}

TEST(Classes, RecordsAreBoundAndComparedAsAWhole) {
  const auto r = run_text(
      "record Data\n  Real a = 1, b;\n  parameter Integer n = 2;\nend Data;\n"
      "model M\n  parameter Data d = Data(b = 3);\n  parameter Data e(a = 5, b = 6);\n  Data v(a = time, b = "
      "2*time);\n  Data w = v;\n"
      "  Real x = d.a + d.b + e.a + e.b, z;\nequation\n  der(z) = 0;\nend M;\n",
      1.0);
  EXPECT_NEAR(r.at(1.0, "x"), 15.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "w.b"), 2.0, 1e-12);
}

TEST(Classes, EnumerationsAreComparedAndAssigned) {
  const auto r = run_text(
      "model M\n  type Gear = enumeration(park, drive, reverse);\n  Gear gear(start = Gear.park);\n"
      "  Real x(start = 0, fixed = true);\n  Boolean moving = gear <> Gear.park;\nequation\n"
      "  der(x) = if gear == Gear.drive then 1 elseif gear == Gear.reverse then -2 else 0;\n"
      "  when time > 1 then\n    gear = Gear.drive;\n  elsewhen time > 2 then\n    gear = Gear.reverse;\n  end "
      "when;\nend M;\n",
      3.0);
  EXPECT_NEAR(r.at(2.0, "x"), 1.0, 1e-8);
  EXPECT_NEAR(r.at(3.0, "x"), -1.0, 1e-8);
  EXPECT_EQ(r.at(2.5, "gear"), 3.0);
  EXPECT_EQ(r.at(2.5, "moving"), 1.0);
}

TEST(Classes, ConditionalComponentsAndBranchesFollowParameters) {
  constexpr auto text =
      "model Part\n  Real y = 1;\nend Part;\nmodel M\n  parameter Boolean with_part = true;\n  parameter Integer kind "
      "= 1;\n"
      "  Part part if with_part;\n  Real x(start = 0, fixed = true);\nequation\n  if kind == 1 then\n    der(x) = 1;\n"
      "  elseif kind == 2 then\n    der(x) = 2;\n  else\n    assert(false, \"kind must be 1 or 2\");\n    der(x) = 0;\n"
      "  end if;\nend M;\n";
  EXPECT_EQ(load_text(text).model.data().variables.size(), 2u);
  const auto other = load_text(text, {.parameters = {{"with_part", 0.0}, {"kind", 2.0}}});
  EXPECT_EQ(other.model.data().variables.size(), 1u);
  EXPECT_NEAR(run(other.model, 1.0).at(1.0, "x"), 2.0, 1e-9);
  EXPECT_NE(load_errors(text, {.parameters = {{"kind", 3.0}}}).find("kind must be 1 or 2"), std::string::npos);
}

TEST(Classes, BlocksAreConnectedByTheirInputsAndOutputs) {
  // an integrator with gain in a feedback loop: y' = 2(1 - y)
  const auto r = run_text(
      "connector RealInput = input Real;\nconnector RealOutput = output Real;\n"
      "block Integrator\n  parameter Real k = 1;\n  RealInput u;\n  RealOutput y(start = 0, fixed = true);\nequation\n "
      " der(y) = k*u;\nend Integrator;\n"
      "block Difference\n  RealInput a, b;\n  RealOutput y = a - b;\nend Difference;\n"
      "block Step\n  RealOutput y = 1;\nend Step;\n"
      "model Loop\n  Integrator integrator(k = 2);\n  Difference difference;\n  Step step;\nequation\n"
      "  connect(step.y, difference.a);\n  connect(integrator.y, difference.b);\n  connect(difference.y, "
      "integrator.u);\nend Loop;\n",
      1.0);
  EXPECT_NEAR(r.at(1.0, "integrator.y"), 1.0 - std::exp(-2.0), 1e-8);
}

TEST(Classes, BooleanSignalsPassThroughConnections) {
  const auto r = run_text(
      "connector BooleanInput = input Boolean;\nconnector BooleanOutput = output Boolean;\n"
      "block Compare\n  BooleanOutput y = time > 1;\nend Compare;\nblock Not\n  BooleanInput u;\n  BooleanOutput y = "
      "not u;\nend Not;\n"
      "model M\n  Not n;\n  Compare c;\n  Real x(start = 0, fixed = true);\nequation\n  connect(n.u, c.y);\n"
      "  der(x) = if n.y then 1 else 3;\nend M;\n",
      2.0);
  EXPECT_NEAR(r.at(2.0, "x"), 4.0, 1e-8);
}

TEST(Classes, AnExtensionAddsToTheModelThatIsRun) {
  constexpr const char* text = R"(
    package P
      model Ball
        parameter Real e = 0.5;
        Real h(start = 1, fixed = true), v(start = 0, fixed = true);
      equation
        der(h) = v;
        der(v) = -9.81;
        when h < 0 then reinit(v, -e*pre(v)); end when;
        annotation(experiment(StopTime = 1.2));
      end Ball;
    end P;)";
  const ModelicaModel loaded =
      load_text(text, {.parameters = {{"e", 0.8}},
                       .extension = "Real energy = 9.81*h + v^2/2; discrete Real n(start = 0, fixed = true);\n"
                                    "equation when h < 0 then n = pre(n) + 1; end when;"});
  EXPECT_EQ(loaded.model.name(), "Ball");
  EXPECT_EQ(loaded.experiment.stop, 1.2);
  const Trajectory result = run(loaded.model, 1.2);
  EXPECT_EQ(result.at(1.2, "n"), 2.0);  // at 0.452 and 1.174
  EXPECT_NEAR(result.at(0.4, "energy"), 9.81, 1e-8);
  const std::string errors = load_errors(text, {.extension = "Real y = hh;"});
  EXPECT_NE(errors.find("extension:2:10"), std::string::npos) << errors;
  EXPECT_NE(errors.find("'hh' is not declared"), std::string::npos) << errors;
  EXPECT_NE(load_errors(text, {.extension = "Real y = ;"}).find("extension:2"), std::string::npos);
}

// The value of a whole record is the default of its fields where they are modified further out, and the other way
// round.
TEST(Records, WhatIsWrittenFurtherOutWins) {
  const std::string classes =
      "record S\n  Real a, b;\nend S;\nrecord R\n  S s;\n  Real w;\nend R;\n"
      "model A\n  parameter R r = R(S(1, 2), 3);\nend A;\n"
      "model B\n  parameter R r(w = 4, s(a = 5, b = 6));\nend B;\n";
  const auto value = [&](const std::string& declaration, const std::string& prefix = "a.") {
    const auto m = load_text(classes + "model M\n  " + declaration + ";\n  Real z = 100*" + prefix + "r.s.a + 10*" +
                             prefix + "r.s.b + " + prefix + "r.w;\nend M;\n");
    return run(m.model, 1.0).at(1.0, "z");
  };
  EXPECT_EQ(value("A a"), 123.0);
  EXPECT_EQ(value("A a(r(w = 7))"), 127.0);
  EXPECT_EQ(value("A a(r(s(b = 7)))"), 173.0);
  EXPECT_EQ(value("A a(r(s = S(8, 9)))"), 893.0);
  EXPECT_EQ(value("extends A(r(w = 7))", ""), 127.0);
  EXPECT_EQ(value("B a"), 564.0);
  EXPECT_EQ(value("B a(r = R(S(1, 2), 3))"), 123.0);
  EXPECT_EQ(value("B a(r(s = S(8, 9)))"), 894.0);
  EXPECT_NE(
      load_errors("record R\n  Real a;\nend R;\nmodel M\n  parameter R r(a = 1) = R(2);\n  Real z = r.a;\nend M;\n")
          .find("a.mo:5:17: error: the field 'a' is given a value, and so is the whole record"),
      std::string::npos);
}

TEST(Classes, InstancesKnowTheirNames) {
  // the model that runs, and the path of the instance in which the call is written
  const auto m = load_text(
      "package P\n  block B\n    parameter String name = getInstanceName();\n"
      "    constant Integer y = if name == \"M.box[2].part\" then 1 elseif name == \"M.other\" then 2\n"
      "      elseif name == \"M\" then 3 else 0;\n  end B;\n"
      "  model Box\n    B part;\n  end Box;\n"
      "  model M\n    Box box[2];\n    B other, given(name = getInstanceName());\n"
      "    Real x(start = 1000*box[1].part.y + 100*box[2].part.y + 10*other.y + given.y, fixed = true);\n"
      "  equation\n    der(x) = 0;\n  end M;\nend P;\n",
      {.model_name = "P.M"});
  EXPECT_EQ(start_of(m, "x"), 123.0);
}

}  // namespace
}  // namespace saltus
