// Which element a name means: base classes, imports, records, texts of variables.
#include <gtest/gtest.h>

#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

double at_end(const std::string& text, const std::string& name) {
  return run_text(text, 1.0).at(1.0, name);
}

TEST(Scopes, ABaseClassDoesNotSeeTheDerivedClass) {
  const std::string text =
      "package P\n  constant Real k = 1;\n  partial model Base\n    Real y = k;\n  end Base;\n"
      "  model D\n    extends Base;\n    parameter Real k = 5;\n    Real z = k;\n  end D;\nend P;\n"
      "model M\n  P.D d;\nend M;\n";
  EXPECT_EQ(at_end(text, "d.y"), 1.0);
  EXPECT_EQ(at_end(text, "d.z"), 5.0);
  EXPECT_NE(load_errors("partial model B\n  Real y;\nequation\n  y = hidden;\nend B;\n"
                        "model M\n  extends B;\n  Real hidden = 2;\nend M;\n")
                .find("a.mo:4:7: error: 'hidden' is not declared"),
            std::string::npos);
  EXPECT_NE(load_errors(
                "connector C\n  Real v;\n  flow Real i;\nend C;\npartial model B\n  C a;\nequation\n  connect(a, b);\n"
                "end B;\nmodel M\n  extends B;\n  C b;\nequation\n  a.v = 1;\nend M;\n")
                .find("a.mo:8:14: error: 'b' is not declared"),
            std::string::npos);
}

TEST(Scopes, AnImportByNameWinsOverAnImportOfAll) {
  const std::string text =
      "package P\n  constant Real x = 1;\n  model A\n    Real y = 1;\n  end A;\nend P;\n"
      "package P2\n  constant Real x = 2;\n  model A\n    Real y = 2;\n  end A;\nend P2;\n"
      "model M\n  import P.*;\n  import P2.x;\n  import P2.A;\n  Real z = x;\n  A a;\nend M;\n";
  EXPECT_EQ(at_end(text, "z"), 2.0);
  EXPECT_EQ(at_end(text, "a.y"), 2.0);
}

TEST(Scopes, FlowOfARecordHoldsForItsFields) {
  const std::string text =
      "record R\n  Real a, b;\nend R;\nconnector C\n  Real v;\n  flow R i;\nend C;\n"
      "model S\n  parameter Real k = 1;\n  C c;\nequation\n  c.i.a = k;\n  c.i.b = 2*k;\nend S;\n"
      "model G\n  C c;\nequation\n  c.v = 0;\nend G;\n"
      "model M\n  S s(k = 3), t(k = 4);\n  G g;\n  C open;\nequation\n  connect(s.c, t.c);\n  connect(t.c, g.c);\n  "
      "open.v = 1;\nend M;\n";
  EXPECT_NEAR(at_end(text, "g.c.i.a"), -7.0, 1e-12);
  EXPECT_NEAR(at_end(text, "g.c.i.b"), -14.0, 1e-12);
  EXPECT_NEAR(at_end(text, "open.i.b"), 0.0, 1e-12);
}

TEST(Scopes, DerivedRecordsHaveTheirOwnDefaults) {
  const std::string text =
      "record R\n  Real a = 1;\n  Real b = 2*a;\nend R;\nrecord S\n  extends R(a = 10);\n  Real c = a + b;\nend S;\n"
      "record T = R(b = 7);\nrecord U = S(a = 3);\n"
      "function f\n  input Real n;\n  output Real y;\nprotected\n  S s(a = n);\n  T t;\n  R r(b = n + 1);\nalgorithm\n"
      "  y := s.c + 1000*t.b + 100000*r.b;\nend f;\n"
      "model M\n  R r = R();\n  S s = S();\n  T t = T();\n  U u = U(b = 4);\n  Real y = f(2);\nend M;\n";
  const auto r = run_text(text, 1.0);
  EXPECT_EQ(r.at(1.0, "r.b"), 2.0);
  EXPECT_EQ(r.at(1.0, "s.a"), 10.0);
  EXPECT_EQ(r.at(1.0, "s.c"), 30.0);
  EXPECT_EQ(r.at(1.0, "t.b"), 7.0);
  EXPECT_EQ(r.at(1.0, "u.c"), 7.0);
  EXPECT_EQ(r.at(1.0, "y"), 6.0 + 7000.0 + 300000.0);
}

TEST(Scopes, AFieldAssignedInOneBranchIsNoCrash) {
  const std::string text =
      "record R\n  Real a, b;\nend R;\nfunction f\n  input Real x;\n  output R r;\nalgorithm\n  if x > 1 then\n    r.a "
      ":= 1;\n"
      "  end if;\n  r.b := 2;\n  if x > 2 then\n    r.a := 3;\n  else\n    r.a := 4;\n  end if;\nend f;\n"
      "model M\n  R r = f(time + 5);\n  R q = f(time);\nend M;\n";
  EXPECT_EQ(at_end(text, "r.a"), 3.0);
  EXPECT_EQ(at_end(text, "q.a"), 4.0);
  EXPECT_EQ(at_end(text, "q.b"), 2.0);
}

TEST(Scopes, AFieldThatIsNeverAssignedIsAnError) {
  const std::string text =
      "record R\n  Real a, b;\nend R;\nfunction f\n  input Real x;\n  output R r;\nalgorithm\n  r.a := x;\nend f;\n";
  EXPECT_NE(load_errors(text + "model M\n  R r = f(time);\nend M;\n").find("a.mo:6:12: error: 'r.b' gets no value"),
            std::string::npos);
  EXPECT_NE(
      load_errors("record R\n  Real a, b;\nend R;\nfunction f\n  input Real x;\n  output Real y;\nprotected\n  R r;\n"
                  "algorithm\n  y := r.b;\nend f;\nmodel M\n  Real y = f(1);\nend M;\n")
          .find("a.mo:10:8: error: 'b' is used before it has a value"),
      std::string::npos);
}

TEST(Scopes, TextsOfVariablesAreNotCompared) {
  EXPECT_NE(load_errors("type E = enumeration(red, green);\nmodel M\n  E e = if time > 0.5 then E.red else E.green;\n"
                        "  Boolean b = String(e) == \"red\";\nend M;\n")
                .find("a.mo:4:15: error: texts of variables cannot be compared"),
            std::string::npos);
  EXPECT_EQ(at_end("type E = enumeration(red, green);\nmodel M\n  parameter E e = E.green;\n"
                   "  Real y = if String(e) == \"green\" then 1 else 2;\nend M;\n",
                   "y"),
            1.0);
}

TEST(Scopes, AParameterDecidesBetweenTexts) {
  EXPECT_EQ(at_end("model M\n  parameter Boolean b = true;\n  parameter String s = if b then \"one\" else \"two\";\n"
                   "  Real y = if s == \"one\" then 1 else 2;\nend M;\n",
                   "y"),
            1.0);
}

TEST(Scopes, IdenticalDeclarationsInheritedTwiceAreOne) {
  const std::string text =
      "partial model A\n  parameter Real k(min = 0) = 2 \"one\";\nend A;\npartial model B\n  parameter Real k(min = 0) "
      "= 2 \"two\";\n"
      "end B;\npartial model C\n  parameter Real k = 3;\nend C;\n";
  EXPECT_EQ(at_end(text + "model M\n  extends A;\n  extends B;\n  Real y = k;\nend M;\n", "y"), 2.0);
  EXPECT_EQ(at_end(text + "model M\n  extends A;\n  parameter Real k(min = 0) = 2;\n  Real y = k;\nend M;\n", "y"),
            2.0);
  EXPECT_NE(load_errors(text + "model M\n  extends A;\n  extends C;\nend M;\n").find("'k' is declared twice in 'M'"),
            std::string::npos);
}

TEST(Scopes, ANameThatTwoPackagesHaveIsNotImportedSilently) {
  const std::string text =
      "package P\n  constant Real c = 1;\n  model A\n    Real x = 1;\n  end A;\nend P;\n"
      "package Q\n  constant Real c = 2;\n  model A\n    Real x = 2;\n  end A;\nend Q;\n";
  EXPECT_NE(load_errors(text + "model M\n  import P.*;\n  import Q.*;\n  Real y = c;\nend M;\n")
                .find("'c' is imported twice: from 'P' and 'Q'"),
            std::string::npos);
  EXPECT_NE(load_errors(text + "model M\n  import P.*;\n  import Q.*;\n  A a;\nend M;\n")
                .find("'A' is imported twice: it is 'P.A' and 'Q.A'"),
            std::string::npos);
  EXPECT_EQ(at_end(text + "model M\n  import P.*;\n  import Q.*;\n  import Q.c;\n  Real y = c;\nend M;\n", "y"), 2.0);
  EXPECT_EQ(at_end(text + "model M\n  import P.*;\n  import Q.*;\n  Real y = 3;\nend M;\n", "y"), 3.0);
}

TEST(Scopes, AClassIsDeclaredOnce) {
  EXPECT_NE(load_errors("model A\n  Real x = 1;\nend A;\nmodel A\n  Real x = 2;\nend A;\nmodel M\n  A a;\nend M;\n")
                .find("a.mo:4:7: error: the class 'A' is declared twice"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  model A\n    Real x = 1;\n  end A;\n  type A = Real;\n  A a;\nend M;\n")
                .find("a.mo:5:8: error: the class 'A' is declared twice"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
