#include "cli/study_spec.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <regex>

#include "cli/load_options.hpp"

namespace saltus::cli {

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  return first == std::string_view::npos ? "" : std::string(text.substr(first, last - first + 1));
}

/// Parts between separators outside of brackets, parentheses, braces and quotes.
std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0)
      quote = c == quote ? '\0' : quote;
    else if (c == '\'' || c == '"')
      quote = c;
    else
      depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (c == separator && quote == 0 && depth <= 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  for (std::string& part : parts) part = trimmed(part);
  return parts;
}

double number(const std::string& name, const std::string& text, const char* option) {
  return parse_setting(name + "=" + text, option).second;
}

std::optional<std::int64_t> count_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 1.0) || value > 1e15 || value != std::floor(value)) return {};
  return static_cast<std::int64_t>(value);
}

std::optional<Collect> find_collect(const std::string& name) {
  for (const Collect what : {Collect::final_value, Collect::sample, Collect::minimum, Collect::maximum, Collect::mean,
                             Collect::count, Collect::first, Collect::period})
    if (to_string(what) == name) return what;
  return {};
}

}  // namespace

std::vector<std::string> split_list(const std::string& text) {
  return split_at(text, ',');
}

std::int64_t parse_count(const std::string& text, const char* option) {
  if (const auto count = count_of(text)) return *count;
  throw UsageError(fmt::format("{} wants a whole number, at least 1, for example 1000 or 1e6; got '{}'", option, text));
}

Axis parse_axis(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError(
        "--over wants NAME=FROM:TO:COUNT, NAME=log:FROM:TO:COUNT or NAME=A,B,C, for example --over "
        "omega=0.6:1.6:1000; got '" +
        text + "'");
  };
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse();
  Axis axis{.name = trimmed(text.substr(0, equals))};
  std::vector<std::string> parts = split_at(text.substr(equals + 1), ':');
  if (parts.size() == 1) {
    axis.spacing = Spacing::list;
    for (const std::string& part : split_list(parts.front())) axis.values.push_back(number(axis.name, part, "--over"));
    return axis;
  }
  if (parts.front() == "log") {
    axis.spacing = Spacing::logarithmic;
    parts.erase(parts.begin());
  }
  if (parts.size() != 3 || !count_of(parts[2])) refuse();
  axis.from = number(axis.name, parts[0], "--over");
  axis.to = number(axis.name, parts[1], "--over");
  axis.count = *count_of(parts[2]);
  return axis;
}

RandomValue parse_random(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError("--random wants NAME~uniform(A,B), NAME~loguniform(A,B) or NAME~normal(MEAN,DEVIATION); got '" +
                     text + "'");
  };
  const auto tilde = text.find('~'), open = text.find('(', tilde == std::string::npos ? 0 : tilde);
  if (tilde == std::string::npos || tilde == 0 || open == std::string::npos || !text.ends_with(")")) refuse();
  RandomValue value{.name = trimmed(text.substr(0, tilde))};
  const std::string kind = trimmed(text.substr(tilde + 1, open - tilde - 1));
  if (kind == "uniform")
    value.distribution = Distribution::uniform;
  else if (kind == "loguniform")
    value.distribution = Distribution::log_uniform;
  else if (kind == "normal")
    value.distribution = Distribution::normal;
  else
    refuse();
  const std::vector<std::string> numbers = split_list(text.substr(open + 1, text.size() - open - 2));
  if (numbers.size() != 2) refuse();
  value.a = number(value.name, numbers[0], "--random");
  value.b = number(value.name, numbers[1], "--random");
  return value;
}

MemberTable read_table(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError("--table: cannot read '" + file + "'");
  MemberTable table;
  std::string line;
  std::getline(in, line);
  for (std::string name : split_list(line)) {
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
    table.names.push_back(name);
  }
  if (table.names.size() == 1 && table.names.front().empty())
    throw UsageError("--table: '" + file + "' is empty; its first line names the columns");
  for (std::size_t number_of_line = 2; std::getline(in, line); ++number_of_line) {
    if (trimmed(line).empty()) continue;
    std::vector<double> row;
    for (const std::string& cell : split_list(line)) {
      char* end = nullptr;
      row.push_back(std::strtod(cell.c_str(), &end));
      if (cell.empty() || *end != '\0' || !std::isfinite(row.back()))
        throw UsageError(fmt::format("--table: '{}' is not a number ({}:{})", cell, file, number_of_line));
    }
    if (row.size() != table.names.size())
      throw UsageError(fmt::format("--table: there are {} numbers, and the first line has {} names ({}:{})", row.size(),
                                   table.names.size(), file, number_of_line));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::pair<std::int64_t, std::int64_t> parse_shard(const std::string& text) {
  const auto slash = text.find('/');
  const std::string part = text.substr(0, slash), whole = slash == std::string::npos ? "" : text.substr(slash + 1);
  const std::int64_t shards = count_of(whole).value_or(0), shard = part == "0" ? 0 : count_of(part).value_or(-1);
  if (shards < 1 || shard < 0 || shard > shards)
    throw UsageError("--shard wants I/N, with I from 0 (or 1) to N, for example 3/8; got '" + text + "'");
  return {shard, shards};
}

DensityPlan parse_reduce(const std::string& text, const std::string& x, const std::string& y) {
  DensityPlan plan{.x = x, .y = y};
  if (text == "density") return plan;
  constexpr std::string_view begin = "density:";
  const bool fits = text.starts_with(begin) && text.find('x') != std::string::npos;
  const std::size_t cross = fits ? text.find('x') : 0;
  const auto is_count = [](const std::string& part) { return part.find_first_not_of("0123456789e") == part.npos; };
  const auto count = [&](const std::string& part) { return is_count(part) ? count_of(part) : std::nullopt; };
  const auto columns = fits ? count(text.substr(begin.size(), cross - begin.size())) : std::nullopt,
             rows = fits ? count(text.substr(cross + 1)) : std::nullopt;
  if (!columns || !rows)
    throw UsageError("--reduce wants density or density:COLUMNSxROWS, for example density:2000x1000; got '" + text +
                     "'");
  plan.columns = *columns;
  plan.rows = *rows;
  return plan;
}

std::string ModelExtension::with_pi(const std::string& expression) const {
  if (model_.data().names.contains("pi")) return expression;
  static const std::regex alone(R"((^|[^\w.'])pi(?![\w.'(]))");
  return std::regex_replace(expression, alone, "$1Modelica.Constants.pi");
}

std::string ModelExtension::value(const std::string& expression) {
  const auto found = model_.data().names.find(expression);
  if (found != model_.data().names.end() && found->second.kind != SymbolKind::parameter) return expression;
  const std::string name = new_name();
  declarations_ += "Real " + name + " = (\n" + with_pi(expression) + "\n);\n";
  return name;
}

std::string ModelExtension::counter(const std::vector<std::string>& conditions) {
  const std::string name = new_name();
  declarations_ += "discrete Real " + name + "(start = 0, fixed = true);\n";
  std::string list;
  for (const std::string& condition : conditions) list += (list.empty() ? "(\n" : ", (\n") + with_pi(condition) + "\n)";
  equations_ += "when {" + list + "} then " + name + " = pre(" + name + ") + 1; end when;\n";
  return name;
}

void ModelExtension::collect(const std::string& text, std::vector<Collector>& collectors) {
  for (const std::string& part : split_list(text)) {
    const auto refuse = [&] {
      throw UsageError(
          "--collect wants final(x), min(x), max(x), mean(x), count(condition), first(condition), sample(x) "
          "or period(x), each with a name in front if you like: vmax=max(abs(v)); got '" +
          part + "'");
    };
    const auto open = part.find('(');
    if (open == std::string::npos || !part.ends_with(")")) refuse();
    std::string name, what = part.substr(0, open);
    if (const auto equals = what.find('='); equals != std::string::npos) {
      name = trimmed(what.substr(0, equals));
      what = what.substr(equals + 1);
    }
    const std::string argument = trimmed(part.substr(open + 1, part.size() - open - 2));
    const auto kind = find_collect(trimmed(what));
    if (!kind || argument.empty()) refuse();
    const bool counts = *kind == Collect::count || *kind == Collect::first;
    if (name.empty()) name = result_name({*kind, argument});
    collectors.push_back({*kind, counts ? counter({argument}) : value(argument), name});
  }
}

std::string ModelExtension::text() const {
  return declarations_ + (equations_.empty() ? "" : "equation\n" + equations_);
}

}  // namespace saltus::cli
