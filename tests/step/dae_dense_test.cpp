// Dense output of implicit methods on differential-algebraic problems: every variable, differentiated or not, has the
// order of the polynomial.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>

#include <cmath>
#include <functional>

#include "problems/mechanics.hpp"
#include "problems/stiff_problems.hpp"
#include "suites/stepper_suite.hpp"

namespace saltus {
namespace {

using suite::KnownSolution;
using suite::measured_dense_order;

/// A reduced system that begins anew at every point it is asked for.
class ReducedAnywhere {
 public:
  explicit ReducedAnywhere(problems::Problem problem)
      : problem_(std::move(problem)),
        values_(characteristic_values(*problem_.system, problem_.t, problem_.guess)),
        reduced_(*problem_.system, values_) {}

  System& at(double t, std::span<const double> x, std::span<const double> xp) {
    std::vector<double> X(x.begin(), x.end());
    X.insert(X.end(), xp.begin(), xp.end());
    reduced_.restart(t, X);
    return reduced_;
  }

 private:
  problems::Problem problem_;
  CharacteristicValues values_;
  ReducedSystem reduced_;
};

auto exact_radau(int order) {
  return
      [order](StepOptions options) { return make_radau(std::move(options), {.order = order, .fixed_iterations = 40}); };
}

/// Of order 2s-2, or up to that of the ends of the step as long as these dominate.
void check_radau(const KnownSolution& known, int order, const std::string& name, double longest) {
  const double slope = measured_dense_order(exact_radau(order), known, order == 13 ? 3e-14 : 1e-13, longest);
  ::testing::Test::RecordProperty(name + "_" + std::to_string(order), std::to_string(slope - 1.0));
  EXPECT_GT(slope, order - 0.3) << name << ", order " << order;
  EXPECT_LT(slope, order + 1.3) << name << ", order " << order;
}

TEST(DaeDense, OfRadauHasItsOrderAtIndex1) {
  auto implicit = problem::implicit_index_1(), fast = problem::fast_index_1();
  for (const int order : {5, 9}) check_radau(suite::known_solution(implicit), order, "implicit", 0.5);
  for (const int order : {5, 9, 13}) check_radau(suite::known_solution(fast), order, "fast", 0.5);
}

void check_reduced(problems::Problem problem, std::function<std::vector<double>(double)> exact, int order,
                   const std::string& name, double longest) {
  ReducedAnywhere reduced(std::move(problem));
  const auto at = [&](double t, std::span<const double> x, std::span<const double> xp) -> System& {
    return reduced.at(t, x, xp);
  };
  check_radau({.t0 = 0.3, .t1 = 6.3, .exact = std::move(exact), .system_at = at}, order, name, longest);
}

/// x1' = x2, x2' = x3, x1 = sin t, z' = x3 - z: Newton's method converges at once, however long the step.
problems::Problem chain_of_index_3() {
  problems::Recorder r;
  const auto x = r.variables("x1 x2 x3 z");
  r.equation(der(x[0]) - x[1]);
  r.equation(der(x[1]) - x[2]);
  r.equation(x[0] - sin(r.time()));
  r.equation(der(x[3]) - x[2] + x[3]);
  return {"chain", r.system(), 0.0, {0.0, 1.0, 0.0, 0.5}, {2, 1, 3, 0, 0, 12}};
}

TEST(DaeDense, OfRadauHasItsOrderAtIndex3) {
  // (the steps that order 13 needs to show itself are beyond what Newton's method bears from a restart of the rotor)
  constexpr double w = 4.0;
  const auto rotor = [](double t) { return problems::driven_rotor_solution(t, w); };
  for (const int order : {5, 9}) check_reduced(problems::driven_rotor(w), rotor, order, "driven_rotor", 0.18);
  const auto chain = [](double t) {
    const double s = std::sin(t), c = std::cos(t);
    return std::vector{s, c, -s, 0.5 * (c - s)};
  };
  for (const int order : {5, 9, 13}) check_reduced(chain_of_index_3(), chain, order, "linear", 4.0);
}

/// The largest error inside one step of size h from exact values at a dozen places, at the tightest tolerance with which that step
/// is made: there a polynomial that is worse than the ends of the step must be corrected.
double error_inside(const RosenbrockTableau& table, problem::Problem& problem, double h) {
  double largest = 0.0;
  for (int place = 0; place < 12; ++place) {
    const double t0 = problem.t0 + (problem.t1 - problem.t0) * place / 12.0;
    const std::vector<double> x0 = problem.exact(t0);
    const std::vector<double> before = problem.exact(t0 - 1e-5), after = problem.exact(t0 + 1e-5);
    std::vector<double> x(x0.size()), xp(x0.size());
    for (std::size_t j = 0; j < x.size(); ++j) xp[j] = (after[j] - before[j]) / 2e-5;
    std::unique_ptr<Stepper> stepper;
    for (double tolerance = 1e-15; !stepper || stepper->statistics().rejected > 0; tolerance *= 2.0) {
      stepper = make_rosenbrock(
          table, {.rtol = 0.0, .atol = {tolerance}, .max_step = h, .initial_step = h, .keep_dense = true});
      stepper->start(*problem.system, {.t = t0, .x = x0, .xp = xp});
      EXPECT_TRUE(stepper->advance(t0 + 2.0 * h).ok());
    }
    const DensePolynomial& p = stepper->dense();
    for (int i = 1; i < 16; ++i) {
      const double t = t0 + h * i / 16.0;
      p.evaluate(t, x);
      const std::vector<double> exact = problem.exact(t);
      for (std::size_t j = 0; j < x.size(); ++j) largest = std::max(largest, std::abs(x[j] - exact[j]));
    }
  }
  return largest;
}

TEST(DaeDense, OfRosenbrockMethodsHasItsOrderInAlgebraicVariables) {
  auto index_1 = problem::index_1(), fast = problem::fast_index_1();
  for (const RosenbrockTableau* table : {&rodas_4(), &rodas_5p()})
    for (problem::Problem* problem : {&index_1, &fast}) {
      // order q: h^(q+1); without corrections q is 2 and 3. Steps so short that the polynomial is worse than the error estimate, and
      // so long that what is left is well above rounding.
      const double coarse = error_inside(*table, *problem, 0.0035), fine = error_inside(*table, *problem, 0.00175);
      const double order = std::log2(coarse / fine) - 1.0;
      RecordProperty(table->name + "_" + problem->name, std::to_string(order));
      EXPECT_GT(order, table->dense_degree - 0.3) << table->name << ", " << problem->name;
      EXPECT_GT(fine, 1e-14);
    }
}

TEST(DaeDense, OfStepsThatAreKeptChangesNothingElse) {
  auto problem = problem::index_1();
  for (const RosenbrockTableau* table : {&rodas_4(), &rodas_5p()}) {
    std::vector<double> ends[2];
    for (const bool keep : {false, true}) {
      auto stepper = make_rosenbrock(*table, {.rtol = 1e-6, .atol = {1e-6}, .keep_dense = keep});
      stepper->start(*problem.system, {.x = problem.x0, .xp = problem.xp0});
      while (stepper->t() < problem.t1) {
        ASSERT_TRUE(stepper->advance(problem.t1).ok());
        const DensePolynomial& p = stepper->dense();
        EXPECT_EQ(p.t1(), stepper->t());
        EXPECT_NEAR(p.evaluate(stepper->t(), 1), stepper->x()[1], 1e-14 * stepper->x()[1]);  // it still meets the end
        ends[keep].insert(ends[keep].end(), stepper->x().begin(), stepper->x().end());
      }
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

}  // namespace
}  // namespace saltus
