#include "fmi/unit_definition.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numbers>

namespace saltus {

namespace {

struct NamedUnit {
  std::string_view name;
  UnitDefinition unit;
  bool prefix = true;  ///< takes prefixes
};

constexpr double degree = std::numbers::pi / 180.0, turn = 2.0 * std::numbers::pi;

// Exponents in the order kg, m, s, A, K, mol, cd, rad; then factor and offset (SI Brochure, 9th edition, tables 4 and
// 8).
constexpr std::array known_units = std::to_array<NamedUnit>({
    {"m", {0, 1}},
    {"g", {1, 0, 0, 0, 0, 0, 0, 0, 1e-3}},
    {"s", {0, 0, 1}},
    {"A", {0, 0, 0, 1}},
    {"K", {0, 0, 0, 0, 1}},
    {"mol", {0, 0, 0, 0, 0, 1}},
    {"cd", {0, 0, 0, 0, 0, 0, 1}},
    {"rad", {0, 0, 0, 0, 0, 0, 0, 1}, false},
    {"sr", {0, 0, 0, 0, 0, 0, 0, 2}, false},
    {"deg", {0, 0, 0, 0, 0, 0, 0, 1, degree}, false},
    {"rev", {0, 0, 0, 0, 0, 0, 0, 1, turn}, false},
    {"rpm", {0, 0, -1, 0, 0, 0, 0, 1, turn / 60.0}, false},
    {"Hz", {0, 0, -1}},
    {"Bq", {0, 0, -1}},
    {"N", {1, 1, -2}},
    {"Pa", {1, -1, -2}},
    {"bar", {1, -1, -2, 0, 0, 0, 0, 0, 1e5}},
    {"J", {1, 2, -2}},
    {"eV", {1, 2, -2, 0, 0, 0, 0, 0, 1.602176634e-19}},
    {"W", {1, 2, -3}},
    {"VA", {1, 2, -3}},
    {"var", {1, 2, -3}},
    {"C", {0, 0, 1, 1}},
    {"V", {1, 2, -3, -1}},
    {"F", {-1, -2, 4, 2}},
    {"Ohm", {1, 2, -3, -2}},
    {"S", {-1, -2, 3, 2}},
    {"Wb", {1, 2, -2, -1}},
    {"T", {1, 0, -2, -1}},
    {"H", {1, 2, -2, -2}},
    {"lm", {0, 0, 0, 0, 0, 0, 1, 2}},
    {"lx", {0, -2, 0, 0, 0, 0, 1, 2}},
    {"Gy", {0, 2, -2}},
    {"Sv", {0, 2, -2}},
    {"kat", {0, 0, -1, 0, 0, 1}},
    {"l", {0, 3, 0, 0, 0, 0, 0, 0, 1e-3}},
    {"L", {0, 3, 0, 0, 0, 0, 0, 0, 1e-3}},
    {"t", {1, 0, 0, 0, 0, 0, 0, 0, 1e3}},
    {"ha", {0, 2, 0, 0, 0, 0, 0, 0, 1e4}, false},
    {"min", {0, 0, 1, 0, 0, 0, 0, 0, 60.0}, false},
    {"h", {0, 0, 1, 0, 0, 0, 0, 0, 3600.0}, false},
    {"d", {0, 0, 1, 0, 0, 0, 0, 0, 86400.0}, false},
    {"degC", {0, 0, 0, 0, 1, 0, 0, 0, 1.0, 273.15}, false},
    {"degF", {0, 0, 0, 0, 1, 0, 0, 0, 5.0 / 9.0, 459.67 * 5.0 / 9.0}, false},
});

struct Prefix {
  std::string_view name;
  double factor;
};
constexpr std::array known_prefixes = std::to_array<Prefix>({
    {"da", 1e1}, {"Y", 1e24},  {"Z", 1e21},  {"E", 1e18},  {"P", 1e15},  {"T", 1e12},  {"G", 1e9},
    {"M", 1e6},  {"k", 1e3},   {"h", 1e2},   {"d", 1e-1},  {"c", 1e-2},  {"m", 1e-3},  {"u", 1e-6},
    {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}, {"a", 1e-18}, {"z", 1e-21}, {"y", 1e-24},
});

std::optional<UnitDefinition> named_unit(std::string_view name) {
  const auto exact = std::ranges::find(known_units, name, &NamedUnit::name);
  if (exact != known_units.end()) return exact->unit;
  for (const Prefix& prefix : known_prefixes) {
    if (!name.starts_with(prefix.name)) continue;
    const auto found = std::ranges::find(known_units, name.substr(prefix.name.size()), &NamedUnit::name);
    if (found == known_units.end() || !found->prefix) continue;
    UnitDefinition unit = found->unit;
    unit.factor *= prefix.factor;
    return unit;
  }
  return {};
}

/// Multiplies by a power of another unit. Offsets are meaningless in products: differences of temperatures are meant.
void multiply(UnitDefinition& unit, const UnitDefinition& other, int power) {
  constexpr int UnitDefinition::*exponents[] = {&UnitDefinition::kg, &UnitDefinition::m,  &UnitDefinition::s,
                                                &UnitDefinition::A,  &UnitDefinition::K,  &UnitDefinition::mol,
                                                &UnitDefinition::cd, &UnitDefinition::rad};
  for (const auto exponent : exponents) unit.*exponent += power * other.*exponent;
  unit.factor *= std::pow(other.factor, power);
  unit.offset = 0.0;
}

// unit = factor {("." | "/") factor}, factor = (name | "1" | "(" unit ")") [exponent]
class UnitReader {
 public:
  explicit UnitReader(std::string_view text) : text_(text) {}

  std::optional<UnitDefinition> read() {
    const std::optional<UnitDefinition> unit = product(0);
    return unit && place_ == text_.size() ? unit : std::nullopt;
  }

 private:
  std::optional<UnitDefinition> product(int depth) {
    constexpr int deepest = 20;
    std::optional<UnitDefinition> unit = depth > deepest ? std::nullopt : factor(depth);
    while (unit && (at('.') || at('/'))) {
      const int sign = text_[place_++] == '/' ? -1 : 1;
      const std::optional<UnitDefinition> next = factor(depth);
      if (!next) return {};
      multiply(*unit, *next, sign);
    }
    return unit;
  }

  std::optional<UnitDefinition> factor(int depth) {
    std::optional<UnitDefinition> base;
    if (at('(')) {
      ++place_;
      base = product(depth + 1);
      if (!base || !at(')')) return {};
      ++place_;
    } else if (at('1')) {
      ++place_;
      base = UnitDefinition{};
    } else {
      const std::size_t begin = place_;
      while (place_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[place_]))) ++place_;
      base = named_unit(text_.substr(begin, place_ - begin));
    }
    if (!base) return {};
    const std::optional<int> power = exponent();
    if (!power || *power == 1) return base;
    UnitDefinition unit;
    multiply(unit, *base, *power);
    return unit;
  }

  std::optional<int> exponent() {
    const std::size_t begin = place_;
    int sign = 1, value = 0;
    if (at('-') || at('+')) sign = text_[place_++] == '-' ? -1 : 1;
    const std::size_t digits = place_;
    while (place_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[place_])) && value < 1000)
      value = 10 * value + (text_[place_++] - '0');
    if (place_ == digits) {
      place_ = begin;
      return {};
    }
    return sign * value;
  }

  bool at(char c) const { return place_ < text_.size() && text_[place_] == c; }

  std::string_view text_;
  std::size_t place_ = 0;
};

}  // namespace

std::optional<UnitDefinition> define_unit(std::string_view text) {
  return text.empty() ? std::nullopt : UnitReader(text).read();
}

}  // namespace saltus
