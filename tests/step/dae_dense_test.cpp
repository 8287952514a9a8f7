// Dense output of implicit methods on differential-algebraic problems: every variable, differentiated or not, has the
// order of the polynomial.
#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/step/radau.hpp>

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

}  // namespace
}  // namespace saltus
