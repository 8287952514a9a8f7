// Derivatives of a run as they stand in files.
#pragma once

#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>
#include <saltus/sens/sensitivities.hpp>

namespace saltus {

/// What write_json takes (JsonOptions::sensitivities).
SensitivityRecord sensitivity_record(const SensitivityRun& run);
/// Adds columns "d(x)/d(p)" after those of the variables; past the end of the derivatives they are no numbers.
void add_sensitivities(ResultTable& table, const SensitivityRun& run);

}  // namespace saltus
