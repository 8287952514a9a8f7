// The whole way from text to model, with limits; `load_modelica` uses the default ones.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

ModelicaModel load(std::string_view text, const std::string& file_name, const LoadOptions& options,
                   const FlattenLimits& limits);

}  // namespace saltus::modelica
