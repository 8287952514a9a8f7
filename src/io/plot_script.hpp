// Pieces of gnuplot scripts that plots over time and phase plots share.
#pragma once

#include <saltus/io/plot.hpp>

#include <array>
#include <string>
#include <vector>

namespace saltus {

/// A colour-blind friendly palette and one dash pattern per curve, so that prints in grey can be read too.
inline constexpr std::array<const char*, 8> plot_colours = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                            "#56B4E9", "#E69F00", "#000000", "#7F7F7F"};
inline constexpr std::array<int, 8> plot_dashes = {1, 2, 4, 5, 3, 6, 7, 8};
inline constexpr const char* plot_event_line = "lc rgb '#444444' lw 1 dt 3";
inline constexpr const char* plot_shading = "#d8d8d8";

/// A text for gnuplot, which neither expands nor executes anything in it: in single quotes. Texts that have some (a
/// doubled one at the beginning would end them) stand in double quotes, with octal numbers for special characters.
std::string plot_text(const std::string& text);

bool on_surfaces(const Trajectory::Segment& segment);
/// What shaded parts are called in the key; empty if there are none.
std::string name_of_shading(const Trajectory& run);
/// "v / m/s".
std::string plot_label(const std::string& name, const std::string& unit);

/// The plot of one variable over another, after the lines that set up the terminal.
std::string phase_plot_script(const Trajectory& run, std::size_t x, std::size_t y, const PlotOptions& options);

}  // namespace saltus
