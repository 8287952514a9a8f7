#include <fmt/format.h>
#include <saltus/io/compare_results.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "io/csv_text.hpp"
#include "io/npz_reader.hpp"

namespace saltus {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

[[noreturn]] void fail(const std::string& file, const std::string& why) {
  throw UsageError("'" + file + "': " + why);
}

std::string content_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) fail(file, "cannot be opened");
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) fail(file, "cannot be read");
  return text;
}

ResultTable read_csv(const std::string& file) {
  const std::string text = content_of(file);
  ResultTable table;
  const char separator = csv_separator(text);
  std::size_t line = 0;
  for (std::size_t place = 0; place < text.size();) {
    ++line;
    const bool remark = text[place] == '#';
    const std::vector<std::string> fields = csv_line(text, place, separator);
    if (remark || (fields.size() == 1 && fields[0].empty())) continue;
    if (table.columns.empty()) {
      for (std::size_t k = 1; k < fields.size(); ++k) table.columns.push_back({fields[k], {}, {}});
      if (table.columns.empty()) fail(file, "its first line has no names after the time");
      continue;
    }
    if (fields.size() != table.columns.size() + 1)
      fail(file, fmt::format("line {} has {} fields instead of {}", line, fields.size(), table.columns.size() + 1));
    for (std::size_t k = 0; k < fields.size(); ++k) {
      char* behind = nullptr;
      const double number = std::strtod(fields[k].c_str(), &behind);
      if (fields[k].empty() || *behind != '\0')
        fail(file, fmt::format("line {} has '{}' where a number should be", line, fields[k]));
      (k == 0 ? table.time : table.columns[k - 1].values).push_back(number);
    }
  }
  return table;
}

ResultTable read_json(const std::string& file) {
  const auto document = nlohmann::json::parse(content_of(file), nullptr, false);
  if (document.is_discarded()) fail(file, "is not a JSON file");
  if (!document.is_object() || !document.contains("trajectories"))
    fail(file, "has no values over time; write it with --json FILE --trajectories");
  ResultTable table;
  try {
    const auto numbers = [](const nlohmann::json& list) {
      std::vector<double> values;
      for (const auto& value : list) values.push_back(value.is_null() ? nan : value.get<double>());
      return values;
    };
    table.time = numbers(document["trajectories"].at("time"));
    for (const auto& v : document.at("variables")) {
      const std::string name = v.at("name");
      table.columns.push_back({name,
                               VariableDetails{.unit = v.value("unit", ""), .description = v.value("description", "")},
                               numbers(document["trajectories"].at("values").at(name))});
      if (table.columns.back().values.size() != table.time.size())
        fail(file, "'" + name + "' has another number of values than the time");
    }
  } catch (const nlohmann::json::exception& problem) {
    fail(file, std::string("is not a result: ") + problem.what());
  }
  return table;
}

/// One matrix of a MAT-file of version 4, by columns.
struct MatMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;

  double at(std::size_t row, std::size_t column) const { return values[column * rows + row]; }
  /// A text of a matrix of characters, from a row or a column, without the blanks at its end.
  std::string text(std::size_t k, bool by_column) const {
    std::string result;
    const std::size_t count = by_column ? rows : columns;
    for (std::size_t n = 0; n < count; ++n) {
      const double code = by_column ? at(n, k) : at(k, n);
      result += code >= 0.0 && code <= 255.0 ? static_cast<char>(static_cast<unsigned char>(code)) : '?';
    }
    const auto end = result.find_last_not_of(std::string(" \0", 2));
    return end == std::string::npos ? "" : result.substr(0, end + 1);
  }
};

class MatReader {
 public:
  explicit MatReader(const std::string& file) : file_(file), bytes_(content_of(file)) {
    while (place_ < bytes_.size()) read_matrix();
  }
  const MatMatrix& operator[](const std::string& name) const {
    const auto found = matrices_.find(name);
    if (found == matrices_.end()) fail(file_, "has no matrix '" + name + "': it is no result of a Modelica tool");
    return found->second;
  }
  /// Null: there is none.
  const MatMatrix* find(const std::string& name) const {
    const auto found = matrices_.find(name);
    return found == matrices_.end() ? nullptr : &found->second;
  }

 private:
  template <class Number>
  Number take() {
    static_assert(std::endian::native == std::endian::little, "numbers are taken as they stand in the file");
    if (place_ + sizeof(Number) > bytes_.size()) fail(file_, "ends in the middle of a matrix");
    Number number;
    std::memcpy(&number, bytes_.data() + place_, sizeof number);
    place_ += sizeof number;
    return number;
  }
  double take(int format) {
    switch (format) {
      case 0:
        return take<double>();
      case 1:
        return take<float>();
      case 2:
        return take<std::int32_t>();
      case 3:
        return take<std::int16_t>();
      case 4:
        return take<std::uint16_t>();
      case 5:
        return take<std::uint8_t>();
      default:
        fail(file_, "is not a MAT-file of version 4");
    }
  }
  void read_matrix() {
    const auto type = take<std::int32_t>(), rows = take<std::int32_t>(), columns = take<std::int32_t>(),
               imaginary = take<std::int32_t>(), length = take<std::int32_t>();
    if (type < 0 || type > 999 || rows < 0 || columns < 0 || imaginary != 0 || length < 1 || length > 1000)
      fail(file_, "is not a MAT-file of version 4 as Modelica tools write it");
    std::string name;
    for (int k = 0; k < length; ++k)
      if (const char c = take<char>(); c != '\0') name += c;
    MatMatrix matrix{static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), {}};
    const std::size_t count = matrix.rows * matrix.columns;
    if (count > bytes_.size()) fail(file_, "ends in the middle of the matrix '" + name + "'");
    matrix.values.reserve(count);
    for (std::size_t k = 0; k < count; ++k) matrix.values.push_back(take(type / 10 % 10));
    matrices_[name] = std::move(matrix);
  }

  const std::string& file_;
  std::string bytes_;
  std::size_t place_ = 0;
  std::map<std::string, MatMatrix> matrices_;
};

/// The parts of "height [m]", "phi [rad|deg]" or "on [:#(type=Boolean)]".
VariableDetails details_of(const std::string& text) {
  const std::size_t bracket = text.rfind('[');
  if (bracket == std::string::npos || !text.ends_with(']')) return {.description = text};
  const std::size_t end = text.find_first_of(":|]", bracket);
  return {.unit = text.substr(bracket + 1, end - bracket - 1),
          .description = text.substr(0, bracket > 0 ? bracket - 1 : 0)};
}

ResultTable read_mat(const std::string& file) {
  const MatReader mat(file);
  const MatMatrix& kind = mat["Aclass"];
  const bool transposed = kind.rows >= 4 && kind.text(3, false) == "binTrans";
  const MatMatrix &names = mat["name"], &info = mat["dataInfo"], &data = mat["data_2"];
  const std::size_t count = transposed ? names.columns : names.rows, times = transposed ? data.columns : data.rows;
  const std::size_t width = transposed ? data.rows : data.columns;
  if ((transposed ? info.columns : info.rows) < count || (transposed ? info.rows : info.columns) < 2 || width < 1)
    fail(file, "its matrices do not fit together");
  const MatMatrix* const descriptions = mat.find("description");
  const bool described = descriptions && (transposed ? descriptions->columns : descriptions->rows) >= count;
  ResultTable table;
  const auto entry = [&](std::size_t k, std::size_t n) { return transposed ? info.at(n, k) : info.at(k, n); };
  const auto value = [&](std::size_t column, std::size_t n) {
    return transposed ? data.at(column, n) : data.at(n, column);
  };
  for (std::size_t n = 0; n < times; ++n) table.time.push_back(value(0, n));
  for (std::size_t k = 0; k < count; ++k) {
    const double column = entry(k, 1);                  // negative: the values have the other sign
    if (entry(k, 0) != 2.0 || column == 0.0) continue;  // the time, or a constant
    if (!(std::abs(column) >= 1.0 && std::abs(column) <= static_cast<double>(width)))
      fail(file, "its matrices do not fit together");
    const auto place = static_cast<std::size_t>(std::abs(column)) - 1;
    ResultTable::Column c{names.text(k, transposed), {}, {}};
    if (described) c.details = details_of(descriptions->text(k, transposed));
    for (std::size_t n = 0; n < times; ++n) c.values.push_back(column < 0.0 ? -value(place, n) : value(place, n));
    table.columns.push_back(std::move(c));
  }
  return table;
}

}  // namespace

ResultTable read_result(const std::string& file) {
  if (file.ends_with(".csv")) return read_csv(file);
  if (file.ends_with(".json")) return read_json(file);
  if (file.ends_with(".mat")) return read_mat(file);
  if (file.ends_with(".npz")) return read_npz(file, content_of(file));
  fail(file, "is of unknown kind; results to be compared end in .csv, .json, .mat or .npz");
}

}  // namespace saltus
