// New values of parameters and start values in a compiled model: the results are those of a model compiled with them.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/modelica/modelica.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

/// The bits of a result: status, events with their values, the end.
std::vector<std::uint64_t> bits(const Trajectory& run) {
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(run.status().code)};
  const auto add = [&](double v) { all.push_back(std::bit_cast<std::uint64_t>(v)); };
  for (const auto& event : run.events()) {
    add(event.t);
    all.push_back(static_cast<std::uint64_t>(event.kind));
    for (const double v : event.before) add(v);
    for (const double v : event.after) add(v);
  }
  add(run.t_end());
  for (const double v : run.at(run.t_end())) add(v);
  return all;
}

class Dice {
 public:
  explicit Dice(int seed) : engine_(static_cast<std::uint64_t>(seed) * 7919u + 3u) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  double value() { return 0.5 * (below(9) - 4); }  // -2, -1.5, … 2: zeros, signs, and values that agree

 private:
  std::mt19937_64 engine_;
};

/// Parts in which parameters do all that they can do: coefficients, thresholds, gains of resets, weights of slides, a
/// coefficient of a derivative, start values that follow, relations of parameters alone.
Model random_model(Dice& dice, std::vector<std::string>& names) {
  Model m("random");
  const auto parameter = [&](const std::string& name) {
    names.push_back(name);
    return m.parameter(name, dice.value());
  };
  const auto start = [&](const std::string& name) {
    names.push_back(name);
    return dice.value();
  };
  const Expr a = parameter("a"), b = parameter("b"), c = parameter("c");
  const Expr x = m.variable("x", start("x")), v = m.variable("v", start("v"));
  m.equation(der(x) == v);
  Expr force = -2.0 * x - 0.25 * v + a * sin(m.time());
  if (dice.below(2)) force = force - b * sign(v);  // slides, or pushes away
  if (dice.below(2)) force = force + if_else(x > b, Expr(-0.5), Expr(0.25)) + if_else(x > c, Expr(-0.3), Expr(0.1));
  if (dice.below(2)) force = force + if_else(a > c, Expr(0.2), Expr(-0.2)) * x;  // no guard decides
  if (dice.below(3) == 0) {
    const Expr e = parameter("e"), z = m.variable("z", start("z"));
    m.equation(e * der(z) == if_else(e < 0.0, Expr(-1.0), Expr(1.0)) * (x - z));  // e = 0 leaves z = x
    force = force + 0.5 * z;
  }
  if (dice.below(3) == 0) {
    const Expr w = m.variable("w");
    m.equation(w == x * a - v);
    force = force - 0.1 * w;
  }
  m.equation(der(v) == force);
  if (dice.below(2)) m.when(x > 2.5 + 0.25 * c).reset(v, -0.25 * abs(b) * v);
  if (dice.below(2)) {
    const Expr q = m.discrete("q", start("q")), count = m.discrete("count", 0.0);
    m.when(m.sample(0.3, 0.7)).assign(q, q + c).assign(count, m.pre(count) + 1.0);
    m.when(m.time() > 3.0 + q).assign(count, 10.0 + m.pre(count));
  }
  if (dice.below(2)) m.start(x, a + 0.5 * c);
  if (dice.below(3) == 0) m.initial_equation(v == b * x);
  return m;
}

TEST(Values, GiveTheBitsOfAModelThatIsCompiledWithThem) {
  const int cases = random_cases(150);
  for (int k = 0; k < cases; ++k) {
    const int seed = random_seed() + k;
    Dice dice(seed);
    std::vector<std::string> names;
    const Model model = random_model(dice, names);
    const SimulateOptions options{.stop = 5.0, .max_steps = 20000};
    CompiledModel compiled(model);
    simulate(compiled, options);  // what it adds to the code must not matter
    for (int change = 0; change < 4; ++change) {
      Values values;
      std::string text;
      for (const std::string& name : names)
        if (dice.below(3)) {
          values.emplace_back(name, dice.value());
          text += fmt::format(" {} = {}", name, values.back().second);
        }
      // the same dice make the same model, in a graph of its own
      Dice same(seed);
      std::vector<std::string> ignored;
      Model anew = random_model(same, ignored);
      for (const auto& [name, value] : values) anew.set(name, value);
      const Trajectory expected = simulate(anew, options);
      const Trajectory found = simulate(compiled.with_values(values), options);
      ASSERT_EQ(bits(found), bits(expected)) << "seed " << seed << ":" << text << "\n"
                                             << found.status().message << "\n"
                                             << expected.status().message;
    }
  }
}

/// A pendulum in Cartesian coordinates with a stop and a rope that a parameter makes longer; index 3.
Model pendulum() {
  Model m("pendulum");
  const Expr L = m.parameter("L", 1.0), g = m.parameter("g", 9.81), d = m.parameter("d", 0.1);
  const Expr x = m.variable("x", 0.6, {.fixed = true}), y = m.variable("y", -0.8), F = m.variable("F", 0.0);
  const Expr u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -F * x - if_else(x > d, Expr(0.1), Expr(0.3)) * u);
  m.equation(der(v) == -F * y - g);
  m.equation(x * x + y * y == L * L);
  m.when(x < -0.5 + d).assign(n, m.pre(n) + 1.0);
  return m;
}

TEST(Values, GiveTheSameBitsInModesWithConstraints) {
  const CompiledModel compiled(pendulum());
  const SimulateOptions options{.stop = 3.0};
  for (const Values& values : {Values{{"L", 2.0}}, Values{{"g", 0.0}}, Values{{"g", -9.81}, {"y", 0.5}},
                               Values{{"x", -0.3}, {"d", 0.0}}, Values{{"d", -0.2}, {"u", 1.0}}}) {
    Model anew = pendulum();
    for (const auto& [name, value] : values) anew.set(name, value);
    const Trajectory expected = simulate(anew, options);
    EXPECT_EQ(expected.status().code, StatusCode::success) << expected.status().message;
    EXPECT_EQ(bits(simulate(compiled.with_values(values), options)), bits(expected)) << values.front().first;
  }
}

TEST(Values, OfACopyLeaveTheOriginalAlone) {
  Model m("decay");
  const Expr k = m.parameter("k", 1.0), x = m.variable("x", 1.0);
  m.equation(der(x) == -k * x);
  const CompiledModel compiled(m);
  const CompiledModel fast = compiled.with_values({{"k", 2.0}}), high = fast.with_values({{"x", 3.0}});
  const SimulateOptions options{.stop = 1.0, .rtol = 1e-9, .atol = 1e-12};
  const double tolerance = 1e-7;  // some hundred steps at 1e-9
  EXPECT_NEAR(simulate(compiled, options).at(1.0)[0], std::exp(-1.0), tolerance);
  EXPECT_NEAR(simulate(fast, options).at(1.0)[0], std::exp(-2.0), tolerance);
  EXPECT_NEAR(simulate(high, options).at(1.0)[0], 3.0 * std::exp(-2.0), tolerance);
  EXPECT_EQ(high.parameters(), (Values{{"k", 2.0}}));
  EXPECT_EQ(high.variables()[0].start, 3.0);
  EXPECT_EQ(compiled.variables()[0].start, 1.0);
}

TEST(Values, OfStartsFollowParametersUntilANumberIsGiven) {
  Model m("follows");
  const Expr p = m.parameter("p", 1.0), x = m.variable("x"), q = m.discrete("q", 0.0);
  m.equation(der(x) == q);
  m.start(x, 2.0 * p);
  m.start(q, p + 1.0);
  m.bounds(x, -p, 10.0 * p);
  const CompiledModel compiled(m);
  const CompiledModel changed = compiled.with_values({{"p", 3.0}});
  EXPECT_EQ(changed.variables()[0].start, 6.0);
  EXPECT_EQ(changed.initial_mode().discrete, (std::vector<double>{4.0}));
  EXPECT_EQ(changed.observed()[0].details->max, 30.0);
  const CompiledModel given = changed.with_values({{"x", 1.0}}).with_values({{"p", 5.0}});
  EXPECT_EQ(given.variables()[0].start, 1.0);
  EXPECT_EQ(given.observed()[0].details->min, -5.0);
}

std::string refusal(const CompiledModel& model, const Values& values) {
  try {
    model.with_values(values);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "";
}

TEST(Values, ThatCannotBeAreRefusedByName) {
  Model m("decay");
  const Expr rate = m.parameter("rate", 1.0), x = m.variable("x", 1.0);
  m.equation(der(x) == -rate * x);
  m.discrete("on", true);
  const CompiledModel compiled(m);
  EXPECT_EQ(refusal(compiled, {{"raet", 1.0}}), "'raet' is not declared in model 'decay'; did you mean 'rate'?");
  EXPECT_EQ(refusal(compiled, {{"on", 0.5}}), "'on' is of type Boolean and cannot be set to 0.5; give 0 or 1");
  EXPECT_EQ(refusal(compiled, {{"x", std::nan("")}}), "the value of 'x' is nan; give a finite number");
}

TEST(Values, OfModelicaSayWhatTheyDecide) {
  const ModelicaModel loaded = load_modelica(R"(
    model M
      parameter Integer n = 2;
      parameter Real k = 1;
      parameter Real twice = 2*k;
      parameter Real size = 3;
      parameter Real T = 0.5;
      parameter Integer steps = 4;
      final parameter Real f = 1;
      Real x[n](each start = k, each nominal = size, each max = 10*k);
      discrete Real y(start = 0);
    equation
      for i in 1:n loop
        der(x[i]) = -twice*x[i] + steps;
      end for;
      when sample(0, T) then
        y = pre(y) + 1;
      end when;
    end M;)",
                                             "M.mo");
  const CompiledModel compiled(loaded.model);
  EXPECT_EQ(refusal(compiled, {{"n", 3.0}}),
            "'n' cannot be changed in the compiled model 'M': it decides the size of an array; read the model with the "
            "new value");
  EXPECT_EQ(refusal(compiled, {{"size", 3.0}}),
            "'size' cannot be changed in the compiled model 'M': it decides the attribute 'nominal' of 'x'; read the "
            "model with the new value");
  EXPECT_EQ(refusal(compiled, {{"T", -1.0}}),
            "the interval of a sample, T, is -1 for the present parameters; it must be positive");
  EXPECT_EQ(simulate(compiled.with_values({{"T", 1.0}}), {.stop = 2.5}).at(2.5, "y"), 3.0);
  EXPECT_NE(refusal(compiled, {{"twice", 1.0}}).find("it is computed from other parameters"), std::string::npos);
  EXPECT_NE(refusal(compiled, {{"f", 2.0}}).find("it is final"), std::string::npos);
  EXPECT_EQ(refusal(compiled, {{"steps", 1.5}}),
            "'steps' is of type Integer and cannot be set to 1.5; give a whole number");
  const CompiledModel changed = compiled.with_values({{"k", 2.0}, {"x[2]", 7.0}});
  EXPECT_EQ(changed.variables()[0].start, 2.0);
  EXPECT_EQ(changed.variables()[1].start, 7.0);
  EXPECT_EQ(changed.observed()[0].details->max, 20.0);
  // x' = -4 x + 4 from 2: 1 + exp(-4 t)
  EXPECT_NEAR(simulate(changed, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-12}).at(1.0)[0], 1.0 + std::exp(-4.0), 1e-7);
}

// A factor of certain sign is no part of a surface; with another value of a parameter it may have the other sign, or
// vanish.
TEST(Values, DecideTheSignsOfFactors) {
  const auto make = [](double value, int form) {
    Model m("signs");
    const Expr p = m.parameter("p", value), x = m.variable("x", -1.0), y = m.variable("y", 0.0);
    const Expr g = form == 0 ? p * x : form == 1 ? p * x * (x * x + 1.0) : (p + 1.5) * x * x * x;
    m.equation(der(x) == 1.0);
    m.equation(der(y) == if_else(g > 0.0, 1.0, -1.0));
    return m;
  };
  for (const int form : {0, 1, 2})
    for (const double compiled : {1.0, -1.0, 0.0})
      for (const double value : {1.0, -1.0, 0.0, -2.0, 3.0}) {
        SCOPED_TRACE(fmt::format("form {}, compiled with {}, then {}", form, compiled, value));
        const auto model =
            std::make_shared<CompiledModel>(CompiledModel(make(compiled, form)).with_values({{"p", value}}));
        const Trajectory run = simulate(model, {.stop = 3.0});
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        const double factor = form == 2 ? value + 1.5 : value;  // x is negative for a time of 1, and positive for 2
        EXPECT_NEAR(run.final()[run.index("y")], factor > 0.0 ? 1.0 : factor < 0.0 ? -1.0 : -3.0, 1e-9);
      }
}

TEST(Values, DecideWhatIsEliminated) {
  // v = R i gives i, unless R is zero
  const auto model = [](double R) {
    Model m("rc");
    const Expr r = m.parameter("R", R), v = m.variable("v", 1.0), i = m.variable("i", 0.0), q = m.variable("q", 0.0);
    m.equation(der(v) == -i - v);
    m.equation(2.0 * v - q == r * i);
    m.equation(der(q) == v - q);
    return m;
  };
  for (const double from : {0.0, 0.5, 2.0})
    for (const double to : {0.0, 0.5, -2.0}) {
      const auto changed = std::make_shared<CompiledModel>(CompiledModel(model(from)).with_values({{"R", to}}));
      EXPECT_EQ(bits(simulate(changed, {.stop = 1.0})), bits(simulate(model(to), {.stop = 1.0}))) << from << " " << to;
    }
}

}  // namespace
}  // namespace saltus
