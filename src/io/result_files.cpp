#include <fmt/format.h>
#include <saltus/base/version.hpp>
#include <saltus/hybrid/impulses.hpp>
#include <saltus/hybrid/mode_graph.hpp>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "io/find_variables.hpp"
#include "io/json_number.hpp"

namespace saltus {

namespace {

// Texts with a comma or a quote are quoted as RFC 4180 says.
std::string csv_text(const std::string& name) {
  if (name.find_first_of(",\"\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

Json numbers(const std::vector<double>& list) {
  Json array = Json::array();
  for (const double value : list) array.push_back(number_or_null(value));
  return array;
}

Json values(const Trajectory& run, const std::vector<double>& x) {
  Json object = Json::object();
  // names are different from each other: they are not looked up, which would cost the square of their number
  auto& members = object.get_ref<Json::object_t&>();
  members.reserve(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) members.emplace_back(run.variables()[k].name, number_or_null(x[k]));
  return object;
}

/// What relations become: true, false, or null.
Json truths(const std::vector<int>& becomes) {
  Json list = Json::array();
  for (const int truth : becomes) list.push_back(truth == 0 ? Json(nullptr) : Json(truth > 0));
  return list;
}

Json impulses_json(const Trajectory& run, const Event& e, HybridSystem* system) {
  Json object = system || e.cause == JumpCause::none ? Json::object() : Json(nullptr);
  if (system)
    for (const Impulse& impulse : impulses_of(*system, run, e))
      object[impulse.variable] = number_or_null(impulse.value);
  return object;
}

Json event_json(const Trajectory& run, const Event& e, HybridSystem* system) {
  Json where = Json::array();
  for (const auto& place : e.where) where.push_back(to_string(place));
  return {{"t", e.t},
          {"kind", to_string(e.kind)},
          {"guards", e.guards},
          {"direction", e.direction},
          {"becomes", truths(e.becomes)},
          {"slope_before", numbers(e.slope_before)},
          {"slope_after", numbers(e.slope_after)},
          {"where", where},
          {"actions", e.actions},
          {"mode_before", e.mode_before},
          {"mode_after", e.mode_after},
          {"jump", number_or_null(e.jump)},
          {"cause", to_string(e.cause)},
          {"impulses", impulses_json(run, e, system)},
          {"proved", e.proved},
          {"surfaces", e.surfaces},
          {"weights", e.weights},
          {"contacts", e.contacts},
          {"before", values(run, e.before)},
          {"after", values(run, e.after)},
          {"message", e.message}};
}

std::string dump(const Json& json) {
  return json.dump(1, ' ', false, Json::error_handler_t::replace);
}

/// What is known about a variable or parameter.
Json described(const std::string& name, const VariableDetails& d) {
  Json result = {{"name", name}, {"unit", d.unit}, {"description", d.description}, {"type", to_string(d.type)}};
  if (d.type == VariableType::enumeration) result["literals"] = d.literals;
  return result;
}

/// The variables of the table, or else of the run, with what is known about them.
Json variables_json(const Trajectory& run, const ResultTable* table) {
  Json list = Json::array();
  const auto add = [&](const std::string& name, const VariableDetails& d) {
    list.push_back(described(name, d));
    list.back()["causality"] = to_string(d.causality);
  };
  if (table)
    for (const auto& column : table->columns) add(column.name, *column.details);
  else
    for (const VariableInfo& v : run.variables()) add(v.name, *v.details);
  return list;
}

Json mode_graph_json(const ModeGraph& graph) {
  Json nodes = Json::array(), edges = Json::array();
  for (const ModeGraph::Node& node : graph.nodes)
    nodes.push_back({{"mode", node.description}, {"entered", node.entered}, {"time", number_or_null(node.time)}});
  for (const ModeGraph::Edge& edge : graph.edges)
    edges.push_back({{"from", edge.from},
                     {"to", edge.to},
                     {"kind", to_string(edge.kind)},
                     {"guards", edge.guards},
                     {"direction", edge.direction},
                     {"becomes", truths(edge.becomes)},
                     {"actions", edge.actions},
                     {"count", edge.count},
                     {"first", number_or_null(edge.first)}});
  return {{"nodes", nodes}, {"edges", edges}};
}

/// How many events there are of each kind that occurs.
Json events_by_kind(const Trajectory& run) {
  Json counts = Json::object();
  run.for_each_event([&](const Event& event) {
    Json& count = counts[std::string(to_string(event.kind))];
    count = count.is_null() ? 1 : count.get<std::int64_t>() + 1;
  });
  return counts;
}

Json sensitivities_json(const Trajectory& run, const SensitivityRecord& record) {
  Json final = nullptr, smoothness = nullptr;
  if (record.why.empty()) {
    final = smoothness = Json::object();
    const std::vector<VariableInfo>& variables = run.variables();
    for (std::size_t j = 0; j < variables.size(); ++j) {
      for (const std::vector<double>& all : record.final) final[variables[j].name].push_back(number_or_null(all[j]));
      for (const auto& all : record.final_smoothness) smoothness[variables[j].name].push_back(all[j]);
    }
  }
  return {{"parameters", record.parameters}, {"end", number_or_null(record.end)}, {"why", record.why}, {"final", final},
          {"final_smoothness", smoothness},  {"remarks", record.remarks}};
}

/// Adds what is known about event k to its object. There is nothing beyond the end of the sensitivities.
void add_sensitivity(Json& event, const SensitivityRecord& record, std::size_t k) {
  const bool known = k < record.events.size();
  const SensitivityRecord::Event one = known ? record.events[k] : SensitivityRecord::Event{.smoothness = "undefined"};
  event["dt"] = one.dt.empty() ? Json(nullptr) : numbers(one.dt);
  event["smoothness"] = one.smoothness;
  event["dt_smoothness"] = one.dt.empty() ? Json(nullptr) : Json(one.dt_smoothness);
  event["smoothness_text"] = one.text;
}

}  // namespace

std::vector<std::size_t> select_variables(const Trajectory& run, const std::vector<std::string>& names) {
  return find_variables(run.variables(), names);
}

CsvWriter::CsvWriter(std::ostream& out, const std::vector<ResultTable::Column>& columns, CsvHeader header) : out_(out) {
  const auto write_texts = [&](const char* first, auto text_of) {
    out << first;
    for (const auto& column : columns) out << ',' << csv_text(text_of(column));
    out << '\n';
  };
  using Column = ResultTable::Column;
  if (header == CsvHeader::described) {
    write_texts("# unit", [](const Column& c) { return c.details->unit; });
    write_texts("# description", [](const Column& c) { return c.details->description; });
    write_texts("# type", [](const Column& c) { return type_text(*c.details); });
  }
  write_texts("time", [](const Column& c) { return c.name; });
}

void CsvWriter::add(double t, std::span<const double> values) {
  line_ = fmt::format("{}", t);
  for (const double value : values)
    if (std::isnan(value))
      line_ += ',';
    else
      fmt::format_to(std::back_inserter(line_), ",{}", value);
  line_ += '\n';
  out_ << line_;
}

void write_csv(std::ostream& out, const ResultTable& table, CsvHeader header) {
  CsvWriter writer(out, table.columns, header);
  std::vector<double> values(table.columns.size());
  for (std::size_t k = 0; k < table.time.size(); ++k) {
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = table.columns[c].values[k];
    writer.add(table.time[k], values);
  }
}

void write_csv(std::ostream& out, const Trajectory& run, int intervals, const std::vector<std::string>& names) {
  write_csv(out, result_table(run, {.variables = names, .intervals = intervals}));
}

void write_json(std::ostream& out, const Trajectory& run, const JsonOptions& options) {
  const Status& status = run.status();
  const RunStatistics& s = run.statistics();
  Json parameters = Json::object(), parameter_info = Json::array();
  for (const VariableInfo& parameter : options.parameters) {
    parameters[parameter.name] = number_or_null(parameter.start);
    parameter_info.push_back(described(parameter.name, *parameter.details));
  }
  Json chattering = Json::array();
  for (const Chattering& c : run.chattering())
    chattering.push_back(
        {{"from", number_or_null(c.from)}, {"to", number_or_null(c.to)}, {"events", c.events}, {"guards", c.guards}});
  Json document = {{"saltus", version()},
                   {"model", options.model},
                   {"arguments", options.arguments},
                   {"status",
                    {{"code", to_string(status.code)},
                     {"message", status.message},
                     {"t", number_or_null(status.t)},
                     {"mode", status.mode},
                     {"culprits", status.culprits}}},
                   {"parameters", parameters},
                   {"chattering", chattering},
                   {"final", {{"t", run.t_end()}, {"values", values(run, run.final())}}},
                   {"events", nullptr},  // written one by one, below
                   {"mode_graph", mode_graph_json(run.mode_graph())},
                   {"statistics",
                    {{"steps", s.steps},
                     {"rejected", s.rejected},
                     {"evaluations", s.evaluations},
                     {"jacobians", s.jacobians},
                     {"factorisations", s.factorisations},
                     {"low_rank_updates", s.low_rank_updates},
                     {"iterations", s.iterations},
                     {"events", s.events},
                     {"restarts", s.restarts},
                     {"sliding_steps", s.sliding_steps},
                     {"flown", s.flown},
                     {"local_events", s.local_events},
                     {"part_runs", s.part_runs},
                     {"guard_evaluations", s.guard_evaluations},
                     {"guard_enclosures", s.guard_enclosures},
                     {"unproved", s.unproved},
                     {"seconds", s.seconds},
                     {"method", s.method},
                     {"events_by_kind", events_by_kind(run)}}}};
  document["variables"] = variables_json(run, options.trajectories);
  document["parameter_info"] = std::move(parameter_info);
  if (options.trajectories) {
    Json columns = Json::object();
    for (const auto& column : options.trajectories->columns) columns[column.name] = numbers(column.values);
    document["trajectories"] = {{"time", numbers(options.trajectories->time)}, {"values", std::move(columns)}};
  }
  if (options.sensitivities) document["sensitivities"] = sensitivities_json(run, *options.sensitivities);
  const std::string text = dump(document), place = "\n \"events\": null";
  const std::size_t at = text.find(place);  // there is one: texts have no line breaks
  out << std::string_view(text).substr(0, at + place.size() - 4);
  bool first = true;
  std::size_t number = 0, jumps = 0;
  run.for_each_event([&](const Event& e) {
    out << (first ? "[\n  " : ",\n  ");
    first = false;
    // each needs the balance of its mode: runs with very many jumps have them at the first ones
    constexpr std::size_t most_impulses = 1000;
    if (e.cause != JumpCause::none) ++jumps;
    Json object = event_json(run, e, jumps <= most_impulses ? options.system : nullptr);
    if (options.sensitivities) add_sensitivity(object, *options.sensitivities, number);
    ++number;
    const std::string event = dump(object);
    for (std::size_t begin = 0; begin < event.size();) {
      const std::size_t end = std::min(event.find('\n', begin), event.size() - 1) + 1;
      out << std::string_view(event).substr(begin, end - begin) << (event[end - 1] == '\n' ? "  " : "");
      begin = end;
    }
  });
  out << (first ? "[]" : "\n ]") << std::string_view(text).substr(at + place.size()) << '\n';
}

}  // namespace saltus
