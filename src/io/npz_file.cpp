// Arrays for numpy: a zip archive without compression (PKWARE APPNOTE 6.3) whose entries are arrays in numpy's format,
// version 1.0.
#include <fmt/format.h>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace saltus {

namespace {

template <class Word>
void put(std::string& bytes, Word word) {
  for (std::size_t k = 0; k < sizeof word; ++k)
    bytes += static_cast<char>(static_cast<std::uint64_t>(word) >> (8 * k) & 255);
}

std::uint32_t checksum(const std::string& bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> values{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      values[n] = n;
      for (int bit = 0; bit < 8; ++bit) values[n] = values[n] & 1 ? 0xEDB88320U ^ values[n] >> 1 : values[n] >> 1;
    }
    return values;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char c : bytes) sum = table[(sum ^ static_cast<unsigned char>(c)) & 255] ^ sum >> 8;
  return ~sum;
}

class ZipWriter {
 public:
  explicit ZipWriter(std::ostream& out) : out_(out) {}

  void add(const std::string& name, const std::string& content) {
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (name.size() > 65'000)
      throw UsageError("npz: the name '" + name.substr(0, 40) + "…' is too long for an archive");
    if (content.size() + at_ + 100'000 > limit)
      throw UsageError("npz: more than 4 GB; choose fewer times (--samples) or variables (--vars)");
    std::string common;
    put<std::uint16_t>(common, 20);       // version that is needed
    put<std::uint16_t>(common, 1 << 11);  // names are UTF-8
    put<std::uint16_t>(common, 0);        // stored
    put<std::uint16_t>(common, 0);        // time and date: always the same, so that equal results are equal files
    put<std::uint16_t>(common, 33);
    put(common, checksum(content));
    put(common, static_cast<std::uint32_t>(content.size()));
    put(common, static_cast<std::uint32_t>(content.size()));
    put(common, static_cast<std::uint16_t>(name.size()));
    put<std::uint16_t>(common, 0);  // no more fields
    directory_ += "PK\x01\x02";
    put<std::uint16_t>(directory_, 20);
    directory_ += common;
    put<std::uint16_t>(directory_, 0);
    put<std::uint16_t>(directory_, 0);
    put<std::uint16_t>(directory_, 0);
    put<std::uint32_t>(directory_, 0);
    put(directory_, static_cast<std::uint32_t>(at_));
    directory_ += name;
    ++entries_;
    write("PK\x03\x04" + common + name);
    write(content);
  }

  void finish() {
    if (entries_ > 65'000) throw UsageError("npz: more than 65000 variables; choose some of them (--vars)");
    const auto begin = static_cast<std::uint32_t>(at_);
    write(directory_);
    std::string end = "PK\x05\x06";
    put<std::uint32_t>(end, 0);
    put(end, static_cast<std::uint16_t>(entries_));
    put(end, static_cast<std::uint16_t>(entries_));
    put(end, static_cast<std::uint32_t>(directory_.size()));
    put(end, begin);
    put<std::uint16_t>(end, 0);
    write(end);
  }

 private:
  void write(const std::string& bytes) {
    out_ << bytes;
    at_ += bytes.size();
  }
  std::ostream& out_;
  std::string directory_;
  std::uint64_t at_ = 0;
  std::size_t entries_ = 0;
};

std::string array_header(const std::string& type, std::size_t count) {
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, count);
  constexpr std::size_t before = 10;  // the data begin at a multiple of 64
  text += std::string(63 - (before + text.size()) % 64, ' ') + '\n';
  std::string bytes = "\x93NUMPY";
  bytes += '\x01';
  bytes += '\0';
  put(bytes, static_cast<std::uint16_t>(text.size()));
  return bytes + text;
}

std::string array_of(const std::vector<double>& numbers) {
  std::string bytes = array_header("<f8", numbers.size());
  bytes.reserve(bytes.size() + 8 * numbers.size());
  for (const double number : numbers) {
    std::uint64_t word;
    std::memcpy(&word, &number, sizeof word);
    put(bytes, word);
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
      put(bytes, static_cast<std::uint64_t>(static_cast<std::int64_t>(number)));
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
    for (const std::uint32_t character : text) put(bytes, character);
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
