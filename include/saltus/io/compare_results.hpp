// Comparison of two results: of two versions, two methods, two tools.
#pragma once

#include <saltus/io/result_table.hpp>

#include <string>
#include <vector>

namespace saltus {

struct CompareOptions {
  double tolerance = 1e-3;                  ///< of values, as a share of the range of the variable in the first result
  double time_tolerance = 1e-4;             ///< of the times of jumps, as a share of the time that the results cover
  std::vector<std::string> variables = {};  ///< empty: all that both results have
};

struct Comparison {
  struct Variable {
    std::string name;
    double difference = 0.0;           ///< the largest, as a share of the range; infinite if a value is not finite
    double t = 0.0;                    ///< where it is
    double first = 0.0, second = 0.0;  ///< the values there
  };
  std::vector<Variable> variables;                   ///< in the order of the first result
  std::vector<std::string> only_first, only_second;  ///< variables that the other result lacks
  double first_end = 0.0, second_end = 0.0;          ///< the last times
  bool same_span = true;                             ///< both results cover the same time

  /// Whether all differences are within the tolerance and the results cover the same time.
  bool same(double tolerance) const;
};

/// Between two rows values are on a straight line; two rows with one time are a jump. Near a jump of either result, a
/// value agrees if the other result takes it, or one beyond it, within the tolerance of time. Differences below 1e-13
/// of the largest value in the same unit are rounding errors and do not count. Throws UsageError for unknown variables,
/// results without rows or common variables, and times that are not in order.
Comparison compare_results(const ResultTable& first, const ResultTable& second, const CompareOptions& options = {});

/// Reads a result by the ending of its name: .csv (also of other programs: the first column is the time), .json (with
/// trajectories), .mat (as Modelica tools write it, version 4), .npz (not compressed). Throws UsageError for files that
/// cannot be read.
ResultTable read_result(const std::string& file);

}  // namespace saltus
