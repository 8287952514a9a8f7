// A model that was read, written again without classes.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include <string>

namespace saltus {

/// The model in Base Modelica, with its experiment as an annotation. Throws ModelError as base_modelica does.
std::string flat_text(const ModelicaModel& model);

}  // namespace saltus
