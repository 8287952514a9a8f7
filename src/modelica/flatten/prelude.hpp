// The part of the Modelica Standard Library that small models name: constants and types with units.
#pragma once

#include <string_view>

namespace saltus::modelica {

/// Modelica text of `package Modelica`, read behind a user's text that names it.
std::string_view prelude();

}  // namespace saltus::modelica
