// Every stepper of the library, one case each.
#include <saltus/step/bdf.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>
#include <saltus/step/taylor.hpp>

#include <map>

#include "suites/stepper_suite.hpp"
#include "suites/stiff_suite.hpp"

namespace saltus::suite {
namespace {

StepperCase explicit_case(const char* name, const Tableau& table, double order, double dense_order) {
  return {.name = name,
          .make = [&table](StepOptions options) { return make_explicit_runge_kutta(table, std::move(options)); },
          .order = order,
          .dense_order = dense_order};
}

StepperCase rosenbrock_case(const char* name, const RosenbrockTableau& table, double order, double dense_order) {
  return {.name = name,
          .make = [&table](StepOptions options) { return make_rosenbrock(table, std::move(options)); },
          .order = order,
          .dense_order = dense_order,
          .smooth_dense = false,
          .tests_all_variables = true};
}

StepperCase radau_case(const char* name, int order) {
  return {.name = name,
          .make = [order](StepOptions options) { return make_radau(std::move(options), {.order = order}); },
          .order = static_cast<double>(order),
          .dense_order = order - 1.0,
          .make_for_order =
              [order](StepOptions options) {
                return make_radau(std::move(options), {.order = order, .fixed_iterations = 15});
              }};
}

std::string case_name(const ::testing::TestParamInfo<StepperCase>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Explicit, StepperSuite,
                         ::testing::Values(explicit_case("BogackiShampine3", bogacki_shampine_3(), 3, 3),
                                           explicit_case("DormandPrince5", dormand_prince_5(), 5, 4),
                                           explicit_case("Tsitouras5", tsitouras_5(), 5, 4),
                                           explicit_case("DormandPrince8", dormand_prince_8(), 8, 7)),
                         case_name);

const auto rosenbrock_cases =
    ::testing::Values(rosenbrock_case("Rodas4", rodas_4(), 4, 3), rosenbrock_case("Rodas5P", rodas_5p(), 5, 4));
INSTANTIATE_TEST_SUITE_P(Rosenbrock, StepperSuite, rosenbrock_cases, case_name);
INSTANTIATE_TEST_SUITE_P(Rosenbrock, StiffSuite, rosenbrock_cases, case_name);

/// The order varies with the problem; for the measurement it is fixed.
StepperCase variable_radau_case() {
  StepperCase radau = radau_case("Radau", 9);
  radau.make = [](StepOptions options) { return make_radau(std::move(options), {.order = 0}); };
  return radau;
}

const auto radau_cases = ::testing::Values(radau_case("Radau5", 5), radau_case("Radau9", 9), radau_case("Radau13", 13),
                                           variable_radau_case());
INSTANTIATE_TEST_SUITE_P(Radau, StepperSuite, radau_cases, case_name);
INSTANTIATE_TEST_SUITE_P(Radau, StiffSuite, radau_cases, case_name);

/// The order varies with the solution; for the measurement it is fixed. The first step is one of the starting method.
StepperCase bdf_case() {
  return {.name = "Bdf",
          .make = [](StepOptions options) { return make_bdf(std::move(options)); },
          .order = 5,
          .dense_order = 4,
          .fewest_steps = 24,
          .restart_steps = 3,  // order 4 first
          .smooth_dense = false,
          .make_for_order =
              [](StepOptions options) {
                return make_bdf(std::move(options), {.fixed_order = true, .fixed_iterations = 15});
              }};
}

INSTANTIATE_TEST_SUITE_P(Bdf, StepperSuite, ::testing::Values(bdf_case()), case_name);
INSTANTIATE_TEST_SUITE_P(Bdf, StiffSuite, ::testing::Values(bdf_case()), case_name);

/// The order is that of the tolerance in use; for the measurement it is fixed.
StepperCase taylor_case(int order) {
  const auto fixed = [order](StepOptions options) { return make_taylor(std::move(options), {.order = order}); };
  return {.name = "Taylor",
          .make = [](StepOptions options) { return make_taylor(std::move(options)); },
          .order = static_cast<double>(order),
          .dense_order = static_cast<double>(order),
          .make_for_order = fixed};
}

/// An explicit system that does not say so: F = x' - f is all that a method for differential-algebraic equations gets.
class Implicit final : public System {
 public:
  explicit Implicit(System& inner) : inner_(inner), structure_(inner.structure()) { structure_.explicit_ode = false; }
  const Structure& structure() const override { return structure_; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    inner_.residual(t, x, xp, F);
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    inner_.jacobian(t, x, xp, Fx, Fxp);
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override { inner_.taylor(t, level, X, F); }

 private:
  System& inner_;
  Structure structure_;
};

/// Gives such systems to a stepper.
class ImplicitOnly final : public Stepper {
 public:
  explicit ImplicitOnly(std::unique_ptr<Stepper> stepper) : stepper_(std::move(stepper)) {}
  std::string_view name() const override { return stepper_->name(); }
  int order() const override { return stepper_->order(); }
  void start(System& system, const StartPoint& point) override {
    auto& implicit = systems_[&system];
    if (!implicit) implicit = std::make_unique<Implicit>(system);
    stepper_->start(*implicit, point);
    statistics_ = stepper_->statistics();
  }
  StepOutcome advance(double limit) override {
    const StepOutcome outcome = stepper_->advance(limit);
    statistics_ = stepper_->statistics();
    return outcome;
  }
  double t() const override { return stepper_->t(); }
  std::span<const double> x() const override { return stepper_->x(); }
  std::span<const double> xp() const override { return stepper_->xp(); }
  const DensePolynomial& dense() override { return stepper_->dense(); }
  double next_step() const override { return stepper_->next_step(); }
  double error() const override { return stepper_->error(); }

 private:
  std::unique_ptr<Stepper> stepper_;
  std::map<System*, std::unique_ptr<Implicit>> systems_;
};

StepperCase taylor_dae_case(int order) {
  StepperCase c = taylor_case(order);
  c.name = "TaylorOfDaes";
  c.make = [](StepOptions options) { return std::make_unique<ImplicitOnly>(make_taylor(std::move(options))); };
  c.make_for_order = [order](StepOptions options) {
    return std::make_unique<ImplicitOnly>(make_taylor(std::move(options), {.order = order}));
  };
  return c;
}

INSTANTIATE_TEST_SUITE_P(Taylor, StepperSuite, ::testing::Values(taylor_case(8), taylor_dae_case(8)), case_name);

}  // namespace
}  // namespace saltus::suite
