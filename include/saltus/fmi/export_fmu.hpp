// Models as FMUs: files that other simulators run, with the solver of Saltus inside.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include <string>

namespace saltus {

/// The version of the Functional Mock-up Interface.
enum class FmiVersion { fmi2, fmi3 };

/// Who solves the equations.
enum class FmuKind {
  automatic,       ///< both where the model allows model exchange, else co-simulation
  co_simulation,   ///< the FMU: any model
  model_exchange,  ///< the importing simulator: only models whose modes have no hidden constraints
  both,
};

struct FmuOptions {
  FmiVersion version = FmiVersion::fmi2;
  FmuKind kind = FmuKind::automatic;
  /// The shared library that becomes a part of the FMU. Empty: `fmu_library()`.
  std::string library = {};
};

/// What export_fmu has written.
struct WrittenFmu {
  FmuKind kind = FmuKind::co_simulation;  ///< never `automatic`
  std::string why_not_both = {};          ///< why `automatic` has left out model exchange; "" otherwise
};

/// The shared library that comes with Saltus, saltus_fmu.so: beside the program or the Python module that calls this
/// function, or in lib/saltus of the folder where it is installed. Throws UsageError if it is not there.
std::string fmu_library();

/// Writes a model as an FMU for Linux on the processor of this machine. No compiler is needed. Parameters can be set in
/// the FMU, those that have decided the structure of the model (ModelicaModel::fixed_parameters) excepted.
///
/// For model exchange the default experiment is run once, and all its modes are analysed. Where one of them has hidden
/// constraints, FmuKind::automatic writes an FMU for co-simulation; kinds with model exchange throw UsageError, with
/// the mode. Throws ModelError for models that cannot be written as text (base_modelica), and UsageError if a file
/// cannot be read or written.
WrittenFmu export_fmu(const ModelicaModel& model, const std::string& file, const FmuOptions& options = {});

}  // namespace saltus
