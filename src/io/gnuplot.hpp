// Calls gnuplot.
#pragma once

#include <saltus/io/plot.hpp>

#include <string>

namespace saltus {

/// The line that chooses the kind of file by its ending (.svg, .png, .pdf), with letters of so many points (0: as
/// usual). Throws UsageError for others.
std::string gnuplot_terminal(const std::string& file, int width, int height, double points);
/// Draws a file by a script that draws on the standard output. Throws UsageError if gnuplot is not installed or fails,
/// with what it says, and if the file cannot be written: then it is as it was.
void run_gnuplot(const std::string& script, const std::string& file);

}  // namespace saltus
