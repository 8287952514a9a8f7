#include <fmt/format.h>
#include <fmt/ranges.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/io/input_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <vector>

#include "io/csv_text.hpp"

namespace saltus {

namespace {

struct InputTable {
  std::vector<std::string> names;  // of the columns behind the time; empty: the file has no line of names
  std::vector<double> times;
  std::vector<std::vector<double>> columns;
};

std::optional<double> number_in(const std::string& field) {
  if (field == "true") return 1.0;
  if (field == "false") return 0.0;
  char* behind = nullptr;
  const double value = std::strtod(field.c_str(), &behind);
  if (field.empty() || *behind != '\0') return std::nullopt;
  return value;
}

class InputFile {
 public:
  explicit InputFile(const std::string& file) : file_(file) {
    std::ifstream in(file, std::ios::binary);
    std::error_code ignored;
    if (!in || std::filesystem::is_directory(file, ignored))
      throw UsageError(fmt::format("the file of inputs '{}' cannot be opened", file));
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const char separator = csv_separator(text);
    for (std::size_t place = 0; place < text.size();) {
      ++line_;
      const bool remark = text[place] == '#';
      std::vector<std::string> fields = csv_line(text, place, separator);
      for (std::string& field : fields) field = trimmed(field);
      if (!remark && !(fields.size() == 1 && fields[0].empty())) add(fields);
    }
    if (table_.times.empty()) fail("it has no rows; a row is a time and the values of the inputs");
  }

  const InputTable& table() const { return table_; }
  [[noreturn]] void fail(const std::string& why) const {
    throw UsageError(fmt::format("the file of inputs '{}': {}", file_, why));
  }

 private:
  [[noreturn]] void fail_here(const std::string& why) const { fail(fmt::format("line {}: {}", line_, why)); }

  void add(const std::vector<std::string>& fields) {
    if (table_.columns.empty()) {
      if (fields.size() < 2) fail_here("there is one field; the time and at least one value are needed");
      table_.columns.resize(fields.size() - 1);
      if (!number_in(fields[0])) {
        table_.names.assign(fields.begin() + 1, fields.end());
        return;
      }
    }
    if (fields.size() != table_.columns.size() + 1)
      fail_here(fmt::format("there are {} fields instead of {}", fields.size(), table_.columns.size() + 1));
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const std::optional<double> value = number_in(fields[k]);
      if (!value || !std::isfinite(*value)) fail_here(fmt::format("'{}' is not a finite number", fields[k]));
      if (k == 0 && !table_.times.empty() && *value < table_.times.back())
        fail_here(fmt::format("the time goes back, from {} to {}", table_.times.back(), *value));
      (k == 0 ? table_.times : table_.columns[k - 1]).push_back(*value);
    }
  }

  std::string file_;
  InputTable table_;
  std::size_t line_ = 0;
};

}  // namespace

InputSignal read_input(const std::string& file, const std::string& name, InputSignal::Between between) {
  const InputFile source(file);
  const InputTable& table = source.table();
  const NameTable names(table.names);
  const auto place = names.find(name);
  if (!place && table.columns.size() != 1) {
    const std::string hint = names.hint(name);
    source.fail(fmt::format("it has {} columns beside the time, and none is called '{}'{}", table.columns.size(), name,
                            hint.empty() ? fmt::format("; they are {}", fmt::join(table.names, ", ")) : hint));
  }
  return InputSignal::table(table.times, table.columns[place.value_or(0)], between);
}

std::map<std::string, InputSignal> read_inputs(const std::string& file, const HybridSystem& system,
                                               InputSignal::Between between) {
  const InputFile source(file);
  const InputTable& table = source.table();
  std::map<std::string, InputSignal> result;
  std::string inputs;
  for (const InputInfo& input : system.inputs()) {
    const std::string& name = system.observed()[static_cast<std::size_t>(input.variable)].name;
    inputs += (inputs.empty() ? "" : ", ") + name;
    const auto found = std::ranges::find(table.names, name);
    if (found == table.names.end()) continue;
    const auto place = static_cast<std::size_t>(found - table.names.begin());
    result.emplace(name, InputSignal::table(table.times, table.columns[place], between));
  }
  if (inputs.empty()) source.fail(fmt::format("the model '{}' has no inputs", system.name()));
  if (result.empty()) source.fail(fmt::format("none of its columns is an input of the model, which has {}", inputs));
  return result;
}

}  // namespace saltus
