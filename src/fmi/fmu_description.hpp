// What modelDescription.xml says about an FMU, for both versions of the standard.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/modelica/modelica.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

/// A scalar variable of an FMU, or an element of an array.
struct DescribedVariable {
  enum class Role { independent, parameter, structural_parameter, calculated_parameter, input, output, local };
  /// The C type by which values are read and written: `real` is Real of FMI 2.0 and Float64, `integer` Integer and
  /// Int32.
  enum class Access {
    real,
    float32,
    int8,
    uint8,
    int16,
    uint16,
    integer,
    uint32,
    int64,
    uint64,
    boolean,
    enumeration,
  };

  VariableInfo info;  ///< name, start, type, unit, bounds, literals
  std::uint32_t reference = 0;
  std::uint32_t element = 0, elements = 1;  ///< its place in an array of this size, in row-major order
  Role role = Role::local;
  Access access = Access::real;
  bool continuous = true;  ///< its variability
  bool has_start = false;
  std::optional<std::size_t> derivative_of = {};  ///< the variable (its place in the list) whose derivative it is
};

struct FmuDescription {
  FmiVersion version = FmiVersion::fmi2;
  std::string model_name, token, description, tool;
  bool model_exchange = false, co_simulation = false, scheduled = false;
  std::string identifier;  ///< of the library for model exchange, or else for co-simulation
  bool saves_states = false, directional_derivatives = false, once_per_process = false, needs_tool = false;
  bool needs_completed_step = false;
  // of co-simulation
  bool event_mode = false;           ///< FMI 3.0: it has event mode
  bool variable_steps = false;       ///< communication steps may differ
  bool interpolates_inputs = false;  ///< FMI 2.0: inputs may move along lines in a step
  Experiment experiment;
  std::vector<DescribedVariable> variables;
  std::vector<std::size_t> states, derivatives;  ///< places in the list, in the order of the state vector
  std::size_t indicators = 0;
  std::vector<std::string> indicator_names;  ///< FMI 3.0; empty in FMI 2.0
  std::vector<std::string> left_out;         ///< variables that cannot be shown: texts and binary values
  std::vector<std::string> clocks;
};

/// Reads the description. Throws UsageError, with what is wrong, for texts that are no XML or no description, for
/// versions that are not known, and for numbers that contradict each other.
FmuDescription read_description(const std::string& xml);

}  // namespace saltus
