// saltus run --sensitivities: derivatives of the run, as tables and as columns of files.
#pragma once

#include <saltus/io/result_table.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <cstddef>
#include <ostream>

namespace saltus::cli {

/// Derivatives of the times of the events, at most `limit` of them, and of the final values.
void print_sensitivities(std::ostream& out, const SensitivityRun& run, std::size_t limit);
/// Adds columns "d(x)/d(p)" behind those of the variables, if there are derivatives to the end of the run.
void add_sensitivities(ResultTable& table, const SensitivityRun& run);

}  // namespace saltus::cli
