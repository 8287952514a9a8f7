// Cycles against exact solutions, and against fixed points and multipliers of arithmetic with 42 digits.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/cycle.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

constexpr double pi = std::numbers::pi;

Model load(const std::string& text) {
  return load_modelica(text, "model.mo").model;
}

/// x'' + 2 z w0 x' + w0^2 x = F cos(w t)
const std::string linear = R"(model Linear
  parameter Real w = 1.3, z = 0.1, F = 2;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x - 2*z*v + F*cos(w*time);
end Linear;)";

TEST(Cycle, ReportsItsIterations) {
  std::vector<SearchProgress> seen;
  const auto observe = [&](const SearchProgress& p) { seen.push_back(p); };
  const Cycle cycle = find_cycle(load(linear), {.period = 2.0 * pi / 1.3, .max_iterations = 20, .progress = observe});
  ASSERT_TRUE(cycle.ok());
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(cycle.iterations) + 1);
  EXPECT_EQ(seen[0].doing, "guess");
  for (std::size_t k = 1; k < seen.size(); ++k) {
    EXPECT_EQ(seen[k].doing, "iteration " + std::to_string(k) + " of at most 20");
    EXPECT_DOUBLE_EQ(seen[k].share, (static_cast<double>(k) - 1.0) / 20.0);
    EXPECT_TRUE(seen[k].upper_bound);
  }
}

TEST(Cycle, OfALinearOscillatorIsItsSteadyState) {
  const double w = 1.3, z = 0.1, force = 2.0, period = 2.0 * pi / w;
  const Cycle cycle = find_cycle(load(linear), {.period = period});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  // x = a cos(w t) + b sin(w t)
  const double a1 = 1.0 - w * w, a2 = 2.0 * z * w, size = a1 * a1 + a2 * a2;
  EXPECT_NEAR(cycle.start[0], force * a1 / size, 1e-8);
  EXPECT_NEAR(cycle.start[1], force * a2 / size * w, 1e-8);
  EXPECT_EQ(cycle.period, period);
  EXPECT_LE(cycle.iterations, 3);  // a linear problem
  // exp(s T) with s = -z +- i sqrt(1 - z^2)
  const std::complex<double> exact = std::exp(std::complex<double>(-z, std::sqrt(1.0 - z * z)) * period);
  ASSERT_EQ(cycle.multipliers.size(), 2u);
  for (const auto& multiplier : cycle.multipliers) {
    EXPECT_NEAR(multiplier.real(), exact.real(), 1e-8);
    EXPECT_NEAR(std::abs(multiplier.imag()), std::abs(exact.imag()), 1e-8);
  }
  EXPECT_TRUE(cycle.stable());
  EXPECT_EQ(cycle.trivial_error, 0.0);
}

TEST(Cycle, HasThePeriodOfAVariable) {
  Model m = load(R"(model Named
  parameter Real w = 1.3;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), T = 6.283185307179586476925/w;
equation
  der(x) = v;
  der(v) = -x - 0.2*v + 2*cos(w*time);
end Named;)");
  const Cycle cycle = find_cycle(m, {.period_of = "T"});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.period, 2.0 * pi / 1.3, 1e-12);
  EXPECT_EQ(cycle.variables, (std::vector<std::string>{"x", "v"}));
}

const std::string van_der_pol = R"(model VanDerPol
  parameter Real mu = 1;
  Real x(start = 2, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = y;
  der(y) = mu*(1 - x^2)*y - x;
end VanDerPol;)";

TEST(Cycle, OfVanDerPolHasTheKnownPeriod) {
  // period and amplitude for mu = 1 as in the literature on perturbation series of this oscillator
  const Cycle cycle = find_cycle(load(van_der_pol), {.section = {"y", 0.0}, .transient = 40.0});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.period, 6.66328685932, 1e-8);
  EXPECT_NEAR(std::abs(cycle.start[0]), 2.00861986087, 1e-8);
  EXPECT_NEAR(cycle.start[1], 0.0, 1e-10);
  // Liouville: the product of the multipliers is exp of the integral of the divergence mu (1 - x^2)
  ASSERT_EQ(cycle.multipliers.size(), 1u);
  double integral = 0.0;
  constexpr int n = 2000;  // the trapezoidal rule is exact for periodic functions, up to exponentially small errors
  for (int k = 0; k < n; ++k) {
    const double x = cycle.run->at(cycle.period * k / n, "x");
    integral += (1.0 - x * x) * cycle.period / n;
  }
  EXPECT_NEAR(cycle.multipliers[0].real(), std::exp(integral), 1e-8);
  EXPECT_LT(cycle.trivial_error, 1e-7);
  EXPECT_TRUE(cycle.stable());
}

TEST(Cycle, BeginsWhereTheGuessIsWithoutASection) {
  CycleOptions options{.period_guess = 6.5};
  const Cycle cycle = find_cycle(load(van_der_pol), options);
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.period, 6.66328685932, 1e-8);
}

/// Dry friction (Piiroinen and Kuznetsov 2008, 4.1), with 1/omega as parameter.
std::string dry_friction(double r, double x, double v) {
  return "model DryFriction\n  parameter Real r = " + std::to_string(r) +
         ", F = 0.4;\n  Real x(start = " + std::to_string(x) + ", fixed = true), v(start = " + std::to_string(v) +
         R"(, fixed = true);
equation
  der(x) = v;
  der(v) = -x + sin(time/r) - F*sign(v);
end DryFriction;)";
}

TEST(Cycle, OfDryFrictionHasTheKnownMultipliers) {
  struct Known {
    double r, x, v;
    std::vector<double> multipliers;
    bool slides;
  };
  const std::vector<Known> all = {{0.5, -0.136656314600, -0.487781228467, {-0.454545454545, -0.454545454545}, false},
                                  {3.0, -0.721267883206, 0.357030243386, {0.356316593031, 0.0}, true},
                                  {6.0, -0.537450001826, 0.254462916725, {0.003137972372, 0.0}, true}};
  for (const Known& known : all) {
    SCOPED_TRACE(known.r);
    // from start values with three digits
    const Model model = load(dry_friction(known.r, std::round(known.x * 1e3) / 1e3, std::round(known.v * 1e3) / 1e3));
    CycleOptions options{.period = 2.0 * pi * known.r};
    options.simulate.rtol = 1e-11;
    options.simulate.atol = 1e-13;
    const Cycle cycle = find_cycle(model, options);
    ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
    EXPECT_NEAR(cycle.start[0], known.x, 1e-9);
    EXPECT_NEAR(cycle.start[1], known.v, 1e-9);
    ASSERT_EQ(cycle.multipliers.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      // the two of cycle I coincide: their errors are roots of those of the matrix
      const double error = known.slides ? 1e-8 : 1e-4;
      EXPECT_NEAR(cycle.multipliers[k].real(), known.multipliers[k], error);
      EXPECT_NEAR(cycle.multipliers[k].imag(), 0.0, error);
    }
    const std::complex<double> product = cycle.multipliers[0] * cycle.multipliers[1];
    EXPECT_NEAR(product.real(), known.multipliers[0] * known.multipliers[1], 1e-8);
    if (known.slides) {
      EXPECT_EQ(cycle.multipliers[1], 0.0);
    }
    EXPECT_TRUE(cycle.stable());
  }
}

TEST(Cycle, OfASelfExcitedOscillatorIsExact) {
  // x'' + 2 z x' + x = sign x': amplitude (1 + d)/(1 - d), d = exp(-pi z/w), period 2 pi/w, multiplier d^2
  const Model model = load(R"(model SelfExcited
  parameter Real z = 0.05;
  Real x(start = 0, fixed = true), v(start = 10, fixed = true);
equation
  der(x) = v;
  der(v) = -x - 2*z*v + sign(v);
end SelfExcited;)");
  const double z = 0.05, w = std::sqrt(1.0 - z * z), d = std::exp(-pi * z / w);
  const Cycle cycle = find_cycle(model, {.section = {"x", 0.0}, .transient = 60.0});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.period, 2.0 * pi / w, 1e-8);
  ASSERT_EQ(cycle.multipliers.size(), 1u);
  EXPECT_NEAR(cycle.multipliers[0].real(), d * d, 1e-8);
  double largest = 0.0;
  for (const Event& e : cycle.run->events()) largest = std::max(largest, std::abs(e.after[0]));
  EXPECT_NEAR(largest, (1.0 + d) / (1.0 - d), 1e-7);
}

TEST(Cycle, OfABallOnAVibratingTableIsExact) {
  // A table moves as A sin(w t), small beside the flight: in the model the impact law has the speed of the table and
  // the height zero, v+ = -e v- + (1 + e) A w cos(w t). One impact a period of the table: v0 = g T/2, and
  // (1 - e) v0 = (1 + e) A w cos(phase). At the phase of the impact the map of (speed, phase) is known exactly.
  const double g = 9.81, e = 0.7, w = 20.0, period = 2.0 * pi / w, v0 = g * period / 2.0, amplitude = 0.015;
  const double cosine = (1.0 - e) * v0 / ((1.0 + e) * amplitude * w);
  ASSERT_LT(cosine, 1.0);
  const double impact = std::acos(cosine) / w;  // the time of the impact
  // the run begins half of a period behind the impact, at the top of the flight
  Model model = load(R"(model Table
  parameter Real A = 0.015, w = 20, e = 0.7, g = 9.81;
  Real h(start = 0.1, fixed = true), v(start = 0.02, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v) + (1 + e)*A*w*cos(w*time));
  end when;
end Table;)");
  const double height = v0 * v0 / (2.0 * g);
  CycleOptions options{.period = period};
  options.simulate.start = impact + period / 2.0;
  const CompiledModel near = CompiledModel(model).with_values({{"h", 1.05 * height}, {"v", 0.01}});
  const Cycle cycle = find_cycle(near, options);
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.start[0], height, 1e-9);
  EXPECT_NEAR(cycle.start[1], 0.0, 1e-8);
  // (t, v) behind an impact: t' = t + 2 v/g, v' = e v + (1 + e) A w cos(w t'). Its derivative has the multipliers
  const double bend = -(1.0 + e) * amplitude * w * w * std::sin(w * impact);
  const double trace = 1.0 + e + 2.0 * bend / g, determinant = e;
  ASSERT_EQ(cycle.multipliers.size(), 2u);
  EXPECT_NEAR((cycle.multipliers[0] + cycle.multipliers[1]).real(), trace, 1e-7);
  EXPECT_NEAR((cycle.multipliers[0] * cycle.multipliers[1]).real(), determinant, 1e-7);
}

TEST(Cycle, OfAnUnstableKindIsFoundAndSaidToBe) {
  // x' = x (r^2 - 1)/10 - y, y' = x + y (r^2 - 1)/10: the unit circle repels, with the multiplier exp(0.4 pi)
  const Model model = load(R"(model Repelling
  Real x(start = 1.1, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = x*(x^2 + y^2 - 1)/10 - y;
  der(y) = x + y*(x^2 + y^2 - 1)/10;
end Repelling;)");
  const Cycle cycle = find_cycle(model, {.period_guess = 6.2});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_NEAR(cycle.period, 2.0 * pi, 1e-8);
  EXPECT_NEAR(cycle.multipliers[0].real(), std::exp(0.4 * pi), 1e-7);
  EXPECT_FALSE(cycle.stable());
}

TEST(Cycle, WithDiscreteStateContainsIt) {
  // a sampled controller: q is held between samples, and belongs to the state
  const Model model = load(R"(model Sampled
  Real x(start = 1, fixed = true);
  discrete Real q(start = 0, fixed = true);
equation
  der(x) = -x + q;
  when sample(0.25, 1) then
    q = -0.5*x + sin(6.283185307179586*(time - 0.25)) + 1;
  end when;
end Sampled;)");
  const Cycle cycle = find_cycle(model, {.period = 1.0});
  ASSERT_EQ(cycle.status, CycleStatus::converged) << cycle.message;
  EXPECT_EQ(cycle.variables, (std::vector<std::string>{"x", "q"}));
  // constant: x = q, q = -x/2 + 1
  EXPECT_NEAR(cycle.start[0], 2.0 / 3.0, 1e-9);
  EXPECT_NEAR(cycle.start[1], 2.0 / 3.0, 1e-9);
  // x at samples: x' = E x + (1 - E) q, q = -x/2: multiplier E - (1 - E)/2, and 0 for q
  const double decay = std::exp(-1.0);
  EXPECT_NEAR(cycle.multipliers[0].real(), decay - 0.5 * (1.0 - decay), 1e-9);
  EXPECT_NEAR(std::abs(cycle.multipliers[1]), 0.0, 1e-9);
}

TEST(Cycle, WhoseModeDoesNotReturnSaysSo) {
  // x returns after 1, and the switch is the other way round
  const Model model = load(R"(model Switch
  Real x(start = 0.1, fixed = true);
  discrete Boolean on(start = false, fixed = true);
equation
  der(x) = -x + 0.3;
  when sample(0.5, 1) then
    on = not pre(on);
  end when;
end Switch;)");
  const Cycle once = find_cycle(model, {.period = 1.0});
  EXPECT_EQ(once.status, CycleStatus::not_periodic) << once.message;
  const Cycle twice = find_cycle(model, {.period = 2.0});
  EXPECT_EQ(twice.status, CycleStatus::converged) << twice.message;
}

TEST(Cycle, SaysWhatIsWrong) {
  const Model model = load(van_der_pol);
  EXPECT_THROW(find_cycle(model, {}), UsageError);
  EXPECT_THROW(find_cycle(model, {.period = 1.0, .period_guess = 1.0}), UsageError);
  EXPECT_THROW(find_cycle(model, {.period_of = "T"}), UsageError);
  EXPECT_THROW(find_cycle(model, {.section = {"z", 0.0}, .transient = 10.0}), UsageError);
  const Cycle none = find_cycle(model, {.section = {"x", 50.0}, .transient = 10.0});
  EXPECT_EQ(none.status, CycleStatus::failed);
  EXPECT_NE(none.message.find("does not rise through 50 twice"), std::string::npos) << none.message;
  const Cycle equilibrium =
      find_cycle(CompiledModel(model).with_values({{"x", 1e-3}, {"y", 0.0}}), {.period_guess = 3.0});
  EXPECT_EQ(equilibrium.status, CycleStatus::not_converged) << equilibrium.message;
  CycleOptions once{.period_guess = 5.0};
  once.max_iterations = 1;
  EXPECT_EQ(find_cycle(model, once).status, CycleStatus::not_converged);
}

TEST(Cycle, ThatDoesNotExistIsNotFound) {
  // x' = 1 has no cycle: the matrix is singular, and no step helps
  const Model model = load(R"(model Line
  Real x(start = 1, fixed = true);
equation
  der(x) = 1 + 0.001*sin(6.283185307179586*time);
end Line;)");
  const Cycle cycle = find_cycle(model, {.period = 1.0});
  EXPECT_EQ(cycle.status, CycleStatus::not_converged) << cycle.message;
}

TEST(Cycle, ThatBeginsOnASurfaceSaysSo) {
  const Cycle cycle = find_cycle(load(dry_friction(6.0, 0.3, 0.0)), {.period = 12.0 * pi});
  EXPECT_EQ(cycle.status, CycleStatus::no_derivative);
  EXPECT_NE(cycle.message.find("begin the cycle at another phase"), std::string::npos) << cycle.message;
}

}  // namespace
}  // namespace saltus
