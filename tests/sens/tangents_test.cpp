// Derivatives that follow the steps of a run: their accuracy where the run itself takes too long steps, all methods,
// any number of directions, and the transposed of the same steps.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sens/constrained_equations.hpp"
#include "sens/lane_lu.hpp"
#include "sens/linear_adjoint.hpp"

namespace saltus {
namespace {

const std::vector<Method> every_method = {Method::automatic, Method::dopri5, Method::tsit5,  Method::bs3,
                                          Method::dop853,    Method::taylor, Method::rodas4, Method::rodas5p,
                                          Method::radau,     Method::radau5, Method::bdf};

SimulateOptions with(Method method, double stop, double rtol) {
  SimulateOptions options{.stop = stop, .rtol = rtol, .atol = 0.01 * rtol};
  options.method = method;
  return options;
}

// The run stands still, and its steps become as long as the run. Errors are held below two tolerances in each step;
// what was made early grows with the derivative itself, so the relative error is below two tolerances times the steps.
TEST(Tangents, GrowWhileTheSolutionStandsStill) {
  Model m("still");
  const Expr a = m.parameter("a", 1.5), x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == a * x + y);
  m.equation(der(y) == -x * x - 0.5 * y);
  const double rtol = 1e-7, T = 4.0, exact = std::exp(1.5 * T);
  for (const Method method : every_method) {
    SCOPED_TRACE(std::string(to_string(method)));
    const SensitivityRun run = simulate_with_sensitivities(m, {"x.start", "a"}, with(method, T, rtol));
    ASSERT_EQ(run.why(), "");
    EXPECT_LT(run.trajectory().statistics().steps, 40);
    EXPECT_NEAR(run.final("x", "x.start"), exact, 300.0 * rtol * exact);
    EXPECT_NEAR(run.at(0.5 * T, "x", "x.start"), std::exp(0.75 * T), 300.0 * rtol * std::exp(0.75 * T));
    EXPECT_EQ(run.final("x", "a"), 0.0);
    const FunctionalGradient g = gradient(m, final_value("x"), {"x.start", "a"}, with(method, T, rtol));
    ASSERT_EQ(g.why, "");
    EXPECT_NEAR(g.by("x.start"), exact, 300.0 * rtol * exact);
  }
}

// The derivatives follow the steps with the method that made them, whatever `method` says of other modes. Without
// control nothing else would show that a method of order 3 goes along steps of order 8.
TEST(Tangents, FollowTheMethodThatMadeTheSteps) {
  Model m("swing");
  const Expr w = m.parameter("w", 2.0), x = m.variable("x", 1.0), v = m.variable("v", 0.0);
  ExplicitMode only = m.mode("only");
  only.equation(der(x) == v);
  only.equation(der(v) == -w * w * x);
  const double T = 10.0, exact = -T * std::sin(2.0 * T);
  for (const Method made : {Method::dop853, Method::dopri5, Method::rodas5p})
    for (const Method other : {Method::bs3, Method::automatic, Method::dop853}) {
      SCOPED_TRACE(std::string(to_string(made)) + ", not " + std::string(to_string(other)));
      SimulateOptions options = with(other, T, 1e-9);
      options.mode_methods = {{"only", made}};
      const SensitivityRun run = simulate_with_sensitivities(m, {"w"}, options, {.control = false});
      ASSERT_EQ(run.why(), "");
      for (const Trajectory::Step& step : run.trajectory().segments().front().steps) EXPECT_EQ(step.method, made);
      EXPECT_NEAR(run.final("x", "w"), exact, 1e-6);
      const FunctionalGradient g = gradient(m, final_value("x"), {"w"}, options);
      ASSERT_EQ(g.why, "");
      EXPECT_NEAR(g.by("w"), exact, 1e-6);
    }
}

// Without a test of their errors derivatives take the steps of the run, which are much too long for them here.
TEST(Tangents, WithoutControlTakeTheStepsOfTheRun) {
  Model m("still");
  const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.0);
  m.equation(der(x) == 1.5 * x + y);
  m.equation(der(y) == -x * x - 0.5 * y);
  const double rtol = 1e-7, T = 4.0, exact = std::exp(1.5 * T);
  for (const Method method : {Method::dopri5, Method::rodas5p}) {
    SCOPED_TRACE(std::string(to_string(method)));
    const SimulateOptions options = with(method, T, rtol);
    const SensitivityRun run = simulate_with_sensitivities(m, {"x.start"}, options),
                         rough = simulate_with_sensitivities(m, {"x.start"}, options, {.control = false});
    EXPECT_EQ(run.trajectory().final(), rough.trajectory().final());
    EXPECT_EQ(run.trajectory().statistics().steps, rough.trajectory().statistics().steps);
    EXPECT_NEAR(run.final("x", "x.start"), exact, 300.0 * rtol * exact);
    EXPECT_GT(std::abs(rough.final("x", "x.start") - exact), 1e-4 * exact);
  }
}

// The parameter is zero, and nothing moves: only the derivative oscillates.
TEST(Tangents, SeeWhatAParameterAtZeroWouldDo) {
  Model m("zero");
  const Expr p = m.parameter("p", 0.0), x = m.variable("x", 1.0);
  m.equation(der(x) == p * sin(30.0 * m.time()));
  const double rtol = 1e-7, T = 3.3, exact = (1.0 - std::cos(30.0 * T)) / 30.0;
  for (const Method method : every_method) {
    SCOPED_TRACE(std::string(to_string(method)));
    const SensitivityRun run = simulate_with_sensitivities(m, {"p"}, with(method, T, rtol));
    ASSERT_EQ(run.why(), "");
    EXPECT_NEAR(run.final("x", "p"), exact, 1000.0 * rtol);
    const FunctionalGradient g = gradient(m, final_value("x"), {"p"}, with(method, T, rtol));
    ASSERT_EQ(g.why, "");
    EXPECT_NEAR(g.by("p"), exact, 1000.0 * rtol);
  }
}

Model pendulum() {
  Model m("pendulum");
  const Expr g = m.parameter("g", 9.8), d = m.parameter("d", 0.1), e = m.parameter("e", 0.8);
  const Expr a = m.variable("a", 0.9), w = m.variable("w", 0.0);
  m.equation(der(a) == w);
  m.equation(der(w) == -g * sin(a) - d * w);
  m.when(a < -0.3).reset(w, -e * w);
  return m;
}

// Steps that are good enough for the derivatives in both directions, and wrong by more than a hundred times the bound:
// their derivative and its transposed agree to rounding.
TEST(Tangents, TheAdjointIsTheTransposedOfTheSteps) {
  const CompiledModel model(pendulum());
  const std::vector<std::string> names = {"g", "d", "e", "a.start", "w.start"};
  const SensitivityRun tight = simulate_with_sensitivities(model, names, {.stop = 3.0, .rtol = 1e-12, .atol = 1e-14});
  for (const Method method : {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853}) {
    SCOPED_TRACE(std::string(to_string(method)));
    SimulateOptions options = with(method, 3.0, 1e-2);
    options.max_step = method == Method::bs3 ? 0.05 : 0.12;
    const SensitivityRun run = simulate_with_sensitivities(model, names, options);
    ASSERT_GE(run.events().size(), 2u);
    double worst = 0.0;
    for (const std::string variable : {"a", "w"}) {
      const FunctionalGradient g = gradient(model, final_value(variable), names, options);
      ASSERT_EQ(g.why, "");
      EXPECT_EQ(g.steps, run.trajectory().statistics().steps);
      for (const std::string& name : names) {
        const double forward = run.final(variable, name);
        EXPECT_NEAR(g.by(name), forward, 1e-11 * (1.0 + std::abs(forward))) << variable << " by " << name;
        worst = std::max(worst, std::abs(forward - tight.final(variable, name)));
      }
    }
    EXPECT_GT(worst, 1e-9);
  }
}

TEST(Tangents, AreThoseOfEachDirectionAlone) {
  Model m("many");
  std::vector<Expr> p;
  for (int k = 0; k < 9; ++k) p.push_back(m.parameter("p" + std::to_string(k), 0.5 + 0.1 * k));
  const Expr x = m.variable("x", 0.4), y = m.variable("y", 0.1);
  m.equation(der(x) == p[0] * y + p[1] * sin(p[2] * x) - p[3]);
  m.equation(der(y) == -p[4] * x + p[5] * cos(p[6] * m.time()) - p[7] * y * y + p[8]);
  const CompiledModel model(m);
  const double rtol = 1e-8;
  for (const Method method : {Method::dopri5, Method::dop853, Method::rodas5p})
    for (const std::size_t count : {1u, 3u, 4u, 5u, 8u, 9u}) {
      std::vector<std::string> names;
      for (std::size_t k = 0; k < count; ++k) names.push_back("p" + std::to_string(k));
      const SimulateOptions options = with(method, 5.0, rtol);
      const SensitivityRun all = simulate_with_sensitivities(model, names, options);
      const SensitivityRun last = simulate_with_sensitivities(model, {names.back()}, options);
      for (const std::string variable : {"x", "y"})
        EXPECT_NEAR(all.final(variable, names.back()), last.final(variable, names.back()), 100.0 * rtol)
            << count << " directions, " << to_string(method);
    }
}

// Robertson's reaction: values from runs with Radau methods at 1e-12.
TEST(Tangents, OfStiffEquationsHaveTheToleranceOfTheRun) {
  Model m("robertson");
  const Expr p1 = m.parameter("p1", 0.04), p2 = m.parameter("p2", 1e4), p3 = m.parameter("p3", 3e7);
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
  m.equation(der(x) == -p1 * x + p2 * y * z);
  m.equation(der(y) == p1 * x - p2 * y * z - p3 * y * y);
  m.equation(der(z) == p3 * y * y);
  const CompiledModel model(m);
  const auto tight = [&](const std::string& name, double factor) {
    const double value = name == "p1" ? 0.04 : name == "p2" ? 1e4 : 3e7;
    SimulateOptions options{.stop = 400.0, .rtol = 1e-12, .atol = 1e-15};
    options.method = Method::radau;
    return simulate(model.with_values({{name, value * factor}}), options).final();
  };
  const double rtol = 1e-6;
  for (const std::string name : {"p1", "p2", "p3"}) {
    const double value = name == "p1" ? 0.04 : name == "p2" ? 1e4 : 3e7, share = 1e-3;
    const std::vector<double> up = tight(name, 1.0 + share), down = tight(name, 1.0 - share);
    const std::vector<double> far_up = tight(name, 1.0 + 2.0 * share), far_down = tight(name, 1.0 - 2.0 * share);
    for (const Method method : {Method::automatic, Method::rodas5p, Method::radau5, Method::bdf}) {
      SimulateOptions options{.stop = 400.0, .rtol = rtol, .atol = 1e-10};
      options.method = method;
      const SensitivityRun run = simulate_with_sensitivities(model, {"p1", "p2", "p3"}, options);
      ASSERT_EQ(run.why(), "");
      for (std::size_t j = 0; j < 3; ++j) {
        const double near = (up[j] - down[j]) / (2.0 * share * value),
                     far = (far_up[j] - far_down[j]) / (4.0 * share * value), exact = (4.0 * near - far) / 3.0;
        EXPECT_NEAR(run.final(name)[j], exact, 500.0 * rtol * std::abs(exact) + 1e-9 / value)
            << j << " by " << name << ", " << to_string(method);
      }
    }
  }
}

/// A matrix with some entries in each column, and a large diagonal; or with zeros there and the large entries beside
/// it.
struct TestMatrix {
  SparsePattern pattern;
  std::vector<double> values;

  TestMatrix(int n, bool large_diagonal, unsigned seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> number(-1.0, 1.0);
    std::vector<std::pair<int, int>> places;
    std::vector<double> numbers;
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) {
        const bool large = large_diagonal ? i == j : i == (j + 1) % n;
        if (!large && i != j && std::abs(number(random)) > 0.1) continue;
        places.emplace_back(i, j);
        numbers.push_back(large ? 5.0 : i == j ? 0.0 : number(random));
      }
    std::vector<int> position;
    pattern = make_pattern(n, n, places, &position);
    values.resize(numbers.size());
    for (std::size_t k = 0; k < numbers.size(); ++k) values[static_cast<std::size_t>(position[k])] = numbers[k];
  }
};

// Solutions against the product of the matrix with them: errors of some hundred roundings, since 5 dominates each
// column.
TEST(LaneLu, SolvesWithPivotsOfTheDiagonalAndWithOthers) {
  const int n = 30;
  std::mt19937 random(3);
  for (const bool large_diagonal : {true, false})
    for (const int width : {1, 4, 8, 16}) {
      const TestMatrix matrix(n, large_diagonal, static_cast<unsigned>(width));
      LaneLu lu;
      lu.set_pattern(matrix.pattern);
      ASSERT_TRUE(lu.factorise(matrix.values));
      std::vector<double> x(static_cast<std::size_t>(n * width)), b(x.size(), 0.0);
      for (double& v : x) v = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
      for (int j = 0; j < n; ++j)
        for (int e = matrix.pattern.start[j]; e < matrix.pattern.start[j + 1]; ++e)
          for (int l = 0; l < width; ++l)
            b[static_cast<std::size_t>(matrix.pattern.row[e] * width + l)] +=
                matrix.values[static_cast<std::size_t>(e)] * x[static_cast<std::size_t>(j * width + l)];
      lu.solve(b.data(), width);
      for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(b[k], x[k], 1e-12);
    }
}

TEST(LaneLu, SolvesWithTheTransposedMatrix) {
  const int n = 30;
  std::mt19937 random(5);
  for (const bool large_diagonal : {true, false}) {
    const TestMatrix matrix(n, large_diagonal, 7);
    LaneLu lu;
    lu.set_pattern(matrix.pattern);
    ASSERT_TRUE(lu.factorise(matrix.values));
    std::vector<double> x(2 * static_cast<std::size_t>(n)), b(x.size(), 0.0);  // two solutions side by side
    for (double& v : x) v = std::uniform_real_distribution<double>(-1.0, 1.0)(random);
    for (int j = 0; j < n; ++j)
      for (int e = matrix.pattern.start[j]; e < matrix.pattern.start[j + 1]; ++e)
        for (int l = 0; l < 2; ++l)
          b[static_cast<std::size_t>(2 * j + l)] +=
              matrix.values[static_cast<std::size_t>(e)] * x[static_cast<std::size_t>(2 * matrix.pattern.row[e] + l)];
    lu.solve_transposed(b);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(b[k], x[k], 1e-12);
  }
}

// Kernels for all processors, and those for some of them.
TEST(LaneKernels, HaveTheSameBitsForAllProcessors) {
  std::mt19937 random(11);
  const auto number = [&] { return std::uniform_real_distribution<double>(-1.0, 1.0)(random); };
  for (const int width : {1, 4, 8, 16}) {
    const std::size_t n = 23, size = n * static_cast<std::size_t>(width);
    LaneRows rows;
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; j += 1 + i % 3) {
        rows.column.push_back(static_cast<int>(j));
        values.push_back(number());
      }
      rows.start.push_back(static_cast<int>(rows.column.size()));
    }
    std::vector<double> x(size), stages(3 * size), plain(size, 0.5), fast(size, 0.5), argument(size), sum(size);
    for (double& v : x) v = number();
    for (double& v : stages) v = number();
    plain_lane_kernels(width).multiply(rows, values.data(), x.data(), plain.data());
    lane_kernels(width).multiply(rows, values.data(), x.data(), fast.data());
    EXPECT_EQ(plain, fast) << width << " lanes";
    const double a[] = {0.3, -1.7, 0.9}, c[] = {2.1, 0.4, -0.6};
    std::vector<double> other_argument(size), other_sum(size);
    StageSums sums{x.data(), stages.data(), size, 3, 0, a, c, argument.data(), sum.data(), size};
    plain_lane_kernels(width).sums(sums);
    sums.argument = other_argument.data();
    sums.sum = other_sum.data();
    lane_kernels(width).sums(sums);
    EXPECT_EQ(argument, other_argument) << width << " lanes";
    EXPECT_EQ(sum, other_sum) << width << " lanes";
    for (std::size_t k = 0; k < size; ++k) {
      EXPECT_DOUBLE_EQ(argument[k], x[k] + a[0] * stages[k] + a[1] * stages[size + k] + a[2] * stages[2 * size + k]);
    }
  }
}

// lambda s_1 = (pull of lambda) (s, dd) for any lambda and s: to roundings, for explicit equations and for an index of
// one.
TEST(LinearAdjoint, IsTheTransposedOfAStep) {
  for (const bool is_explicit : {true, false}) {
    Model m("transposed");
    const Expr a = m.parameter("a", 3.0), b = m.parameter("b", 0.5);
    const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.3), z = m.variable("z", 0.4);
    m.equation(der(x) == -20.0 * a * (x - cos(m.time())) + y * z);
    m.equation(der(y) == b * x * x - y * z);
    if (is_explicit)
      m.equation(der(z) == a * b * y - z * sin(m.time()));
    else
      m.equation(z + b * z * z * z == a * x - y);
    CompiledModel model(m);
    const Trajectory run = simulate(model, with(Method::rodas5p, 1.0, 1e-6));
    const Mode mode = run.mode(run.segments().front());
    auto& system = dynamic_cast<RecordedSystem&>(model.system(mode));
    const std::vector<Trajectory::Step>& steps = run.segments().front().steps;
    SolutionPath path(steps);
    std::unique_ptr<LinearEquations> equations;
    const std::vector<std::vector<double>> changes = {{1.0, 0.0}, {-0.3, 2.0}};
    const TangentValues values(Lanes(3, 2), system.data(), system.locks(), changes);
    const double t = steps[1].polynomial.t0, h = 3.0 * steps[1].polynomial.h;
    std::shared_ptr<const TangentCode> code;
    if (is_explicit) {
      code = std::make_shared<TangentCode>(system, std::span<const Expr>{});
      equations = std::make_unique<ExplicitEquations>(*code);
    } else {
      auto constrained = std::make_unique<ConstrainedEquations>(std::make_shared<LinearMode>(system));
      std::vector<double> at(3), slope(3);
      steps[1].polynomial.evaluate(t, at);
      steps[1].polynomial.derivative(t, slope);
      ASSERT_TRUE(constrained->open(values, t, at, slope, {0, 1}));
      equations = std::move(constrained);
    }
    const Lanes lanes(equations->size(), 2);
    std::mt19937 random(2);
    const auto number = [&] { return std::uniform_real_distribution<double>(-1.0, 1.0)(random); };
    std::vector<double> s(lanes.size()), s1(s.size()), error(s.size()), lambda(lanes.n);
    for (double& v : s) v = number();
    for (double& v : lambda) v = number();
    LinearRosenbrock forward(*equations, rodas_5p(), lanes);
    ASSERT_TRUE(forward.step(t, h, path, values, s, s1, error));
    LinearAdjoint backward(*equations, rodas_5p());
    LinearAdjoint::Function before, of_error;
    ASSERT_TRUE(backward.pull(t, h, path, values, lambda, before, of_error));
    for (std::size_t k = 0; k < 2; ++k) {
      double behind = 0.0, pulled = 0.0, size = 0.0;
      for (std::size_t i = 0; i < lanes.n; ++i) {
        behind += lambda[i] * s1[lanes.place(k, i)];
        pulled += before.y[i] * s[lanes.place(k, i)];
        size += std::abs(before.y[i]);
      }
      for (std::size_t p = 0; p < 2; ++p) pulled += before.data[p] * changes[k][p];
      EXPECT_NEAR(pulled, behind, 1e-12 * (1.0 + size)) << (is_explicit ? "explicit" : "index 1");
    }
  }
}

/// A pendulum in Cartesian coordinates, which swings over and has an index of three.
Model swinging(double angle, double speed) {
  Model m("pendulum");
  const Expr g = m.parameter("g", 9.81), d = m.parameter("d", 0.05), x = m.variable("x", std::sin(angle)),
             y = m.variable("y", -std::cos(angle)), u = m.variable("u", speed * std::cos(angle)),
             v = m.variable("v", speed * std::sin(angle)), f = m.variable("f", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -f * x - d * u);
  m.equation(der(v) == -f * y - d * v - g);
  m.equation(x * x + y * y == 1.0);
  return m;
}

/// The same by its angle.
Model by_angle(double angle, double speed) {
  Model m("angle");
  const Expr g = m.parameter("g", 9.81), d = m.parameter("d", 0.05), a = m.variable("a", angle),
             w = m.variable("w", speed), x = m.variable("x");
  m.equation(der(a) == w);
  m.equation(der(w) == -g * sin(a) - d * w);
  m.equation(x == sin(a));
  return m;
}

/// The derivative of the angle, from those of the place.
double of_angle(const SensitivityRun& run, double stop, const std::string& parameter) {
  return -run.final("x", parameter) * run.trajectory().at(stop, "y") +
         run.final("y", parameter) * run.trajectory().at(stop, "x");
}

// x does not follow from y where the pendulum hangs straight down, and y not from x where it is level. Long steps pass
// such points between two others at which both choices look well. An error of some tolerances is allowed in each step,
// and grows by at most ten here. In the last case the pendulum is level at the end: there dx/dg = cos(a) da/dg is
// small, and the error of the run in a changes it by far more than the error of the derivative da/dg, which is
// compared.
TEST(Tangents, ChooseOtherVariablesBeforeThoseThatAreHeldDoNotServe) {
  struct Case {
    double angle, speed, stop;
  };
  for (const auto& [angle, speed, stop] :
       {Case{2.0, 2.0, 2.3}, Case{2.0, 0.0, 5.1}, Case{3.0, 2.0, 5.1}, Case{2.0, 8.0, 3.7}}) {
    const SensitivityRun exact =
        simulate_with_sensitivities(by_angle(angle, speed), {"g", "d"}, with(Method::automatic, stop, 1e-11));
    ASSERT_EQ(exact.why(), "");
    const double size = std::max(std::abs(exact.final("x", "g")), std::abs(exact.final("x", "d")));
    const double angle_size = std::max(std::abs(exact.final("a", "g")), std::abs(exact.final("a", "d")));
    const bool level = angle_size > 10.0 * size;
    const CompiledModel model(swinging(angle, speed));
    for (const Method method : {Method::automatic, Method::radau, Method::rodas5p})
      for (const double rtol : {1e-4, 1e-6, 1e-8}) {
        SCOPED_TRACE(testing::Message() << angle << ", " << speed << ", " << to_string(method) << ", " << rtol);
        const SensitivityRun run = simulate_with_sensitivities(model, {"g", "d"}, with(method, stop, rtol));
        const FunctionalGradient g = gradient(model, final_value("x"), {"g", "d"}, with(method, stop, rtol));
        ASSERT_EQ(run.why(), "");
        ASSERT_EQ(g.why, "");
        const auto steps = static_cast<double>(run.trajectory().statistics().steps);
        for (const std::string p : {"g", "d"}) {
          EXPECT_NEAR(of_angle(run, stop, p), exact.final("a", p), 10.0 * 10.0 * rtol * steps * angle_size) << p;
          if (level) continue;
          EXPECT_NEAR(run.final("x", p), exact.final("x", p), 10.0 * 10.0 * rtol * steps * size) << p;
          EXPECT_NEAR(g.by(p), exact.final("x", p), 10.0 * 30.0 * rtol * static_cast<double>(g.steps) * size) << p;
        }
      }
  }
}

TEST(LaneLu, RefusesASingularMatrix) {
  TestMatrix matrix(6, true, 1);
  std::ranges::fill(matrix.values, 0.0);
  LaneLu lu;
  lu.set_pattern(matrix.pattern);
  EXPECT_FALSE(lu.factorise(matrix.values));
}

}  // namespace
}  // namespace saltus
