// What derivatives of runs promise: exact solutions, both sides of events, ends that move, messages.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>
#include <memory>
#include <numbers>

#include "flight/kept_analyses.hpp"
#include "sens/watched_model.hpp"

namespace saltus {
namespace {

SensitivityRun differentiate(const std::string& text, const std::vector<std::string>& parameters, double stop,
                             double rtol = 1e-9, Method method = Method::automatic) {
  SimulateOptions options{.stop = stop, .rtol = rtol, .atol = 0.01 * rtol};
  options.method = method;
  return simulate_with_sensitivities(load_modelica(text, "model.mo").model, parameters, options);
}

const std::string ball = R"(model Ball
  parameter Real h0 = 10, g = 9.8, e = 0.9;
  Real h(start = h0, fixed = true), v(start = 0, fixed = true), energy = v^2/2 + g*h;
  discrete Real highest(start = h0, fixed = true);
  Integer bounces(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
    highest = (e*pre(v))^2/(2*g);
    bounces = pre(bounces) + 1;
  end when;
end Ball;)";

TEST(Sensitivities, HoldOnBothSidesOfAnEvent) {
  const SensitivityRun run = differentiate(ball, {"h0", "e", "v.start"}, 3.0);
  const double g = 9.8, e = 0.9, t1 = std::sqrt(2.0 * 10.0 / g), dt1 = 1.0 / (g * t1);
  ASSERT_EQ(run.events().size(), 1u);
  const double at = run.trajectory().events()[0].t;
  EXPECT_NEAR(run.events()[0].dt[0], dt1, 1e-8);
  EXPECT_NEAR(run.events()[0].dt[1], 0.0, 1e-12);
  EXPECT_NEAR(run.events()[0].dt[2], 1.0 / g, 1e-8);
  // before: h = h0 - g t^2/2; after: h = e g t1 (t - t1) - g (t - t1)^2/2
  EXPECT_NEAR(run.before(at, "h0")[0], 1.0, 1e-8);
  EXPECT_NEAR(run.before(at, "v", "v.start"), 1.0, 1e-8);
  EXPECT_NEAR(run.at(at, "h", "h0"), -e * g * t1 * dt1, 1e-7);
  EXPECT_NEAR(run.at(3.0, "v", "e"), g * t1, 1e-7);
  EXPECT_NEAR(run.at(1.0, "h", "v.start"), 1.0, 1e-9);
}

TEST(Sensitivities, EliminatedAndDiscreteVariablesHaveThem) {
  const SensitivityRun run = differentiate(ball, {"h0", "g", "e"}, 3.0);
  const double g = 9.8, e = 0.9, h0 = 10.0;
  EXPECT_NEAR(run.at(1.0, "energy", "h0"), g, 1e-7);
  EXPECT_NEAR(run.at(1.0, "energy", "g"), h0, 1e-7);
  EXPECT_NEAR(run.final("energy", "h0"), e * e * g, 1e-6);
  EXPECT_NEAR(run.final("energy", "e"), 2.0 * e * g * h0, 1e-5);
  EXPECT_NEAR(run.at(1.0, "highest", "h0"), 1.0, 0.0);
  EXPECT_NEAR(run.final("highest", "h0"), e * e, 1e-7);
  EXPECT_NEAR(run.final("highest", "g"), 0.0, 1e-7);
  EXPECT_NEAR(run.final("highest", "e"), 2.0 * e * h0, 1e-6);
  EXPECT_EQ(run.final("bounces", "h0"), 0.0);
}

TEST(Sensitivities, TheTrajectoryHasTheBitsOfARunWithoutThem) {
  const ModelicaModel loaded = load_modelica(ball, "ball.mo");
  const SimulateOptions options{.stop = 12.0, .rtol = 1e-7};
  const Trajectory plain = simulate(loaded.model, options);
  const SensitivityRun run = simulate_with_sensitivities(loaded.model, {"h0", "e"}, options);
  EXPECT_EQ(run.trajectory().final(), plain.final());
  ASSERT_EQ(run.trajectory().events().size(), plain.events().size());
  for (std::size_t k = 0; k < plain.events().size(); ++k) {
    EXPECT_EQ(run.trajectory().events()[k].t, plain.events()[k].t);
    EXPECT_EQ(run.trajectory().events()[k].after, plain.events()[k].after);
  }
  for (const double t : {0.3, 5.5, 11.9}) EXPECT_EQ(run.trajectory().at(t), plain.at(t));
}

// Long runs fly through their events, which rounds differently; derivatives are those of a run on the ground.
TEST(Sensitivities, TheTrajectoryOfALongRunHasTheBitsOfOneOnTheGround) {
  Model m("dry friction");
  const Expr F = m.parameter("F", 0.4), x = m.variable("x", 0.3), v = m.variable("v", 0.2);
  m.equation(der(x) == v);
  m.equation(der(v) == -x + cos(0.5 * m.time()) - F * sign(v));
  const CompiledModel model(m);
  SimulateOptions options{.stop = 600.0, .rtol = 1e-6, .atol = 1e-8};
  const SensitivityRun run = simulate_with_sensitivities(model, {"F"}, options);
  ASSERT_EQ(run.why(), "");
  ASSERT_GT(run.trajectory().statistics().steps, 2000);
  const std::vector<double> flown = simulate(model, options).final();
  options.flights_after = -1;
  EXPECT_EQ(run.trajectory().final(), simulate(model, options).final());
  for (std::size_t j = 0; j < flown.size(); ++j) EXPECT_NEAR(run.trajectory().final()[j], flown[j], 1e-6);  // rtol
}

// The analyses of a mode with hidden constraints that an earlier run has made serve derivatives as well.
TEST(Sensitivities, OfRepeatedRunsWithHiddenConstraintsHaveTheSameBits) {
  Model m("pendulum");
  const Expr l = m.parameter("l", 1.0), x = m.variable("x", 0.6), y = m.variable("y", -0.8), u = m.variable("u", 0.0),
             v = m.variable("v", 0.0), pull = m.variable("pull", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -pull * x);
  m.equation(der(v) == -pull * y - 9.81);
  m.equation(x * x + y * y == l * l);
  const CompiledModel model(m);
  const WatchedModel watched(model, std::make_shared<std::vector<Act>>());
  EXPECT_EQ(KeptAnalyses::of(watched), KeptAnalyses::of(model));
  const SimulateOptions options{.stop = 1.0, .rtol = 1e-8, .atol = 1e-10};
  const SensitivityRun fresh = simulate_with_sensitivities(CompiledModel(m), {"l"}, options);
  simulate(model, options);
  for (int k = 0; k < 2; ++k) {
    const SensitivityRun run = simulate_with_sensitivities(model, {"l"}, options);
    EXPECT_EQ(run.trajectory().final(), fresh.trajectory().final());
    EXPECT_EQ(run.final("l"), fresh.final("l"));
  }
}

TEST(Sensitivities, WhereTheModelEndsTheRunTheEndMoves) {
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
  const SensitivityRun run = differentiate(text, {"v0", "angle"}, 10.0);
  ASSERT_EQ(run.trajectory().status().code, StatusCode::terminated);
  ASSERT_EQ(run.why(), "");
  const double g = 9.81, v0 = 10.0, angle = 0.6;  // x = v0^2 sin(2 angle) / g
  EXPECT_NEAR(run.final("x", "v0"), 2.0 * v0 * std::sin(2.0 * angle) / g, 1e-7);
  EXPECT_NEAR(run.final("x", "angle"), 2.0 * v0 * v0 * std::cos(2.0 * angle) / g, 1e-7);
  EXPECT_NEAR(run.final("y", "v0"), 0.0, 1e-8);
  EXPECT_NEAR(run.events().back().dt[0], 2.0 * std::sin(angle) / g, 1e-8);
  // at a fixed time, the end of the run included, x = v0 cos(angle) t
  const double end = run.trajectory().t_end();
  EXPECT_NEAR(run.at(end, "x", "v0"), std::cos(angle) * end, 1e-7);
  EXPECT_NEAR(run.at(end, "x", "angle"), -v0 * std::sin(angle) * end, 1e-7);
}

TEST(Sensitivities, ContactAfterInfinitelyManyResets) {
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
  // closed forms: sums over infinitely many impacts, and the contact behind them
  const SensitivityRun run = differentiate(text, {"h0", "g", "e", "mu"}, 2.0);
  ASSERT_EQ(run.why(), "");
  const std::vector<double> limit = {0.677285461478596, -0.0690403120773, 3.61218912788585, 0.0};
  const std::vector<double> x = {0.528834075421, -0.264542907704, 2.287115068912, -10.331659245790};
  const std::vector<double> u = {0.664417037711, -0.332271453852, 3.543557534456, -12.975829622895};
  for (std::size_t k = 0; k < limit.size(); ++k) {
    const std::string& parameter = run.parameters()[k];
    EXPECT_NEAR(run.events().back().dt[k], limit[k], 1e-6) << parameter;
    EXPECT_NEAR(run.final("x", parameter), x[k], 1e-6) << parameter;
    EXPECT_NEAR(run.final("u", parameter), u[k], 1e-6) << parameter;
  }
  EXPECT_NEAR(run.final("h", "e"), 0.0, 1e-9);
  EXPECT_NEAR(run.final("v", "e"), 0.0, 1e-9);
}

TEST(Sensitivities, OfAConstrainedMotionByParametersAndStartValues) {
  const std::string text = R"(model Pendulum
  parameter Real L = 1, gr = 9.81;
  Real x(start = 0.6, fixed = true), y(start = -0.8), u(start = 0.5, fixed = true), v(start = 0.4), la;
equation
  der(x) = u;
  der(y) = v;
  der(u) = -la*x;
  der(v) = -la*y - gr;
  x^2 + y^2 = L^2;
end Pendulum;)";
  const SensitivityRun run = differentiate(text, {"L", "gr", "x.start", "u.start"}, 2.0);
  ASSERT_EQ(run.why(), "");
  const std::vector<std::string> names = {"x", "y", "u", "v", "la"};
  const std::vector<std::pair<std::string, std::vector<double>>> known = {
      {"L", {-0.72958163814987, -1.6934350345049, 4.3074853680424, 1.0339898071159, 6.6010130435104}},
      {"gr", {0.086377197642288, 0.057934008012171, -0.50676555922691, -0.21535009443222, -0.81350565921462}},
      {"x.start", {0.80357296202931, 0.53896402860121, 1.4987363109433, 2.1638430123821, -0.41428948673348}},
      {"u.start", {-0.085799886939337, -0.057546800232766, 1.1811066370873, 0.66846946075218, 3.2561023308503}}};
  for (const auto& [parameter, values] : known)
    for (std::size_t j = 0; j < names.size(); ++j)
      EXPECT_NEAR(run.final(names[j], parameter), values[j], 1e-6) << names[j] << " by " << parameter;
  EXPECT_THROW(differentiate(text, {"y.start"}, 2.0), UsageError);
}

TEST(Sensitivities, ModesWithTheirOwnEquationsAndResets) {
  Model m("modes");
  const Expr a = m.parameter("a", 0.8), c = m.parameter("c", 0.5), d = m.parameter("d", 3.0);
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 0.0);
  ExplicitMode one = m.mode("one"), two = m.mode("two"), last = m.mode("last");
  one.equations({der(x) == -a * x, der(y) == 0.0});
  two.equations({der(x) == -x / 2.0 + y, der(y) == -2.0 * y + sin(m.time()) / 10.0});
  last.equations({der(x) == -a * x * x, der(y) == 0.0});
  one.transition(x < c).to(two).reset(y, d * x * x);
  two.transition(y < x / 4.0).to(last).reset(x, x + y * y);
  const SensitivityRun run =
      simulate_with_sensitivities(m, {"a", "c", "d"}, {.stop = 6.0, .rtol = 1e-10, .atol = 1e-12});
  ASSERT_EQ(run.why(), "");
  EXPECT_NEAR(run.final("x", "a"), -0.25625428038622, 1e-7);
  EXPECT_NEAR(run.final("x", "c"), 0.16797106885125, 1e-7);
  EXPECT_NEAR(run.final("x", "d"), 0.014567136133877, 1e-7);
}

const std::string graze = R"(model Graze
  parameter Real A = 1;
  Real x(start = -A, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x;
  when x > 1 then
    reinit(v, -0.7*pre(v));
  end when;
end Graze;)";

SensitivityRun grazing(double A, double rtol = 1e-11) {
  LoadOptions load;
  load.parameters = {{"A", A}};
  return simulate_with_sensitivities(load_modelica(graze, "graze.mo", load).model, {"x.start", "A"},
                                     {.stop = 4.0, .rtol = rtol, .atol = 1e-13});
}

TEST(Sensitivities, NearGrazingTheyGrowAndAtItThereAreNone) {
  const SensitivityRun hit = grazing(1.01);
  ASSERT_EQ(hit.why(), "");
  EXPECT_NEAR(hit.events().front().dt[1], -1.0 / (1.01 * std::sqrt(1.01 * 1.01 - 1.0)), 1e-7);
  const SensitivityRun missed = grazing(0.999);
  EXPECT_NEAR(missed.final("x", "A"), -std::cos(4.0), 1e-8);
  const SensitivityRun near = grazing(1.0 + 1e-8);
  ASSERT_FALSE(near.events().empty());
  EXPECT_NE(near.events().front().text.find("small"), std::string::npos) << near.events().front().text;
  const SensitivityRun touched = grazing(1.0 + 1e-14);
  if (!touched.events().empty() && touched.trajectory().events().front().kind != EventKind::touch) {
    EXPECT_EQ(touched.events().front().smoothness, Smoothness::undefined);
    EXPECT_NE(touched.why().find("grazing"), std::string::npos) << touched.why();
    EXPECT_THROW(touched.final("A"), UsageError);
    EXPECT_THROW(touched.at(3.9, "A"), UsageError);
  }
}

TEST(Sensitivities, WhereTheOrderOfEventsDependsOnAParameterAreThoseForAGrowingOne) {
  const std::string text = R"(model Together
  parameter Real x0 = 0;
  Real x(start = x0, fixed = true), y(start = 0, fixed = true), z(start = 0, fixed = true);
equation
  der(x) = 1;
  der(y) = if x > 1 then 2 else 1;
  der(z) = 0;
  when y > 1 then
    reinit(z, pre(z) + x^2);
  end when;
end Together;)";
  // x0 = d > 0: y reaches 1 at t = 1 - d/2, x = 1 + d/2; x0 = -d: at t = 1, x = 1 - d
  const SensitivityRun run = differentiate(text, {"x0"}, 2.0);
  ASSERT_EQ(run.why(), "");
  EXPECT_NEAR(run.final("z", "x0"), 1.0, 1e-7);
  EXPECT_NEAR(run.final("y", "x0"), 1.0, 1e-7);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events().back().smoothness, Smoothness::one_sided);
  EXPECT_EQ(to_string(run.events().back().smoothness), "one_sided");
  EXPECT_NE(run.events().back().text.find("growing"), std::string::npos) << run.events().back().text;
  EXPECT_TRUE(run.events().back().dt.empty());
}

TEST(Sensitivities, GuardsThatHappenTogetherWithoutInfluenceOnEachOtherAreSmooth) {
  const std::string text = R"(model Balls
  parameter Real e = 0.8, h0 = 1;
  Real h(start = h0, fixed = true), v(start = 0, fixed = true), k(start = 1, fixed = true), w(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.81;
  der(k) = w;
  der(w) = -9.81;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
  when k < 0 then
    reinit(w, -e*pre(w));
  end when;
end Balls;)";
  const SensitivityRun run = differentiate(text, {"h0", "e", "k.start"}, 0.8);
  ASSERT_EQ(run.why(), "");
  // h = e g t1 (t - t1) - g (t - t1)^2/2 with t1 = sqrt(2 h0/g)
  const double g = 9.81, e = 0.8, t1 = std::sqrt(2.0 / g), dt1 = 1.0 / (g * t1), rest = 0.8 - t1;
  const double by_height = e * g * dt1 * rest - e * g * t1 * dt1 + g * rest * dt1;
  EXPECT_NEAR(run.final("h", "h0"), by_height, 1e-7);
  EXPECT_NEAR(run.final("k", "k.start"), by_height, 1e-7);
  EXPECT_NEAR(run.final("h", "e"), g * t1 * rest, 1e-7);
  EXPECT_NEAR(run.final("k", "e"), g * t1 * rest, 1e-7);
  EXPECT_NEAR(run.final("h", "k.start"), 0.0, 1e-9);
  EXPECT_NEAR(run.final("k", "h0"), 0.0, 1e-9);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].smoothness, Smoothness::smooth);
}

TEST(Sensitivities, WhereTheOutcomeDependsOnTheOrderOfEventsThereAreNone) {
  const std::string text = R"(model Order
  parameter Real x0 = 0;
  Real x(start = x0, fixed = true), y(start = 0, fixed = true), v(start = 1, fixed = true), w(start = 0, fixed = true);
equation
  der(x) = 1;
  der(y) = 1;
  der(v) = 0;
  der(w) = 0;
  when x > 1 then
    reinit(v, 2*pre(v));
  end when;
  when y > 1 then
    reinit(w, pre(v));
  end when;
end Order;)";
  const SensitivityRun run = differentiate(text, {"x0"}, 2.0);
  ASSERT_EQ(run.trajectory().status().code, StatusCode::success);
  ASSERT_FALSE(run.events().empty());
  EXPECT_EQ(run.events().back().smoothness, Smoothness::undefined);
  EXPECT_NE(run.why().find("depends on which of them comes first"), std::string::npos) << run.why();
  EXPECT_NEAR(run.end(), 1.0, 1e-9);
  EXPECT_NEAR(run.at(0.5, "x", "x0"), 1.0, 1e-9);
  EXPECT_THROW(run.at(1.5, "x0"), UsageError);
  EXPECT_THROW(run.final("x0"), UsageError);
}

TEST(Sensitivities, ClausesReadAlgebraicVariablesOfTheModeBehindTheCrossing) {
  const std::string text = R"(model Branch
  parameter Real p = 0.5;
  Real x(start = 0, fixed = true), z(start = 0.1);
  discrete Real q(start = 0, fixed = true);
equation
  der(x) = 1;
  z^3 + z = if x > p then 2*x*p else x;
  when x > p then
    q = z;
  end when;
end Branch;)";
  const SensitivityRun run = differentiate(text, {"p"}, 1.0);
  ASSERT_EQ(run.why(), "");
  // q^3 + q = 2 p^2
  const double q = run.trajectory().final()[run.trajectory().index("q")];
  EXPECT_NEAR(q * q * q + q, 0.5, 1e-9);
  EXPECT_NEAR(run.final("q", "p"), 2.0 / (3.0 * q * q + 1.0), 1e-7);
}

TEST(Sensitivities, ClausesReadAlgebraicVariablesThatFollowFromWhatTheyAssign) {
  const std::string text = R"(model Followed
  parameter Real p = 0.5;
  Real x(start = 0, fixed = true), z(start = 0.1), y(start = 0, fixed = true);
  discrete Real q(start = 0.3, fixed = true), r(start = 0, fixed = true);
equation
  der(x) = 1;
  der(y) = r;
  z^3 + z = x*q;
  when x > p then
    q = p*x;
    r = z*z;
  end when;
end Followed;)";
  const SensitivityRun run = differentiate(text, {"p"}, 1.0);
  ASSERT_EQ(run.why(), "");
  // z^3 + z = p^3 at the event, at t = p; y(1) = z^2 (1 - p)
  const double p = 0.5, z = std::sqrt(run.trajectory().final()[run.trajectory().index("r")]),
               dz = 3.0 * p * p / (3.0 * z * z + 1.0);
  EXPECT_NEAR(z * z * z + z, p * p * p, 1e-9);
  EXPECT_NEAR(run.final("q", "p"), 2.0 * p, 1e-7);
  EXPECT_NEAR(run.final("r", "p"), 2.0 * z * dz, 1e-7);
  EXPECT_NEAR(run.final("y", "p"), 2.0 * z * dz * (1.0 - p) - z * z, 1e-7);
}

TEST(Sensitivities, AResetOfAConstrainedMotionTakesTheOtherVariablesAlong) {
  const std::string text = R"(model Kick
  parameter Real k = 0.5;
  Real x(start = 0.6, fixed = true), y(start = -0.8), u(start = 0.5, fixed = true), v(start = 0.4), la;
equation
  der(x) = u;
  der(y) = v;
  der(u) = -la*x;
  der(v) = -la*y - 9.81;
  x^2 + y^2 = 1;
  when time >= 0.15 then
    reinit(v, k*pre(v));
  end when;
end Kick;)";
  const SensitivityRun run = differentiate(text, {"k"}, 0.15 + 1e-9);
  ASSERT_EQ(run.why(), "");
  const std::vector<double>& before = run.trajectory().events().at(0).before;
  const double x = before[0], y = before[1], v = before[3];  // x u + y v = 0
  EXPECT_NEAR(run.final("v", "k"), v, 1e-6);
  EXPECT_NEAR(run.final("u", "k"), -y * v / x, 1e-6);
  EXPECT_NEAR(run.final("x", "k"), 0.0, 1e-6);
}

TEST(Sensitivities, AClauseOfTheStartThatReadsWhatInitialEquationsDetermineHasNone) {
  const std::string text = R"(model Steady
  parameter Real p = 2;
  Real x(start = 1), y(start = 0, fixed = true);
  discrete Real q(start = 0);
initial equation
  der(x) = 0;
equation
  der(x) = -x^3 - x + p;
  der(y) = q;
  when initial() then
    q = x*x;
  end when;
end Steady;)";
  const SensitivityRun run = differentiate(text, {"p"}, 1.0);
  EXPECT_NE(run.why().find("initial equations determine"), std::string::npos) << run.why();
  EXPECT_EQ(run.end(), 0.0);
}

TEST(Sensitivities, RefuseByNameWhatTheyCannotDifferentiateBy) {
  const auto message = [](const std::string& text, const std::string& name) -> std::string {
    try {
      differentiate(text, {name}, 1.0);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message(ball, "f").find("'f' is not declared"), std::string::npos) << message(ball, "f");
  for (const char* start : {"h", "h.start", "h(start)"}) EXPECT_EQ(message(ball, start), "") << start;
  EXPECT_NE(message(ball, "hh.start").find("did you mean 'h.start'"), std::string::npos) << message(ball, "hh.start");
  EXPECT_NE(message(ball, "energy.start").find("is a guess"), std::string::npos) << message(ball, "energy.start");
  EXPECT_NE(message(ball, "bounces.start").find("not Real"), std::string::npos) << message(ball, "bounces.start");
  const std::string sized = R"(model Sized
  parameter Integer n = 2;
  parameter Boolean b = true;
  Real x[n](each start = 1, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = if b then -x[i] else 0;
  end for;
end Sized;)";
  EXPECT_NE(message(sized, "n"), "");
  EXPECT_NE(message(sized, "b"), "");
  const SimulateOptions no_steps{.keep_steps = false};
  EXPECT_THROW(simulate_with_sensitivities(load_modelica(ball, "b.mo").model, {"e"}, no_steps), UsageError);
  const SensitivityRun run = differentiate(ball, {"e"}, 1.0);
  EXPECT_THROW(run.at(0.5, "g"), UsageError);
  EXPECT_THROW(run.at(2.0, "e"), UsageError);
  EXPECT_THROW(run.at(0.5, "nothing", "e"), UsageError);
}

TEST(Sensitivities, AtAnEventAtTheStopTimeAreThoseBehindIt) {
  const std::string text = R"(model Stop
  parameter Real k = 2;
  Real x(start = 1, fixed = true);
  discrete Real q(start = 0, fixed = true);
equation
  der(x) = -k*x;
  when time >= 1 then
    q = k*x;
    reinit(x, k*pre(x));
  end when;
end Stop;)";
  const SensitivityRun run = differentiate(text, {"k"}, 1.0);
  ASSERT_EQ(run.why(), "");
  EXPECT_NEAR(run.before(1.0, "k")[0], -std::exp(-2.0), 1e-8);
  EXPECT_NEAR(run.final("q", "k"), std::exp(-2.0) * (1.0 - 2.0), 1e-8);
  EXPECT_NEAR(run.final("x", "k"), std::exp(-2.0) * (1.0 - 2.0), 1e-8);
}

TEST(Sensitivities, AStartOnASurfaceThatMovesOffItHasNone) {
  const std::string text = R"(model Stick
  parameter Real mu = 0.4, belt = 0.2;
  Real v(start = belt, fixed = true), x(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = 0.3*sin(time) - mu*sign(v - belt);
end Stick;)";
  const SensitivityRun off = differentiate(text, {"v.start"}, 2.0);
  EXPECT_NE(off.why().find("starts on a surface"), std::string::npos) << off.why();
  EXPECT_EQ(off.end(), 0.0);
  const SensitivityRun along = differentiate(text, {"belt", "mu", "x.start"}, 2.0);
  ASSERT_EQ(along.why(), "");
  EXPECT_NEAR(along.final("x", "belt"), 2.0, 1e-8);
  EXPECT_NEAR(along.final("v", "belt"), 1.0, 1e-8);
  EXPECT_NEAR(along.final("x", "mu"), 0.0, 1e-10);
  EXPECT_NEAR(along.final("x", "x.start"), 1.0, 1e-10);
}

TEST(Sensitivities, RunBackwardsInTime) {
  const std::string text = R"(model Back
  parameter Real k = 0.5;
  Real x(start = 1, fixed = true);
equation
  der(x) = if x > 2 then -2*k*x else -k*x;
end Back;)";
  SimulateOptions options{.start = 0.0, .stop = -3.0, .rtol = 1e-9, .atol = 1e-11};
  const SensitivityRun run = simulate_with_sensitivities(load_modelica(text, "back.mo").model, {"k"}, options);
  ASSERT_EQ(run.why(), "");
  const double k = 0.5, T = std::log(2.0) / k;  // x = 2 exp(2 k (3 - T)), T = ln 2 / k
  EXPECT_NEAR(run.events().back().dt[0], T / k, 1e-7);
  EXPECT_NEAR(run.final("x", "k"), 2.0 * std::exp(2.0 * k * (3.0 - T)) * 2.0 * 3.0, 1e-6);
}

// At an impact v jumps across 0.4: a second guard fires in that instant, but not by itself. How far it was from zero
// must be measured by the times between events, not by the time on the clock.
TEST(Sensitivities, ThatGuardsFireBecauseOfOthersIsSeenAtLateTimes) {
  Model m("late");
  const Expr e = m.parameter("e", 0.8), h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.8 - 0.1 * sign(v - 0.4));
  m.when(h < 0.0).reset(v, -e * v);
  const SensitivityRun early = simulate_with_sensitivities(m, {"e"}, {.start = 0.0, .stop = 1.6});
  ASSERT_EQ(early.why(), "");
  ASSERT_GE(early.events().size(), 3u);
  const SimulateOptions options{.start = 1e5, .stop = 1e5 + 1.6};
  const SensitivityRun late = simulate_with_sensitivities(m, {"e"}, options);
  ASSERT_EQ(late.why(), "");
  EXPECT_NEAR(late.final("h", "e"), early.final("h", "e"), 1e-4);
  const FunctionalGradient back = gradient(m, final_value("h"), {"e"}, options);
  ASSERT_EQ(back.why, "");
  EXPECT_NEAR(back.by("e"), early.final("h", "e"), 1e-4);
}

// (x - c)^2 is touched where x = k t passes c, at c/k.
TEST(Sensitivities, TimesOfTouchesAreThoseOfExtrema) {
  Model m("touch");
  const Expr k = m.parameter("k", 1.25), c = m.parameter("c", 0.5), x = m.variable("x", 0.0), y = m.variable("y", 1.0);
  m.equation(der(x) == k);
  m.equation(der(y) == -k * y);
  m.when((x - c) * (x - c) <= 0.0).record_touches();
  const SimulateOptions options{.stop = 1.0, .rtol = 1e-9};
  const SensitivityRun run = simulate_with_sensitivities(m, {"k", "c", "x.start"}, options);
  ASSERT_EQ(run.why(), "");
  ASSERT_EQ(run.events().size(), 1u);
  ASSERT_EQ(run.trajectory().events()[0].kind, EventKind::touch);
  const std::vector<double>& dt = run.events()[0].dt;
  ASSERT_EQ(dt.size(), 3u) << run.events()[0].text;
  EXPECT_NEAR(dt[0], -0.5 / (1.25 * 1.25), 1e-6);
  EXPECT_NEAR(dt[1], 1.0 / 1.25, 1e-6);
  EXPECT_NEAR(dt[2], -1.0 / 1.25, 1e-6);
  EXPECT_NEAR(run.final("y", "k"), -std::exp(-1.25), 1e-8);
  const std::string guard = run.trajectory().events()[0].guards[0];
  const FunctionalGradient of_time = gradient(m, event_time(guard, 1), {"k"}, options);
  EXPECT_NE(of_time.why.find("reads a touch of '" + guard + "'"), std::string::npos) << of_time.why;
  EXPECT_NEAR(gradient(m, final_value("y"), {"k"}, options).by("k"), -std::exp(-1.25), 1e-8);
}

TEST(Sensitivities, EndAtTouchesOfGuardsThatAct) {
  for (const bool by_clause : {true, false}) {
    Model m("touch");
    const Expr k = m.parameter("k", 1.25), x = m.variable("x", 0.0), y = m.variable("y", 1.0);
    const BoolExpr touched = (x - 0.5) * (x - 0.5) <= 0.0;
    m.equation(der(x) == k);
    m.equation(der(y) == (by_clause ? Expr(-1.0) : if_else(touched, -1.0, -2.0)));
    auto when = m.when(touched);
    when.record_touches();
    if (by_clause) when.reset(y, 2.0 * y);
    const SensitivityRun run = simulate_with_sensitivities(m, {"k"}, {.stop = 1.0});
    EXPECT_NE(run.why().find("is only touched (grazing), and something happens where it is crossed"), std::string::npos)
        << run.why();
    EXPECT_NEAR(run.end(), 0.4, 1e-6);
    EXPECT_NE(gradient(m, final_value("y"), {"k"}, {.stop = 1.0}).why.find("(grazing)"), std::string::npos);
  }
}

// Two guards at one instant which a parameter moves apart, while the solution slides, and in an implicit mode.
TEST(Sensitivities, EndWhereGuardsOnSurfacesHappenTogether) {
  for (const bool slides : {true, false}) {
    Model m("together");
    const Expr x = m.variable("x", 0.1), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
    const Expr v = m.variable("v", 1.0), w = m.variable("w", 0.0);
    m.equation(slides ? der(x) == -sign(x) : x + x * x * x == y);
    m.equation(der(y) == 1.0);
    m.equation(der(z) == 1.0);
    m.equation(der(v) == 0.0);
    m.equation(der(w) == 0.0);
    m.when(y > 1.0).reset(v, 2.0 * v);
    m.when(z > 1.0).reset(w, v);
    const SensitivityRun run = simulate_with_sensitivities(m, {"y.start"}, {.stop = 2.0});
    EXPECT_EQ(run.trajectory().status().code, StatusCode::success);
    EXPECT_NE(run.why().find("happen together, and 'y.start' moves them apart"), std::string::npos) << run.why();
    EXPECT_NEAR(run.end(), 1.0, 1e-6);
    ASSERT_FALSE(run.events().empty());
    EXPECT_EQ(run.events().back().smoothness, Smoothness::undefined);
    EXPECT_NE(gradient(m, final_value("w"), {"y.start"}, {.stop = 2.0}).why.find("happen together"), std::string::npos);
  }
}

}  // namespace
}  // namespace saltus
