// ResultTable: a run at chosen times, as result files hold it.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <functional>
#include <span>
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

/// The rows of a table, piece by piece while a run goes on. Behind each piece the run may forget its steps.
class TableRows {
 public:
  /// Values of the chosen variables at a time.
  using Visit = std::function<void(double t, std::span<const double> values)>;

  /// For a run from `start` to `stop`. Throws UsageError for unknown variables.
  TableRows(const std::vector<VariableInfo>& variables, const TableOptions& options, double start, double stop);
  /// The chosen variables, by their positions.
  const std::vector<int>& chosen() const { return chosen_; }
  /// Visits the rows behind those of the last call, up to the present end of the run.
  void read(const Trajectory& run, const Visit& visit);

 private:
  struct Row {
    double t;
    bool before;
    const std::vector<double>* values;  ///< of all variables, where an event has kept them; null: to be read
  };
  std::vector<Row> next_rows(const Trajectory& run);

  std::vector<int> chosen_;
  std::vector<double> grid_;
  bool with_events_;
  double start_, direction_, rounding_;
  std::size_t next_time_ = 0, next_event_ = 0;
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
