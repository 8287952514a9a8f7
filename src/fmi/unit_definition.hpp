// Units as FMUs define them: exponents of the base units of the International System, a factor and an offset.
#pragma once

#include <optional>
#include <string_view>

namespace saltus {

/// value in base units = factor * value + offset
struct UnitDefinition {
  int kg = 0, m = 0, s = 0, A = 0, K = 0, mol = 0, cd = 0, rad = 0;
  double factor = 1.0, offset = 0.0;
};

/// The definition of a unit as Modelica writes it ("kg.m/s2", "mm", "degC"); nothing for units that are not known or
/// whose exponents are no whole numbers.
std::optional<UnitDefinition> define_unit(std::string_view text);

}  // namespace saltus
