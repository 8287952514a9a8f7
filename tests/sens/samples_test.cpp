// Derivatives by what decides when samples are taken: t_k = start + k interval moves with both.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>

namespace saltus {
namespace {

const char* const sampled_text = R"(model Sampled
  parameter Real half = 0.05, h = 2*half, t0 = 0.13;
  Real x(start = 1, fixed = true);
  discrete Real q(start = 0, fixed = true);
equation
  der(x) = -x + q;
  when sample(t0, h) then
    q = -pre(x);
  end when;
end Sampled;)";

/// The same, made by calls.
struct Sampled {
  Model m{"sampled"};
  Expr half = m.parameter("half", 0.05), t0 = m.parameter("t0", 0.13);
  Expr x = m.variable("x", 1.0, {.fixed = true}), q = m.discrete("q", 0.0);

  Sampled() {
    m.equation(der(x) == -x + q);
    m.when(m.sample(t0, 2.0 * half)).assign(q, -m.pre(x));
  }
};

/// x' = -x + q with q = -x(t_k) from t_k on: x(t_k + s) = x(t_k) (2 exp(-s) - 1), x(t_0) = exp(-t_0).
struct Exact {
  double x, by_start, by_interval;

  Exact(double t, double start, double interval) {
    const double k = std::floor((t - start) / interval);  // samples behind the first one
    const double one = 2.0 * std::exp(-interval) - 1.0, s = t - start - k * interval, last = 2.0 * std::exp(-s) - 1.0;
    const double at_last = std::exp(-start) * std::pow(one, k);
    x = at_last * last;
    by_start = -x + at_last * 2.0 * std::exp(-s);
    by_interval = at_last * (k / one * -2.0 * std::exp(-interval) * last + 2.0 * std::exp(-s) * k);
  }
};

constexpr double stop = 1.0, tolerance = 1e-9;

void expect_exact(const Model& model, Method method) {
  SCOPED_TRACE(to_string(method));
  SimulateOptions options{.stop = stop, .rtol = tolerance, .atol = tolerance};
  options.method = method;
  const Exact exact(stop, 0.13, 0.1);
  const SensitivityRun run = simulate_with_sensitivities(model, {"t0", "half"}, options);
  ASSERT_EQ(run.why(), "");
  // a hundred tolerances, as of other runs with ten events
  const double bound = 100.0 * tolerance;
  EXPECT_NEAR(run.trajectory().at(stop, "x"), exact.x, bound);
  EXPECT_NEAR(run.final("x", "t0"), exact.by_start, bound);
  EXPECT_NEAR(run.final("x", "half"), 2.0 * exact.by_interval, bound);
  ASSERT_EQ(run.events().size(), 9u);
  for (std::size_t k = 0; k < 9; ++k) {
    EXPECT_NEAR(run.trajectory().events()[k].t, 0.13 + 0.1 * static_cast<double>(k), 1e-15);
    ASSERT_EQ(run.events()[k].dt.size(), 2u);
    EXPECT_NEAR(run.events()[k].dt[0], 1.0, 1e-12);
    EXPECT_NEAR(run.events()[k].dt[1], 2.0 * static_cast<double>(k), 1e-12);
  }
  const FunctionalGradient g = gradient(model, final_value("x"), {"t0", "half"}, options);
  ASSERT_EQ(g.why, "");
  EXPECT_NEAR(g.by("t0"), exact.by_start, bound);
  EXPECT_NEAR(g.by("half"), 2.0 * exact.by_interval, bound);
}

TEST(Samples, MoveWithTheirStartAndInterval) {
  const Model read = load_modelica(sampled_text, "Sampled.mo").model;
  const Sampled made;
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::rodas5p, Method::radau,
                              Method::bdf, Method::taylor}) {
    expect_exact(read, method);
    expect_exact(made.m, method);
  }
}

// Values of parameters are data: what was compiled once has the bits of what is compiled for them, and of numbers.
TEST(Samples, TakeNewValuesWithoutCompiling) {
  const Sampled made;
  const CompiledModel compiled(made.m);
  const auto changed = compiled.with_values({{"half", 0.015}, {"t0", 0.25}});
  Model numbers("numbers");
  const Expr x = numbers.variable("x", 1.0, {.fixed = true}), q = numbers.discrete("q", 0.0);
  numbers.equation(der(x) == -x + q);
  numbers.when(numbers.sample(0.25, 0.03)).assign(q, -numbers.pre(x));
  for (const double end : {1.0, 60.0}) {  // in flight, too
    const Trajectory a = simulate(changed, {.stop = end}), b = simulate(numbers, {.stop = end});
    ASSERT_EQ(a.events().size(), b.events().size());
    for (std::size_t k = 0; k < a.events().size(); ++k) EXPECT_EQ(a.events()[k].t, b.events()[k].t);
    EXPECT_EQ(a.at(end, "x"), b.at(end, "x"));
  }
}

TEST(Samples, RefuseIntervalsThatAreNotPositive) {
  const auto message = [](auto call) -> std::string {
    try {
      call();
    } catch (const ModelError& e) {
      return e.what();
    }
    return "";
  };
  Sampled made;
  const CompiledModel compiled(made.m);
  EXPECT_EQ(message([&] {
              static_cast<void>(compiled.with_values({{"half", 0.0}}));
            }),
            "the interval of a sample, 2*half, is 0 for the present parameters; it must be positive");
  made.m.set("half", -1.0);
  EXPECT_NE(message([&] { CompiledModel{made.m}; }).find("is -2 for the present parameters"), std::string::npos);
  EXPECT_NE(message([&] { made.m.sample(0.0, made.x); }).find("'x' is not made of numbers and parameters alone"),
            std::string::npos);
  EXPECT_NE(message([&] { made.m.sample(0.0, -1.0); }).find("a positive number"), std::string::npos);
}

// A sample at the start of the run is taken there, or not at all: its time has no derivative on both sides.
TEST(Samples, OfTheStartHaveNoDerivativeByTheirStart) {
  Sampled made;
  made.m.set("t0", 0.0);
  const SimulateOptions options{.stop = 0.35, .rtol = 1e-9, .atol = 1e-9};
  const SensitivityRun run = simulate_with_sensitivities(made.m, {"t0"}, options);
  EXPECT_NE(run.why().find("'t0' moves the sample with which the run starts"), std::string::npos) << run.why();
  const FunctionalGradient g = gradient(made.m, final_value("x"), {"t0"}, options);
  EXPECT_NE(g.why.find("'t0' moves the sample with which the run starts"), std::string::npos) << g.why;
  // the interval does not move it
  const SensitivityRun other = simulate_with_sensitivities(made.m, {"half"}, options);
  ASSERT_EQ(other.why(), "");
  const Exact exact(0.35, 0.0, 0.1);
  EXPECT_NEAR(other.final("x", "half"), 2.0 * exact.by_interval, 1e-7);
}

}  // namespace
}  // namespace saltus
