// A recorded system with dummy derivatives (System::differentiated).
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <memory>
#include <vector>

namespace saltus {

/// What is differentiated. The values are referred to, and followed, except those that decide the structure.
struct DifferentiatedSource {
  const Structure& structure;
  const RecordedEquations& equations;
  const std::vector<double>&data, &locks;
  const std::vector<char>&fixed_data, &fixed_locks;
  const ProgramOptions& options;
};

std::unique_ptr<System> make_differentiated_system(const DifferentiatedSource& source, const DerivativePlan& plan);

}  // namespace saltus
