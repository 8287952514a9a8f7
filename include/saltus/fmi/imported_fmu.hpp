// Models of other simulators: FMUs as hybrid systems.
//
//   auto ball = import_fmu("BouncingBall.fmu");
//   Trajectory run = simulate(ball, {.stop = 3});
//
// An FMU is native code that runs with the rights of the user: load only those that you trust.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/modelica/modelica.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

struct ImportOptions {
  /// Values of parameters and start values, by name.
  std::vector<std::pair<std::string, double>> values = {};
  /// Where runs begin and may end, and the tolerance of the FMU's own iterations. Empty: those of the FMU.
  std::optional<double> start = {}, stop = {}, tolerance = {};
  /// Between two communication points of co-simulation. Empty: that of the FMU, else a 500th of its experiment.
  std::optional<double> step = {};
};

/// An FMU of another tool as a hybrid system. One run at a time; its result may be read in other threads meanwhile.
class ImportedFmu : public HybridSystem {
 public:
  /// What the FMU says about itself.
  virtual const Experiment& experiment() const = 0;
  virtual const std::string& description() const = 0;
  /// Parameters with their values; `start` is the value.
  virtual const std::vector<VariableInfo>& parameters() const = 0;
  /// What a user should know: variables that cannot be shown, abilities that are missing.
  virtual const std::vector<std::string>& notes() const = 0;
};

/// Unpacks an FMU into a temporary folder, loads its library, and initialises it. Throws UsageError, with the name of
/// the file, for files that are damaged or no FMUs, for FMUs without a library for this machine, that have clocks, are
/// for scheduled execution alone, or fail. Nothing is left behind then.
///
/// Model exchange, where the FMU has it: event indicators are guards, and time events are exact. At an event the FMU is
/// asked for its new discrete state until nothing changes any more. Where the FMU can save its state, its states on
/// both sides of an indicator are known, so that solutions slide, and all its variables are observed; otherwise only
/// its continuous states and inputs are.
///
/// Co-simulation otherwise: the FMU goes from one communication point to the next, with its own solver. Changes of
/// inputs, and events that an FMU of FMI 3.0 ends its steps at, are communication points. Between them real variables
/// are straight lines, and others keep their values.
std::shared_ptr<ImportedFmu> import_fmu(const std::string& file, const ImportOptions& options = {});

/// What an FMU is, and what Saltus would do with it, in some lines. Loads no library: no code of the FMU runs. Throws
/// UsageError as import_fmu does, but takes FMUs of all kinds.
std::string describe_fmu(const std::string& file);

}  // namespace saltus
