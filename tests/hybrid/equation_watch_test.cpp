// EquationWatch promises: values that solve the equations as they were written, with errors of some tolerances, pass;
// others are refused, with the equation, the time and the difference.
#include "hybrid/equation_watch.hpp"

#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/modelica/modelica.hpp>

#include <cmath>
#include <map>
#include <string>

#include "problems/known_answers.hpp"

namespace saltus {
namespace {

/// A model, and values that someone says solve it.
struct Claim {
  explicit Claim(const std::string& text) : model(load_modelica("model M " + text + " end M;", "M.mo").model) {}

  Failure check(double tolerance, double t, const std::map<std::string, double>& values,
                const std::map<std::string, double>& slopes, double step = 0.1) {
    const auto value_of = [](const auto& list, const std::string& name) {
      const auto it = list.find(name);
      return it == list.end() ? 0.0 : it->second;
    };
    std::vector<double> observed, x, xp;
    for (const auto& v : model.observed()) observed.push_back(value_of(values, v.name));
    for (const auto& v : model.variables()) {
      x.push_back(value_of(values, v.name));
      xp.push_back(value_of(slopes, v.name));
    }
    return EquationWatch({.rtol = tolerance, .atol = tolerance}, {})
        .check(model, model.initial_mode(), t, observed, x, xp, step);
  }

  CompiledModel model;
};

const char* const capacitor = "Real u, i, P; equation u = 230*sin(314.159*time); i = 1e-6*der(u); P = u*i;";

TEST(EquationWatch, NamesTheEquationThePlaceAndTheDifference) {
  Claim claim(capacitor);
  const double t = 0.033, u = 230.0 * std::sin(314.159 * t), up = 230.0 * 314.159 * std::cos(314.159 * t);
  EXPECT_FALSE(claim.check(1e-6, t, {{"u", u}, {"i", 1e-6 * up}, {"P", 1e-6 * up * u}}, {{"u", up}}));
  // what was said to be the current, at any tolerance
  const Failure wrong = claim.check(1e-6, t, {{"u", u}, {"i", -0.0697}, {"P", -0.0697 * u}}, {{"u", up}});
  EXPECT_EQ(wrong.code, StatusCode::equation_violated);
  ASSERT_EQ(wrong.culprits.size(), 1u);
  EXPECT_NE(wrong.culprits[0].find("i = "), std::string::npos) << wrong.culprits[0];
  EXPECT_NE(wrong.culprits[0].find("M.mo:1:"), std::string::npos) << wrong.culprits[0];
  EXPECT_NE(wrong.message.find("t = 0.033"), std::string::npos) << wrong.message;
  EXPECT_NE(wrong.message.find("differ by 0.0272"), std::string::npos) << wrong.message;
}

TEST(EquationWatch, RefusesWhatABentAlgebraicVariableWasInsideOfSteps) {
  Claim claim("Real x, s(start = 1, fixed = true); equation x + 0.1*x^3 = sin(100*time); der(s) = -s;");
  const double t = 0.123, s = std::exp(-t), x = problems::cubic_root(0.1, std::sin(100.0 * t));
  EXPECT_FALSE(claim.check(1e-6, t, {{"x", x}, {"s", s}}, {{"s", -s}}));
  EXPECT_TRUE(claim.check(1e-6, t, {{"x", x + 2.9e-4}, {"s", s}}, {{"s", -s}}));
  EXPECT_TRUE(claim.check(1e-6, t, {{"x", x - 5.6e-2}, {"s", s}}, {{"s", -s}}));
}

// Errors that are assumed for the two sides of an equation must not cancel in all trials, in any of many equations.
TEST(EquationWatch, AcceptsErrorsOfTheToleranceInEachOfManyEquations) {
  constexpr int count = 500;
  Claim claim("Real u[500], i[500]; equation for k in 1:500 loop i[k] = 1 + time; u[k] = i[k]; end for;");
  std::map<std::string, double> values;
  for (int k = 1; k <= count; ++k) {
    values["i[" + std::to_string(k) + "]"] = 1.0;
    values["u[" + std::to_string(k) + "]"] = 1.0 + 5e-7;
  }
  const Failure none = claim.check(1e-6, 0.0, values, {});
  EXPECT_FALSE(none) << none.message;
  values["u[77]"] = 1.001;
  EXPECT_TRUE(claim.check(1e-6, 0.0, values, {}));
}

TEST(EquationWatch, AcceptsErrorsOfTheToleranceWhereTheyAreMultiplied) {
  Claim claim("Real s(start = 1, fixed = true); equation der(s) = -1e6*(s - cos(time)) - sin(time);");
  const double t = 1.0, s = std::cos(t) + 1e-6;  // the derivative is wrong by 1
  EXPECT_FALSE(claim.check(1e-6, t, {{"s", s}}, {{"s", -std::sin(t)}}));
  EXPECT_TRUE(claim.check(1e-9, t, {{"s", s}}, {{"s", -std::sin(t)}}));
}

TEST(EquationWatch, MeasuresVariablesByTheirNominalValues) {
  Claim small("Real p; equation p = 1e5*sin(time);"), large("Real p(nominal = 1e5); equation p = 1e5*sin(time);");
  EXPECT_TRUE(small.check(1e-6, 0.0, {{"p", 0.1}}, {}));
  EXPECT_FALSE(large.check(1e-6, 0.0, {{"p", 0.1}}, {}));
}

TEST(EquationWatch, DoesNotTakeRoundingErrorsOfLargeTermsForDifferences) {
  Claim claim("Real x, y; equation x + 1e12 = y; y = 1e12 + time;");
  EXPECT_FALSE(claim.check(1e-12, 0.5, {{"x", 0.5 + 1e-4}, {"y", 1e12 + 0.5}}, {}));
}

TEST(EquationWatch, SaysNothingAtTheEdgeOfADomain) {
  Claim claim("Real x; equation sqrt(x) = time;");
  EXPECT_FALSE(claim.check(1e-6, 1e-5, {{"x", 0.0}}, {}));  // x = 1e-10
}

TEST(EquationWatch, TakesTheBranchOfTheMode) {
  Claim claim("Real x, y; equation x = time; y = if x > 1 then 2*x else x;");
  // before anything is known about the relation it is false
  EXPECT_FALSE(claim.check(1e-6, 3.0, {{"x", 3.0}, {"y", 3.0}}, {}));
  EXPECT_TRUE(claim.check(1e-6, 3.0, {{"x", 3.0}, {"y", 6.0}}, {}));
}

/// Integrates x' = 1, and claims that x = min(t, 1) had been asked for.
class Mistaken final : public HybridSystem, public WrittenEquations {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {}; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { return clock_; }
  int side(const Mode&, int) const override { return 0; }
  void set_side(Mode&, int, int) const override {}
  double next_time_event(const Mode&, double, int direction, std::vector<int>&) override {
    return direction * std::numeric_limits<double>::infinity();
  }
  bool transition(const EventInput&, Transition&) override { return false; }
  WrittenEquations* written_equations(const Mode&) override { return this; }

  int count() const override { return 1; }
  std::string name(int) const override { return "x = min(time, 1)"; }
  void residuals(const Mode&, double t, std::span<const double> values, std::span<const double>,
                 std::span<WrittenResidual> residuals) override {
    const double asked = std::min(t, 1.0);
    residuals[0] = {values[0] - asked, std::abs(values[0]) + asked};
  }

 private:
  struct Clock final : System {
    Clock() {
      structure_.variables = structure_.equations = 1;
      structure_.explicit_ode = true;
      structure_.state_pattern = structure_.derivative_pattern =
          make_pattern(1, 1, std::vector<std::pair<int, int>>{{0, 0}});
    }
    const Structure& structure() const override { return structure_; }
    void residual(double, std::span<const double>, std::span<const double> xp, std::span<double> F) override {
      F[0] = xp[0] - 1.0;
    }
    void rhs(double, std::span<const double>, std::span<double> xp) override { xp[0] = 1.0; }
    void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> Fx,
                  std::span<double> Fxp) override {
      Fx[0] = 0.0;
      Fxp[0] = 1.0;
    }
    Structure structure_;
  };

  std::string name_ = "mistaken";
  std::vector<VariableInfo> variables_ = {{.name = "x"}};
  std::vector<GuardInfo> guards_;
  Clock clock_;
};

TEST(EquationWatch, NoRunSucceedsWhoseResultViolatesAnEquation) {
  const auto run = [](double stop, double max_step) {
    Simulator simulator(std::make_shared<Mistaken>(), {.stop = stop, .max_step = max_step});
    simulator.run();
    return simulator.status();
  };
  EXPECT_EQ(run(1.0, 0.1).code, StatusCode::success);
  const Status at_the_end = run(1.01, 10.0);
  EXPECT_EQ(at_the_end.code, StatusCode::equation_violated);
  EXPECT_FALSE(at_the_end.ok());
  EXPECT_NE(at_the_end.message.find("'x = min(time, 1)' at t = 1.01"), std::string::npos) << at_the_end.message;
  // long before its end: at most three times as many steps later as have been made
  const Status on_the_way = run(100.0, 0.1);
  EXPECT_EQ(on_the_way.code, StatusCode::equation_violated);
  EXPECT_GT(on_the_way.t, 1.0);
  EXPECT_LT(on_the_way.t, 6.0);
}

TEST(EquationWatch, LooksAtTheFirstStepsAndThenNowAndThen) {
  EquationWatch watch(SimulateOptions{}, {});
  int looks = 0;
  for (int k = 0; k < 10000; ++k) looks += watch.step_is_due(true);
  EXPECT_GE(looks, 10000 / 64);
  EXPECT_LE(looks, 10000 / 64 + 4);
  EXPECT_TRUE(EquationWatch(SimulateOptions{}, {}).step_is_due(false));
  for (int k = 0; k < 100; ++k) {
    const double place = watch.place();
    EXPECT_TRUE(place >= 0.0 && place < 1.0);
  }
}

}  // namespace
}  // namespace saltus
