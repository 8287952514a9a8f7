// Dimensions of units in the International System, for the check of equations.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace saltus::modelica {

/// Exponents of m, kg, s, A, K, mol, cd. Angles have none.
struct Dimension {
  std::array<double, 7> exponent{};

  bool operator==(const Dimension&) const = default;
  Dimension power(double p) const;
  Dimension operator*(const Dimension& other) const;
  bool none() const { return *this == Dimension{}; }
};

/// The dimension of a unit as Modelica writes it ("kg.m/s2", "1", "Ohm", "mm"); nothing if it is empty or not known.
/// Prefixes and factors are left out: "mm" and "m" have one dimension.
std::optional<Dimension> parse_unit(std::string_view text);

/// The same in base units: "m.kg/s2"; "1" without a dimension.
std::string to_string(const Dimension& dimension);

}  // namespace saltus::modelica
