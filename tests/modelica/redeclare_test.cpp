// Redeclarations: of components and classes, in modifications and as elements, in models and packages.
#include <gtest/gtest.h>

#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

/// The value of a variable of the last model at time 1.
double at_end(const std::string& text, const std::string& name) {
  return run_text(text, 1.0).at(1.0, name);
}

const std::string parts =
    "partial model Part\n  parameter Real k = 1;\n  Real y;\nend Part;\n"
    "model Once\n  extends Part;\nequation\n  y = k;\nend Once;\n"
    "model Twice\n  extends Part;\nequation\n  y = 2*k;\nend Twice;\n"
    "model Shifted\n  extends Part;\n  parameter Real d = 100;\nequation\n  y = k + d;\nend Shifted;\n";

TEST(Redeclare, AModificationReplacesAComponent) {
  const std::string text = parts + "model A\n  replaceable Once p constrainedby Part;\n  Real z = p.y;\nend A;\n";
  EXPECT_EQ(at_end(text + "model M\n  A a;\nend M;\n", "a.z"), 1.0);
  EXPECT_EQ(at_end(text + "model M\n  A a(redeclare Twice p);\nend M;\n", "a.z"), 2.0);
  EXPECT_EQ(
      at_end(text + "model M\n  parameter Real q = 5;\n  A a(redeclare Shifted p(k = q, d = 2*q));\nend M;\n", "a.z"),
      15.0);
  EXPECT_EQ(at_end(text + "model M\n  extends A(redeclare Twice p(k = 4));\nend M;\n", "z"), 8.0);
  EXPECT_EQ(at_end(text + "model B = A(redeclare Twice p(k = 3));\nmodel M\n  B b;\nend M;\n", "b.z"), 6.0);
  // arrays of components, each with its own element of a modification
  EXPECT_EQ(
      at_end(text + "model M\n  A a[2](redeclare Twice p, p(k = {3, 4}));\n  Real s = a[1].z + 10*a[2].z;\nend M;\n",
             "s"),
      86.0);
}

TEST(Redeclare, TheOutermostRedeclarationWins) {
  const std::string text = parts +
                           "model A\n  replaceable Once p constrainedby Part;\n  Real z = p.y;\nend A;\n"
                           "model B\n  A a(redeclare replaceable Twice p constrainedby Part);\nend B;\n";
  EXPECT_EQ(at_end(text + "model M\n  B b;\nend M;\n", "b.a.z"), 2.0);
  EXPECT_EQ(at_end(text + "model M\n  B b(a(redeclare Shifted p));\nend M;\n", "b.a.z"), 101.0);
}

TEST(Redeclare, AClassIsReplacedInAllItsComponents) {
  const std::string text =
      parts +
      "model A\n  replaceable model P = Once constrainedby Part;\n  P p, q(k = 7);\n  Real z = p.y + q.y;\nend A;\n";
  EXPECT_EQ(at_end(text + "model M\n  A a;\nend M;\n", "a.z"), 8.0);
  EXPECT_EQ(at_end(text + "model M\n  A a(redeclare model P = Twice);\nend M;\n", "a.z"), 16.0);
  EXPECT_EQ(
      at_end(text + "model M\n  parameter Real w = 3;\n  A a(redeclare model P = Shifted(d = w));\nend M;\n", "a.z"),
      14.0);
  EXPECT_EQ(
      at_end(text + "model M\n  parameter Real w = 3;\n  extends A(redeclare model P = Shifted(d = w));\nend M;\n",
             "z"),
      14.0);
  EXPECT_EQ(at_end(text + "model M\n  extends A;\n  redeclare model P = Twice;\nend M;\n", "z"), 16.0);
}

TEST(Redeclare, ElementsReplaceInheritedComponents) {
  const std::string text =
      parts +
      "model A\n  replaceable Once p(k = 5) constrainedby Part;\n  replaceable parameter Real c = 1;\n"
      "  Real z = p.y + c;\nend A;\n";
  EXPECT_EQ(
      at_end(text + "model M\n  extends A;\n  redeclare Twice p;\n  redeclare parameter Real c = 10;\nend M;\n", "z"),
      12.0);
  EXPECT_EQ(at_end(text + "model B\n  extends A;\n  redeclare replaceable Twice p;\nend B;\n"
                          "model M\n  B b(p(k = 3));\nend M;\n",
                   "b.z"),
            7.0);
}

TEST(Redeclare, ModificationsOfTheConstrainingClauseHoldForEveryRedeclaration) {
  const std::string text = parts +
                           "model A\n  replaceable Once p constrainedby Part(k = 6);\n  Real z = p.y;\nend A;\n"
                           "model B\n  replaceable model P = Once constrainedby Part(k = 6);\n  P p;\nend B;\n"
                           "model C\n  replaceable Once p(k = 8);\nend C;\n";
  EXPECT_EQ(at_end(text + "model M\n  A a;\nend M;\n", "a.z"), 6.0);
  EXPECT_EQ(at_end(text + "model M\n  A a(redeclare Twice p);\nend M;\n", "a.z"), 12.0);
  EXPECT_EQ(at_end(text + "model M\n  A a(redeclare Twice p(k = 1));\nend M;\n", "a.z"), 2.0);
  EXPECT_EQ(at_end(text + "model M\n  B b;\nend M;\n", "b.p.y"), 6.0);
  EXPECT_EQ(at_end(text + "model M\n  B b(redeclare model P = Twice);\nend M;\n", "b.p.y"), 12.0);
  // without a clause the modifications of the declaration itself are kept
  EXPECT_EQ(at_end(text + "model M\n  C c(redeclare Twice p);\nend M;\n", "c.p.y"), 16.0);
}

TEST(Redeclare, ClassExtendsCompletesTheInheritedClass) {
  const std::string text =
      "package Base\n  replaceable partial model P\n    parameter Real k = 2;\n    Real y;\n  end P;\n"
      "  model User\n    P p(k = 5);\n  end User;\nend Base;\n"
      "package Own\n  extends Base;\n  redeclare model extends P\n    parameter Real d = 1;\n  equation\n    y = k + "
      "d;\n"
      "  end P;\nend Own;\n"
      "package More\n  extends Own;\nend More;\n";
  EXPECT_EQ(at_end(text + "model M\n  Own.User u;\n  Own.P v;\nend M;\n", "u.p.y"), 6.0);
  EXPECT_EQ(at_end(text + "model M\n  More.User u;\n  More.P v;\nend M;\n", "v.y"), 3.0);
}

TEST(Redeclare, PackagesAndTheirFunctionsAreReplaced) {
  const std::string text =
      "partial package Medium\n  constant Real c = 1;\n  replaceable partial function h\n    input Real T;\n"
      "    output Real y;\n  end h;\nend Medium;\n"
      "package Water\n  extends Medium(c = 4);\n  redeclare function extends h\n  algorithm\n    y := c*T;\n  end h;\n"
      "end Water;\n"
      "package Oil\n  extends Medium(c = 2);\n  redeclare function h\n    input Real T;\n    output Real y;\n"
      "  algorithm\n    y := c*T + 1;\n  end h;\nend Oil;\n"
      "model Pipe\n  replaceable package M = Water constrainedby Medium;\n  Real y = M.h(10), c = M.c;\nend Pipe;\n";
  EXPECT_EQ(at_end(text + "model X\n  Pipe p;\nend X;\n", "p.y"), 40.0);
  EXPECT_EQ(at_end(text + "model X\n  Pipe p(redeclare package M = Oil);\nend X;\n", "p.y"), 21.0);
  EXPECT_EQ(at_end(text + "model X\n  Pipe p(redeclare package M = Oil(c = 3));\nend X;\n", "p.y"), 31.0);
  EXPECT_EQ(at_end(text + "model X\n  package N = Water(c = 9);\n  Pipe p(redeclare package M = N);\nend X;\n", "p.c"),
            9.0);
}

TEST(Redeclare, ConstantsOfAModifiedPackageAreSeenByItsClasses) {
  const std::string text =
      "package P\n  constant Real k = 1;\n  constant Integer n = 2;\n  constant Real twice = 2*k;\n"
      "  model A\n    Real y = k + twice;\n    Real v[n] = fill(1, n);\n  end A;\n"
      "  function f\n    output Real y = k;\n  algorithm\n  end f;\nend P;\n"
      "package P2 = P(k = 7, n = 3);\npackage P3\n  extends P(k = 10);\nend P3;\n"
      "model M\n  P.A a;\n  P2.A b;\n  P3.A c;\n  Real s = sum(b.v), f1 = P.f(), f2 = P2.f(), f3 = P3.f(), t = "
      "P2.twice;\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_EQ(r.at(1.0, "a.y"), 3.0);
  EXPECT_EQ(r.at(1.0, "b.y"), 21.0);
  EXPECT_EQ(r.at(1.0, "c.y"), 30.0);
  EXPECT_EQ(r.at(1.0, "s"), 3.0);
  EXPECT_EQ(r.at(1.0, "f1"), 1.0);
  EXPECT_EQ(r.at(1.0, "f2"), 7.0);
  EXPECT_EQ(r.at(1.0, "f3"), 10.0);
  EXPECT_EQ(r.at(1.0, "t"), 14.0);
}

TEST(Redeclare, EnumerationsOfAModifiedPackageStayTheSameType) {
  const std::string text =
      "package P\n  constant Real k = 1;\n  type E = enumeration(a, b);\n  model A\n    parameter E e = E.a;\n"
      "    Real y = if e == E.b then k else 0;\n  end A;\nend P;\npackage P2 = P(k = 7);\n"
      "model M\n  P2.A x(e = P.E.b);\nend M;\n";
  EXPECT_EQ(at_end(text, "x.y"), 7.0);
}

TEST(Redeclare, APrefixAndASizeAreTakenOver) {
  const std::string text =
      "connector Pin\n  Real v;\n  replaceable flow Real i;\nend Pin;\ntype Current = Real(unit = \"A\");\n"
      "model A\n  replaceable parameter Real k[2] = {1, 2};\n  replaceable Real x if false;\n  Pin p;\n"
      "  Real s = sum(k);\nequation\n  p.v = 1;\nend A;\n";
  EXPECT_EQ(
      at_end(text + "model M\n  A a(redeclare parameter Current k = {3, 4}, redeclare Real x = 1);\nend M;\n", "a.s"),
      7.0);
  EXPECT_EQ(at_end(text + "connector P2 = Pin(redeclare Current i);\n"
                          "model M\n  P2 p;\nequation\n  p.v = 1;\nend M;\n",
                   "p.i"),
            0.0);  // still a flow: nothing is connected to it
}

TEST(Redeclare, WhatIsNotReplaceableStays) {
  EXPECT_NE(load_errors(parts + "model A\n  Once p;\nend A;\nmodel M\n  A a(redeclare Twice p);\nend M;\n")
                .find("a.mo:25:7: error: 'p' is not replaceable"),
            std::string::npos);
  EXPECT_NE(
      load_errors(parts +
                  "model A\n  model P = Once;\n  P p;\nend A;\nmodel M\n  A a(redeclare model P = Twice);\nend M;\n")
          .find("a.mo:26:7: error: 'P' is not replaceable in 'A'"),
      std::string::npos);
  EXPECT_NE(load_errors(parts + "model A\n  Once p;\nend A;\nmodel M\n  extends A;\n  redeclare Twice p;\nend M;\n")
                .find("a.mo:26:19: error: 'p' is not replaceable"),
            std::string::npos);
}

TEST(Redeclare, WhatDoesNotExistCannotBeRedeclared) {
  EXPECT_NE(load_errors(parts + "model A\n  Once p;\nend A;\nmodel M\n  A a(redeclare Twice q);\nend M;\n")
                .find("a.mo:25:7: error: 'A' has no element 'q'"),
            std::string::npos);
  EXPECT_NE(load_errors(parts + "model M\n  extends Once;\n  redeclare Twice q;\nend M;\n")
                .find("a.mo:23:19: error: there is no inherited component 'q' to redeclare"),
            std::string::npos);
  EXPECT_NE(
      load_errors(
          "package P\n  redeclare model X = Y;\n  constant Real k = 1;\nend P;\nmodel M\n  Real x = P.k;\nend M;\n")
          .find("a.mo:2:19: error: there is no inherited class 'X' to redeclare"),
      std::string::npos);
}

TEST(Redeclare, TheNewTypeMustFit) {
  const std::string text = parts +
                           "model Other\n  Real w = 1;\nend Other;\nmodel A\n  replaceable Once p constrainedby Part;\n"
                           "  replaceable model Q = Once;\n  Q q;\nend A;\n";
  EXPECT_NE(load_errors(text + "model M\n  A a(redeclare Other p);\nend M;\n")
                .find("'p' cannot be redeclared like this: it must fit 'Part', which has an element 'k'"),
            std::string::npos);
  EXPECT_NE(load_errors(text + "model M\n  A a(redeclare model Q = Other);\nend M;\n")
                .find("'Q' cannot be redeclared like this: it must fit 'Once', which has an element 'k'"),
            std::string::npos);
}

TEST(Redeclare, OuterClassesAreRefused) {
  EXPECT_NE(
      load_errors(
          "model A\n  outer model P = Q;\n  P p;\nend A;\nmodel Q\n  Real x = 1;\nend Q;\nmodel M\n  A a;\nend M;\n")
          .find("a.mo:3:3: error: 'outer' classes are not supported"),
      std::string::npos);
  EXPECT_NE(load_errors("model A\n  outer function f = g;\n  Real y = f(1);\nend A;\nfunction g\n  input Real x;\n"
                        "  output Real y = x;\nalgorithm\nend g;\nmodel M\n  A a;\nend M;\n")
                .find("a.mo:3:12: error: 'outer' classes are not supported"),
            std::string::npos);
}

TEST(Redeclare, CirclesEnd) {
  for (const char* text :
       {"model A\n  extends A(k = 1);\nend A;\n",
        "model A\n  extends B(k = 1);\nend A;\nmodel B\n  extends A(k = 2);\nend B;\n",
        "model A\n  replaceable model P = A;\n  P p(redeclare model P = A);\nend A;\n",
        "model A\n  replaceable model P = A;\n  P p(redeclare model P = P), q(redeclare model P = P);\nend A;\n"})
    EXPECT_NE(load_errors(text), "") << text;
}

TEST(Redeclare, ElementsOfAPackageAreSeenByItsInheritedClasses) {
  const std::string text =
      "package A\n  replaceable constant Integer n = 1;\n  replaceable type T = Real(start = 1);\n"
      "  replaceable function f\n    input Real x;\n    output Real y;\n  algorithm\n    y := x;\n  end f;\n"
      "  model N\n    T x(fixed = true);\n    Real y[n] = fill(f(2), n);\n    Real s = sum(y);\n  equation\n"
      "    der(x) = 0;\n  end N;\nend A;\n"
      "package B\n  extends A;\n  redeclare constant Integer n = 3;\n  redeclare type T = Real(start = 4);\n"
      "  redeclare function f\n    input Real x;\n    output Real y;\n  algorithm\n    y := 10*x;\n  end f;\nend B;\n"
      "package C\n  extends B;\nend C;\n";
  for (const std::string p : {"B", "C"}) {
    const auto r = run_text(text + "model M\n  " + p + ".N b;\n  Real k = " + p + ".n;\nend M;\n", 1.0);
    EXPECT_EQ(r.at(1.0, "b.s"), 60.0);
    EXPECT_EQ(r.at(1.0, "b.x"), 4.0);
    EXPECT_EQ(r.at(1.0, "k"), 3.0);
  }
  EXPECT_EQ(at_end(text + "model M\n  A.N a;\nend M;\n", "a.s"), 2.0);
  EXPECT_EQ(at_end(text + "package D = A(redeclare constant Integer n = 2);\nmodel M\n  D.N d;\nend M;\n", "d.s"), 4.0);
}

TEST(Redeclare, WhatARedeclarationSaysIsStrongerThanTheConstrainingClause) {
  const std::string text =
      "model A\n  parameter Real k = 1, m = 1;\n  Real y = k + 10*m;\nend A;\n"
      "model S\n  replaceable model X = A(k = 2) constrainedby A(m = 7);\n  X x;\nend S;\n"
      "model P\n  replaceable model X = A(k = 2);\n  X x;\nend P;\n";
  EXPECT_EQ(at_end(text + "model M\n  S s;\nend M;\n", "s.x.y"), 72.0);
  EXPECT_EQ(at_end(text + "model M\n  S s(redeclare model X = A);\nend M;\n", "s.x.y"), 71.0);
  EXPECT_EQ(at_end(text + "model M\n  S s(redeclare model X = A(m = 3));\nend M;\n", "s.x.y"), 31.0);
  EXPECT_EQ(at_end(text + "model M\n  extends S;\n  redeclare model X = A(m = 4);\nend M;\n", "x.y"), 41.0);
  EXPECT_EQ(at_end(text + "model M\n  P p(redeclare model X = A(k = 3));\nend M;\n", "p.x.y"), 13.0);
  // what the class itself holds is weaker
  EXPECT_EQ(
      at_end(text + "model B\n  extends A(m = 3);\nend B;\nmodel M\n  S s(redeclare model X = B);\nend M;\n", "s.x.y"),
      71.0);
}

// Modelica 3.6, 7.3.2: modifications of a replaceable element hold for its constraining type as well, and those of the
// constraining type are merged into each redeclaration. Each line: what M contains, and k and m of the part a.
TEST(Redeclare, ModificationsOfReplaceableElementsReachTheirRedeclarations) {
  const std::string text =
      "model A\n  parameter Real k = 1, m = 1;\n  Real y = k, w = m;\nend A;\n"
      "model B\n  extends A;\n  parameter Real z = 0;\nend B;\n"
      "model Plain\n  replaceable A a(m = 2);\nend Plain;\n"
      "model Held\n  replaceable A a(k = 5) constrainedby A(m = 2);\nend Held;\n"
      "model Class\n  replaceable model P = A(m = 2);\n  P a;\nend Class;\n"
      "model HeldClass\n  replaceable model P = A(k = 5) constrainedby A(m = 2);\n  P a;\nend HeldClass;\n"
      "model Twice\n  extends Plain(redeclare replaceable B a(k = 8) constrainedby A(m = 3));\nend Twice;\n"
      "model TwiceClass\n  extends Class(redeclare replaceable model P = B(k = 8) constrainedby A(m = 3));\n"
      "end TwiceClass;\nmodel Inner\n  Plain p(a(k = 7));\nend Inner;\n"
      "model InnerClass\n  Class p(P(k = 7));\nend InnerClass;\n";
  struct Case {
    const char* part;
    double k, m;
  };
  for (const auto& [part, k, m] : {
           Case{"extends Plain(a(k = 7));\n  redeclare B a;", 7, 2},
           Case{"extends Plain(a(k = 7));\n  redeclare B a(k = 9);", 9, 2},
           Case{"extends Plain(a(k = 7, m = 4));\n  redeclare B a;", 7, 4},
           Case{"extends Held(a(k = 7));\n  redeclare B a;", 7, 2},
           Case{"extends Held;\n  redeclare B a;", 1, 2},
           Case{"extends Held(a(m = 4));\n  redeclare B a;", 1, 4},
           Case{"extends Plain(redeclare B a, a(k = 7));", 7, 2},
           Case{"extends Plain(a(k = 7), redeclare B a);", 7, 2},
           Case{"extends Twice;", 8, 3},
           Case{"extends Twice(a(k = 9));", 9, 3},
           Case{"extends Twice(a(k = 9));\n  redeclare B a;", 9, 3},
           Case{"extends Twice;\n  redeclare B a;", 1, 3},
           Case{"extends Class(P(k = 7));\n  redeclare model P = B;", 7, 2},
           Case{"extends Class(P(k = 7));\n  redeclare model P = B(k = 9);", 9, 2},
           Case{"extends Class(P(k = 7));\n  redeclare model P\n    extends B;\n  end P;", 7, 2},
           Case{"extends HeldClass(P(k = 7));\n  redeclare model P = B;", 7, 2},
           Case{"extends HeldClass;\n  redeclare model P = B;", 1, 2},
           Case{"extends Class(redeclare model P = B, P(k = 7));", 7, 2},
           Case{"extends TwiceClass;", 8, 3},
           Case{"extends TwiceClass(P(k = 9));\n  redeclare model P = B;", 9, 3},
           Case{"extends TwiceClass;\n  redeclare model P = B;", 1, 3},
       }) {
    const auto run = run_text(text + "model M\n  " + part + "\nend M;\n", 1.0);
    EXPECT_EQ(run.at(1.0, "a.y"), k) << part;
    EXPECT_EQ(run.at(1.0, "a.w"), m) << part;
  }
  // in components: the outer redeclaration is stronger than the inner modification, whose other values hold
  for (const auto& [part, k, m] : {
           Case{"extends Inner(p(redeclare B a));", 7, 2},
           Case{"extends Inner(p(redeclare B a(k = 9)));", 9, 2},
           Case{"extends Inner(p(redeclare B a(final k = 9)));", 9, 2},
           Case{"extends Inner(p(redeclare B a(m = 6)));", 7, 6},
           Case{"extends InnerClass(p(redeclare model P = B));", 7, 2},
           Case{"extends InnerClass(p(redeclare model P = B(k = 9)));", 9, 2},
           Case{"Inner i(p(redeclare B a(k = 9)));", 9, 2},
           Case{"Twice p(redeclare B a);", 1, 3},
           Case{"Twice p(a(k = 9));", 9, 3},
       }) {
    const auto run = run_text(text + "model M\n  " + part + "\nend M;\n", 1.0);
    const std::string name = std::string(part).starts_with("Inner") ? "i.p.a" : "p.a";
    EXPECT_EQ(run.at(1.0, name + ".y"), k) << part;
    EXPECT_EQ(run.at(1.0, name + ".w"), m) << part;
  }
}

TEST(Redeclare, WhatIsFinalInAConstrainingClauseStays) {
  const std::string text =
      "model A\n  parameter Real k = 1;\n  Real y = k;\nend A;\nmodel B\n  extends A;\nend B;\n"
      "model S\n  replaceable A a constrainedby A(final k = 3);\nend S;\n";
  EXPECT_EQ(at_end(text + "model M\n  extends S;\n  redeclare B a;\nend M;\n", "a.y"), 3.0);
  EXPECT_EQ(at_end(text + "model M\n  S s(redeclare B a);\nend M;\n", "s.a.y"), 3.0);
  EXPECT_NE(load_errors(text + "model M\n  S s(redeclare B a(k = 4));\nend M;\n")
                .find("this element is final and cannot be modified"),
            std::string::npos);
}

// Modelica 3.6, 7.2.4
TEST(Redeclare, AnElementIsModifiedOnceInAList) {
  const std::string text =
      "model A\n  parameter Real k = 1, m = 1;\nend A;\nmodel B\n  extends A;\nend B;\n"
      "model C\n  replaceable A a;\n  replaceable model P = A;\n  P p;\n  Real x(start = 0) = 1;\nend C;\n";
  const auto errors = [&](const std::string& part) { return load_errors(text + "model M\n  " + part + "\nend M;\n"); };
  for (const char* part :
       {"C c(a(k = 1), a(k = 2));", "C c(a.k = 1, a(k = 2));", "extends C(a.k = 1, a.k = 2);",
        "extends C(redeclare B a(k = 1), a(k = 2));", "A a(k = 1, k = 2);", "extends C(P(k = 1), P(k = 2));",
        "C c(x(start = 1, start = 2));", "Real y(start = 1, start = 2) = 1;", "C c(x.start = 1, x(start = 2));"})
    EXPECT_NE(errors(part).find("is modified twice"), std::string::npos) << part << "\n" << errors(part);
  for (const char* part : {"C c(redeclare B a, redeclare B a);", "extends C(redeclare B a, redeclare A a);",
                           "extends C(redeclare model P = B, redeclare model P = A);"})
    EXPECT_NE(errors(part).find("is redeclared twice"), std::string::npos) << part << "\n" << errors(part);
  for (const char* part : {"C c(a.k = 1, a.m = 2);", "C c(a(k = 1), a(m = 2));",
                           "extends C(redeclare B a(k = 1), a(m = 2));", "C c(x.start = 1, x.unit = \"m\");"})
    EXPECT_EQ(errors(part), "") << part;
}

TEST(Redeclare, WhatIsFinalOrRedeclaredForGoodStays) {
  const std::string text =
      "model A\n  Real x = 1;\nend A;\nmodel B\n  Real x = 2;\nend B;\n"
      "model S\n  replaceable model X = A;\n  replaceable A a;\n  X x;\nend S;\n"
      "model F\n  final replaceable model X = A;\n  final replaceable A a;\n  X x;\nend F;\n"
      "model T\n  extends S(redeclare model X = B, redeclare B a);\nend T;\n"
      "model U\n  extends S(redeclare replaceable model X = B, redeclare replaceable B a);\nend U;\n";
  const auto errors = [&](const std::string& part) { return load_errors(text + "model M\n  " + part + "end M;\n"); };
  EXPECT_NE(errors("F f(redeclare model X = B);\n").find("'X' is final in 'F' and cannot be redeclared"),
            std::string::npos);
  EXPECT_NE(errors("F f(redeclare B a);\n").find("'a' is final and cannot be redeclared"), std::string::npos);
  EXPECT_NE(errors("T t(redeclare model X = A);\n").find("'X' is redeclared in between without 'replaceable'"),
            std::string::npos);
  EXPECT_NE(errors("T t(redeclare A a);\n").find("'a' is redeclared in between without 'replaceable'"),
            std::string::npos);
  EXPECT_EQ(errors("T t;\n"), "");
  EXPECT_EQ(at_end(text + "model M\n  U u(redeclare model X = A, redeclare A a);\nend M;\n", "u.x.x"), 1.0);
}

}  // namespace
}  // namespace saltus
