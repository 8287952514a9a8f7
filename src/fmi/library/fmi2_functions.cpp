// The functions of FMI 2.0 that an exported FMU offers.
#include "fmi/fmi2.hpp"
#include "fmi/library/calls.hpp"

namespace saltus::fmi2 {

namespace {

using P = FmuInstance::Phase;

Status status(int number) {
  return static_cast<Status>(number);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

String fmi2GetTypesPlatform() {
  return "default";
}
String fmi2GetVersion() {
  return "2.0";
}

Component fmi2Instantiate(String name, Type type, String guid, String resources, const CallbackFunctions* callbacks,
                          Boolean, Boolean) {
  if (type != model_exchange && type != co_simulation) return nullptr;
  Caller::Tell tell;
  if (callbacks && callbacks->logger)
    tell = [log = callbacks->logger, environment = callbacks->environment, own = std::string(name ? name : "")](
               int number, const char* category, const char* message) {
      log(environment, own.c_str(), status(number), category, "%s", message);
    };
  const auto kind = type == co_simulation ? FmuInstance::Kind::co_simulation : FmuInstance::Kind::model_exchange;
  return instantiate(kind, "fmi2Instantiate", name, resources, guid, std::move(tell));
}
void fmi2FreeInstance(Component c) {
  free_instance(c);
}

Status fmi2SetDebugLogging(Component c, Boolean, std::size_t count, const String* categories) {
  return status(set_debug_logging(c, "fmi2SetDebugLogging", count, categories));
}

Status fmi2SetupExperiment(Component c, Boolean tolerance_defined, Real tolerance, Real start, Boolean stop_defined,
                           Real stop) {
  return status(call(c, "fmi2SetupExperiment", P::instantiated, [&](Caller& caller, FmuInstance& fmu) {
    fmu.setup(settings_of(tolerance_defined, tolerance, start, stop_defined, stop));
    caller.set_up = true;
    return call_status::ok;
  }));
}
Status fmi2EnterInitializationMode(Component c) {
  return status(call(c, "fmi2EnterInitializationMode", P::instantiated, [&](Caller& caller, FmuInstance& fmu) {
    if (!caller.set_up) throw UsageError("fmi2SetupExperiment must be called first");
    fmu.enter_initialization();
    return call_status::ok;
  }));
}
Status fmi2ExitInitializationMode(Component c) {
  const bool steps = c && static_cast<Caller*>(c)->fmu->kind() == FmuInstance::Kind::co_simulation;
  return status(end_initialization(c, "fmi2ExitInitializationMode", steps ? P::step : P::event));
}
Status fmi2Terminate(Component c) {
  return status(terminate(c, "fmi2Terminate"));
}
Status fmi2Reset(Component c) {
  return status(reset(c, "fmi2Reset"));
}

// --- values

Status fmi2GetReal(Component c, References r, std::size_t n, Real* values) {
  return status(get_values(c, "fmi2GetReal", Access::real, r, n, values));
}
Status fmi2GetInteger(Component c, References r, std::size_t n, Integer* values) {
  return status(get_values(c, "fmi2GetInteger", Access::integer_or_enumeration, r, n, values));
}
Status fmi2GetBoolean(Component c, References r, std::size_t n, Boolean* values) {
  return status(get_values(c, "fmi2GetBoolean", Access::boolean, r, n, values));
}
Status fmi2GetString(Component c, References, std::size_t n, String*) {
  return status(refuse(c, "fmi2GetString", "texts", n));
}
Status fmi2SetReal(Component c, References r, std::size_t n, const Real* values) {
  return status(set_values(c, "fmi2SetReal", Access::real, r, n, values));
}
Status fmi2SetInteger(Component c, References r, std::size_t n, const Integer* values) {
  return status(set_values(c, "fmi2SetInteger", Access::integer_or_enumeration, r, n, values));
}
Status fmi2SetBoolean(Component c, References r, std::size_t n, const Boolean* values) {
  return status(set_values(c, "fmi2SetBoolean", Access::boolean, r, n, values));
}
Status fmi2SetString(Component c, References, std::size_t n, const String*) {
  return status(refuse(c, "fmi2SetString", "texts", n));
}

// --- saved states

Status fmi2GetFMUstate(Component c, State* state) {
  return status(save_state(c, "fmi2GetFMUstate", state));
}
Status fmi2SetFMUstate(Component c, State state) {
  return status(restore_state(c, "fmi2SetFMUstate", state));
}
Status fmi2FreeFMUstate(Component c, State* state) {
  return status(release_state(c, "fmi2FreeFMUstate", state));
}
Status fmi2SerializedFMUstateSize(Component c, State state, std::size_t* size) {
  return status(state_size(c, "fmi2SerializedFMUstateSize", state, size));
}
Status fmi2SerializeFMUstate(Component c, State state, Byte* bytes, std::size_t size) {
  return status(write_state(c, "fmi2SerializeFMUstate", state, bytes, size));
}
Status fmi2DeSerializeFMUstate(Component c, const Byte* bytes, std::size_t size, State* state) {
  return status(read_state(c, "fmi2DeSerializeFMUstate", bytes, size, state));
}
Status fmi2GetDirectionalDerivative(Component c, References unknowns, std::size_t unknown_count, References knowns,
                                    std::size_t known_count, const Real* seed, Real* sensitivity) {
  return status(derivatives(c, "fmi2GetDirectionalDerivative", Along::knowns, unknowns, unknown_count, knowns,
                            known_count, seed, sensitivity));
}

// --- model exchange

Status fmi2EnterEventMode(Component c) {
  return status(change_phase(c, "fmi2EnterEventMode", P::continuous, P::event));
}
Status fmi2NewDiscreteStates(Component c, EventInfo* info) {
  return status(call(c, "fmi2NewDiscreteStates", P::event, [&](Caller&, FmuInstance& fmu) {
    require_list(1, info);
    const SettledEvent result = fmu.settle();
    *info = {.terminate_simulation = result.terminated,
             .values_of_continuous_states_changed = result.states_changed,
             .next_event_time_defined = result.next_time.has_value(),
             .next_event_time = result.next_time.value_or(0.0)};
    return call_status::ok;
  }));
}
Status fmi2EnterContinuousTimeMode(Component c) {
  return status(change_phase(c, "fmi2EnterContinuousTimeMode", P::event, P::continuous));
}
Status fmi2CompletedIntegratorStep(Component c, Boolean, Boolean* enter_event_mode, Boolean* terminate) {
  return status(completed_step(c, "fmi2CompletedIntegratorStep", enter_event_mode, terminate));
}
Status fmi2SetTime(Component c, Real t) {
  return status(set_time(c, "fmi2SetTime", t));
}
Status fmi2SetContinuousStates(Component c, const Real* values, std::size_t count) {
  return status(set_states(c, "fmi2SetContinuousStates", values, count));
}
Status fmi2GetDerivatives(Component c, Real* values, std::size_t count) {
  return status(get_derivatives(c, "fmi2GetDerivatives", values, count));
}
Status fmi2GetEventIndicators(Component c, Real* values, std::size_t count) {
  return status(get_indicators(c, "fmi2GetEventIndicators", values, count));
}
Status fmi2GetContinuousStates(Component c, Real* values, std::size_t count) {
  return status(get_states(c, "fmi2GetContinuousStates", values, count));
}
Status fmi2GetNominalsOfContinuousStates(Component c, Real* values, std::size_t count) {
  return status(get_nominals(c, "fmi2GetNominalsOfContinuousStates", values, count));
}

// --- co-simulation

Status fmi2SetRealInputDerivatives(Component c, References r, std::size_t n, const Integer* orders,
                                   const Real* values) {
  return status(call(c, "fmi2SetRealInputDerivatives", phases::before | P::step, [&](Caller&, FmuInstance& fmu) {
    require_list(n, r);
    require_list(n, orders);
    require_list(n, values);
    for (std::size_t k = 0; k < n; ++k) {
      require_type(fmu.variable(r[k]), Access::real);
      if (orders[k] != 1) throw UsageError("inputs have derivatives of order 1 only");
      fmu.set_slope(r[k], values[k]);
    }
    return call_status::ok;
  }));
}
Status fmi2GetRealOutputDerivatives(Component c, References, std::size_t n, const Integer*, Real*) {
  return status(refuse(c, "fmi2GetRealOutputDerivatives", "derivatives of outputs", n));
}
Status fmi2DoStep(Component c, Real t, Real h, Boolean) {
  return status(call(c, "fmi2DoStep", P::step, [&](Caller& caller, FmuInstance& fmu) {
    const CommunicationStep result = fmu.do_step(t, h, false);
    caller.last_time = result.t;
    caller.ended = result.terminated;
    return result.terminated ? call_status::discard : call_status::ok;
  }));
}
Status fmi2CancelStep(Component c) {
  return status(refuse(c, "fmi2CancelStep", "steps that are pending", 1));
}

// What is known about the last step: its end, and whether the model ended the run.
Status fmi2GetStatus(Component, StatusKind, Status*) {
  return discard;
}
Status fmi2GetIntegerStatus(Component, StatusKind, Integer*) {
  return discard;
}
Status fmi2GetRealStatus(Component c, StatusKind kind, Real* value) {
  if (!c || !value || kind != last_successful_time) return discard;
  *value = static_cast<Caller*>(c)->last_time;
  return ok;
}
Status fmi2GetBooleanStatus(Component c, StatusKind kind, Boolean* value) {
  if (!c || !value || kind != terminated) return discard;
  *value = static_cast<Caller*>(c)->ended;
  return ok;
}
Status fmi2GetStringStatus(Component c, StatusKind, String* value) {
  if (!c || !value) return discard;
  *value = static_cast<Caller*>(c)->message.c_str();
  return ok;
}

}  // extern "C"
#pragma GCC visibility pop

}  // namespace saltus::fmi2
