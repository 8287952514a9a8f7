// ResultTable: a run at chosen times, as result files hold it.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace saltus {

struct TableOptions {
  std::vector<std::string> variables = {};  ///< empty: all
  /// So many intervals of equal length and, twice each, the events in between: their values before and after. Unless
  /// `times` is given.
  int intervals = 500;
  /// Values at these times only; at an event what holds after it. Times that the run did not reach are left out.
  std::vector<double> times = {};
};

/// Values over time. Two rows with one time are an event: before and after.
struct ResultTable {
  struct Column {
    std::string name;
    Rare<VariableDetails> details;  ///< unit, description, type, literals
    std::vector<double> values;
  };
  std::vector<double> time;
  std::vector<Column> columns;
};

/// The type of a variable as files have it: "Integer", "enumeration(off, on)".
std::string type_text(const VariableDetails& variable);

/// Throws UsageError for unknown variables.
ResultTable result_table(const Trajectory& run, const TableOptions& options = {});

/// The times of "0:0.1:5": from, step, to (included if the step leads there, up to rounding). Negative steps go down.
/// Throws UsageError for texts of another form, steps that do not lead to the end, and more than 10^8 times.
std::vector<double> parse_times(std::string_view text);

/// So many times of equal distance, both ends included. Throws UsageError below 2.
std::vector<double> equal_times(double from, double to, std::size_t count);

}  // namespace saltus
