// What the functions of both versions of FMI share: the order of calls, messages, lists of values, saved states.
#pragma once

#include <saltus/base/error.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "fmi/library/fmu_instance.hpp"

namespace saltus {

/// Numbers of statuses, which are the same in both versions.
namespace call_status {
inline constexpr int ok = 0, warning = 1, discard = 2, error = 3;
}

/// An instance as the importer holds it.
class Caller {
 public:
  using Tell = std::function<void(int status, const char* category, const char* message)>;

  Tell tell;
  std::unique_ptr<FmuInstance> fmu;
  bool set_up = false;        ///< the experiment is known
  bool early_return = false;  ///< steps may end at events
  bool event_mode = false;    ///< the importer uses Event Mode of co-simulation
  double last_time = 0.0;     ///< the last communication point that was reached
  bool ended = false;         ///< the model ended the run
  std::string message;        ///< the last one

  void log(int status, const char* function, const std::string& text);

  // --- saved states; throw UsageError for pointers that are none of them
  void save(void** state);
  void restore(void* state);
  void release(void** state);
  std::vector<double> numbers(void* state) const;
  void* from_bytes(const void* bytes, std::size_t size);

 private:
  FmuInstance::Snapshot& known(void* state) const;
  std::vector<std::unique_ptr<FmuInstance::Snapshot>> states_;
};

namespace phases {
using P = FmuInstance::Phase;
inline constexpr unsigned before = P::instantiated | P::initialization;
inline constexpr unsigned running = P::event | P::continuous | P::step;
inline constexpr unsigned exchange = P::event | P::continuous;
inline constexpr unsigned evaluating = P::initialization | exchange | P::terminated;
inline constexpr unsigned with_values = P::initialization | running | P::terminated;
inline constexpr unsigned anytime = before | running | P::terminated;
inline constexpr unsigned reading = anytime | P::failed;
}  // namespace phases

/// What a failure of the model means. Wrong use is always an error, after which the instance goes on.
enum class Failing {
  ends_run,   ///< only a reset helps
  discarded,  ///< the importer may try another point
};

/// Calls action(caller, fmu), which returns a status, in one of the given phases. Exceptions become messages.
template <class Action>
int call(void* instance, const char* function, unsigned phases, Action&& action, Failing failing = Failing::ends_run) {
  if (!instance) return call_status::error;
  auto& caller = *static_cast<Caller*>(instance);
  if ((caller.fmu->phase() & phases) == 0) {
    caller.log(call_status::error, function, "the standard does not allow this call now");
    return call_status::error;
  }
  try {
    return action(caller, *caller.fmu);
  } catch (const UsageError& problem) {
    caller.log(call_status::error, function, problem.what());
    return call_status::error;
  } catch (const std::exception& problem) {
    const bool discarded = failing == Failing::discarded;
    caller.log(discarded ? call_status::warning : call_status::error, function, problem.what());
    if (!discarded) caller.fmu->set_phase(FmuInstance::failed);
    return discarded ? call_status::discard : call_status::error;
  }
}

/// The types that a function serves.
enum class Access { real, integer, enumeration, integer_or_enumeration, boolean };
/// Throws UsageError for a variable of another type.
void require_type(const FmuVariable& variable, Access access);
/// Throws UsageError for a variable that cannot be set in the present phase.
void require_settable(const FmuInstance& fmu, const FmuVariable& variable);
/// Throws UsageError for a list without an address.
void require_list(std::size_t count, const void* list);
void require_count(std::size_t given, std::size_t wanted);

template <class Value>
int get_values(void* instance, const char* function, Access access, const unsigned* references, std::size_t count,
               Value* values) {
  return call(
      instance, function, phases::reading,
      [&](Caller&, FmuInstance& fmu) {
        require_list(count, references);
        require_list(count, values);
        for (std::size_t k = 0; k < count; ++k) {
          require_type(fmu.variable(references[k]), access);
          const double value = fmu.value(references[k]);
          values[k] = static_cast<Value>(value);
        }
        return call_status::ok;
      },
      Failing::discarded);
}

template <class Value>
int set_values(void* instance, const char* function, Access access, const unsigned* references, std::size_t count,
               const Value* values) {
  return call(instance, function, phases::before | phases::running, [&](Caller&, FmuInstance& fmu) {
    require_list(count, references);
    require_list(count, values);
    for (std::size_t k = 0; k < count; ++k) {
      const FmuVariable& variable = fmu.variable(references[k]);
      require_type(variable, access);
      require_settable(fmu, variable);
      const auto value = static_cast<double>(values[k]);
      fmu.set_value(references[k], access == Access::boolean ? (value != 0.0 ? 1.0 : 0.0) : value);
    }
    return call_status::ok;
  });
}

/// What the importer says about the experiment.
template <class Truth>
RunSettings settings_of(Truth tolerance_defined, double tolerance, double start, Truth stop_defined, double stop) {
  RunSettings settings{.start = start};
  if (stop_defined) settings.stop = stop;
  if (tolerance_defined) settings.tolerance = tolerance;
  return settings;
}

/// The end of a step of the importer's integrator, which means nothing to these FMUs.
template <class Truth>
int completed_step(void* instance, const char* function, Truth* enter_event_mode, Truth* terminate) {
  return call(instance, function, FmuInstance::continuous, [&](Caller&, FmuInstance&) {
    require_list(1, enter_event_mode);
    require_list(1, terminate);
    *enter_event_mode = *terminate = 0;
    return call_status::ok;
  });
}

/// Makes an instance; null, after a message, if that fails.
void* instantiate(FmuInstance::Kind kind, const char* function, const char* name, const char* resources,
                  const char* token, Caller::Tell tell);
void free_instance(void* instance);

// Functions that are the same in both versions but for their names.
int end_initialization(void* instance, const char* function, unsigned next_phase);
int terminate(void* instance, const char* function);
int reset(void* instance, const char* function);
/// Errors are told, and always.
int set_debug_logging(void* instance, const char* function, std::size_t count, const char* const* categories);
int save_state(void* instance, const char* function, void** state);
int restore_state(void* instance, const char* function, void* state);
int release_state(void* instance, const char* function, void** state);
int state_size(void* instance, const char* function, void* state, std::size_t* size);
int write_state(void* instance, const char* function, void* state, void* bytes, std::size_t size);
int read_state(void* instance, const char* function, const void* bytes, std::size_t size, void** state);
/// Derivatives of unknowns by knowns, times a seed: along the knowns, or along the unknowns (adjoint).
enum class Along { knowns, unknowns };
int derivatives(void* instance, const char* function, Along along, const unsigned* unknowns, std::size_t unknown_count,
                const unsigned* knowns, std::size_t known_count, const double* seed, double* sensitivity);
int set_time(void* instance, const char* function, double t);
int set_states(void* instance, const char* function, const double* values, std::size_t count);
int get_states(void* instance, const char* function, double* values, std::size_t count);
int get_nominals(void* instance, const char* function, double* values, std::size_t count);
int get_derivatives(void* instance, const char* function, double* values, std::size_t count);
int get_indicators(void* instance, const char* function, double* values, std::size_t count);
int change_phase(void* instance, const char* function, unsigned from, FmuInstance::Phase to);
/// For functions of what the FMU does not have (texts, clocks, …): an error, unless the list is empty.
int refuse(void* instance, const char* function, const char* what, std::size_t count);

}  // namespace saltus
