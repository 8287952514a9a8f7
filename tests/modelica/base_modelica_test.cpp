// Base Modelica: what is written and read again is the same model.
#include <gtest/gtest.h>
#include <saltus/model/text.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::vector<std::string> example_files() {
  std::vector<std::string> files;
  for (const char* folder : {"/models", "/gallery"})
    for (const auto& entry : std::filesystem::directory_iterator(std::string(SALTUS_EXAMPLES) + folder))
      if (entry.path().extension() == ".mo") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Runs both and compares every variable at the end, and the events, bit by bit.
void expect_same_run(const Model& first, const Model& second, double stop) {
  const auto a = simulate(first, {.stop = stop}), b = simulate(second, {.stop = stop});
  ASSERT_EQ(a.status().code, b.status().code) << a.status().message << '\n' << b.status().message;
  ASSERT_EQ(a.events().size(), b.events().size());
  EXPECT_EQ(a.t_end(), b.t_end());
  for (const auto& info : first.data().variable_info)
    EXPECT_EQ(a.at(a.t_end(), info.name), b.at(b.t_end(), info.name)) << info.name;
}

TEST(BaseModelica, EveryExampleIsReadBackAsTheSameModel) {
  for (const std::string& file : example_files()) {
    SCOPED_TRACE(file);
    const ModelicaModel model = load_modelica_file(file);
    const std::string text = base_modelica(model.model);
    const ModelicaModel again = load_text(text);
    EXPECT_EQ(base_modelica(again.model), text);
    ASSERT_EQ(again.model.data().variables.size(), model.model.data().variables.size());
    ASSERT_EQ(again.model.data().equations.size(), model.model.data().equations.size());
    expect_same_run(model.model, again.model, model.experiment.stop.value_or(1.0) / 4);
  }
}

/// An expression of x, y, the parameter p and time, with relations, choices and roundings in it.
class Draw {
 public:
  explicit Draw(unsigned seed, const Model& m) : random_(seed), m_(m) {}

  Expr number(int depth) {
    if (depth == 0) return leaf();
    switch (pick(12)) {
      case 0:
        return number(depth - 1) + number(depth - 1);
      case 1:
        return number(depth - 1) - number(depth - 1);
      case 2:
        return number(depth - 1) * number(depth - 1);
      case 3:
        return number(depth - 1) / (2.0 + number(depth - 1) * number(depth - 1));
      case 4:
        return -number(depth - 1);
      case 5:
        return sin(number(depth - 1));
      case 6:
        return atan2(number(depth - 1), number(depth - 1));
      case 7:
        return if_else(truth(depth - 1), number(depth - 1), number(depth - 1));
      case 8:
        return floor(number(depth - 1));
      case 9:
        return pow(2.0 + sin(number(depth - 1)), number(depth - 1));
      case 10:
        return no_event(abs(number(depth - 1)));
      default:
        return exp(sin(number(depth - 1)));
    }
  }
  BoolExpr truth(int depth) {
    switch (depth == 0 ? 0 : pick(5)) {
      case 0:
        return number(depth) > number(depth);
      case 1:
        return number(depth - 1) <= number(depth - 1);
      case 2:
        return truth(depth - 1) && truth(depth - 1);
      case 3:
        return !truth(depth - 1);
      default:
        return truth(depth - 1) || truth(depth - 1);
    }
  }

 private:
  unsigned pick(unsigned count) { return static_cast<unsigned>(random_() % count); }
  Expr leaf() {
    switch (pick(6)) {
      case 0:
        return m_.symbol("x");
      case 1:
        return m_.symbol("y.z[1]");
      case 2:
        return m_.symbol("p");
      case 3:
        return m_.time();
      case 4:
        return Expr(-1.25);
      default:
        return Expr(std::ldexp(static_cast<double>(pick(1000)) + 1.0, -7));
    }
  }
  std::mt19937 random_;
  const Model& m_;
};

TEST(BaseModelica, RandomModelsAreReadBackAsTheSameModel) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Model m("Random");
    m.parameter("p", 0.75);
    const Expr x = m.variable("x", 0.5, {.fixed = true, .nominal = 2.0, .unit = "m"});
    const Expr y = m.variable("y.z[1]", -0.25, {.fixed = true, .min = -1e3, .description = "a \"quoted\" text"});
    const BoolExpr b = m.discrete("it's", true);
    const Expr n = m.discrete("n", 3.0, {.type = VariableType::integer});
    Draw draw(seed, m);
    m.equation(der(x) == draw.number(3));
    m.equation(der(y) == draw.number(3) + if_else(b, Expr(1.0), n));
    m.define(b.expr(), draw.truth(2).expr());
    m.when(draw.truth(2)).assign(n, m.pre(n) + 1.0).reset(x, draw.number(1), draw.truth(1));
    m.when(m.sample(0.25, 0.5)).assign(n, m.pre(n) - 1.0);
    const std::string text = base_modelica(m);
    // two clauses that assign one variable are a matter of C++ models
    const std::string errors = load_errors(text);
    if (errors.find("two clauses assign") != std::string::npos) continue;
    EXPECT_EQ(base_modelica(load_text(text).model), text);
  }
}

TEST(BaseModelica, EnumerationsAndTruthValuesKeepTheirTypes) {
  const auto model = load_text(
      "type Gear = enumeration(low, middle, high);\nmodel M\n  parameter Gear first = Gear.middle;\n"
      "  parameter Boolean on = true;\n  Gear gear(start = Gear.low);\n  Boolean fast = time > 0.5 and on;\n"
      "  Integer count(start = 0);\n  Real y;\nequation\n  gear = if time > 0.75 then Gear.high else first;\n"
      "  when fast then\n    count = pre(count) + 2;\n  end when;\n"
      "  y = count + (if gear == Gear.high then 10 else 20) + (if fast then 1 else 0);\nend M;\n");
  const std::string text = base_modelica(model.model);
  EXPECT_NE(text.find("= enumeration('low', 'middle', 'high');"), std::string::npos) << text;
  EXPECT_NE(text.find("parameter Boolean 'on' = true;"), std::string::npos) << text;
  EXPECT_NE(text.find("discrete Integer 'count'(start = 0);"), std::string::npos) << text;
  const auto again = load_text(text);
  EXPECT_EQ(base_modelica(again.model), text);
  const auto r = run(again.model, 1.0);
  EXPECT_EQ(r.at(0.25, "y"), 20.0);
  EXPECT_EQ(r.at(0.6, "y"), 23.0);
  EXPECT_EQ(r.at(1.0, "y"), 13.0);
}

TEST(BaseModelica, InputsAreReadBackAsInputs) {
  Model m("Inputs");
  const Expr u = m.input("u", 0.5), level = m.input("level", 2.0, InputCurve::held);
  const BoolExpr on = m.input("on", true);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), before = m.discrete("before", 0.0), after = m.discrete("after");
  m.equation(der(x) == u + if_else(on, level, 0.0));
  m.when(u > 0.9).assign(before, m.pre(u)).assign(after, u);
  const std::string text = base_modelica(m);
  EXPECT_NE(text.find("input Real 'u'(start = 0.5);"), std::string::npos) << text;
  EXPECT_NE(text.find("discrete input Boolean 'on'(start = true);"), std::string::npos) << text;
  EXPECT_EQ(text.find("coefficient"), std::string::npos) << text;
  const Model again = load_text(text).model;
  ASSERT_EQ(again.data().inputs.size(), 3U);
  EXPECT_EQ(again.data().discretes.size(), m.data().discretes.size());
  SimulateOptions options{.stop = 4.0};
  options.inputs.emplace("u", InputSignal::table({0.0, 1.0, 1.0, 3.0}, {0.2, 0.4, 1.0, 0.0}));
  options.inputs.emplace("on", InputSignal::table({2.0}, {0.0}, InputSignal::Between::steps));
  options.inputs.emplace("level", InputSignal::table({0.0, 1.5}, {1.0, 3.0}, InputSignal::Between::steps));
  const auto a = simulate(m, options), b = simulate(again, options);
  EXPECT_EQ(a.events().size(), b.events().size());
  for (const char* name : {"u", "x", "before", "after", "level", "on"})
    EXPECT_EQ(a.at(4.0, name), b.at(4.0, name)) << name;
  EXPECT_EQ(b.at(4.0, "before"), 0.4);
  EXPECT_EQ(b.at(4.0, "after"), 1.0);
}

TEST(BaseModelica, WhatATextCannotHoldIsRefusedByName) {
  const auto error = [](const Model& m) {
    try {
      base_modelica(m);
    } catch (const ModelError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  Model m("Modes");
  const Expr x = m.variable("x");
  m.mode("up").equation(der(x) == 1.0);
  EXPECT_NE(error(m).find("model 'Modes' cannot be written as text: it has the explicit mode 'up'"), std::string::npos);
  Model t("Touches");
  const Expr y = t.variable("y");
  t.equation(der(y) == 1.0);
  t.when(y > 1.0).record_touches();
  EXPECT_NE(error(t).find("it records touches of a surface"), std::string::npos);
  Model s("Smooth");
  s.input("u", 0.0, InputCurve::smooth);
  EXPECT_NE(error(s).find("the input 'u' is smooth"), std::string::npos);
}

TEST(BaseModelica, TheAdditionsOfItsGrammarAreRead) {
  const auto model = load_text(
      "//! base 0.1.0\npackage 'P'\n  pure constant function 'P.twice'\n    input Real 'u';\n    output Real 'y';\n"
      "  algorithm\n    'y' := 2*'u';\n  end 'P.twice';\n  model 'P'\n    parameter Real 'a.p' = 3 @1;\n"
      "    Real 'a.x'(fixed = true);\n    parameter equation guess('a.x') = prioritize('a.p' + 1, 2);\n    Real 'y' "
      "@2;\n"
      "    parameter Boolean 'same' = realParameterEqual('a.p', 3.0);\n  equation\n"
      "    der('a.x') = 0 @3;\n    'y' = 'P.twice'('a.x') + (if 'same' then 1 else 0);\n  end 'P';\nend 'P';\n");
  EXPECT_EQ(model.model.name(), "P");
  const auto r = run(model.model, 1.0);
  EXPECT_EQ(r.at(1.0, "a.x"), 4.0);
  EXPECT_EQ(r.at(1.0, "y"), 9.0);
  EXPECT_NE(
      load_errors("//! base 0.1.0\npackage 'P'\n  model 'P'\n    Real 'x';\n    parameter equation guess('y') = 1;\n"
                  "  equation\n    'x' = 1;\n  end 'P';\nend 'P';\n")
          .find("'y' is not declared before its guess"),
      std::string::npos);
  // elsewhere quotes belong to a name, and there are no decorations
  EXPECT_EQ(run_text("model M\n  Real 'x' = 1, x = 2;\nend M;\n", 1.0).at(1.0, "'x'"), 1.0);
  EXPECT_NE(load_errors("model M\n  Real x = 1 @3;\nend M;\n"), "");
}

}  // namespace
}  // namespace saltus
