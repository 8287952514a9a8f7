// Fits: exact answers, parameters of models with events from perturbed data, and what is said where a fit is in doubt.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/fit.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "sens/reference_problems.hpp"

namespace saltus {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Model load(const std::string& text) {
  return load_modelica(text, "model.mo").model;
}

const std::string& text_of(const std::string& name) {
  for (const auto& problem : testing::reference_problems())
    if (problem.name == name) return problem.text;
  throw std::logic_error("there is no problem " + name);
}

/// Normal numbers that are the same with every standard library (Box and Muller).
class Noise {
 public:
  explicit Noise(unsigned seed) : source_(seed) {}
  double operator()() {
    const double u = uniform(), v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
  }

 private:
  double uniform() { return (static_cast<double>(source_()) + 0.5) / 4294967296.0; }
  std::mt19937 source_;
};

struct Case {
  std::string name;
  std::vector<FitParameter> parameters;  // the guesses
  std::vector<double> truth;
  std::vector<std::string> variables;
  double stop;
};

std::vector<Case> cases() {
  return {
      {"StickSlip", {{"mu", 0.15, 0.0, 1.0}, {"A", 1.2}}, {0.4, 1.0}, {"p1", "p2"}, 10.0},
      {"Ball", {{"e", 0.7, 0.0, 1.0}, {"h0", 8.0}, {"g", 9.0}}, {0.9, 10.0, 9.8}, {"h"}, 6.0},
      {"Clutch", {{"J1", 1.2, 0.1, 10.0}, {"J2", 2.0, 0.1, 10.0}, {"we", 7.0}}, {1.0, 3.0, 8.0}, {"w1", "w2"}, 6.0},
      {"Charge", {{"C1", 1.3}, {"C2", 1.5}, {"Vt", 4.0}, {"R", 12.0}}, {1.0, 2.0, 5.0, 10.0}, {"V1", "V2"}, 20.0},
  };
}

/// What the model itself gives at 40 times, with noise of this standard deviation.
FitData measure(const Model& model, const Case& c, double sigma, unsigned seed) {
  Noise noise(seed);
  const Trajectory run = simulate(model, {.stop = c.stop, .rtol = 1e-11, .atol = 1e-13});
  FitData data;
  for (const std::string& variable : c.variables) {
    FitSeries series{.variable = variable};
    for (int k = 1; k <= 40; ++k) {
      series.times.push_back(c.stop * (k - 0.37) / 40.0);
      series.values.push_back(run.at(series.times.back(), variable) + sigma * noise());
    }
    if (sigma > 0.0) series.sigma = {sigma};
    data.series.push_back(series);
  }
  return data;
}

class Events : public ::testing::TestWithParam<std::size_t> {};

TEST_P(Events, DataWithoutNoiseGiveTheParameters) {
  const Case c = cases()[GetParam()];
  const Model model = load(text_of(c.name));
  const Fit result = fit(model, measure(model, c, 0.0, 1), c.parameters);
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  // runs have errors of 100 rtol at most in these models
  for (std::size_t k = 0; k < c.truth.size(); ++k)
    EXPECT_NEAR(result.parameters[k].value, c.truth[k], 1e-6 * c.truth[k]) << c.parameters[k].name;
  EXPECT_LT(result.sum_of_squares, 1e-10);
}

TEST_P(Events, ParametersAreFoundWithinThreeStandardErrors) {
  const Case c = cases()[GetParam()];
  const Model model = load(text_of(c.name));
  const Fit result = fit(model, measure(model, c, 0.02, 7), c.parameters);
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  for (std::size_t k = 0; k < c.truth.size(); ++k) {
    EXPECT_NEAR(result.parameters[k].value, c.truth[k], 3.0 * result.parameters[k].error) << c.parameters[k].name;
    EXPECT_GT(result.parameters[k].error, 1e-5 * c.truth[k]);
    EXPECT_LT(result.parameters[k].error, 0.1 * c.truth[k]);
  }
  // chi square: its mean is the number of degrees of freedom, its standard deviation sqrt(2) times the root of it
  const double freedom = result.degrees_of_freedom;
  EXPECT_EQ(result.degrees_of_freedom, static_cast<int>(40 * c.variables.size() - c.truth.size()));
  EXPECT_NEAR(result.sum_of_squares, freedom, 4.0 * std::sqrt(2.0 * freedom));
}

INSTANTIATE_TEST_SUITE_P(Problems, Events, ::testing::Range<std::size_t>(0, cases().size()),
                         [](const auto& problem) { return cases()[problem.param].name; });

TEST(Fit, GoesThroughOtherSequencesOfEvents) {
  // with the guess the masses pass each other without sticking; with the parameters they stick three times
  const Case c = cases()[0];
  const Model model = load(text_of(c.name));
  const auto crossings = [](const Trajectory& run) {
    return std::ranges::count(run.events(), EventKind::crossing, &Event::kind);
  };
  const CompiledModel guess =
      CompiledModel(model).with_values({{"mu", c.parameters[0].guess}, {"A", c.parameters[1].guess}});
  EXPECT_EQ(crossings(simulate(guess, {.stop = c.stop})), 2);
  const Fit result = fit(model, measure(model, c, 0.0, 1), c.parameters);
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_EQ(crossings(*result.run), 0);
  EXPECT_EQ(std::ranges::count(result.run->events(), EventKind::slide_enter, &Event::kind), 4);  // one at the start
}

TEST(Fit, StandardErrorsAreTheScatterOfRepeatedFits) {
  const Case c = cases()[1];
  const Model model = load(text_of(c.name));
  const CompiledModel compiled(model);
  double squares = 0.0;
  constexpr int repetitions = 20;
  for (unsigned seed = 0; seed < repetitions; ++seed) {
    const Fit result = fit(compiled, measure(model, c, 0.05, seed + 100), c.parameters);
    ASSERT_EQ(result.status, FitStatus::converged) << result.message;
    for (std::size_t k = 0; k < c.truth.size(); ++k)
      squares += std::pow((result.parameters[k].value - c.truth[k]) / result.parameters[k].error, 2.0);
  }
  // a sum of 60 squares of standard normal numbers, correlated by three: 60, give or take 4 sqrt(2 * 60 * 3)
  EXPECT_NEAR(squares, 60.0, 76.0);
  EXPECT_GT(squares, 20.0);
}

/// y = a + b t: a straight line by regression.
const std::string line = R"(model Line
  parameter Real a = 1, b = 1;
  Real y(start = a, fixed = true);
equation
  der(y) = b;
end Line;)";

TEST(Fit, IsTheRegressionLine) {
  const std::vector<double> t = {0, 1, 2, 3, 4}, y = {1.1, 2.9, 5.2, 6.8, 9.3};
  FitData data;
  data.series.push_back({.variable = "y", .times = t, .values = y});
  const Fit result = fit(load(line), data, {{"a"}, {"b"}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  // by hand: mean of t 2, of y 5.06, sum (t-2)^2 = 10, sum (t-2)(y-5.06) = 20.3
  const double b = 2.03, a = 5.06 - 2.0 * b;
  double squares = 0.0;
  for (std::size_t k = 0; k < t.size(); ++k) squares += std::pow(y[k] - a - b * t[k], 2.0);
  const double variance = squares / 3.0;
  EXPECT_NEAR(result.parameters[0].value, a, 1e-7);
  EXPECT_NEAR(result.parameters[1].value, b, 1e-7);
  EXPECT_NEAR(result.sum_of_squares, squares, 1e-9);
  EXPECT_NEAR(result.deviation.value(), std::sqrt(variance), 1e-7);
  EXPECT_NEAR(result.parameters[1].error, std::sqrt(variance / 10.0), 1e-7);
  EXPECT_NEAR(result.parameters[0].error, std::sqrt(variance * (1.0 / 5.0 + 4.0 / 10.0)), 1e-7);
  // covariance of a and b: - mean t variance / 10
  EXPECT_NEAR(result.correlations(0, 1), -2.0 / 10.0 / std::sqrt(0.6 * 0.1), 1e-7);
  EXPECT_EQ(result.correlations(0, 0), 1.0);
  EXPECT_EQ(result.degrees_of_freedom, 3);
}

TEST(Fit, SigmasWeighTheValues) {
  // two values of a constant: the mean weighted by 1/sigma^2, with the error of weighted means
  FitData data;
  data.series.push_back({.variable = "y", .times = {0.5, 1.0}, .values = {1.0, 2.0}, .sigma = {0.1, 0.2}});
  const Fit result = fit(CompiledModel(load(line)).with_values({{"b", 0.0}}), data, {{"a"}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, (100.0 * 1.0 + 25.0 * 2.0) / 125.0, 1e-7);
  EXPECT_NEAR(result.parameters[0].error, 1.0 / std::sqrt(125.0), 1e-7);
  EXPECT_FALSE(result.deviation.has_value());
}

TEST(Fit, ValuesMayBeMissing) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1, 2, 3}, .values = {1, nan, 5, 7}});
  const Fit result = fit(load(line), data, {{"a"}, {"b"}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_EQ(result.residuals.size(), 3u);
  EXPECT_NEAR(result.parameters[0].value, 1.0, 1e-6);
  EXPECT_NEAR(result.parameters[1].value, 2.0, 1e-6);
}

TEST(Fit, StartValuesCanBeFound) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1, 2, 3}, .values = {1, 3, 5, 7}});
  const Fit result = fit(load(line), data, {{.name = "y.start", .guess = -3.0}, {"b"}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, 1.0, 1e-6);
}

TEST(Fit, ParametersMayBeOfAnySize) {
  // a capacitor of 2 pF; its time is in microseconds
  const Model model = load(R"(model Capacitor
  parameter Real C = 1e-12, R = 1e6;
  Real V(start = 5, fixed = true);
equation
  R*C*der(V) = -V;
end Capacitor;)");
  FitData data;
  FitSeries series{.variable = "V"};
  for (int k = 0; k <= 20; ++k) {
    series.times.push_back(2e-7 * k);
    series.values.push_back(5.0 * std::exp(-0.1 * k));
  }
  data.series.push_back(series);
  const Fit result = fit(model, data, {{"C"}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, 2e-12, 2e-18);
}

TEST(Fit, TimesOfEventsAreData) {
  // bounces at t1 (1 + 2 e + 2 e^2 …), t1 = sqrt(2 h0/g)
  const double h0 = 10.0, e = 0.9, g = 9.8, t1 = std::sqrt(2.0 * h0 / g);
  FitData data;
  data.events.push_back({.event = "when h < 0", .times = {t1, nan, t1 * (1.0 + 2.0 * e + 2.0 * e * e)}});
  const Fit result = fit(load(text_of("Ball")), data, {{"e", 0.5, 0.0, 1.0}, {"h0", 7.0}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, e, 1e-6);
  EXPECT_NEAR(result.parameters[1].value, h0, 1e-5);
  EXPECT_EQ(result.residuals[1].variable, "");
  EXPECT_EQ(result.residuals[1].label, "when h < 0 #3");
}

TEST(Fit, KindsOfEventsAreData) {
  // exits from sticking: A sin(t) = 2 mu, then pi later each
  FitData data;
  const double exit = std::asin(0.8);
  data.events.push_back({.event = "slide_exit", .times = {exit, exit + std::numbers::pi}});
  const Fit result = fit(load(text_of("StickSlip")), data, {{"mu", 0.3, 0.0, 1.0}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, 0.4, 1e-6);
}

TEST(Fit, EventsThatTheModelDoesNotHaveAreNoted) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1, 2}, .values = {1, 2, 3}});
  data.events.push_back({.event = "terminal", .times = {1.5}});
  const Fit result = fit(load(line), data, {{"a"}});
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("does not have the event 'terminal #1'"), std::string::npos) << result.notes[0];
}

TEST(Fit, AParameterStopsAtItsBound) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1, 2, 3}, .values = {1, 3, 5, 7.1}});
  const Fit result = fit(load(line), data, {{"a"}, {"b", 1.0, 0.5, 1.5}});
  EXPECT_EQ(result.status, FitStatus::at_bound);
  EXPECT_TRUE(result.ok());
  EXPECT_NE(result.message.find("'b'"), std::string::npos) << result.message;
  EXPECT_EQ(result.parameters[1].value, 1.5);
  EXPECT_TRUE(result.parameters[1].at_bound);
  EXPECT_TRUE(std::isnan(result.parameters[1].error));
  // the best a for b = 1.5 is the mean of y - 1.5 t, with the error of a mean
  EXPECT_NEAR(result.parameters[0].value, (16.1 - 9.0) / 4.0, 1e-6);
  EXPECT_GT(result.parameters[0].error, 0.0);
}

TEST(Fit, AParameterLeavesTheBoundAtWhichItStarts) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1, 2, 3}, .values = {1, 3, 5, 7}});
  const Fit result = fit(load(line), data, {{"a"}, {"b", 0.0, 0.0, 3.0}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[1].value, 2.0, 1e-6);
}

TEST(Fit, ParametersThatCannotBeToldApartAreNamed) {
  const Model model = load(R"(model Product
  parameter Real a = 1, b = 0.5, x0 = 2, idle = 3;
  Real x(start = x0, fixed = true);
equation
  der(x) = -a*b*x;
end Product;)");
  FitData data;
  FitSeries series{.variable = "x"};
  for (int k = 0; k < 10; ++k) {
    series.times.push_back(0.3 * k);
    series.values.push_back(2.5 * std::exp(-0.7 * 0.3 * k) + 0.01 * std::cos(5.0 * k));
  }
  data.series.push_back(series);
  const Fit together = fit(model, data, {{"a"}, {"b"}, {"x0"}});
  EXPECT_EQ(together.status, FitStatus::undetermined);
  EXPECT_FALSE(together.ok());
  EXPECT_NE(together.message.find("'a' and 'b' can be changed together"), std::string::npos) << together.message;
  EXPECT_TRUE(std::isnan(together.parameters[0].error));
  EXPECT_NEAR(together.parameters[0].value * together.parameters[1].value, 0.7, 0.05);
  // what is determined has the error that it has when b is known
  const Fit alone = fit(model, data, {{"a"}, {"x0"}});
  EXPECT_EQ(alone.status, FitStatus::converged) << alone.message;
  EXPECT_NEAR(together.parameters[2].error, alone.parameters[1].error, 1e-4 * alone.parameters[1].error);
  const Fit idle = fit(model, data, {{"a"}, {"x0"}, {"idle"}});
  EXPECT_EQ(idle.status, FitStatus::undetermined);
  EXPECT_NE(idle.message.find("'idle' has no influence"), std::string::npos) << idle.message;
}

/// x = -A cos t, wall at 1: with A = 1 it is only touched.
const std::string wall = R"(model Wall
  parameter Real A = 1;
  Real x(start = -A, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x;
  when x > 1 then
    reinit(v, -0.7*pre(v));
  end when;
end Wall;)";

TEST(Fit, WithoutADerivativeDifferencesTakeItsPlace) {
  FitData data;
  FitSeries series{.variable = "x"};
  const double amplitude = 0.999;
  for (int k = 1; k <= 10; ++k) {
    series.times.push_back(0.4 * k);
    series.values.push_back(-amplitude * std::cos(0.4 * k));
  }
  data.series.push_back(series);
  // just above the touch the derivative behind it is huge or undefined; the fit must come down to where there is none
  const Fit result = fit(load(wall), data, {{"A", 1.0 + 1e-9}});
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, amplitude, 1e-6);
}

TEST(Fit, SaysThatTheSearchIsNotOver) {
  const Case c = cases()[0];
  const Model model = load(text_of(c.name));
  FitOptions options;
  options.max_runs = 2;
  const Fit result = fit(model, measure(model, c, 0.0, 1), c.parameters, options);
  EXPECT_EQ(result.status, FitStatus::not_converged);
  EXPECT_NE(result.message.find("not over after"), std::string::npos) << result.message;
}

TEST(Fit, SaysThatTheModelCannotBeRun) {
  const Model model = load(R"(model Ends
  parameter Real a = 1;
  Real x(start = 0, fixed = true);
equation
  der(x) = a;
  when x > 1 then
    terminate("far enough");
  end when;
end Ends;)");
  FitData data;
  data.series.push_back({.variable = "x", .times = {0.5, 1.5}, .values = {0.4, 1.2}});
  const Fit result = fit(model, data, {{"a"}});
  EXPECT_EQ(result.status, FitStatus::failed);
  EXPECT_NE(result.message.find("the run ends at t = 1 (terminated), before 'x' was measured at t = 1.5"),
            std::string::npos)
      << result.message;
  // from a guess with which it runs long enough it comes as far as it can
  const Fit slower = fit(model, data, {{"a", 0.3}});
  EXPECT_NE(slower.status, FitStatus::failed) << slower.message;
  EXPECT_LT(slower.parameters[0].value, 2.0 / 3.0);
}

/// Values of a variable of a model at equal times.
FitSeries record(const Model& model, const std::string& variable, double stop, int count, double sigma) {
  const Trajectory run = simulate(model, {.stop = stop, .rtol = 1e-12, .atol = 1e-14});
  Noise noise(11);
  FitSeries series{.variable = variable};
  for (int k = 1; k <= count; ++k) {
    series.times.push_back(stop * k / count);
    series.values.push_back(run.at(series.times.back(), variable) + sigma * noise());
  }
  return series;
}

TEST(Fit, WindowsKeepALongRecordInStep) {
  // some forty impacts of an oscillator at a wall; from this guess a single run is out of step after a few of them
  const Model model = load(R"(model Hammer
  parameter Real k = 4, e = 0.8;
  Real x(start = 0.5, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -k*(x - 1) + 0.35*v - 0.05*v^3;
  when x < 0 then
    reinit(v, -e*pre(v));
  end when;
end Hammer;)");
  FitData data;
  data.series = {record(model, "x", 60.0, 600, 0.01), record(model, "v", 60.0, 600, 0.01)};
  const std::vector<FitParameter> guess = {{"k", 7.0, 1.0, 9.0}, {"e", 0.5, 0.1, 1.0}};
  FitOptions options;
  const Fit single = fit(model, data, guess, options);
  EXPECT_GT(single.deviation.value_or(1.0), 0.1);  // it ends elsewhere
  options.windows = 40;
  const Fit result = fit(model, data, guess, options);
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, 4.0, 3.0 * result.parameters[0].error);
  EXPECT_NEAR(result.parameters[1].value, 0.8, 3.0 * result.parameters[1].error);
  EXPECT_NEAR(result.deviation.value(), 0.01, 0.001);
}

TEST(Fit, WindowsKeepAChaoticRecordInStep) {
  const Model model = load(R"(model Lorenz
  parameter Real rho = 28, sigma = 10;
  Real x(start = 1, fixed = true), y(start = 2, fixed = true), z(start = 20, fixed = true);
equation
  der(x) = sigma*(y - x);
  der(y) = x*(rho - z) - y;
  der(z) = x*y - 8/3*z;
end Lorenz;)");
  FitData data;
  for (const char* name : {"x", "y", "z"}) data.series.push_back(record(model, name, 10.0, 200, 0.1));
  FitOptions options;
  EXPECT_GT(fit(model, data, {{"rho", 25.0}, {"sigma", 8.0}}, options).deviation.value_or(9.0), 1.0);  // ends elsewhere
  options.windows = 25;
  std::vector<SearchProgress> seen;
  options.progress = [&](const SearchProgress& p) { seen.push_back(p); };
  const Fit result = fit(model, data, {{"rho", 25.0}, {"sigma", 8.0}}, options);
  ASSERT_GT(seen.size(), 7u);  // six searches with windows and one without, at most 200 runs each
  EXPECT_EQ(seen.front().doing, "run 1 of at most 1400");
  EXPECT_EQ(seen.front().share, 0.0);
  for (std::size_t k = 1; k < seen.size(); ++k) EXPECT_GE(seen[k].share, seen[k - 1].share);
  EXPECT_LT(seen.back().share, 1.0);
  ASSERT_EQ(result.status, FitStatus::converged) << result.message;
  EXPECT_NEAR(result.parameters[0].value, 28.0, 3.0 * result.parameters[0].error);
  EXPECT_NEAR(result.parameters[1].value, 10.0, 3.0 * result.parameters[1].error);
  EXPECT_NEAR(result.deviation.value(), 0.1, 0.01);
}

void expect_refused(const FitData& data, const std::vector<FitParameter>& parameters, const std::string& text) {
  try {
    fit(load(line), data, parameters);
    ADD_FAILURE() << "nothing was thrown; expected: " << text;
  } catch (const Error& problem) {
    EXPECT_NE(std::string(problem.what()).find(text), std::string::npos) << problem.what();
  }
}

TEST(Fit, SaysWhatIsWrongWithDataAndNames) {
  FitData data;
  data.series.push_back({.variable = "y", .times = {0, 1}, .values = {1, 3}});
  expect_refused(data, {}, "at least one parameter");
  expect_refused(data, {{"c"}}, "'c' is not declared");
  expect_refused(data, {{"a", 5.0, 0.0, 1.0}}, "the guess 5 of 'a' lies outside of its bounds, 0 and 1");
  expect_refused(data, {{"a", 0.0, 1.0, -1.0}}, "the bounds of 'a'");
  expect_refused(data, {{"a"}, {"a"}}, "'a' is named twice");
  expect_refused(data, {{"a"}, {"b"}, {"y.start"}}, "2 measured values cannot determine 3 parameters");
  expect_refused({}, {{"a"}}, "no measured values");
  FitData wrong = data;
  wrong.series[0].variable = "z";
  expect_refused(wrong, {{"a"}}, "no variable 'z'");
  wrong = data;
  wrong.series[0].times[0] = -1.0;
  expect_refused(wrong, {{"a"}}, "before the run starts at 0");
  wrong = data;
  wrong.series[0].times.pop_back();
  expect_refused(wrong, {{"a"}}, "1 times and 2 values");
  wrong = data;
  wrong.series[0].sigma = {0.1, 0.0};
  expect_refused(wrong, {{"a"}}, "must be positive");
  wrong.series[0].sigma = {0.1, 0.1, 0.1};
  expect_refused(wrong, {{"a"}}, "2 values and 3 standard deviations");
  wrong = data;
  wrong.series.push_back({.variable = "y", .times = {2}, .values = {5}, .sigma = {0.1}});
  expect_refused(wrong, {{"a"}}, "for all measured values or for none");
  wrong = data;
  wrong.events.push_back({.event = "slide_exi", .times = {1}});
  expect_refused(wrong, {{"a"}}, "did you mean 'slide_exit'?");
}

}  // namespace
}  // namespace saltus
