// Arrays for numpy: a zip archive without compression (PKWARE APPNOTE 6.3) whose entries are arrays in numpy's format,
// version 1.0.
#include <fmt/format.h>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "io/npz_parts.hpp"

namespace saltus {

namespace {

std::string array_of(const std::vector<double>& numbers) {
  std::string bytes = array_header("<f8", numbers.size());
  bytes.reserve(bytes.size() + 8 * numbers.size());
  for (const double number : numbers) {
    std::uint64_t word;
    std::memcpy(&word, &number, sizeof word);
    put_word(bytes, word);
  }
  return bytes;
}

/// Truth values as numpy's bool, integers and enumerations as 64 bit integers, where all values are such.
std::string array_of(const std::vector<double>& numbers, VariableType type) {
  const bool logical = type == VariableType::boolean;
  const auto fits = [&](double v) {
    return logical ? v == 0.0 || v == 1.0 : v == std::round(v) && std::abs(v) <= 9007199254740992.0;
  };
  if (type == VariableType::real || !std::ranges::all_of(numbers, fits)) return array_of(numbers);
  std::string bytes = array_header(logical ? "|b1" : "<i8", numbers.size());
  for (const double number : numbers)
    if (logical)
      bytes += number != 0.0 ? '\x01' : '\0';
    else
      put_word(bytes, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
  return bytes;
}

/// The characters of a text in UTF-8; bytes that are none become U+FFFD.
std::vector<std::uint32_t> characters(const std::string& text) {
  std::vector<std::uint32_t> result;
  for (std::size_t k = 0; k < text.size();) {
    const auto first = static_cast<unsigned char>(text[k++]);
    int more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 : first >> 3 == 30 ? 3 : -1;
    std::uint32_t character = more < 0 ? 0xFFFD : more == 0 ? first : first & (0x3FU >> more);
    for (; more > 0; --more, ++k) {
      if (k >= text.size() || (static_cast<unsigned char>(text[k]) & 0xC0) != 0x80) {
        character = 0xFFFD;
        break;
      }
      character = character << 6 | (static_cast<unsigned char>(text[k]) & 0x3F);
    }
    result.push_back(character > 0x10FFFF ? 0xFFFD : character);
  }
  return result;
}

std::string array_of(const std::vector<std::string>& texts) {
  std::vector<std::vector<std::uint32_t>> list;
  std::size_t longest = 1;
  for (const auto& text : texts) {
    list.push_back(characters(text));
    longest = std::max(longest, list.back().size());
  }
  std::string bytes = array_header(fmt::format("<U{}", longest), texts.size());
  for (auto& text : list) {
    text.resize(longest, 0);
    for (const std::uint32_t character : text) put_word(bytes, character);
  }
  return bytes;
}

}  // namespace

void write_npz(std::ostream& out, const ResultTable& table, const std::vector<VariableInfo>& parameters) {
  ZipWriter zip(out);
  const auto add = [&](const std::string& name, const std::string& content) { zip.add(name + ".npy", content); };
  struct Texts {
    std::vector<std::string> names, units, descriptions, types, causalities;
    void add(const std::string& name, const VariableDetails& details) {
      names.push_back(name);
      units.push_back(details.unit);
      descriptions.push_back(details.description);
      types.push_back(type_text(details));
      causalities.emplace_back(to_string(details.causality));
    }
  };
  Texts of_variables, of_parameters;
  add("time", array_of(table.time));
  for (const auto& column : table.columns) {
    add(column.name, array_of(column.values, column.details->type));
    of_variables.add(column.name, *column.details);
  }
  std::vector<double> values;
  for (const VariableInfo& parameter : parameters) {
    of_parameters.add(parameter.name, *parameter.details);
    values.push_back(parameter.start);
  }
  add("$names", array_of(of_variables.names));
  add("$units", array_of(of_variables.units));
  add("$descriptions", array_of(of_variables.descriptions));
  add("$types", array_of(of_variables.types));
  add("$causalities", array_of(of_variables.causalities));
  add("$parameters", array_of(of_parameters.names));
  add("$parameter_values", array_of(values));
  add("$parameter_units", array_of(of_parameters.units));
  add("$parameter_descriptions", array_of(of_parameters.descriptions));
  add("$parameter_types", array_of(of_parameters.types));
  zip.finish();
}

}  // namespace saltus
