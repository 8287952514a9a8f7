// What a plot over time shows, before it becomes a script: panels with curves, envelopes and rows of boxes.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

/// A piecewise constant variable with few integer values, as boxes over time.
struct PlotBox {
  double from, to, value;
  bool fast = false;  ///< stands for several values that are too short to be seen
};

struct PlotCurve {
  std::size_t variable;  ///< its column in the result
  std::vector<double> t, y;
  /// Not empty: the variable swings faster than the picture can show. y and upper are then the lowest and highest value
  /// of each of many short intervals.
  std::vector<double> upper = {};
  std::vector<bool> jumps = {};     ///< the line is broken before this point
  std::vector<PlotBox> boxes = {};  ///< not empty: the variable is a row of boxes
  double low = 0.0, high = 0.0;
};

/// Curves that share an axis, or rows of boxes.
struct PlotPanel {
  std::vector<PlotCurve> curves;
  bool rows = false;
  std::string unit;    ///< of the numbers at the axis, prefix included
  double scale = 1.0;  ///< values are multiplied by it
};

/// An SI prefix for a unit so that numbers of this size have one to four digits before the point.
struct SiPrefix {
  std::string unit;    ///< with the prefix
  double scale = 1.0;  ///< from the unit without it
};
/// Units that take no prefix, such as kg or m/s, stay as they are.
SiPrefix si_prefix(const std::string& unit, double size);

/// Panels for the chosen columns. Quantities of different units have panels of their own, and so have quantities
/// without a unit whose sizes differ by more than a hundred. `columns` is how many points the picture can tell apart.
std::vector<PlotPanel> plot_panels(const Trajectory& run, const std::vector<std::size_t>& chosen, std::size_t columns);

/// Points of one curve: smooth between its nodes, at most some for each column of the picture.
PlotCurve plot_curve(const Trajectory& run, std::size_t variable, std::size_t columns);

}  // namespace saltus
