// What a BDF step on a reduced system solves: the discretisation of Kunkel and Mehrmann's code GENDA (Differential-
// Algebraic Equations, EMS 2006, (6.18)), the whole derivative array and the differential combinations of F with the
// slope of the formula,
//   F_[0..mu](t, x, y) = 0,   Z1ᵀ F(t, x, D_h x) = 0,
// checked here at every accepted step with an array, a scaling and projectors of its own.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/step/bdf.hpp>

#include <cmath>

#include "dae/array_scaling.hpp"
#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

struct Residuals {
  double array = 0.0, differential = 0.0;  // scaled; the second times the step size
};

/// At (t, x) with the slope xp of the formula.
Residuals genda_residuals(System& system, const CharacteristicValues& values, double t, std::span<const double> x,
                          std::span<const double> xp, double h) {
  const CharacteristicNumbers& numbers = values.numbers;
  const int n = system.structure().variables, m = system.structure().equations, level = numbers.mu;
  const ArrayScaling scaling{values.variable_scale, values.equation_scale, values.time_scale};
  const std::vector<double> row = row_factors(scaling, level), column = column_factors(scaling, level);
  DerivativeArray array(system);
  std::vector<double> X(column.size()), f(row.size());
  std::copy(x.begin(), x.end(), X.begin());
  std::copy(xp.begin(), xp.end(), X.begin() + n);
  Residuals result;
  Matrix J;
  Svd decomposition;
  for (int iteration = 0; iteration < 20; ++iteration) {  // Gauss-Newton for y, x fixed
    array.evaluate(t, level, X, f, J);
    apply_factors(J, row, column);
    for (std::size_t i = 0; i < f.size(); ++i) f[i] *= row[i];
    result.array = norm(f);
    decomposition = svd(columns(J, n, J.columns() - n));
    const std::vector<double> step = times(pseudo_inverse(decomposition, numbers.r - numbers.a), f);
    if (iteration > 0 && norm(step) <= 1e-14) break;
    for (std::size_t k = 0; k < step.size(); ++k)
      X[static_cast<std::size_t>(n) + k] -= step[k] * column[static_cast<std::size_t>(n) + k];
  }
  const Matrix Z2 = columns(decomposition.U, numbers.r - numbers.a, J.rows() - (numbers.r - numbers.a));
  const Svd constraints = svd(transpose_times(Z2, columns(J, 0, n)));
  const Matrix T2 = columns(constraints.V, numbers.a, n - numbers.a);
  Matrix E(m, n);  // F_x' is what level 0 has of x_[1]
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) E(i, j) = J(i, n + j);
  const Svd differential = svd(E * T2);
  std::vector<double> F(static_cast<std::size_t>(m));
  system.residual(t, x, xp, F);
  for (int k = 0; k < numbers.d; ++k) {
    double sum = 0.0;
    for (int i = 0; i < m; ++i) sum += differential.U(i, k) * F[i] * row[i];
    result.differential = std::max(result.differential, std::abs(sum) * h / scaling.time);
  }
  return result;
}

void check(const problems::Problem& p, double end, double tolerance) {
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  const Initialisation start = initialise(*p.system, p.t, p.guess, values, {});
  ASSERT_TRUE(start.ok()) << start.message;
  ReducedSystem reduced(*p.system, values);
  reduced.restart(p.t, start.X);
  auto stepper = make_bdf({.rtol = tolerance, .atol = {tolerance}});
  stepper->start(reduced, {.t = p.t, .x = start.x, .xp = start.xp});
  std::vector<double> R(start.x.size());
  double solved = 0.0;
  Residuals largest;
  while (stepper->t() < end) {
    const double before = stepper->t();
    ASSERT_TRUE(stepper->advance(end).ok()) << p.name << ", t = " << before;
    if (stepper->statistics().steps == 1) continue;  // of the starting method
    const double h = stepper->t() - before;
    reduced.residual(stepper->t(), stepper->x(), stepper->xp(), R);
    for (int k = 0; k < values.numbers.d; ++k) solved = std::max(solved, std::abs(R[k]) * h);
    const Residuals r = genda_residuals(*p.system, values, stepper->t(), stepper->x(), stepper->xp(), h);
    largest.array = std::max(largest.array, r.array);
    largest.differential = std::max(largest.differential, r.differential);
  }
  ::testing::Test::RecordProperty(p.name, std::to_string(largest.array / tolerance) + ", " +
                                              std::to_string(largest.differential / tolerance) + ", " +
                                              std::to_string(solved / tolerance) + " of the tolerance, " +
                                              std::to_string(stepper->statistics().steps) + " steps");
  // Newton's method ends at 3e-4 of the tolerance in x; entries and values are of size 10 or so
  EXPECT_LT(largest.array, 1e-2 * tolerance) << p.name;
  EXPECT_LT(solved, 1e-2 * tolerance) << p.name;                // with Z1 of the predicted point
  EXPECT_LT(largest.differential, 1e-2 * tolerance) << p.name;  // with Z1 of the accepted one
}

TEST(Genda, BdfOnTheReducedSystemSolvesArrayAndDifferentialPart) {
  check(problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}), 2.0, 1e-6);
  check(problems::car_axis(), 0.1, 1e-6);
  for (int block = 1; block <= 5; ++block) check(problems::rotating_block(block), 1.0, 1e-6);
}

}  // namespace
}  // namespace saltus
