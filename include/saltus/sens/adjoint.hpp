// The gradient of a number that a run gives, by any number of parameters, at a cost that does not grow with them.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/sens/functional.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace saltus {

/// A number that a run gives, and its derivatives.
struct FunctionalGradient {
  double value = 0.0;
  std::vector<std::string> parameters;
  std::vector<double> derivatives;  ///< one per parameter; empty where there are none
  std::string why;                  ///< why there are none (the run failed, for example); "" if there are
  std::int64_t steps = 0;           ///< of the backward integration
  int pieces = 1;                   ///< in how many pieces the run was recorded, see GradientOptions::memory
  Trajectory trajectory;            ///< the run; of one in several pieces, the last of them

  /// Throws UsageError for names that were not asked for, and if there are no derivatives.
  double by(const std::string& parameter) const;
};

struct GradientOptions {
  /// Bytes for the record of the run, roughly. A run that needs more is divided into pieces that each take half of it:
  /// the states between them are kept, and a piece is made again when the way back comes to it. That costs one more
  /// run. Explicit Runge-Kutta methods in explicit modes make the same steps either way; other methods begin anew at
  /// the border of two pieces, and agree within the tolerance.
  std::size_t memory = std::size_t{256} << 20;
};

/// Runs the model and goes backwards through the record of the run. Between events: by the transposed of its steps,
/// where an explicit Runge-Kutta method made them and nothing is integrated; elsewhere by adjoint equations along its
/// dense output, with error control of their own. At an event: by the transposed of what happened there.
///
/// Throws UsageError for names by which a run cannot be differentiated, for expressions with relations or unknown
/// symbols, and for events that the run does not have.
FunctionalGradient gradient(const CompiledModel& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options = {},
                            const GradientOptions& how = {});
/// Compiles the model first.
FunctionalGradient gradient(const Model& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options = {},
                            const GradientOptions& how = {});

}  // namespace saltus
