// FMUs of another tool for model exchange: events and values beside exact solutions.
#include <gtest/gtest.h>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>

#include "fmi/foreign_fmu.hpp"

namespace saltus::fmi_tests {
namespace {

class Import : public testing::TestWithParam<FmiVersion> {};

Trajectory run(const std::string& file, double stop, const ImportOptions& options = {},
               std::map<std::string, InputSignal> inputs = {}) {
  return simulate(import_fmu(file, options), {.stop = stop, .rtol = 1e-9, .atol = 1e-9, .inputs = std::move(inputs)});
}

TEST_P(Import, dahlquist_decays_exponentially) {
  const ForeignFile file(dahlquist, GetParam());
  const Trajectory result = run(file.path(), 10.0, {.values = {{"p0", 0.5}}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  for (const double t : {0.0, 1.0, 5.0, 10.0}) EXPECT_NEAR(result.at(t, "x1"), std::exp(-0.5 * t), 1e-7);
  EXPECT_NEAR(result.at(2.0, "der(x1)"), -0.5 * std::exp(-1.0), 1e-7);
}

TEST_P(Import, bouncing_ball_hits_the_ground_at_exact_times) {
  const ForeignFile file(bouncing_ball, GetParam());
  const Trajectory result = run(file.path(), 3.0);
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  // h = 1: first impact after sqrt(2 h / g), each flight 0.7 times as long as the one before, until the speed after an
  // impact is below 0.1
  const double first = std::sqrt(2.0 / 9.81);
  double t = first, speed = 9.81 * first;
  std::size_t k = 0;
  for (; speed * 0.7 >= 0.1; ++k) {
    ASSERT_LT(k, result.events().size());
    EXPECT_NEAR(result.events()[k].t, t, 1e-8) << k;
    speed *= 0.7;
    t += 2.0 * speed / 9.81;
  }
  ASSERT_EQ(result.events().size(), k + 1);
  EXPECT_NEAR(result.events()[k].t, t, 1e-8);
  EXPECT_NEAR(result.final()[result.index("x1")], 0.0, 1e-9);
  EXPECT_EQ(result.final()[result.index("x2")], 0.0);
}

TEST_P(Import, van_der_pol_agrees_with_the_same_equations_in_cpp) {
  const ForeignFile file(van_der_pol, GetParam());
  Model m("van der pol");
  const Expr x = m.variable("x", 2.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == 5.0 * (1.0 - x * x) * v - x);
  const Trajectory exact = simulate(m, {.stop = 20.0, .rtol = 1e-11, .atol = 1e-11});
  for (const Method method : {Method::automatic, Method::radau, Method::rodas5p}) {
    const Trajectory result = simulate(import_fmu(file.path(), ImportOptions{.values = {{"p0", 5.0}}}),
                                       {.stop = 20.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
    ASSERT_TRUE(result.status().ok()) << result.status().message;
    EXPECT_NEAR(result.final()[result.index("x1")], exact.final()[0], 1e-5) << to_string(method);
  }
}

TEST_P(Import, stair_climbs_at_exact_times_and_ends_the_run) {
  const ForeignFile file(stair, GetParam());
  const Trajectory result = run(file.path(), 20.0);
  EXPECT_EQ(result.status().code, StatusCode::terminated) << result.status().message;
  EXPECT_EQ(result.t_end(), 9.0);
  ASSERT_EQ(result.events().size(), 9u);
  for (int k = 1; k <= 9; ++k) EXPECT_EQ(result.events()[static_cast<std::size_t>(k - 1)].t, k);
  EXPECT_EQ(result.at(0.5, "n"), 1.0);
  EXPECT_EQ(result.at(3.5, "n"), 4.0);
}

TEST_P(Import, a_foreign_relay_slides) {
  const ForeignFile file(relay, GetParam());
  const Trajectory result = run(file.path(), 5.0);
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  // x' = 0.25 - 1 until x = 0 at 4/3, then x stays there: 0.25 - u + (1 - u) = 0
  ASSERT_FALSE(result.events().empty());
  const Event& last = result.events().back();
  EXPECT_EQ(last.kind, EventKind::slide_enter);
  EXPECT_NEAR(last.t, 4.0 / 3.0, 1e-8);
  EXPECT_NEAR(result.at(1.0, "x1"), 0.25, 1e-8);
  EXPECT_NEAR(result.at(3.0, "x1"), 0.0, 1e-8);
  ASSERT_EQ(last.weights.size(), 1u);
  EXPECT_NEAR(last.weights[0], 0.625, 1e-6);
  EXPECT_LT(result.statistics().steps, 200);
}

TEST_P(Import, runs_backwards_are_refused) {
  const ForeignFile file(stair, GetParam());
  try {
    run(file.path(), -3.0);
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("runs forwards only"), std::string::npos) << error.what();
  }
}

TEST_P(Import, inputs_move_along_lines_and_jump) {
  const ForeignFile file(feedthrough, GetParam());
  // u rises to 1 at t = 1, stays, and falls to 0 at once at t = 2
  const Trajectory result = run(file.path(), 3.0, {},
                                {{"u", InputSignal::table({0.0, 1.0, 2.0, 2.0}, {0.0, 1.0, 1.0, 0.0})},
                                 {"m", InputSignal::table({0.0, 1.5}, {3.0, 7.0}, InputSignal::Between::steps)}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  EXPECT_NEAR(result.at(0.5, "x1"), 0.125, 1e-8);
  EXPECT_NEAR(result.at(1.5, "x1"), 1.0, 1e-8);
  EXPECT_NEAR(result.final()[result.index("x1")], 1.5, 1e-8);
  EXPECT_NEAR(result.at(0.5, "y"), 1.0, 1e-12);
  EXPECT_NEAR(result.at(2.5, "y"), 0.0, 1e-12);
  EXPECT_EQ(result.at(1.0, "n"), 4.0);
  EXPECT_EQ(result.at(1.6, "n"), 8.0);
}

TEST_P(Import, a_model_finds_its_resources) {
  const ForeignFile file(resource, GetParam());
  const Trajectory result = run(file.path(), 1.0);
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  EXPECT_EQ(result.at(0.5, "n"), 97.0);
}

TEST_P(Import, state_space_answers_a_step_as_an_oscillator) {
  const ForeignFile file(state_space, GetParam());
  const Trajectory result = run(file.path(), 5.0, {}, {{"u", InputSignal::table({0.0, 1.0, 1.0}, {0.0, 0.0, 1.0})}});
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  // x'' + 0.4 x' + 4 x = 1 from t = 1, at rest before
  const double w = std::sqrt(4.0 - 0.04);
  for (const double t : {0.5, 1.5, 3.0, 5.0}) {
    const double s = t - 1.0;
    const double x = s < 0.0 ? 0.0 : 0.25 * (1.0 - std::exp(-0.2 * s) * (std::cos(w * s) + 0.2 / w * std::sin(w * s)));
    EXPECT_NEAR(result.at(t, "x1"), x, 1e-7) << t;
    EXPECT_NEAR(result.at(t, "y"), x + (s < 0.0 ? 0.0 : 0.5), 1e-7) << t;
  }
}

TEST_P(Import, an_fmu_that_exchanges_its_states_behind_steps_goes_round_the_circle) {
  for (const bool saves_states : {true, false}) {
    Foreign f = circle;
    f.saves_states = saves_states;
    const ForeignFile file(f, GetParam());
    const auto fmu = import_fmu(file.path());
    for (const Method method : {Method::automatic, Method::dop853, Method::rodas5p}) {
      const Trajectory result = simulate(fmu, {.stop = 20.0, .rtol = 1e-9, .atol = 1e-9, .method = method});
      ASSERT_TRUE(result.status().ok()) << result.status().message;
      EXPECT_EQ(result.events().size(), 13u);  // behind each odd multiple of a quarter of pi
      for (const Event& event : result.events()) {
        EXPECT_GT(std::abs(event.before[result.index("x1")]), 0.8);
        EXPECT_LT(std::abs(event.after[result.index("x1")]), 0.61);
      }
      const double x = result.final()[result.index("x1")];
      EXPECT_NEAR(std::min(std::abs(x - std::cos(20.0)), std::abs(x - std::sin(20.0))), 0.0, 1e-6) << to_string(method);
      if (!saves_states) continue;
      for (const double t : {0.5, 3.0, 7.7, 13.0, 20.0}) EXPECT_NEAR(result.at(t, "y"), std::cos(t), 1e-6) << t;
      // the FMU was told about each step once, and once more at each event and behind the last step
      const double told = result.final()[result.index("n")];
      EXPECT_GE(told, static_cast<double>(result.statistics().steps));
      EXPECT_LE(told, static_cast<double>(result.statistics().steps + 14));
    }
  }
}

TEST_P(Import, an_fmu_ends_the_run_behind_a_step) {
  const ForeignFile file(steps, GetParam());
  const auto fmu = import_fmu(file.path(), ImportOptions{.values = {{"p0", 2.5}}});
  const Trajectory result = simulate(fmu, {.stop = 20.0, .max_step = 0.5});
  EXPECT_EQ(result.status().code, StatusCode::terminated) << result.status().message;
  EXPECT_GT(result.t_end(), 2.5);
  EXPECT_LE(result.t_end(), 3.0 + 1e-9);
  EXPECT_NEAR(result.final()[result.index("x1")], result.t_end(), 1e-9);
}

TEST_P(Import, resets_that_accumulate_end_the_run_with_the_reason) {
  const ForeignFile file(endless_ball, GetParam());
  const Trajectory result = run(file.path(), 3.0);
  EXPECT_FALSE(result.status().ok());
  EXPECT_NE(result.status().message.find("accumulate"), std::string::npos) << result.status().message;
  // the flights are a geometric series, whose sum is the end
  const double first = std::sqrt(2.0 / 9.81);
  EXPECT_NEAR(result.t_end(), first * (1.0 + 2.0 * 0.7 / (1.0 - 0.7)), 1e-6);
  EXPECT_LT(std::abs(result.final()[result.index("x1")]), 1e-9);
}

TEST_P(Import, an_fmu_that_cannot_save_its_state_shows_its_states_only) {
  Foreign f = bouncing_ball;
  f.saves_states = false;
  const ForeignFile file(f, GetParam());
  const auto fmu = import_fmu(file.path());
  ASSERT_EQ(fmu->observed().size(), 2u);
  ASSERT_EQ(fmu->notes().size(), 1u);
  for (int repeat = 0; repeat < 2; ++repeat) {  // a second run begins anew
    const Trajectory result = simulate(fmu, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9});
    ASSERT_TRUE(result.status().ok()) << result.status().message;
    ASSERT_EQ(result.events().size(), 1u);
    EXPECT_NEAR(result.events()[0].t, std::sqrt(2.0 / 9.81), 1e-8);
  }
}

TEST_P(Import, the_same_fmu_runs_twice) {
  const ForeignFile file(bouncing_ball, GetParam());
  const auto fmu = import_fmu(file.path());
  const Trajectory first = simulate(fmu, {.stop = 2.0}), second = simulate(fmu, {.stop = 2.0});
  EXPECT_EQ(first.final(), second.final());
  EXPECT_EQ(first.events().size(), second.events().size());
}

TEST_P(Import, unknown_parameters_are_refused_with_the_nearest_name) {
  const ForeignFile file(dahlquist, GetParam());
  try {
    import_fmu(file.path(), {.values = {{"p9", 1.0}}});
    FAIL();
  } catch (const UsageError& problem) {
    EXPECT_NE(std::string(problem.what()).find("did you mean 'p0'?"), std::string::npos) << problem.what();
  }
}

INSTANTIATE_TEST_SUITE_P(versions, Import, testing::Values(FmiVersion::fmi2, FmiVersion::fmi3),
                         [](const auto& test) { return test.param == FmiVersion::fmi2 ? "fmi2" : "fmi3"; });

}  // namespace
}  // namespace saltus::fmi_tests
