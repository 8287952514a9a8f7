// The part of the Modelica Standard Library that small models name: constants and types with units.
#pragma once

#include <string_view>

namespace saltus::modelica {

/// Modelica text of `package Modelica`, read behind a user's text that names it.
std::string_view prelude();
/// Modelica text of the enumerations that the language itself defines: StateSelect, AssertionLevel.
std::string_view predefined();
/// True if a name is one of these; they are seen from everywhere.
bool is_predefined(std::string_view name);

}  // namespace saltus::modelica
