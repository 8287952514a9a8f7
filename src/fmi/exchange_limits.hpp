// Which modes an importer can integrate: those whose states determine all other variables.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/system.hpp>

#include <span>
#include <string>

#include "fmi/exported_model.hpp"

namespace saltus {

/// Why the importer of an FMU cannot integrate a mode with these states (positions); "" if it can. `values` are those
/// of the mode, null for explicit ones.
std::string exchange_problem(const Structure& structure, const CharacteristicValues* values,
                             std::span<const int> states);

/// Runs the default experiment and looks at all modes that it meets: where and why an importer cannot integrate one of
/// them, or why the run fails; "" if all of them can be integrated.
std::string why_not_exchangeable(const ExportedModel& model);

}  // namespace saltus
