// Linearisations against closed forms: explicit modes, constraints of index 1 and 3, slides, inputs, parameters,
// cycles.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/linearisation.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

CompiledModel compiled(const std::string& text) {
  return CompiledModel(load_modelica(text, "model.mo").model);
}

SimulatorState state_at(const CompiledModel& model, double t) {
  Simulator run(std::make_shared<CompiledModel>(model), {.stop = t, .rtol = 1e-11, .atol = 1e-12});
  run.run();
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  return run.state();
}

Linearisation at(const CompiledModel& model, double t, const LinearisationOptions& options = {}) {
  return linearise(model, state_at(model, t), options);
}

void expect_matrix(const Matrix& a, const std::vector<std::vector<double>>& rows, double tolerance) {
  ASSERT_EQ(a.rows(), static_cast<int>(rows.size()));
  for (int i = 0; i < a.rows(); ++i) {
    ASSERT_EQ(a.columns(), static_cast<int>(rows[static_cast<std::size_t>(i)].size()));
    for (int j = 0; j < a.columns(); ++j)
      EXPECT_NEAR(a(i, j), rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)], tolerance) << i << ", " << j;
  }
}

TEST(Linearisation, OfALinearSystemIsTheSystem) {
  const CompiledModel model = compiled(R"(model Spring
  parameter Real m = 2, k = 8, d = 0.4;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  input Real F(start = 3);
  output Real a = der(v);
equation
  der(x) = v;
  m*der(v) = F - k*x - d*v;
end Spring;)");
  const Linearisation l = at(model, 0.7);
  ASSERT_TRUE(l.ok()) << l.why;
  EXPECT_EQ(l.states, (std::vector<std::string>{"x", "v"}));
  EXPECT_EQ(l.inputs, (std::vector<std::string>{"F"}));
  EXPECT_EQ(l.outputs, (std::vector<std::string>{"a"}));
  expect_matrix(l.A, {{0.0, 1.0}, {-4.0, -0.2}}, 1e-10);
  expect_matrix(l.B, {{0.0}, {0.5}}, 1e-10);
  expect_matrix(l.C, {{-4.0, -0.2}}, 1e-10);
  expect_matrix(l.D, {{0.5}}, 1e-10);
  EXPECT_EQ(l.input_values[0], 3.0);
  ASSERT_EQ(l.eigenvalues.size(), 2u);
  EXPECT_NEAR(l.eigenvalues[0].value.real(), -0.1, 1e-10);
  EXPECT_NEAR(l.eigenvalues[0].value.imag(), std::sqrt(4.0 - 0.01), 1e-10);
  ASSERT_EQ(l.eigenvalues[0].shares.size(), 2u);
  EXPECT_NEAR(l.eigenvalues[0].shares[0].share, 0.5, 0.05);
  EXPECT_EQ(l.stability(), Stability::stable);
}

TEST(Linearisation, DominantStatesAreNamed) {
  const CompiledModel model = compiled(R"(model Parts
  Real fast(start = 1, fixed = true), slow(start = 1, fixed = true);
equation
  der(fast) = -100*fast + slow;
  der(slow) = -0.5*slow;
end Parts;)");
  const Linearisation l = at(model, 0.1);
  ASSERT_EQ(l.eigenvalues.size(), 2u);
  EXPECT_NEAR(l.eigenvalues[0].value.real(), -0.5, 1e-12);
  EXPECT_EQ(l.eigenvalues[0].shares[0].state, "slow");
  EXPECT_NEAR(l.eigenvalues[1].value.real(), -100.0, 1e-10);
  EXPECT_EQ(l.eigenvalues[1].shares[0].state, "fast");
}

TEST(Linearisation, ParametersAreInputs) {
  const CompiledModel model = compiled(R"(model Decay
  parameter Real k = 0.5;
  Real x(start = 2, fixed = true), y = x^2;
equation
  der(x) = -k*x^3;
end Decay;)");
  const Linearisation l = at(model, 1.0, {.inputs = {"k"}, .outputs = {"y"}});
  ASSERT_TRUE(l.ok()) << l.why;
  const double x = l.state_values[0];
  EXPECT_NEAR(x, 2.0 / std::sqrt(1.0 + 4.0), 1e-9);  // 1/x^2 = 1/4 + 2 k t
  expect_matrix(l.A, {{-1.5 * x * x}}, 1e-9);
  expect_matrix(l.B, {{-x * x * x}}, 1e-8);
  expect_matrix(l.C, {{2.0 * x}}, 1e-8);
  expect_matrix(l.D, {{0.0}}, 1e-8);
  EXPECT_THROW(at(model, 1.0, {.inputs = {"q"}}), UsageError);
  EXPECT_THROW(at(model, 1.0, {.outputs = {"q"}}), UsageError);
}

TEST(Linearisation, ImplicitModesHaveInputsInTheirConstraints) {
  // u = R i + q/C + b i^3 with q' = i: at the point, di = (du - dq/C) / (R + 3 b i^2)
  const CompiledModel model = compiled(R"(model Circuit
  parameter Real R = 2, C = 0.5, b = 0.1;
  Real q(start = 0.1, fixed = true);
  input Real u(start = 1);
  output Real i(start = 0.4);
equation
  der(q) = i;
  u = R*i + q/C + b*i^3;
end Circuit;)");
  const Linearisation l = at(model, 0.3);
  ASSERT_TRUE(l.ok()) << l.why;
  const double i = l.output_values[0], slope = 1.0 / (2.0 + 0.3 * i * i);
  EXPECT_EQ(l.states, (std::vector<std::string>{"q"}));
  expect_matrix(l.A, {{-2.0 * slope}}, 1e-8);
  expect_matrix(l.B, {{slope}}, 1e-8);
  expect_matrix(l.C, {{-2.0 * slope}}, 1e-8);
  expect_matrix(l.D, {{slope}}, 1e-8);
}

const char* const pendulum = R"(model Pendulum
  parameter Real g = 9.81;
  Real x(start = 0.3, fixed = true), y(start = -0.9539392014169456);
  Real vx(start = 0, fixed = true), vy(start = 0), T;
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -T*x;
  der(vy) = -T*y - g;
  x^2 + y^2 = 1;
end Pendulum;)";

TEST(Linearisation, OfIndexThreeIsOnTheHiddenConstraints) {
  const CompiledModel model = compiled(pendulum);
  const Linearisation l = at(model, 0.4, {.outputs = {"T"}});
  ASSERT_TRUE(l.ok()) << l.why;
  ASSERT_EQ(l.states.size(), 2u);
  // The second method: states are a position and a speed, and all others follow from them on the lower half of the
  // circle: with p = x, s = vx: y = -sqrt(1 - p^2), vy = -p s / y, T = s^2 + vy^2 - g y, s' = -T p.
  ASSERT_EQ(l.states[0], "x");
  ASSERT_EQ(l.states[1], "vx");
  const double p = l.state_values[0], s = l.state_values[1];
  const auto T = [](double x, double v) {
    const double y = -std::sqrt(1.0 - x * x), w = -x * v / y;
    return v * v + w * w - 9.81 * y;
  };
  EXPECT_NEAR(l.output_values[0], T(p, s), 1e-8);
  const double h = 1e-5;
  const double Tp = (T(p + h, s) - T(p - h, s)) / (2.0 * h), Ts = (T(p, s + h) - T(p, s - h)) / (2.0 * h);
  expect_matrix(l.C, {{Tp, Ts}}, 1e-5);
  expect_matrix(l.A, {{0.0, 1.0}, {-T(p, s) - p * Tp, -p * Ts}}, 1e-5);
}

TEST(Linearisation, EquilibriaOfAPendulum) {
  const CompiledModel model = compiled(pendulum);
  const Equilibrium e = find_equilibrium(model, state_at(model, 0.2));
  ASSERT_TRUE(e.found) << e.message;
  EXPECT_TRUE(e.admissible);
  EXPECT_FALSE(e.pseudo);
  const Linearisation& l = e.linearisation;
  ASSERT_EQ(l.eigenvalues.size(), 2u);
  EXPECT_NEAR(std::abs(l.eigenvalues[0].value.imag()), std::sqrt(9.81), 1e-6);
  EXPECT_NEAR(l.eigenvalues[0].value.real(), 0.0, 1e-6);
  EXPECT_EQ(l.stability(), Stability::undecided);
}

TEST(Linearisation, OnASlideHasOneStateLess) {
  // On s = v + 2 x = 0 the field of Filippov keeps v = -2 x: x' = -2 x
  const CompiledModel model = compiled(R"(model Slide
  Real x(start = 1, fixed = true), v(start = -1, fixed = true);
  Real z(start = 1, fixed = true);
equation
  der(x) = v;
  der(v) = -3*sign(v + 2*x);
  der(z) = x - 3*z;
end Slide;)");
  const SimulatorState state = state_at(model, 1.5);
  ASSERT_EQ(state.mode.sliding.size(), 1u);
  const Linearisation l = linearise(model, state, {.outputs = {"v", "x"}});
  ASSERT_TRUE(l.ok()) << l.why;
  ASSERT_EQ(l.states.size(), 2u);
  ASSERT_EQ(l.eigenvalues.size(), 2u);
  EXPECT_NEAR(l.eigenvalues[0].value.real(), -2.0, 1e-7);
  EXPECT_NEAR(l.eigenvalues[1].value.real(), -3.0, 1e-7);
  // v = -2 x in every direction
  for (int j = 0; j < 2; ++j) EXPECT_NEAR(l.C(0, j) + 2.0 * l.C(1, j), 0.0, 1e-8);
}

TEST(Linearisation, PseudoEquilibriumOfARelay) {
  // x' = y - 2 sign(x), y' = 0.5 - y: slides on x = 0 from |y| < 2 on, and stands still at y = 0.5
  const CompiledModel model = compiled(R"(model Relay
  Real x(start = 1, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = y - 2*sign(x);
  der(y) = 0.5 - y;
end Relay;)");
  const Equilibrium e = find_equilibrium(model, state_at(model, 2.0));
  ASSERT_TRUE(e.found) << e.message;
  EXPECT_TRUE(e.pseudo);
  EXPECT_TRUE(e.admissible);
  EXPECT_NEAR(e.values[1], 0.5, 1e-9);
  ASSERT_EQ(e.linearisation.eigenvalues.size(), 1u);
  EXPECT_NEAR(e.linearisation.eigenvalues[0].value.real(), -1.0, 1e-7);
  EXPECT_EQ(e.linearisation.stability(), Stability::stable);
}

TEST(Linearisation, AnEquilibriumBeyondAGuardIsNotAdmissible) {
  const CompiledModel model = compiled(R"(model Beyond
  Real x(start = 0, fixed = true);
equation
  der(x) = if x < 1 then 2 - x else -x;
end Beyond;)");
  const Equilibrium e = find_equilibrium(model, state_at(model, 0.1));
  ASSERT_TRUE(e.found) << e.message;
  EXPECT_NEAR(e.values[0], 2.0, 1e-10);
  EXPECT_FALSE(e.admissible);
  EXPECT_EQ(e.violated, (std::vector<std::string>{"x < 1"}));
}

TEST(Linearisation, NothingStandsStillWithoutAnEquilibrium) {
  const CompiledModel model = compiled("model M Real x(start = 0, fixed = true); equation der(x) = 1 + x^2; end M;");
  const Equilibrium e = find_equilibrium(model, state_at(model, 0.1));
  EXPECT_FALSE(e.found);
  EXPECT_FALSE(e.message.empty());
}

TEST(Linearisation, OfACycleIsItsMonodromy) {
  // r' = r (1 - r^2), phi' = 1: multiplier exp(-2 * 2 pi), and 1 along the cycle
  const CompiledModel model = compiled(R"(model Circle
  Real x(start = 1, fixed = true), y(start = 0, fixed = true), r2 = x^2 + y^2;
equation
  der(x) = x*(1 - r2)/10 - y;
  der(y) = y*(1 - r2)/10 + x;
end Circle;)");
  const Linearisation l = linearise(find_cycle(model, {.period_guess = 6.3}));
  ASSERT_TRUE(l.ok()) << l.why;
  EXPECT_NEAR(l.period, 2.0 * std::numbers::pi, 1e-8);
  ASSERT_EQ(l.eigenvalues.size(), 2u);
  EXPECT_NEAR(std::abs(l.eigenvalues[0].value), 1.0, 1e-6);
  EXPECT_NEAR(std::abs(l.eigenvalues[1].value), std::exp(-0.4 * std::numbers::pi), 1e-6);
  EXPECT_EQ(l.stability(), Stability::stable);
}

TEST(Linearisation, OpenVariablesAreRefused) {
  Model m("open");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 1.0);
  m.equation(der(x) == y);
  m.allow_unbalanced();
  const CompiledModel model(m);
  const Linearisation l = linearise(model, state_at(model, 0.5));
  EXPECT_FALSE(l.ok());
}

}  // namespace
}  // namespace saltus
