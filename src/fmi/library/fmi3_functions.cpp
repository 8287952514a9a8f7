// The functions of FMI 3.0 that an exported FMU offers. Clocks, binary variables, arrays and scheduled execution are
// not used: their functions are there, as the standard wants, and return an error.
#include <algorithm>

#include "fmi/fmi3.hpp"
#include "fmi/library/calls.hpp"

namespace saltus::fmi3 {

namespace {

using P = FmuInstance::Phase;

Status status3(int number) {
  return static_cast<Status>(number);
}

Caller::Tell teller(Environment environment, LogMessage log) {
  if (!log) return {};
  return [=](int number, const char* category, const char* message) {
    log(environment, status3(number), category, message);
  };
}

constexpr const char* arrays = "arrays: the numbers of references and values differ";

/// All variables are scalars: there are as many values as references.
template <class Value>
Status get(Instance i, const char* function, Access access, References r, std::size_t n, Value* values,
           std::size_t count) {
  if (i && n != count) return status3(refuse(i, function, arrays, 1));
  return status3(get_values(i, function, access, r, n, values));
}
template <class Value>
Status set(Instance i, const char* function, Access access, References r, std::size_t n, const Value* values,
           std::size_t count) {
  if (i && n != count) return status3(refuse(i, function, arrays, 1));
  return status3(set_values(i, function, access, r, n, values));
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

String fmi3GetVersion() {
  return "3.0";
}

Status fmi3SetDebugLogging(Instance i, Boolean, std::size_t count, const String* categories) {
  return status3(set_debug_logging(i, "fmi3SetDebugLogging", count, categories));
}

Instance fmi3InstantiateModelExchange(String name, String token, String resources, Boolean, Boolean,
                                      Environment environment, LogMessage log) {
  return instantiate(FmuInstance::Kind::model_exchange, "fmi3InstantiateModelExchange", name, resources, token,
                     teller(environment, log));
}
Instance fmi3InstantiateCoSimulation(String name, String token, String resources, Boolean, Boolean,
                                     Boolean event_mode_used, Boolean early_return_allowed, References, std::size_t,
                                     Environment environment, LogMessage log, IntermediateUpdate) {
  void* const instance = instantiate(FmuInstance::Kind::co_simulation, "fmi3InstantiateCoSimulation", name, resources,
                                     token, teller(environment, log));
  if (auto* caller = static_cast<Caller*>(instance)) {
    caller->event_mode = event_mode_used;
    caller->early_return = early_return_allowed && event_mode_used;
  }
  return instance;
}
Instance fmi3InstantiateScheduledExecution(String, String, String, Boolean, Boolean, Environment environment,
                                           LogMessage log, ClockUpdate, LockPreemption, LockPreemption) {
  if (log) log(environment, error, "logStatusError", "fmi3InstantiateScheduledExecution: not supported by this FMU");
  return nullptr;
}
void fmi3FreeInstance(Instance i) {
  free_instance(i);
}

Status fmi3EnterInitializationMode(Instance i, Boolean tolerance_defined, Float64 tolerance, Float64 start,
                                   Boolean stop_defined, Float64 stop) {
  return status3(call(i, "fmi3EnterInitializationMode", P::instantiated, [&](Caller& caller, FmuInstance& fmu) {
    fmu.setup(settings_of(tolerance_defined, tolerance, start, stop_defined, stop));
    caller.set_up = true;
    fmu.enter_initialization();
    return call_status::ok;
  }));
}
Status fmi3ExitInitializationMode(Instance i) {
  const auto* caller = static_cast<Caller*>(i);
  const bool steps = caller && caller->fmu->kind() == FmuInstance::Kind::co_simulation && !caller->event_mode;
  return status3(end_initialization(i, "fmi3ExitInitializationMode", steps ? P::step : P::event));
}
Status fmi3EnterEventMode(Instance i) {
  const auto* caller = static_cast<Caller*>(i);
  const bool steps = caller && caller->event_mode;
  return status3(change_phase(i, "fmi3EnterEventMode", P::continuous | (steps ? P::step : 0u), P::event));
}
Status fmi3Terminate(Instance i) {
  return status3(terminate(i, "fmi3Terminate"));
}
Status fmi3Reset(Instance i) {
  return status3(reset(i, "fmi3Reset"));
}

// --- values

Status fmi3GetFloat64(Instance i, References r, std::size_t n, Float64* values, std::size_t count) {
  return get(i, "fmi3GetFloat64", Access::real, r, n, values, count);
}
Status fmi3GetInt32(Instance i, References r, std::size_t n, std::int32_t* values, std::size_t count) {
  return get(i, "fmi3GetInt32", Access::integer, r, n, values, count);
}
Status fmi3GetInt64(Instance i, References r, std::size_t n, std::int64_t* values, std::size_t count) {
  return get(i, "fmi3GetInt64", Access::enumeration, r, n, values, count);
}
Status fmi3GetBoolean(Instance i, References r, std::size_t n, Boolean* values, std::size_t count) {
  return get(i, "fmi3GetBoolean", Access::boolean, r, n, values, count);
}
Status fmi3SetFloat64(Instance i, References r, std::size_t n, const Float64* values, std::size_t count) {
  return set(i, "fmi3SetFloat64", Access::real, r, n, values, count);
}
Status fmi3SetInt32(Instance i, References r, std::size_t n, const std::int32_t* values, std::size_t count) {
  return set(i, "fmi3SetInt32", Access::integer, r, n, values, count);
}
Status fmi3SetInt64(Instance i, References r, std::size_t n, const std::int64_t* values, std::size_t count) {
  return set(i, "fmi3SetInt64", Access::enumeration, r, n, values, count);
}
Status fmi3SetBoolean(Instance i, References r, std::size_t n, const Boolean* values, std::size_t count) {
  return set(i, "fmi3SetBoolean", Access::boolean, r, n, values, count);
}

// --- types that no variable has
Status fmi3GetFloat32(Instance i, References, std::size_t n, float*, std::size_t) {
  return status3(refuse(i, "fmi3GetFloat32", "variables of type Float32", n));
}
Status fmi3GetInt8(Instance i, References, std::size_t n, std::int8_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetInt8", "variables of type Int8", n));
}
Status fmi3GetUInt8(Instance i, References, std::size_t n, std::uint8_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetUInt8", "variables of type UInt8", n));
}
Status fmi3GetInt16(Instance i, References, std::size_t n, std::int16_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetInt16", "variables of type Int16", n));
}
Status fmi3GetUInt16(Instance i, References, std::size_t n, std::uint16_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetUInt16", "variables of type UInt16", n));
}
Status fmi3GetUInt32(Instance i, References, std::size_t n, std::uint32_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetUInt32", "variables of type UInt32", n));
}
Status fmi3GetUInt64(Instance i, References, std::size_t n, std::uint64_t*, std::size_t) {
  return status3(refuse(i, "fmi3GetUInt64", "variables of type UInt64", n));
}
Status fmi3GetString(Instance i, References, std::size_t n, String*, std::size_t) {
  return status3(refuse(i, "fmi3GetString", "texts", n));
}
Status fmi3GetBinary(Instance i, References, std::size_t n, std::size_t*, Binary*, std::size_t) {
  return status3(refuse(i, "fmi3GetBinary", "binary variables", n));
}
Status fmi3GetClock(Instance i, References, std::size_t n, Clock*) {
  return status3(refuse(i, "fmi3GetClock", "clocks", n));
}
Status fmi3SetFloat32(Instance i, References, std::size_t n, const float*, std::size_t) {
  return status3(refuse(i, "fmi3SetFloat32", "variables of type Float32", n));
}
Status fmi3SetInt8(Instance i, References, std::size_t n, const std::int8_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetInt8", "variables of type Int8", n));
}
Status fmi3SetUInt8(Instance i, References, std::size_t n, const std::uint8_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetUInt8", "variables of type UInt8", n));
}
Status fmi3SetInt16(Instance i, References, std::size_t n, const std::int16_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetInt16", "variables of type Int16", n));
}
Status fmi3SetUInt16(Instance i, References, std::size_t n, const std::uint16_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetUInt16", "variables of type UInt16", n));
}
Status fmi3SetUInt32(Instance i, References, std::size_t n, const std::uint32_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetUInt32", "variables of type UInt32", n));
}
Status fmi3SetUInt64(Instance i, References, std::size_t n, const std::uint64_t*, std::size_t) {
  return status3(refuse(i, "fmi3SetUInt64", "variables of type UInt64", n));
}
Status fmi3SetString(Instance i, References, std::size_t n, const String*, std::size_t) {
  return status3(refuse(i, "fmi3SetString", "texts", n));
}
Status fmi3SetBinary(Instance i, References, std::size_t n, const std::size_t*, const Binary*, std::size_t) {
  return status3(refuse(i, "fmi3SetBinary", "binary variables", n));
}
Status fmi3SetClock(Instance i, References, std::size_t n, const Clock*) {
  return status3(refuse(i, "fmi3SetClock", "clocks", n));
}

// --- dependencies: those of the description
Status fmi3GetNumberOfVariableDependencies(Instance i, ValueReference, std::size_t*) {
  return status3(refuse(i, "fmi3GetNumberOfVariableDependencies", "dependencies by element", 1));
}
Status fmi3GetVariableDependencies(Instance i, ValueReference, std::size_t*, ValueReference*, std::size_t*,
                                   DependencyKind*, std::size_t) {
  return status3(refuse(i, "fmi3GetVariableDependencies", "dependencies by element", 1));
}

// --- saved states

Status fmi3GetFMUState(Instance i, State* state) {
  return status3(save_state(i, "fmi3GetFMUState", state));
}
Status fmi3SetFMUState(Instance i, State state) {
  return status3(restore_state(i, "fmi3SetFMUState", state));
}
Status fmi3FreeFMUState(Instance i, State* state) {
  return status3(release_state(i, "fmi3FreeFMUState", state));
}
Status fmi3SerializedFMUStateSize(Instance i, State state, std::size_t* size) {
  return status3(state_size(i, "fmi3SerializedFMUStateSize", state, size));
}
Status fmi3SerializeFMUState(Instance i, State state, Byte* bytes, std::size_t size) {
  return status3(write_state(i, "fmi3SerializeFMUState", state, bytes, size));
}
Status fmi3DeserializeFMUState(Instance i, const Byte* bytes, std::size_t size, State* state) {
  return status3(read_state(i, "fmi3DeserializeFMUState", bytes, size, state));
}

// --- derivatives

Status fmi3GetDirectionalDerivative(Instance i, References unknowns, std::size_t unknown_count, References knowns,
                                    std::size_t known_count, const Float64* seed, std::size_t seed_count,
                                    Float64* sensitivity, std::size_t sensitivity_count) {
  constexpr const char* name = "fmi3GetDirectionalDerivative";
  if (i && (seed_count != known_count || sensitivity_count != unknown_count))
    return status3(refuse(i, name, arrays, 1));
  return status3(derivatives(i, name, Along::knowns, unknowns, unknown_count, knowns, known_count, seed, sensitivity));
}
Status fmi3GetAdjointDerivative(Instance i, References unknowns, std::size_t unknown_count, References knowns,
                                std::size_t known_count, const Float64* seed, std::size_t seed_count,
                                Float64* sensitivity, std::size_t sensitivity_count) {
  constexpr const char* name = "fmi3GetAdjointDerivative";
  if (i && (seed_count != unknown_count || sensitivity_count != known_count))
    return status3(refuse(i, name, arrays, 1));
  return status3(
      derivatives(i, name, Along::unknowns, unknowns, unknown_count, knowns, known_count, seed, sensitivity));
}

// --- configuration: no parameter decides sizes
Status fmi3EnterConfigurationMode(Instance i) {
  return status3(refuse(i, "fmi3EnterConfigurationMode", "structural parameters", 1));
}
Status fmi3ExitConfigurationMode(Instance i) {
  return status3(refuse(i, "fmi3ExitConfigurationMode", "structural parameters", 1));
}

// --- clocks
Status fmi3GetIntervalDecimal(Instance i, References, std::size_t n, Float64*, IntervalQualifier*) {
  return status3(refuse(i, "fmi3GetIntervalDecimal", "clocks", n));
}
Status fmi3GetIntervalFraction(Instance i, References, std::size_t n, std::uint64_t*, std::uint64_t*,
                               IntervalQualifier*) {
  return status3(refuse(i, "fmi3GetIntervalFraction", "clocks", n));
}
Status fmi3GetShiftDecimal(Instance i, References, std::size_t n, Float64*) {
  return status3(refuse(i, "fmi3GetShiftDecimal", "clocks", n));
}
Status fmi3GetShiftFraction(Instance i, References, std::size_t n, std::uint64_t*, std::uint64_t*) {
  return status3(refuse(i, "fmi3GetShiftFraction", "clocks", n));
}
Status fmi3SetIntervalDecimal(Instance i, References, std::size_t n, const Float64*) {
  return status3(refuse(i, "fmi3SetIntervalDecimal", "clocks", n));
}
Status fmi3SetIntervalFraction(Instance i, References, std::size_t n, const std::uint64_t*, const std::uint64_t*) {
  return status3(refuse(i, "fmi3SetIntervalFraction", "clocks", n));
}
Status fmi3SetShiftDecimal(Instance i, References, std::size_t n, const Float64*) {
  return status3(refuse(i, "fmi3SetShiftDecimal", "clocks", n));
}
Status fmi3SetShiftFraction(Instance i, References, std::size_t n, const std::uint64_t*, const std::uint64_t*) {
  return status3(refuse(i, "fmi3SetShiftFraction", "clocks", n));
}
Status fmi3ActivateModelPartition(Instance i, ValueReference, Float64) {
  return status3(refuse(i, "fmi3ActivateModelPartition", "clocks", 1));
}

// --- events

Status fmi3EvaluateDiscreteStates(Instance i) {
  return status3(refuse(i, "fmi3EvaluateDiscreteStates", "separate evaluation of discrete states", 1));
}
Status fmi3UpdateDiscreteStates(Instance i, Boolean* again, Boolean* terminate, Boolean* nominals_changed,
                                Boolean* values_changed, Boolean* next_time_defined, Float64* next_time) {
  return status3(call(i, "fmi3UpdateDiscreteStates", P::event, [&](Caller& caller, FmuInstance& fmu) {
    for (const void* place : {static_cast<const void*>(again), static_cast<const void*>(terminate),
                              static_cast<const void*>(nominals_changed), static_cast<const void*>(values_changed),
                              static_cast<const void*>(next_time_defined), static_cast<const void*>(next_time)})
      require_list(1, place);
    SettledEvent result;
    if (fmu.kind() == FmuInstance::Kind::model_exchange)
      result = fmu.settle();
    else
      result.terminated = caller.ended;  // the run inside settles its events itself
    *again = *nominals_changed = false;
    *terminate = result.terminated;
    *values_changed = result.states_changed;
    *next_time_defined = result.next_time.has_value();
    *next_time = result.next_time.value_or(0.0);
    return call_status::ok;
  }));
}

// --- model exchange

Status fmi3EnterContinuousTimeMode(Instance i) {
  const auto* caller = static_cast<Caller*>(i);
  const bool exchange = caller && caller->fmu->kind() == FmuInstance::Kind::model_exchange;
  return status3(change_phase(i, "fmi3EnterContinuousTimeMode", exchange ? P::event : 0u, P::continuous));
}
Status fmi3CompletedIntegratorStep(Instance i, Boolean, Boolean* enter_event_mode, Boolean* terminate) {
  return status3(completed_step(i, "fmi3CompletedIntegratorStep", enter_event_mode, terminate));
}
Status fmi3SetTime(Instance i, Float64 t) {
  return status3(set_time(i, "fmi3SetTime", t));
}
Status fmi3SetContinuousStates(Instance i, const Float64* values, std::size_t count) {
  return status3(set_states(i, "fmi3SetContinuousStates", values, count));
}
Status fmi3GetContinuousStateDerivatives(Instance i, Float64* values, std::size_t count) {
  return status3(get_derivatives(i, "fmi3GetContinuousStateDerivatives", values, count));
}
Status fmi3GetEventIndicators(Instance i, Float64* values, std::size_t count) {
  return status3(get_indicators(i, "fmi3GetEventIndicators", values, count));
}
Status fmi3GetContinuousStates(Instance i, Float64* values, std::size_t count) {
  return status3(get_states(i, "fmi3GetContinuousStates", values, count));
}
Status fmi3GetNominalsOfContinuousStates(Instance i, Float64* values, std::size_t count) {
  return status3(get_nominals(i, "fmi3GetNominalsOfContinuousStates", values, count));
}
Status fmi3GetNumberOfEventIndicators(Instance i, std::size_t* count) {
  return status3(call(i, "fmi3GetNumberOfEventIndicators", phases::anytime, [&](Caller&, FmuInstance& fmu) {
    require_list(1, count);
    *count = fmu.model().indicators().size();
    return call_status::ok;
  }));
}
Status fmi3GetNumberOfContinuousStates(Instance i, std::size_t* count) {
  return status3(call(i, "fmi3GetNumberOfContinuousStates", phases::anytime, [&](Caller&, FmuInstance& fmu) {
    require_list(1, count);
    *count = fmu.model().states().size();
    return call_status::ok;
  }));
}

// --- co-simulation

Status fmi3EnterStepMode(Instance i) {
  const auto* caller = static_cast<Caller*>(i);
  const bool steps = caller && caller->event_mode;
  return status3(change_phase(i, "fmi3EnterStepMode", steps ? P::event : 0u, P::step));
}
Status fmi3GetOutputDerivatives(Instance i, References, std::size_t n, const std::int32_t*, Float64*, std::size_t) {
  return status3(refuse(i, "fmi3GetOutputDerivatives", "derivatives of outputs", n));
}
Status fmi3DoStep(Instance i, Float64 t, Float64 h, Boolean, Boolean* event_needed, Boolean* terminate,
                  Boolean* early_return, Float64* last_time) {
  return status3(call(i, "fmi3DoStep", P::step, [&](Caller& caller, FmuInstance& fmu) {
    require_list(1, event_needed);
    require_list(1, terminate);
    require_list(1, early_return);
    require_list(1, last_time);
    const CommunicationStep result = fmu.do_step(t, h, caller.early_return);
    caller.last_time = *last_time = result.t;
    caller.ended = *terminate = result.terminated;
    *event_needed = *early_return = result.event;
    return call_status::ok;
  }));
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace saltus::fmi3
