// The equations of a recorded system with dummy derivatives (System::differentiated).
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

class RecordedCode;

/// What is differentiated. Values that decide the structure become numbers; the others are data of the result.
struct DifferentiatedSource {
  const Structure& structure;
  const RecordedEquations& equations;
  std::span<const double> data, locks;
  const std::vector<char>&fixed_data, &fixed_locks;
  const ProgramOptions& options;
};

/// Its data are those of the original, then its locks.
struct DifferentiatedCode {
  std::shared_ptr<const RecordedCode> code;
  Structure structure;  ///< integrators look after the variables that guards read; the guards themselves stay with the
                        ///< original
};

std::shared_ptr<const DifferentiatedCode> differentiate(const DifferentiatedSource& source, const DerivativePlan& plan);

}  // namespace saltus
