// Where the panels of a plot over time lie, and what there is room for.
#pragma once

#include <saltus/io/plot.hpp>

#include <string>
#include <vector>

#include "io/plot_panels.hpp"

namespace saltus {

/// Lengths are pixels. The size of letters decides about margins; panels share what is left of the picture. Where that
/// is too little, the letters become smaller.
struct PlotLayout {
  int width, height;
  double letter;                ///< height of letters
  double points, small_points;  ///< sizes of letters, of those in boxes, as the kind of file wants them
  double scale;                 ///< of margins and ticks: 1 for letters of usual size
  double left, right;           ///< ends of the panels
  double above;                 ///< room above the panels
  bool key_above;               ///< keys stand above their panels, since there is no room beside them
  struct Panel {
    double key;     ///< room for the key above the panel
    int columns;    ///< of this key
    double height;  ///< of the panel with its ticks of events
    double gap;     ///< below it
  };
  std::vector<Panel> panels;

  /// The width of a text in letters of usual size.
  double width_of(const std::string& text) const;
};

/// Pixels in a point of a file of this kind: gnuplot takes sizes of letters in SVG files as pixels.
double pixels_per_point(const std::string& file);

/// A text of at most so many bytes; what is longer ends with an ellipsis.
std::string shortened(const std::string& text, std::size_t most);
/// The name of a curve in the key; long ones have an ellipsis in the middle.
std::string key_name(const Trajectory& run, const PlotCurve& curve);

/// `marks`: what the key of the first panel explains besides the curves.
PlotLayout plot_layout(const Trajectory& run, const std::vector<PlotPanel>& panels, const PlotSize& size,
                       const std::string& file, const std::vector<std::string>& marks);

/// The distance of marks at an axis such that at most so many lie between the values; 0 if the program that draws may
/// choose, since it never makes more than ten.
double tick_distance(double low, double high, double most);

}  // namespace saltus
