// What every stepper for stiff modes must do besides stepper_suite.hpp.
#pragma once

#include "suites/stepper_suite.hpp"

namespace saltus::suite {

class StiffSuite : public ::testing::TestWithParam<StepperCase> {};

}  // namespace saltus::suite
