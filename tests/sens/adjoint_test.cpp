// Gradients by the adjoint against numbers that are known to twenty digits, exact solutions, and forward derivatives.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "sens/reference_problems.hpp"

namespace saltus {
namespace {

using testing::ReferenceProblem;

double bound(double rtol, double value) {
  return 300.0 * rtol * (1.0 + std::abs(value));
}

SimulateOptions tight(double stop, double rtol = 1e-9) {
  return {.stop = stop, .rtol = rtol, .atol = 0.01 * rtol};
}

class AdjointReference : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AdjointReference, GradientsOfFinalValuesAreThoseOfTheSolution) {
  const ReferenceProblem& problem = testing::reference_problems()[GetParam()];
  const double rtol = 1e-9;
  const CompiledModel model(load_modelica(problem.text, problem.name + ".mo").model);
  std::map<std::string, FunctionalGradient> found;
  for (const auto& d : problem.final) {
    if (!found.contains(d.variable))
      found.emplace(d.variable,
                    gradient(model, final_value(d.variable), problem.parameters, tight(problem.stop, rtol)));
    const FunctionalGradient& g = found.at(d.variable);
    ASSERT_EQ(g.why, "");
    EXPECT_NEAR(g.by(d.parameter), d.value, bound(rtol, d.value)) << "d(" << d.variable << ")/d(" << d.parameter << ")";
    const double value = g.trajectory.final()[g.trajectory.index(d.variable)];
    EXPECT_NEAR(g.value, value, 10.0 * rtol * (1.0 + std::abs(value)));  // of the polynomial of the last step
  }
}

// Every method that takes the modes of a problem, to a thousand tolerances: those of low order and those that follow
// dense output are less accurate.
TEST_P(AdjointReference, EveryMethodGivesTheSame) {
  const ReferenceProblem& problem = testing::reference_problems()[GetParam()];
  if (problem.final.empty()) return;
  const double rtol = 1e-8;
  const CompiledModel model(load_modelica(problem.text, problem.name + ".mo").model);
  for (const MethodInfo& info : method_table()) {
    if (info.method == Method::automatic) continue;
    SimulateOptions options = tight(problem.stop, rtol);
    options.method = info.method;
    const std::string variable = problem.final.front().variable;
    const FunctionalGradient g = gradient(model, final_value(variable), problem.parameters, options);
    if (g.trajectory.status().message.find("use method") != std::string::npos) continue;
    ASSERT_EQ(g.why, "") << info.name;
    for (const auto& d : problem.final)
      if (d.variable == variable) {
        EXPECT_NEAR(g.by(d.parameter), d.value, 1000.0 * rtol * (1.0 + std::abs(d.value)))
            << "d(" << d.variable << ")/d(" << d.parameter << ") with " << info.name;
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, AdjointReference,
                         ::testing::Range<std::size_t>(0, testing::reference_problems().size()),
                         [](const auto& problem) { return testing::reference_problems()[problem.param].name; });

class AdjointEventTimes : public ::testing::TestWithParam<std::size_t> {};

TEST_P(AdjointEventTimes, GradientsOfEventTimesAreThoseOfTheSolution) {
  const ReferenceProblem& problem = testing::reference_problems()[GetParam()];
  if (problem.events.empty()) return;
  const double rtol = 1e-9;
  const CompiledModel model(load_modelica(problem.text, problem.name + ".mo").model);
  const Trajectory run = simulate(model, tight(problem.stop, rtol));
  // the first, one in the middle, the last: each by its guard, and its number among the events of that guard
  for (const std::size_t k : {std::size_t{0}, problem.events.size() / 2, problem.events.size() - 1}) {
    const auto& known = problem.events[k];
    const auto event =
        std::ranges::find_if(run.events(), [&](const Event& e) { return std::abs(e.t - known.t) < 1e-3; });
    ASSERT_NE(event, run.events().end());
    if (event->guards.empty()) continue;
    const std::string& guard = event->guards.front();
    const auto number = 1 + std::count_if(run.events().begin(), event, [&](const Event& e) {
                          return std::ranges::find(e.guards, guard) != e.guards.end();
                        });
    const FunctionalGradient g =
        gradient(model, event_time(guard, static_cast<int>(number)), problem.parameters, tight(problem.stop, rtol));
    ASSERT_EQ(g.why, "");
    EXPECT_NEAR(g.value, known.t, bound(rtol, known.t));
    for (std::size_t p = 0; p < known.dt.size(); ++p)
      EXPECT_NEAR(g.derivatives[p], known.dt[p], 3.0 * bound(rtol, known.dt[p]))
          << "event at t = " << known.t << " by " << problem.parameters[p];
  }
}

INSTANTIATE_TEST_SUITE_P(Problems, AdjointEventTimes,
                         ::testing::Range<std::size_t>(0, testing::reference_problems().size()),
                         [](const auto& problem) { return testing::reference_problems()[problem.param].name; });

TEST(Adjoint, IntegralsAndSumsOverEventsMoveWithTheEvents) {
  Model m("wall and friction");
  const Expr mu = m.parameter("mu", 0.8), e = m.parameter("e", 0.6), k = m.parameter("k", 1.0),
             A = m.parameter("A", 1.0);
  const Expr x = m.variable("x", -0.2), v = m.variable("v", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -k * x + A * sin(1.3 * m.time()) - mu * sign(v - 0.4));
  m.when(x > 0.9).reset(v, -e * v);
  const Functional J = integral(x * x + v * v / 4.0) + sum_over_events("x > 0.9", m.time() * v * mu);
  const FunctionalGradient g = gradient(m, J, {"mu", "e", "k", "A"}, tight(10.0));
  ASSERT_EQ(g.why, "");
  EXPECT_NEAR(g.value, 3.6096615434354, 1e-7);
  const std::vector<double> known = {-1.4725793170138, 0.15662924258757, -2.9724429458798, 5.5941512250025};
  for (std::size_t p = 0; p < known.size(); ++p)
    EXPECT_NEAR(g.derivatives[p], known[p], bound(1e-9, known[p])) << g.parameters[p];
  // a functional is linear
  const FunctionalGradient other = gradient(m, 2.0 * J - final_value("x"), {"mu"}, tight(10.0));
  EXPECT_NEAR(other.by("mu"), 2.0 * known[0] - 2.53585494404880937, 1e-6);
}

TEST(Adjoint, WhereTheModelEndsTheRunTheEndMoves) {
  const std::string text = R"(model Throw
  parameter Real v0 = 10, angle = 0.6;
  constant Real g = 9.81;
  Real x(start = 0, fixed = true), y(start = 0, fixed = true), u(start = v0*cos(angle), fixed = true),
    w(start = v0*sin(angle), fixed = true);
equation
  der(x) = u;
  der(y) = w;
  der(u) = 0;
  der(w) = -g;
  when y < 0 then
    terminate("landed");
  end when;
end Throw;)";
  const CompiledModel model(load_modelica(text, "throw.mo").model);
  const double g = 9.81, v0 = 10.0, angle = 0.6, T = 2.0 * v0 * std::sin(angle) / g;
  const FunctionalGradient far = gradient(model, final_value("x"), {"v0", "angle"}, tight(10.0));
  ASSERT_EQ(far.why, "");
  EXPECT_NEAR(far.by("v0"), 2.0 * v0 * std::sin(2.0 * angle) / g, 1e-7);
  EXPECT_NEAR(far.by("angle"), 2.0 * v0 * v0 * std::cos(2.0 * angle) / g, 1e-7);
  // the area under the path: integral of u over the flight is the distance; of w^2 it is v0^2 sin^2 T - ...
  const FunctionalGradient distance = gradient(model, integral("u"), {"v0"}, tight(10.0));
  ASSERT_EQ(distance.why, "");
  EXPECT_NEAR(distance.value, v0 * std::cos(angle) * T, 1e-7);
  EXPECT_NEAR(distance.by("v0"), 2.0 * v0 * std::sin(2.0 * angle) / g, 1e-7);
}

TEST(Adjoint, ContactAfterInfinitelyManyResets) {
  const std::string text = R"(model Accumulation
  parameter Real h0 = 1, g = 9.81, e = 0.5, mu = 0.2, u0 = 5;
  Real x(start = 0, fixed = true), u(start = u0, fixed = true), h(start = h0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = u;
  der(u) = if h > 0 then 0 else -mu*g/2;
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
    reinit(u, pre(u) + mu/2*(1 + e)*pre(v));
  end when;
end Accumulation;)";
  const std::vector<std::string> parameters = {"h0", "g", "e", "mu"};
  const CompiledModel model(load_modelica(text, "accumulation.mo").model);
  const std::vector<double> x = {0.528834075421, -0.264542907704, 2.287115068912, -10.331659245790};
  const std::vector<double> u = {0.664417037711, -0.332271453852, 3.543557534456, -12.975829622895};
  const FunctionalGradient of_x = gradient(model, final_value("x"), parameters, tight(2.0)),
                           of_u = gradient(model, final_value("u"), parameters, tight(2.0));
  ASSERT_EQ(of_x.why, "");
  ASSERT_EQ(of_u.why, "");
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_NEAR(of_x.derivatives[k], x[k], 1e-6) << parameters[k];
    EXPECT_NEAR(of_u.derivatives[k], u[k], 1e-6) << parameters[k];
  }
}

TEST(Adjoint, ByStartValuesOfVariablesAndDiscreteVariablesAndBackwardsInTime) {
  const std::string text = R"(model Held
  parameter Real p = 0.5;
  Real x(start = 0.1, fixed = true), y(start = p, fixed = true);
  discrete Real q(start = 0.3, fixed = true);
equation
  der(x) = 1 + q;
  der(y) = -p*y + q*x;
  when x > p then
    q = pre(q)*x + p;
  end when;
end Held;)";
  const CompiledModel model(load_modelica(text, "held.mo").model);
  const std::vector<std::string> names = {"p", "q.start", "x.start"};
  for (const double stop : {2.0, -1.5}) {
    SimulateOptions options = tight(stop);
    const SensitivityRun forward = simulate_with_sensitivities(model, names, options);
    ASSERT_EQ(forward.why(), "");
    for (const std::string variable : {"x", "y", "q"}) {
      const FunctionalGradient g = gradient(model, final_value(variable), names, options);
      ASSERT_EQ(g.why, "");
      for (const std::string& name : names)
        EXPECT_NEAR(g.by(name), forward.final(variable, name), bound(1e-9, g.by(name)))
            << variable << " by " << name << " at " << stop;
    }
  }
}

TEST(Adjoint, ImplicitModesOfTheMethodsThatTakeThem) {
  const std::string text = R"(model IndexOne
  parameter Real p = 1, zc = 0.6;
  Real x(start = 3, fixed = true), z(start = 1.4);
equation
  der(x) = -z + (if z > zc then sin(time) else 0);
  z^3 + z = x + p;
end IndexOne;)";
  const CompiledModel model(load_modelica(text, "one.mo").model);
  for (const Method method : {Method::radau, Method::bdf, Method::rodas5p, Method::taylor}) {
    SimulateOptions options = tight(5.0, 1e-8);
    options.method = method;
    const FunctionalGradient g = gradient(model, final_value("z"), {"p", "zc"}, options);
    ASSERT_EQ(g.why, "") << to_string(method);
    // values inside the steps of implicit methods are less accurate than those at their ends
    EXPECT_NEAR(g.by("p"), 0.07211780612136200, 1e-5) << to_string(method);
    EXPECT_NEAR(g.by("zc"), 0.53284307491715361, 1e-5) << to_string(method);
  }
}

// What is integrated is one more variable of the forward derivatives.
TEST(Adjoint, IntegralsInModesThatAreNotExplicitAreThoseOfOneMoreVariable) {
  const double rtol = 1e-8;
  for (const bool hidden : {false, true})
    for (const Method method : {Method::automatic, Method::radau, Method::rodas5p, Method::bdf}) {
      Model m("integral");
      const Expr p = m.parameter("p", 1.0), L = m.parameter("L", 1.0);
      const Expr x = m.variable("x", 0.6), z = m.variable("z", 0.5), q = m.variable("q", 0.0);
      m.equation(der(q) == p * x * z + L);
      if (hidden) {  // an index of three
        const Expr y = m.variable("y", -0.8), u = m.variable("u", 0.0), v = m.variable("v", 0.0);
        m.equation(der(x) == u);
        m.equation(der(y) == v);
        m.equation(der(u) == -z * x);
        m.equation(der(v) == -z * y - 9.81 * p);
        m.equation(x * x + y * y == L * L);
      } else {
        m.equation(der(x) == -z + L * sin(m.time()));
        m.equation(z * z * z + z == x + p);
      }
      const CompiledModel model(m);
      SimulateOptions options = tight(3.0, rtol);
      options.method = method;
      const FunctionalGradient g = gradient(model, integral(p * x * z + L), {"p", "L"}, options);
      ASSERT_EQ(g.why, "") << to_string(method);
      const SensitivityRun run = simulate_with_sensitivities(model, {"p", "L"}, options);
      ASSERT_EQ(run.why(), "");
      for (const std::string name : {"p", "L"}) {
        const double exact = run.final("q", name);
        EXPECT_NEAR(g.by(name), exact, 1e3 * rtol * (1.0 + std::abs(exact)))
            << name << " with " << to_string(method) << (hidden ? ", index 3" : ", index 1");
      }
    }
}

TEST(Adjoint, ResetsOfAConstrainedMotionTakeTheOtherVariablesAlong) {
  const std::string kick = R"(model Kick
  parameter Real k = 0.5, L = 1;
  Real x(start = 0.6, fixed = true), y(start = -0.8), u(start = 0.5, fixed = true), v(start = 0.4), la;
equation
  der(x) = u;
  der(y) = v;
  der(u) = -la*x;
  der(v) = -la*y - 9.81;
  x^2 + y^2 = L^2;
  when time >= 0.3*k then
    reinit(v, k*pre(v));
  end when;
end Kick;)";
  const CompiledModel model(load_modelica(kick, "kick.mo").model);
  const std::vector<std::string> names = {"k", "L", "x.start"};
  const SensitivityRun forward = simulate_with_sensitivities(model, names, tight(1.0));
  ASSERT_EQ(forward.why(), "");
  for (const std::string variable : {"x", "v", "la"}) {
    const FunctionalGradient g = gradient(model, final_value(variable), names, tight(1.0));
    ASSERT_EQ(g.why, "");
    for (const std::string& name : names)
      EXPECT_NEAR(g.by(name), forward.final(variable, name), bound(1e-9, 10.0 * g.by(name)))
          << variable << " by " << name;
  }
}

TEST(Adjoint, AStartOnASurfaceThatMovesOffItHasNone) {
  const std::string text = R"(model Stick
  parameter Real mu = 0.4, belt = 0.2;
  Real v(start = belt, fixed = true), x(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = 0.3*sin(time) - mu*sign(v - belt);
end Stick;)";
  const CompiledModel model(load_modelica(text, "stick.mo").model);
  const FunctionalGradient off = gradient(model, final_value("x"), {"v.start"}, tight(2.0));
  EXPECT_NE(off.why.find("starts on a surface"), std::string::npos) << off.why;
  const FunctionalGradient along = gradient(model, final_value("x"), {"belt", "mu"}, tight(2.0));
  ASSERT_EQ(along.why, "");
  EXPECT_NEAR(along.by("belt"), 2.0, 1e-8);
  EXPECT_NEAR(along.by("mu"), 0.0, 1e-8);
}

TEST(Adjoint, SaysWhereThereIsNoGradientAndRefusesWhatItCannotRead) {
  Model m("balls");
  const Expr g0 = m.parameter("g0", 9.81);
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), k = m.variable("k", 1.0), w = m.variable("w", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g0);
  m.equation(der(k) == w);
  m.equation(der(w) == -9.81);
  m.when(h < 0.0).reset(v, -0.8 * v);
  m.when(k < 0.0).reset(w, -0.8 * w);
  const FunctionalGradient g = gradient(m, final_value("h"), {"g0"}, tight(0.8));
  EXPECT_NE(g.why.find("happen together"), std::string::npos) << g.why;
  EXPECT_TRUE(g.derivatives.empty());
  EXPECT_THROW(g.by("g0"), UsageError);
  EXPECT_THROW(gradient(m, final_value("hh"), {"g0"}, tight(0.1)), UsageError);
  EXPECT_THROW(gradient(m, final_value(if_else(h > 0.0, h, v)), {"g0"}, tight(0.1)), UsageError);
  EXPECT_THROW(gradient(m, event_time("h < 0", 7), {"g0"}, tight(0.1)), UsageError);
  EXPECT_THROW(gradient(m, sum_over_events("nothing", h), {"g0"}, tight(0.1)), UsageError);
  EXPECT_THROW(gradient(m, final_value("h"), {"nothing"}, tight(0.1)), Error);
  SimulateOptions no_steps = tight(0.1);
  no_steps.keep_steps = false;
  EXPECT_THROW(gradient(m, final_value("h"), {"g0"}, no_steps), UsageError);
}

TEST(Adjoint, ManyParametersCostNoMoreStepsThanOne) {
  Model m("chain");
  std::vector<std::string> names;
  std::vector<Expr> x, p;
  constexpr int n = 100;
  for (int i = 0; i < n; ++i) {
    names.push_back("p" + std::to_string(i));
    p.push_back(m.parameter(names.back(), 1.0 + 0.01 * i));
    x.push_back(m.variable("x" + std::to_string(i), i == 0 ? 1.0 : 0.0));
  }
  for (int i = 0; i < n; ++i) {
    const Expr last = i > 0 ? x[static_cast<std::size_t>(i - 1)] : Expr(0.0);
    const auto k = static_cast<std::size_t>(i);
    m.equation(der(x[k]) == p[k] * (last - x[k]));
  }
  const CompiledModel model(m);
  const Functional J = integral(x[3]) + final_value("x2");
  const FunctionalGradient all = gradient(model, J, names, tight(5.0)), one = gradient(model, J, {"p1"}, tight(5.0));
  ASSERT_EQ(all.why, "");
  EXPECT_EQ(all.steps, one.steps);
  EXPECT_EQ(all.by("p1"), one.by("p1"));
  EXPECT_EQ(all.by("p50"), 0.0);
  const SensitivityRun forward = simulate_with_sensitivities(model, {"p1"}, tight(5.0));
  // d/dt of x[3] is p3 (x2 - x3): the integral of x3 is what all x before it have lost
  EXPECT_NEAR(gradient(model, final_value("x2"), names, tight(5.0)).by("p1"), forward.final("x2", "p1"), 1e-7);
}

}  // namespace
}  // namespace saltus
