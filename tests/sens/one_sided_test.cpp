// Derivatives of one side, or that do not exist, are never plain numbers; and derivatives through infinitely many
// resets on floors that are not zero or move. Answers are closed forms.
#include <gtest/gtest.h>
#include <saltus/io/result_files.hpp>
#include <saltus/io/sensitivity_files.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <sstream>

namespace saltus {
namespace {

SimulateOptions options_to(double stop, double rtol = 1e-9, Method method = Method::automatic) {
  return {.stop = stop, .rtol = rtol, .atol = 0.01 * rtol, .method = method};
}

SensitivityRun differentiate(const std::string& text, const std::vector<std::string>& parameters,
                             const SimulateOptions& options) {
  return simulate_with_sensitivities(load_modelica("model M " + text + " end M;", "M.mo").model, parameters, options);
}

// A floor c + u t + b t^2/2, to which the ball falls from rest beside it: seen from the floor gravity is g + b, and
// impacts end at T = sqrt(2 (h0 - c)/(g + b)) (1 + e)/(1 - e).
struct MovingFloor {
  double h0, c, u, b, g, e;

  double end() const { return std::sqrt(2.0 * (h0 - c) / (g + b)) * (1.0 + e) / (1.0 - e); }
  double by_h0() const { return end() / (2.0 * (h0 - c)); }
  double by_g() const { return -end() / (2.0 * (g + b)); }
  double by_e() const { return end() * 2.0 / ((1.0 + e) * (1.0 - e)); }
};

TEST(ZenoOnAFloor, AnyHeightAndMotionOfTheFloor) {
  const std::string text = R"(
    parameter Real h0 = 1, c = 0, u = 0, b = 0, g = 10, e = 0.5;
    Real h(start = h0, fixed = true), v(start = u, fixed = true), floor = c + u*time + b*time^2/2;
  equation
    der(h) = v;
    der(v) = -g;
    when h < floor then
      reinit(v, u + b*time - e*(pre(v) - u - b*time));
    end when;)";
  const Model model = load_modelica("model M " + text + " end M;", "M.mo").model;
  for (const MovingFloor& f : {MovingFloor{1, 0.25, 0, 0, 10, 0.5}, MovingFloor{1, -3, 0, 0, 10, 0.7},
                               MovingFloor{1001, 1000, 0, 0, 9.81, 0.5}, MovingFloor{1, 0.25, 2, 0, 10, 0.5},
                               MovingFloor{1, 0, 0, 3, 10, 0.5}, MovingFloor{2, 0.5, -1, 4, 10, 0.3}})
    for (const double rtol : {1e-6, 1e-9})
      for (const Method method : {Method::automatic, Method::tsit5, Method::dop853}) {
        Model m = model;
        for (const auto& [name, value] : {std::pair("h0", f.h0), std::pair("c", f.c), std::pair("u", f.u),
                                          std::pair("b", f.b), std::pair("g", f.g), std::pair("e", f.e)})
          m.set(name, value);
        const double stop = 2.0 * f.end();
        const SensitivityRun run =
            simulate_with_sensitivities(m, {"h0", "c", "u", "b", "g", "e"}, options_to(stop, rtol, method));
        SCOPED_TRACE(testing::Message() << "c " << f.c << ", u " << f.u << ", b " << f.b << ", rtol " << rtol << ", "
                                        << to_string(method));
        ASSERT_TRUE(run.trajectory().status().ok());
        ASSERT_EQ(run.why(), "");
        const EventSensitivity& contact = run.events().back();
        ASSERT_EQ(run.trajectory().events().back().kind, EventKind::contact);
        // the tail is summed to first order in its speed, which rounding errors of h bound from below
        const double near = (1e-6 + 30.0 * rtol) * std::max(1.0, std::sqrt(std::abs(f.c))) * (1.0 + f.by_e());
        EXPECT_NEAR(contact.dt[0], f.by_h0(), near);
        EXPECT_NEAR(contact.dt[1], -f.by_h0(), near);
        EXPECT_NEAR(contact.dt[2], 0.0, near);
        EXPECT_NEAR(contact.dt[3], f.by_g(), near);
        EXPECT_NEAR(contact.dt[4], f.by_g(), near);
        EXPECT_NEAR(contact.dt[5], f.by_e(), near);
        EXPECT_NEAR(run.final("h", "c"), 1.0, near);
        EXPECT_NEAR(run.final("h", "u"), stop, near);
        EXPECT_NEAR(run.final("h", "b"), stop * stop / 2.0, near * stop);
        EXPECT_NEAR(run.final("v", "b"), stop, near * stop);
        EXPECT_NEAR(run.final("h", "h0"), 0.0, near);
        EXPECT_NEAR(run.final("h", "e"), 0.0, near);
      }
}

// The way that a sliding body makes after contact keeps what the impacts made of it; forward and backward agree.
TEST(ZenoOnAFloor, GradientsAgreeWithForwardDerivatives) {
  const std::string text = R"(
    parameter Real h0 = 1, c = 0.25, b = 3, g = 10, e = 0.5, mu = 0.2;
    Real x(start = 0, fixed = true), w(start = 5, fixed = true);
    Real h(start = h0, fixed = true), v(start = 0, fixed = true);
  equation
    der(x) = w;
    der(w) = -mu*w;
    der(h) = v;
    der(v) = -g;
    when h < c + b*time^2/2 then
      reinit(v, b*time - e*(pre(v) - b*time));
      reinit(w, pre(w) + mu*(1 + e)*(pre(v) - b*time));
    end when;)";
  const std::vector<std::string> names = {"h0", "c", "b", "g", "e", "mu"};
  const CompiledModel model(load_modelica("model M " + text + " end M;", "M.mo").model);
  const SensitivityRun run = simulate_with_sensitivities(model, names, options_to(2.0));
  ASSERT_EQ(run.why(), "");
  const FunctionalGradient back = gradient(model, final_value("x"), names, options_to(2.0));
  ASSERT_EQ(back.why, "");
  for (const std::string& name : names)
    EXPECT_NEAR(back.by(name), run.final("x", name), 1e-6 * (1.0 + std::abs(back.by(name)))) << name;
  // impacts take mu (1 + e) of all relative speeds: sqrt(2 (h0 - c)(g + b)) (1 + e + e^2 + …) each, damped on the way;
  // without damping between them, mu small, the derivative by mu is known to first order
  const double t = 2.0, h = 1e-5;
  const auto x_of = [&](double mu) {
    return simulate(model.with_values({{"mu", mu}}), options_to(t, 1e-12)).at(t, "x");
  };
  EXPECT_NEAR(run.final("x", "mu"), (x_of(0.2 + h) - x_of(0.2 - h)) / (2.0 * h), 1e-5);
}

const char* const switched = R"(
  parameter Real c = 1;
  Real x(start = 0, fixed = true), y(start = 0, fixed = true), z(start = 0, fixed = true);
equation
  der(x) = 1;
  der(y) = if x > c then 3 else 1;
  der(z) = 1;)";

// y = t + 2 max(t - c, 0): at t = c its derivative by c is 0 for a growing c, and -2 for a falling one.
TEST(OneSided, AnEventAtTheStopTime) {
  const SensitivityRun run = differentiate(switched, {"c", "x.start"}, options_to(1.0));
  ASSERT_EQ(run.why(), "");
  EXPECT_EQ(run.final_smoothness("y", "c"), Smoothness::one_sided);
  EXPECT_NEAR(run.final("y", "c"), 0.0, 1e-8);
  EXPECT_EQ(run.final_smoothness("y", "x.start"), Smoothness::one_sided);
  EXPECT_NEAR(run.final("y", "x.start"), 2.0, 1e-8);
  for (const char* variable : {"x", "z"}) EXPECT_EQ(run.final_smoothness(variable, "c"), Smoothness::smooth);
  EXPECT_NE(run.remark("c").find("stop time"), std::string::npos) << run.remark("c");
  // away from the event nothing is said
  for (const double stop : {0.9, 1.1}) {
    const SensitivityRun clear = differentiate(switched, {"c"}, options_to(stop));
    EXPECT_EQ(clear.final_smoothness("y", "c"), Smoothness::smooth) << stop;
    EXPECT_EQ(clear.remark("c"), "") << stop;
    EXPECT_NEAR(clear.final("y", "c"), stop > 1.0 ? -2.0 : 0.0, 1e-8);
  }
}

// The event lies some rounding errors after the stop time, or before it.
TEST(OneSided, AnEventNearTheStopTime) {
  for (const double stop : {1.0 - 1e-14, 1.0 - 1e-11, 1.0 + 1e-14, 1.0 + 1e-11}) {
    const SensitivityRun run = differentiate(switched, {"c"}, options_to(stop));
    EXPECT_NE(run.final_smoothness("y", "c"), Smoothness::smooth) << stop;
  }
}

// v jumps at the impact: with g it moves out of the run or into it, and v at the stop time has no derivative.
TEST(OneSided, AJumpAtTheStopTimeHasNoDerivative) {
  const char* const ball = R"(
    parameter Real g = 2, e = 0.5;
    Real h(start = 1, fixed = true), v(start = 0, fixed = true);
    Integer hits(start = 0, fixed = true);
  equation
    der(h) = v;
    der(v) = -g;
    when h < 0 then
      reinit(v, -e*pre(v));
      hits = pre(hits) + 1;
    end when;)";
  const SensitivityRun run = differentiate(ball, {"g", "e"}, options_to(1.0));
  ASSERT_EQ(run.why(), "");
  for (const char* variable : {"v", "hits"}) {
    EXPECT_EQ(run.final_smoothness(variable, "g"), Smoothness::undefined) << variable;
    EXPECT_TRUE(std::isnan(run.final(variable, "g"))) << variable;
  }
  // h = 1 - g/2, and after the impact -e (1 - g/2) to first order: a growing g has the impact within the run
  EXPECT_EQ(run.final_smoothness("h", "g"), Smoothness::one_sided);
  EXPECT_NEAR(run.final("h", "g"), 0.25, 1e-7);
  // e does not move the impact
  EXPECT_EQ(run.final_smoothness("v", "e"), Smoothness::smooth);
  EXPECT_NEAR(run.final("v", "e"), 2.0, 1e-7);
}

// c = 0: y = t + 2 (t - max(c, 0)) - …: 3 t for c < 0, and t + 2 (t - c) for c > 0.
TEST(OneSided, AStartOnAGuard) {
  const SensitivityRun run =
      differentiate(std::string("parameter Real k = 0;") + switched, {"x.start", "c"}, options_to(2.0));
  EXPECT_EQ(run.final_smoothness("y", "x.start"), Smoothness::smooth);
  Model m = load_modelica(std::string("model M ") + switched + " end M;", "M.mo").model;
  m.set("c", 0.0);
  const SensitivityRun on = simulate_with_sensitivities(m, {"x.start", "c", "z.start"}, options_to(2.0));
  ASSERT_EQ(on.why(), "");
  EXPECT_EQ(on.final_smoothness("y", "x.start"), Smoothness::one_sided);
  EXPECT_NEAR(on.final("y", "x.start"), 0.0, 1e-8);
  EXPECT_NE(on.remark("x.start").find("growing"), std::string::npos) << on.remark("x.start");
  EXPECT_EQ(on.final_smoothness("y", "c"), Smoothness::one_sided);
  EXPECT_NE(on.remark("c").find("falling"), std::string::npos) << on.remark("c");
  EXPECT_EQ(on.smoothness(1.0, "c"), Smoothness::one_sided);
  EXPECT_EQ(on.final_smoothness("y", "z.start"), Smoothness::smooth);
}

// Behind an event with one-sided derivatives those of later events are one-sided, too.
TEST(OneSided, LaterEventsAreFlagged) {
  const SensitivityRun run = differentiate(R"(
    parameter Real x0 = 0, q = 1;
    Real x(start = x0, fixed = true), y(start = 0, fixed = true);
    Real z(start = 0, fixed = true), s(start = 0, fixed = true);
  equation
    der(x) = 1;
    der(y) = if x > 1 then 2 else 1;
    der(z) = q;
    der(s) = 0;
    when y > 1 then
      reinit(z, pre(z) + x^2);
    end when;
    when z > 2.5 then
      reinit(s, 1);
    end when;)",
                                           {"x0", "q"}, options_to(2.0));
  ASSERT_EQ(run.why(), "");
  ASSERT_EQ(run.events().size(), 2u);
  // z = t + 1 + x0 … after the first instant for a growing x0: z > 2.5 at t = 1.5 - x0
  EXPECT_EQ(run.events()[1].dt_smoothness, (std::vector{Smoothness::one_sided, Smoothness::smooth}));
  EXPECT_EQ(run.events()[1].smoothness, Smoothness::one_sided);
  EXPECT_NEAR(run.events()[1].dt[0], -1.0, 1e-7);
  EXPECT_EQ(run.smoothness(0.5, "x0"), Smoothness::smooth);
  EXPECT_EQ(run.smoothness(1.2, "x0"), Smoothness::one_sided);
  EXPECT_EQ(run.final_smoothness("z", "x0"), Smoothness::one_sided);
  EXPECT_EQ(run.final_smoothness("z", "q"), Smoothness::smooth);
}

// abs(p), max(p, q) and branches by parameters are no events.
TEST(OneSided, EqualSidesOfARelationOfParameters) {
  const char* const text = R"(
    parameter Real p = 0, q = 1;
    Real x(start = 0, fixed = true), y(start = 0, fixed = true);
  equation
    der(x) = abs(p) + q;
    der(y) = if p > q - 1 then 1 else 2;)";
  const SensitivityRun run = differentiate(text, {"p", "q", "x.start"}, options_to(1.0));
  for (const char* parameter : {"p", "q"}) {
    EXPECT_EQ(run.final_smoothness("x", parameter), Smoothness::one_sided) << parameter;
    EXPECT_NE(run.remark(parameter).find("both sides of"), std::string::npos) << run.remark(parameter);
  }
  EXPECT_EQ(run.final_smoothness("x", "x.start"), Smoothness::smooth);
  Model m = load_modelica(std::string("model M ") + text + " end M;", "M.mo").model;
  m.set("p", 1e-9);
  const SensitivityRun beside = simulate_with_sensitivities(m, {"p", "q"}, options_to(1.0));
  for (const char* parameter : {"p", "q"}) EXPECT_EQ(beside.remark(parameter), "") << parameter;
  EXPECT_NEAR(beside.final("x", "p"), 1.0, 1e-9);
}

// The adjoint gives no number there.
TEST(OneSided, GradientsRefuse) {
  Model m = load_modelica(std::string("model M ") + switched + " end M;", "M.mo").model;
  const FunctionalGradient stop = gradient(m, final_value("y"), {"c"}, options_to(1.0, 1e-6));
  EXPECT_TRUE(stop.derivatives.empty());
  EXPECT_NE(stop.why.find("stop time"), std::string::npos) << stop.why;
  m.set("c", 0.0);
  const FunctionalGradient start = gradient(m, final_value("y"), {"x.start"}, options_to(1.0));
  EXPECT_TRUE(start.derivatives.empty());
  EXPECT_NE(start.why.find("at the start"), std::string::npos) << start.why;
  EXPECT_EQ(gradient(m, final_value("y"), {"z.start"}, options_to(1.0)).why, "");
}

TEST(OneSided, FilesSaySo) {
  const SensitivityRun run = differentiate(switched, {"c"}, options_to(1.0));
  const SensitivityRecord record = sensitivity_record(run);
  ResultTable table = result_table(run.trajectory(), {.intervals = 2});
  std::ostringstream json, csv;
  write_json(json, run.trajectory(), {.model = "M", .sensitivities = &record});
  const auto document = nlohmann::json::parse(json.str());
  EXPECT_EQ(document["sensitivities"]["final_smoothness"]["y"][0], "one_sided");
  EXPECT_EQ(document["sensitivities"]["final_smoothness"]["x"][0], "smooth");
  EXPECT_NE(document["sensitivities"]["remarks"][0].get<std::string>().find("stop time"), std::string::npos);
  add_sensitivities(table, run);
  write_csv(csv, table);
  EXPECT_EQ(csv.str().substr(0, csv.str().find('\n')), "time,x,y,z,d(x)/d(c),d(y)/d(c),d(z)/d(c),one_sided(c)");
  EXPECT_EQ(table.columns.back().values.front(), 0.0);
  EXPECT_EQ(table.columns.back().values.back(), 1.0);
}

}  // namespace
}  // namespace saltus
