// Cycles and branches of cycles as files and pictures.
#pragma once

#include <saltus/io/plot.hpp>
#include <saltus/sens/continuation.hpp>
#include <saltus/sens/cycle.hpp>

#include <iosfwd>
#include <string>

namespace saltus {

/// A cycle as a JSON document: status, period, start, multipliers. Multipliers are pairs of real and imaginary parts.
void write_cycle_json(std::ostream& out, const Cycle& cycle);

/// A branch as a JSON document: status, points, bifurcations.
void write_branch_json(std::ostream& out, const Branch& branch);
/// The points of a branch as rows: the parameter, the period, whether it is stable, the largest size of a multiplier,
/// and of each variable the value at the begin, the lowest and the highest one.
void write_branch_csv(std::ostream& out, const Branch& branch);

/// Which value of a variable a branch is drawn with.
enum class BranchValue { start, lowest, highest };

struct BranchPlotOptions {
  std::string variable = {};  ///< empty: the first one of the state
  BranchValue value = BranchValue::highest;
  std::string title = {};
  PlotSize size = {};
};

/// A branch over its parameter: stable parts are solid, unstable ones dashed, bifurcations are points with names. Into
/// a file (SVG, PNG or PDF by its ending). Throws UsageError for branches without points, unknown variables and
/// endings, and if gnuplot is not installed or fails.
void write_branch_plot(const Branch& branch, const std::string& file, const BranchPlotOptions& options = {});

}  // namespace saltus
