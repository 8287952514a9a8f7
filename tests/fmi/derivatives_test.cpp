// Directional and adjoint derivatives of exported FMUs, beside derivatives by hand.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

const FmuOptions fmi2_both{.version = FmiVersion::fmi2, .kind = FmuKind::both};
const FmuOptions fmi3_both{.version = FmiVersion::fmi3, .kind = FmuKind::both};

/// Outputs that follow from states and inputs by a loop of equations.
ModelicaModel loop() {
  return load_modelica(R"(
    model Loop
      input Real u(start = 2);
      output Real y, z;
      Real x(start = 1, fixed = true);
    equation
      der(x) = -y;
      y + z^3 = u + x;
      y - 2*z = x*u;
    end Loop;)",
                       "Loop.mo");
}

/// dy and dz by x and u, by hand: y' + 3 z^2 z' = a and y' - 2 z' = b.
struct LoopDerivatives {
  LoopDerivatives(double x, double u, double z) {
    const double slope = 2.0 + 3.0 * z * z;
    z_x = (1.0 - u) / slope;
    z_u = (1.0 - x) / slope;
    y_x = u + 2.0 * z_x;
    y_u = x + 2.0 * z_u;
  }
  double y_x, y_u, z_x, z_u;
};

TEST(FmuDerivatives, of_outputs_go_through_loops) {
  const LoadedFmu fmu(loop(), fmi2_both);
  const Instance2 instance(fmu, fmi2::model_exchange);
  instance.initialise(0.0, 4.0);
  const LoopDerivatives exact(1.0, 2.0, instance.real("z"));
  const double y_before = instance.real("y");
  const unsigned unknowns[] = {fmu.reference("y"), fmu.reference("z"), fmu.reference("der(x)")};
  const unsigned knowns[] = {fmu.reference("x"), fmu.reference("u")};
  const double seed[] = {1.0, -3.0};
  double result[3] = {};
  ASSERT_EQ(instance.call<fmi2::DirectionalDerivativeFunction>("fmi2GetDirectionalDerivative", unknowns, 3, knowns, 2,
                                                               seed, result),
            fmi2::ok)
      << last_message();
  EXPECT_NEAR(result[0], exact.y_x - 3.0 * exact.y_u, 1e-8);
  EXPECT_NEAR(result[1], exact.z_x - 3.0 * exact.z_u, 1e-8);
  EXPECT_NEAR(result[2], -result[0], 1e-9);
  EXPECT_NEAR(instance.real("y"), y_before, 1e-14);  // nothing has moved
  EXPECT_EQ(instance.real("u"), 2.0);
}

TEST(FmuDerivatives, adjoint_ones_are_the_transposed_ones) {
  const LoadedFmu fmu(loop(), fmi3_both);
  const Instance3 instance(fmu);
  instance.initialise(0.0, 4.0);
  const LoopDerivatives exact(1.0, 2.0, instance.real("z"));
  const unsigned unknowns[] = {fmu.reference("y"), fmu.reference("z")};
  const unsigned knowns[] = {fmu.reference("x"), fmu.reference("u")};
  const double seed[] = {2.0, 5.0};
  double result[2] = {};
  const auto adjoint = [&](std::size_t seeds, std::size_t results) {
    return instance.call<fmi3::DerivativeFunction>("fmi3GetAdjointDerivative", unknowns, std::size_t{2}, knowns,
                                                   std::size_t{2}, seed, seeds, result, results);
  };
  ASSERT_EQ(adjoint(2, 2), fmi3::ok) << last_message();
  EXPECT_NEAR(result[0], 2.0 * exact.y_x + 5.0 * exact.z_x, 1e-8);
  EXPECT_NEAR(result[1], 2.0 * exact.y_u + 5.0 * exact.z_u, 1e-8);
  EXPECT_EQ(adjoint(1, 2), fmi3::error);
  EXPECT_EQ(adjoint(2, 1), fmi3::error);
}

TEST(FmuDerivatives, are_there_between_the_steps_of_co_simulation) {
  const double seed[] = {1.0, -3.0};
  const auto check = [&](const LoadedFmu& fmu, const auto& instance, const auto& derivatives) {
    const double x = instance.real("x"), z = instance.real("z"), y = instance.real("y");
    const LoopDerivatives exact(x, 2.0, z);
    const unsigned unknowns[] = {fmu.reference("y"), fmu.reference("z"), fmu.reference("der(x)")};
    const unsigned knowns[] = {fmu.reference("x"), fmu.reference("u")};
    double result[3] = {};
    ASSERT_EQ(derivatives(unknowns, knowns, result), fmi::ok) << last_message();
    EXPECT_NEAR(result[0], exact.y_x - 3.0 * exact.y_u, 1e-8);
    EXPECT_NEAR(result[1], exact.z_x - 3.0 * exact.z_u, 1e-8);
    EXPECT_NEAR(result[2], -result[0], 1e-9);
    EXPECT_EQ(instance.real("y"), y);  // nothing has moved
  };
  const LoadedFmu fmu2(loop(), fmi2_both), fmu3(loop(), fmi3_both);
  const Instance2 two(fmu2, fmi2::co_simulation);
  two.initialise(0.0, 4.0);
  ASSERT_EQ(two.step(0.0, 0.5), fmi2::ok) << last_message();
  check(fmu2, two, [&](const unsigned* unknowns, const unsigned* knowns, double* result) {
    return two.call<fmi2::DirectionalDerivativeFunction>("fmi2GetDirectionalDerivative", unknowns, 3, knowns, 2, seed,
                                                         result);
  });
  ASSERT_EQ(two.step(0.5, 0.5), fmi2::ok) << last_message();
  const Instance3 three(fmu3, {});
  three.initialise(0.0, 4.0);
  ASSERT_EQ(three.step(0.0, 0.5).status, fmi3::ok) << last_message();
  check(fmu3, three, [&](const unsigned* unknowns, const unsigned* knowns, double* result) {
    return three.call<fmi3::DerivativeFunction>("fmi3GetDirectionalDerivative", unknowns, std::size_t{3}, knowns,
                                                std::size_t{2}, seed, std::size_t{2}, result, std::size_t{3});
  });
}

TEST(FmuDerivatives, of_initial_values_follow_the_initial_equations) {
  const ModelicaModel model = load_modelica(
      "model M input Real u(start = 1); parameter Real p = 5; output Real y; Real z(start = 2), x(start = 3, fixed ="
      " true); initial equation z^2 = 4 + p*u; equation der(z) = -z; der(x) = z; y = x*z; end M;",
      "M.mo");
  for (const bool exchange : {true, false}) {
    const LoadedFmu fmu(model, fmi2_both);
    const Instance2 instance(fmu, exchange ? fmi2::model_exchange : fmi2::co_simulation);
    ASSERT_EQ(instance.setup(0.0, 4.0), fmi2::ok);
    ASSERT_EQ(instance.plain("fmi2EnterInitializationMode"), fmi2::ok);
    const unsigned unknowns[] = {fmu.reference("z"), fmu.reference("y"), fmu.reference("der(z)")};
    const unsigned knowns[] = {fmu.reference("u"), fmu.reference("p"), fmu.reference("x")};
    // z = sqrt(4 + p u) = 3: dz = (p du + u dp)/(2 z), dy = x dz + z dx
    for (const std::array<double, 3> seed : {std::array{1.0, 0.0, 0.0}, std::array{0.5, 2.0, -1.0}}) {
      double result[3] = {};
      ASSERT_EQ(instance.call<fmi2::DirectionalDerivativeFunction>("fmi2GetDirectionalDerivative", unknowns, 3, knowns,
                                                                   3, seed.data(), result),
                fmi2::ok)
          << last_message();
      const double dz = (5.0 * seed[0] + 1.0 * seed[1]) / 6.0;
      EXPECT_NEAR(result[0], dz, 1e-7);
      EXPECT_NEAR(result[1], 3.0 * dz + 3.0 * seed[2], 1e-7);
      EXPECT_NEAR(result[2], -dz, 1e-7);
    }
    EXPECT_NEAR(instance.real("z"), 3.0, 1e-12);  // nothing has moved
    ASSERT_EQ(instance.plain("fmi2ExitInitializationMode"), fmi2::ok) << last_message();
    EXPECT_NEAR(instance.real("y"), 9.0, 1e-12);
  }
}

}  // namespace
}  // namespace saltus::fmi_tests
