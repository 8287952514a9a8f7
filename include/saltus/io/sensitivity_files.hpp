// Derivatives of a run as they stand in files.
#pragma once

#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>
#include <saltus/sens/adjoint.hpp>
#include <saltus/sens/sensitivities.hpp>

namespace saltus {

/// What write_json takes (JsonOptions::sensitivities).
SensitivityRecord sensitivity_record(const SensitivityRun& run);
/// Adds columns "d(x)/d(p)" after those of the variables; past the end of the derivatives they are no numbers. Where
/// some derivatives by p are one-sided, a column "one_sided(p)" is 1 in their rows, and 0 in others.
void add_sensitivities(ResultTable& table, const SensitivityRun& run);

/// A gradient as a JSON document: status of the run, value, parameters, derivatives, why there are none.
void write_gradient_json(std::ostream& out, const FunctionalGradient& gradient);

}  // namespace saltus
