// Measured data from CSV files, and fits as files and pictures.
#pragma once

#include <saltus/io/plot.hpp>
#include <saltus/sens/fit.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace saltus {

/// Measured values: the first line has names, the first column is the time, every other column is a series with the
/// name of its variable. A column "sigma(x)" has the standard deviations of the column "x". Empty fields, NaN and NA
/// are missing values. Lines that begin with # are left out; fields are separated by commas, or by semicolons. Throws
/// UsageError, with the file and the line, for files that cannot be read and for fields that are no numbers.
FitData read_fit_data(const std::string& file);

/// Measured times of events: a column for each event, whose name is in the first line (see FitEvents::event), with the
/// times of its first, second, … event from top to bottom. A column "sigma(when h < 0)" has standard deviations. Throws
/// UsageError as read_fit_data does.
std::vector<FitEvents> read_fit_events(const std::string& file);

/// A fit as a JSON document: status, parameters with errors and correlations, residuals. Numbers that do not exist are
/// null.
void write_fit_json(std::ostream& out, const Fit& fit);

/// Data as points and the model as curves over time, one panel for each series, into a file (SVG, PNG or PDF by its
/// ending). Measured times of events are dotted lines. Throws UsageError if there is no run to draw, for other endings,
/// and if gnuplot is not installed or fails.
void write_fit_plot(const Fit& fit, const std::string& file, const std::string& title, const PlotSize& size = {});

}  // namespace saltus
