// Operators of operator records, and overconstrained connectors.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

double at_end(const std::string& text, const std::string& name) {
  return run_text(text, 1.0).at(1.0, name);
}

const std::string pair =
    "operator record Pair\n  replaceable Real a;\n  replaceable Real b;\n"
    "  encapsulated operator 'constructor'\n    import Pair;\n    function fromReal\n      import Pair;\n      input "
    "Real a;\n"
    "      input Real b = 0;\n      output Pair p(a = a, b = b);\n    algorithm\n    end fromReal;\n  end "
    "'constructor';\n"
    "  encapsulated operator function '0'\n    import Pair;\n    output Pair p;\n  algorithm\n    p := Pair(0);\n  end "
    "'0';\n"
    "  encapsulated operator function '+'\n    import Pair;\n    input Pair x;\n    input Pair y;\n    output Pair "
    "z;\n  algorithm\n"
    "    z := Pair(x.a + y.a, x.b + y.b);\n  end '+';\n"
    "  encapsulated operator '-'\n    function negate\n      import Pair;\n      input Pair x;\n      output Pair z;\n "
    "   algorithm\n"
    "      z := Pair(-x.a, -x.b);\n    end negate;\n    function subtract\n      import Pair;\n      input Pair x;\n   "
    "   input Pair y;\n"
    "      output Pair z;\n    algorithm\n      z := Pair(x.a - y.a, x.b - y.b);\n    end subtract;\n  end '-';\n"
    "  encapsulated operator function '*'\n    import Pair;\n    input Pair x;\n    input Pair y;\n    output Pair "
    "z;\n  algorithm\n"
    "    z := Pair(x.a*y.a - x.b*y.b, x.a*y.b + x.b*y.a);\n  end '*';\n"
    "  encapsulated operator function '=='\n    import Pair;\n    input Pair x;\n    input Pair y;\n    output Boolean "
    "z;\n  algorithm\n"
    "    z := x.a == y.a and x.b == y.b;\n  end '==';\nend Pair;\n";

TEST(OperatorRecords, OperatorsAreFunctionsOfTheRecord) {
  const std::string text =
      pair +
      "model M\n  parameter Pair p = Pair(1, 2), q = Pair(3);\n  Pair s = p + q, d = p - q, n = -p, m = p*q*p;\n"
      "  Pair one = 2*p, two = p + 1;\n  Boolean same = p == Pair(1, 2);\n  Real y = if same then 1 else 0;\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_EQ(r.at(1.0, "s.a"), 4.0);
  EXPECT_EQ(r.at(1.0, "s.b"), 2.0);
  EXPECT_EQ(r.at(1.0, "d.a"), -2.0);
  EXPECT_EQ(r.at(1.0, "n.b"), -2.0);
  EXPECT_EQ(r.at(1.0, "m.a"), -9.0);  // 3*(1 + 2i)^2
  EXPECT_EQ(r.at(1.0, "m.b"), 12.0);
  EXPECT_EQ(r.at(1.0, "one.b"), 4.0);
  EXPECT_EQ(r.at(1.0, "two.a"), 2.0);
  EXPECT_EQ(r.at(1.0, "y"), 1.0);
}

TEST(OperatorRecords, ArraysAreCombinedElementByElement) {
  const std::string text =
      pair +
      "function total\n  input Pair v[:];\n  output Pair s;\nprotected\n  Pair w[size(v, 1)];\nalgorithm\n"
      "  for k in 1:size(v, 1) loop\n    w[k] := k*v[k];\n    w[k].b := w[k].b + 100;\n  end for;\n  s := sum(w);\nend "
      "total;\n"
      "model M\n  Pair v[2] = {Pair(1, 1), Pair(2, 0)}, w[2] = fill(Pair(0, 1), 2);\n  Pair s[2] = v + w, d = v*w, t = "
      "total(v);\n"
      "  Pair scaled[2] = 3*v, A[2, 2] = {{Pair(1), Pair(0)}, {Pair(0), Pair(0, 1)}};\n  Pair u[2] = A*v, n[2] = "
      "-v;\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_EQ(r.at(1.0, "s[1].b"), 2.0);
  EXPECT_EQ(r.at(1.0, "d.a"), -1.0);
  EXPECT_EQ(r.at(1.0, "d.b"), 3.0);
  EXPECT_EQ(r.at(1.0, "t.a"), 5.0);
  EXPECT_EQ(r.at(1.0, "t.b"), 201.0);
  EXPECT_EQ(r.at(1.0, "scaled[2].a"), 6.0);
  EXPECT_EQ(r.at(1.0, "u[2].b"), 2.0);
  EXPECT_EQ(r.at(1.0, "n[1].a"), -1.0);
}

TEST(OperatorRecords, WhatIsNotDefinedIsRefused) {
  EXPECT_NE(load_errors(pair + "model M\n  Pair p = Pair(1)/Pair(2);\nend M;\n")
                .find("'/' is not defined between values of the types Pair and Pair"),
            std::string::npos);
  EXPECT_NE(load_errors(pair + "model M\n  Pair p = Pair(1) + true;\nend M;\n").find("'+' is not defined between"),
            std::string::npos);
  EXPECT_NE(load_errors("record R\n  Real a;\nend R;\nmodel M\n  R r = R(1) + R(2);\nend M;\n")
                .find("'+' needs numbers, not a value of type R"),
            std::string::npos);
}

// An angle as a record with one redundant number: a ring of links has one equation too many unless the graph breaks it.
const std::string frames =
    "record Turn\n  Real c;\n  Real s;\n  function equalityConstraint\n    input Turn x;\n    input Turn y;\n    "
    "output Real r[1];\n"
    "  algorithm\n    r := {x.c*y.s - x.s*y.c};\n  end equalityConstraint;\nend Turn;\n"
    "connector Frame\n  Real x;\n  flow Real f;\n  Turn R;\nend Frame;\n"
    "model Ground\n  Frame b;\nequation\n  Connections.root(b.R);\n  b.x = 0;\n  b.R.c = 1;\n  b.R.s = 0;\nend "
    "Ground;\n"
    "model Link\n  parameter Real k = 1;\n  Frame a, b;\n  Boolean near;\nequation\n  Connections.branch(a.R, b.R);\n"
    "  near = Connections.rooted(a.R);\n  if Connections.rooted(a.R) then\n    b.R.c = a.R.c;\n    b.R.s = a.R.s;\n  "
    "else\n"
    "    a.R.c = b.R.c;\n    a.R.s = b.R.s;\n  end if;\n  a.f + b.f = 0;\n  a.f = k*(a.x - b.x);\nend Link;\n"
    "model Free\n  Frame a;\n  Integer n = cardinality(a);\nequation\n  Connections.potentialRoot(a.R, 5);\n  a.f = "
    "-2;\n"
    "  if Connections.isRoot(a.R) then\n    a.R.c = 0;\n    a.R.s = 1;\n  end if;\nend Free;\n";

TEST(ConnectionGraph, ALoopIsBrokenOnce) {
  const std::string text =
      frames +
      "model Hinge\n  Frame a, b;\n  Boolean near = Connections.rooted(a.R);\n  Real phi(start = 0.1);\nequation\n"
      "  Connections.branch(a.R, b.R);\n  if Connections.rooted(a.R) then\n    b.R.c = cos(phi)*a.R.c - "
      "sin(phi)*a.R.s;\n"
      "    b.R.s = sin(phi)*a.R.c + cos(phi)*a.R.s;\n  else\n    a.R.c = cos(phi)*b.R.c + sin(phi)*b.R.s;\n"
      "    a.R.s = cos(phi)*b.R.s - sin(phi)*b.R.c;\n  end if;\n  a.f + b.f = 0;\n  a.f = 3*(a.x - b.x);\nend Hinge;\n"
      "model M\n  Ground g;\n  Link p;\n  Hinge q;\n  Free load;\nequation\n  connect(g.b, p.a);\n  connect(g.b, "
      "q.b);\n"
      "  connect(p.b, load.a);\n  connect(load.a, q.a);\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_NEAR(r.at(1.0, "load.a.x"), 0.5, 1e-12);
  EXPECT_NEAR(r.at(1.0, "load.a.R.c"), 1.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "q.phi"), 0.0, 1e-12);
  EXPECT_EQ(r.at(1.0, "p.near"), 1.0);
  EXPECT_EQ(r.at(1.0, "q.near"), 0.0);
  EXPECT_EQ(r.at(1.0, "load.n"), 2.0);
}

TEST(ConnectionGraph, APotentialRootIsTakenWhereThereIsNoOther) {
  const std::string text =
      frames +
      "model Stop\n  Frame a;\nequation\n  a.x = 7;\nend Stop;\nmodel M\n  Free load;\n  Link p;\n  Stop s;\nequation\n"
      "  connect(load.a, p.b);\n  connect(p.a, s.a);\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_NEAR(r.at(1.0, "p.a.R.s"), 1.0, 1e-12);
  EXPECT_EQ(r.at(1.0, "p.near"), 0.0);
  EXPECT_NEAR(r.at(1.0, "load.a.x"), 9.0, 1e-12);
}

TEST(ConnectionGraph, MisuseIsRefused) {
  EXPECT_NE(load_errors(
                frames +
                "model Stop\n  Frame a;\nequation\n  a.x = 7;\nend Stop;\nmodel M\n  Link p;\n  Stop s, t;\nequation\n"
                "  connect(s.a, p.b);\n  connect(p.a, t.a);\nend M;\n")
                .find("have no root"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  Real x = 1;\nequation\n  Connections.root(x);\nend M;\n")
                .find("must be one record or connector"),
            std::string::npos);
  EXPECT_NE(load_errors(frames + "model M\n  Ground g;\nequation\n  Connections.uniqueRoot(g.b.R);\nend M;\n")
                .find("'Connections.uniqueRoot' is not supported"),
            std::string::npos);
}

TEST(Discretes, ARealMayEqualAnInteger) {
  const std::string text =
      "model A\n  input Real c[2] = {0, 0};\n  Real y = c[1] + c[2];\nend A;\n"
      "model M\n  Integer k[2] = {3, integer(2*time)};\n  A a(c = k), b(c = k);\nend M;\n";
  EXPECT_EQ(at_end(text, "b.y"), 5.0);
}

}  // namespace
}  // namespace saltus
