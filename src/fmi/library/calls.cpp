#include "fmi/library/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "fmi/library/resource_path.hpp"

namespace saltus {

using namespace call_status;
using P = FmuInstance::Phase;

void Caller::log(int status, const char* function, const std::string& text) {
  message = std::string(function) + ": " + text;
  if (tell) tell(status, status == warning ? "logStatusWarning" : "logStatusError", message.c_str());
}

FmuInstance::Snapshot& Caller::known(void* state) const {
  const auto found = std::ranges::find_if(states_, [&](const auto& s) { return s.get() == state; });
  if (found == states_.end()) throw UsageError("this is not a saved state of this instance");
  return **found;
}

void Caller::save(void** state) {
  if (!state) throw UsageError("the place for the state is missing");
  if (*state) {  // a state that is given is used again
    known(*state) = fmu->snapshot();
    return;
  }
  auto snapshot = std::make_unique<FmuInstance::Snapshot>(fmu->snapshot());
  *state = snapshot.get();
  states_.push_back(std::move(snapshot));
}

void Caller::restore(void* state) {
  fmu->restore(known(state));
  set_up = true;
  ended = false;
  last_time = fmu->time();
}

void Caller::release(void** state) {
  if (!state || !*state) return;
  known(*state);
  std::erase_if(states_, [&](const auto& s) { return s.get() == *state; });
  *state = nullptr;
}

std::vector<double> Caller::numbers(void* state) const {
  return known(state).numbers();
}

void* Caller::from_bytes(const void* bytes, std::size_t size) {
  if (!bytes || size % sizeof(double) != 0) throw UsageError("these bytes are not a state of this FMU");
  std::vector<double> values(size / sizeof(double));
  std::memcpy(values.data(), bytes, size);
  auto snapshot = std::make_unique<FmuInstance::Snapshot>(FmuInstance::Snapshot::from_numbers(std::move(values)));
  void* const state = snapshot.get();
  states_.push_back(std::move(snapshot));
  return state;
}

void require_type(const FmuVariable& variable, Access access) {
  const VariableType type = variable.info.details->type;
  const bool integer = type == VariableType::integer, enumeration = type == VariableType::enumeration;
  const bool fits = access == Access::real          ? type == VariableType::real
                    : access == Access::boolean     ? type == VariableType::boolean
                    : access == Access::integer     ? integer
                    : access == Access::enumeration ? enumeration
                                                    : integer || enumeration;
  if (!fits) throw UsageError(fmt::format("'{}' has another type: it is {}", variable.info.name, to_string(type)));
}

void require_settable(const FmuInstance& fmu, const FmuVariable& variable) {
  const bool moves = variable.is_input() && variable.variability == Variability::continuous;
  if (fmu.phase() == P::continuous && !moves)
    throw UsageError(fmt::format("'{}' can be set in Event Mode only", variable.info.name));
}

void require_list(std::size_t count, const void* list) {
  if (count > 0 && !list) throw UsageError("a list is missing");
}

void require_count(std::size_t given, std::size_t wanted) {
  if (given != wanted) throw UsageError(fmt::format("the list has {} numbers, {} are needed", given, wanted));
}

void* instantiate(FmuInstance::Kind kind, const char* function, const char* name, const char* resources,
                  const char* token, Caller::Tell tell) {
  auto caller = std::make_unique<Caller>();
  caller->tell = std::move(tell);
  try {
    if (!name || *name == '\0') throw UsageError("the instance needs a name");
    caller->fmu = std::make_unique<FmuInstance>(kind, resource_path(resources ? resources : ""), token ? token : "");
    return caller.release();
  } catch (const std::exception& problem) {
    caller->log(error, function, problem.what());
    return nullptr;
  }
}

void free_instance(void* instance) {
  delete static_cast<Caller*>(instance);
}

int end_initialization(void* instance, const char* function, unsigned next_phase) {
  return call(instance, function, P::initialization, [&](Caller& caller, FmuInstance& fmu) {
    fmu.exit_initialization();
    fmu.set_phase(static_cast<P>(next_phase));
    caller.last_time = fmu.time();
    return ok;
  });
}

int terminate(void* instance, const char* function) {
  return change_phase(instance, function, phases::running, P::terminated);
}

int reset(void* instance, const char* function) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance& fmu) {
    fmu.reset();
    caller.set_up = caller.ended = false;
    return ok;
  });
}

int set_debug_logging(void* instance, const char* function, std::size_t count, const char* const* categories) {
  return call(instance, function, phases::reading, [&](Caller&, FmuInstance&) {
    require_list(count, categories);
    return ok;
  });
}

int save_state(void* instance, const char* function, void** state) {
  return call(instance, function, phases::anytime, [&](Caller& caller, FmuInstance&) {
    caller.save(state);
    return ok;
  });
}

int restore_state(void* instance, const char* function, void* state) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance&) {
    caller.restore(state);
    return ok;
  });
}

int release_state(void* instance, const char* function, void** state) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance&) {
    caller.release(state);
    return ok;
  });
}

int state_size(void* instance, const char* function, void* state, std::size_t* size) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance&) {
    require_list(1, size);
    *size = caller.numbers(state).size() * sizeof(double);
    return ok;
  });
}

int write_state(void* instance, const char* function, void* state, void* bytes, std::size_t size) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance&) {
    const std::vector<double> values = caller.numbers(state);
    if (!bytes || size < values.size() * sizeof(double)) throw UsageError("there is not enough room for the state");
    std::memcpy(bytes, values.data(), values.size() * sizeof(double));
    return ok;
  });
}

int read_state(void* instance, const char* function, const void* bytes, std::size_t size, void** state) {
  return call(instance, function, phases::reading, [&](Caller& caller, FmuInstance&) {
    require_list(1, state);
    *state = caller.from_bytes(bytes, size);
    return ok;
  });
}

namespace {

/// A call for model exchange alone. In FMI 3.0 co-simulation has an Event Mode, too.
template <class Action>
int exchange_call(void* instance, const char* function, unsigned phases, Action&& action,
                  Failing failing = Failing::ends_run) {
  return call(
      instance, function, phases,
      [&](Caller& caller, FmuInstance& fmu) {
        if (fmu.kind() != FmuInstance::Kind::model_exchange)
          throw UsageError("this call is for model exchange; the instance was made for co-simulation");
        return action(caller, fmu);
      },
      failing);
}

}  // namespace

int derivatives(void* instance, const char* function, Along along, const unsigned* unknowns, std::size_t unknown_count,
                const unsigned* knowns, std::size_t known_count, const double* seed, double* sensitivity) {
  return call(
      instance, function, phases::with_values,
      [&](Caller&, FmuInstance& fmu) {
        const bool forward = along == Along::knowns;
        const std::size_t seeds = forward ? known_count : unknown_count,
                          results = forward ? unknown_count : known_count;
        require_list(unknown_count, unknowns);
        require_list(known_count, knowns);
        require_list(seeds, seed);
        require_list(results, sensitivity);
        const std::vector<std::size_t> u(unknowns, unknowns + unknown_count), k(knowns, knowns + known_count);
        if (forward)
          fmu.directional(u, k, {seed, seeds}, {sensitivity, results});
        else
          fmu.adjoint(u, k, {seed, seeds}, {sensitivity, results});
        return ok;
      },
      Failing::discarded);
}

int set_time(void* instance, const char* function, double t) {
  return exchange_call(instance, function, phases::exchange, [&](Caller&, FmuInstance& fmu) {
    if (!std::isfinite(t)) throw UsageError("the time is not finite");
    fmu.exchanged().set_time(t);
    return ok;
  });
}

int set_states(void* instance, const char* function, const double* values, std::size_t count) {
  return exchange_call(instance, function, P::continuous, [&](Caller&, FmuInstance& fmu) {
    require_count(count, fmu.model().states().size());
    require_list(count, values);
    if (!std::all_of(values, values + count, [](double x) { return std::isfinite(x); }))
      throw UsageError("a state is not finite");
    fmu.exchanged().set_states({values, count});
    return ok;
  });
}

namespace {

/// One of the lists with a number for each state or indicator.
template <class Fill>
int get_list(void* instance, const char* function, double* values, std::size_t count, bool of_states, Fill&& fill) {
  return exchange_call(
      instance, function, phases::evaluating,
      [&](Caller&, FmuInstance& fmu) {
        require_count(count, of_states ? fmu.model().states().size() : fmu.model().indicators().size());
        require_list(count, values);
        fill(fmu, std::span<double>(values, count));
        return ok;
      },
      Failing::discarded);
}

}  // namespace

int get_states(void* instance, const char* function, double* values, std::size_t count) {
  return get_list(instance, function, values, count, true,
                  [](FmuInstance& fmu, std::span<double> list) { fmu.exchanged().states(list); });
}
int get_nominals(void* instance, const char* function, double* values, std::size_t count) {
  return get_list(instance, function, values, count, true, [](FmuInstance& fmu, std::span<double> list) {
    for (std::size_t k = 0; k < list.size(); ++k)
      list[k] = std::abs(fmu.variable(fmu.model().states()[k]).info.nominal);
  });
}
int get_derivatives(void* instance, const char* function, double* values, std::size_t count) {
  return get_list(instance, function, values, count, true,
                  [](FmuInstance& fmu, std::span<double> list) { fmu.exchanged().derivatives(list); });
}
int get_indicators(void* instance, const char* function, double* values, std::size_t count) {
  return get_list(instance, function, values, count, false,
                  [](FmuInstance& fmu, std::span<double> list) { fmu.exchanged().indicators(list); });
}

int change_phase(void* instance, const char* function, unsigned from, FmuInstance::Phase to) {
  return call(instance, function, from, [&](Caller&, FmuInstance& fmu) {
    fmu.set_phase(to);
    return ok;
  });
}

int refuse(void* instance, const char* function, const char* what, std::size_t count) {
  return call(instance, function, phases::reading, [&](Caller&, FmuInstance&) {
    if (count > 0) throw UsageError(std::string("the FMU has no ") + what);
    return ok;
  });
}

}  // namespace saltus
