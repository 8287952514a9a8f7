#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/io/state_file.hpp>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/checksum.hpp"
#include "base/json_depth.hpp"

namespace saltus {

namespace {

constexpr int current_version = 5;
constexpr const char* format_name = "saltus state";

std::string as_written(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::ordered_json all_numbers(const auto& list) {
  auto result = nlohmann::ordered_json::array();
  for (const auto value : list) {
    const auto number = static_cast<double>(value);
    if (std::isfinite(number))
      result.push_back(number);
    else
      result.push_back(std::isnan(number) ? "nan" : number > 0.0 ? "inf" : "-inf");
  }
  return result;
}

double number_of(const nlohmann::ordered_json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  throw UsageError("'" + text + "' stands where a number is expected");
}

template <class Value>
void read(const nlohmann::ordered_json& list, std::vector<Value>& values) {
  for (const auto& item : list) {
    const double number = number_of(item);
    if constexpr (!std::is_same_v<Value, double>)
      if (!(number == std::round(number) && std::abs(number) <= std::numeric_limits<Value>::max()))
        throw UsageError(fmt::format("{} stands where a whole number is expected", number));
    values.push_back(static_cast<Value>(number));
  }
}

/// Sixty-four bits do not fit into the numbers of JSON.
std::uint64_t bits_of(const nlohmann::ordered_json& value) {
  const auto text = value.get<std::string>();
  std::size_t used = 0;
  const std::uint64_t bits = text.empty() ? 0 : std::stoull(text, &used, 16);
  if (text.empty() || used != text.size())
    throw UsageError("'" + text + "' stands where hexadecimal digits are expected");
  return bits;
}

}  // namespace

void write_state(std::ostream& out, const SimulatorState& state) {
  nlohmann::ordered_json j;
  j["format"] = format_name;
  j["version"] = current_version;
  j["model"] = state.model;
  j["variables"] = fmt::format("{:016x}", state.variables);
  j["origin"] = state.origin;
  j["t"] = state.t;
  const Mode& mode = state.mode;
  auto& m = j["mode"];
  m["automaton"] = mode.automaton;
  m["discrete"] = all_numbers(mode.discrete);
  m["locks"] = all_numbers(mode.locks);
  m["conditions"] = all_numbers(mode.conditions);
  m["sees"] = all_numbers(mode.sees);
  m["sliding"] = all_numbers(mode.sliding);
  m["contacts"] = all_numbers(mode.contacts);
  m["contact_sides"] = all_numbers(mode.contact_sides);
  j["x"] = all_numbers(state.x);
  j["xp"] = all_numbers(state.xp);
  j["step"] = state.step;
  j["as_left"] = fmt::format("{:016x}", state.as_left);
  j["memory"] = all_numbers(state.memory);
  j["checksum"] = checksum(as_written(j));
  out << as_written(j) << '\n';
}

SimulatorState read_state(const std::string& file) try {
  std::ifstream in(file, std::ios::binary);
  if (!in) throw UsageError("cannot be opened");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto j = is_deep_json(text) ? nlohmann::ordered_json() : nlohmann::ordered_json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("format") || j["format"] != format_name)
    throw UsageError("is no saved state of a run; saltus run --save-state writes one");
  if (!j.contains("version") || j["version"] != current_version)
    throw UsageError(fmt::format("is a saved state of another version ({}); this program reads version {}",
                                 j.contains("version") ? j["version"].dump() : "none", current_version));
  const auto sum = j.find("checksum");
  const std::string written = sum != j.end() && sum->is_string() ? sum->get<std::string>() : "";
  j.erase("checksum");
  if (checksum(as_written(j)) != written)
    throw UsageError("is a damaged state: it is not as it was written; states are changed by programs, not by hand");
  SimulatorState state;
  state.model = j.at("model").get<std::string>();
  state.variables = bits_of(j.at("variables"));
  state.origin = number_of(j.at("origin"));
  state.t = number_of(j.at("t"));
  const auto& m = j.at("mode");
  state.mode.automaton = m.at("automaton").get<int>();
  read(m.at("discrete"), state.mode.discrete);
  read(m.at("locks"), state.mode.locks);
  read(m.at("conditions"), state.mode.conditions);
  read(m.at("sees"), state.mode.sees);
  read(m.at("sliding"), state.mode.sliding);
  read(m.at("contacts"), state.mode.contacts);
  read(m.at("contact_sides"), state.mode.contact_sides);
  read(j.at("x"), state.x);
  read(j.at("xp"), state.xp);
  state.step = j.at("step").get<double>();
  state.as_left = bits_of(j.at("as_left"));
  read(j.at("memory"), state.memory);
  return state;
} catch (const nlohmann::ordered_json::exception& problem) {
  throw UsageError(fmt::format("'{}' is a damaged state: {}", file, problem.what()));
} catch (const std::exception& problem) {
  throw UsageError(fmt::format("'{}': {}", file, problem.what()));
}

}  // namespace saltus
