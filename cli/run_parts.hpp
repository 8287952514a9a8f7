// What `saltus run` takes from layers that a plain run does without: FMUs and derivatives. The program that ./run
// builds first does not have them.
#pragma once

#include <saltus/hybrid/simulate.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cli/run_subject.hpp"

namespace saltus::cli {

/// A run with derivatives.
class DifferentiatedRun {
 public:
  virtual ~DifferentiatedRun() = default;
  virtual const Trajectory& trajectory() const = 0;
  /// Derivatives of the times of the events, at most `limit` of them, and of the final values.
  virtual void print(std::ostream& out, std::size_t limit) const = 0;
  /// Adds columns "d(x)/d(p)".
  virtual void add_to(ResultTable& table) const = 0;
  virtual SensitivityRecord record() const = 0;
};

/// Null: the program is without.
struct RunParts {
  /// `step`: between two communication points of FMUs for co-simulation.
  RunSubject (*load_fmu)(const ModelOptions& options, const std::optional<double>& stop,
                         const std::optional<double>& step) = nullptr;
  /// `control`: the errors of the derivatives are tested.
  std::unique_ptr<DifferentiatedRun> (*differentiate)(const CompiledModel& model,
                                                      const std::vector<std::string>& parameters,
                                                      const SimulateOptions& options, bool control) = nullptr;
};

/// Those of the whole program.
RunParts all_parts();

}  // namespace saltus::cli
