// Results of optimise() as files.
#pragma once

#include <saltus/io/plot.hpp>
#include <saltus/optimise/optimise.hpp>

#include <iosfwd>
#include <string>

namespace saltus {

/// A JSON document: status, objective, what was free, controls, conditions, history, tries. Numbers that do not exist
/// are null.
void write_optimum_json(std::ostream& out, const Optimum& optimum);

/// The controls as a table over time that `read_input` and `saltus run --input u=FILE` read: the first column is the
/// time, and a jump has two rows. Throws UsageError if there are no controls.
void write_controls_csv(std::ostream& out, const Optimum& optimum);

/// Controls and variables of the run over time, into a file (SVG, PNG or PDF by its ending). `variables`: beside the
/// controls; empty: those that the run has, as far as there is room. Throws UsageError if there is no run to draw, and
/// as write_plot does.
void write_optimum_plot(const Optimum& optimum, const std::string& file, PlotOptions options);

}  // namespace saltus
