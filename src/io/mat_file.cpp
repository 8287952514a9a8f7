// MAT-files of version 4 with the matrices that Modelica tools write and read: Aclass, name, description, dataInfo,
// data_1, data_2. The layout is "binTrans": matrices are stored with one column for each name and one for each time.
#include <fmt/format.h>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

namespace saltus {

namespace {

/// Least significant byte first on all machines, as the header of the matrices says.
template <class Word, class Number>
void put(std::string& bytes, Number number) {
  Word word;
  static_assert(sizeof word == sizeof number);
  std::memcpy(&word, &number, sizeof word);
  for (std::size_t k = 0; k < sizeof word; ++k) bytes += static_cast<char>(word >> (8 * k) & 255);
}

enum class Content : std::int32_t { doubles = 0, integers = 20, text = 51 };

std::string header(Content content, std::size_t rows, std::size_t columns, const std::string& name) {
  if (rows * columns > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 8)
    throw UsageError(
        "the matrix '" + name +
        "' is too large for a MAT-file of version 4; choose fewer times (--samples) or variables (--vars)");
  std::string bytes;
  for (const auto number : {static_cast<std::int32_t>(content), static_cast<std::int32_t>(rows),
                            static_cast<std::int32_t>(columns), 0, static_cast<std::int32_t>(name.size() + 1)})
    put<std::uint32_t>(bytes, number);
  return bytes + name + '\0';
}

/// Texts as the columns of a matrix of characters, filled up with blanks.
void write_texts(std::ostream& out, const std::string& name, const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const auto& text : texts) longest = std::max(longest, text.size());
  out << header(Content::text, longest, texts.size(), name);
  for (const auto& text : texts) out << text << std::string(longest - text.size(), ' ');
}

void write_class(std::ostream& out) {
  const std::vector<std::string> rows = {"Atrajectory", "1.1", "", "binTrans"};
  out << header(Content::text, rows.size(), rows.front().size(), "Aclass");
  for (std::size_t column = 0; column < rows.front().size(); ++column)
    for (const auto& row : rows) out << (column < row.size() ? row[column] : ' ');
}

/// "height [m]", "on [:#(type=Boolean)]": as Modelica tools write them.
std::string description_text(const VariableDetails& d) {
  const bool whole = d.type == VariableType::integer || d.type == VariableType::enumeration;
  std::string inside = d.unit;
  if (d.type != VariableType::real) inside += whole ? ":#(type=Integer)" : ":#(type=Boolean)";
  if (inside.empty()) return d.description;
  return d.description + (d.description.empty() ? "[" : " [") + inside + "]";
}

}  // namespace

void write_mat(std::ostream& out, const ResultTable& table, const std::vector<VariableInfo>& parameters) {
  std::vector<std::string> names = {"time"}, descriptions = {"[s]"};
  std::string info;
  const auto add_info = [&](std::int32_t matrix, std::size_t row, std::int32_t beyond) {
    for (const auto number : {matrix, static_cast<std::int32_t>(row), 0, beyond}) put<std::uint32_t>(info, number);
  };
  add_info(0, 1, -1);  // in both matrices; not defined outside of them
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    names.push_back(parameters[k].name);
    descriptions.push_back(description_text(*parameters[k].details));
    add_info(1, k + 2, 0);
  }
  for (std::size_t k = 0; k < table.columns.size(); ++k) {
    names.push_back(table.columns[k].name);
    descriptions.push_back(description_text(*table.columns[k].details));
    add_info(2, k + 2, -1);
  }
  write_class(out);
  write_texts(out, "name", names);
  write_texts(out, "description", descriptions);
  out << header(Content::integers, 4, names.size(), "dataInfo") << info;

  out << header(Content::doubles, parameters.size() + 1, 2, "data_1");
  std::string bytes;
  for (const bool last : {false, true}) {
    put<std::uint64_t>(bytes, table.time.empty() ? 0.0 : last ? table.time.back() : table.time.front());
    for (const VariableInfo& parameter : parameters) put<std::uint64_t>(bytes, parameter.start);
  }
  out << bytes << header(Content::doubles, table.columns.size() + 1, table.time.size(), "data_2");
  for (std::size_t n = 0; n < table.time.size(); ++n) {
    bytes.clear();
    put<std::uint64_t>(bytes, table.time[n]);
    for (const auto& column : table.columns) put<std::uint64_t>(bytes, column.values[n]);
    out << bytes;
  }
}

}  // namespace saltus
