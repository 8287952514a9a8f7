// FMUs of another tool for co-simulation: values beside exact solutions, inputs, events, refused steps.
#include <gtest/gtest.h>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>

#include "fmi/fmu_master.hpp"
#include "fmi/foreign_fmu.hpp"

namespace saltus::fmi_tests {
namespace {

constexpr const char* variable_steps = R"(canHandleVariableCommunicationStepSize="true")";
constexpr const char* lines2 = R"(canHandleVariableCommunicationStepSize="true" canInterpolateInputs="true")";
constexpr const char* events3 =
    R"(canHandleVariableCommunicationStepSize="true" hasEventMode="true" mightReturnEarlyFromDoStep="true")";

Foreign stepped(Foreign f, const std::string& attributes = variable_steps) {
  f.steps = attributes;
  return f;
}

class Steps : public testing::TestWithParam<FmiVersion> {};

Trajectory run(const std::string& file, double stop, ImportOptions options = {},
               std::map<std::string, InputSignal> inputs = {}) {
  options.stop = stop;
  return simulate(import_fmu(file, options), {.stop = stop, .inputs = std::move(inputs)});
}

TEST_P(Steps, dahlquist_decays_exponentially) {
  const ForeignFile file(stepped(dahlquist), GetParam());
  const Trajectory result = run(file.path(), 2.0, {.values = {{"p0", 0.5}}, .step = 0.01});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  for (const double t : {0.0, 0.5, 1.0, 2.0}) EXPECT_NEAR(result.at(t, "x1"), std::exp(-0.5 * t), 1e-12) << t;
  // between two communication points along a line: h^2 |x''| / 8
  EXPECT_NEAR(result.at(0.505, "x1"), std::exp(-0.2525), 1e-4 * 0.25 / 8.0);
  EXPECT_TRUE(result.events().empty());
}

TEST_P(Steps, van_der_pol_agrees_with_model_exchange) {
  const ForeignFile steps(stepped(van_der_pol), GetParam()), exchange(van_der_pol, GetParam());
  const Trajectory result = run(steps.path(), 10.0, {.step = 0.1});
  const Trajectory exact = simulate(import_fmu(exchange.path()), {.stop = 10.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  for (const double t : {1.0, 5.0, 10.0}) {
    EXPECT_NEAR(result.at(t, "x1"), exact.at(t, "x1"), 1e-8);
    EXPECT_NEAR(result.at(t, "der(x2)"), exact.at(t, "der(x2)"), 1e-7);
  }
}

TEST_P(Steps, stair_climbs_inside_of_steps_and_ends_the_run) {
  const ForeignFile file(stepped(stair), GetParam());
  const Trajectory result = run(file.path(), 20.0, {.step = 0.4});
  EXPECT_EQ(result.status().code, StatusCode::terminated) << result.status().message;
  EXPECT_NEAR(result.t_end(), 9.0, 1e-9);
  // what changes inside of a step is seen at its end
  EXPECT_EQ(result.at(0.5, "n"), 1.0);
  EXPECT_EQ(result.at(1.1, "n"), 1.0);
  EXPECT_EQ(result.at(1.3, "n"), 2.0);
  EXPECT_EQ(result.at(3.5, "n"), 4.0);
}

TEST(StepsWithEvents, stair_climbs_at_exact_times) {
  const ForeignFile file(stepped(stair, events3), FmiVersion::fmi3);
  const Trajectory result = run(file.path(), 20.0, {.step = 0.4});
  EXPECT_EQ(result.status().code, StatusCode::terminated) << result.status().message;
  EXPECT_EQ(result.t_end(), 9.0);
  ASSERT_EQ(result.events().size(), 9u);
  for (int k = 1; k <= 9; ++k) EXPECT_NEAR(result.events()[static_cast<std::size_t>(k - 1)].t, k, 1e-12);
  EXPECT_EQ(result.at(0.99, "n"), 1.0);
  EXPECT_EQ(result.at(1.01, "n"), 2.0);
}

TEST_P(Steps, state_space_answers_a_jump_of_its_input_at_its_time) {
  const ForeignFile file(stepped(state_space), GetParam());
  // the jump lies inside of a step of the grid, which ends there
  const Trajectory result =
      run(file.path(), 5.0, {.step = 0.3}, {{"u", InputSignal::table({0.0, 1.0, 1.0}, {0.0, 0.0, 1.0})}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  const double w = std::sqrt(4.0 - 0.04);
  for (const double t : {0.9, 1.5, 3.0, 4.8, 5.0}) {
    const double s = t - 1.0;
    const double x = s < 0.0 ? 0.0 : 0.25 * (1.0 - std::exp(-0.2 * s) * (std::cos(w * s) + 0.2 / w * std::sin(w * s)));
    EXPECT_NEAR(result.at(t, "x1"), x, 1e-9) << t;
    EXPECT_NEAR(result.at(t, "y"), x + (s < 0.0 ? 0.0 : 0.5), 1e-9) << t;
  }
}

TEST_P(Steps, inputs_are_held_in_steps_or_move_along_lines_where_the_fmu_can) {
  const bool lines = GetParam() == FmiVersion::fmi2;
  const ForeignFile file(stepped(feedthrough, lines ? lines2 : variable_steps), GetParam());
  // x' = u = t; y = 2 u; n = m + 1, and m jumps at 1.25
  const Trajectory result = run(file.path(), 2.0, {.step = 0.1},
                                {{"u", InputSignal::table({0.0, 4.0}, {0.0, 4.0})},
                                 {"m", InputSignal::table({0.0, 1.25}, {3.0, 7.0}, InputSignal::Between::steps)}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  // held, the sum of rectangles of the width 0.1, two of them cut at 1.25
  const double held = 0.5 * 4.0 - 0.5 * 0.1 * 2.0 + 0.05 * 0.05;
  EXPECT_NEAR(result.at(2.0, "x1"), lines ? 2.0 : held, 1e-9);
  for (const double t : {0.3, 1.0, 1.7}) EXPECT_NEAR(result.at(t, "y"), 2.0 * t, 1e-9) << t;
  EXPECT_EQ(result.at(1.2, "n"), 4.0);
  EXPECT_EQ(result.at(1.26, "n"), 8.0);
}

TEST(StepsWithEvents, discrete_inputs_are_set_in_event_mode) {
  const ForeignFile file(stepped(feedthrough, events3), FmiVersion::fmi3);
  const Trajectory result = run(file.path(), 2.0, {.step = 0.1},
                                {{"m", InputSignal::table({0.0, 1.25}, {3.0, 7.0}, InputSignal::Between::steps)}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  EXPECT_EQ(result.at(1.24, "n"), 4.0);
  EXPECT_EQ(result.at(1.26, "n"), 8.0);
}

TEST_P(Steps, a_model_finds_its_resources_and_a_second_run_begins_anew) {
  const ForeignFile file(stepped(resource), GetParam());
  const auto fmu = import_fmu(file.path());
  const Trajectory one = simulate(fmu, {.stop = 1.0}), other = simulate(fmu, {.stop = 1.0});
  for (const Trajectory* result : {&one, &other}) {
    ASSERT_TRUE(result->status().ok()) << result->status().message;
    EXPECT_EQ(result->at(0.5, "n"), 97.0);
  }
  const ForeignFile decay(stepped(dahlquist), GetParam());
  const auto again = import_fmu(decay.path(), {.step = 0.05});
  const Trajectory first = simulate(again, {.stop = 1.0}), second = simulate(again, {.stop = 2.0});
  EXPECT_EQ(first.at(0.7, "x1"), second.at(0.7, "x1"));
  EXPECT_NEAR(second.at(2.0, "x1"), std::exp(-2.0), 1e-12);
}

TEST(StepsThatAreRefused, are_halved_where_the_fmu_saves_its_state) {
  Foreign f = stepped(dahlquist);
  f.name = "Short";  // refuses steps longer than 0.04
  const ForeignFile file(f, FmiVersion::fmi2);
  const Trajectory result = run(file.path(), 1.0, {.step = 0.1});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  EXPECT_NEAR(result.at(1.0, "x1"), std::exp(-1.0), 1e-12);
  f.saves_states = false;
  const ForeignFile fixed(f, FmiVersion::fmi2);
  EXPECT_THROW(run(fixed.path(), 1.0, {.step = 0.1}), Error);
}

TEST(StepsOfSimulator, inputs_may_change_inside_of_a_step_where_the_fmu_can_go_back) {
  for (const bool saves : {true, false}) {
    Foreign f = stepped(feedthrough);
    f.saves_states = saves;
    const ForeignFile file(f, FmiVersion::fmi3);
    Simulator simulator(import_fmu(file.path(), {.step = 0.4}), {.stop = 2.0});
    simulator.advance_to(0.5);
    if (!saves) {
      EXPECT_THROW(simulator.set_input("u", 1.0), Error);
      continue;
    }
    simulator.set_input("u", 1.0);
    simulator.advance_to(2.0);
    ASSERT_TRUE(simulator.status().ok()) << simulator.status().message;
    EXPECT_NEAR(simulator.values()[0], 1.5, 1e-12);  // x' = 1 from 0.5 on
  }
}

class SteppedGallery : public testing::TestWithParam<std::string> {};

// Models of the gallery as FMUs for co-simulation, also those with hidden constraints: at the communication points
// their values are those of a run.
TEST_P(SteppedGallery, has_the_values_of_a_run_at_communication_points) {
  const ModelicaModel model = gallery_model(GetParam());
  SimulateOptions options;
  options.stop = model.experiment.stop.value_or(1.0);
  options.rtol = options.atol = model.experiment.tolerance.value_or(1e-6);
  const Trajectory direct = simulate(model.model, options);
  ASSERT_TRUE(direct.status().ok()) << direct.status().message;
  for (const FmiVersion version : {FmiVersion::fmi2, FmiVersion::fmi3}) {
    const ScratchFile file("model.fmu");
    export_fmu(model, file.path(), {.version = version, .library = SALTUS_FMU_LIBRARY});
    const double step = options.stop / 40.0;
    const Trajectory back =
        simulate(import_fmu(file.path(), {.stop = options.stop, .tolerance = options.rtol, .step = step}), options);
    ASSERT_TRUE(back.status().ok()) << back.status().message;
    for (int k = 1; k <= 40; ++k) {
      const double t = std::min(k * step, options.stop), width = 1e-5 * options.stop;
      if (std::ranges::any_of(direct.events(), [&](const Event& e) { return std::abs(e.t - t) < width; })) continue;
      for (std::size_t j = 0; j < direct.variables().size(); ++j) {
        const std::string& name = direct.variables()[j].name;
        const double exact = direct.at(t)[j], value = back.at(t, name);
        EXPECT_NEAR(value, exact, std::max(1e-6, 3e3 * options.rtol) * (1.0 + std::abs(exact))) << name << " at " << t;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(models, SteppedGallery,
                         testing::Values("BouncingBall", "Clutch", "RopePendulum", "StickSlip", "RoomHeating"),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(versions, Steps, testing::Values(FmiVersion::fmi2, FmiVersion::fmi3),
                         [](const auto& test) { return test.param == FmiVersion::fmi2 ? "fmi2" : "fmi3"; });

}  // namespace
}  // namespace saltus::fmi_tests
