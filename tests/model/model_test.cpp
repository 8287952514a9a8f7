#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <cmath>
#include <functional>
#include <string>

namespace saltus {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

TEST(Model, NamesAreUnique) {
  Model m("m");
  m.variable("x");
  EXPECT_EQ(error_of([&] { m.parameter("x", 1.0); }), "'x' is declared twice in model 'm'");
  EXPECT_EQ(error_of([&] { m.variable("time"); }), "'time' is the name of the time variable; choose another");
  EXPECT_EQ(error_of([&] { m.variable(""); }), "a declaration needs a name");
}

TEST(Model, ValuesThatAreNotFiniteAreRefusedByName) {
  Model m("m");
  EXPECT_EQ(error_of([&] { m.parameter("mass", std::nan("")); }), "the value of 'mass' is nan; give a finite number");
  EXPECT_EQ(error_of([&] { m.variable("x", INFINITY); }), "the start value of 'x' is inf; give a finite number");
  EXPECT_NE(error_of([&] { m.variable("y", 0.0, {.nominal = 0.0}); }).find("nominal value of 'y'"), std::string::npos);
  m.parameter("k", 1.0);
  EXPECT_EQ(error_of([&] { m.set("k", std::nan("")); }), "the value of 'k' is nan; give a finite number");
}

TEST(Model, UnknownNamesGetASuggestion) {
  Model m("m");
  m.variable("velocity");
  EXPECT_EQ(error_of([&] { m.symbol("velocty"); }), "'velocty' is not declared in model 'm'; did you mean 'velocity'?");
}

TEST(Model, OnlyVariablesJumpAndOnlyDiscreteOnesAreAssigned) {
  Model m("m");
  const Expr x = m.variable("x"), p = m.parameter("p", 1.0), q = m.discrete("q", 0.0);
  EXPECT_NE(error_of([&] { m.when(x > 0.0).reset(p, 1.0); }).find("'p' is not a variable"), std::string::npos);
  EXPECT_NE(error_of([&] { m.when(x > 0.0).reset(q, 1.0); }).find("use assign"), std::string::npos);
  EXPECT_NE(error_of([&] { m.when(x > 0.0).assign(x, 1.0); }).find("use reset"), std::string::npos);
}

TEST(Model, ExpressionsOfAnotherModelAreRefused) {
  Model a("a"), b("b");
  const Expr x = a.variable("x"), y = b.variable("y");
  EXPECT_NE(error_of([&] { b.equation(x == 1.0); }).find("another model than 'b'"), std::string::npos);
  EXPECT_NE(error_of([&] { b.equation(y == x); }).find("two different models"), std::string::npos);
}

TEST(Model, ACopyIsExtendedAloneAndSharesExpressions) {
  Model m("m");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), k = m.parameter("k", 2.0);
  m.equation(der(x) == -k * x);
  const Expr twice = 2.0 * x;
  Model copy = m.copy();
  copy.equation(copy.variable("y") == twice + copy.symbol("k"));
  copy.set("k", 3.0);
  m.set("x", 5.0);
  EXPECT_EQ(copy.name(), "m");
  EXPECT_EQ(copy.data().variables.size(), 2u);
  EXPECT_EQ(m.data().variables.size(), 1u);
  EXPECT_EQ(m.data().parameters[0].value, 2.0);
  EXPECT_EQ(copy.data().parameters[0].value, 3.0);
  EXPECT_EQ(copy.data().variable_info[0].start, 1.0);
  EXPECT_EQ(CompiledModel(copy).observed().size(), 2u);
  EXPECT_EQ(CompiledModel(m).observed().size(), 1u);
}

TEST(Validation, TooFewEquationsNameTheVariables) {
  Model m("tank");
  const Expr h = m.variable("h"), q = m.variable("q"), r = m.variable("r");
  m.equation(der(h) == q - r);
  m.equation(q == 2.0 * h);
  EXPECT_EQ(error_of([&] { CompiledModel c(m); }),
            "model 'tank': 1 equation for 2 variables; 1 more equation is needed among the variables 'h', 'r'");
}

TEST(Validation, TooManyEquationsNameTheEquations) {
  Model m("tank");
  const Expr h = m.variable("h");
  m.equation(der(h) == 1.0, "", {"tank.mo", 4, 3});
  m.equation(h == 2.0 * m.time(), "", {"tank.mo", 5, 3});
  const std::string text = error_of([&] { CompiledModel c(m); });
  EXPECT_NE(text.find("2 equations for 1 variable; 1 equation is too many"), std::string::npos) << text;
  EXPECT_NE(text.find("tank.mo:5:3"), std::string::npos) << text;
}

TEST(Validation, AsManyEquationsButOneVariableIsNotDetermined) {
  Model m("m");
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) == 1.0);
  m.equation(x * x == 2.0);
  const std::string text = error_of([&] { CompiledModel c(m); });
  EXPECT_NE(text.find("cannot determine the variables"), std::string::npos) << text;
  EXPECT_NE(text.find("'y'"), std::string::npos) << text;
  EXPECT_NE(text.find("x*x = 2"), std::string::npos) << text;
}

TEST(Validation, ModesAreCheckedOneByOne) {
  Model m("m");
  const Expr x = m.variable("x");
  auto a = m.mode("a"), b = m.mode("b");
  a.equation(der(x) == 1.0);
  a.transition(x > 1.0).to(b);
  EXPECT_NE(error_of([&] { CompiledModel c(m); }).find("mode 'b': 0 equations for 1 variable"), std::string::npos);
}

TEST(Validation, ATransitionNeedsASuccessor) {
  Model m("m");
  const Expr x = m.variable("x");
  auto a = m.mode("a");
  a.equation(der(x) == 1.0);
  a.transition(x > 1.0);
  EXPECT_NE(error_of([&] { CompiledModel c(m); }).find("has no successor"), std::string::npos);
  EXPECT_NE(error_of([&] { m.mode("a"); }).find("declared twice"), std::string::npos);
}

TEST(Validation, AnEmptyModelSaysSo) {
  EXPECT_NE(error_of([&] { CompiledModel c(Model("nothing")); }).find("model 'nothing' is empty"), std::string::npos);
}

}  // namespace
}  // namespace saltus
