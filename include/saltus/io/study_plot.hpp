// Pictures of studies by gnuplot: diagrams, sections and basins.
#pragma once

#include <saltus/io/plot.hpp>
#include <saltus/study/run_study.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

struct StudyPlotOptions {
  std::string title = {};
  std::string x_label = {}, y_label = {};  ///< empty: the names of the results
  std::vector<double> lines = {};          ///< vertical lines at these places
  PlotSize size = {};
  std::size_t most_points = 20'000;  ///< more of them become a raster with logarithmic density
};

/// Samples (or numbers) `y` of all members over the result `x`, into a file (SVG or PNG by its ending). Members that
/// failed are left out. Throws UsageError for unknown names and endings, and if gnuplot is not installed or fails.
void write_diagram(const StudyResult& result, const std::string& x, const std::string& y, const std::string& file,
                   const StudyPlotOptions& options = {});

/// The density of a study of which nothing else is kept (StudyOptions::reduce), as a raster. Throws as write_diagram
/// does, and for studies without a density.
void write_density(const StudyResult& result, const std::string& file, const StudyPlotOptions& options = {});

/// Colours over a plan with two axes: whole numbers, each with its colour and a line in the legend, such as
/// `attractor`; other results have a scale of colours. Throws as write_diagram does, and for plans with other than two
/// axes.
void write_map(const StudyResult& result, const std::string& name, const std::string& file,
               const StudyPlotOptions& options = {});

}  // namespace saltus
