// terminalsAndIcons.xml of an FMU: which variables belong to one connector.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include <span>
#include <string>

#include "fmi/exported_model.hpp"

namespace saltus {

/// Terminals for connectors, in FMI 3.0 (section 2.4.9); "" if none of them has variables that the FMU shows.
std::string describe_terminals(std::span<const ConnectorInfo> connectors, const ExportedModel& model);

}  // namespace saltus
