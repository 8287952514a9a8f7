// A run is a value: one that goes on from a saved state has the future of the one that was saved.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "threads/models.hpp"

namespace saltus {
namespace {

std::shared_ptr<CompiledModel> compiled_from(const Model& model) {
  return std::make_shared<CompiledModel>(model);
}

/// The bits of what happens after a time: events, and values at the end.
std::vector<std::uint64_t> future(const Trajectory& run, double t) {
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(run.status().code)};
  const auto add = [&](double v) { all.push_back(std::bit_cast<std::uint64_t>(v)); };
  for (const Event& event : run.events()) {
    if (event.t <= t) continue;
    add(event.t);
    all.push_back(static_cast<std::uint64_t>(event.kind));
    for (const double v : event.after) add(v);
  }
  add(run.t_end());
  for (const double v : run.final()) add(v);
  return all;
}

struct Case {
  std::string name;
  Model (*model)();
  double stop;
};

const Case explicit_models[] = {{"stick_slip", &testing::stick_slip, 12.0},
                                {"ball_on_table", &testing::ball_on_table, 6.0},
                                {"sampled_control", &testing::sampled_control, 4.0},
                                {"heater", &testing::heater, 30.0}};

class StateOfExplicitModels : public ::testing::TestWithParam<std::tuple<Case, Method>> {};

// after every step: in flight, right behind events, between the bounces that accumulate, at rest, sliding
TEST_P(StateOfExplicitModels, GivesTheSameBits) {
  const auto& [test, method] = GetParam();
  const auto compiled = compiled_from(test.model());
  const SimulateOptions options{.stop = test.stop, .method = method};
  Simulator whole(compiled, options);
  std::vector<SimulatorState> states;
  while (whole.step())
    if (states.size() < 60 || states.size() % 7 == 0) states.push_back(whole.state());
  const Trajectory expected = whole.take();
  ASSERT_EQ(expected.status().code, StatusCode::success) << expected.status().message;
  for (const SimulatorState& state : states) {
    Simulator later(compiled, options, state);
    EXPECT_EQ(later.state(), state) << test.name << " at " << state.t;
    later.run();
    ASSERT_EQ(future(later.take(), state.t), future(expected, state.t)) << test.name << " from t = " << state.t;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StateOfExplicitModels,
                         ::testing::Combine(::testing::ValuesIn(explicit_models),
                                            ::testing::Values(Method::dopri5, Method::tsit5, Method::bs3,
                                                              Method::dop853)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + "_" + std::string(to_string(std::get<1>(test.param)));
                         });

class StateOfAnyModel : public ::testing::TestWithParam<Method> {};

// Results agree within some tolerances, and events are the same. The bits are compared in resumed_run_test.cpp.
TEST_P(StateOfAnyModel, GoesOnWithinTheTolerance) {
  for (const Case& test : {Case{"stick_slip", &testing::stick_slip, 6.0},
                           {"ball_on_table", &testing::ball_on_table, 6.0},
                           {"sampled_control", &testing::sampled_control, 4.0},
                           {"pendulum", &testing::pendulum, 2.0}}) {
    const auto compiled = compiled_from(test.model());
    const SimulateOptions options{.stop = test.stop, .rtol = 1e-8, .atol = 1e-8, .method = GetParam()};
    if (test.name == "pendulum" && (is_explicit(GetParam()) && GetParam() != Method::taylor)) continue;
    const Trajectory whole = simulate(compiled, options);
    ASSERT_EQ(whole.status().code, StatusCode::success) << test.name << ": " << whole.status().message;
    for (const double part : {0.1, 0.45, 0.8}) {
      Simulator first(compiled, options);
      ASSERT_TRUE(first.advance_to(part * test.stop));
      const SimulatorState state = first.state();
      Simulator later(compiled, options, state);
      later.run();
      const Trajectory rest = later.take();
      ASSERT_EQ(rest.status().code, StatusCode::success) << test.name << ": " << rest.status().message;
      std::size_t events = 0;
      for (const Event& e : whole.events()) events += e.t > state.t;
      if (test.name != "ball_on_table") {  // how many bounces are seen before rest is a matter of rounding
        EXPECT_EQ(rest.events().size(), events) << test.name << " from t = " << state.t;
      }
      for (std::size_t k = 0; k < rest.final().size(); ++k)
        EXPECT_NEAR(rest.final()[k], whole.final()[k], 1e-5 * (1.0 + std::abs(whole.final()[k])))
            << test.name << " from t = " << state.t << ", variable " << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, StateOfAnyModel,
                         ::testing::Values(Method::automatic, Method::rodas5p, Method::radau, Method::bdf,
                                           Method::taylor),
                         [](const auto& test) { return std::string(to_string(test.param)); });

/// A ball on a rope: slack, it flies; taut, it has hidden constraints.
std::shared_ptr<CompiledModel> ball_on_rope() {
  Model m("rope");
  const Expr x = m.variable("x", 0.6, {.fixed = true}), y = m.variable("y", 0.2, {.fixed = true}),
             vx = m.variable("vx", 0.0, {.fixed = true}), vy = m.variable("vy", -6.0, {.fixed = true}),
             F = m.variable("F", 0.0), s = m.variable("s", 1.0);
  m.equation(der(x) == vx);
  m.equation(der(y) == vy);
  m.equation(der(vx) == -F * x);
  m.equation(der(vy) == -F * y - 9.81);
  m.equation(1.0 - x * x - y * y == if_else(s > 0.0, s, Expr(0.0)));
  m.equation(F == if_else(s > 0.0, Expr(0.0), -s));
  return compiled_from(m);
}

// A run that begins while the rope is slack meets the taut mode at a jump first, at values that are not consistent,
// where its ranks are not clear.
TEST(SimulatorState, GoesOnToHiddenConstraintsThatAppear) {
  const auto compiled = ball_on_rope();
  for (const auto& [method, rtol] : {std::pair{Method::automatic, 1e-4},
                                     {Method::rodas5p, 1e-4},
                                     {Method::bdf, 1e-8},
                                     {Method::radau, 1e-8},
                                     {Method::radau, 1e-9}}) {
    const SimulateOptions options{.stop = 3.0, .rtol = rtol, .atol = 0.01 * rtol, .method = method};
    const Trajectory whole = simulate(compiled, options);
    ASSERT_EQ(whole.status().code, StatusCode::success) << whole.status().message;
    Simulator run(compiled, options);
    while (run.step()) {
      const SimulatorState state = run.state();
      SimulateOptions others = options;  // with another limit the run begins anew at the state, and is not repeated
      others.max_mode_changes = 99;
      Simulator later(compiled, others, state);
      later.run();
      const Trajectory rest = later.take();
      ASSERT_EQ(rest.status().code, StatusCode::success)
          << to_string(method) << " from t = " << state.t << ": " << rest.status().message;
      for (const char* name : {"x", "y", "vx", "vy"})
        EXPECT_NEAR(rest.at(3.0, name), whole.at(3.0, name), 100.0 * options.rtol * 6.0)
            << to_string(method) << " from t = " << state.t;
    }
  }
}

// Where the rope becomes slack its guard is zero up to errors that the event knows: a run that goes on from there, and
// from each of its later steps in turn, knows them, too.
TEST(SimulatorState, KnowsTheErrorsOfTheEventBefore) {
  const auto compiled = ball_on_rope();
  for (const Method method :
       {Method::automatic, Method::rodas4, Method::rodas5p, Method::radau, Method::radau5, Method::bdf, Method::taylor})
    for (const double rtol : {1e-6, 1e-8}) {
      const SimulateOptions options{.stop = 3.0, .rtol = rtol, .atol = 0.01 * rtol, .method = method};
      const Trajectory whole = simulate(compiled, options);
      auto run = std::make_unique<Simulator>(compiled, options);
      for (int steps = 0; run->step(); ++steps) {
        ASSERT_LT(steps, 3000);
        SimulateOptions others = options;  // with other limits the run begins anew at the state, and is not repeated
        others.max_mode_changes = 100 + steps % 2;
        run = std::make_unique<Simulator>(compiled, others, run->state());
      }
      const Trajectory rest = run->take();
      ASSERT_EQ(rest.status().code, StatusCode::success) << to_string(method) << ": " << rest.status().message;
      for (const char* name : {"x", "y", "vx", "vy"})
        EXPECT_NEAR(rest.at(3.0, name), whole.at(3.0, name), 100.0 * rtol * 6.0) << to_string(method);
    }
}

TEST(SimulatorState, ForksGoTheirOwnWays) {
  Simulator run(compiled_from(testing::stick_slip()), {.stop = 10.0});
  run.advance_to(4.5);
  Simulator fork = run.fork();
  EXPECT_EQ(fork.state(), run.state());
  fork.run();
  run.run();
  EXPECT_EQ(future(fork.take(), 4.5), future(run.take(), 4.5));
}

TEST(SimulatorState, AtTheEndOfARunIsTheStartOfAnother) {
  const auto compiled = compiled_from(testing::ball_on_table());
  Simulator first(compiled, {.stop = 3.0});
  first.run();
  ASSERT_TRUE(first.mode().contacts.size() == 1) << "the ball lies on the table";
  Simulator second(compiled, {.stop = 6.0}, first.state());
  second.run();
  const Trajectory run = second.take();
  EXPECT_EQ(run.t_start(), 3.0);
  ASSERT_EQ(run.events().size(), 1u);  // it is lifted
  EXPECT_NEAR(run.events()[0].t, 4.0, 1e-12);
  EXPECT_NEAR(run.at(6.0, "h"), 0.5 * 3.0 * 4.0, 1e-5);
}

TEST(SimulatorState, WithOtherParametersSettlesWhatTheyChange) {
  Model m("threshold");
  const Expr limit = m.parameter("limit", 10.0), x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
  m.equation(der(x) == if_else(x > limit, Expr(-1.0), Expr(1.0)));
  m.when(x > limit).assign(n, m.pre(n) + 1.0);
  const CompiledModel compiled(m);
  Simulator first(std::make_shared<CompiledModel>(compiled), {.stop = 6.0});
  first.advance_to(4.0);
  // beyond the new limit at once: the clause acts, and x comes back to 2.5 and slides there
  Simulator second(std::make_shared<CompiledModel>(compiled.with_values({{"limit", 2.5}})), {.stop = 6.0},
                   first.state());
  second.run();
  const Trajectory run = second.take();
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_EQ(run.at(6.0, "n"), 1.0);
  EXPECT_NEAR(run.at(6.0, "x"), 2.5, 1e-9);
  ASSERT_GE(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].t, 4.0);
}

TEST(SimulatorState, WithAnotherValueLeavesTheSurface) {
  const auto compiled = compiled_from(testing::stick_slip());
  Simulator first(compiled, {.stop = 6.0});
  first.advance_to(0.5);
  ASSERT_EQ(first.mode().sliding.size(), 1u);
  SimulatorState state = first.state();
  state.x[2] += 0.5;  // v1: the bodies no longer stick
  Simulator second(compiled, {.stop = 6.0}, state);
  EXPECT_TRUE(second.mode().sliding.empty());
  second.run();
  EXPECT_EQ(second.status().code, StatusCode::success) << second.status().message;
}

TEST(SimulatorState, OfAnotherModelIsRefused) {
  Simulator run(compiled_from(testing::stick_slip()), {.stop = 1.0});
  const auto refusal = [&](const Model& model, SimulatorState state) -> std::string {
    try {
      Simulator(compiled_from(model), {.stop = 2.0}, state);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(testing::heater(), run.state()),
            "the saved state is one of the model 'stick-slip', not of 'heater'");
  Model other("stick-slip");
  const Expr x = other.variable("x", 1.0);
  other.equation(der(x) == -x);
  EXPECT_NE(refusal(other, run.state()).find("another version of the model 'stick-slip'"), std::string::npos);
  SimulatorState damaged = run.state();
  damaged.x.pop_back();
  EXPECT_NE(refusal(testing::stick_slip(), damaged).find("damaged"), std::string::npos);
  damaged = run.state();
  damaged.memory.resize(damaged.memory.size() / 2);
  EXPECT_NE(refusal(testing::stick_slip(), damaged).find("damaged"), std::string::npos);
}

// Steps are given back, events stay.
TEST(SimulatorForgetsItsSteps, AndKeepsItsEvents) {
  for (const testing::Case& c : testing::cases()) {
    const auto compiled = compiled_from(c.model());
    Simulator whole(compiled, c.options), forgetful(compiled, c.options);
    whole.run();
    while (forgetful.step()) forgetful.forget_steps();
    const Trajectory &expected = whole.trajectory(), &found = forgetful.trajectory();
    EXPECT_EQ(found.t_start(), expected.t_start());
    EXPECT_EQ(found.final(), expected.final());
    ASSERT_EQ(found.events().size(), expected.events().size()) << compiled->name();
    for (std::size_t k = 0; k < found.events().size(); ++k)
      EXPECT_EQ(found.events()[k].after, expected.events()[k].after);
    if (found.t_end() != found.t_start()) {
      EXPECT_THROW(found.at(found.t_start()), UsageError) << compiled->name();
    }
  }
}

// All cases of the threads, step by step, forgetting after each step: the same events, times and values.
TEST(SimulatorForgetsItsPast, AndGoesOnAsBefore) {
  for (const testing::Case& c : testing::cases()) {
    const auto compiled = compiled_from(c.model());
    Simulator whole(compiled, c.options), forgetful(compiled, c.options);
    whole.run();
    std::vector<double> times;
    std::vector<std::vector<double>> values;
    const auto look = [&] {
      for (const Event& event : forgetful.trajectory().events()) {
        times.push_back(event.t);
        values.push_back(event.after);
      }
      EXPECT_EQ(forgetful.trajectory().at(forgetful.t()).size(), compiled->observed().size());
      forgetful.forget_past();
      EXPECT_EQ(forgetful.trajectory().t_start(), forgetful.t());
      EXPECT_TRUE(forgetful.trajectory().events().empty());
    };
    look();
    while (forgetful.step()) look();
    look();
    const auto& expected = whole.trajectory().events();
    ASSERT_EQ(times.size(), expected.size()) << compiled->name();
    for (std::size_t k = 0; k < times.size(); ++k) {
      EXPECT_EQ(times[k], expected[k].t);
      EXPECT_EQ(values[k], expected[k].after);
    }
    EXPECT_EQ(forgetful.trajectory().final(), whole.trajectory().final());
    EXPECT_EQ(forgetful.trajectory().statistics().events, whole.trajectory().statistics().events);
    EXPECT_EQ(forgetful.status().code, whole.status().code);
  }
}

}  // namespace
}  // namespace saltus
