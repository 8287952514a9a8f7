#include "study/plan_json.hpp"

#include <saltus/base/error.hpp>
#include <saltus/hybrid/methods.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace saltus {

namespace {

using Json = nlohmann::ordered_json;

/// JSON has no infinity: it is a text there.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0.0 ? "inf" : "-inf";
}
double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = json.get<std::string>();
  const double infinity = std::numeric_limits<double>::infinity();
  return text == "inf" ? infinity : text == "-inf" ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

constexpr std::array<std::string_view, 3> spacings = {"linear", "logarithmic", "list"};
constexpr std::array<std::string_view, 3> distributions = {"uniform", "log_uniform", "normal"};
constexpr std::array<std::string_view, 3> samplings = {"none", "period", "section"};
constexpr std::array<std::string_view, 4> follows = {"none", "up", "down", "both"};
constexpr std::array<std::string_view, 2> paths = {"full", "lanes"};
constexpr std::array<std::string_view, 3> types = {"real", "integer", "byte"};

template <class Enum, std::size_t size>
std::string word(Enum value, const std::array<std::string_view, size>& words) {
  return std::string(words[static_cast<std::size_t>(value)]);
}
template <class Enum, std::size_t size>
Enum meaning(const Json& json, const std::array<std::string_view, size>& words) {
  const std::string text = json.get<std::string>();
  for (std::size_t k = 0; k < size; ++k)
    if (words[k] == text) return static_cast<Enum>(k);
  throw UsageError("'" + text + "' is not known in plans of this version");
}

Json simulate_json(const SimulateOptions& o) {
  Json json;
  json["start"] = number(o.start);
  json["stop"] = number(o.stop);
  json["rtol"] = o.rtol;
  json["rtol_each"] = o.rtol_each;
  json["atol"] = o.atol;
  json["atol_each"] = o.atol_each;
  json["method"] = std::string(to_string(o.method));
  json["mode_methods"] = Json::object();
  for (const auto& [mode, method] : o.mode_methods) json["mode_methods"][mode] = std::string(to_string(method));
  json["max_step"] = number(o.max_step);
  json["initial_step"] = o.initial_step;
  json["max_order"] = o.max_order;
  json["max_steps"] = o.max_steps;
  json["max_mode_changes"] = o.max_mode_changes;
  json["stop_if_non_unique"] = o.stop_if_non_unique;
  json["stop_if_chattering"] = o.stop_if_chattering;
  if (o.max_events != SimulateOptions{}.max_events) json["max_events"] = o.max_events;
  if (o.shortest_interval != 0.0) json["shortest_interval"] = o.shortest_interval;
  return json;
}

Method method_from(const Json& json) {
  const std::string name = json.get<std::string>();
  const auto found = find_method(name);
  if (!found) throw UsageError("there is no method '" + name + "' in this version");
  return *found;
}

SimulateOptions simulate_from(const Json& json) {
  SimulateOptions o;
  o.start = number(json.at("start"));
  o.stop = number(json.at("stop"));
  o.rtol = json.at("rtol").get<double>();
  o.rtol_each = json.at("rtol_each").get<std::vector<double>>();
  o.atol = json.at("atol").get<double>();
  o.atol_each = json.at("atol_each").get<std::vector<double>>();
  o.method = method_from(json.at("method"));
  for (const auto& [mode, method] : json.at("mode_methods").items()) o.mode_methods[mode] = method_from(method);
  o.max_step = number(json.at("max_step"));
  o.initial_step = json.at("initial_step").get<double>();
  o.max_order = json.at("max_order").get<int>();
  o.max_steps = json.at("max_steps").get<std::int64_t>();
  o.max_mode_changes = json.at("max_mode_changes").get<int>();
  o.stop_if_non_unique = json.at("stop_if_non_unique").get<bool>();
  o.stop_if_chattering = json.at("stop_if_chattering").get<bool>();
  o.max_events = json.value("max_events", o.max_events);
  o.shortest_interval = json.value("shortest_interval", o.shortest_interval);
  return o;
}

}  // namespace

Json to_json(const StudyPlan& plan) {
  Json json;
  json["axes"] = Json::array();
  for (const Axis& a : plan.axes) {
    Json axis{{"name", a.name}, {"spacing", word(a.spacing, spacings)}};
    if (a.spacing == Spacing::list)
      axis["values"] = a.values;
    else
      axis.update({{"from", a.from}, {"to", a.to}, {"count", a.count}});
    json["axes"].push_back(axis);
  }
  json["random"] = Json::array();
  for (const RandomValue& r : plan.random)
    json["random"].push_back(
        {{"name", r.name}, {"distribution", word(r.distribution, distributions)}, {"a", r.a}, {"b", r.b}});
  json["draws"] = plan.draws;
  json["seed"] = plan.seed;
  json["table"] = {{"names", plan.table.names}, {"rows", plan.table.rows}};
  json["simulate"] = simulate_json(plan.simulate);
  json["sampling"] = {{"at", word(plan.sampling.at, samplings)},
                      {"period", number(plan.sampling.period)},
                      {"variable", plan.sampling.variable},
                      {"transient", plan.sampling.transient},
                      {"keep", plan.sampling.keep}};
  json["collect_after"] = number(plan.collect_after);
  json["collect"] = Json::array();
  for (const Collector& c : plan.collect)
    json["collect"].push_back(
        {{"what", std::string(to_string(c.what))}, {"variable", c.variable}, {"name", result_name(c)}});
  json["follow"] = word(plan.follow, follows);
  json["path"] = word(plan.path, paths);
  json["period_tolerance"] = plan.period_tolerance;
  json["member_seconds"] = number(plan.member_seconds);
  return json;
}

StudyPlan plan_from_json(const Json& json) {
  StudyPlan plan;
  for (const Json& a : json.at("axes")) {
    Axis axis{.name = a.at("name").get<std::string>(), .spacing = meaning<Spacing>(a.at("spacing"), spacings)};
    if (axis.spacing == Spacing::list) {
      axis.values = a.at("values").get<std::vector<double>>();
    } else {
      axis.from = a.at("from").get<double>();
      axis.to = a.at("to").get<double>();
      axis.count = a.at("count").get<std::int64_t>();
    }
    plan.axes.push_back(std::move(axis));
  }
  for (const Json& r : json.at("random"))
    plan.random.push_back({r.at("name").get<std::string>(), meaning<Distribution>(r.at("distribution"), distributions),
                           r.at("a").get<double>(), r.at("b").get<double>()});
  plan.draws = json.at("draws").get<std::int64_t>();
  plan.seed = json.at("seed").get<std::uint64_t>();
  plan.table.names = json.at("table").at("names").get<std::vector<std::string>>();
  plan.table.rows = json.at("table").at("rows").get<std::vector<std::vector<double>>>();
  plan.simulate = simulate_from(json.at("simulate"));
  const Json& s = json.at("sampling");
  plan.sampling = {meaning<SampleAt>(s.at("at"), samplings), number(s.at("period")),
                   s.at("variable").get<std::string>(), s.at("transient").get<std::int64_t>(),
                   s.at("keep").get<std::int64_t>()};
  plan.collect_after = number(json.at("collect_after"));
  for (const Json& c : json.at("collect")) {
    constexpr std::array kinds = {Collect::final_value, Collect::sample, Collect::minimum, Collect::maximum,
                                  Collect::mean,        Collect::count,  Collect::first,   Collect::period};
    const std::string what = c.at("what").get<std::string>();
    const auto* const kind = std::ranges::find(kinds, what, [](Collect known) { return to_string(known); });
    if (kind == kinds.end()) throw UsageError("'" + what + "' is not known in plans of this version");
    plan.collect.push_back({*kind, c.at("variable").get<std::string>(), c.at("name").get<std::string>()});
  }
  plan.follow = meaning<Follow>(json.at("follow"), follows);
  plan.path = meaning<MemberPath>(json.at("path"), paths);
  plan.period_tolerance = json.at("period_tolerance").get<double>();
  plan.member_seconds = number(json.at("member_seconds"));
  return plan;
}

Json to_json(const StudyArray& array) {
  return {{"name", array.name},   {"type", word(array.type, types)},
          {"width", array.width}, {"description", array.description},
          {"unit", array.unit},   {"coordinate", array.coordinate}};
}

StudyArray array_from_json(const Json& json) {
  return {json.at("name").get<std::string>(),   meaning<StudyArray::Type>(json.at("type"), types),
          json.at("width").get<std::int64_t>(), json.at("description").get<std::string>(),
          json.at("unit").get<std::string>(),   json.at("coordinate").get<bool>()};
}

}  // namespace saltus
