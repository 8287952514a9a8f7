// Implicit steps whose linear systems are solved by GMRES, against an exact solution.
#include <gtest/gtest.h>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

/// Reaction and diffusion in a cube of n x n x n cells with cold sides, with a source for which x_i = a(t) phi_i is the
/// exact solution of the equations of the cells: phi is an eigenvector of the diffusion.
class Cube final : public System {
 public:
  explicit Cube(int n, double k) : n_(n), k_(k) {
    const double angle = std::numbers::pi / (n + 1);
    lambda_ = 6.0 * (1.0 - std::cos(angle));
    std::vector<std::pair<int, int>> places, diagonal;
    for (int i = 0; i < n * n * n; ++i) {
      phi_.push_back(std::sin(angle * (i % n + 1)) * std::sin(angle * (i / n % n + 1)) *
                     std::sin(angle * (i / (n * n) + 1)));
      diagonal.emplace_back(i, i);
      places.emplace_back(i, i);
      for_each_neighbour(i, [&](int j) { places.emplace_back(i, j); });
    }
    structure_.equations = structure_.variables = n * n * n;
    structure_.state_pattern = make_pattern(n * n * n, n * n * n, places);
    structure_.derivative_pattern = make_pattern(n * n * n, n * n * n, diagonal);
    structure_.explicit_ode = structure_.constant_mass = true;
  }
  const Structure& structure() const override { return structure_; }
  double exact(double t, int i) const { return a(t) * phi_[i]; }

  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const double change = 2.5 * std::cos(5.0 * t) + k_ * lambda_ * a(t);
    for (int i = 0; i < structure_.variables; ++i) {
      double sum = -6.0 * x[i];
      for_each_neighbour(i, [&](int j) { sum += x[j]; });
      const double there = exact(t, i);
      xp[i] = k_ * sum - x[i] * x[i] * x[i] + change * phi_[i] + there * there * there;
    }
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    rhs(t, x, F);
    for (std::size_t i = 0; i < F.size(); ++i) F[i] = xp[i] - F[i];
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const SparsePattern& p = structure_.state_pattern;
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) Fx[k] = p.row[k] == j ? 6.0 * k_ + 3.0 * x[j] * x[j] : -k_;
    std::fill(Fxp.begin(), Fxp.end(), 1.0);
  }

 private:
  static double a(double t) { return 1.0 + 0.5 * std::sin(5.0 * t); }
  template <class Visit>
  void for_each_neighbour(int i, Visit visit) const {
    const int x = i % n_, y = i / n_ % n_, z = i / (n_ * n_);
    if (x > 0) visit(i - 1);
    if (x + 1 < n_) visit(i + 1);
    if (y > 0) visit(i - n_);
    if (y + 1 < n_) visit(i + n_);
    if (z > 0) visit(i - n_ * n_);
    if (z + 1 < n_) visit(i + n_ * n_);
  }

  int n_;
  double k_, lambda_ = 0.0;
  std::vector<double> phi_;
  Structure structure_;
};

/// The largest error over the tolerance, at the ends of all steps.
double largest_error(Cube& cube, Stepper& stepper, double tolerance) {
  const auto n = static_cast<std::size_t>(cube.structure().variables);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = cube.exact(0.0, static_cast<int>(i));
  stepper.start(cube, {.t = 0.0, .x = x});
  double largest = 0.0;
  while (stepper.t() < 0.5) {
    if (!stepper.advance(0.5).ok()) return HUGE_VAL;
    for (std::size_t i = 0; i < n; ++i)
      largest = std::max(largest, std::abs(stepper.x()[i] - cube.exact(stepper.t(), static_cast<int>(i))));
  }
  return largest / tolerance;
}

// The solution does not amplify errors, so those at the ends are at most the sum of the local ones, and steps are
// accepted with one tolerance each.
TEST(IterativeSteps, OfRosenbrockMethodsKeepTheTolerance) {
  for (const double k : {50.0, 2000.0}) {
    Cube cube(20, k);
    for (const RosenbrockTableau* table : {&rodas_4(), &rodas_5p()})
      for (const double tolerance : {1e-3, 1e-5, 1e-7}) {
        const auto stepper = make_rosenbrock(*table, {.rtol = tolerance, .atol = {tolerance}});
        const double error = largest_error(cube, *stepper, tolerance);
        EXPECT_LE(error, static_cast<double>(stepper->statistics().steps))
            << table->name << ", " << tolerance << ", " << k;
        EXPECT_NE(stepper->linear_algebra().find("iterative (GMRES"), std::string::npos) << stepper->linear_algebra();
      }
  }
}

TEST(IterativeSteps, OfRadauMethodsKeepTheTolerance) {
  Cube cube(20, 500.0);
  for (const double tolerance : {1e-4, 1e-6}) {
    const auto stepper = make_radau({.rtol = tolerance, .atol = {tolerance}}, {.order = 5});
    const double error = largest_error(cube, *stepper, tolerance);
    EXPECT_LE(error, static_cast<double>(stepper->statistics().steps)) << tolerance;
    EXPECT_NE(stepper->linear_algebra().find("iterative (GMRES"), std::string::npos) << stepper->linear_algebra();
  }
}

}  // namespace
}  // namespace saltus
