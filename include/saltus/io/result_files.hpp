// Results as files: CSV for spreadsheets, JSON for programs, MAT for Modelica tools, npz for numpy.
#pragma once

#include <saltus/hybrid/trajectory.hpp>
#include <saltus/io/result_table.hpp>

#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// Which variables go into a table, by name; empty means all. Unknown names throw UsageError with the nearest name.
std::vector<std::size_t> select_variables(const Trajectory& run, const std::vector<std::string>& names);

/// What stands above the values of a CSV file.
enum class CsvHeader {
  names,     ///< a line "time,a,b"
  described  ///< before it two lines that begin with "#", with the units and the descriptions of the columns
};
/// The lines of a CSV file one by one, for tables that are not held in memory.
class CsvWriter {
 public:
  /// Writes what stands above the values; those of the columns do not count.
  CsvWriter(std::ostream& out, const std::vector<ResultTable::Column>& columns, CsvHeader header = CsvHeader::names);
  void add(double t, std::span<const double> values);

 private:
  std::ostream& out_;
  std::string line_;
};
/// One line per time; at an event two, before and after. Numbers read back exactly; a value that is no number is empty.
void write_csv(std::ostream& out, const ResultTable& table, CsvHeader header = CsvHeader::names);
/// The same for `intervals` equal intervals and the events between.
void write_csv(std::ostream& out, const Trajectory& run, int intervals, const std::vector<std::string>& names = {});

/// Derivatives of a run, as files have them; <saltus/io/sensitivity_files.hpp> takes them from a run.
struct SensitivityRecord {
  struct Event {
    std::vector<double> dt;                       ///< of its time by each parameter; empty where there is none
    std::string smoothness;                       ///< "smooth", "one_sided" or "undefined"
    std::string text;                             ///< why there is no derivative, or what to think of it
    std::vector<std::string> dt_smoothness = {};  ///< of dt; empty where dt is
  };
  std::vector<std::string> parameters;
  double end = 0.0;                        ///< up to this time there are derivatives
  std::string why;                         ///< why they end before the run does; "" if they do not
  std::vector<std::vector<double>> final;  ///< by each parameter: of the final values of all variables; empty with why
  std::vector<Event> events;               ///< up to the one at which the derivatives end
  /// Of `final`, likewise; a value that is undefined is not a number.
  std::vector<std::vector<std::string>> final_smoothness = {};
  std::vector<std::string> remarks = {};  ///< by parameter: why derivatives are one-sided; "" if they are not
};

struct JsonOptions {
  std::string model;                                 ///< name of the model
  std::vector<VariableInfo> parameters = {};         ///< as they were in the run: `start` is the value
  const ResultTable* trajectories = nullptr;         ///< values over time to be included; null: none
  const SensitivityRecord* sensitivities = nullptr;  ///< derivatives of this run to be included; null: none
  HybridSystem* system = nullptr;                    ///< that ran, for impulses at events; null: they are left out
  std::vector<std::string> arguments = {};           ///< of `saltus run`, to repeat the run; empty: not known
};
/// The contract is docs/reference/json.md: keys are added, never renamed or removed. Numbers read back exactly; values
/// that are not finite are null.
void write_json(std::ostream& out, const Trajectory& run, const JsonOptions& options);

/// The result file that Modelica tools write and read: a MAT-file of version 4 with the matrices name, description,
/// dataInfo, data_1 (parameters) and data_2 (variables). Units and types stand in brackets behind the descriptions.
/// `start` of a parameter is its value. Throws UsageError for results beyond 2 GB.
void write_mat(std::ostream& out, const ResultTable& table, const std::vector<VariableInfo>& parameters = {});

/// For numpy.load: an array `time`, one for each variable under its name, and as lists of texts `$names`, `$units`,
/// `$descriptions`, `$types`, `$causalities`; the same for parameters: `$parameters` (their names), `$parameter_units`,
/// `$parameter_descriptions`, `$parameter_types`, with the numbers `$parameter_values`. `start` of a parameter is its
/// value. Throws UsageError for results beyond 4 GB.
void write_npz(std::ostream& out, const ResultTable& table, const std::vector<VariableInfo>& parameters = {});

}  // namespace saltus
