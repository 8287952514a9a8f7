// The C interface of FMI 3.0: types and functions, as the standard defines them (Functional Mock-up Interface 3.0.2,
// sections 2.2, 3.2, 4.2 and 5.2). Names are those of the standard; an FMU exports the functions with C linkage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fmi/fmi.hpp"

namespace saltus::fmi3 {

using namespace fmi;
using fmi::Status;  // not that of runs

using Instance = void*;
using Float64 = double;
using Boolean = bool;
using Byte = std::uint8_t;
using Binary = const Byte*;
using Clock = bool;

enum DependencyKind : int { independent, constant, fixed, tunable, discrete, dependent };
enum IntervalQualifier : int { interval_not_yet_known, interval_unchanged, interval_changed };

using LogMessage = void (*)(Environment, Status, String category, String message);
using ClockUpdate = void (*)(Environment);
using LockPreemption = void (*)();
using IntermediateUpdate = void (*)(Environment, Float64 t, Boolean set_requested, Boolean get_allowed,
                                    Boolean step_finished, Boolean can_return_early, Boolean* return_early,
                                    Float64* return_time);

// --- functions
using SetDebugLoggingFunction = Status(Instance, Boolean on, std::size_t count, const String* categories);
using InstantiateModelExchangeFunction = Instance(String name, String token, String resources, Boolean visible,
                                                  Boolean logging, Environment, LogMessage);
using InstantiateCoSimulationFunction = Instance(String name, String token, String resources, Boolean visible,
                                                 Boolean logging, Boolean event_mode_used, Boolean early_return_allowed,
                                                 References intermediate, std::size_t intermediate_count, Environment,
                                                 LogMessage, IntermediateUpdate);
using InstantiateScheduledExecutionFunction = Instance(String name, String token, String resources, Boolean visible,
                                                       Boolean logging, Environment, LogMessage, ClockUpdate,
                                                       LockPreemption lock, LockPreemption unlock);
using EnterInitializationFunction = Status(Instance, Boolean tolerance_defined, Float64 tolerance, Float64 start,
                                           Boolean stop_defined, Float64 stop);
template <class Value>
using GetFunction = Status(Instance, References, std::size_t count, Value* values, std::size_t value_count);
template <class Value>
using SetFunction = Status(Instance, References, std::size_t count, const Value* values, std::size_t value_count);
using GetBinaryFunction = Status(Instance, References, std::size_t, std::size_t* sizes, Binary*, std::size_t);
using SetBinaryFunction = Status(Instance, References, std::size_t, const std::size_t* sizes, const Binary*,
                                 std::size_t);
using GetClockFunction = Status(Instance, References, std::size_t, Clock*);
using SetClockFunction = Status(Instance, References, std::size_t, const Clock*);
using CountDependenciesFunction = Status(Instance, ValueReference, std::size_t*);
using GetDependenciesFunction = Status(Instance, ValueReference, std::size_t* elements, ValueReference* independents,
                                       std::size_t* independent_elements, DependencyKind*, std::size_t);
using SerializeFunction = Status(Instance, State, Byte*, std::size_t);
using DeserializeFunction = Status(Instance, const Byte*, std::size_t, State*);
/// fmi3GetDirectionalDerivative, fmi3GetAdjointDerivative
using DerivativeFunction = Status(Instance, References unknowns, std::size_t unknown_count, References knowns,
                                  std::size_t known_count, const Float64* seed, std::size_t seed_count,
                                  Float64* sensitivity, std::size_t sensitivity_count);
// clocks
using GetIntervalDecimalFunction = Status(Instance, References, std::size_t, Float64*, IntervalQualifier*);
using GetIntervalFractionFunction = Status(Instance, References, std::size_t, std::uint64_t* counters,
                                           std::uint64_t* resolutions, IntervalQualifier*);
using GetShiftDecimalFunction = Status(Instance, References, std::size_t, Float64*);
using GetShiftFractionFunction = Status(Instance, References, std::size_t, std::uint64_t*, std::uint64_t*);
using SetDecimalFunction = Status(Instance, References, std::size_t, const Float64*);
using SetFractionFunction = Status(Instance, References, std::size_t, const std::uint64_t*, const std::uint64_t*);
using ActivatePartitionFunction = Status(Instance, ValueReference, Float64);
// events
using UpdateDiscreteStatesFunction = Status(Instance, Boolean* again, Boolean* terminate, Boolean* nominals_changed,
                                            Boolean* values_changed, Boolean* next_time_defined, Float64* next_time);
// model exchange
using CompletedStepFunction = Status(Instance, Boolean no_set_state_prior, Boolean* enter_event_mode,
                                     Boolean* terminate);
using GetCountFunction = Status(Instance, std::size_t*);
// co-simulation
using GetOutputDerivativesFunction = Status(Instance, References, std::size_t, const std::int32_t* orders, Float64*,
                                            std::size_t);
using DoStepFunction = Status(Instance, Float64 t, Float64 h, Boolean no_set_state_prior, Boolean* event_needed,
                              Boolean* terminate, Boolean* early_return, Float64* last_time);

}  // namespace saltus::fmi3
