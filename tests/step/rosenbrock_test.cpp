#include <gtest/gtest.h>
#include <saltus/linalg/lu.hpp>
#include <saltus/step/rosenbrock.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "problems/stiff_problems.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

using Vector = std::vector<double>;

/// The method in its original form: alpha, beta = alpha + gamma, b (Hairer, Wanner II, (7.4), from the transformed one
/// by (7.24)).
struct Original {
  int s;
  Vector alpha, beta, gamma, b;  // rows of s

  explicit Original(const RosenbrockTableau& t)
      : s(t.stages), alpha(s * s, 0.0), beta(s * s), gamma(s * s, 0.0), b(s, 0.0) {
    // Gamma^{-1} = 1/gamma - C is lower triangular: its inverse by columns
    Vector columns(s * s, 0.0);
    for (int i = 0; i < s; ++i)
      for (int j = 0; j <= i; ++j) columns[j * s + i] = i == j ? 1.0 / t.gamma : -t.C[i * s + j];
    DenseLu lu;
    EXPECT_TRUE(lu.factorise(s, columns));
    for (int j = 0; j < s; ++j) {
      Vector unit(s, 0.0);
      unit[j] = 1.0;
      lu.solve(unit);
      for (int i = 0; i < s; ++i) gamma[i * s + j] = unit[i];
    }
    Vector m(t.a.end() - s, t.a.end());
    m[s - 1] = 1.0;
    for (int i = 0; i < s; ++i)
      for (int j = 0; j < s; ++j) {
        for (int k = 0; k < s; ++k) alpha[i * s + j] += t.a[i * s + k] * gamma[k * s + j];
        b[j] += m[i] * gamma[i * s + j];
      }
    for (int k = 0; k < s * s; ++k) beta[k] = alpha[k] + gamma[k];
  }

  Vector times(const Vector& matrix, const Vector& v) const {
    Vector result(s, 0.0);
    for (int i = 0; i < s; ++i)
      for (int j = 0; j < s; ++j) result[i] += matrix[i * s + j] * v[j];
    return result;
  }
};

struct Tree {
  int nodes;
  double gamma;
  Vector phi;
};

/// All rooted trees: a node with one child takes beta, one with several takes alpha for each (Hairer, Wanner II,
/// Theorem IV.7.4).
std::vector<Tree> trees_up_to(const Original& m, int most) {
  std::vector<Tree> list = {{1, 1.0, Vector(m.s, 1.0)}};
  for (int nodes = 2; nodes <= most; ++nodes) {
    const int smaller = static_cast<int>(list.size());
    std::function<void(int, int, double, Vector, int)> add = [&](int rest, int largest, double gamma,
                                                                 const Vector& product, int children) {
      if (rest == 0) {
        list.push_back({nodes, gamma * nodes, product});
        return;
      }
      for (int child = largest; child >= 0; --child) {
        if (list[child].nodes > rest) continue;
        const bool only = children == 0 && list[child].nodes == rest;
        Vector next = m.times(only ? m.beta : m.alpha, list[child].phi);
        for (int i = 0; i < m.s; ++i) next[i] *= product[i];
        add(rest - list[child].nodes, child, gamma * list[child].gamma, next, children + 1);
      }
    };
    add(nodes - 1, smaller - 1, 1.0, Vector(m.s, 1.0), 0);
  }
  return list;
}

class RosenbrockTableTest : public ::testing::TestWithParam<const RosenbrockTableau*> {};

TEST_P(RosenbrockTableTest, MeetsTheOrderConditionsAndNotOneMore) {
  const RosenbrockTableau& t = *GetParam();
  const Original m(t);
  double beyond = 0.0;
  for (const Tree& tree : trees_up_to(m, t.order + 1)) {
    double sum = 0.0, size = 1.0;
    for (int i = 0; i < m.s; ++i) sum += m.b[i] * tree.phi[i], size += std::abs(m.b[i] * tree.phi[i]);
    // the published digits end at 1e-15 times coefficients of size 100
    if (tree.nodes <= t.order)
      EXPECT_NEAR(sum, 1.0 / tree.gamma, 1e-12 * size) << tree.nodes << " nodes";
    else
      beyond = std::max(beyond, std::abs(sum - 1.0 / tree.gamma));
  }
  EXPECT_GT(beyond, 1e-5);
}

TEST_P(RosenbrockTableTest, HasTimesThatFitItsMatrices) {
  const RosenbrockTableau& t = *GetParam();
  const Original m(t);
  const Vector c = m.times(m.alpha, Vector(m.s, 1.0)), d = m.times(m.gamma, Vector(m.s, 1.0));
  for (int i = 0; i < m.s; ++i) {
    EXPECT_NEAR(t.c[i], c[i], 1e-12) << i;
    EXPECT_NEAR(t.d[i], d[i], 1e-12) << i;
  }
}

std::string table_name(const ::testing::TestParamInfo<const RosenbrockTableau*>& info) {
  return info.param->order == 4 ? "Rodas4" : "Rodas5P";
}

INSTANTIATE_TEST_SUITE_P(Tables, RosenbrockTableTest, ::testing::Values(&rodas_4(), &rodas_5p()), table_name);

TEST(Rosenbrock, KeepsItsOrderOnAnIndex1Dae) {
  auto problem = problem::index_1();
  for (const RosenbrockTableau* table : {&rodas_4(), &rodas_5p()}) {
    const double slope =
        suite::measured_order([&](StepOptions options) { return make_rosenbrock(*table, std::move(options)); }, problem,
                              table->order, 1e-11, 24.0);
    RecordProperty("order", std::to_string(slope));
    EXPECT_NEAR(slope, table->order, 0.3) << table->name;
  }
}

TEST(Rosenbrock, RefusesWhatItCannotDo) {
  auto implicit = problem::implicit_index_1();
  auto stepper = make_rosenbrock(rodas_4(), {});
  EXPECT_THROW(stepper->start(*implicit.system, {.x = implicit.x0, .xp = implicit.xp0}), UsageError);
  auto dae = problem::index_1();
  EXPECT_THROW(stepper->start(*dae.system, {.x = dae.x0}), UsageError);
}

/// Many copies of a stiff equation with an algebraic variable: x' = -mu (z - cos t), 0 = z - x - x^3 / 10.
class Copies final : public System {
 public:
  explicit Copies(int count) : count_(count) {
    structure_.variables = structure_.equations = 2 * count;
    structure_.constant_mass = true;
    std::vector<std::pair<int, int>> x, xp;
    for (int i = 0; i < count; ++i) {
      x.insert(x.end(), {{2 * i + 1, 2 * i}, {2 * i, 2 * i + 1}, {2 * i + 1, 2 * i + 1}});
      xp.emplace_back(2 * i, 2 * i);
    }
    structure_.state_pattern = make_pattern(2 * count, 2 * count, x);
    structure_.derivative_pattern = make_pattern(2 * count, 2 * count, xp);
  }
  const Structure& structure() const override { return structure_; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    for (int i = 0; i < count_; ++i) {
      const double u = x[2 * i], z = x[2 * i + 1];
      F[2 * i] = xp[2 * i] + 1e3 * (z - std::cos(t));
      F[2 * i + 1] = z - u - 0.1 * u * u * u;
    }
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx, std::span<double> Fxp) override {
    ++jacobians;
    for (int i = 0; i < count_; ++i) {
      Fx[3 * i] = -1.0 - 0.3 * x[2 * i] * x[2 * i];
      Fx[3 * i + 1] = 1e3;
      Fx[3 * i + 2] = 1.0;
      Fxp[i] = 1.0;
    }
  }
  void time_derivative(double t, std::span<const double>, std::span<const double>, std::span<double> Ft) override {
    for (int i = 0; i < count_; ++i) Ft[2 * i] = 1e3 * std::sin(t), Ft[2 * i + 1] = 0.0;
  }

  int jacobians = 0;

 private:
  int count_;
  Structure structure_;
};

/// Large systems have their Jacobian in the room of the stages and one tolerance for all variables.
TEST(Rosenbrock, ManyCopiesOfASystemMoveLikeOne) {
  for (const RosenbrockTableau* tableau : {&rodas_4(), &rodas_5p()}) {
    Copies one(10), many(700);  // the matrices of both are reduced and banded, or dense
    StepOptions options;
    options.rtol = 1e-6;
    options.atol = {1e-6};
    const auto a = make_rosenbrock(*tableau, options), b = make_rosenbrock(*tableau, options);
    const auto start = [&](Stepper& stepper, System& system) {
      Vector x(static_cast<std::size_t>(system.structure().variables)), xp(x.size());
      for (std::size_t j = 0; j < x.size(); j += 2) {
        x[j] = 2.0;
        x[j + 1] = 2.8;
        xp[j] = -1e3 * 1.8;
        xp[j + 1] = (1.0 + 0.3 * 4.0) * xp[j];
      }
      stepper.start(system, {.t = 0.0, .x = x, .xp = xp, .step = 0.1});
    };
    start(*a, one);
    start(*b, many);
    for (int step = 0; step < 5000 && a->t() < 3.0; ++step) {
      ASSERT_TRUE(a->advance(3.0).ok() && b->advance(3.0).ok());
      // factors of different kinds round differently; steps follow the errors, which are far larger
      ASSERT_NEAR(a->t(), b->t(), 1e-6 * a->t());
      const DensePolynomial& p = a->dense();
      const DensePolynomial& q = b->dense();
      ASSERT_EQ(q.c.size(), q.variables * static_cast<std::size_t>(q.degree + 1));
      for (const double theta : {0.0, 0.3, 1.0})
        for (const int j : {0, 1, 1398, 1399}) {
          const double there = p.t0 + theta * p.h;
          ASSERT_NEAR(q.evaluate(there, j), p.evaluate(there, j % 2), 1e-8) << tableau->name << " t = " << there;
        }
      for (const int j : {0, 1399}) ASSERT_NEAR(b->xp()[j], a->xp()[j % 2], 1e-6 * (1.0 + std::abs(a->xp()[j % 2])));
    }
    EXPECT_EQ(a->t(), 3.0);
    EXPECT_EQ(a->statistics().rejected, b->statistics().rejected);
    EXPECT_GT(b->statistics().rejected, 0);  // the first step is too long
    EXPECT_EQ(b->statistics().jacobians, many.jacobians);
    EXPECT_EQ(many.jacobians, one.jacobians + b->statistics().rejected);
    b->forget_dense();
    EXPECT_EQ(b->dense().evaluate(3.0, 0), b->x()[0]);
  }
}

/// Heat in a rod that loses more of it where it is hot: explicit equations.
class Rod final : public System {
 public:
  explicit Rod(int cells) {
    structure_.variables = structure_.equations = cells;
    structure_.explicit_ode = structure_.constant_mass = true;
    std::vector<std::pair<int, int>> x, xp;
    for (int i = 0; i < cells; ++i) {
      xp.emplace_back(i, i);
      for (int j = std::max(i - 1, 0); j <= std::min(i + 1, cells - 1); ++j) x.emplace_back(i, j);
    }
    structure_.state_pattern = make_pattern(cells, cells, x);
    structure_.derivative_pattern = make_pattern(cells, cells, xp);
  }
  const Structure& structure() const override { return structure_; }
  void rhs(double, std::span<const double> x, std::span<double> xp) override {
    const std::size_t n = x.size();
    for (std::size_t i = 0; i < n; ++i)
      xp[i] = 50.0 * ((i > 0 ? x[i - 1] : 0.0) - 2.0 * x[i] + (i + 1 < n ? x[i + 1] : 0.0)) - x[i] * x[i] * x[i];
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    rhs(t, x, F);
    for (std::size_t i = 0; i < F.size(); ++i) F[i] = xp[i] - F[i];
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const SparsePattern& p = structure_.state_pattern;
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) Fx[k] = p.row[k] == j ? 100.0 + 3.0 * x[j] * x[j] : -50.0;
    std::ranges::fill(Fxp, 1.0);
  }

 private:
  Structure structure_;
};

TEST(Rosenbrock, SlopesOfExplicitEquationsAreTheirRightHandSidesAndMayBeGiven) {
  for (const RosenbrockTableau* tableau : {&rodas_4(), &rodas_5p()})
    for (const int cells : {3, 700}) {
      Rod rod(cells);
      Vector x0(static_cast<std::size_t>(cells)), slope(x0.size());
      for (std::size_t i = 0; i < x0.size(); ++i) x0[i] = std::sin(1.0 + 0.01 * static_cast<double>(i));
      rod.rhs(0.0, x0, slope);
      const auto given = make_rosenbrock(*tableau, {}), found = make_rosenbrock(*tableau, {});
      given->start(rod, {.x = x0, .xp = slope, .step = 0.01, .xp_is_rhs = true});
      found->start(rod, {.x = x0, .step = 0.01});
      for (int step = 0; step < 3; ++step) {
        ASSERT_TRUE(given->advance(1.0).ok() && found->advance(1.0).ok());
        EXPECT_TRUE(given->xp_is_rhs());
        rod.rhs(given->t(), given->x(), slope);
        for (std::size_t i = 0; i < x0.size(); ++i) {
          ASSERT_EQ(given->x()[i], found->x()[i]) << i;
          ASSERT_EQ(given->xp()[i], slope[i]) << i;
        }
      }
      EXPECT_EQ(given->statistics().evaluations + 1, found->statistics().evaluations);
      slope.back() = NAN;
      given->start(rod, {.x = x0, .xp = slope, .step = 0.01, .xp_is_rhs = true});
      EXPECT_EQ(given->advance(1.0).result, StepResult::not_finite);
      EXPECT_FALSE(given->xp_is_rhs());
    }
}

}  // namespace
}  // namespace saltus
