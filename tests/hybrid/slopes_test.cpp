// der(x) of a result: exact for what equations differentiate, by differences along the solution for all others.
#include <gtest/gtest.h>
#include <saltus/io/result_table.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

Model load(const std::string& text) {
  return load_modelica(text, "model.mo").model;
}

TEST(Slopes, StatesHaveTheDerivativesOfTheEquations) {
  const Model model = load(R"(model Ball
  Real h(start = 1, fixed = true, unit = "m"), v(start = 0, fixed = true, unit = "m/s");
  Real e = 9.81*h + v^2/2, n = sin(50*time);
  discrete Real hits(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  when h < 0 then
    reinit(v, -0.5*pre(v));
    hits = pre(hits) + 1;
  end when;
end Ball;)");
  const Trajectory run = simulate(model, {.stop = 0.7, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_EQ(run.events().size(), 1u);
  for (const double t : {0.0, 0.1, 0.3, 0.6, 0.7}) {
    const std::vector<double> slopes = run.slopes(t);
    EXPECT_NEAR(slopes[run.index("h")], run.at(t, "v"), 1e-11) << t;  // at the end: what the method has reached
    EXPECT_EQ(slopes[run.index("v")], -9.81) << t;
    EXPECT_NEAR(slopes[run.index("e")], 0.0, 1e-8) << t;  // energy is kept
    EXPECT_NEAR(slopes[run.index("n")], 50.0 * std::cos(50.0 * t), 50.0 * 1e-8) << t;
    EXPECT_EQ(slopes[run.index("hits")], 0.0) << t;
  }
  // at the impact both sides
  const double t = run.events()[0].t, v = std::sqrt(2.0 * 9.81);
  EXPECT_NEAR(run.slopes_before(t)[run.index("h")], -v, 1e-9);
  EXPECT_NEAR(run.slope(t, "h"), 0.5 * v, 1e-9);
  EXPECT_NEAR(run.at(t, "der(h)"), 0.5 * v, 1e-9);
}

TEST(Slopes, AreSampledBesideValues) {
  const Model model = load(R"(model Two
  Real x[2](start = {1, 2}, each fixed = true, each unit = "m");
equation
  der(x[1]) = -x[1];
  der(x[2]) = -2*x[2];
end Two;)");
  const Trajectory run = simulate(model, {.stop = 1.0, .rtol = 1e-10, .atol = 1e-10});
  EXPECT_EQ(run.index("der(x[2])"), run.variables().size() + run.index("x[2]"));
  EXPECT_EQ(run.variable(run.index("der(x[2])")).name, "der(x[2])");
  EXPECT_EQ(run.variable(run.index("der(x[2])")).details->unit, "m/s");
  const double times[] = {0.0, 0.5, 1.0};
  const int places[] = {1, 3};
  double out[6];
  run.sample(times, places, out);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(out[i], 2.0 * std::exp(-2.0 * times[i]), 1e-9);
    EXPECT_NEAR(out[3 + i], -4.0 * std::exp(-2.0 * times[i]), 1e-9);
  }
  const ResultTable table = result_table(run, {.variables = {"x[1]", "der(x)"}, .intervals = 2});
  ASSERT_EQ(table.columns.size(), 3u);
  EXPECT_EQ(table.columns[1].name, "der(x[1])");
  EXPECT_NEAR(table.columns[2].values.back(), -4.0 * std::exp(-2.0), 1e-9);
  EXPECT_THROW(run.index("der(y)"), UsageError);
}

TEST(Slopes, OfAlgebraicVariablesInAPendulumOfIndexThree) {
  // T = g cos(phi) + phi'^2 with length and mass 1; phi'^2 = 2 g (cos(phi) - cos(1)), so that T' = -3 g sin(phi) phi'
  const Model model = load(R"(model Pendulum
  Real x(start = 0.8414709848078965, fixed = true), y(start = -0.5403023058681398);
  Real vx(start = 0, fixed = true), vy(start = 0), T;
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -T*x;
  der(vy) = -T*y - 9.81;
  x^2 + y^2 = 1;
end Pendulum;)");
  const Trajectory run = simulate(model, {.stop = 2.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  for (const double t : {0.2, 0.9, 1.7}) {
    const double x = run.at(t, "x"), y = run.at(t, "y"), speed = (x * run.at(t, "vy") - y * run.at(t, "vx"));
    EXPECT_NEAR(run.slope(t, "T"), -3.0 * 9.81 * x * speed, 1e-4 * 30.0) << t;  // differences along a step
    EXPECT_NEAR(run.slope(t, "vx"), -run.at(t, "T") * x, 1e-9) << t;
  }
}

TEST(Slopes, RunsWithoutStepsHaveNone) {
  const Model model = load("model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;");
  const Trajectory run = simulate(model, {.stop = 1.0, .keep_steps = false});
  EXPECT_TRUE(std::isnan(run.slopes(1.0)[0]));
}

}  // namespace
}  // namespace saltus
