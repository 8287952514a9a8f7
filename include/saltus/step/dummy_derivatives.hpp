// Systems with hidden constraints, solved by integrators for systems without: with dummy derivatives.
#pragma once

#include <saltus/step/stepper.hpp>

#include <functional>
#include <memory>

namespace saltus {

/// Makes the stepper that solves the system of index 1, with options for all its variables.
using StepperMaker = std::function<std::unique_ptr<Stepper>(const StepOptions&)>;

/// Takes systems that are regular by their structure, with their hidden constraints, if they can be differentiated (System::differentiated):
/// `start` throws UsageError for others. Constraints of all orders are equations of the system that is solved, and hold to
/// the tolerance. Which derivatives are states is chosen at the start, and anew where another choice has become much better. The error
/// of derivatives that are not variables of the original system is not tested.
std::unique_ptr<Stepper> make_dummy_derivatives(StepOptions options, StepperMaker make);

}  // namespace saltus
