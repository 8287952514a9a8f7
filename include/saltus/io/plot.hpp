// Plots by gnuplot, which is called as a program.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <string>
#include <vector>

namespace saltus {

struct PlotOptions {
  std::vector<std::string> variables = {};  ///< empty: all, at most eight
  std::string phase_x = {}, phase_y = {};   ///< both given: y over x instead of values over time
  std::string title = {};
  int intervals = 2000;
};

/// The gnuplot script that draws the run into a file (SVG, PNG or PDF by its ending). One panel per unit of measurement; events are thin
/// vertical lines (time plots) or dots (phase plots). Throws UsageError for unknown variables and endings.
std::string plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options);

/// Runs gnuplot. Throws UsageError if it is not installed or fails.
void write_plot(const Trajectory& run, const std::string& file, const PlotOptions& options);

}  // namespace saltus
