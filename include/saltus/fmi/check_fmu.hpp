// What is wrong with an FMU of any tool, and what of it Saltus does not support.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// One remark about an FMU.
struct FmuFinding {
  enum class Severity {
    error,    ///< against the standard, or the FMU cannot be run
    warning,  ///< another tool may refuse it
    note,     ///< not supported, or missing
  };
  Severity severity = Severity::note;
  std::string where;  ///< "ModelVariables: x", "binaries", "run"
  std::string text;
};
/// "error", "warning", "note".
std::string_view to_string(FmuFinding::Severity severity);

struct FmuCheck {
  std::string summary;  ///< what describe_fmu says; "" if the file could not be read so far
  std::vector<FmuFinding> findings;

  bool ok() const;
  /// An object with the members ok, summary (a list of lines) and findings.
  std::string json() const;
};

/// What to do beside reading the description.
struct FmuCheckOptions {
  /// Loads the library and runs the default experiment: then the code of the FMU runs, with the rights of the user.
  bool run = false;
};

/// Compares an FMU with the rules of its version of the standard, in so far as importers rely on them: names, value
/// references, attributes that exclude each other, start values, types and units, the lists of the structure, binaries.
/// Throws UsageError for files that are no FMUs.
FmuCheck check_fmu(const std::string& file, const FmuCheckOptions& options = {});

}  // namespace saltus
