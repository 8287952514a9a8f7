// The C interface of FMI 2.0: types and functions, as the standard defines them (Functional Mock-up Interface 2.0.4,
// sections 2.1, 3.2 and 4.2). Names are those of the standard; an FMU exports the functions with C linkage.
#pragma once

#include <cstddef>

#include "fmi/fmi.hpp"

namespace saltus::fmi2 {

using namespace fmi;
using fmi::Status;  // not that of runs

using Component = void*;
using Real = double;
using Integer = int;
using Boolean = int;
using Byte = char;

enum Type : int { model_exchange, co_simulation };
enum StatusKind : int { do_step_status, pending_status, last_successful_time, terminated };

using Logger = void (*)(Environment, String instance, Status, String category, String message, ...);
using AllocateMemory = void* (*)(std::size_t, std::size_t);
using FreeMemory = void (*)(void*);
using StepFinished = void (*)(Environment, Status);

struct CallbackFunctions {
  Logger logger;
  AllocateMemory allocate_memory;
  FreeMemory free_memory;
  StepFinished step_finished;
  Environment environment;
};

struct EventInfo {
  Boolean new_discrete_states_needed;
  Boolean terminate_simulation;
  Boolean nominals_of_continuous_states_changed;
  Boolean values_of_continuous_states_changed;
  Boolean next_event_time_defined;
  Real next_event_time;
};

// --- functions
using SetDebugLoggingFunction = Status(Component, Boolean on, std::size_t count, const String* categories);
using InstantiateFunction = Component(String name, Type, String guid, String resources, const CallbackFunctions*,
                                      Boolean visible, Boolean logging);
using SetupExperimentFunction = Status(Component, Boolean tolerance_defined, Real tolerance, Real start,
                                       Boolean stop_defined, Real stop);
template <class Value>
using GetFunction = Status(Component, References, std::size_t count, Value* values);
template <class Value>
using SetFunction = Status(Component, References, std::size_t count, const Value* values);
using SerializeFunction = Status(Component, State, Byte*, std::size_t);
using DeserializeFunction = Status(Component, const Byte*, std::size_t, State*);
using DirectionalDerivativeFunction = Status(Component, References unknowns, std::size_t unknown_count,
                                             References knowns, std::size_t known_count, const Real* seed,
                                             Real* sensitivity);
// model exchange
using NewDiscreteStatesFunction = Status(Component, EventInfo*);
using CompletedStepFunction = Status(Component, Boolean no_set_state_prior, Boolean* enter_event_mode,
                                     Boolean* terminate);
// co-simulation
using SetInputDerivativesFunction = Status(Component, References, std::size_t, const Integer* orders, const Real*);
using GetOutputDerivativesFunction = Status(Component, References, std::size_t, const Integer* orders, Real*);
using DoStepFunction = Status(Component, Real t, Real h, Boolean no_set_state_prior);
template <class Value>
using GetStatusFunction = Status(Component, StatusKind, Value*);

}  // namespace saltus::fmi2
