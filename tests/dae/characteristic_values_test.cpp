#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/derivative_array.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dae/level_analysis.hpp"
#include "problems/catalogue.hpp"
#include "suites/rescaled_system.hpp"

namespace saltus {
namespace {

using problems::NamedProblem;
using problems::Problem;

class CharacteristicValuesOf : public testing::TestWithParam<NamedProblem> {};

TEST_P(CharacteristicValuesOf, AreFoundExactlyAndClearly) {
  const Problem p = GetParam().make();
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess, {.max_level = 12});
  EXPECT_EQ(to_string(c.numbers), to_string(p.expected));
  EXPECT_EQ(to_string(c.status), "clear");
  RecordProperty("kept", std::to_string(c.kept));
  // the projectors have the shapes and the orthonormality that the hypothesis asks for
  EXPECT_EQ(c.Z2.columns(), c->a);
  EXPECT_EQ(c.T2.columns(), p.system->structure().variables - c->a);
  EXPECT_EQ(c.Z1.columns(), c->d);
  EXPECT_LT(max_norm(transpose_times(c.Z2, c.Z2) - Matrix::identity(c->a)), 1e-12);
  EXPECT_LT(max_norm(transpose_times(c.T2, c.T2) - Matrix::identity(c.T2.columns())), 1e-12);
}

INSTANTIATE_TEST_SUITE_P(Problems, CharacteristicValuesOf, testing::ValuesIn(problems::dae_catalogue()),
                         [](const auto& parameter) { return parameter.param.name; });

TEST(CharacteristicValues, AreTakenOnTheSolutionSet) {
  for (double offset : {0.3, 1e-3, 1e-9, 1e-13}) {
    const Problem p = problems::manifold_matters(offset);
    EXPECT_EQ(characteristic_values(*p.system, p.t, p.guess).numbers, p.expected) << offset;
    // off it, and unprojected, the answer is another one: this is what the projection is for
    CharacteristicOptions raw{.project = false, .neighbours = false, .use_structure = false};
    EXPECT_EQ(characteristic_values(*p.system, p.t, p.guess, raw)->d, 1);
  }
}

TEST(CharacteristicValues, SayThatAPointIsSingular) {
  const Problem p = problems::slider_crank({M_PI / 2, -M_PI / 2, 0.0, 0.0, 0.0}, 1.0, 1.0);
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
  EXPECT_EQ(c.status, AnalysisStatus::singular_point);
  EXPECT_EQ(c->v, 1);
  EXPECT_EQ(c->u, 1);
  EXPECT_FALSE(c.certificate.valid);
}

TEST(CharacteristicValues, AreNotDecidedWhereSquaresOverflow) {
  constexpr int n = 30;
  Matrix J(2 * n, 3 * n);  // level 1 of as many equations as variables
  for (int j = 0; j < J.columns(); ++j)
    for (int i = 0; i < J.rows(); ++i) J(i, j) = std::sin(7.0 * i + 3.0 * j * j);
  EXPECT_TRUE(decide_level(J, J, n, n).finite);
  J(5, 70) = 5e161;
  EXPECT_FALSE(decide_level(J, J, n, n).finite);
}

TEST(CharacteristicValues, OfAContradictionAreNotThoseOfItsLimitAtInfinity) {
  // x = 0 and w x = 1 are nearly satisfied by a small x and a large w, where both look determined
  problems::Recorder r;
  const auto x = r.variables("x w");
  r.equation(x[0]);
  r.equation(x[0] * x[1] - 1.0);
  const auto system = r.system();
  for (const double start : {0.0, 1e-12, 0.5}) {
    const CharacteristicValues c = characteristic_values(*system, 0.0, std::vector{start, 0.5});
    const bool regular = c->u == 0 && c->v == 0;
    EXPECT_FALSE(c.status == AnalysisStatus::clear && regular) << start << ": " << to_string(c.numbers);
  }
}

/// By ranks alone: what the structure says would win over them.
CharacteristicNumbers ranks_with(problems::Recorder& r, Scaling scaling) {
  r.scaling(scaling);
  const auto system = r.system();
  const std::vector<double> guess(static_cast<std::size_t>(system->structure().variables), 0.5);
  return characteristic_values(*system, 0.0, guess, {.use_structure = false}).numbers;
}

TEST(CharacteristicValues, ScaleEquationsUnlessTheyAreAskedNotTo) {
  problems::Recorder r;
  const auto x = r.variables("x y z");
  r.equation(der(x[0]) + der(x[1]) + x[0]);
  r.equation(1e-20 * (der(x[1]) + x[1] + x[2]));  // nothing but noise, in the units of the first
  r.equation(x[2] - x[0]);
  const CharacteristicNumbers automatic = ranks_with(r, Scaling::automatic);
  EXPECT_EQ(automatic.d, 2);
  EXPECT_EQ(automatic.a, 1);
  for (const Scaling scaling : {Scaling::nominal, Scaling::off}) {
    const CharacteristicNumbers numbers = ranks_with(r, scaling);
    EXPECT_EQ(numbers.d, 1);
    EXPECT_EQ(numbers.u, 1);
    EXPECT_EQ(numbers.v, 1);
  }
}

TEST(CharacteristicValues, ScaleVariablesByTheirNominalValuesUnlessTheyAreAskedNotTo) {
  problems::Recorder r;
  const auto x = r.variables("x y z");
  r.equation(der(x[0]) + 1e-20 * der(x[1]) + x[0]);
  r.equation(1e-20 * der(x[1]) + 1e-20 * x[1] + x[2]);
  r.equation(x[2] - x[0]);
  r.nominal({1.0, 1e20, 1.0});
  for (const Scaling scaling : {Scaling::automatic, Scaling::nominal}) {
    const CharacteristicNumbers numbers = ranks_with(r, scaling);
    EXPECT_EQ(numbers.d, 2);
    EXPECT_EQ(numbers.a, 1);
  }
  const CharacteristicNumbers without_y = ranks_with(r, Scaling::off);  // x' + x, z and z - x are what remains
  EXPECT_EQ(without_y.d, 0);
  EXPECT_EQ(without_y.u, 1);
}

TEST(CharacteristicValues, WinOverAWrongStructuralIndex) {
  for (const Problem& p : {problems::rotating_block(4), problems::robot_arm()}) {
    const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
    EXPECT_FALSE(c.structure.singular());
    EXPECT_NE(c.structure.degrees_of_freedom, p.expected.d);
    EXPECT_FALSE(c.certificate.valid);
    EXPECT_EQ(c.numbers, p.expected);
  }
}

TEST(CharacteristicValues, AgreeWithAndWithoutTheStructure) {
  for (const Problem& p :
       {problems::pendulum({0.6, -0.8, 0.4, 0.3, 1.0}), problems::slider_crank({0.5, -0.2, 1.0, 0.0, 0.0}),
        problems::nonlinear_circuit(), problems::pendulum_ggl(), problems::car_axis()}) {
    const CharacteristicValues with = characteristic_values(*p.system, p.t, p.guess);
    const CharacteristicValues without = characteristic_values(*p.system, p.t, p.guess, {.use_structure = false});
    EXPECT_TRUE(with.certificate.valid) << p.name;
    EXPECT_EQ(to_string(with.numbers), to_string(without.numbers)) << p.name;
  }
}

TEST(CharacteristicValues, OfTheMicrofaradCircuitHaveAWideMargin) {
  const Problem p = problems::nonlinear_circuit();
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
  EXPECT_GT(c.kept, 1e-3);
  EXPECT_LT(c.dropped, 1e-14);
}

TEST(CharacteristicValues, OfCertifiedSystemsTakeTheStructuralIndexWhereRanksAreDoubtful) {
  // units in which a lower level looked sufficient
  struct Units {
    Problem problem;
    std::vector<double> variable, equation;
    double time;
  };
  const Units cases[] = {
      {problems::car_axis(),
       {1e-1, 1e5, 1e1, 1e-9, 1e-3, 1e1, 1e-7, 1e-6, 1e4, 1e8},
       {1e7, 1e-6, 1e6, 1e9, 1e4, 1e7, 1e3, 1e4, 1e-8, 1e6},
       1e-9},
      {problems::slider_crank({M_PI / 2 - 1e-6, -M_PI / 2 + 1e-6, 0.0, 0.0, 0.0}, 1.0, 1.0),
       {1e7, 1e-7, 1e2, 1e3, 1e-1},
       {1e-2, 1e-6, 1e8, 1e-9, 1e5},
       1e9},
  };
  for (const auto& [p, variable, equation, time] : cases) {
    RescaledSystem system(*p.system, variable, equation, time);
    std::vector<double> guess = p.guess;
    for (std::size_t j = 0; j < guess.size(); ++j) guess[j] /= variable[j];
    const CharacteristicValues c = characteristic_values(system, p.t / time, guess);
    EXPECT_TRUE(c.certificate.valid) << p.name;
    EXPECT_EQ(to_string(c.numbers), to_string(p.expected)) << p.name;
    EXPECT_EQ(c.status, AnalysisStatus::clear) << p.name;
  }
}

TEST(CharacteristicValues, RefuseAWrongNumberOfValues) {
  const Problem p = problems::pendulum({});
  EXPECT_THROW(characteristic_values(*p.system, 0.0, std::vector{1.0}), UsageError);
}

// A linear DAE with constant coefficients, E x' = A x, by its matrices.
class LinearSystem final : public System {
 public:
  LinearSystem(Matrix E, Matrix A) : E_(std::move(E)), A_(std::move(A)) {
    std::vector<std::pair<int, int>> all;
    for (int j = 0; j < E_.columns(); ++j)
      for (int i = 0; i < E_.rows(); ++i) all.emplace_back(i, j);
    structure_.equations = E_.rows();
    structure_.variables = E_.columns();
    structure_.state_pattern = structure_.derivative_pattern = make_pattern(E_.rows(), E_.columns(), all);
    structure_.linear = structure_.constant_jacobian = structure_.taylor = true;
  }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    std::ranges::fill(F, 0.0);
    multiply_add(E_, xp, 1.0, F);
    multiply_add(A_, x, -1.0, F);
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    for (std::size_t k = 0; k < Fx.size(); ++k) {
      Fx[k] = -A_.data()[k];
      Fxp[k] = E_.data()[k];
    }
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    const auto n = static_cast<std::size_t>(structure_.variables), m = static_cast<std::size_t>(structure_.equations);
    std::vector<double> xp(n);
    for (std::size_t k = 0; k <= static_cast<std::size_t>(level); ++k) {
      for (std::size_t j = 0; j < n; ++j) xp[j] = static_cast<double>(k + 1) * X[(k + 1) * n + j];
      residual(t, X.subspan(k * n, n), xp, F.subspan(k * m, m));
    }
  }
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override {
    taylor(t, level, X, F);
    std::ranges::fill(Fx, 0.0);
    std::ranges::fill(Fxp, 0.0);
    const std::size_t entries = structure_.state_pattern.row.size();
    jacobian(t, {}, {}, Fx.first(entries), Fxp.first(entries));
  }

 private:
  Matrix E_, A_;
  Structure structure_;
};

double random_unit() {
  return std::pow(10.0, *rc::gen::inRange(-9, 10));
}

// Rotations, stretches between 1 and 1/condition, rotations.
Matrix random_transformation(int n, double condition) {
  Matrix q = Matrix::identity(n);
  const auto turn = [&] {
    for (int k = 0; k < 2 * n && n > 1; ++k) {
      const int i = *rc::gen::inRange(0, n), j = *rc::gen::inRange(0, n);
      if (i == j) continue;
      const double angle = *rc::gen::inRange(0, 628) / 100.0, c = std::cos(angle), s = std::sin(angle);
      for (int l = 0; l < n; ++l) {
        const double a = q(i, l), b = q(j, l);
        q(i, l) = c * a + s * b;
        q(j, l) = c * b - s * a;
      }
    }
  };
  turn();
  for (int k = 0; k < n; ++k) {
    const double stretch = std::pow(condition, -*rc::gen::inRange(0, 9) / 8.0);
    for (int l = 0; l < n; ++l) q(k, l) *= stretch;
  }
  turn();
  return q;
}

struct TransformedKroneckerForm {
  CharacteristicValues found;
  CharacteristicNumbers expected;  // without r
  bool right() const {
    const CharacteristicNumbers& c = found.numbers;
    return c.mu == expected.mu && c.d == expected.d && c.a == expected.a && c.u == expected.u && c.v == expected.v;
  }
};

// Kronecker form: nilpotent blocks of given sizes, an ODE part, zero columns (undetermined) and zero rows (vanishing);
// multiplied by random matrices of a condition up to the given one from both sides, and then in random units.
TransformedKroneckerForm analyse_random_pencil(double condition) {
  int ode = *rc::gen::inRange(0, 3);
  const int free = *rc::gen::inRange(0, 2), redundant = *rc::gen::inRange(0, 2);
  std::vector<int> blocks;
  for (int k = *rc::gen::inRange(0, 3); k > 0; --k) blocks.push_back(*rc::gen::inRange(1, 4));
  int a = 0, mu = 0;
  for (int size : blocks) {
    a += size;
    mu = std::max(mu, size - 1);
  }
  if (ode + a == 0) ode = 1;
  const int n = ode + a + free, m = ode + a + redundant;
  Matrix E(m, n), A(m, n);
  int at = 0;
  for (; at < ode; ++at) {
    E(at, at) = 1.0;
    A(at, at) = -0.5 - at;
  }
  for (int size : blocks)
    for (int k = 0; k < size; ++k, ++at) {
      A(at, at) = 1.0;
      if (k + 1 < size) E(at, at + 1) = 1.0;
    }
  const Matrix P = random_transformation(m, condition), Q = random_transformation(n, condition);
  E = P * E * Q;
  A = P * A * Q;
  const double time = random_unit();
  std::vector<double> variable(static_cast<std::size_t>(n));
  for (double& value : variable) value = random_unit();
  for (int i = 0; i < m; ++i) {
    const double equation = random_unit();
    for (int j = 0; j < n; ++j) {
      A(i, j) *= equation * variable[j];
      E(i, j) *= equation * variable[j] / time;
    }
  }
  LinearSystem system(E, A);
  TransformedKroneckerForm result{
      characteristic_values(system, 0.0, std::vector<double>(static_cast<std::size_t>(n), 1.0)),
      {mu, ode, a, free, redundant, 0}};
  const CharacteristicValues& c = result.found;
  RC_LOG() << to_string(c.numbers) << " " << to_string(c.status) << " kept " << c.kept << " dropped " << c.dropped;
  return result;
}

RC_GTEST_PROP(CharacteristicValues, AreInvariantUnderEquivalenceTransformationsAndUnits, ()) {
  const TransformedKroneckerForm analysis = analyse_random_pencil(10.0);
  RC_ASSERT(analysis.right());
  RC_ASSERT(analysis.found.status == AnalysisStatus::clear);
}

RC_GTEST_PROP(CharacteristicValues, AreNeverWrongAndClearAfterIllConditionedTransformations, ()) {
  // entries of P E Q are rounded: what is smaller than eps |P| |E| |Q| is lost, and some of it had the ranks in it
  const TransformedKroneckerForm analysis = analyse_random_pencil(std::pow(10.0, *rc::gen::inRange(1, 10)));
  if (analysis.found.status == AnalysisStatus::clear) RC_ASSERT(analysis.right());
}

// The analysis of a problem with units between 1e-9 and 1e9 of every variable, of every equation and of time.
CharacteristicValues in_random_units(const Problem& p, const CharacteristicOptions& options = {}) {
  std::vector<double> variable(p.guess.size()), equation(static_cast<std::size_t>(p.system->structure().equations));
  for (double& value : variable) value = random_unit();
  for (double& value : equation) value = random_unit();
  const double time = random_unit();
  RescaledSystem system(*p.system, variable, equation, time);
  std::vector<double> guess = p.guess;
  for (std::size_t j = 0; j < guess.size(); ++j) guess[j] /= variable[j];
  CharacteristicValues c = characteristic_values(system, p.t / time, guess, options);
  RC_LOG() << p.name << ": " << to_string(c.numbers) << " " << to_string(c.status) << " kept " << c.kept << " dropped "
           << c.dropped;
  return c;
}

std::vector<NamedProblem> small_problems() {
  std::vector<NamedProblem> list = problems::dae_catalogue();
  std::erase_if(list, [](const NamedProblem& p) { return p.make().guess.size() > 10; });
  return list;
}

RC_GTEST_PROP(CharacteristicValues, DoNotDependOnUnits, ()) {
  static const std::vector<NamedProblem> list = small_problems();
  const Problem p = list[*rc::gen::inRange<std::size_t>(0, list.size())].make();
  const CharacteristicValues c = in_random_units(p);
  RC_ASSERT(to_string(c.numbers) == to_string(p.expected));
  RC_ASSERT(c.status == AnalysisStatus::clear);
}

RC_GTEST_PROP(CharacteristicValues, DoNotDependOnUnitsWithoutCertificate, ()) {
  // where the structure says nothing: its index is wrong, there are too many or too few equations
  static const std::vector<NamedProblem> list = [] {
    std::vector<NamedProblem> others = small_problems();
    std::erase_if(others, [](const NamedProblem& named) {
      const Problem p = named.make();
      return characteristic_values(*p.system, p.t, p.guess).certificate.valid;
    });
    return others;
  }();
  RC_ASSERT(list.size() >= 12U);
  const Problem p = list[*rc::gen::inRange<std::size_t>(0, list.size())].make();
  const CharacteristicValues c = in_random_units(p);
  RC_ASSERT(to_string(c.numbers) == to_string(p.expected));
  RC_ASSERT(c.status == AnalysisStatus::clear);
}

RC_GTEST_PROP(CharacteristicValues, AreCertifiedInAllUnits, ()) {
  static const std::vector<NamedProblem> list = [] {
    std::vector<NamedProblem> certified = small_problems();
    std::erase_if(certified, [](const NamedProblem& named) {
      const Problem p = named.make();
      return !characteristic_values(*p.system, p.t, p.guess).certificate.valid;
    });
    return certified;
  }();
  RC_ASSERT(list.size() >= 10U);
  const CharacteristicValues c = in_random_units(list[*rc::gen::inRange<std::size_t>(0, list.size())].make());
  RC_ASSERT(c.certificate.valid);
}

RC_GTEST_PROP(CharacteristicValues, AreNeverWrongAndClear, ()) {
  // rank decisions alone, in any units: the answer may be doubtful, but then it says so
  static const std::vector<NamedProblem> list = small_problems();
  const Problem p = list[*rc::gen::inRange<std::size_t>(0, list.size())].make();
  const CharacteristicValues c = in_random_units(p, {.use_structure = false});
  if (c.status == AnalysisStatus::clear) RC_ASSERT(to_string(c.numbers) == to_string(p.expected));
}

TEST(DerivativeArray, NeedsTaylorCoefficientsAboveLevelZero) {
  class NoTaylor final : public System {
   public:
    NoTaylor() {
      structure_.equations = structure_.variables = 2;
      structure_.state_pattern = make_pattern(2, 2, std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 1}});
      structure_.derivative_pattern = make_pattern(2, 2, std::vector<std::pair<int, int>>{{0, 0}});
    }
    const Structure& structure() const override { return structure_; }
    void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
      F[0] = xp[0] - x[1];
      F[1] = x[0] + x[1] * x[1] * x[1] + x[1] - 2.0;
    }
    void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                  std::span<double> Fxp) override {
      Fx[0] = 1.0;
      Fx[1] = -1.0;
      Fx[2] = 3.0 * x[1] * x[1] + 1.0;
      Fxp[0] = 1.0;
    }

   private:
    Structure structure_;
  } system;
  DerivativeArray array(system);
  std::vector<double> f(4), X(6, 0.0);
  EXPECT_THROW(array.evaluate(0.0, 1, X, f), UsageError);
  EXPECT_NO_THROW(array.evaluate(0.0, 0, std::span(X).first(4), std::span(f).first(2)));
  // index 1 is found without them
  const CharacteristicValues c = characteristic_values(system, 0.0, std::vector{0.0, 0.0});
  EXPECT_EQ(to_string(c.numbers), "mu=0 d=1 a=1 u=0 v=0 r=2");
  EXPECT_EQ(c.status, AnalysisStatus::clear);
}

TEST(DerivativeArray, JacobianAgreesWithDifferenceQuotients) {
  const Problem p = problems::slider_crank({0.5, -0.2, 1.0, 0.3, 0.7});
  DerivativeArray array(*p.system);
  const int level = 3;
  std::vector<double> X(static_cast<std::size_t>(array.columns(level))), f(static_cast<std::size_t>(array.rows(level))),
      g(f.size());
  for (std::size_t k = 0; k < X.size(); ++k) X[k] = std::sin(1.0 + 2.0 * static_cast<double>(k));
  Matrix J;
  array.evaluate(0.3, level, X, f, J);
  // central differences: h^2 f'''/6 with f''' of size 1e2, and eps |F| / h
  const double h = 1e-5;
  for (int j = 0; j < J.columns(); ++j) {
    const double x = X[j];
    X[j] = x + h;
    array.evaluate(0.3, level, X, f);
    X[j] = x - h;
    array.evaluate(0.3, level, X, g);
    X[j] = x;
    for (int i = 0; i < J.rows(); ++i) EXPECT_NEAR((f[i] - g[i]) / (2 * h), J(i, j), 1e-7 * (1.0 + std::abs(J(i, j))));
  }
}

}  // namespace
}  // namespace saltus
