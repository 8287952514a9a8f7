// Why an FMU cannot be run.
#pragma once

#include <saltus/base/error.hpp>

#include <string>

#include "fmi/fmu_description.hpp"

namespace saltus {

/// Why an FMU cannot be run, and what to ask for; "" if it can.
std::string import_problem(const FmuDescription& about);

/// Throws what a function throws, with the name of the file in front.
template <class Function>
auto with_file(const std::string& file, Function&& function) {
  try {
    return function();
  } catch (const Error& problem) {
    throw UsageError(file + ": " + problem.what());
  }
}

}  // namespace saltus
