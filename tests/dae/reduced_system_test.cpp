#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/linalg/lu.hpp>

#include <array>
#include <cmath>

#include "problems/circuits.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

using problems::Problem;

// Radau IIA with two stages (order 3), fixed steps, simplified Newton with the Jacobian at the start of the step: the
// plainest integrator that uses a System as the library's own do. Returns false if Newton's method fails.
bool integrate(System& system, double t, std::vector<double>& x, std::vector<double>& xp, double end, int steps) {
  constexpr std::array<double, 2> c{1.0 / 3.0, 1.0};
  constexpr double A[2][2] = {{5.0 / 12.0, -1.0 / 12.0}, {0.75, 0.25}};
  const Structure& s = system.structure();
  const int n = s.variables;
  const auto size = static_cast<std::size_t>(n);
  const double h = (end - t) / steps;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> K(2 * size), r(2 * size), stage(size), matrix(4 * size * size);
  DenseLu lu;
  for (int step = 0; step < steps; ++step) {
    system.jacobian(t, x, xp, Fx, Fxp);
    std::ranges::fill(matrix, 0.0);
    const auto put = [&](int bi, int bj, const SparsePattern& p, const std::vector<double>& v, double factor) {
      for (int j = 0; j < n; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k)
          matrix[static_cast<std::size_t>(bj * n + j) * 2 * size + static_cast<std::size_t>(bi * n + p.row[k])] +=
              factor * v[k];
    };
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        put(i, j, s.state_pattern, Fx, h * A[i][j]);
        if (i == j) put(i, j, s.derivative_pattern, Fxp, 1.0);
      }
    if (!lu.factorise(2 * n, matrix)) return false;
    for (int i = 0; i < 2; ++i) std::ranges::copy(xp, K.begin() + i * n);
    bool converged = false;
    for (int iteration = 0; iteration < 20 && !converged; ++iteration) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < n; ++j) stage[j] = x[j] + h * (A[i][0] * K[j] + A[i][1] * K[n + j]);
        system.residual(t + c[i] * h, stage, std::span(K).subspan(i * size, size),
                        std::span(r).subspan(i * size, size));
      }
      if (!std::isfinite(norm(r))) return false;
      lu.solve(r);
      double largest = 0.0;
      for (std::size_t k = 0; k < r.size(); ++k) {
        K[k] -= r[k];
        largest = std::max(largest, std::abs(h * r[k]) / (1.0 + std::abs(K[k])));
      }
      converged = largest < 1e-13;
    }
    if (!converged) return false;
    for (int j = 0; j < n; ++j) {
      x[j] += h * (0.75 * K[j] + 0.25 * K[n + j]);
      xp[j] = K[n + j];
    }
    t += h;
  }
  return true;
}

struct Motion {
  std::vector<double> x, xp;
  bool ok = false;
};

Motion reduce_and_integrate(const Problem& p, double end, int steps, const InitialisationOptions& options = {}) {
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values, options);
  EXPECT_TRUE(start.ok()) << start.message;
  ReducedSystem reduced(*p.system, values);
  reduced.restart(p.t, start.X);
  Motion run{start.x, start.xp};
  run.ok = integrate(reduced, p.t, run.x, run.xp, end, steps);
  return run;
}

// The pendulum as an ODE for the angle, classical Runge-Kutta with steps so small that its error is below 1e-12.
std::array<double, 2> angle_at(double end) {
  const int steps = 20000;
  const double h = end / steps;
  std::array<double, 2> y{M_PI / 2, 0.0};
  const auto f = [](const std::array<double, 2>& z) { return std::array{z[1], -problems::gravity * std::sin(z[0])}; };
  const auto add = [](const std::array<double, 2>& a, double w, const std::array<double, 2>& b) {
    return std::array{a[0] + w * b[0], a[1] + w * b[1]};
  };
  for (int k = 0; k < steps; ++k) {
    const auto k1 = f(y), k2 = f(add(y, h / 2, k1)), k3 = f(add(y, h / 2, k2)), k4 = f(add(y, h, k3));
    y = add(add(add(add(y, h / 6, k1), h / 3, k2), h / 3, k3), h / 6, k4);
  }
  return y;
}

TEST(ReducedSystem, LetsAnOrdinaryIntegratorSolveThePendulumAtItsFullOrder) {
  const auto [angle, speed] = angle_at(1.0);
  const std::vector<double> exact{std::sin(angle), -std::cos(angle), std::cos(angle) * speed, std::sin(angle) * speed};
  double previous = 0.0;
  for (int steps : {100, 200, 400}) {
    const Motion run = reduce_and_integrate(problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}), 1.0, steps);
    ASSERT_TRUE(run.ok);
    double error = 0.0;
    for (std::size_t j = 0; j < 4; ++j) error = std::max(error, std::abs(run.x[j] - exact[j]));
    // all constraints hold to rounding, with no drift
    EXPECT_NEAR(run.x[0] * run.x[0] + run.x[1] * run.x[1], 1.0, 1e-12);
    EXPECT_NEAR(run.x[0] * run.x[2] + run.x[1] * run.x[3], 0.0, 1e-11);
    if (previous > 0.0) {
      EXPECT_GT(std::log2(previous / error), 2.8);  // order 3
    }
    previous = error;
  }
  EXPECT_LT(previous, 1e-5);
}

TEST(ReducedSystem, IntegratesRedundantEquations) {
  const Problem p = problems::pendulum_with_hidden_constraints();
  const Motion run = reduce_and_integrate(p, 1.0, 400);
  ASSERT_TRUE(run.ok);
  Problem plain = problems::pendulum(p.guess);
  const Motion reference = reduce_and_integrate(plain, 1.0, 400);
  ASSERT_TRUE(reference.ok);
  // two discretisations of the same motion, each with an error of order h^3 = 1.6e-8 times a constant of size 1e2
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(run.x[j], reference.x[j], 1e-5);
}

TEST(ReducedSystem, FollowsTheExactSolutionOfRotatingBlocks) {
  for (int block : {2, 3, 4}) {
    const Problem p = problems::rotating_block(block);
    const double end = p.t + 0.5;
    const Motion run = reduce_and_integrate(p, end, 50, {.hold = Hold::fixed_only});
    ASSERT_TRUE(run.ok) << block;
    const auto zero = problems::rotating_block_solution(block, end, 0.0),
               one = problems::rotating_block_solution(block, end, 1.0);
    double numerator = 0.0, denominator = 0.0;
    for (std::size_t j = 0; j < zero.size(); ++j) {
      numerator += (one[j] - zero[j]) * (run.x[j] - zero[j]);
      denominator += (one[j] - zero[j]) * (one[j] - zero[j]);
    }
    const auto exact = problems::rotating_block_solution(block, end, numerator / denominator);
    // the algebraic part is solved, not integrated: no error of the step size
    for (std::size_t j = 0; j < exact.size(); ++j)
      EXPECT_NEAR(run.x[j], exact[j], 1e-8 * (1.0 + std::abs(exact[j]))) << block;
  }
}

TEST(ReducedSystem, TracksThePrescribedPathOfTheRobotArm) {
  const Problem p = problems::robot_arm();
  const Motion run = reduce_and_integrate(p, 0.5, 30);
  ASSERT_TRUE(run.ok);
  EXPECT_NEAR(run.x[0], 1.0 - std::exp(0.5), 1e-10);
  EXPECT_NEAR(run.x[2], std::exp(0.5) - 0.5, 1e-10);
}

TEST(ReducedSystem, ContinuesUndeterminedComponents) {
  const Problem p = problems::control_system();
  const Motion run = reduce_and_integrate(p, 1.0, 50);
  ASSERT_TRUE(run.ok);
  EXPECT_NEAR(run.x[3], run.x[0], 1e-12);
  for (double value : run.x) EXPECT_LT(std::abs(value), 10.0);
}

TEST(ReducedSystem, IntegratesTheNonlinearCircuit) {
  const Problem p = problems::nonlinear_circuit();
  const Motion coarse = reduce_and_integrate(p, 0.002, 400), middle = reduce_and_integrate(p, 0.002, 800),
               fine = reduce_and_integrate(p, 0.002, 1600);
  ASSERT_TRUE(coarse.ok && middle.ok && fine.ok);
  // order 3: differences of successive halvings shrink by 8
  EXPECT_NEAR(std::log2(std::abs(coarse.x[1] - middle.x[1]) / std::abs(middle.x[1] - fine.x[1])), 3.0, 0.3);
  EXPECT_NEAR(fine.x[0], 5.0 * std::sin(0.2), 1e-12);
}

TEST(ReducedSystem, JacobianAgreesWithDifferenceQuotients) {
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values);
  ReducedSystem reduced(*p.system, values);
  const int n = 5;
  const Structure& s = reduced.structure();
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), f(n), g(n), x = start.x,
                                                                                                        xp = start.xp;
  reduced.jacobian(p.t, x, xp, Fx, Fxp);
  const double h = 1e-6;
  for (int j = 0; j < n; ++j) {
    const double value = x[j];
    x[j] = value + h;
    reduced.residual(p.t, x, xp, f);
    x[j] = value - h;
    reduced.residual(p.t, x, xp, g);
    x[j] = value;
    for (int i = 0; i < n; ++i) EXPECT_NEAR((f[i] - g[i]) / (2 * h), Fx[j * n + i], 1e-6) << i << " " << j;
  }
  EXPECT_FALSE(s.differentiated(4));
  EXPECT_TRUE(s.differentiated(0));
  EXPECT_GT(reduced.margin(), 1e-4);
  EXPECT_FALSE(reduced.alarm());
}

TEST(ReducedSystem, IsOnlyNeededWhereThereIsSomethingToReduce) {
  const Problem amplifier = problems::transistor_amplifier(), pendulum = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  EXPECT_FALSE(needs_reduction(amplifier.system->structure(), amplifier.expected));
  EXPECT_TRUE(needs_reduction(pendulum.system->structure(), pendulum.expected));
  EXPECT_THROW(ReducedSystem(*pendulum.system, CharacteristicValues{}), UsageError);
}

}  // namespace
}  // namespace saltus
