// What a model says that can hardly be meant, and what a run notices of it: undetermined variables, resets that the
// equations do not allow, values beyond their bounds, units that do not fit.
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "modelica/flatten/units.hpp"

namespace saltus {
namespace {

Trajectory run_model(const std::string& text, Method method = Method::automatic) {
  return simulate(load_text("model M " + text + " end M;").model, {.stop = 0.9, .method = method});
}

std::string warnings(const std::string& text) {
  std::string all;
  for (const Diagnostic& note : load_text("model M\n" + text + "\nend M;").notes) all += render(note);
  return all;
}

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Undetermined, EquationsThatCancelAreRefused) {
  for (const char* text : {"Real x; equation x = 1*x;", "Real x; equation x - x = 0;", "Real x; equation 2*x = x*2;",
                           "Real x, y; equation x = y; y - x = x - x + (y - x);",
                           "Real x(start=1, fixed=true), y; equation der(x) = -x; y + x = x + y;"}) {
    const ModelicaModel loaded = load_text("model M " + std::string(text) + " end M;");
    try {
      const Trajectory run = simulate(loaded.model, {.stop = 0.9});
      ADD_FAILURE() << text << ": " << run.status().message;
    } catch (const ModelError& error) {
      EXPECT_TRUE(mentions(error.what(), "the equations cannot determine the variables")) << error.what();
      EXPECT_TRUE(error.where().known());
    }
  }
}

// Only the values of parameters tell that the second equation says nothing: that is found when the run starts.
TEST(Undetermined, EquationsThatCancelByTheirNumbersAreTold) {
  for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
    const Trajectory run =
        run_model("parameter Real k = 1; Real x, y; equation x + y = sin(time); k*x - x + k*y - y = 0;", method);
    EXPECT_TRUE(mentions(run.status().message, "do not determine")) << run.status().message;
  }
}

TEST(Undetermined, ARunThroughSuchAModeNamesTheVariables) {
  const std::string declarations = "Real x(start=1, fixed=true), a, b; equation der(x) = -x; a + b = x; ";
  for (const char* other :
       {"if time < 0.5 then a - b = 0; else 2*a + 2*b = 2*x; end if;", "0 = if time < 0.5 then a - b else a + b - x;"})
    for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
      const Trajectory run = run_model(declarations + other, method);
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      EXPECT_TRUE(mentions(run.status().message, "from t = 0.5 on the equations do not determine a, b"))
          << run.status().message;
      EXPECT_NEAR(run.at(0.4, "a"), 0.5 * std::exp(-0.4), 1e-5);  // determined so far; ten tolerances
    }
  EXPECT_EQ(run_model(declarations + "a - b = 0;").status().message, "");
}

TEST(Resets, ThatContradictTheEquationsAreReported) {
  struct {
    const char *text, *note;
  } const cases[] = {
      {"Real x, y; equation der(x) = y; x = sin(time); when time > 0.5 then reinit(x, 3); end when;",
       "the reset of x to 3"},
      {"Real x(start=0, fixed=true), v(start=1, fixed=true), L; equation der(x) = v; der(v) = L; 0 = if time < 0.5 "
       "then L else v; when time > 0.5 then reinit(v, 3); end when;",
       "the reset of v to 3"},
      {"Real x(start=1, fixed=true), y; equation der(x) = -x; y + y^3 = 2*x; when time > 0.5 then reinit(y, 3); end "
       "when;",
       "the reset of y to 3"},
      {"Real x(start=1, fixed=true), y; equation der(x) = -x; y + y^3 = 2*x; when time > 0.5 then reinit(x, 3); end "
       "when;",
       ""},
  };
  for (const auto& c : cases)
    for (const Method method : {Method::automatic, Method::radau, Method::bdf}) {
      const Trajectory run = run_model(c.text, method);
      ASSERT_TRUE(run.status().ok()) << c.text << ": " << run.status().message;
      ASSERT_EQ(run.events().size(), 1U) << c.text;
      const std::string& message = run.events()[0].message;
      EXPECT_EQ(message.empty(), *c.note == 0) << c.text << ": " << message;
      EXPECT_TRUE(mentions(message, c.note)) << c.text << ": " << message;
    }
}

TEST(Resets, OfAlgebraicVariablesAreWarnedOf) {
  const std::string states = "Real x(start=1, fixed=true), y;\nequation\nder(x) = -x; y = 2*x;\nwhen time > 0.5 then\n";
  const std::string warning = warnings(states + "reinit(y, 3); end when;");
  EXPECT_TRUE(mentions(warning, "test.mo:6:1: warning: 'y' is not differentiated")) << warning;
  EXPECT_EQ(warnings(states + "reinit(x, 3); end when;"), "");
}

TEST(Bounds, ThatValuesLeaveAreTold) {
  for (const char* text : {"Real x(start=1, fixed=true, min=0.5); equation der(x) = -2*x;",
                           "Real y(start=1, fixed=true), x(min=0.5); equation der(y) = -2*y; x = y;",
                           "Real y(start=1, fixed=true), x(min=0.5); equation der(y) = -2*y; x + x^3 = y + y^3;"}) {
    const Trajectory run = run_model(text);
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_TRUE(mentions(run.status().message, "is below its min = 0.5 at t ="))
        << text << ": " << run.status().message;
    EXPECT_TRUE(mentions(run.status().message, "test.mo:1:")) << run.status().message;
  }
  EXPECT_TRUE(mentions(run_model("Real x(start=3, fixed=true, max=2); equation der(x) = -x;").status().message,
                       "x = 3 is above its max = 2 at t = 0"));
  // exp(-0.9) = 0.41 stays above; a value that stays on its bound has errors of its tolerance
  EXPECT_EQ(run_model("Real x(start=1, fixed=true, min=0.4); equation der(x) = -x;").status().message, "");
  EXPECT_EQ(
      run_model("Real x(start=1, fixed=true), y(max=1); equation der(x) = -1000*(x - 1); y = x;").status().message, "");
}

TEST(Bounds, OfParametersAreCheckedWhenTheModelIsRead) {
  EXPECT_TRUE(mentions(warnings("parameter Real k(max=1) = 2; Real x; equation x = k;"),
                       "test.mo:2:16: warning: 'k' = 2 is above its max = 1"));
  EXPECT_TRUE(mentions(warnings("parameter Real k[2](each min=0) = {1, -1}; Real x; equation x = k[1];"),
                       "'k[2]' = -1 is below its min = 0"));
  EXPECT_EQ(warnings("parameter Real k(min=0, max=2) = 2; Real x; equation x = k;"), "");
}

TEST(Units, ThatDoNotFitAreWarnedOfWithTheirLine) {
  const std::string declarations =
      "Real x(unit=\"m\"), v(unit=\"m/s\"), f(unit=\"N\"), z; parameter Real m(unit=\"kg\") = 2;\nequation\n";
  struct {
    const char *equations, *expected;
  } const cases[] = {
      {"v = f;",
       "test.mo:4:1: warning: the units of this equation do not fit: the left side is in m/s, the right side in "
       "m.kg/s2"},
      {"der(x) = f;", "the left side is in m/s, the right side in m.kg/s2"},
      {"z = x + v;", "m and m/s are added"},
      {"z = sin(x);", "the argument of sin is in m"},
      {"z = if x > v then 1 else 0;", "subtracted or compared"},
      {"f = m*v^2;", "the left side is in m.kg/s2, the right side in m2.kg/s2"},
      {"f = m*sqrt(v);", "the right side in m^0.5.kg/s^0.5"},
      {"m*der(v) = f;", ""},
      {"f = -2*x;", ""},
      {"z = x + 1;", ""},
      {"z = sin(x/x);", ""},
      {"f = 3*sin(time);", ""},
      {"z = sqrt(x^2)/v;", ""},
      {"f*x = m*v^2;", ""},
  };
  for (const auto& c : cases) {
    // the other variables have equations that say nothing about units
    const std::string text = warnings(declarations + c.equations + "\n");
    EXPECT_EQ(text.empty(), *c.expected == 0) << c.equations << ": " << text;
    EXPECT_TRUE(mentions(text, c.expected)) << c.equations << ": " << text;
  }
}

TEST(Units, AreReadAsModelicaWritesThem) {
  using modelica::Dimension;
  using modelica::parse_unit;
  const Dimension newton{{1, 1, -2}};
  for (const char* text : {"N", "kN", "kg.m/s2", "kg.m.s-2", "J/m", "(kg.m)/(s.s)", "V.A.s/m", "Pa.mm2"})
    EXPECT_EQ(parse_unit(text), newton) << text;
  EXPECT_EQ(parse_unit("1"), Dimension{});
  EXPECT_EQ(parse_unit("rad"), Dimension{});
  EXPECT_EQ(parse_unit("1/s"), parse_unit("Hz"));
  EXPECT_EQ(parse_unit("Ohm.F"), parse_unit("s"));
  EXPECT_EQ(parse_unit("W/(m2.K)"), parse_unit("kg/(s3.K)"));
  for (const char* text : {"", "furlong", "m//s", "m/", "(m", "m)", "2"}) EXPECT_FALSE(parse_unit(text)) << text;
  // exponents beyond the integers are exponents all the same
  const auto huge = parse_unit("kg/m5000000000");
  ASSERT_TRUE(huge);
  EXPECT_EQ(to_string(*huge), "kg/m5e+09");
  EXPECT_EQ(to_string(*parse_unit("m" + std::string(400, '9'))), "minf");
}

}  // namespace
}  // namespace saltus
