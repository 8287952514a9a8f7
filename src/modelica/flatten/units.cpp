#include "modelica/flatten/units.hpp"

#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>

namespace saltus::modelica {
namespace {

struct Named {
  std::string_view name;
  Dimension dimension;
  bool prefix = true;  ///< takes prefixes
};

constexpr std::array<std::string_view, 7> base_names = {"m", "kg", "s", "A", "K", "mol", "cd"};

// In the order of Dimension::exponent: m, kg, s, A, K, mol, cd.
const std::array<Named, 45> units{{
    {"m", {{1}}},
    {"g", {{0, 1}}},
    {"s", {{0, 0, 1}}},
    {"A", {{0, 0, 0, 1}}},
    {"K", {{0, 0, 0, 0, 1}}},
    {"mol", {{0, 0, 0, 0, 0, 1}}},
    {"cd", {{0, 0, 0, 0, 0, 0, 1}}},
    {"Hz", {{0, 0, -1}}},
    {"N", {{1, 1, -2}}},
    {"Pa", {{-1, 1, -2}}},
    {"bar", {{-1, 1, -2}}},
    {"J", {{2, 1, -2}}},
    {"eV", {{2, 1, -2}}},
    {"W", {{2, 1, -3}}},
    {"VA", {{2, 1, -3}}},
    {"var", {{2, 1, -3}}},
    {"C", {{0, 0, 1, 1}}},
    {"V", {{2, 1, -3, -1}}},
    {"F", {{-2, -1, 4, 2}}},
    {"Ohm", {{2, 1, -3, -2}}},
    {"S", {{-2, -1, 3, 2}}},
    {"Wb", {{2, 1, -2, -1}}},
    {"T", {{0, 1, -2, -1}}},
    {"H", {{2, 1, -2, -2}}},
    {"lm", {{0, 0, 0, 0, 0, 0, 1}}},
    {"lx", {{-2, 0, 0, 0, 0, 0, 1}}},
    {"Bq", {{0, 0, -1}}},
    {"Gy", {{2, 0, -2}}},
    {"Sv", {{2, 0, -2}}},
    {"kat", {{0, 0, -1, 0, 0, 1}}},
    {"l", {{3}}},
    {"L", {{3}}},
    {"t", {{0, 1}}},
    {"rad", {}, false},
    {"sr", {}, false},
    {"deg", {}, false},
    {"rev", {}, false},
    {"1", {}, false},
    {"degC", {{0, 0, 0, 0, 1}}, false},
    {"degF", {{0, 0, 0, 0, 1}}, false},
    {"min", {{0, 0, 1}}, false},
    {"h", {{0, 0, 1}}, false},
    {"d", {{0, 0, 1}}, false},
    {"ha", {{2}}, false},
    {"rpm", {{0, 0, -1}}, false},
}};

constexpr std::array<std::string_view, 20> prefixes = {"da", "Y", "Z", "E", "P", "T", "G", "M", "k", "h",
                                                       "d",  "c", "m", "u", "n", "p", "f", "a", "z", "y"};

std::optional<Dimension> find_unit(std::string_view name) {
  const auto exact = std::ranges::find(units, name, &Named::name);
  if (exact != units.end()) return exact->dimension;
  for (const std::string_view prefix : prefixes) {
    if (!name.starts_with(prefix)) continue;
    const auto found = std::ranges::find(units, name.substr(prefix.size()), &Named::name);
    if (found != units.end() && found->prefix) return found->dimension;
  }
  return {};
}

// unit = factor {"." factor} ["/" factor {"." factor}], factor = (name | "(" unit ")") [exponent]
class UnitReader {
 public:
  explicit UnitReader(std::string_view text) : text_(text) {}

  std::optional<Dimension> read() {
    const std::optional<Dimension> result = product(0);
    return result && place_ == text_.size() ? result : std::nullopt;
  }

 private:
  std::optional<Dimension> product(int depth) {
    constexpr int deepest = 20;
    if (depth > deepest) return {};
    std::optional<Dimension> result = factor(depth);
    while (result && place_ < text_.size() && (text_[place_] == '.' || text_[place_] == '/')) {
      const double sign = text_[place_++] == '/' ? -1.0 : 1.0;
      const std::optional<Dimension> next = factor(depth);
      if (!next) return {};
      result = *result * next->power(sign);
    }
    return result;
  }

  std::optional<Dimension> factor(int depth) {
    std::optional<Dimension> result;
    if (place_ < text_.size() && text_[place_] == '(') {
      ++place_;
      result = product(depth + 1);
      if (!result || place_ == text_.size() || text_[place_++] != ')') return {};
    } else if (place_ < text_.size() && text_[place_] == '1') {
      ++place_;
      result = Dimension{};
    } else {
      const std::size_t begin = place_;
      while (place_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[place_]))) ++place_;
      result = find_unit(text_.substr(begin, place_ - begin));
    }
    if (!result) return {};
    return result->power(exponent());
  }

  double exponent() {
    const std::size_t begin = place_;
    const auto digit = [&] { return place_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[place_])); };
    double sign = 1.0, value = 0.0;
    if (place_ < text_.size() && (text_[place_] == '-' || text_[place_] == '+'))
      sign = text_[place_++] == '-' ? -1.0 : 1.0;
    if (!digit()) {
      place_ = begin;
      return 1.0;
    }
    while (digit()) value = 10.0 * value + (text_[place_++] - '0');
    return sign * value;
  }

  std::string_view text_;
  std::size_t place_ = 0;
};

std::string power_text(std::size_t base, double exponent) {
  std::string text(base_names[base]);
  if (exponent == 1.0) return text;
  if (exponent == std::round(exponent)) return text + number_text(exponent);
  std::string digits = std::to_string(exponent);
  digits.erase(digits.find_last_not_of('0') + 1);
  return text + "^" + digits;
}

}  // namespace

Dimension Dimension::power(double p) const {
  Dimension result;
  for (std::size_t k = 0; k < exponent.size(); ++k) result.exponent[k] = exponent[k] == 0.0 ? 0.0 : p * exponent[k];
  return result;
}

Dimension Dimension::operator*(const Dimension& other) const {
  Dimension result;
  for (std::size_t k = 0; k < exponent.size(); ++k) result.exponent[k] = exponent[k] + other.exponent[k];
  return result;
}

std::optional<Dimension> parse_unit(std::string_view text) {
  return text.empty() ? std::nullopt : UnitReader(text).read();
}

std::string to_string(const Dimension& dimension) {
  std::string above, below;
  for (std::size_t k = 0; k < base_names.size(); ++k) {
    const double e = dimension.exponent[k];
    if (e == 0.0) continue;
    std::string& part = e > 0.0 ? above : below;
    part += (part.empty() ? "" : ".") + power_text(k, std::abs(e));
  }
  if (below.empty()) return above.empty() ? "1" : above;
  const bool several = below.find('.') != std::string::npos && below.find('^') == std::string::npos;
  return (above.empty() ? "1" : above) + "/" + (several ? "(" + below + ")" : below);
}

}  // namespace saltus::modelica
