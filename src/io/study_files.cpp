#include <fmt/format.h>
#include <saltus/io/study_files.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "io/npz_parts.hpp"

namespace saltus {

namespace {

std::vector<StudyArray> chosen_arrays(const StudyResult& result, const std::vector<std::string>& names) {
  if (names.empty()) return result.arrays();
  std::vector<StudyArray> arrays;
  for (const std::string& name : names) arrays.push_back(result.array(name));
  return arrays;
}

/// Names with commas or quotes stand in quotes.
std::string csv_name(const std::string& name) {
  if (name.find_first_of(",\"\n") == std::string::npos) return name;
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace

void write_study_csv(std::ostream& out, const StudyResult& result, const std::vector<std::string>& names) {
  const std::vector<StudyArray> arrays = chosen_arrays(result, names);
  std::string line = "member";
  for (const StudyArray& array : arrays)
    for (std::int64_t k = 0; k < array.numbers(); ++k)
      line += "," + csv_name(array.width == 0 ? array.name : fmt::format("{}[{}]", array.name, k + 1));
  out << line << '\n';
  for (std::int64_t block = 0; block < result.blocks(); ++block) {
    std::vector<std::vector<double>> columns;
    for (const StudyArray& array : arrays) columns.push_back(result.block_values(array.name, block));
    const std::size_t count = columns.front().size() / static_cast<std::size_t>(arrays.front().numbers());
    for (std::size_t member = 0; member < count; ++member) {
      line = fmt::format("{}", block * result.block_size() + static_cast<std::int64_t>(member));
      for (std::size_t a = 0; a < arrays.size(); ++a) {
        const auto width = static_cast<std::size_t>(arrays[a].numbers());
        for (std::size_t k = 0; k < width; ++k) {
          const double value = columns[a][member * width + k];
          line += ',';
          if (std::isfinite(value)) fmt::format_to(std::back_inserter(line), "{}", value);
        }
      }
      out << line << '\n';
    }
  }
}

void write_study_npz(std::ostream& out, const StudyResult& result, const std::vector<std::string>& names) {
  ZipWriter zip(out);
  for (const StudyArray& array : chosen_arrays(result, names)) {
    const bool whole = array.type != StudyArray::Type::real;
    std::string bytes = array_header(whole ? "<i8" : "<f8", static_cast<std::size_t>(result.members()),
                                     static_cast<std::size_t>(array.width));
    for (std::int64_t block = 0; block < result.blocks(); ++block)
      for (const double value : result.block_values(array.name, block))
        put_word(bytes, whole ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value))
                              : std::bit_cast<std::uint64_t>(value));
    zip.add(array.name + ".npy", bytes);
  }
  zip.finish();
}

}  // namespace saltus
