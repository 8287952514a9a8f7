// What the header of Consistency promises, with modes whose consistent values are known.
#include "hybrid/consistency.hpp"

#include <gtest/gtest.h>
#include <saltus/dae/staged_series.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "hybrid/small_systems.hpp"

namespace saltus {
namespace {

using saltus::testing::ModeBuilder;

/// p' = v, v' = -lambda p - (0, 10), |p| = 1.
void add_pendulum(ModeBuilder& m, const std::string& suffix) {
  std::vector<Expr> p;
  for (const char* name : {"x", "y", "u", "v", "lambda"}) p.push_back(m.variable(name + suffix));
  m.equation(der(p[0]) - p[2]);
  m.equation(der(p[1]) - p[3]);
  m.equation(der(p[2]) + p[4] * p[0]);
  m.equation(der(p[3]) + p[4] * p[1] + 10.0);
  m.equation(p[0] * p[0] + p[1] * p[1] - 1.0);
}

std::unique_ptr<RecordedSystem> pendulum() {
  ModeBuilder m;
  add_pendulum(m, "");
  return m.system();
}

/// The constraint of the pendulum, its first and its second derivative.
void expect_on_constraints(const std::vector<double>& x, double tolerance) {
  EXPECT_NEAR(x[0] * x[0] + x[1] * x[1], 1.0, tolerance);
  EXPECT_NEAR(x[0] * x[2] + x[1] * x[3], 0.0, tolerance);
  EXPECT_NEAR(x[2] * x[2] + x[3] * x[3] - x[4] - 10.0 * x[1], 0.0, tolerance);
}

/// Two wheels of inertia 2 and 3 that a clutch couples: 2 a' = f, 3 b' = -f, a = b.
std::unique_ptr<RecordedSystem> clutch() {
  ModeBuilder m;
  const Expr a = m.variable("a"), b = m.variable("b"), f = m.variable("f");
  m.equation(2.0 * der(a) - f);
  m.equation(3.0 * der(b) + f);
  m.equation(a - b);
  return m.system();
}

/// h(x) = x_0 - value.
class FirstIs final : public ExtraConditions {
 public:
  FirstIs(int variables, double value) : value_(value) {
    const std::vector<std::pair<int, int>> first{{0, 0}}, none;
    state_ = make_pattern(1, variables, first);
    derivative_ = make_pattern(1, variables, none);
  }
  int count() const override { return 1; }
  const SparsePattern& state_pattern() const override { return state_; }
  const SparsePattern& derivative_pattern() const override { return derivative_; }
  void residual(double, std::span<const double> x, std::span<const double>, std::span<double> h) override {
    h[0] = x[0] - value_;
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> hx,
                std::span<double>) override {
    hx[0] = 1.0;
  }

 private:
  SparsePattern state_, derivative_;
  double value_;
};

// --- explicit modes

std::unique_ptr<RecordedSystem> explicit_mode() {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - y);
  m.equation(der(y) - 1.0 / x);
  return m.system();
}

TEST(Consistency, AnExplicitModeKeepsItsValuesAndGetsItsDerivatives) {
  const auto system = explicit_mode();
  for (const Cause cause : {Cause::start, Cause::mode_change, Cause::reset}) {
    Consistency consistency;
    std::vector<double> x{4.0, 3.0}, xp;
    EXPECT_FALSE(consistency.find(*system, 0.0, cause, {}, nullptr, x, xp));
    EXPECT_EQ(x, (std::vector<double>{4.0, 3.0}));
    EXPECT_EQ(xp, (std::vector<double>{3.0, 0.25}));
    EXPECT_EQ(consistency.remark(), "");
  }
}

TEST(Consistency, ADerivativeThatIsNotFiniteIsAFailureThatNamesTheVariable) {
  const auto system = explicit_mode();
  Consistency consistency;
  std::vector<double> x{0.0, 3.0}, xp;
  const Failure failure = consistency.find(*system, 1.5, Cause::start, {}, nullptr, x, xp);
  EXPECT_EQ(failure.code, StatusCode::not_finite);
  EXPECT_EQ(failure.culprits, std::vector<std::string>{"y"});
  EXPECT_NE(failure.message.find("'y'"), std::string::npos) << failure.message;
  EXPECT_NE(failure.message.find("1.5"), std::string::npos) << failure.message;
  EXPECT_FALSE(consistency.evaluate(*system, 1.5, x, xp));
}

TEST(Consistency, EvaluateServesExplicitModesOnly) {
  const auto system = explicit_mode();
  const auto other = pendulum();
  Consistency consistency;
  std::vector<double> xp;
  EXPECT_TRUE(consistency.evaluate(*system, 0.0, std::vector<double>{4.0, 3.0}, xp));
  EXPECT_EQ(xp, (std::vector<double>{3.0, 0.25}));
  EXPECT_FALSE(consistency.evaluate(*other, 0.0, std::vector<double>{1.0, 0.0, 0.0, 0.0, 0.0}, xp));
}

TEST(Consistency, ExplicitModesAreNeverMovedReducedOrAnalysed) {
  const auto system = explicit_mode();
  Consistency consistency;
  std::vector<double> x{4.0, 3.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp));
  EXPECT_TRUE(consistency.polish(*system, 0.0, x, xp));
  EXPECT_EQ(x, (std::vector<double>{4.0, 3.0}));
  EXPECT_FALSE(consistency.needs_reduction(*system));
  EXPECT_TRUE(consistency.reduce(*system));
  EXPECT_EQ(&consistency.integrable(*system), system.get());
  EXPECT_EQ(consistency.reduced(*system), nullptr);
  EXPECT_EQ(consistency.values(*system), nullptr);
  EXPECT_TRUE(consistency.possible(*system));
  EXPECT_TRUE(consistency.plain(*system));
}

TEST(Consistency, InitialConditionsMoveExplicitModesAtTheStartOnly) {
  const auto system = explicit_mode();
  Consistency consistency;
  FirstIs condition(2, 7.0);
  std::vector<double> x{4.0, 3.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, &condition, x, xp));
  EXPECT_NEAR(x[0], 7.0, 1e-12);
  EXPECT_NEAR(xp[1], 1.0 / 7.0, 1e-12);
  x = {4.0, 3.0};
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::mode_change, {}, &condition, x, xp));
  EXPECT_EQ(x[0], 4.0);
}

// --- index 1

std::unique_ptr<RecordedSystem> index_one() {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) + y);
  m.equation(y * y * y + y - x);  // y = 1 for x = 2
  return m.system();
}

TEST(Consistency, AlgebraicVariablesFollowAndFixedOnesStay) {
  const auto system = index_one();
  Consistency consistency;
  std::vector<double> x{2.0, 0.3}, xp;
  const int fixed[] = {0};
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, fixed, nullptr, x, xp));
  EXPECT_EQ(x[0], 2.0);
  EXPECT_NEAR(x[1], 1.0, 1e-12);
  EXPECT_NEAR(xp[0], -1.0, 1e-12);
  EXPECT_TRUE(consistency.possible(*system));
  EXPECT_TRUE(consistency.plain(*system));
  EXPECT_FALSE(consistency.needs_reduction(*system));
}

TEST(Consistency, AtModeChangesAndResetsDifferentiatedVariablesOfIndexOneStay) {
  const auto system = index_one();
  for (const Cause cause : {Cause::mode_change, Cause::reset}) {
    Consistency consistency;
    std::vector<double> x{2.0, 0.9}, xp;
    ASSERT_FALSE(consistency.find(*system, 0.0, cause, {}, nullptr, x, xp));
    EXPECT_EQ(x[0], 2.0);
    EXPECT_NEAR(x[1], 1.0, 1e-10);
  }
}

TEST(Consistency, AConditionAtTheStartReplacesAFixedValue) {
  const auto system = index_one();
  Consistency consistency;
  FirstIs condition(2, 10.0);  // then y = 2
  std::vector<double> x{2.0, 0.3}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, &condition, x, xp));
  EXPECT_NEAR(x[0], 10.0, 1e-9);
  EXPECT_NEAR(x[1], 2.0, 1e-9);
}

TEST(Consistency, EquationsWithoutASolutionFailAndNameTheWorst) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) + y);
  m.equation(y * y + 1.0 + 0.0 * x);
  const auto system = m.system();
  Consistency consistency;
  std::vector<double> at{2.0, 0.5}, xp;
  const int fixed[] = {0};
  const Failure failure = consistency.find(*system, 0.0, Cause::start, fixed, nullptr, at, xp);
  EXPECT_TRUE(failure);
  EXPECT_FALSE(failure.message.empty());
}

// --- hidden constraints

TEST(Consistency, APendulumGetsAllItsConstraintsAndTheirDerivatives) {
  const auto system = pendulum();
  Consistency consistency;
  std::vector<double> x{0.6, -0.8, 1.0, 0.5, 0.0}, xp;
  const int fixed[] = {0, 2};
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, fixed, nullptr, x, xp));
  EXPECT_EQ(x[0], 0.6);
  EXPECT_EQ(x[2], 1.0);
  expect_on_constraints(x, 1e-10);
  EXPECT_NEAR(xp[0], x[2], 1e-10);
  EXPECT_NEAR(xp[2], -x[4] * x[0], 1e-10);
  EXPECT_NEAR(xp[3], -x[4] * x[1] - 10.0, 1e-10);
  EXPECT_FALSE(consistency.plain(*system));
  EXPECT_TRUE(consistency.possible(*system));
  EXPECT_TRUE(consistency.needs_reduction(*system));
}

TEST(Consistency, FixedValuesThatContradictAConstraintFailAndAreNamed) {
  const auto system = pendulum();
  Consistency consistency;
  std::vector<double> x{0.6, 0.9, 1.0, 0.5, 0.0}, xp;
  const int fixed[] = {0, 1};
  const Failure failure = consistency.find(*system, 0.0, Cause::start, fixed, nullptr, x, xp);
  EXPECT_EQ(failure.code, StatusCode::initialisation_failed);
  EXPECT_FALSE(failure.culprits.empty());
}

// 2 a + 3 b is conserved: the common speed after the clutch engages is (2*10 + 3*0)/5.
TEST(Consistency, AModeChangeWithoutResetConservesWhatAnImpulseConserves) {
  const auto system = clutch();
  Consistency consistency;
  std::vector<double> x{10.0, 0.0, 0.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::mode_change, {}, nullptr, x, xp));
  EXPECT_NEAR(x[0], 4.0, 1e-10);
  EXPECT_NEAR(x[1], 4.0, 1e-10);
}

TEST(Consistency, AResetHoldsWhatWasSetAndMovesTheOther) {
  const auto system = clutch();
  for (const int set : {0, 1}) {
    Consistency consistency;
    std::vector<double> x{10.0, 1.0, 0.0}, xp;
    const double kept = x[static_cast<std::size_t>(set)];
    ASSERT_FALSE(consistency.find(*system, 0.0, Cause::reset, std::span(&set, 1), nullptr, x, xp));
    EXPECT_EQ(x[static_cast<std::size_t>(set)], kept);
    EXPECT_NEAR(x[0], x[1], 1e-10);
  }
}

TEST(Consistency, ValuesThatAreConsistentDoNotMove) {
  const auto system = clutch();
  for (const Cause cause : {Cause::mode_change, Cause::reset}) {
    Consistency consistency;
    std::vector<double> x{3.25, 3.25, 0.0}, xp;
    ASSERT_FALSE(consistency.find(*system, 0.0, cause, {}, nullptr, x, xp));
    EXPECT_EQ(x[0], 3.25);
    EXPECT_EQ(x[1], 3.25);
    EXPECT_NEAR(x[2], 0.0, 1e-12);
  }
}

TEST(Consistency, PolishMovesBackOntoTheConstraints) {
  const auto system = pendulum();
  Consistency consistency;
  std::vector<double> x{0.6, -0.8, 0.8, 0.6, 0.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp));
  for (std::size_t j = 0; j < x.size(); ++j) x[j] += 1e-7 * std::cos(static_cast<double>(j));
  ASSERT_TRUE(consistency.polish(*system, 0.0, x, xp));
  expect_on_constraints(x, 1e-12);
  EXPECT_NEAR(x[0], 0.6, 1e-6);
}

TEST(Consistency, RefineFindsAlgebraicVariablesAndAllSlopesAndKeepsTheStates) {
  ModeBuilder m;
  const Expr s = m.variable("s"), x = m.variable("x");
  m.equation(der(s) + s);
  m.equation(x + 0.1 * x * x * x - sin(100.0 * m.time()) - s);
  const auto system = m.system();
  Consistency consistency;  // which has not seen the mode
  const double t = 0.2;
  std::vector<double> values{0.7, 0.3}, slopes{-0.6, 1.0};
  consistency.refine(*system, t, values, slopes);
  EXPECT_EQ(values[0], 0.7);
  EXPECT_NEAR(slopes[0], -0.7, 1e-15);
  EXPECT_NEAR(values[1] + 0.1 * std::pow(values[1], 3), std::sin(100.0 * t) + 0.7, 1e-14);
  EXPECT_NEAR(slopes[1] * (1.0 + 0.3 * values[1] * values[1]), 100.0 * std::cos(100.0 * t) - 0.7, 1e-11);
}

// (x' - 1) (x' + 3) = 0: the derivative that the step has is the one that is meant
TEST(Consistency, RefineTakesTheSolutionNearby) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation((der(x) - 1.0) * (der(x) + 3.0));
  const auto system = m.system();
  Consistency consistency;
  for (const double slope : {1.0, -3.0}) {
    std::vector<double> values{1.0}, slopes{1.01 * slope};
    consistency.refine(*system, 0.0, values, slopes);
    EXPECT_NEAR(slopes[0], slope, 1e-14);
  }
}

TEST(Consistency, RefineLeavesValuesAloneWhereItFindsNone) {
  ModeBuilder m;
  const Expr x = m.variable("x");
  m.equation(x * x + 1.0);
  const auto system = m.system();
  Consistency consistency;
  std::vector<double> values{0.5}, slopes{0.25};
  for (int k = 0; k < 5; ++k) consistency.refine(*system, 0.0, values, slopes);
  EXPECT_EQ(values[0], 0.5);
  EXPECT_EQ(slopes[0], 0.25);
}

TEST(Consistency, TheReducedFormIsMadeOnceAndLivesWithTheMode) {
  const auto system = pendulum();
  Consistency consistency;
  std::vector<double> x{0.6, -0.8, 0.8, 0.6, 0.0}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp));
  EXPECT_EQ(consistency.reduced(*system), nullptr);
  EXPECT_TRUE(Consistency::can_be_reduced(*system));
  ASSERT_TRUE(consistency.reduce(*system));
  const ReducedSystem* reduced = consistency.reduced(*system);
  ASSERT_NE(reduced, nullptr);
  EXPECT_EQ(&consistency.integrable(*system), reduced);
  ASSERT_TRUE(consistency.reduce(*system));
  EXPECT_EQ(consistency.reduced(*system), reduced);
  ASSERT_NE(consistency.values(*system), nullptr);
  EXPECT_EQ(consistency.values(*system)->numbers.mu, 2);
}

// --- Taylor coefficients of the solution

TEST(Consistency, SeriesAreThoseOfTheSolution) {
  ModeBuilder m;
  const Expr x = m.variable("x"), z = m.variable("z");
  m.equation(der(x) - x);
  m.equation(z - x * x);
  const auto system = m.system();
  Consistency consistency;
  std::vector<double> X;
  const std::vector<double> point{1.0, 1.0};
  EXPECT_FALSE(consistency.series(*system, 0.0, point, 3, X));  // nothing is known about the mode yet
  std::vector<double> at{1.0, 0.5}, xp;
  const int fixed[] = {0};
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, fixed, nullptr, at, xp));
  ASSERT_TRUE(consistency.series(*system, 0.0, at, 3, X));
  ASSERT_GE(X.size(), 8u);
  double factorial = 1.0, power = 1.0;
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(X[2 * k], 1.0 / factorial, 1e-12) << k;        // exp(t)
    EXPECT_NEAR(X[2 * k + 1], power / factorial, 1e-11) << k;  // exp(2 t)
    factorial *= static_cast<double>(k + 1);
    power *= 2.0;
  }
}

TEST(Consistency, SeriesOfExplicitModesNeedNoAnalysis) {
  const auto system = explicit_mode();
  Consistency consistency;
  std::vector<double> X;
  ASSERT_TRUE(consistency.series(*system, 0.0, std::vector<double>{4.0, 3.0}, 1, X));
  EXPECT_DOUBLE_EQ(X[2], 3.0);
  EXPECT_DOUBLE_EQ(X[3], 0.25);
  EXPECT_DOUBLE_EQ(X[4], 0.125);
}

// --- modes that do not determine their variables

TEST(Consistency, AStructurallySingularModeIsNotPossible) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - 1.0);
  m.equation(x - m.time() + 0.0 * y);
  const auto system = m.system();
  Consistency consistency;
  EXPECT_FALSE(consistency.possible(*system));
  EXPECT_FALSE(consistency.plain(*system));
}

// The structure sees two equations for two variables; the numbers are those of one equation.
std::unique_ptr<RecordedSystem> twice_the_same(double second) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(x + y - 1.0);
  m.equation(2.0 * x + 2.0 * y - second);
  return m.system();
}

TEST(Consistency, AFreeVariableKeepsItsGuessWhereEquationsAreRedundant) {
  const auto system = twice_the_same(2.0);
  Consistency consistency;
  consistency.search_elsewhere(true);  // the second try of a start
  EXPECT_TRUE(consistency.possible(*system));
  std::vector<double> x{0.3, 0.4}, xp;
  ASSERT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp));
  EXPECT_NEAR(x[0] + x[1], 1.0, 1e-12);
  ASSERT_NE(consistency.values(*system), nullptr);
  EXPECT_EQ(consistency.values(*system)->numbers.u, 1);
}

TEST(Consistency, EquationsThatContradictEachOtherAreRefusedEachTimeAndTheValuesStay) {
  const auto system = twice_the_same(3.0);
  Consistency consistency;
  consistency.search_elsewhere(true);  // the second try of a start
  for (int k = 0; k < 5; ++k) {
    std::vector<double> x{0.3, 0.4}, xp;
    const Failure failure = consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp);
    EXPECT_EQ(failure.code, StatusCode::initialisation_failed);
    EXPECT_NE(failure.message.find("contradict"), std::string::npos) << failure.message;
    EXPECT_FALSE(failure.culprits.empty());
    EXPECT_EQ(x, (std::vector<double>{0.3, 0.4}));
  }
}

TEST(Consistency, ANonSquareModeHasNoStructuralPromise) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation(der(x) - y);
  const auto system = m.system();
  Consistency consistency;
  EXPECT_FALSE(consistency.possible(*system));
}

// --- which analysis is needed

/// Whether ranks were decided on dense arrays.
bool has_projectors(const Consistency& consistency, const System& system) {
  return consistency.values(system)->T2.rows() == system.structure().variables;
}

TEST(Consistency, BehindAnEventConsistentValuesNeedNoDenseAnalysis) {
  const auto mode = pendulum();
  Consistency consistency;
  // at an angle, with a speed along the circle and the force of that speed
  std::vector<double> x{0.6, -0.8, 1.6, 1.2, 4.0 - 10.0 * -0.8}, xp(5);
  const std::vector<double> before = x;
  ASSERT_EQ(consistency.find(*mode, 0.0, Cause::mode_change, {}, nullptr, x, xp).code, StatusCode::success);
  EXPECT_FALSE(has_projectors(consistency, *mode));
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], before[j], 1e-14);
  EXPECT_NEAR(xp[0], 1.6, 1e-14);
  EXPECT_NEAR(xp[2], -12.0 * 0.6, 1e-13);
}

TEST(Consistency, JumpsAreTheSameWhetherTheModeWasKnownByItsStructureOrByRanks) {
  for (const Cause cause : {Cause::mode_change, Cause::reset}) {
    std::vector<double> found[2];
    for (const bool known_by_structure : {false, true}) {
      const auto mode = pendulum();
      Consistency consistency;
      std::vector<double> xp(5);
      if (known_by_structure) {
        std::vector<double> consistent{0.6, -0.8, 1.6, 1.2, 12.0};
        ASSERT_EQ(consistency.find(*mode, 0.0, Cause::mode_change, {}, nullptr, consistent, xp).code,
                  StatusCode::success);
        ASSERT_FALSE(has_projectors(consistency, *mode));
      } else {
        std::vector<double> start{0.6, -0.8, 0.0, 0.0, 8.0};
        ASSERT_EQ(consistency.find(*mode, 0.0, Cause::start, {}, nullptr, start, xp).code, StatusCode::success);
        ASSERT_TRUE(has_projectors(consistency, *mode));
      }
      std::vector<double> x{0.6, -0.8, 1.0, -1.0, 0.0};  // a speed that leaves the circle
      ASSERT_EQ(consistency.find(*mode, 0.0, cause, {}, nullptr, x, xp).code, StatusCode::success);
      // impulses follow from the structure; which variables a reset can hold is asked of ranks
      EXPECT_EQ(has_projectors(consistency, *mode), !known_by_structure || cause == Cause::reset);
      expect_on_constraints(x, 1e-12);
      found[known_by_structure] = x;
    }
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(found[0][j], found[1][j], 1e-12);
  }
}

/// A mode whose Taylor coefficients have errors that no correction removes: its stages do not converge.
class Noisy final : public System {
 public:
  explicit Noisy(std::unique_ptr<RecordedSystem> exact) : exact_(std::move(exact)) {}
  const Structure& structure() const override { return exact_->structure(); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    exact_->residual(t, x, xp, F);
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    exact_->jacobian(t, x, xp, Fx, Fxp);
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    exact_->taylor(t, level, X, F);
  }
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override {
    exact_->taylor_jacobian(t, level, X, F, Fx, Fxp);
  }
  void start_stages(double t, std::span<const int> c, std::span<const int> d, int last) override {
    exact_->start_stages(t, c, d, last);
  }
  void stage_residual(int stage, std::span<const double> X, std::span<double> F) override {
    exact_->stage_residual(stage, X, F);
    F[0] += noise_ *= -1.1;
  }

 private:
  std::unique_ptr<RecordedSystem> exact_;
  double noise_ = 1e-3;
};

TEST(Consistency, InsideAStepTheStateStaysWhereTheStagesDoNotConverge) {
  // so many variables that it is not chosen which of them are held
  constexpr int pendulums = 9;
  ModeBuilder m;
  std::vector<double> x_there, xp_there;
  for (int k = 0; k < pendulums; ++k) {
    add_pendulum(m, "_" + std::to_string(k));
    // beside the constraints: the least correction of all variables moves the state
    for (const double value : {0.6, -0.8, 0.79, 0.61, 9.0}) x_there.push_back(value);
    for (const double slope : {0.79, 0.61, -5.4, -2.8, 0.0}) xp_there.push_back(slope);
  }
  Noisy system(m.system());
  Consistency consistency;
  std::vector<double> x = x_there, xp = xp_there;
  consistency.refine(system, 0.0, x, xp);
  EXPECT_EQ(x, x_there);
  EXPECT_EQ(xp, xp_there);
}

/// Coils in a star: currents of about 50 A, and one through a switch that is off, with a time constant of 1e-9 s. Its
/// slope follows the rounding errors of the other currents.
TEST(Consistency, StagesConvergeWhereRoundingErrorsOfLargeCurrentsAreMultiplied) {
  constexpr double L = 1e-3, R = 0.1, off = 1e6;
  ModeBuilder m;
  std::vector<Expr> c;
  for (const char* name : {"i", "j", "k", "v"}) c.push_back(m.variable(name));
  m.equation(L * der(c[0]) - 100.0 + R * c[0] + c[3]);
  m.equation(L * der(c[1]) + 100.0 + R * c[1] + c[3]);
  m.equation(L * der(c[2]) + 100.0 + off * c[2] + c[3]);
  m.equation(c[0] + c[1] + c[2]);
  const auto system = m.system();
  const std::vector<double> sizes(4, 1.0);
  for (int trial = 0; trial < 50; ++trial) {
    const double i = 43.5568894414086 + 0.1 * trial, k = -1e-4, j = -i - k;
    StagedSeries staged(system->structure(), analyse_structure(system->structure()), 1);
    std::vector<double> X(static_cast<std::size_t>(4 * staged.coefficients()), 0.0);
    std::ranges::copy(std::vector<double>{i, j + 1e-7 * trial, k, 0.0}, X.begin());
    EXPECT_EQ(staged.project(*system, 0.0, X, sizes, 1.0, 1e-9), StagedSeries::Result::good) << trial;
    const double v = (-100.0 - R * (X[0] + X[1]) - off * X[2]) / 3.0;  // the sum of the first three equations
    EXPECT_NEAR(X[0] + X[1] + X[2], 0.0, 1e-13);
    EXPECT_NEAR(X[0], i, 1e-5);
    EXPECT_NEAR(X[3], v, 1e-7);
    EXPECT_NEAR(X[4], (100.0 - R * X[0] - v) / L, 1e-4);
  }
}

}  // namespace
}  // namespace saltus
