// Algebraic variables that linear equations determine together: what is left, and their values against dense algebra.
#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace saltus {
namespace {

/// der(x) = y[0] + … with A y = b x + c, the equations and variables in any order.
struct Network {
  Eigen::MatrixXd A;
  Eigen::VectorXd b, c;

  Model model(std::mt19937& random, bool as_parameters) const {
    const auto n = static_cast<int>(A.rows());
    Model m("network");
    const Expr x = m.variable("x", 1.0, {.fixed = true});
    std::vector<int> order(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Expr> y(static_cast<std::size_t>(n));
    for (const int i : order) y[static_cast<std::size_t>(i)] = m.variable("y" + std::to_string(i));
    std::shuffle(order.begin(), order.end(), random);
    Expr sum = 0.0;
    for (const int i : order) {
      Expr left = 0.0;
      for (int j = 0; j < n; ++j) {
        if (A(i, j) == 0.0) continue;
        const Expr factor =
            as_parameters ? m.parameter("a" + std::to_string(i) + "_" + std::to_string(j), A(i, j)) : Expr(A(i, j));
        left = left + factor * y[static_cast<std::size_t>(j)];
      }
      m.equation(left == b(i) * x + c(i));
      sum = sum + y[static_cast<std::size_t>(i)];
    }
    m.equation(der(x) == sum);
    return m;
  }

  /// What y is at a value of x, by name.
  void expect_values(CompiledModel& compiled, double x) const {
    const Eigen::VectorXd y = A.fullPivLu().solve(b * x + c);
    std::vector<double> values(compiled.observed().size());
    compiled.observe(compiled.initial_mode(), 0.0, std::vector{x}, std::vector{0.0}, values);
    for (std::size_t k = 0; k < values.size(); ++k) {
      const std::string& name = compiled.observed()[k].name;
      if (name != "x") {
        EXPECT_NEAR(values[k], y(std::stoi(name.substr(1))), 1e-9 * (1.0 + y.norm())) << name;
      }
    }
  }
};

/// Few entries in each row, one of them on a permuted diagonal.
Network random_network(std::mt19937& random, int n) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::uniform_real_distribution<double> number(-2.0, 2.0);
  std::vector<int> place(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) place[static_cast<std::size_t>(i)] = i;
  std::shuffle(place.begin(), place.end(), random);
  Network network{Eigen::MatrixXd::Zero(n, n), Eigen::VectorXd::Zero(n), Eigen::VectorXd::Zero(n)};
  for (int i = 0; i < n; ++i) {
    network.A(i, place[static_cast<std::size_t>(i)]) = pick(2) ? 1.0 : -1.0;
    for (int k = pick(3); k > 0; --k) network.A(i, pick(n)) = pick(2) ? number(random) : 1.0;
    if (pick(2)) network.b(i) = number(random);
    if (pick(2)) network.c(i) = number(random);
  }
  return network;
}

TEST(LinearElimination, ValuesAreThoseOfDenseAlgebra) {
  std::mt19937 random(4711);
  int explicit_ones = 0, compared = 0;
  for (int k = 0; k < 400; ++k) {
    const Network network = random_network(random, 2 + k % 9);
    const Eigen::JacobiSVD<Eigen::MatrixXd> svd(network.A);
    if (svd.singularValues().tail(1)(0) < 1e-3) continue;  // what these are is the analysis' affair
    SCOPED_TRACE(k);
    CompiledModel compiled(network.model(random, k % 2 == 0));
    ++compared;
    if (compiled.variables().size() > 1) continue;
    ++explicit_ones;
    for (const double x : {1.0, -0.7}) network.expect_values(compiled, x);
  }
  EXPECT_GT(compared, 250);
  EXPECT_GT(explicit_ones, compared * 9 / 10);
}

TEST(LinearElimination, ResistorsInAnyArrangementLeaveAnExplicitModel) {
  // two resistors in series with a third in parallel to the second, from a source to a capacitor
  Model m("divider");
  const Expr R1 = m.parameter("R1", 2.0), R2 = m.parameter("R2", 3.0), R3 = m.parameter("R3", 6.0);
  const Expr u = m.variable("u", 1.0, {.fixed = true});
  const Expr v1 = m.variable("v1"), v2 = m.variable("v2"), v3 = m.variable("v3"), i1 = m.variable("i1"),
             i2 = m.variable("i2"), i3 = m.variable("i3");
  m.equation(v1 == R1 * i1);
  m.equation(v2 == R2 * i2);
  m.equation(v3 == R3 * i3);
  m.equation(v2 == v3);
  m.equation(i1 == i2 + i3);
  m.equation(v1 + v2 == 5.0 - u);
  m.equation(der(u) == i1);
  CompiledModel compiled(m);
  ASSERT_EQ(compiled.variables().size(), 1u);
  std::vector<double> values(7);
  const auto currents = [&](CompiledModel& c) {
    c.observe(c.initial_mode(), 0.0, std::vector{1.0}, std::vector{0.0}, values);
    return std::vector(values.begin() + 4, values.end());
  };
  const std::vector<double> expected{1.0, 2.0 / 3.0, 1.0 / 3.0};  // 4 V at 2 + 2 Ohm
  std::vector<double> found = currents(compiled);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(found[k], expected[k], 1e-14);
  // a resistance of zero: other equations must be solved for other variables
  CompiledModel shorted = compiled.with_values({{"R2", 0.0}});
  ASSERT_EQ(shorted.variables().size(), 1u);
  found = currents(shorted);
  EXPECT_NEAR(found[0], 2.0, 1e-14);
  EXPECT_NEAR(found[1], 2.0, 1e-14);
  EXPECT_NEAR(found[2], 0.0, 1e-14);
}

// Which variables are eliminated depends on how large resistances are. New values give what a fresh model gives.
TEST(LinearElimination, ValuesOverManyDecadesGiveTheModelThatHasThem) {
  const auto circuit = [](const std::vector<double>& R) {
    Model m("circuit");
    const Expr u = m.variable("u", 1.0, {.fixed = true});
    std::vector<Expr> r, v, i;
    for (std::size_t k = 0; k < R.size(); ++k) {
      r.push_back(m.parameter("R" + std::to_string(k), R[k]));
      v.push_back(m.variable("v" + std::to_string(k)));
      i.push_back(m.variable("i" + std::to_string(k)));
      if (k % 2 == 0)
        m.equation(v[k] == r[k] * i[k]);
      else
        m.equation(i[k] == v[k] / r[k]);
    }
    m.equation(5.0 - u == v[0] + v[1]);  // a bridge: 0 and 2 above, 1 and 3 below, 4 between
    m.equation(v[0] + v[4] == v[2]);
    m.equation(v[1] == v[4] + v[3]);
    m.equation(i[0] == i[1] + i[4]);
    m.equation(i[2] + i[4] == i[3]);
    m.equation(der(u) == i[0] + i[2]);
    return CompiledModel(m);
  };
  std::mt19937 random(5);
  std::uniform_int_distribution<int> decade(-5, 6);
  const CompiledModel first = circuit(std::vector(5, 1.0));
  for (int round = 0; round < 60; ++round) {
    std::vector<double> R(5);
    std::vector<std::pair<std::string, double>> changes;
    for (std::size_t k = 0; k < R.size(); ++k) {
      R[k] = std::pow(10.0, decade(random));
      changes.emplace_back("R" + std::to_string(k), R[k]);
    }
    CompiledModel fresh = circuit(R), changed = first.with_values(changes);
    ASSERT_EQ(fresh.variables().size(), 1u);
    ASSERT_EQ(changed.variables().size(), 1u);
    std::vector<double> expected(11), found(11);
    fresh.observe(fresh.initial_mode(), 0.0, std::vector{1.0}, std::vector{0.0}, expected);
    changed.observe(changed.initial_mode(), 0.0, std::vector{1.0}, std::vector{0.0}, found);
    ASSERT_EQ(expected, found) << "round " << round;
    // what the bridge takes, from its two unknown potentials, with more digits
    using Number = long double;
    std::vector<Number> g;
    for (const double r : R) g.push_back(1.0L / r);
    Eigen::Matrix<Number, 2, 2> A;
    A << g[0] + g[1] + g[4], -g[4], -g[4], g[2] + g[3] + g[4];
    const Eigen::Matrix<Number, 2, 1> p = A.fullPivLu().solve(Eigen::Matrix<Number, 2, 1>(4.0L * g[0], 4.0L * g[2]));
    const auto current = static_cast<double>((4.0L - p[0]) * g[0] + (4.0L - p[1]) * g[2]);
    EXPECT_NEAR(found[2] + found[6], current, 1e-8 * current);
  }
}

// A capacitor that is charged through a resistor and leaks: C vc' = i - vc/10 with i = (5 - vc)/R = 2, so vc' = 3.8.
TEST(LinearElimination, ACircuitIsExplicitHoweverItIsWritten) {
  for (int resistor = 0; resistor < 4; ++resistor)
    for (int loop = 0; loop < 4; ++loop) {
      SCOPED_TRACE(resistor);
      SCOPED_TRACE(loop);
      Model m("circuit");
      const Expr R = m.parameter("R", 2.0), C = m.parameter("C", 0.5);
      const Expr vc = m.variable("vc", 1.0, {.fixed = true}), v = m.variable("v"), i = m.variable("i");
      const Equation resistors[] = {i == v / R, v == R * i, R * i == v, v / R - i == 0.0};
      const Equation loops[] = {v == 5.0 - vc, v + vc == 5.0, Expr(5.0) == vc + v, 5.0 - vc - v == 0.0};
      m.equation(C * der(vc) == i - 0.1 * vc);
      m.equation(resistors[resistor]);
      m.equation(loops[loop]);
      CompiledModel compiled(m);
      System& system = compiled.system(compiled.initial_mode());
      ASSERT_TRUE(system.structure().explicit_ode);
      ASSERT_EQ(system.structure().variables, 1);
      double x = 1.0, xp = 0.0;
      system.rhs(0.0, std::span(&x, 1), std::span(&xp, 1));
      EXPECT_NEAR(xp, 3.8, 1e-14);
    }
}

TEST(LinearElimination, DifferencesThatVanishAreNoDivisors) {
  // (a - b) z is what is left of the equations for y and z: z is not determined where a = b
  const auto kept = [](double a, double b) {
    Model m("difference");
    const Expr A = m.parameter("a", a), B = m.parameter("b", b);
    const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y"), z = m.variable("z");
    m.equation(y - A * z == x);
    m.equation(y - B * z == sin(x));
    m.equation(der(x) == z * z + y * y);
    return CompiledModel(m);
  };
  CompiledModel regular = kept(0.7, 0.1);
  EXPECT_EQ(regular.variables().size(), 1u);
  EXPECT_GT(kept(0.1 + 0.2, 0.3).variables().size(), 1u);  // a difference of rounding errors
  EXPECT_GT(regular.with_values({{"a", 0.1 + 1e-17}}).variables().size(), 1u);
  EXPECT_EQ(regular.with_values({{"a", 0.5}}).variables().size(), 1u);
}

TEST(LinearElimination, StartValuesOfWhatIsSearchedAreKept) {
  // y + z = 3, y^2 + z^2 = 5: (1, 2) and (2, 1)
  const auto at_start = [](double y0) {
    Model m("guess");
    const Expr x = m.variable("x", 0.0, {.fixed = true}), y = m.variable("y", y0), z = m.variable("z");
    m.equation(y + z == 3.0);
    m.equation(y * y + z * z == 5.0);
    m.equation(der(x) == y);
    CompiledModel compiled(m);
    std::vector<std::string> names;
    for (const VariableInfo& v : compiled.variables()) names.push_back(v.name);
    return names;
  };
  EXPECT_EQ(at_start(2.2), (std::vector<std::string>{"x", "y"}));
}

TEST(LinearElimination, VariablesInRelationsAndFunctionsAreReplaced) {
  // w occurs in a relation and in a sine, and is the sum of others; what is solved for it must not read it
  Model m("relation");
  const Expr x = m.variable("x", 0.4, {.fixed = true}), w = m.variable("w"), v = m.variable("v"), s = m.variable("s");
  m.equation(w + v == 2.0 * x);
  m.equation(v - 0.5 * w == x + 0.1 * sin(m.time()));
  m.equation(s + w == sin(w) + if_else(w > 0.2, v, -v));
  m.equation(der(x) == -s);
  CompiledModel compiled(m);
  ASSERT_EQ(compiled.variables().size(), 1u);
  std::vector<double> values(4);
  for (const double truth : {0.0, 1.0}) {
    Mode mode = compiled.initial_mode();
    ASSERT_EQ(mode.locks.size(), 1u);
    mode.locks[0] = truth;
    compiled.observe(mode, 0.5, std::vector{0.4}, std::vector{0.0}, values);
    const double W = (0.4 - 0.1 * std::sin(0.5)) / 1.5, V = 0.8 - W;
    EXPECT_NEAR(values[1], W, 1e-15);
    EXPECT_NEAR(values[2], V, 1e-15);
    EXPECT_NEAR(values[3], std::sin(W) + (truth != 0.0 ? V : -V) - W, 1e-15);
  }
}

}  // namespace
}  // namespace saltus
