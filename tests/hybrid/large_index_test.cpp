// Large modes with hidden constraints: analysed by their structure, kept on all constraints stage by stage, integrated by series.
#include <gtest/gtest.h>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

constexpr double gravity = 9.81;

struct Chain {
  Model model{"chain"};
  std::vector<Expr> x, y, u, v, force;
};

/// Point masses on massless rods of length 1, hung up at the origin and released from the horizontal, in Cartesian coordinates: index 3.
/// The rods' joints are damped.
Chain chain(std::size_t links, double damping = 0.0) {
  Chain c;
  Model& m = c.model;
  for (std::size_t i = 0; i < links; ++i) {
    const std::string number = std::to_string(i + 1);
    c.x.push_back(m.variable("x" + number, static_cast<double>(i + 1)));
    c.y.push_back(m.variable("y" + number, 0.0));
    c.u.push_back(m.variable("u" + number, 0.0));
    c.v.push_back(m.variable("v" + number, 0.0));
    c.force.push_back(m.variable("force" + number, 0.0));
  }
  const auto difference = [](const std::vector<Expr>& list, std::size_t i) { return i == 0 ? list[0] : list[i] - list[i - 1]; };
  for (std::size_t i = 0; i < links; ++i) {
    const auto pull = [&](const std::vector<Expr>& place, const std::vector<Expr>& speed, std::size_t k) {
      return difference(place, k) * c.force[k] + damping * difference(speed, k);
    };
    Expr fx = -pull(c.x, c.u, i), fy = -pull(c.y, c.v, i) - gravity;
    if (i + 1 < links) {
      fx = fx + pull(c.x, c.u, i + 1);
      fy = fy + pull(c.y, c.v, i + 1);
    }
    m.equation(der(c.x[i]) == c.u[i]);
    m.equation(der(c.y[i]) == c.v[i]);
    m.equation(der(c.u[i]) == fx);
    m.equation(der(c.v[i]) == fy);
    const Expr dx = difference(c.x, i), dy = difference(c.y, i);
    m.equation(dx * dx + dy * dy == 1.0);
  }
  return c;
}

struct Errors {
  double position = 0.0, speed = 0.0, energy = 0.0;
};

Errors errors_of(const std::vector<double>& values) {
  Errors e;
  double turned = 0.0;  // from potential into kinetic energy
  for (std::size_t i = 0; i < values.size(); i += 5) {
    const auto difference = [&](std::size_t k) { return values[i + k] - (i == 0 ? 0.0 : values[i + k - 5]); };
    const double dx = difference(0), dy = difference(1), du = difference(2), dv = difference(3);
    e.position = std::max(e.position, std::abs(dx * dx + dy * dy - 1.0));
    e.speed = std::max(e.speed, std::abs(dx * du + dy * dv) / (1.0 + std::hypot(du, dv)));
    const double kinetic = 0.5 * (values[i + 2] * values[i + 2] + values[i + 3] * values[i + 3]);
    e.energy += kinetic + gravity * values[i + 1];
    turned += kinetic;
  }
  e.energy = std::abs(e.energy) / turned;
  return e;
}

TEST(LargeIndex, AChainOfSixHundredVariablesFallsAsItShould) {
  Chain c = chain(120);
  c.model.when(c.y.back() < -1.0).record();
  const double tolerance = 1e-9;
  const Trajectory run = simulate(c.model, {.stop = 1.0, .rtol = tolerance, .atol = tolerance});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NE(run.statistics().method.find("taylor"), std::string::npos) << run.statistics().method;
  for (const double t : {0.0, 0.3, 1.0}) {
    const Errors e = errors_of(run.at(t));
    EXPECT_LE(e.position, 1e-12) << t;  // rounding errors of the sum
    EXPECT_LE(e.speed, 1e-11) << t;
    if (t > 0.0) {
      EXPECT_LE(e.energy, 100.0 * tolerance) << t;
    }
  }
  // the support is felt over some ten links: the end falls freely
  EXPECT_NEAR(run.at(1.0, "y120"), -0.5 * gravity, 100.0 * tolerance);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.events()[0].t, std::sqrt(2.0 / gravity), 100.0 * tolerance);
}

TEST(LargeIndex, SeriesAndTheReducedFormAgree) {
  const Chain c = chain(22);  // beyond the size up to which ranks are decided densely; the reduced form needs that
  const double tolerance = 1e-7;
  const auto end = [&](Method method) {
    const Trajectory run = simulate(c.model, {.stop = 0.5, .rtol = tolerance, .atol = tolerance, .method = method});
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    return run.final();
  };
  const std::vector<double> one = end(Method::automatic), two = end(Method::radau);
  for (std::size_t j = 0; j < one.size(); ++j) {
    if (j % 5 == 4) continue;  // forces
    EXPECT_NEAR(one[j], two[j], 100.0 * tolerance * (1.0 + std::abs(one[j]))) << j;
  }
}

TEST(LargeIndex, AConsistentStartStaysAsItIs) {
  const Chain c = chain(40, 1e3);  // strong damping must not make it cheaper to move the masses than to find their accelerations
  const Trajectory run = simulate(c.model, {.stop = 1e-3, .rtol = 1e-6, .atol = 1e-6});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const std::vector<double> start = run.at(0.0);
  for (std::size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(start[5 * i], static_cast<double>(i + 1));
    for (std::size_t k = 1; k < 4; ++k) EXPECT_EQ(start[5 * i + k], 0.0);
  }
}

TEST(LargeIndex, TheCertificateIsNotMisledByEntriesThatAreTinyAtThePoint) {
  const auto model = std::make_shared<CompiledModel>(chain(110).model);
  System& system = model->system(model->initial_mode());
  std::vector<double> x, xp(550, 0.0);
  for (const VariableInfo& info : model->variables()) x.push_back(info.start);
  for (std::size_t i = 0; i < 110; ++i) x[5 * i + 1] = std::pow(10.0, -8.0 - 0.2 * static_cast<double>(i));  // nearly straight
  const StructuralCertificate certificate = certify(system, analyse_structure(system.structure()), 0.0, x, xp);
  EXPECT_TRUE(certificate.valid);
  // that of a chain is the square of its length, that of a straight one exactly so
  EXPECT_GT(certificate.reciprocal_condition, 1e-6);
}

/// Two flywheels are coupled at t = 1, among other variables.
double speed_after_coupling(int others) {
  Model m("clutch");
  const Expr a = m.variable("a", 5.0), b = m.variable("b", -1.0), torque = m.variable("torque", 0.0);
  const Expr engaged = m.discrete("engaged", 0.0);
  m.equation(der(a) == -torque);
  m.equation(3.0 * der(b) == torque);
  m.equation(if_else(engaged > 0.5, a - b, torque) == 0.0);
  m.when(m.time() >= 1.0).assign(engaged, 1.0);
  Expr before = a;
  for (int i = 0; i < others; ++i) {
    const Expr z = m.variable("z" + std::to_string(i), 0.0);
    m.equation(der(z) == before - z);
    before = z;
  }
  const Trajectory run = simulate(m, {.stop = 1.5, .rtol = 1e-8, .atol = 1e-8});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NEAR(run.at(1.5, "a"), run.at(1.5, "b"), 1e-12);
  return run.at(1.0, "a");
}

TEST(LargeIndex, CouplingConservesMomentumInAnySize) {
  // (1 * 5 + 3 * (-1)) / (1 + 3)
  EXPECT_NEAR(speed_after_coupling(0), 0.5, 1e-12);
  EXPECT_NEAR(speed_after_coupling(150), 0.5, 1e-12);
  EXPECT_NEAR(speed_after_coupling(600), 0.5, 1e-12);
}

TEST(LargeIndex, StiffChainsAreSolvedWithDummyDerivatives) {
  const Chain c = chain(120, 1e3);
  const auto model = std::make_shared<CompiledModel>(c.model);
  const double tolerance = 1e-6;
  const auto solve = [&](Method method, double rtol) {
    Trajectory run = simulate(model, {.stop = 1.0, .rtol = rtol, .atol = rtol, .method = method});
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    return run;
  };
  const Trajectory series = solve(Method::taylor, 1e-8);
  for (const Method method : {Method::automatic, Method::rodas5p, Method::radau, Method::bdf}) {
    const Trajectory run = solve(method, tolerance);
    EXPECT_NE(run.statistics().method.find("dummy derivatives"), std::string::npos) << run.statistics().method;
    EXPECT_LT(run.statistics().steps, series.statistics().steps / 2);
    const Errors e = errors_of(run.final());
    EXPECT_LE(e.position, 10.0 * tolerance) << to_string(method);
    EXPECT_LE(e.speed, 10.0 * tolerance) << to_string(method);
    for (std::size_t j = 0; j < 600; ++j) {
      if (j % 5 == 4) continue;  // forces
      EXPECT_NEAR(run.final()[j], series.final()[j], 100.0 * tolerance * (1.0 + std::abs(series.final()[j]))) << to_string(method) << " " << j;
    }
  }
}

TEST(LargeIndex, FrictionSwitchesWhateverTheMethodIs) {
  // a pendulum with dry friction: a lock that does not decide the structure
  Model m("friction");
  const Expr x = m.variable("x", 0.6, {.fixed = true}), y = m.variable("y", -0.8), u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0),
             force = m.variable("force", 0.0);
  const Expr drag = if_else(u > 0.0, Expr(1.0), Expr(-1.0));
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -x * force + drag * y);
  m.equation(der(v) == -y * force - gravity - drag * x);
  m.equation(x * x + y * y == 1.0);
  const double tolerance = 1e-8;
  const auto times = [&](Method method) {
    const Trajectory run = simulate(m, {.stop = 5.0, .rtol = tolerance, .atol = tolerance, .method = method});
    EXPECT_TRUE(run.status().ok()) << run.status().message;
    std::vector<double> list;
    for (const Event& event : run.events()) list.push_back(event.t);
    return list;
  };
  const std::vector<double> one = times(Method::taylor), two = times(Method::rodas5p);
  ASSERT_GE(one.size(), 2u);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t k = 0; k < one.size(); ++k) EXPECT_NEAR(one[k], two[k], 100.0 * tolerance) << k;
}

}  // namespace
}  // namespace saltus
