// No run succeeds that goes on with a wrong truth of a relation, or off a surface on which it should stay.
// Decorators of right models make the mistakes.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "suites/forwarding_system.hpp"

namespace saltus {
namespace {

/// An explicit system whose guards are zero elsewhere.
class ShiftedGuards final : public System {
 public:
  ShiftedGuards(System& of, std::function<double(double)> shift) : of_(of), shift_(std::move(shift)) {
    structure_ = of.structure();
    structure_.taylor = false;
  }
  const Structure& structure() const override { return structure_; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    of_.residual(t, x, xp, F);
  }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override { of_.rhs(t, x, xp); }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    of_.jacobian(t, x, xp, Fx, Fxp);
  }
  void guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) override {
    of_.guards(t, x, xp, g);
    for (double& value : g) value += shift_(t);
  }

 private:
  System& of_;
  std::function<double(double)> shift_;
  Structure structure_;
};

/// The run sees guards that are shifted at a time.
class WrongGuards final : public suite::ForwardingSystem {
 public:
  WrongGuards(std::shared_ptr<HybridSystem> of, std::function<double(double)> shift)
      : ForwardingSystem(std::move(of)), shift_(std::move(shift)) {}
  std::unique_ptr<HybridSystem> instance() const override { return nullptr; }
  System& system(const Mode& mode) override {
    System& right = behind().system(mode);
    std::unique_ptr<ShiftedGuards>& wrong = systems_[&right];
    if (!wrong) wrong = std::make_unique<ShiftedGuards>(right, shift_);
    return *wrong;
  }
  void forget_systems(std::span<const System* const>) override {}

 private:
  std::function<double(double)> shift_;
  std::map<const System*, std::unique_ptr<ShiftedGuards>> systems_;
};

/// A variable has another value in some modes.
class WrongValue final : public suite::ForwardingSystem {
 public:
  WrongValue(std::shared_ptr<HybridSystem> of, std::size_t variable, double shift)
      : ForwardingSystem(std::move(of)), variable_(variable), shift_(shift) {}
  std::unique_ptr<HybridSystem> instance() const override { return nullptr; }
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override {
    behind().observe(mode, t, x, xp, values);
    if (mode.on_surfaces()) values[variable_] += shift_;
  }

 private:
  std::size_t variable_;
  double shift_;
};

std::shared_ptr<CompiledModel> compiled(const std::string& text) {
  return std::make_shared<CompiledModel>(load_modelica("model M " + text + " end M;", "M.mo").model);
}

Status run(std::shared_ptr<HybridSystem> system, double stop, Method method = Method::automatic) {
  return simulate(std::move(system), {.stop = stop, .rtol = 1e-6, .atol = 1e-8, .method = method}).status();
}

void expect_caught(const Status& status, const std::string& relation, const std::string& what) {
  EXPECT_EQ(status.code, StatusCode::equation_violated) << status.message;
  EXPECT_NE(status.message.find(relation), std::string::npos) << status.message;
  EXPECT_NE(status.message.find(what), std::string::npos) << status.message;
}

const char* const branch = R"(
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = 1;
  der(y) = if x > 1 then 3 else 1;)";
const char* const clause = R"(
  Real x(start = 0, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(x) = 1;
  when x > 1 then
    n = pre(n) + 1;
  end when;)";

TEST(RelationWatch, ARelationWithTheWrongTruthEndsTheRun) {
  for (const char* text : {branch, clause})
    for (const Method method : {Method::automatic, Method::dop853, Method::rodas4}) {
      const auto right = std::make_shared<WrongGuards>(compiled(text), [](double) { return 0.0; });
      EXPECT_EQ(run(right, 3.0, method).code, StatusCode::success);
      // the event happens at x = 1.5, or never
      for (const double shift : {-0.5, -10.0}) {
        const auto wrong = std::make_shared<WrongGuards>(compiled(text), [=](double) { return shift; });
        expect_caught(run(wrong, 3.0, method), "x > 1", "taken as false");
      }
      const auto early = std::make_shared<WrongGuards>(compiled(text), [](double) { return +0.5; });
      expect_caught(run(early, 0.9, method), "x > 1", "taken as true");
    }
}

// A thermostat switches every second or so; from t = 100 on one of its thresholds is elsewhere.
TEST(RelationWatch, RepeatedEventsAreLookedAt) {
  const char* const text = R"(
    Real x(start = 0, fixed = true);
    Boolean up(start = true, fixed = true);
  equation
    der(x) = if up then 1 else -1;
    when x > 1 then
      up = false;
    elsewhen x < 0 then
      up = true;
    end when;)";
  const auto shift = [](double from) { return [from](double t) { return t > from ? -0.2 : 0.0; }; };
  EXPECT_EQ(run(std::make_shared<WrongGuards>(compiled(text), shift(1e9)), 400.0).code, StatusCode::success);
  const Status wrong = run(std::make_shared<WrongGuards>(compiled(text), shift(100.5)), 400.0);
  EXPECT_EQ(wrong.code, StatusCode::equation_violated) << wrong.message;
  EXPECT_GT(wrong.t, 100.0);
  EXPECT_LT(wrong.t, 300.0);
}

const char* const ball = R"(
  Real h(start = 1, fixed = true), v(start = 0, fixed = true), z(start = 1, fixed = true), w = 2*z, f = 3*v;
equation
  der(h) = v;
  der(v) = -10;
  der(z) = -z;
  when h < 0 then
    reinit(v, -0.5*pre(v));
  end when;)";

TEST(RelationWatch, InContactTheSurfaceIsKeptAndOtherEquationsHold) {
  const auto right = compiled(ball);
  ASSERT_EQ(run(right, 3.0).code, StatusCode::success);
  const auto place = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(right->observed(), name, &VariableInfo::name) -
                                    right->observed().begin());
  };
  expect_caught(run(std::make_shared<WrongValue>(right, place("h"), 0.01), 3.0), "h", "kept at zero");
  expect_caught(run(std::make_shared<WrongValue>(right, place("w"), 0.01), 3.0), "w = 2*z", "differ by 0.01");
  expect_caught(run(std::make_shared<WrongValue>(right, place("f"), 0.01), 3.0), "f = 3*v", "differ by 0.01");
}

TEST(RelationWatch, SlidesBetweenExplicitModesAreLookedAt) {
  Model m("modes");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), z = m.variable("z", 1.0), w = m.variable("w", 2.0);
  m.equation(der(z) == -z);
  m.equation(w == 2.0 * z);
  ExplicitMode up = m.mode("up"), down = m.mode("down");
  up.equations({der(x) == -1.0, der(y) == 1.0});
  down.equations({der(x) == 2.0, der(y) == 4.0});
  up.transition(x < 0.0).to(down);
  down.transition(x > 0.0).to(up);
  const auto right = std::make_shared<CompiledModel>(m);
  const Trajectory good = simulate(right, {.stop = 3.0});
  ASSERT_TRUE(good.status().ok()) << good.status().message;
  EXPECT_NEAR(good.final()[1], 1.0 + 2.0 * 2.0, 1e-9);  // slides from t = 1 on, with weights 2/3 and 1/3
  expect_caught(run(std::make_shared<WrongValue>(right, 0, 0.01), 3.0), "x", "kept at zero");
  expect_caught(run(std::make_shared<WrongValue>(right, 3, 0.01), 3.0), "w", "differ by 0.01");
}

}  // namespace
}  // namespace saltus
