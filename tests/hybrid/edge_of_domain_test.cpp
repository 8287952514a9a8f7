// Models whose equations end at a surface: a root or a power of what becomes negative beyond it.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

#include "suites/hand_written_families.hpp"

namespace saltus {
namespace {

constexpr Method methods[] = {Method::dopri5, Method::tsit5,   Method::bs3,    Method::dop853, Method::taylor,
                              Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9};

// DISODE45 manual, example 4: a mass hits a stop with the contact force c (x - nu)^(3/2) + damping (x - nu)^(1/4) v. The times are those of
// the listing's equations at tight tolerance; the mass touches, turns and leaves six times.
TEST(EdgeOfDomain, PoundingMassOfDisode45) {
  Model m("pounding");
  const auto x = m.variable("x", 0.0), v = m.variable("v", 0.0);
  constexpr double c = 2.47e6, nu = 0.005;
  const Expr depth = x - nu, spring = c * pow(depth, 1.5);
  m.equation(der(x) == v);
  const Expr force = if_else(x > nu, if_else(v > 0, spring + 1.98 * sqrt(2 * c * sqrt(depth)) * v, spring), 0.0);
  m.equation(der(v) == (-4.1 * v - 210.125 * x - force - 2 * sin(14 * m.time())) / 2);
  const double expected[] = {0.4006648, 0.4070938, 0.4172457, 0.8384844, 0.8446386, 0.8543899, 1.2818766, 1.2880468, 1.2978367,
                             1.7307494, 1.7369384, 1.7467582, 2.1799041, 2.1860936, 2.1959132, 2.6287209, 2.6349092, 2.6447269};
  for (const Method method : methods) {
    if (method == Method::bs3) continue;  // order 3 at this tolerance takes 10^5 steps
    const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-9, .atol = 1e-12, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
    std::vector<double> found;
    for (const Event& e : run.events()) {
      for (const double value : e.after) ASSERT_TRUE(std::isfinite(value));
      // a change of the velocity's sign matters during contact only
      if (e.guards[0] == "x > 0.005" || e.after[0] > nu) found.push_back(e.t);
    }
    ASSERT_EQ(found.size(), 18u) << to_string(method);
    for (std::size_t k = 0; k < 18; ++k) EXPECT_NEAR(found[k], expected[k], 1e-7) << to_string(method) << " " << k;  // printed to 7 digits
  }
}

// x' = -1 - sqrt(x), from x = 1 to 0: 2 - 2 ln 2 by separation of variables. There it turns into x' = -1.
TEST(EdgeOfDomain, AFieldThatEndsAtItsSurface) {
  Model m("root");
  const auto x = m.variable("x", 1.0);
  m.equation(der(x) == if_else(x > 0, -1.0 - sqrt(x), -1.0));
  const double when = 2.0 - 2.0 * std::log(2.0);
  for (const Method method : methods) {
    const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 1u) << to_string(method);
    EXPECT_NEAR(run.events()[0].t, when, 1e-7) << to_string(method);
    EXPECT_NEAR(run.final()[0], when - 1.0, 1e-7) << to_string(method);
    for (double t = 0.0; t <= 1.0; t += 0.01) EXPECT_TRUE(std::isfinite(run.at(t, "x"))) << t;
  }
}

// Both sides have their own root: neither can be evaluated on the other side. x' = -1 -+ sqrt(|x|).
TEST(EdgeOfDomain, TwoFieldsThatMeet) {
  Model m("two roots");
  const auto x = m.variable("x", 0.25);
  m.equation(der(x) == if_else(x > 0, -1.0 - sqrt(x), -1.0 - sqrt(-x)));
  const double when = 2.0 * (0.5 - std::log(1.5));  // from 1/4 to 0; the way from 0 to -1/4 takes as long
  for (const Method method : methods) {
    const Trajectory run = simulate(m, {.stop = 2.0 * when, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 1u) << to_string(method);
    EXPECT_NEAR(run.events()[0].t, when, 1e-7) << to_string(method);
    EXPECT_NEAR(run.final()[0], -0.25, 1e-6) << to_string(method);  // the root makes the start of the second field rough
  }
}

// Without a switch at the edge the run ends there, with what it has.
TEST(EdgeOfDomain, WithoutASwitchTheRunEndsThere) {
  Model m("end");
  const auto x = m.variable("x", 1.0);
  m.equation(der(x) == -1.0 - sqrt(x));
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8});
  EXPECT_EQ(run.status().code, StatusCode::not_finite);
  EXPECT_NEAR(run.t_end(), 2.0 - 2.0 * std::log(2.0), 1e-6);
  for (double t = 0.0; t <= run.t_end(); t += 0.01) EXPECT_TRUE(std::isfinite(run.at(t, "x"))) << t;
}

TEST(EdgeOfDomain, ATankEmptiesThroughARootThatEndsAtZero) {
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::rodas4, Method::rodas5p, Method::radau5, Method::radau, Method::bdf}) {
    Model m("tank");  // h = (1 - t)^2, and empty from t = 1 on; the level of the other one goes from below zero to 1/4
    const Expr h = m.variable("h", 1.0), k = m.variable("k", -0.5);
    m.equation(der(h) == -2.0 * sqrt(max(h, 0.0)));
    m.equation(der(k) == 1.0 - 2.0 * pow(max(k, 0.0), 0.5));
    const Trajectory run = simulate(m, {.stop = 12.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    EXPECT_NEAR(run.at(0.5, "h"), 0.25, 1e-4) << to_string(method);
    EXPECT_NEAR(run.at(12.0, "h"), 0.0, 1e-4) << to_string(method);
    EXPECT_NEAR(run.at(12.0, "k"), 0.25, 1e-4) << to_string(method);
  }
}

TEST(EdgeOfDomain, AnEmptyTankIsFilledAgain) {
  // while it is empty its level is a rounding error, of either sign
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::taylor, Method::rodas5p, Method::radau5, Method::radau, Method::bdf}) {
    Model m("tank");
    const Expr h = m.variable("h", 1.0);
    m.equation(der(h) == if_else(m.time() < 2.0, 0.0, 1.0) - 2.0 * sqrt(max(h, 0.0)));
    const Trajectory run = simulate(m, {.stop = 12.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    const double root = 0.4, t = 2.0 - root - 0.5 * std::log(1.0 - 2.0 * root);  // with s = sqrt(h): s' = (1 - 2 s) / (2 s)
    EXPECT_NEAR(run.at(t, "h"), root * root, 1e-4) << to_string(method);
    EXPECT_NEAR(run.at(12.0, "h"), 0.25, 1e-4) << to_string(method);
  }
}

TEST(EdgeOfDomain, VariablesThatFollowFromOthersEndTheRunWhereTheyHaveNoValue) {
  for (const Method method : {Method::automatic, Method::radau, Method::taylor}) {
    Model m("root");
    const Expr x = m.variable("x", 0.0), y = m.variable("y", 0.7);
    m.equation(der(x) == 1.0);
    m.equation(y == sqrt(0.5 - x));
    const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-8, .atol = 1e-8, .method = method});
    EXPECT_EQ(run.status().code, StatusCode::not_finite) << run.status().message;
    EXPECT_NE(run.status().message.find("'y'"), std::string::npos) << run.status().message;
    EXPECT_NEAR(run.t_end(), 0.5, 1e-9);
    EXPECT_TRUE(std::isfinite(run.at(run.t_end(), "y")));  // what was found stays
    EXPECT_NEAR(run.at(0.25, "y"), 0.5, 1e-8);
  }
}

// A guard that changes its sign at the cut of an angle has no zero there: its value says where the solution goes on.
TEST(EdgeOfDomain, GuardsWithACutChangeTheirSides) {
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::taylor}) {
    Model cut("cut");
    const Expr c = cut.variable("c", 1.0), s = cut.variable("s", 0.0), k = cut.discrete("k", 0.0);
    cut.equation(der(c) == s);
    cut.equation(der(s) == -c);
    cut.when(atan2(s, c) > 1.0).assign(k, cut.pre(k) + 1.0);  // the angle is -t
    const Trajectory turns = simulate(cut, {.stop = 20.0, .method = method});
    ASSERT_TRUE(turns.status().ok()) << to_string(method) << ": " << turns.status().message;
    EXPECT_EQ(turns.final()[turns.index("k")], 3.0) << to_string(method);  // pi, 3 pi, 5 pi
  }
}

/// x' = -1 - sqrt(x) where x > 0, x' = -1 elsewhere, as foreign code: without Taylor coefficients and linear guards.
class ForeignRoot final : public suite::HandWritten {
 public:
  ForeignRoot() : HandWritten("root", {{.name = "x", .start = 1.0, .fixed = true}}, "x > 0") {}
  System& system(const Mode& mode) override { return mode.locks[0] != 0.0 ? above_ : below_; }

 private:
  class Side final : public System {
   public:
    explicit Side(bool root) : root_(root) {
      structure_.variables = structure_.equations = structure_.guards = 1;
      const std::pair<int, int> place{0, 0};
      structure_.state_pattern = structure_.derivative_pattern = make_pattern(1, 1, {&place, 1});
      structure_.explicit_ode = structure_.constant_mass = true;
      structure_.guards_read_xp = false;
    }
    const Structure& structure() const override { return structure_; }
    void rhs(double, std::span<const double> x, std::span<double> xp) override {
      xp[0] = root_ ? -1.0 - std::sqrt(x[0]) : -1.0;
    }
    void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
      rhs(t, x, F);
      F[0] = xp[0] - F[0];
    }
    void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                  std::span<double> Fxp) override {
      Fx[0] = root_ ? 0.5 / std::sqrt(x[0]) : 0.0;
      Fxp[0] = 1.0;
    }
    void guards(double, std::span<const double> x, std::span<const double>, std::span<double> g) override {
      g[0] = x[0];
    }

   private:
    bool root_;
    Structure structure_;
  };
  Side above_{true}, below_{false};
};

TEST(EdgeOfDomain, ForeignCodeWithoutTaylorCoefficientsIsLeft) {
  const double when = 2.0 - 2.0 * std::log(2.0);
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::radau5}) {
    const Trajectory run = simulate(std::make_shared<ForeignRoot>(), {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
    ASSERT_EQ(run.events().size(), 1u) << to_string(method);
    EXPECT_NEAR(run.events()[0].t, when, 1e-7) << to_string(method);
    EXPECT_NEAR(run.final()[0], when - 1.0, 1e-7) << to_string(method);
  }
}

// What to try depends on the operation that has no value, and each message names that operation.
TEST(EdgeOfDomain, TheAdviceIsThatOfTheOperation) {
  struct Case {
    Expr (*rate)(const Expr& x);
    const char *part, *advice;
  };
  const Case cases[] = {
      {[](const Expr& x) { return -1.0 - sqrt(x); }, "'sqrt(x)'", "if x > 0 then sqrt(x) else 0."},
      {[](const Expr& x) { return -1.0 + 0.1 * log(x); }, "'log(x)'", "if x > 0 then log(x) else"},
      {[](const Expr& x) { return -1.0 + 0.1 * asin(x - 1.25); }, "'asin(x - 1.25)'", "max(-1, min(1, x))"},
      {[](const Expr& x) { return -1.0 - pow(x, 1.5); }, "'x^1.5'", "abs(x)^p*sign(x)"},
      {[](const Expr& x) { return x * x * exp(800.0 * x * x); }, "", "grow beyond 1e308"}};
  for (const Case& c : cases) {
    Model m("edge");
    const auto x = m.variable("x", 1.0);
    m.equation(der(x) == c.rate(x));
    const Trajectory run = simulate(m, {.stop = 5.0});
    const std::string& message = run.status().message;
    EXPECT_EQ(run.status().code, StatusCode::not_finite) << c.part << ": " << message;
    EXPECT_NE(message.find(c.part), std::string::npos) << message;
    EXPECT_NE(message.find(c.advice), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
  Model m("zero");
  const auto x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0 / x);
  const std::string message = simulate(m, {.stop = 1.0}).status().message;
  EXPECT_NE(message.find("A division by zero has no value"), std::string::npos) << message;
}

}  // namespace
}  // namespace saltus
