// The order of calls: every function in every state of an instance. What the standard allows there works, everything
// else returns an error, after which the instance still works (FMI 2.0.4, sections 3.2.3 and 4.2.4; FMI 3.0.2, sections
// 2.3, 3.2 and 4.2).
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

enum State { instantiated, initialization, event, continuous, step, terminated };
constexpr const char* state_names[] = {"instantiated", "initialization", "event", "continuous", "step", "terminated"};

ModelicaModel tank() {
  return load_modelica(R"(
    model Tank
      input Real u(start = 1);
      output Real h(start = 0.5, fixed = true);
      parameter Real A = 2;
    equation
      der(h) = (if h > 3 then 0 else u)/A;
      annotation(experiment(StopTime = 4, Tolerance = 1e-9));
    end Tank;)",
                       "Tank.mo");
}

/// A function with arguments that are right, and the states in which it may be called.
template <class Instance>
struct Call {
  const char* name;
  std::function<int(const Instance&)> make;
  std::set<State> allowed;
};

/// Tries all calls in all states. `enter` brings a fresh instance into a state.
template <class Instance>
void check_all(const std::vector<Call<Instance>>& calls, const std::vector<State>& states,
               const std::function<std::unique_ptr<Instance>(State)>& enter,
               const std::function<void(const Instance&)>& check_that_it_works) {
  for (const State state : states)
    for (const Call<Instance>& call : calls) {
      SCOPED_TRACE(std::string(call.name) + " in the state " + state_names[state]);
      const std::unique_ptr<Instance> instance = enter(state);
      last_message().clear();
      const int status = call.make(*instance);
      if (call.allowed.contains(state)) {
        EXPECT_EQ(status, fmi::ok) << last_message();
      } else {
        EXPECT_EQ(status, fmi::error);
        EXPECT_NE(last_message().find(call.name), std::string::npos) << last_message();
      }
      check_that_it_works(*instance);
    }
}

std::vector<Call<Instance2>> calls2(const LoadedFmu& fmu) {
  using I = const Instance2&;
  const auto numbers = [](const char* name) {
    return [name](I i) {
      double value = 0.5;
      return i.call<fmi2::GetNumbersFunction>(name, &value, std::size_t{1});
    };
  };
  const auto plain = [](const char* name) { return [name](I i) { return i.plain(name); }; };
  const std::set<State> evaluating = {initialization, event, continuous, terminated};
  return {
      {"fmi2SetupExperiment", [](I i) { return i.setup(0.0, 4.0); }, {instantiated}},
      {"fmi2ExitInitializationMode", plain("fmi2ExitInitializationMode"), {initialization}},
      {"fmi2Terminate", plain("fmi2Terminate"), {event, continuous, step}},
      {"fmi2Reset", plain("fmi2Reset"), {instantiated, initialization, event, continuous, step, terminated}},
      {"fmi2GetReal",
       [&fmu](I i) {
         const unsigned h = fmu.reference("h");
         double value = 0.0;
         return i.call<fmi2::GetFunction<double>>("fmi2GetReal", &h, 1, &value);
       },
       {instantiated, initialization, event, continuous, step, terminated}},
      {"fmi2SetReal", [](I i) { return i.set("u", 1.0); }, {instantiated, initialization, event, continuous, step}},
      {"fmi2EnterEventMode", plain("fmi2EnterEventMode"), {continuous}},
      {"fmi2NewDiscreteStates",
       [](I i) {
         fmi2::EventInfo info{};
         return i.call<fmi2::NewDiscreteStatesFunction>("fmi2NewDiscreteStates", &info);
       },
       {event}},
      {"fmi2EnterContinuousTimeMode", plain("fmi2EnterContinuousTimeMode"), {event}},
      {"fmi2CompletedIntegratorStep",
       [](I i) {
         int enter = 0, end = 0;
         return i.call<fmi2::CompletedStepFunction>("fmi2CompletedIntegratorStep", 1, &enter, &end);
       },
       {continuous}},
      {"fmi2SetTime", [](I i) { return i.call<fmi2::SetTimeFunction>("fmi2SetTime", 0.0); }, {event, continuous}},
      {"fmi2SetContinuousStates",
       [](I i) {
         const double value = 0.5;
         return i.call<fmi2::SetNumbersFunction>("fmi2SetContinuousStates", &value, std::size_t{1});
       },
       {continuous}},
      {"fmi2GetContinuousStates", numbers("fmi2GetContinuousStates"), evaluating},
      {"fmi2GetDerivatives", numbers("fmi2GetDerivatives"), evaluating},
      {"fmi2GetEventIndicators", numbers("fmi2GetEventIndicators"), evaluating},
      {"fmi2GetNominalsOfContinuousStates", numbers("fmi2GetNominalsOfContinuousStates"), evaluating},
      {"fmi2DoStep", [](I i) { return i.step(0.0, 0.5); }, {step}},
      {"fmi2CancelStep", plain("fmi2CancelStep"), {}},
      {"fmi2SetRealInputDerivatives",
       [&fmu](I i) {
         const unsigned u = fmu.reference("u");
         const int order = 1;
         const double slope = 0.0;
         return i.call<fmi2::SetInputDerivativesFunction>("fmi2SetRealInputDerivatives", &u, 1, &order, &slope);
       },
       {instantiated, initialization, step}},
  };
}

TEST(CallSequence, of_fmi2_is_that_of_the_standard) {
  const LoadedFmu fmu(tank(), {.version = FmiVersion::fmi2, .kind = FmuKind::both});
  for (const fmi2::Type type : {fmi2::model_exchange, fmi2::co_simulation}) {
    const bool exchange = type == fmi2::model_exchange;
    const auto enter = [&](State state) {
      auto instance = std::make_unique<Instance2>(fmu, type);
      if (state == instantiated) return instance;
      EXPECT_EQ(instance->setup(0.0, 4.0), fmi::ok);
      EXPECT_EQ(instance->plain("fmi2EnterInitializationMode"), fmi::ok);
      if (state == initialization) return instance;
      EXPECT_EQ(instance->plain("fmi2ExitInitializationMode"), fmi::ok);
      if (state == continuous) {
        EXPECT_EQ(instance->plain("fmi2EnterContinuousTimeMode"), fmi::ok);
      }
      if (state == terminated) {
        EXPECT_EQ(instance->plain("fmi2Terminate"), fmi::ok);
      }
      return instance;
    };
    const auto works = [&](const Instance2& instance) {
      ASSERT_EQ(instance.plain("fmi2Reset"), fmi::ok) << last_message();
      instance.initialise(0.0, 4.0);
      EXPECT_EQ(instance.real("der(h)"), 0.5);
    };
    std::vector<Call<Instance2>> calls = calls2(fmu);
    // both kinds have an initialization mode; one has event and continuous-time mode, the other steps
    const std::vector<State> states = exchange
                                          ? std::vector{instantiated, initialization, event, continuous, terminated}
                                          : std::vector{instantiated, initialization, step, terminated};
    if (exchange) {
      std::erase_if(calls, [](const auto& c) { return std::string(c.name) == "fmi2SetRealInputDerivatives"; });
    } else {
      for (Call<Instance2>& call : calls)
        for (const char* name : {"fmi2GetContinuousStates", "fmi2GetDerivatives", "fmi2GetEventIndicators",
                                 "fmi2GetNominalsOfContinuousStates"})
          if (std::string(call.name) == name) call.allowed = {};
    }
    check_all<Instance2>(calls, states, enter, works);
  }
}

std::vector<Call<Instance3>> calls3(const LoadedFmu& fmu, bool exchange) {
  using I = const Instance3&;
  const auto only = [&](std::set<State> states, bool here) { return here ? states : std::set<State>(); };
  const auto numbers = [](const char* name) {
    return [name](I i) {
      double value = 0.5;
      return i.call<fmi3::GetNumbersFunction>(name, &value, std::size_t{1});
    };
  };
  const auto plain = [](const char* name) { return [name](I i) { return i.plain(name); }; };
  const std::set<State> evaluating = only({initialization, event, continuous, terminated}, exchange);
  return {
      {"fmi3EnterInitializationMode",
       [](I i) {
         return i.call<fmi3::EnterInitializationFunction>("fmi3EnterInitializationMode", false, 0.0, 0.0, true, 4.0);
       },
       {instantiated}},
      {"fmi3ExitInitializationMode", plain("fmi3ExitInitializationMode"), {initialization}},
      {"fmi3Terminate", plain("fmi3Terminate"), {event, continuous, step}},
      {"fmi3Reset", plain("fmi3Reset"), {instantiated, initialization, event, continuous, step, terminated}},
      {"fmi3GetFloat64",
       [&fmu](I i) {
         const unsigned h = fmu.reference("h");
         double value = 0.0;
         return i.call<fmi3::GetFunction<double>>("fmi3GetFloat64", &h, std::size_t{1}, &value, std::size_t{1});
       },
       {instantiated, initialization, event, continuous, step, terminated}},
      {"fmi3SetFloat64", [](I i) { return i.set("u", 1.0); }, {instantiated, initialization, event, continuous, step}},
      {"fmi3EnterEventMode", plain("fmi3EnterEventMode"), {continuous, step}},
      {"fmi3UpdateDiscreteStates",
       [](I i) {
         bool a = false, b = false, c = false, d = false, e = false;
         double next = 0.0;
         return i.call<fmi3::UpdateDiscreteStatesFunction>("fmi3UpdateDiscreteStates", &a, &b, &c, &d, &e, &next);
       },
       {event}},
      {"fmi3EnterContinuousTimeMode", plain("fmi3EnterContinuousTimeMode"), only({event}, exchange)},
      {"fmi3EnterStepMode", plain("fmi3EnterStepMode"), only({event}, !exchange)},
      {"fmi3CompletedIntegratorStep",
       [](I i) {
         bool enter = false, end = false;
         return i.call<fmi3::CompletedStepFunction>("fmi3CompletedIntegratorStep", true, &enter, &end);
       },
       only({continuous}, exchange)},
      {"fmi3SetTime", [](I i) { return i.call<fmi3::SetTimeFunction>("fmi3SetTime", 0.0); },
       only({event, continuous}, exchange)},
      {"fmi3SetContinuousStates",
       [](I i) {
         const double value = 0.5;
         return i.call<fmi3::SetNumbersFunction>("fmi3SetContinuousStates", &value, std::size_t{1});
       },
       only({continuous}, exchange)},
      {"fmi3GetContinuousStates", numbers("fmi3GetContinuousStates"), evaluating},
      {"fmi3GetContinuousStateDerivatives", numbers("fmi3GetContinuousStateDerivatives"), evaluating},
      {"fmi3GetEventIndicators", numbers("fmi3GetEventIndicators"), evaluating},
      {"fmi3GetNominalsOfContinuousStates", numbers("fmi3GetNominalsOfContinuousStates"), evaluating},
      {"fmi3DoStep", [](I i) { return i.step(0.0, 0.5).status; }, {step}},
      {"fmi3EnterConfigurationMode", plain("fmi3EnterConfigurationMode"), {}},
      {"fmi3ExitConfigurationMode", plain("fmi3ExitConfigurationMode"), {}},
      {"fmi3EvaluateDiscreteStates", plain("fmi3EvaluateDiscreteStates"), {}},
  };
}

TEST(CallSequence, of_fmi3_is_that_of_the_standard) {
  const LoadedFmu fmu(tank(), {.version = FmiVersion::fmi3, .kind = FmuKind::both});
  for (const bool exchange : {true, false}) {
    const auto enter = [&](State state) {
      auto instance = exchange ? std::make_unique<Instance3>(fmu)
                               : std::make_unique<Instance3>(fmu, Instance3::Steps{.event_mode = true});
      if (state == instantiated) return instance;
      EXPECT_EQ(
          instance->call<fmi3::EnterInitializationFunction>("fmi3EnterInitializationMode", false, 0.0, 0.0, true, 4.0),
          fmi::ok);
      if (state == initialization) return instance;
      EXPECT_EQ(instance->plain("fmi3ExitInitializationMode"), fmi::ok);
      const char* next = state == continuous ? "fmi3EnterContinuousTimeMode"
                         : state == step     ? "fmi3EnterStepMode"
                                             : "fmi3Terminate";
      if (state != event) {
        EXPECT_EQ(instance->plain(next), fmi::ok);
      }
      return instance;
    };
    const auto works = [&](const Instance3& instance) {
      ASSERT_EQ(instance.plain("fmi3Reset"), fmi::ok) << last_message();
      instance.initialise(0.0, 4.0);
      EXPECT_EQ(instance.real("der(h)"), 0.5);
    };
    const std::vector<State> states = exchange
                                          ? std::vector{instantiated, initialization, event, continuous, terminated}
                                          : std::vector{instantiated, initialization, event, step, terminated};
    check_all<Instance3>(calls3(fmu, exchange), states, enter, works);
  }
}

}  // namespace
}  // namespace saltus::fmi_tests
