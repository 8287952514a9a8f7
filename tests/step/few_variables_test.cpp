// Explicit Runge-Kutta methods have arithmetic of their own for a few variables, and keep what does not change at restarts.
#include <gtest/gtest.h>
#include <saltus/step/explicit_runge_kutta.hpp>

#include <cmath>
#include <vector>

namespace saltus {
namespace {

/// x_j' = cos(t + j) x_(j+1), the variables in a ring; the ring stands `copies` times behind itself. Copies do not change the error test, so
/// that the steps are those of one ring.
class Rings final : public System {
 public:
  Rings(int length, int copies) : length_(length) {
    structure_.variables = structure_.equations = length * copies;
    structure_.explicit_ode = true;
  }
  const Structure& structure() const override { return structure_; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const auto n = static_cast<std::size_t>(length_);
    for (std::size_t i = 0; i < x.size(); ++i)
      xp[i] = t > domain_end ? NAN : std::cos(t + static_cast<double>(i % n)) * x[i - i % n + (i % n + 1) % n];
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    rhs(t, x, F);
    for (std::size_t i = 0; i < x.size(); ++i) F[i] = xp[i] - F[i];
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>, std::span<double>) override {}

  double domain_end = INFINITY;

 private:
  Structure structure_;
  int length_;
};

std::vector<double> start_values(const System& system, int length) {
  std::vector<double> x;
  for (int i = 0; i < system.structure().variables; ++i) x.push_back(1.0 + 0.25 * (i % length));
  return x;
}

/// Values at the ends and in the middle of all steps from t = 0 to `end`.
std::vector<double> values_of_run(Stepper& stepper, System& system, std::span<const double> x0, double end, int variables) {
  std::vector<double> result, x(x0.size());
  stepper.start(system, {.x = x0, .direction = end > 0.0 ? +1 : -1});
  while (stepper.t() != end) {
    const StepOutcome outcome = stepper.advance(end);
    EXPECT_TRUE(outcome.ok());
    if (!outcome.ok()) break;
    result.insert(result.end(), stepper.x().begin(), stepper.x().begin() + variables);
    const DensePolynomial& p = stepper.dense();
    p.evaluate(p.t0 + 0.5 * p.h, x);
    result.insert(result.end(), x.begin(), x.begin() + variables);
  }
  return result;
}

const std::vector<const Tableau*>& methods() {
  static const std::vector<const Tableau*> all{&bogacki_shampine_3(), &dormand_prince_5(), &tsitouras_5(), &dormand_prince_8()};
  return all;
}

TEST(FewVariables, MakeTheStepsOfMany) {
  const double tolerance = 1e-6;
  for (const Tableau* method : methods())
    for (int length = 1; length <= 8; ++length)
      for (const double end : {5.0, -5.0}) {
        Rings one(length, 1), many(length, 9);
        auto few = make_explicit_runge_kutta(*method, {.rtol = tolerance, .atol = {tolerance}});
        auto any = make_explicit_runge_kutta(*method, {.rtol = tolerance, .atol = {tolerance}});
        const auto a = values_of_run(*few, one, start_values(one, length), end, length);
        const auto b = values_of_run(*any, many, start_values(many, length), end, length);
        ASSERT_EQ(a.size(), b.size()) << method->name << ", " << length;
        EXPECT_EQ(few->statistics().evaluations, any->statistics().evaluations) << method->name << ", " << length;
        EXPECT_EQ(few->statistics().rejected, any->statistics().rejected);
        EXPECT_GT(few->statistics().steps, 5);
        EXPECT_EQ(a, b) << method->name << ", " << length;  // both sum in the same order
      }
}

TEST(FewVariables, AreNotFiniteWhereManyAreNot) {
  for (const Tableau* method : methods())
    for (const int copies : {1, 3}) {
      Rings system(2, copies);
      system.domain_end = 1.0;
      auto stepper = make_explicit_runge_kutta(*method, {.rtol = 1e-6, .atol = {1e-6}});
      stepper->start(system, {.x = start_values(system, 2)});
      StepOutcome outcome;
      while (outcome.ok() && stepper->t() < 2.0) outcome = stepper->advance(2.0);
      EXPECT_EQ(outcome.result, StepResult::not_finite);
      EXPECT_EQ(outcome.worst, 0);
      EXPECT_NEAR(stepper->t(), 1.0, 1e-12);
      // the state is that of the last good step
      std::vector<double> xp(stepper->x().size());
      system.rhs(stepper->t(), stepper->x(), xp);
      for (std::size_t j = 0; j < xp.size(); ++j) EXPECT_EQ(stepper->xp()[j], xp[j]);
    }
}

// A stepper that has been used for other systems, in the other direction, does what a new one does, to the last bit.
TEST(Restart, KeepsNothingOfOtherSystems) {
  for (const Tableau* method : methods()) {
    const StepOptions options{.rtol = 1e-7, .atol = {1e-8}};
    auto used = make_explicit_runge_kutta(*method, options);
    for (const int length : {2, 3, 7, 2, 2, 1, 5, 4})
      for (const double end : {2.0, -2.0}) {
        Rings system(length, 1);
        auto fresh = make_explicit_runge_kutta(*method, options);
        const auto x0 = start_values(system, length);
        EXPECT_EQ(values_of_run(*used, system, x0, end, length), values_of_run(*fresh, system, x0, end, length))
            << method->name << ", " << length << ", " << end;
      }
  }
}

TEST(Restart, DenseOutputIsConstantUntilAStepIsMade) {
  Rings system(2, 1);
  const auto x0 = start_values(system, 2);
  auto stepper = make_explicit_runge_kutta(dormand_prince_5(), {});
  values_of_run(*stepper, system, x0, 1.0, 2);
  const std::vector<double> other{3.0, 4.0};
  stepper->start(system, {.t = 7.0, .x = other});
  const DensePolynomial& p = stepper->dense();
  EXPECT_EQ(p.t0, 7.0);
  EXPECT_EQ(p.h, 0.0);
  std::vector<double> x(2);
  for (const double t : {7.0, 8.0}) {
    p.evaluate(t, x);
    EXPECT_EQ(x, other);
  }
  p.derivative(7.0, x);
  EXPECT_EQ(x, std::vector<double>(2));
}

TEST(Restart, ChecksTolerancesForTheNewNumberOfVariables) {
  Rings two(2, 1), three(3, 1);
  const auto x2 = start_values(two, 2), x3 = start_values(three, 3);
  const StepOptions options{.rtol = 1e-6, .atol = {1e-6, 1e-3}};
  auto stepper = make_explicit_runge_kutta(dormand_prince_5(), options), fresh = make_explicit_runge_kutta(dormand_prince_5(), options);
  const auto before = values_of_run(*stepper, two, x2, 1.0, 2);
  for (int times = 0; times < 2; ++times) EXPECT_THROW(stepper->start(three, {.x = x3}), UsageError);
  EXPECT_EQ(values_of_run(*stepper, two, x2, 1.0, 2), before);
  EXPECT_EQ(values_of_run(*fresh, two, x2, 1.0, 2), before);
}

TEST(Restart, TakesASlopeThatIsGiven) {
  for (const int length : {1, 2, 5}) {
    Rings system(length, 1);
    const auto x0 = start_values(system, length);
    std::vector<double> slope(x0.size());
    system.rhs(0.0, x0, slope);
    auto given = make_explicit_runge_kutta(dormand_prince_5(), {}), found = make_explicit_runge_kutta(dormand_prince_5(), {});
    given->start(system, {.x = x0, .xp = slope, .step = 0.1, .xp_is_rhs = true});
    found->start(system, {.x = x0, .step = 0.1});
    ASSERT_TRUE(given->advance(1.0).ok());
    ASSERT_TRUE(found->advance(1.0).ok());
    for (std::size_t j = 0; j < x0.size(); ++j) EXPECT_EQ(given->x()[j], found->x()[j]);
    EXPECT_EQ(given->statistics().evaluations + 1, found->statistics().evaluations);
    slope[0] = NAN;
    given->start(system, {.x = x0, .xp = slope, .step = 0.1, .xp_is_rhs = true});
    EXPECT_EQ(given->advance(1.0).result, StepResult::not_finite);
  }
}

}  // namespace
}  // namespace saltus
