// Plots by gnuplot, which is called as a program.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <string>
#include <vector>

namespace saltus {

/// Size of a picture and of its letters. Pixels are those of screens (96 per inch); PDF files have the same size on
/// paper.
struct PlotSize {
  int width = 900;
  int height = 0;     ///< 0: by the number of panels
  double font = 0.0;  ///< in points; 0: by the kind of file
};
/// "paper" (a column of a journal), "slide" (16:9, large letters), "wide", or WIDTHxHEIGHT in pixels. Throws UsageError
/// otherwise.
PlotSize parse_plot_size(const std::string& text);

/// Curves of a plot for which no variables were chosen.
inline constexpr std::size_t plot_most_curves = 8;

struct PlotOptions {
  std::vector<std::string> variables = {};  ///< empty: all, at most `plot_most_curves`
  std::string phase_x = {}, phase_y = {};   ///< both given: y over x instead of values over time
  std::string title = {};
  PlotSize size = {};
  /// The system of the run, for the surfaces in phase plots; null: they are not drawn.
  HybridSystem* system = nullptr;
};

/// The gnuplot script that draws the run on its standard output, as the ending of a file says (SVG, PNG, PDF). Over
/// time there is a panel for each unit, with SI prefixes, and rows of boxes for Booleans and small integers; what
/// swings too fast to be seen is a band between its lowest and highest values. Events are dotted lines; many of them
/// are ticks above the panels. Sliding and contact are shaded. Phase plots have arrows, start, end, events, and
/// surfaces that are straight lines in the plane. Throws UsageError for unknown variables and endings.
std::string plot_script(const Trajectory& run, const std::string& file, const PlotOptions& options);

/// Writes what gnuplot draws. Throws UsageError if it is not installed or fails, and if the file cannot be written.
void write_plot(const Trajectory& run, const std::string& file, const PlotOptions& options);

}  // namespace saltus
