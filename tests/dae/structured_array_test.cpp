#include "dae/structured_array.hpp"

#include <gtest/gtest.h>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/initialisation.hpp>
#include <saltus/linalg/decomposition.hpp>

#include "problems/linear.hpp"
#include "problems/mechanics.hpp"

namespace saltus {
namespace {

using problems::Problem;

/// The sine of the largest angle between the spaces of the columns of two matrices, which are orthonormal.
double angle_between(const Matrix& a, const Matrix& b) {
  return norm2(b - a * transpose_times(a, b));
}

/// At a point: the directions by the cut array, and T2 by the ranks of the whole derivative array.
void expect_same_directions(const Problem& p) {
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  ASSERT_TRUE(values.certificate.valid) << p.name;
  StructuredArray array(*p.system, values.structure);
  const auto directions = array.directions(p.t, values.X, values.variable_scale, values.time_scale);
  ASSERT_TRUE(directions) << p.name;
  ASSERT_EQ(directions->columns(), values.T2.columns()) << p.name;
  EXPECT_LT(angle_between(values.T2, *directions), 1e-9) << p.name;
  EXPECT_LT(norm2(transpose_times(*directions, *directions) - Matrix::identity(directions->columns())), 1e-14);
}

TEST(StructuredArray, FindsTheDirectionsThatRankDecisionsFind) {
  expect_same_directions(problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0}));
  expect_same_directions(problems::pendulum({0.0, -1.0, 1.0, 0.0, 1.0}));
  expect_same_directions(problems::pendulum({0.6e-6, -0.8e-6, 0.0, 0.0, 1e7}, 1e-6));
  expect_same_directions(problems::slider_crank({0.5, -0.2, 1.0, 0.0, 0.0}));
  expect_same_directions(problems::pendulum_ggl());
}

// On the circle p = (0.6, -0.8) moves along (0.8, 0.6), and (vx, vy) is turned with it and may change its length.
TEST(StructuredArray, LeavesThePendulumItsCircleAndItsSpeed) {
  const Problem p = problems::pendulum({0.6, -0.8, 0.8, 0.6, 8.848});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  StructuredArray array(*p.system, values.structure);
  // p, v and lambda with their derivatives; the motion is turned by g in its second derivative
  const double l = 8.848, g = problems::gravity, slope = -3.0 * g * 0.6;
  const std::vector<double> X{0.6,
                              -0.8,
                              0.8,
                              0.6,
                              l,
                              0.8,
                              0.6,
                              -0.6 * l,
                              0.8 * l - g,
                              slope,
                              -0.3 * l,
                              0.4 * l - 0.5 * g,
                              -0.5 * (0.6 * slope + 0.8 * l),
                              -0.5 * (0.6 * l - 0.8 * slope),
                              0.0,
                              0.0,
                              0.0,
                              0.0,
                              0.0,
                              0.0};
  const auto directions = array.directions(p.t, X, std::vector<double>(5, 1.0), 1.0);
  ASSERT_TRUE(directions);
  ASSERT_EQ(directions->columns(), 2);
  for (int f = 0; f < 2; ++f) {
    const Matrix& d = *directions;
    EXPECT_NEAR(0.6 * d(0, f) - 0.8 * d(1, f), 0.0, 1e-14);
    EXPECT_NEAR(0.6 * d(2, f) - 0.8 * d(3, f) + 0.8 * d(0, f) + 0.6 * d(1, f), 0.0, 1e-14);
    EXPECT_NEAR(d(4, f), 2.0 * (0.8 * d(2, f) + 0.6 * d(3, f)) - problems::gravity * d(1, f), 1e-13);
  }
}

TEST(StructuredArray, HasNoDirectionsWhereTheRodHasNoLength) {
  const Problem p = problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0});
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  StructuredArray array(*p.system, values.structure);
  const std::vector<double> nowhere(values.X.size(), 0.0);
  EXPECT_FALSE(array.directions(p.t, nowhere, values.variable_scale, values.time_scale));
}

}  // namespace
}  // namespace saltus
