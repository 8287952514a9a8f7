// Results as files: CSV for spreadsheets, JSON for programs.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// Which variables go into a table, by name; empty means all. Unknown names throw UsageError with the nearest name.
std::vector<std::size_t> select_variables(const Trajectory& run, const std::vector<std::string>& names);

/// A header line "time,a,b" and one line per output time; at an event two lines, before and after. Numbers read back exactly.
void write_csv(std::ostream& out, const Trajectory& run, int intervals, const std::vector<std::string>& names = {});

struct JsonOptions {
  std::string model;                                      ///< name of the model
  std::vector<std::pair<std::string, double>> parameters; ///< as they were in the run
};
/// The contract is docs/reference/json.md: keys are added, never renamed or removed. Numbers read back exactly; values that are not
/// finite are null.
void write_json(std::ostream& out, const Trajectory& run, const JsonOptions& options);

}  // namespace saltus
