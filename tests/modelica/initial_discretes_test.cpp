// Initial equations of discrete variables hold together with all other equations of the start (Modelica 3.6, 8.6), or
// the run, or the reader, names the one that does not.
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

Trajectory start(const std::string& text) {
  const ModelicaModel loaded = load_text("model M " + text + " end M;");
  return simulate(loaded.model, {.stop = 0.5, .rtol = 1e-8, .atol = 1e-8});
}

/// Expects a value at the start and at the end of a run.
void expect_value(const std::string& text, const std::string& name, double value) {
  const Trajectory run = start(text);
  ASSERT_TRUE(run.status().ok()) << text << "\n" << run.status().message;
  EXPECT_DOUBLE_EQ(run.at(0.0, name), value) << text;
  EXPECT_DOUBLE_EQ(run.at(0.5, name), value) << text;
}

const std::string later = "equation when time > 100 then d = 3; end when; ";

TEST(InitialDiscretes, RelationsSeeTheValuesOfTheStart) {
  const std::string choose = "initial equation if c < -1 then d = 1; else d = 2; end if;";
  expect_value("Real c = cos(time); discrete Real d; " + later + choose, "d", 2.0);
  expect_value("discrete Real d; Real c = cos(time); " + later + choose, "d", 2.0);
  expect_value("Real c = -3*cos(time); discrete Real d; " + later + choose, "d", 1.0);
  expect_value("Real c = 1e7*cos(time); discrete Real d; " + later + choose, "d", 2.0);
  expect_value(
      "Real c(start = -5, fixed = true); Integer d; equation der(c) = 1; "
      "when time > 100 then d = 3; end when; " +
          choose,
      "d", 1.0);
  // of a variable whose value at the start another initial equation gives
  expect_value(
      "Real c; Integer d; equation der(c) = 1; when time > 100 then d = 3; end when; "
      "initial equation c^3 + c = -10; if c < -1 then d = 1; else d = 2; end if;",
      "d", 1.0);
  // written as an expression, on the other side
  expect_value("Real c = cos(time); discrete Real d; " + later + "initial equation (if c < -1 then 1 else 2) = d;", "d",
               2.0);
}

TEST(InitialDiscretes, ALatchBeginsWithWhatItIsToldTo) {
  const std::string latch = "equation when time > 100 then y = not pre(y); end when; initial equation y = a;";
  expect_value("Boolean a = sin(time) >= 0; Boolean y(start = false); " + latch, "y", 1.0);
  expect_value("Boolean a = cos(time) < 0; Boolean y(start = true); " + latch, "y", 0.0);
  expect_value("Boolean b = cos(time) > 0; Boolean a = b; Boolean y(start = false); " + latch, "y", 1.0);
  expect_value(
      "Boolean a = cos(time) > 0; Boolean y(start = false); equation when time > 100 then y = not pre(y); "
      "end when; initial equation pre(y) = a;",
      "y", 1.0);
}

// y = 5 - d and d = if y > 4 then 3 else 1: d = 3 gives y = 2, which is not above 4; d = 1 gives y = 4.
TEST(InitialDiscretes, HoldTogetherWithOtherEquations) {
  const std::string declared =
      "Real y; discrete Real d(start = 0); equation y = 5 - d; when time > 100 then d = 7; end when; ";
  expect_value(declared + "initial equation d = if y > 4 then 3 else 1;", "d", 1.0);
  const Trajectory none = start(declared + "initial equation d = if y > 3 then 3 else 1;");
  EXPECT_FALSE(none.status().ok());  // d = 3 gives y = 2, d = 1 gives y = 4
  EXPECT_NE(none.status().message.find("'d'"), std::string::npos) << none.status().message;
}

TEST(InitialDiscretes, InitialEquationsOfVariablesSeeWhatTheStartAssigns) {
  const Trajectory run = start(
      "Real x, z; discrete Real d(start = 0); equation der(x) = 0; z + z^3 = x + x^3; "
      "when initial() then d = 3; elsewhen time > 100 then d = 7; end when; initial equation x = 5 - d;");
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(0.0, "x"), 2.0, 1e-9);
  EXPECT_NEAR(run.at(0.0, "z"), 2.0, 1e-9);
  expect_value(
      "Real x; discrete Real d(start = 0); equation der(x) = 0; when initial() then d = 3; "
      "elsewhen time > 100 then d = 7; end when; initial equation x = 5 - d;",
      "x", 2.0);
  // in a circle with the values of states: refused by name
  const std::string errors = load_errors(
      "model M Real x; discrete Real d; equation der(x) = 0; when time > 100 then d = 7; end when; "
      "initial equation x = 5 - d; d = if x > 4 then 3 else 1; end M;");
  EXPECT_NE(errors.find("'d'"), std::string::npos) << errors;
  EXPECT_NE(errors.find("x = 5"), std::string::npos) << errors;
}

TEST(InitialDiscretes, OneThatDoesNotHoldIsNamed) {
  const Trajectory run =
      start("Real x(start = -1, fixed = true); Boolean b; equation der(x) = 0; b = x > 0; initial equation b = true;");
  EXPECT_EQ(run.status().code, StatusCode::assertion_failed);
  EXPECT_NE(run.status().message.find("initial equation"), std::string::npos) << run.status().message;
  const Trajectory fixed = start("Real c = cos(time); discrete Real d(start = 5, fixed = true); " + later +
                                 "initial equation d = if c < -1 then 1 else 2;");
  EXPECT_EQ(fixed.status().code, StatusCode::assertion_failed) << fixed.status().message;
  const Trajectory holds =
      start("Real x(start = 1, fixed = true); Boolean b; equation der(x) = 0; b = x > 0; initial equation b = true;");
  EXPECT_TRUE(holds.status().ok()) << holds.status().message;
}

}  // namespace
}  // namespace saltus
