// Tables in files.
//
//   #1                       the first line of a text file
//   double name(2, 3)        a matrix with its sizes; further ones follow
//     0  1  2                numbers between blanks, commas or semicolons
//     1  4  9   # comment
#include "modelica/flatten/table_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/number_from.hpp"

namespace saltus::modelica {

namespace {

constexpr std::size_t most_numbers = 10'000'000;

class TableReader {
 public:
  TableReader(const TableFile& file, const Location& where) : file_(file), where_(where) {
    std::error_code none;
    if (!std::filesystem::is_regular_file(file.path, none))
      throw Fault{where, "the file of a table, '" + file.path + "', does not exist",
                  "paths begin in the folder in which the program runs"};
    stream_.open(file.path, std::ios::binary);
    if (!stream_) fail("it cannot be read");
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Fault{where_, "the table in '" + file_.path + "'" +
                            (line_ > 0 ? ", line " + std::to_string(line_) : std::string()) + ": " + what};
  }

  bool next_line(std::string& line) {
    if (!std::getline(stream_, line)) return false;
    if (++line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return true;
  }

  double number(std::string_view text) const {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0.0;
    if (number_from(text, value) != std::errc()) fail("'" + std::string(text.substr(0, 40)) + "' is not a number");
    return value;
  }

 private:
  const TableFile& file_;
  Location where_;
  std::ifstream stream_;
  std::size_t line_ = 0;
};

bool has_extension(const std::string& path, std::string_view extension) {
  std::string own = std::filesystem::path(path).extension().string();
  std::transform(own.begin(), own.end(), own.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return own == extension;
}

/// The words of a line between any of the given characters.
std::vector<std::string_view> words(std::string_view line, std::string_view between) {
  std::vector<std::string_view> result;
  for (std::size_t at = line.find_first_not_of(between); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(between, at), line.size());
    result.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(between, end);
  }
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

FileTable read_csv(const TableFile& file, TableReader& reader) {
  if (file.delimiter.size() != 1) reader.fail("the delimiter must be one character");
  FileTable result;
  std::string line;
  for (std::int64_t k = 0; k < file.header_lines; ++k)
    if (!reader.next_line(line)) reader.fail("it ends in its header");
  while (reader.next_line(line)) {
    if (trimmed(line).empty()) continue;
    std::size_t columns = 0;
    for (std::size_t begin = 0; begin <= line.size(); ++columns) {
      const std::size_t end = std::min(line.find(file.delimiter[0], begin), line.size());
      result.values.push_back(reader.number(trimmed(std::string_view(line).substr(begin, end - begin))));
      begin = end + 1;
    }
    if (result.rows > 0 && columns != result.columns)
      reader.fail("it has " + std::to_string(columns) + " columns, but the rows before have " +
                  std::to_string(result.columns));
    result.columns = columns;
    ++result.rows;
    if (result.values.size() > most_numbers) reader.fail("it has more than ten million numbers");
  }
  if (result.rows == 0) reader.fail("it has no rows");
  return result;
}

/// "double name(2, 3)" as name and sizes; false if a line is something else.
bool read_head(std::string_view line, std::string& name, FileTable& table) {
  const auto parts = words(line, " \t(),");
  if (parts.size() != 4 || (parts[0] != "double" && parts[0] != "float") || line.find('(') == std::string_view::npos)
    return false;
  const auto size = [](std::string_view text, std::size_t& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  };
  name = parts[1];
  return size(parts[2], table.rows) && size(parts[3], table.columns);
}

FileTable read_text_table(const TableFile& file, TableReader& reader) {
  std::string line;
  if (!reader.next_line(line) || !trimmed(line).starts_with("#1")) reader.fail("its first line must be '#1'");
  while (reader.next_line(line)) {
    std::string name;
    FileTable table;
    const std::string_view head = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (!read_head(head, name, table) || name != file.table) continue;
    if (table.columns == 0 || table.rows > most_numbers / table.columns)
      reader.fail("the matrix '" + name + "' must have between one and ten million numbers");
    while (table.values.size() < table.rows * table.columns) {
      if (!reader.next_line(line)) reader.fail("the matrix '" + name + "' has too few numbers");
      for (const std::string_view word : words(std::string_view(line).substr(0, line.find('#')), " \t,;"))
        table.values.push_back(reader.number(word));
    }
    if (table.values.size() > table.rows * table.columns) reader.fail("the matrix '" + name + "' has too many numbers");
    return table;
  }
  reader.fail("there is no matrix '" + file.table + "'");
}

}  // namespace

FileTable read_table(const TableFile& file, const Location& where) {
  if (has_extension(file.path, ".mat"))
    throw Fault{where, "tables in MATLAB files are not supported: '" + file.path + "'", "write it as text or CSV"};
  TableReader reader(file, where);
  return has_extension(file.path, ".csv") ? read_csv(file, reader) : read_text_table(file, reader);
}

}  // namespace saltus::modelica
