// Promise 3 of docs/developer/architecture.md: guard values are under error control; the polynomial that is searched is as accurate as the
// states. Every method, differentiated and algebraic variables, linear and nonlinear guards, between the ends of the steps.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <functional>
#include <numbers>

namespace saltus {
namespace {

using std::numbers::pi;

constexpr double factor = 10.0;  // of the tolerance, or of the largest error at the ends of the steps
constexpr Method explicit_methods[] = {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor};
constexpr Method implicit_methods[] = {Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9,
                                       Method::radau13, Method::radau,  Method::bdf};

SimulateOptions to(double stop, double tolerance, Method method) {
  return {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method};
}

/// A model with a guard that is never crossed, its solution, and the guard as a function of it.
struct Watched {
  std::function<void(Model&)> build;
  double stop;
  std::function<std::vector<double>(double)> exact;
  std::function<double(const std::vector<double>&)> guard;
};

/// The largest errors of variables and guard at 15 points inside each step, relative to atol + rtol |value|, over those at the ends.
double inside_over_ends(const Watched& watched, double tolerance, Method method) {
  Model m("watched");
  watched.build(m);
  const Trajectory run = simulate(m, to(watched.stop, tolerance, method));
  EXPECT_TRUE(run.status().ok()) << to_string(method) << " " << tolerance << ": " << run.status().message;
  EXPECT_TRUE(run.events().empty());
  std::vector<double> ends, inside;
  const auto look = [&](double t, std::vector<double>& largest) {
    std::vector<double> value = run.at(t), exact = watched.exact(t);
    value.push_back(watched.guard(value));
    exact.push_back(watched.guard(exact));
    largest.resize(exact.size());
    for (std::size_t j = 0; j < exact.size(); ++j)
      largest[j] = std::max(largest[j], std::abs(value[j] - exact[j]) / (tolerance * (1.0 + std::abs(exact[j]))));
  };
  for (const auto& segment : run.segments())
    for (const auto& step : segment.steps) {
      look(step.t_end, ends);
      for (int i = 1; i < 16; ++i) look(step.polynomial.t0 + step.polynomial.h * i / 16.0, inside);
    }
  double ratio = 0.0;
  for (std::size_t j = 0; j < ends.size(); ++j) ratio = std::max(ratio, inside[j] / std::max(1.0, ends[j]));
  return ratio;
}

/// The root of an increasing function, to rounding.
double root(const std::function<double(double)>& f, double low, double high) {
  for (int i = 0; i < 100; ++i) {
    const double middle = 0.5 * (low + high);
    (f(middle) < 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

double cubic(double x) {
  return root([x](double z) { return z + z * z * z - x; }, -3.0, 3.0);
}

/// The voltage of a diode behind a resistor of 1000 at the voltage x.
constexpr double thermal = 0.026;
double diode(double x) {
  return root([x](double z) { return z - x + 1e-6 * std::expm1(z / thermal); }, -4.0, 1.0);
}

/// x = 3 sin t and v = 3 cos t, or another amplitude.
void add_oscillator(Model& m, Expr& x, Expr& v, double amplitude = 3.0) {
  x = m.variable("x", 0.0, {.fixed = true});
  v = m.variable("v", amplitude, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
}

TEST(Promise03, TheValuesThatAreSearchedAreAsAccurateAsTheStates) {
  const Watched circle = {[](Model& m) {
                            const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0);
                            m.equation(der(x) == -y);
                            m.equation(der(y) == x);
                            m.when(x * y > 0.6).record();  // never: x y <= 1/2
                          },
                          10.0, [](double t) { return std::vector{std::cos(t), std::sin(t)}; },
                          [](const std::vector<double>& x) { return x[0] * x[1]; }};
  for (const double tolerance : {1e-5, 1e-8}) {
    for (const Method method : explicit_methods)
      EXPECT_LE(inside_over_ends(circle, tolerance, method), factor) << to_string(method) << " " << tolerance;
    for (const Method method : implicit_methods)
      EXPECT_LE(inside_over_ends(circle, tolerance, method), factor) << to_string(method) << " " << tolerance;
  }
}

TEST(Promise03, FastVariablesAreAsAccurateInsideLongSteps) {
  // relaxation to a moving equilibrium, along which the ends of steps are much better than any polynomial between them
  const Watched relaxation = {[](Model& m) {
                                const Expr x = m.variable("x", 1.0), t = m.time();
                                m.equation(der(x) == -1e4 * (x - cos(t)) - sin(t));
                                m.when(x * x * x > 1.5).record();
                              },
                              10.0, [](double t) { return std::vector{std::cos(t)}; },
                              [](const std::vector<double>& x) { return x[0] * x[0] * x[0]; }};
  for (const double tolerance : {1e-4, 1e-7})
    for (const Method method : implicit_methods)
      EXPECT_LE(inside_over_ends(relaxation, tolerance, method), factor) << to_string(method) << " " << tolerance;
}

TEST(Promise03, AlgebraicVariablesAreAsAccurateInsideTheSteps) {
  const Watched algebraic = {[](Model& m) {
                               Expr x, v;
                               add_oscillator(m, x, v);
                               const Expr z = m.variable("z", 0.0);
                               m.equation(z + z * z * z == x);
                               m.when(z * v > 30.0).record();
                             },
                             10.0,
                             [](double t) { return std::vector{3.0 * std::sin(t), 3.0 * std::cos(t), cubic(3.0 * std::sin(t))}; },
                             [](const std::vector<double>& x) { return x[2] * x[1]; }};
  // a diode behind a resistor: the voltage bends within a hundredth of the period, which x and v do not show
  const Watched rectifier = {[](Model& m) {
                           Expr x, v;
                           add_oscillator(m, x, v);
                           const Expr z = m.variable("z", 0.0);
                           m.equation((x - z) / 1000.0 == 1e-9 * (exp(z / thermal) - 1.0));
                           m.when(z * z + v > 300.0).record();
                         },
                         10.0,
                         [](double t) { return std::vector{3.0 * std::sin(t), 3.0 * std::cos(t), diode(3.0 * std::sin(t))}; },
                         [](const std::vector<double>& x) { return x[2] * x[2] + x[1]; }};
  for (const double tolerance : {1e-5, 1e-8, 1e-10}) {
    for (const Method method : implicit_methods) {
      EXPECT_LE(inside_over_ends(algebraic, tolerance, method), factor) << to_string(method) << " " << tolerance;
      EXPECT_LE(inside_over_ends(rectifier, tolerance, method), factor) << "rectifier, " << to_string(method) << " " << tolerance;
    }
    EXPECT_LE(inside_over_ends(algebraic, tolerance, Method::taylor), factor) << tolerance;
    EXPECT_LE(inside_over_ends(rectifier, tolerance, Method::taylor), factor) << "rectifier, " << tolerance;
  }
}

TEST(Promise03, CrossingsInsideLongStepsAreAsAccurateAsTheStates) {
  // the fast variable decides, the slow ones would allow long steps: stiff decay to a moving equilibrium
  for (const Method method : implicit_methods) {
    Model m("stiff");
    const Expr x = m.variable("x", 1.0), t = m.time();
    m.equation(der(x) == -1e4 * (x - cos(t)) - sin(t));
    m.when(x > 0.25).record();
    const double tolerance = 1e-7;
    const Trajectory run = simulate(m, to(20.0, tolerance, method));
    ASSERT_EQ(run.events().size(), 6u) << to_string(method);
    for (std::size_t k = 0; k < 6; ++k) {
      const double turn = 2.0 * pi * static_cast<double>((k + 1) / 2), half = std::acos(0.25);
      EXPECT_NEAR(run.events()[k].t, k % 2 == 0 ? turn + half : turn - half, factor * tolerance) << to_string(method) << " " << k;
    }
  }
}

TEST(Promise03, AGuardOnAnAlgebraicVariableIsAsAccurateAsTheStates) {
  // z + z^3 = x: at z = 1, x = 2
  for (const Method method : {Method::automatic, Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9, Method::radau}) {
    Model m("algebraic");
    Expr x, v;
    add_oscillator(m, x, v);
    const Expr z = m.variable("z", 0.0);
    m.equation(z + z * z * z == x);
    m.when(z > 1.0).record();
    const double tolerance = 1e-8;
    const Trajectory run = simulate(m, to(10.0, tolerance, method));
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    std::vector<double> exact;  // 3 sin t = 2
    for (int k = 0; k < 2; ++k)
      for (const double phase : {std::asin(2.0 / 3.0), pi - std::asin(2.0 / 3.0)}) exact.push_back(phase + 2.0 * pi * k);
    ASSERT_EQ(run.events().size(), exact.size()) << to_string(method);
    // |x'| = sqrt 5 there; local errors of the tolerance times 3 add up over 10 units of time
    for (std::size_t k = 0; k < exact.size(); ++k) EXPECT_NEAR(run.events()[k].t, exact[k], 3.0 * factor * tolerance) << to_string(method);
  }
}

TEST(Promise03, TwoCrossingsOfAnAlgebraicGuardWithinOneStepAreFound) {
  // Where the diode begins to conduct its voltage z bends away from x, within a few hundredths of a unit of time. A tangent (in time) there that is
  // lowered by 20 times the tolerance is crossed twice, at a distance that is small beside the steps. A polynomial that is wrong by more
  // than that misses the pair, or moves it.
  for (const double tolerance : {1e-6, 1e-8})
    for (const Method method : implicit_methods)
      for (int k = 0; k < 20; ++k) {
        const double touch = 0.06 + 0.01 * k, below = 20.0 * tolerance;
        const double z0 = diode(3.0 * std::sin(touch)), growth = 1e-6 / thermal * std::exp(z0 / thermal);
        const double slope = 3.0 * std::cos(touch) / (1.0 + growth);
        const double curvature = (3.0 * std::sin(touch) + growth / thermal * slope * slope) / (1.0 + growth);  // -z''
        const double half = std::sqrt(2.0 * below / curvature);
        const auto above = [&](double t) { return diode(3.0 * std::sin(t)) - z0 - slope * (t - touch) + below; };
        Model m("pair");
        Expr x, v;
        add_oscillator(m, x, v);
        const Expr z = m.variable("z", 0.0);
        m.equation((x - z) / 1000.0 == 1e-9 * (exp(z / thermal) - 1.0));
        m.when(z > z0 + slope * (m.time() - touch) - below).record();
        const Trajectory run = simulate(m, to(touch + 0.1, tolerance, method));
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        ASSERT_EQ(run.events().size(), 2u) << to_string(method) << " " << tolerance << " " << touch;
        // an error of z moves a crossing by itself over the slope of the guard there, curvature times half, to first order
        const double allowed = factor * tolerance / (curvature * half);
        EXPECT_NEAR(run.events()[0].t, root(above, touch - 2.0 * half, touch), allowed) << to_string(method) << " " << touch;
        EXPECT_NEAR(run.events()[1].t, root([&](double t) { return -above(t); }, touch, touch + 2.0 * half), allowed)
            << to_string(method) << " " << touch;
      }
}

TEST(Promise03, TwoCrossingsInALongStepBeforeABendAreFound) {
  // The last step before the diode conducts again is long, for z = x up to 1e-6 exp(z/thermal); but its end lies in the bend, which a polynomial
  // of low order shows from the beginning. Tangents where z is convex are crossed twice, 20 times the tolerance above.
  const double amplitude = 5.0;
  for (const double tolerance : {1e-8, 1e-9})
    for (int k = 0; k < 6; ++k) {
      const double touch = 6.252 + 0.004 * k, above = 20.0 * tolerance, x0 = amplitude * std::sin(touch);
      const double z0 = diode(x0), growth = 1e-6 / thermal * std::exp(z0 / thermal);
      const double slope = amplitude * std::cos(touch) / (1.0 + growth);
      const double curvature = (-x0 - growth / thermal * slope * slope) / (1.0 + growth);  // z''
      const double half = std::sqrt(2.0 * above / curvature);
      const auto over = [&](double t) { return diode(amplitude * std::sin(t)) - z0 - slope * (t - touch) - above; };
      Model m("pair");
      Expr x, v;
      add_oscillator(m, x, v, amplitude);
      const Expr z = m.variable("z", 0.0);
      m.equation((x - z) / 1000.0 == 1e-9 * (exp(z / thermal) - 1.0));
      m.when(z < z0 + slope * (m.time() - touch) + above).record();
      const Trajectory run = simulate(m, to(6.4, tolerance, Method::rodas5p));
      ASSERT_TRUE(run.status().ok()) << run.status().message;
      ASSERT_GE(run.events().size(), 2u) << tolerance << " " << touch;  // and more in the bend
      // an error of z moves a crossing by itself over the slope of the guard there, curvature times half, to first order
      const double allowed = factor * tolerance / (curvature * half);
      EXPECT_NEAR(run.events()[0].t, root([&](double t) { return -over(t); }, touch - 2.0 * half, touch), allowed) << touch;
      EXPECT_NEAR(run.events()[1].t, root(over, touch, touch + 2.0 * half), allowed) << touch;
    }
}

TEST(Promise03, StepsThatAreKeptAreAccurateInsideWithoutGuards) {
  // output: fast variables of Radau methods, which had been spoilt by slopes at the ends, and algebraic ones of Rosenbrock methods
  const Watched relaxation = {[](Model& m) {
                                const Expr x = m.variable("x", 1.0), t = m.time();
                                m.equation(der(x) == -1e4 * (x - cos(t)) - sin(t));
                              },
                              10.0, [](double t) { return std::vector{std::cos(t)}; },
                              [](const std::vector<double>& x) { return x[0]; }};
  const Watched algebraic = {[](Model& m) {
                               Expr x, v;
                               add_oscillator(m, x, v);
                               const Expr z = m.variable("z", 0.0);
                               m.equation(z + z * z * z == x);
                             },
                             10.0,
                             [](double t) { return std::vector{3.0 * std::sin(t), 3.0 * std::cos(t), cubic(3.0 * std::sin(t))}; },
                             [](const std::vector<double>& x) { return x[2]; }};
  for (const double tolerance : {1e-6, 1e-9}) {
    for (const Method method : {Method::radau5, Method::radau9, Method::radau13, Method::radau})
      EXPECT_LE(inside_over_ends(relaxation, tolerance, method), factor) << to_string(method) << " " << tolerance;
    for (const Method method : {Method::rodas4, Method::rodas5p})
      EXPECT_LE(inside_over_ends(algebraic, tolerance, method), factor) << to_string(method) << " " << tolerance;
  }
}

}  // namespace
}  // namespace saltus
