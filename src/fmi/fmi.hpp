// What the C interfaces of FMI 2.0 and 3.0 have in common.
#pragma once

#include <cstddef>

namespace saltus::fmi {

using Environment = void*;
using State = void*;
using ValueReference = unsigned int;
using References = const ValueReference*;
using String = const char*;

enum Status : int { ok, warning, discard, error, fatal, pending };  // `pending` is of FMI 2.0

// The first argument is the instance.
using GetTextFunction = String();  // GetVersion, fmi2GetTypesPlatform
using FreeInstanceFunction = void(void*);
/// ExitInitializationMode, Terminate, Reset, EnterEventMode, EnterContinuousTimeMode and others
using PlainFunction = Status(void*);
using GetStateFunction = Status(void*, State*);  // and FreeFMUState
using SetStateFunction = Status(void*, State);
using StateSizeFunction = Status(void*, State, std::size_t*);
using SetTimeFunction = Status(void*, double);
using SetNumbersFunction = Status(void*, const double*, std::size_t);  // SetContinuousStates
/// GetContinuousStates, GetEventIndicators, GetNominalsOfContinuousStates, fmi2GetDerivatives,
/// fmi3GetContinuousStateDerivatives
using GetNumbersFunction = Status(void*, double*, std::size_t);

}  // namespace saltus::fmi
