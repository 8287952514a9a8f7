// The text of a flight for devices: tables, and functions made of tapes, in front of device_driver.hpp.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "study/lane_flight.hpp"

namespace saltus {

/// Headers that the text includes: names and contents.
std::vector<std::pair<std::string, std::string>> device_headers();

/// The text. It defines `fly_members`: a kernel for CUDA's run-time compiler, a function for others. Throws UsageError
/// if something in the tapes has no text: functions other than sqrt, exp, log, sin and cos.
std::string device_source(const FlightTask& task);

}  // namespace saltus
