#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/fit_files.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <ostream>

#include "io/csv_text.hpp"
#include "io/json_number.hpp"

namespace saltus {

namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

/// Columns of numbers with names, some of them missing.
struct MeasuredTable {
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;

  /// The column "sigma(name)"; empty if there is none.
  std::vector<double> sigma(const std::string& name) const {
    const auto found = std::ranges::find(names, "sigma(" + name + ")");
    return found == names.end() ? std::vector<double>() : columns[static_cast<std::size_t>(found - names.begin())];
  }
  static bool is_sigma(const std::string& name) { return name.starts_with("sigma(") && name.ends_with(")"); }
};

std::optional<double> measured_number(const std::string& field) {
  if (field.empty() || field == "NA" || field == "NaN" || field == "nan") return missing;
  if (field == "true") return 1.0;
  if (field == "false") return 0.0;
  char* behind = nullptr;
  const double value = std::strtod(field.c_str(), &behind);
  if (*behind != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

MeasuredTable read_measured(const std::string& file) {
  const auto fail = [&](const std::string& why) { throw UsageError(fmt::format("the data in '{}': {}", file, why)); };
  std::ifstream in(file, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(file, ignored))
    throw UsageError(fmt::format("the file of data '{}' cannot be opened", file));
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const char separator = csv_separator(text);
  MeasuredTable table;
  std::size_t line = 0;
  for (std::size_t place = 0; place < text.size();) {
    ++line;
    const bool remark = text[place] == '#';
    std::vector<std::string> fields = csv_line(text, place, separator);
    for (std::string& field : fields) field = trimmed(field);
    if (remark || (fields.size() == 1 && fields[0].empty() && table.names.size() != 1)) continue;
    if (table.names.empty()) {
      if (measured_number(fields[0]) && !fields[0].empty())
        fail(fmt::format("line {}: '{}' is a number; the first line must have the names of the columns", line,
                         fields[0]));
      for (std::size_t k = 0; k < fields.size(); ++k)
        if (std::count(fields.begin(), fields.end(), fields[k]) > 1)
          fail(fmt::format("line {}: two columns are called '{}'", line, fields[k]));
      table.names = fields;
      table.columns.resize(fields.size());
      continue;
    }
    if (fields.size() != table.names.size())
      fail(fmt::format("line {}: there are {} fields instead of {}", line, fields.size(), table.names.size()));
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const auto value = measured_number(fields[k]);
      if (!value)
        fail(fmt::format("line {}: '{}' is not a finite number; leave a field empty where a value is missing", line,
                         fields[k]));
      table.columns[k].push_back(*value);
    }
  }
  if (table.names.empty() || table.columns[0].empty()) fail("it has no rows of numbers");
  for (const std::string& name : table.names) {
    if (!MeasuredTable::is_sigma(name)) continue;
    const std::string of = name.substr(6, name.size() - 7);
    if (std::ranges::find(table.names, of) == table.names.end())
      fail(fmt::format("the column '{}' has the standard deviations of '{}', which is not there", name, of));
  }
  return table;
}

}  // namespace

FitData read_fit_data(const std::string& file) {
  const MeasuredTable table = read_measured(file);
  if (table.names.size() < 2)
    throw UsageError(fmt::format("the data in '{}': there is one column; the time and a value are needed", file));
  for (std::size_t i = 0; i < table.columns[0].size(); ++i)
    if (std::isnan(table.columns[0][i]))
      throw UsageError(fmt::format("the data in '{}': the time is missing in row {}", file, i + 1));
  FitData data;
  for (std::size_t k = 1; k < table.names.size(); ++k)
    if (!MeasuredTable::is_sigma(table.names[k]))
      data.series.push_back({.variable = table.names[k],
                             .times = table.columns[0],
                             .values = table.columns[k],
                             .sigma = table.sigma(table.names[k])});
  return data;
}

std::vector<FitEvents> read_fit_events(const std::string& file) {
  const MeasuredTable table = read_measured(file);
  std::vector<FitEvents> result;
  for (std::size_t k = 0; k < table.names.size(); ++k)
    if (!MeasuredTable::is_sigma(table.names[k]))
      result.push_back({.event = table.names[k], .times = table.columns[k], .sigma = table.sigma(table.names[k])});
  return result;
}

void write_fit_json(std::ostream& out, const Fit& fit) {
  Json document;
  document["status"] = to_string(fit.status);
  document["message"] = fit.message;
  document["notes"] = fit.notes;
  auto& parameters = document["parameters"] = Json::array();
  for (const FittedParameter& p : fit.parameters)
    parameters.push_back({{"name", p.name},
                          {"value", p.value},
                          {"error", number_or_null(p.error)},
                          {"lower", number_or_null(p.lower)},
                          {"upper", number_or_null(p.upper)},
                          {"at_bound", p.at_bound},
                          {"undetermined", p.undetermined}});
  auto& correlations = document["correlations"] = Json::array();
  for (int i = 0; i < fit.correlations.rows(); ++i) {
    Json row = Json::array();
    for (int j = 0; j < fit.correlations.columns(); ++j) row.push_back(number_or_null(fit.correlations(i, j)));
    correlations.push_back(std::move(row));
  }
  document["sum_of_squares"] = number_or_null(fit.sum_of_squares);
  document["deviation"] = fit.deviation ? number_or_null(*fit.deviation) : Json();
  document["degrees_of_freedom"] = fit.degrees_of_freedom;
  document["runs"] = fit.runs;
  document["runs_with_derivatives"] = fit.derivatives;
  auto& residuals = document["residuals"] = Json::array();
  for (const FitResidual& r : fit.residuals)
    residuals.push_back(
        {{"label", r.label}, {"t", r.t}, {"measured", r.measured}, {"modelled", r.modelled}, {"weighted", r.weighted}});
  out << document.dump(1) << '\n';
}

}  // namespace saltus
