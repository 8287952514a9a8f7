#include "cli/programme_text.hpp"

#include <fmt/format.h>
#include <saltus/io/input_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/free_value.hpp"
#include "cli/functional_text.hpp"
#include "cli/load_options.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

std::string without_spaces_around(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::pair<std::string, std::string> split_name(const std::string& text, const std::string& option,
                                               const std::string& example) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("{} wants NAME=…, for example {} {}; got '{}'", option, option, example, text));
  return {without_spaces_around(text.substr(0, equals)), without_spaces_around(text.substr(equals + 1))};
}

std::vector<std::string> split_at_colons(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

double bound_number(const std::string& name, const std::string& text, const std::string& option) {
  return parse_setting(name + "=" + text, option).second;
}

/// A condition: bounds and what lies between them.
struct WrittenCondition {
  std::string value;
  double lower = -unbounded, upper = unbounded;
};

struct Relation {
  std::size_t at, length;
  char kind;  // '<', '>' or '='
};

/// Relations outside of parentheses and quotes.
std::vector<Relation> relations_in(const std::string& text) {
  std::vector<Relation> result;
  int depth = 0;
  char quote = 0;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (quote != 0) {
      quote = c == quote ? '\0' : quote;
      continue;
    }
    if (c == '\'' || c == '"') quote = c;
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    if (depth != 0 || (c != '<' && c != '>' && c != '=')) continue;
    const bool two = k + 1 < text.size() && text[k + 1] == '=';
    result.push_back({k, two ? std::size_t{2} : std::size_t{1}, c});
    k += two;
  }
  return result;
}

std::optional<double> plain_number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// "x = 1", "x <= 2", "0 <= x <= 1", "x <= y".
WrittenCondition parse_condition(const std::string& text, const std::string& option) {
  const auto refuse = [&]() -> WrittenCondition {
    throw UsageError(
        fmt::format("{0} wants a condition, for example {0} 'x = 1', {0} 'x <= 2' or {0} '0 <= x <= 1'; "
                    "got '{1}'",
                    option, text));
  };
  const std::vector<Relation> relations = relations_in(text);
  if (relations.empty() || relations.size() > 2) return refuse();
  std::vector<std::string> sides;
  std::size_t from = 0;
  for (const Relation& r : relations) {
    sides.push_back(without_spaces_around(text.substr(from, r.at - from)));
    from = r.at + r.length;
  }
  sides.push_back(without_spaces_around(text.substr(from)));
  if (std::ranges::any_of(sides, &std::string::empty)) return refuse();
  WrittenCondition result;
  const auto apply = [&](char kind, double number, bool number_is_left) {
    if (kind == '=') {
      result.lower = result.upper = number;
    } else if ((kind == '<') == number_is_left) {
      result.lower = std::max(result.lower, number);
    } else {
      result.upper = std::min(result.upper, number);
    }
  };
  if (relations.size() == 2) {
    const auto first = plain_number(sides[0]), last = plain_number(sides[2]);
    if (!first || !last || relations[0].kind != relations[1].kind || relations[0].kind == '=') return refuse();
    result.value = sides[1];
    apply(relations[0].kind, *first, true);
    apply(relations[1].kind, *last, false);
    return result;
  }
  const auto left = plain_number(sides[0]), right = plain_number(sides[1]);
  if (left && right) return refuse();
  result.value = left ? sides[1] : right ? sides[0] : fmt::format("({}) - ({})", sides[0], sides[1]);
  apply(relations[0].kind, left.value_or(right.value_or(0.0)), left.has_value());
  return result;
}

}  // namespace

void WrittenProgramme::read(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw UsageError("--programme: cannot read '" + file + "'");
  const nlohmann::json document = nlohmann::json::parse(in, nullptr, false);
  if (!document.is_object())
    throw UsageError("--programme: '" + file +
                     "' is no JSON object like {\"control\": [\"u=20\"], \"minimise\": \"…\"}");
  const std::vector<std::pair<std::string, std::vector<std::string>*>> lists{
      {"control", &controls}, {"bounds", &bounds}, {"guess", &guesses},
      {"over", &over},        {"end", &end},       {"path", &path}};
  for (const auto& [key, value] : document.items()) {
    const auto list = std::ranges::find(lists, key, [](const auto& l) -> const std::string& { return l.first; });
    std::string* single = key == "minimise" ? &minimise : key == "free-stop" ? &free_stop : nullptr;
    if (single != nullptr && value.is_string()) {
      *single = value.get<std::string>();
      continue;
    }
    const bool strings =
        value.is_array() && std::ranges::all_of(value, [](const nlohmann::json& v) { return v.is_string(); });
    if (list == lists.end() || !(value.is_string() || strings))
      throw UsageError(
          fmt::format("--programme: '{}' has '{}', which is none of the texts of control, bounds, guess, "
                      "over, end, path (lists), minimise and free-stop",
                      file, key));
    if (value.is_string())
      list->second->push_back(value.get<std::string>());
    else
      for (const nlohmann::json& v : value) list->second->push_back(v.get<std::string>());
  }
}

ProgrammeText::ProgrammeText(const WrittenProgramme& written, ModelExtension& extension) {
  for (const std::string& text : written.controls) add_control(text);
  for (const std::string& text : written.over) {
    const WrittenValue v = parse_free_value(text, "--over");
    programme_.parameters.push_back({.name = v.name, .guess = v.guess, .lower = v.lower, .upper = v.upper});
  }
  if (!written.free_stop.empty()) {
    const std::vector<std::string> parts = split_at_colons(written.free_stop);
    if (parts.size() != 2 && parts.size() != 3)
      throw UsageError("--free-stop wants LOWER:UPPER or GUESS:LOWER:UPPER, for example --free-stop 1:20; got '" +
                       written.free_stop + "'");
    FreeValue stop;
    if (parts.size() == 3) stop.guess = bound_number("stop", parts[0], "--free-stop");
    stop.lower = bound_number("stop", parts[parts.size() - 2], "--free-stop");
    stop.upper = bound_number("stop", parts[parts.size() - 1], "--free-stop");
    programme_.stop = stop;
  }
  for (const std::string& text : written.bounds) add_bounds(text);
  for (const std::string& text : written.guesses) add_guess(text);
  if (written.minimise.empty())
    throw UsageError("say what is to be minimised: --minimise 'integral(u^2)', --minimise x, --minimise time");
  programme_.minimise = parse_value(written.minimise, "--minimise", extension);
  for (const std::string& text : written.end) add_end(text, extension);
  for (const std::string& text : written.path) add_path(text, extension);
}

/// "u=20", "u=0:2:20", "u=20:linear", "u=3:free:held".
void ProgrammeText::add_control(const std::string& text) {
  const auto refuse = [&] {
    throw UsageError(
        "--control wants INPUT=INTERVALS or INPUT=START:STOP:INTERVALS, and :linear, :free (lengths) or "
        ":held (values) behind it, for example --control u=20 or u=0:2:20:linear; got '" +
        text + "'");
  };
  const auto [name, rest] = split_name(text, "--control", "u=20");
  std::vector<std::string> parts = split_at_colons(rest);
  Control control{.input = name};
  for (; !parts.empty(); parts.pop_back()) {
    if (parts.back() == "linear")
      control.curve = ControlCurve::linear;
    else if (parts.back() == "free")
      control.free_lengths = true;
    else if (parts.back() == "held")
      control.fixed_values = true;
    else if (parts.back() != "constant")
      break;
  }
  if (parts.size() != 1 && parts.size() != 3) refuse();
  control.intervals = static_cast<int>(std::min<std::int64_t>(parse_count(parts.back(), "--control"), 100'000));
  if (parts.size() == 3) {
    const double start = bound_number(name, parts[0], "--control"), stop = bound_number(name, parts[1], "--control");
    if (!std::isnan(stop_) && (stop != stop_ || start != start_))
      throw UsageError("--control: all controls begin and end with the run; '" + text + "' names other times");
    start_ = start;
    stop_ = stop;
  }
  programme_.controls.push_back(control);
}

Control& ProgrammeText::control(const std::string& name, const std::string& option) {
  const auto found = std::ranges::find(programme_.controls, name, &Control::input);
  if (found == programme_.controls.end())
    throw UsageError(fmt::format("{}: '{}' is no control; name it with --control first", option, name));
  return *found;
}

void ProgrammeText::add_bounds(const std::string& text) {
  const auto [name, rest] = split_name(text, "--bounds", "u=-5:5");
  const std::vector<std::string> parts = split_at_colons(rest);
  if (parts.size() != 2) throw UsageError("--bounds wants INPUT=LOWER:UPPER, for example u=-5:5; got '" + text + "'");
  Control& of = control(name, "--bounds");
  if (!parts[0].empty()) of.lower = bound_number(name, parts[0], "--bounds");
  if (!parts[1].empty()) of.upper = bound_number(name, parts[1], "--bounds");
}

void ProgrammeText::add_guess(const std::string& text) {
  const auto [name, rest] = split_name(text, "--guess", "u=0 or u=0,1,0");
  Control& of = control(name, "--guess");
  of.guess.clear();
  for (const std::string& part : split_list(rest)) of.guess.push_back(bound_number(name, part, "--guess"));
}

void ProgrammeText::add_end(const std::string& text, ModelExtension& extension) {
  const WrittenCondition c = parse_condition(text, "--end");
  programme_.end.push_back(
      {.value = parse_value(c.value, "--end", extension), .lower = c.lower, .upper = c.upper, .label = text});
}

void ProgrammeText::add_path(const std::string& text, ModelExtension& extension) {
  const WrittenCondition c = parse_condition(text, "--path");
  if (c.lower == c.upper)
    throw UsageError("--path: an equation for all times is an equation of the model, no condition; got '" + text + "'");
  path_variables_.push_back(extension.value(c.value));
  programme_.path.push_back({.lower = c.lower, .upper = c.upper, .label = text});
}

Programme ProgrammeText::programme(const Model& model) const {
  Programme result = programme_;
  for (std::size_t k = 0; k < path_variables_.size(); ++k) result.path[k].value = model.symbol(path_variables_[k]);
  return result;
}

}  // namespace saltus::cli
