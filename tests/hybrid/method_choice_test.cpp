// Which stepper integrates which mode: what the header of MethodChoice promises.
#include "hybrid/method_choice.hpp"

#include <gtest/gtest.h>

#include "hybrid/consistency.hpp"
#include "hybrid/small_systems.hpp"

namespace saltus {
namespace {

using saltus::testing::ModeBuilder;
using saltus::testing::PlainSystem;

std::unique_ptr<RecordedSystem> oscillator() {
  ModeBuilder m;
  const Expr x = m.variable("x"), v = m.variable("v");
  m.equation(der(x) - v);
  m.equation(der(v) + x);
  return m.system();
}

/// x' = -y, 0 = y + y^3 - x: index 1; `mass`: multiplies x', and is not constant if it depends on x.
std::unique_ptr<RecordedSystem> index_one(bool constant_mass) {
  ModeBuilder m;
  const Expr x = m.variable("x"), y = m.variable("y");
  m.equation((constant_mass ? Expr(2.0) : 1.0 + x * x) * der(x) + y);
  m.equation(y * y * y + y - x);
  return m.system();
}

std::unique_ptr<RecordedSystem> pendulum() {
  ModeBuilder m;
  std::vector<Expr> p;
  for (const char* name : {"x", "y", "u", "v", "lambda"}) p.push_back(m.variable(name));
  m.equation(der(p[0]) - p[2]);
  m.equation(der(p[1]) - p[3]);
  m.equation(der(p[2]) + p[4] * p[0]);
  m.equation(der(p[3]) + p[4] * p[1] + 10.0);
  m.equation(p[0] * p[0] + p[1] * p[1] - 1.0);
  return m.system();
}

std::unique_ptr<System> without_series() {
  return std::make_unique<PlainSystem>(
      1, 0, [](double, std::span<const double> x, std::span<double> xp) { xp[0] = -x[0]; },
      [](double, std::span<const double>, std::span<double>) {});
}

/// The pendulum with what consistency finds out about it.
struct Hidden {
  std::unique_ptr<RecordedSystem> system = pendulum();
  Consistency consistency;

  Hidden() {
    std::vector<double> x{0.6, -0.8, 0.8, 0.6, 0.0}, xp;
    EXPECT_FALSE(consistency.find(*system, 0.0, Cause::start, {}, nullptr, x, xp));
  }
  MethodChoice::Candidate candidate() const {
    return {.system = *system, .hidden_constraints = true, .values = consistency.values(*system)};
  }
};

bool begins_with(const std::string& text, std::string_view beginning) {
  return text.rfind(beginning, 0) == 0;
}

TEST(MethodChoice, AutoTakesOrderFiveForExplicitModesAndOrderEightForTightTolerances) {
  const auto system = oscillator();
  std::string problem;
  MethodChoice usual({.rtol = 1e-6}, true), tight({.rtol = 1e-9}, true);
  ASSERT_NE(usual.choose({.system = *system}, problem), nullptr);
  ASSERT_NE(tight.choose({.system = *system}, problem), nullptr);
  EXPECT_EQ(usual.description(), "dopri5 (explicit equations)");
  EXPECT_EQ(tight.description(), "dop853 (explicit equations, tight tolerance)");
  EXPECT_FALSE(usual.per_mode());
}

TEST(MethodChoice, AutoTakesARosenbrockMethodForIndexOneWithConstantCoefficientsAndRadauOtherwise) {
  std::string problem;
  const auto constant = index_one(true), varying = index_one(false);
  MethodChoice one({}, true), other({}, true);
  ASSERT_NE(one.choose({.system = *constant}, problem), nullptr) << problem;
  ASSERT_NE(other.choose({.system = *varying}, problem), nullptr) << problem;
  EXPECT_TRUE(begins_with(one.description(), "rodas5p (differential-algebraic equations of index 1"))
      << one.description();
  EXPECT_TRUE(begins_with(other.description(), "radau (differential-algebraic equations")) << other.description();
}

TEST(MethodChoice, AutoTakesTheTaylorMethodForHiddenConstraintsWithARegularStructure) {
  const Hidden hidden;
  std::string problem;
  MethodChoice choice({}, true);
  ASSERT_NE(choice.choose(hidden.candidate(), problem), nullptr) << problem;
  EXPECT_TRUE(begins_with(choice.description(), "taylor (hidden constraints, not stiff")) << choice.description();
}

TEST(MethodChoice, EachMethodThatIsAskedForIsTakenForExplicitModes) {
  const auto system = oscillator();
  for (const MethodInfo& row : method_table()) {
    if (row.method == Method::automatic) continue;
    std::string problem;
    MethodChoice choice({.method = row.method}, true);
    ASSERT_NE(choice.choose({.system = *system}, problem), nullptr) << row.name << ": " << problem;
    EXPECT_TRUE(begins_with(choice.description(), std::string(row.name) + " (asked for")) << choice.description();
  }
}

TEST(MethodChoice, ExplicitMethodsRefuseImplicitModesByName) {
  const auto system = index_one(true);
  for (const Method method : {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853}) {
    std::string problem;
    MethodChoice choice({.method = method}, true);
    EXPECT_EQ(choice.choose({.system = *system}, problem), nullptr);
    EXPECT_TRUE(begins_with(problem, to_string(method))) << problem;
    EXPECT_NE(problem.find("auto"), std::string::npos) << problem;
    EXPECT_EQ(choice.description(), "");
  }
}

TEST(MethodChoice, ImplicitMethodsTakeIndexOne) {
  const auto system = index_one(true);
  for (const MethodInfo& row : method_table()) {
    if (row.method == Method::automatic || is_explicit(row.method)) continue;
    std::string problem;
    MethodChoice choice({.method = row.method}, true);
    EXPECT_NE(choice.choose({.system = *system}, problem), nullptr) << row.name << ": " << problem;
  }
}

TEST(MethodChoice, RosenbrockMethodsRefuseCoefficientsThatAreNotConstant) {
  const auto system = index_one(false);
  for (const Method method : {Method::rodas4, Method::rodas5p}) {
    std::string problem;
    MethodChoice choice({.method = method}, true);
    EXPECT_EQ(choice.choose({.system = *system}, problem), nullptr);
    EXPECT_NE(problem.find("constant coefficients"), std::string::npos) << problem;
  }
}

TEST(MethodChoice, RosenbrockMethodsTakeHiddenConstraintsWithDummyDerivatives) {
  const Hidden hidden;
  std::string problem;
  MethodChoice choice({.method = Method::rodas5p}, true);
  ASSERT_NE(choice.choose(hidden.candidate(), problem), nullptr) << problem;
  EXPECT_NE(choice.description().find("dummy derivatives"), std::string::npos) << choice.description();
}

TEST(MethodChoice, RosenbrockMethodsTakeOtherCoefficientsWithDummyDerivativesIfTheStructureIsRegular) {
  const auto system = index_one(false);
  const std::vector<double> x{0.5, 0.4};
  const CharacteristicValues values = characteristic_values(*system, 0.0, x);
  for (const Method method : {Method::rodas4, Method::rodas5p}) {
    std::string problem;
    MethodChoice choice({.method = method}, true);
    ASSERT_NE(choice.choose({.system = *system, .values = &values}, problem), nullptr) << problem;
    EXPECT_NE(choice.description().find("dummy derivatives"), std::string::npos) << choice.description();
  }
}

// x = sin(t), z' = x'^2 has no hidden constraint in the sense of the strangeness index, and x' is not under error
// control
TEST(MethodChoice, ConstraintsThatMustBeDifferentiatedAreSolvedWithTheirDerivatives) {
  ModeBuilder m;
  const Expr x = m.variable("x"), z = m.variable("z");
  m.equation(x - sin(m.time()));
  m.equation(der(z) - der(x) * der(x));
  const auto system = m.system();
  const CharacteristicValues values = characteristic_values(*system, 0.0, std::vector<double>{0.0, 0.0});
  ASSERT_FALSE(needs_reduction(system->structure(), values.numbers));
  std::string problem;
  for (const Method method : {Method::rodas5p, Method::radau, Method::bdf}) {
    MethodChoice choice({.method = method}, true);
    ASSERT_NE(choice.choose({.system = *system, .values = &values}, problem), nullptr) << problem;
    EXPECT_NE(choice.description().find("dummy derivatives"), std::string::npos) << choice.description();
  }
  MethodChoice automatic({}, true);
  ASSERT_NE(automatic.choose({.system = *system, .values = &values}, problem), nullptr) << problem;
  EXPECT_NE(automatic.description().find("taylor"), std::string::npos) << automatic.description();
}

TEST(MethodChoice, TheTaylorMethodRefusesSystemsWithoutSeries) {
  const auto system = without_series();
  std::string problem;
  MethodChoice choice({.method = Method::taylor}, true);
  EXPECT_EQ(choice.choose({.system = *system}, problem), nullptr);
  EXPECT_NE(problem.find("Taylor"), std::string::npos) << problem;
  MethodChoice automatic({}, true);
  EXPECT_NE(automatic.choose({.system = *system}, problem), nullptr);
  EXPECT_EQ(problem, "");
}

TEST(MethodChoice, HiddenConstraintsThatCannotBeReducedNeedARegularStructure) {
  const auto system = index_one(false);
  CharacteristicValues values;  // nothing certified
  std::string problem;
  MethodChoice choice({.method = Method::radau}, true);
  const MethodChoice::Candidate large{
      .system = *system, .hidden_constraints = true, .reducible = false, .values = &values};
  EXPECT_EQ(choice.choose(large, problem), nullptr);
  EXPECT_NE(problem.find("hidden constraints"), std::string::npos) << problem;
}

TEST(MethodChoice, OneStepperServesAllModesOfItsKind) {
  const auto a = oscillator(), b = oscillator();
  const auto c = index_one(true);
  std::string problem;
  MethodChoice choice({}, true);
  Stepper* const first = choice.choose({.system = *a}, problem);
  EXPECT_EQ(choice.choose({.system = *b}, problem), first);
  EXPECT_NE(choice.choose({.system = *c}, problem), first);
  EXPECT_EQ(choice.choose({.system = *a}, problem), first);
  EXPECT_EQ(choice.statistics().steps, 0);
}

// --- stiffness

TEST(MethodChoice, AModeThatTurnsOutToBeStiffGetsAnImplicitMethodAndOthersDoNot) {
  const auto stiff = oscillator(), other = oscillator();
  std::string problem;
  MethodChoice choice({}, true);
  Stepper* const before = choice.choose({.system = *stiff}, problem);
  EXPECT_TRUE(choice.note_stiff(*stiff));
  EXPECT_FALSE(choice.note_stiff(*stiff));  // known already
  EXPECT_NE(choice.choose({.system = *stiff}, problem), before);
  EXPECT_EQ(choice.choose({.system = *other}, problem), before);
  EXPECT_NE(choice.description().find("rodas5p (stiff"), std::string::npos) << choice.description();
}

TEST(MethodChoice, AtTightTolerancesStiffModesGetRadau) {
  const auto system = oscillator();
  std::string problem;
  MethodChoice choice({.rtol = 1e-8}, true);
  EXPECT_TRUE(choice.note_stiff(*system));
  ASSERT_NE(choice.choose({.system = *system}, problem), nullptr);
  EXPECT_TRUE(begins_with(choice.description(), "radau (stiff")) << choice.description();
}

TEST(MethodChoice, AMethodThatWasAskedForStaysHoweverStiffTheModeIs) {
  const auto system = oscillator();
  std::string problem;
  MethodChoice choice({.method = Method::dopri5}, true);
  Stepper* const stepper = choice.choose({.system = *system}, problem);
  EXPECT_FALSE(choice.note_stiff(*system));
  EXPECT_EQ(choice.choose({.system = *system}, problem), stepper);
}

TEST(MethodChoice, StiffModesWithHiddenConstraintsGetDummyDerivatives) {
  const Hidden hidden;
  std::string problem;
  MethodChoice choice({}, true);
  EXPECT_TRUE(choice.note_stiff(*hidden.system));
  ASSERT_NE(choice.choose(hidden.candidate(), problem), nullptr) << problem;
  EXPECT_TRUE(begins_with(choice.description(), "rodas5p (stiff, dummy derivatives")) << choice.description();
}

// --- the helper and the accuracy inside steps

TEST(MethodChoice, TheHelperIsAnExplicitMethodWithoutDerivatives) {
  const auto system = oscillator();
  std::string problem;
  MethodChoice choice({.method = Method::taylor}, true);
  Stepper* const taylor = choice.choose({.system = *system}, problem);
  ASSERT_NE(taylor, nullptr) << problem;
  Stepper* const helper = choice.helper(*taylor);
  ASSERT_NE(helper, nullptr);
  EXPECT_NE(helper, taylor);
  EXPECT_EQ(choice.helper(*taylor), helper);
  EXPECT_EQ(choice.helper(*helper), nullptr);
  EXPECT_NE(choice.description().find("dopri5 (steps where derivatives are infinite)"), std::string::npos);
}

TEST(MethodChoice, ValuesInsideTheStepsOfExplicitMethodsAreAccurate) {
  const auto system = oscillator();
  const auto implicit = index_one(true);
  for (const MethodInfo& row : method_table()) {
    if (row.method == Method::automatic) continue;
    std::string problem;
    MethodChoice choice({.method = row.method}, true);
    const Stepper* const stepper = choice.choose({.system = *system}, problem);
    ASSERT_NE(stepper, nullptr);
    EXPECT_EQ(choice.dense_is_accurate(*stepper, *system), is_explicit(row.method)) << row.name;
    EXPECT_FALSE(choice.dense_is_accurate(*stepper, *implicit)) << row.name;
  }
}

// --- methods of single modes

TEST(MethodChoice, MethodsOfSingleModesAreFoundByTheNameOrTheWholeDescription) {
  const auto system = oscillator();
  std::string problem;
  MethodChoice choice({.method = Method::tsit5,
                       .mode_methods = {{"fast", Method::dop853}, {"slow, n = 1", Method::bs3}, {"typo", Method::bdf}}},
                      true);
  EXPECT_TRUE(choice.per_mode());
  Stepper* const usual = choice.choose({.system = *system, .description = "slow, n = 2"}, problem);
  Stepper* const fast = choice.choose({.system = *system, .description = "fast, n = 7"}, problem);
  Stepper* const slow = choice.choose({.system = *system, .description = "slow, n = 1"}, problem);
  EXPECT_NE(usual, fast);
  EXPECT_NE(usual, slow);
  EXPECT_NE(fast, slow);
  EXPECT_EQ(choice.choose({.system = *system, .description = "fast"}, problem), fast);
  EXPECT_EQ(choice.not_entered(), std::set<std::string>{"typo"});
}

}  // namespace
}  // namespace saltus
