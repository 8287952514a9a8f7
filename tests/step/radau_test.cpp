#include <gtest/gtest.h>
#include <saltus/step/radau.hpp>

#include <cmath>

#include "problems/stiff_problems.hpp"
#include "step/collocation.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

TEST(Collocation, OfOrder5IsTheOneOfTheBook) {
  // Hairer, Wanner II, Table IV.5.6 and section IV.8
  const Collocation& radau = radau_collocation(3);
  const StageSystem& m = radau.method;
  const double r = std::sqrt(6.0);
  EXPECT_NEAR(m.c[0], (4 - r) / 10, 1e-15);
  EXPECT_NEAR(m.c[1], (4 + r) / 10, 1e-15);
  EXPECT_EQ(m.c[2], 1.0);
  EXPECT_NEAR(m.gamma, 3.6378342527444957, 1e-14);
  EXPECT_NEAR(m.lambda[0].real(), 2.6810828736277521, 1e-14);
  EXPECT_NEAR(m.lambda[0].imag(), 3.0504301992474105, 1e-14);
  EXPECT_NEAR(radau.error[0], (-13 - 7 * r) / 3, 1e-13);
  EXPECT_NEAR(radau.error[1], (-13 + 7 * r) / 3, 1e-13);
  EXPECT_NEAR(radau.error[2], -1.0 / 3, 1e-13);
}

TEST(Collocation, DiffersByNothingFromItsDecomposition) {
  for (const int stages : {3, 5, 7})
    for (const StageSystem* m : {&radau_collocation(stages).method, &radau_collocation(stages).inside}) {
      const int s = m->stages;
      ASSERT_EQ(static_cast<int>(m->lambda.size()), m->pairs());
      for (int i = 0; i < s; ++i)
        for (int j = 0; j < s; ++j) {
          double sum = m->T_real[i] * m->gamma * m->Tinv_real[j];
          for (int k = 0; k < m->pairs(); ++k)
            sum += 2.0 * (m->T_complex[k * s + i] * m->lambda[k] * m->Tinv_complex[k * s + j]).real();
          // eigenvectors of condition 1000 at most, eigenvalues of size 30
          EXPECT_NEAR(sum, m->slopes[i * s + j], 1e-11) << s;
        }
    }
}

TEST(Collocation, InsideAStepNeedsTheMatricesOfTheMethod) {
  // the nodes are given to 16 digits; Newton's method bears eigenvalues that are off by much more
  for (const int stages : {3, 5, 7}) {
    const Collocation& m = radau_collocation(stages);
    EXPECT_NEAR(m.inside.gamma, m.method.gamma, 1e-9);
    for (int k = 0; k < m.method.pairs(); ++k) EXPECT_LT(std::abs(m.inside.lambda[k] - m.method.lambda[k]), 1e-9);
    // no eigenvalue in the left half plane, where those of stiff problems are
    for (const auto& lambda : m.inside.lambda) EXPECT_GT(lambda.real(), 1.0);
  }
}

TEST(Collocation, DifferentiatesPolynomialsExactly) {
  // values of theta^k (less those of theta, for polynomials that vanish at both ends) have their slopes at every node
  // up to the degree, and the polynomial through them has their coefficients
  for (const int stages : {3, 5, 7})
    for (const bool inside : {false, true}) {
      const StageSystem& m = inside ? radau_collocation(stages).inside : radau_collocation(stages).method;
      const int s = m.stages, degree = inside ? s + 1 : s;
      for (int k = inside ? 2 : 1; k <= degree; ++k) {
        const auto value = [&](double theta) { return std::pow(theta, k) - (inside ? theta : 0.0); };
        for (int i = 0; i < s; ++i) {
          double slope = 0.0;
          for (int j = 0; j < s; ++j) slope += m.slopes[i * s + j] * value(m.c[j]);
          EXPECT_NEAR(slope, k * std::pow(m.c[i], k - 1) - (inside ? 1.0 : 0.0), 1e-11);
        }
        for (int l = 0; l < degree; ++l) {
          double coefficient = 0.0, weights = 0.0;
          for (int j = 0; j < s; ++j) {
            coefficient += m.monomials[l * s + j] * value(m.c[j]);
            weights += std::abs(m.monomials[l * s + j]);
          }
          EXPECT_NEAR(coefficient, l == k - 1 ? 1.0 : l == 0 && inside ? -1.0 : 0.0, 1e-15 * weights);
        }
      }
    }
}

TEST(Radau, OfVariableOrderTakesTheOrderThatPays) {
  // never much worse than the best fixed order, on problems where different ones are best
  for (const double rtol : {1e-4, 1e-7, 1e-10}) {
    std::vector<problem::Problem> problems;
    problems.push_back(problem::hires());
    problems.push_back(problem::oregonator());
    problems.push_back(problem::van_der_pol());
    for (auto& problem : problems) {
      const double atol = 1e-3 * rtol;
      const auto cost = [&](int order, double& worst) {
        auto stepper = make_radau({.rtol = rtol, .atol = {atol}}, {.order = order});
        suite::error_at_end(*stepper, problem);
        worst = 0.0;
        for (std::size_t j = 0; j < problem.x1.size(); ++j)
          worst = std::max(worst, std::abs(stepper->x()[j] - problem.x1[j]) / (rtol * std::abs(problem.x1[j]) + atol));
        return static_cast<double>(stepper->statistics().evaluations);
      };
      double worst = 0.0, unused = 0.0;
      const double variable = cost(0, worst);
      double best = 1e300;
      for (const int order : {5, 9, 13}) best = std::min(best, cost(order, unused));
      RecordProperty(problem.name + std::to_string(rtol),
                     std::to_string(worst) + " with " + std::to_string(variable / best) + " of the least evaluations");
      EXPECT_LT(worst, 300.0) << problem.name << ", " << rtol;
      EXPECT_LT(variable, 1.5 * best) << problem.name << ", " << rtol;
    }
  }
}

std::unique_ptr<Stepper> exact_radau(StepOptions options, int order) {
  return make_radau(std::move(options), {.order = order, .fixed_iterations = 40});
}

TEST(Radau, KeepsItsOrderOnDaesOfIndex1) {
  // (the constraint of the first problem is too nonlinear for Newton at the long steps of order 9)
  const auto check = [](problem::Problem problem, int order, double floor, double fewest) {
    const double slope = suite::measured_order([&](StepOptions o) { return exact_radau(std::move(o), order); }, problem,
                                               order, floor, fewest);
    EXPECT_NEAR(slope, order, 0.3) << problem.name << ", order " << order;
  };
  check(problem::index_1(), 5, 1e-11, 24.0);
  check(problem::implicit_index_1(), 5, 1e-11, 24.0);
  check(problem::implicit_index_1(), 9, 1e-13, 11.0);
}

TEST(Radau, HoldsConstraintsAtEveryStep) {
  auto problem = problem::implicit_index_1();
  const double tolerance = 1e-9;
  auto stepper = make_radau({.rtol = tolerance, .atol = {tolerance}});
  stepper->start(*problem.system, {.x = problem.x0, .xp = problem.xp0});
  std::vector<double> F(2);
  while (stepper->t() < problem.t1) {
    ASSERT_TRUE(stepper->advance(problem.t1).ok());
    problem.system->residual(stepper->t(), stepper->x(), stepper->xp(), F);
    // Newton stops at sqrt(rtol_inner) = 3e-4 of the inner tolerance 1e-7
    EXPECT_LT(std::abs(F[0]), 1e-9);
    EXPECT_LT(std::abs(F[1]), 1e-9);
    EXPECT_NEAR(stepper->xp()[0], std::cos(stepper->t()) * std::exp(std::sin(stepper->t())), 1e-6);
  }
}

TEST(Radau, ControlsTheDenseOutputOfStiffProblemsOnRequest) {
  // the ends of a step lie on the smooth solution however long it is, so that the error test sees nothing of what
  // happens between them
  for (const int order : {5, 9, 13}) {
    auto problem = problem::prothero_robinson(1e6);
    const double tolerance = 1e-7;
    const auto largest_inside = [&](bool control, std::int64_t& steps) {
      auto stepper = make_radau({.rtol = tolerance, .atol = {tolerance}, .control_dense = control}, {.order = order});
      stepper->start(*problem.system, {.x = problem.x0});
      double largest = 0.0;
      while (stepper->t() < problem.t1) {
        EXPECT_TRUE(stepper->advance(problem.t1).ok());
        const DensePolynomial& p = stepper->dense();
        for (int i = 1; i < 10; ++i) {
          const double time = p.t0 + p.h * i / 10.0;
          largest = std::max(largest, std::abs(p.evaluate(time, 0) - std::sin(time)));
        }
      }
      steps = stepper->statistics().steps;
      return largest;
    };
    std::int64_t steps = 0, more_steps = 0;
    const double without = largest_inside(false, steps);
    if (order == 5) {
      EXPECT_GT(without, 1e-4);
    }
    // the inner tolerance of order 5 is 0.1 tol^(2/3) = 2e-6, of order 9 and 13 about 1e-5 and 3e-5
    EXPECT_LT(largest_inside(true, more_steps), 5e-5) << order;
    EXPECT_LT(more_steps, 100);
    EXPECT_GE(more_steps, steps);
  }
}

TEST(Radau, RefusesOtherOrdersAndStartsWithoutSlopes) {
  EXPECT_THROW(make_radau({}, {.order = 7}), UsageError);
  auto problem = problem::implicit_index_1();
  auto stepper = make_radau({});
  EXPECT_THROW(stepper->start(*problem.system, {.x = problem.x0}), UsageError);
  EXPECT_THROW(stepper->advance(1.0), UsageError);
}

/// q = 0.3 sin(p) and d = q', with p' = rate - d: of index 2. In a step of 1e-12 a rounding error of q moves d by 1e-4.
class DerivativeOfConstraint final : public System {
 public:
  DerivativeOfConstraint() {
    structure_.variables = structure_.equations = 3;
    structure_.state_pattern = {3, 3, {0, 1, 2, 4}, {1, 1, 0, 2}};  // p, q in equation 1, d in 0 and 2
    structure_.derivative_pattern = {3, 3, {0, 1, 2, 2}, {0, 2}};   // p' in equation 0, q' in equation 2
  }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    F[0] = xp[0] + x[2] - rate;
    F[1] = x[1] - 0.3 * std::sin(x[0]);
    F[2] = x[2] - xp[1];
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    Fx[0] = -0.3 * std::cos(x[0]);
    Fx[1] = Fx[2] = Fx[3] = 1.0;
    Fxp[0] = 1.0;
    Fxp[1] = -1.0;
  }
  static constexpr double rate = 1e-3;

 private:
  Structure structure_;
};

// Short steps lead to events. Corrections that are nothing but rounding errors of the variables end the iteration.
TEST(Radau, RoundingErrorsOfSlopesEndTheIteration) {
  DerivativeOfConstraint system;
  std::int64_t rejected = 0;
  for (const double h : {1e-10, 1e-12, 1e-14})
    for (double p = 1.1; p < 1.4; p += 0.001) {
      auto stepper = make_radau({.rtol = 1e-4, .atol = {1e-4}}, {.order = 5});
      const double r = system.rate / (1.0 + 0.3 * std::cos(p));
      const std::vector<double> x = {p, 0.3 * std::sin(p), 0.3 * std::cos(p) * r}, xp = {r, x[2], 0.0};
      stepper->start(system, {.t = 0.0, .x = x, .xp = xp, .step = h});
      for (int k = 1; k <= 20; ++k) ASSERT_TRUE(stepper->advance(k * h).ok()) << p << ' ' << h << ' ' << k;
      rejected += stepper->statistics().rejected;
      const double end = p + 20.0 * h * r;  // the rate changes by 1e-12 of it
      EXPECT_NEAR(stepper->x()[0], end, 1e-13);
      EXPECT_NEAR(stepper->x()[1], 0.3 * std::sin(end), 1e-13);
    }
  EXPECT_EQ(rejected, 0);
}

}  // namespace
}  // namespace saltus
