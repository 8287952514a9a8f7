// Rules of the specification that protect the author of a model.
#include <gtest/gtest.h>

#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

bool says(const std::string& text, const std::string& error) {
  const std::string errors = load_errors(text);
  if (errors.find(error) != std::string::npos) return true;
  ADD_FAILURE() << (errors.empty() ? "no error" : errors);
  return false;
}

const std::string blocks =
    "connector In = input Real;\nconnector Out = output Real;\nblock Source\n  parameter Real k = 1;\n  Out y = "
    "k;\nend Source;\n"
    "block Gain\n  In u;\n  Out y = 2*u;\nend Gain;\n";

TEST(Checks, ASignalHasOneSource) {
  EXPECT_TRUE(says(
      blocks +
          "model M\n  Source a, b(k = 2);\n  Gain g;\nequation\n  connect(a.y, g.u);\n  connect(b.y, g.u);\nend M;\n",
      "the sources 'a.y' and 'b.y' are connected to each other"));
  EXPECT_EQ(run_text(blocks + "model M\n  Source a;\n  Gain g;\nprotected\n  In node;\nequation\n  connect(a.y, "
                              "node);\n  connect(node, g.u);\nend M;\n",
                     1.0)
                .at(1.0, "g.y"),
            2.0);
  EXPECT_EQ(run_text(blocks + "block Two\n  In u;\n  Out y;\n  Gain a, b;\nequation\n  connect(u, a.u);\n  "
                              "connect(a.y, b.u);\n  connect(b.y, y);\n"
                              "end Two;\nmodel M\n  Source s;\n  Two t;\n  Gain g, h;\nequation\n  connect(s.y, "
                              "t.u);\n  connect(t.y, g.u);\n"
                              "  connect(t.y, h.u);\nend M;\n",
                     1.0)
                .at(1.0, "h.y"),
            8.0);
}

TEST(Checks, ParametersOfConnectedConnectorsAgree) {
  const std::string text =
      "connector Plug\n  parameter Integer m = 3;\n  Real v;\n  flow Real i;\nend Plug;\nmodel A\n  parameter Integer "
      "m = 3;\n  Plug p(m = m);\n"
      "equation\n  p.v = 1;\nend A;\nmodel B\n  parameter Integer m = 3;\n  Plug p(m = m);\nequation\n  p.i = "
      "p.v;\nend B;\n";
  EXPECT_TRUE(says(text + "model M\n  A a;\n  B b(m = 2);\nequation\n  connect(a.p, b.p);\nend M;\n",
                   "'a.p.m' and 'b.p.m' are connected, but their values differ"));
  EXPECT_EQ(run_text(text + "model M\n  A a;\n  B b;\nequation\n  connect(a.p, b.p);\nend M;\n", 1.0).at(1.0, "b.p.i"),
            1.0);
}

TEST(Checks, AVariableBelongsToOneAlgorithm) {
  EXPECT_TRUE(says("model M\n  Real x, y;\nalgorithm\n  x := time;\nalgorithm\n  x := 2*time;\n  y := x;\nend M;\n",
                   "'x' is assigned in two algorithms"));
}

TEST(Checks, BranchesOfAWhenThatLeaveAVariableOutAreTold) {
  const std::string head =
      "model M\n  discrete Real a(start = 0, fixed = true), b(start = 0, fixed = true);\nequation\n"
      "  when time > 0.2 then\n    a = 1;\n    b = 1;\n";
  const ModelicaModel loaded = load_text(head + "  elsewhen time > 0.5 then\n    a = 2;\n  end when;\nend M;\n");
  ASSERT_EQ(loaded.notes.size(), 1u);
  EXPECT_NE(loaded.notes[0].message.find("'b' is not determined in every branch of this 'when'"), std::string::npos);
  EXPECT_EQ(run(loaded.model, 1.0).at(1.0, "b"), 1.0);
  const std::string all = head + "  elsewhen time > 0.5 then\n    a = 2;\n    b = pre(b);\n  end when;\nend M;\n";
  EXPECT_TRUE(load_text(all).notes.empty());
  EXPECT_EQ(run_text(all, 1.0).at(1.0, "a"), 2.0);
}

TEST(Checks, InputsAreNotAssigned) {
  EXPECT_TRUE(
      says("function f\n  input Real x;\n  output Real y;\nalgorithm\n  x := 2;\n  y := x;\nend f;\nmodel M\n  Real y "
           "= f(1);\nend M;\n",
           "a.mo:5:3: error: the input 'x' cannot be assigned"));
  EXPECT_TRUE(says("model M\n  input Real u;\n  Real y = u;\nalgorithm\n  u := 2;\nend M;\n",
                   "the input 'u' cannot be assigned"));
}

TEST(Checks, ProtectedElementsAreSeenInsideOnly) {
  const std::string text =
      "model A\n  Real y = h;\nprotected\n  parameter Real h = 3;\nend A;\npackage P\n  constant Real c = "
      "k;\nprotected\n  constant Real k = 4;\nend P;\n";
  EXPECT_TRUE(says(text + "model M\n  A a;\n  Real z = a.h;\nend M;\n", "'h' is protected in 'A'"));
  EXPECT_TRUE(says(text + "model M\n  A a(h = 4);\nend M;\n", "'h' is protected in 'A' and cannot be modified"));
  EXPECT_TRUE(says(text + "model M\n  Real z = P.k;\nend M;\n", "'k' is protected in 'P'"));
  const std::string pins =
      "connector C\n  Real e;\n  flow Real f;\nend C;\nmodel S\nprotected\n  C c;\nequation\n  c.e = 1;\nend S;\n"
      "model T\n  C c;\nequation\n  c.f = 1;\nend T;\n";
  EXPECT_TRUE(says(pins + "model M\n  S s;\n  T t;\nequation\n  connect(s.c, t.c);\nend M;\n",
                   "a.mo:20:13: error: 'c' is protected in 'S'"));
  EXPECT_EQ(run_text(text + "model M\n  extends A(h = 4);\n  Real z = h + P.c;\nend M;\n", 1.0).at(1.0, "z"), 8.0);
}

TEST(Checks, ClassesHoldWhatTheirKindAllows) {
  const auto expect = [](const std::string& text, const std::string& message) {
    const std::string errors = load_errors(text);
    EXPECT_NE(errors.find(message), std::string::npos) << (errors.empty() ? "no error" : errors);
  };
  expect("connector C\n  Real v;\n  flow Real i;\nequation\n  v = 1;\nend C;\nmodel M\n  C c;\nend M;\n",
         "a.mo:4:1: error: a connector has no equations and algorithms");
  expect("record R\n  Real v;\nalgorithm\n  v := 1;\nend R;\nmodel M\n  R r;\nend M;\n",
         "a.mo:3:1: error: a record has no equations and algorithms");
  expect("model M\n  flow Real x = 1;\nend M;\n", "a.mo:2:13: error: 'x' is a flow, but its class is a model");
  expect("type E = enumeration(a, b, a);\nmodel M\n  E e = E.a;\nend M;\n",
         "a.mo:1:28: error: 'a' stands twice in this enumeration");
}

TEST(Checks, DiscreteVariablesDoNotMoveBetweenEvents) {
  EXPECT_NE(load_errors("model M\n  Real x = time;\n  discrete Real d;\nequation\n  d = 2*x;\nend M;\n")
                .find("a.mo:5:3: error: 'd' is discrete, but this equation changes it between events"),
            std::string::npos);
  EXPECT_TRUE(
      load_errors("model M\n  Real x = time;\n  discrete Real d;\nequation\n  d = if x > 1 then 2 else pre(d);\n"
                  "end M;\n")
          .empty());
}

}  // namespace
}  // namespace saltus
