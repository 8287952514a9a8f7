// The page is a fixed frame (src/io/html) and one JSON object, from which its script draws everything. Texts of the
// model reach the page only as strings of that object, which the script puts into text nodes: no name can become
// markup. The policy of the page names the hashes of its own script and style, so that nothing else could run.
#include <fmt/format.h>
#include <saltus/base/version.hpp>
#include <saltus/hybrid/impulses.hpp>
#include <saltus/io/html_report.hpp>
#include <saltus/io/result_files.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "io/base64.hpp"
#include "io/curve_nodes.hpp"
#include "io/event_words.hpp"
#include "io/html_assets.hpp"
#include "io/json_number.hpp"
#include "io/mode_drawing.hpp"
#include "io/structure_drawing.hpp"

namespace saltus {

namespace {

constexpr std::size_t most_rows = 1'000;      // of tables of parameters and final values
constexpr std::size_t most_marks = 100'000;   // events that are drawn as flags
constexpr std::size_t most_source = 200'000;  // bytes
constexpr std::size_t longest_text = 2'000;   // bytes of one name or message
constexpr std::size_t curves_at_first = 8;    // that are switched on when the page opens

/// Texts for readers elsewhere: without the folders of this machine, and not endless.
class Texts {
 public:
  Texts(const Trajectory& run, const HtmlReportOptions& options) {
    add(options.source_file);
    for (const VariableInfo& v : run.variables()) add(v.details->where.file);
    for (const Event& e : run.events())
      for (const SourceLocation& place : e.where) add(place.file);
    if (options.system)
      for (const GuardInfo& g : options.system->guards()) add(g.where.file);
  }

  static std::string base_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

  std::string operator()(std::string text) const {
    for (auto file = files_.rbegin(); file != files_.rend(); ++file) {  // "a/b" goes before "a"
      const std::string name = base_name(*file);
      for (std::size_t p = text.find(*file); p != std::string::npos; p = text.find(*file, p + name.size()))
        text.replace(p, file->size(), name);
    }
    if (text.size() > longest_text) {
      std::size_t end = longest_text;
      while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside of a character
      text = text.substr(0, end) + "…";
    }
    return text;
  }

 private:
  void add(const std::string& file) {
    if (file.find('/') != std::string::npos && file != last_) files_.insert(last_ = file);
  }
  std::set<std::string> files_;
  std::string last_;
};

std::vector<std::size_t> chosen_variables(const Trajectory& run, const HtmlReportOptions& options) {
  auto chosen = select_variables(run, options.variables);
  for (const std::string& name : {options.phase_x, options.phase_y}) {
    if (name.empty()) continue;
    const std::size_t k = run.index(name);
    if (std::ranges::find(chosen, k) == chosen.end()) chosen.insert(chosen.begin(), k);
  }
  if (options.variables.empty() && chosen.size() > options.most_variables) chosen.resize(options.most_variables);
  return chosen;
}

bool piecewise_constant(const CurveNodes& curve) {
  return curve.kind != CurveNodes::Kind::envelope && curve.t.size() > 2 &&
         std::ranges::all_of(curve.slope, [](double m) { return m == 0.0; });
}

Json curve_json(const CurveNodes& curve) {
  // values and slopes have the digits of small numbers, relative to the range
  const double offset = 0.5 * curve.low + 0.5 * curve.high, half = 0.5 * curve.high - 0.5 * curve.low,
               scale = half > 0.0 ? half : 1.0;
  std::vector<double> y = curve.y, slope = curve.slope;
  for (double& v : y) v = (v - offset) / scale;
  for (double& v : slope) v /= scale;
  Json json = {{"offset", number_or_null(offset)},
               {"scale", number_or_null(scale)},
               {"t", base64_numbers<double>(curve.t)},
               {"y", base64_numbers<float>(y)}};
  if (curve.kind != CurveNodes::Kind::envelope) json["m"] = base64_numbers<float>(slope);
  json["kind"] = curve.kind == CurveNodes::Kind::cubic    ? "cubic"
                 : curve.kind == CurveNodes::Kind::coarse ? "coarse"
                                                          : "envelope";
  json["steps"] = piecewise_constant(curve);
  return json;
}

void add_variables(Json& data, const Trajectory& run, const HtmlReportOptions& options, const Texts& clean) {
  const std::vector<std::size_t> chosen = chosen_variables(run, options);
  // many variables share the room of a few
  const std::size_t room =
      std::max<std::size_t>(500, 10 * options.most_nodes / std::max<std::size_t>(chosen.size(), 1));
  const auto curves = curve_nodes(run, chosen, {.most_nodes = std::min(options.most_nodes, room)});
  std::set<std::string> states;
  if (options.system)
    for (const VariableInfo& v : options.system->variables()) states.insert(v.name);
  Json variables = Json::array();
  std::vector<std::size_t> phase;
  for (std::size_t n = 0; n < chosen.size(); ++n) {
    const VariableInfo v = run.variable(chosen[n]);
    Json json = {
        {"name", clean(v.name)}, {"unit", clean(v.details->unit)}, {"description", clean(v.details->description)}};
    if (v.details->type != VariableType::real) json["type"] = to_string(v.details->type);
    if (v.details->causality != Causality::local) json["causality"] = to_string(v.details->causality);
    if (v.details->type == VariableType::enumeration) {
      json["literals"] = Json::array();
      for (const std::string& literal : v.details->literals) json["literals"].push_back(clean(literal));
    }
    json.update(curve_json(curves[n]));
    const bool moves = curves[n].high > curves[n].low && !piecewise_constant(curves[n]);
    if (moves && (states.empty() || states.contains(v.name)) && phase.size() < 2) {
      // two states of different kinds make the better picture
      if (phase.empty() || run.variable(chosen[phase[0]]).details->unit != v.details->unit) phase.push_back(n);
    }
    variables.push_back(std::move(json));
  }
  const auto place = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(chosen, run.index(name)) - chosen.begin());
  };
  for (std::size_t n = 0; n < chosen.size() && phase.size() < 2; ++n)
    if (std::ranges::find(phase, n) == phase.end() && curves[n].high > curves[n].low) phase.push_back(n);
  while (!chosen.empty() && phase.size() < 2) phase.push_back(0);
  if (!options.phase_x.empty()) phase[0] = place(options.phase_x);
  if (!options.phase_y.empty()) phase[1] = place(options.phase_y);
  Json shown = Json::array();
  for (std::size_t n = 0; n < std::min(chosen.size(), curves_at_first); ++n) shown.push_back(n);
  data["variables"] = std::move(variables);
  data["variables_left_out"] = run.variables().size() - chosen.size();
  data["shown"] = std::move(shown);
  data["phase"] = phase;
}

Json event_of_report(const Trajectory& run, std::size_t k, const HtmlReportOptions& options, const ModeDrawing& modes,
                     const Texts& clean) {
  const Event& e = run.events()[k];
  Json lines = Json::array(), places = Json::array();
  for (std::string& line : explain(e, run.variables())) lines.push_back(clean(std::move(line)));
  constexpr std::size_t most_impulses = 4;
  if (options.system)
    for (std::string& line : impulse_texts(impulses_of(*options.system, run, e), most_impulses))
      lines.push_back(clean(std::move(line)));
  std::set<int> numbers;
  for (const SourceLocation& place : e.where)
    if (place.known() && place.file == options.source_file) numbers.insert(place.line);
  for (const int line : numbers) places.push_back(line);
  Json json = {{"n", k + 1}, {"t", e.t}, {"kind", to_string(e.kind)}, {"lines", lines}, {"places", places}};
  const auto before = modes.place_of.find(e.mode_before), after = modes.place_of.find(e.mode_after);
  if (after != modes.place_of.end() && (before == modes.place_of.end() || before->second != after->second))
    json["mode"] = after->second;
  return json;
}

void add_events(Json& data, const Trajectory& run, const HtmlReportOptions& options, const ModeDrawing& modes,
                const Texts& clean) {
  const std::vector<Event>& events = run.events();
  const std::size_t count = events.size(), most = std::max<std::size_t>(options.most_events, 4);
  Json list = Json::array();
  const std::size_t head = count <= most ? count : most - most / 4, tail = count <= most ? count : count - most / 4;
  for (std::size_t k = 0; k < head; ++k) list.push_back(event_of_report(run, k, options, modes, clean));
  for (std::size_t k = tail; k < count; ++k) list.push_back(event_of_report(run, k, options, modes, clean));
  data["events"] = std::move(list);
  data["event_count"] = count;
  Json names = Json::array(), titles = Json::object();
  for (int kind = 0; kind <= static_cast<int>(EventKind::terminal); ++kind) {
    names.push_back(to_string(static_cast<EventKind>(kind)));
    titles[std::string(to_string(static_cast<EventKind>(kind)))] = title_of(static_cast<EventKind>(kind));
  }
  data["titles"] = std::move(titles);
  if (head == tail) return;
  // the others are flags in the plots, without words
  std::vector<double> times;
  std::vector<std::uint8_t> kinds;
  const std::size_t every = (count + most_marks - 1) / most_marks;
  for (std::size_t k = head; k < tail; k += every) {
    times.push_back(events[k].t);
    kinds.push_back(static_cast<std::uint8_t>(events[k].kind));
  }
  data["marks"] = {{"t", base64_numbers<double>(times)}, {"kind", base64(kinds)}, {"kinds", names}};
}

void add_modes(Json& data, const ModeDrawing& drawing, const Texts& clean) {
  Json nodes = Json::array(), edges = Json::array(), band = Json::array();
  for (const auto& n : drawing.nodes)
    nodes.push_back({{"name", clean(n.name)},
                     {"duration", number_or_null(n.duration)},
                     {"entered", n.entered},
                     {"merged", n.merged}});
  for (const auto& e : drawing.edges)
    edges.push_back(
        {{"from", e.from}, {"to", e.to}, {"count", e.count}, {"first", e.first_event + 1}, {"label", clean(e.label)}});
  for (const auto& i : drawing.band)
    band.push_back(Json::array({std::min(i.from, i.to), std::max(i.from, i.to), i.mode}));
  data["modes"] = {{"nodes", nodes},
                   {"edges", edges},
                   {"band", band},
                   {"thinned", drawing.band_thinned},
                   {"edges_left_out", drawing.edges_left_out}};
}

void add_structure(Json& data, const Trajectory& run, HybridSystem& system, const ModeDrawing& drawn,
                   const Texts& clean) {
  Json list = Json::array();
  const auto words = [&](const std::string& mode) {
    const auto place = drawn.place_of.find(mode);
    return place == drawn.place_of.end() ? mode : drawn.nodes[place->second].name;
  };
  for (const StructureDrawing& s : structure_drawings(run, system, words)) {
    Json modes = Json::array(), rows = Json::array(), columns = Json::array(), cells = Json::array(),
         derivatives = Json::array();
    for (const auto& mode : s.modes) modes.push_back(clean(mode));
    for (const auto& name : s.row_names) rows.push_back(clean(name));
    for (const auto& name : s.column_names) columns.push_back(clean(name));
    for (const char d : s.differentiated) derivatives.push_back(d != 0);
    for (const auto& c : s.cells) cells.insert(cells.end(), {c.row, c.column, c.what});
    list.push_back({{"modes", modes},
                    {"modes_left_out", s.modes_left_out},
                    {"explicit", s.explicit_ode},
                    {"linear", s.linear},
                    {"equations", s.equations},
                    {"variables", s.variables},
                    {"index", s.index},
                    {"freedom", s.degrees_of_freedom},
                    {"blocks", s.blocks},
                    {"singular", clean(s.singular)},
                    {"condition", number_or_null(s.reciprocal_condition)},
                    {"rows", rows},
                    {"columns", columns},
                    {"derivatives", derivatives},
                    {"block_start", s.block_start},
                    {"grid", s.grid},
                    {"cells", cells}});
  }
  data["structure"] = std::move(list);
}

void add_details(Json& data, const Trajectory& run, const HtmlReportOptions& options, const Texts& clean) {
  Json parameters = Json::array(), final = Json::array(), notes = Json::array(), chattering = Json::array();
  const auto row = [&](const VariableInfo& v, double value) {
    const VariableDetails& d = *v.details;
    const bool named = d.type == VariableType::boolean || d.type == VariableType::enumeration;
    return Json::array({clean(v.name), named ? Json(clean(value_text(d, value))) : number_or_null(value), clean(d.unit),
                        clean(d.description)});
  };
  for (std::size_t k = 0; k < std::min(options.parameters.size(), most_rows); ++k)
    parameters.push_back(row(options.parameters[k], options.parameters[k].start));
  const auto& values = run.final();
  for (std::size_t k = 0; k < std::min(values.size(), most_rows); ++k)
    final.push_back(row(run.variables()[k], values[k]));
  for (const std::string& note : options.notes) notes.push_back(clean(note));
  for (const Chattering& c : run.chattering()) {
    Json guards = Json::array();
    for (const auto& guard : c.guards) guards.push_back(clean(guard));
    chattering.push_back(
        {{"from", number_or_null(c.from)}, {"to", number_or_null(c.to)}, {"events", c.events}, {"guards", guards}});
  }
  data["parameters"] = std::move(parameters);
  data["parameters_left_out"] = options.parameters.size() - std::min(options.parameters.size(), most_rows);
  data["final"] = std::move(final);
  data["final_left_out"] = values.size() - std::min(values.size(), most_rows);
  data["notes"] = std::move(notes);
  data["chattering"] = std::move(chattering);
  if (!options.source.empty()) {
    std::string text = options.source;
    const bool cut = text.size() > most_source;
    if (cut)
      text.resize(text.rfind('\n', most_source) == std::string::npos ? most_source : text.rfind('\n', most_source));
    data["source"] = {{"file", Texts::base_name(options.source_file)}, {"text", std::move(text)}, {"cut", cut}};
  }
}

Json report_json(const Trajectory& run, const HtmlReportOptions& options) {
  const Texts clean(run, options);
  const Status& status = run.status();
  const RunStatistics& s = run.statistics();
  const StatusExplanation words = explain(status.code);
  Json culprits = Json::array();
  for (const auto& culprit : status.culprits) culprits.push_back(clean(culprit));
  Json data = {{"saltus", version()},
               {"model", clean(options.model)},
               {"description", clean(options.description)},
               {"from", number_or_null(std::min(run.t_start(), run.t_end()))},
               {"to", number_or_null(std::max(run.t_start(), run.t_end()))},
               {"backwards", run.t_end() < run.t_start()},
               {"status",
                {{"code", to_string(status.code)},
                 {"ok", status.ok()},
                 {"meaning", words.meaning},
                 {"advice", words.advice},
                 {"message", clean(status.message)},
                 {"t", number_or_null(status.t)},
                 {"mode", clean(status.mode)},
                 {"culprits", culprits}}},
               {"statistics",
                {{"steps", s.steps},
                 {"rejected", s.rejected},
                 {"evaluations", s.evaluations},
                 {"jacobians", s.jacobians},
                 {"factorisations", s.factorisations},
                 {"restarts", s.restarts},
                 {"unproved", s.unproved},
                 {"seconds", number_or_null(s.seconds)},
                 {"method", clean(s.method)}}}};
  add_variables(data, run, options, clean);
  const ModeDrawing modes = mode_drawing(run);
  add_events(data, run, options, modes, clean);
  add_modes(data, modes, clean);
  if (options.system) add_structure(data, run, *options.system, modes, clean);
  add_details(data, run, options, clean);
  return data;
}

/// The hash of a script or style as policies name it.
std::string policy_hash(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t k = 0; k + 1 < digits.size(); k += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(k, 2)), nullptr, 16)));
  return "'sha256-" + base64(bytes) + "'";
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) >= ' ')
      result += c;
  }
  return result;
}

}  // namespace

void write_html_report(std::ostream& out, const Trajectory& run, const HtmlReportOptions& options) {
  const Json data = report_json(run, options);
  const std::string json = data.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string safe;  // "<" stands in strings only, and could end the element or begin a comment
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  const std::string policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " +
                             policy_hash(html_assets::style_hash) + "; script-src " +
                             policy_hash(html_assets::script_hash);
  const auto model =
      Json::parse(Json(data["model"]).dump(-1, ' ', false, Json::error_handler_t::replace));  // valid UTF-8
  const std::string title = escaped(model.get<std::string>());
  const std::vector<std::pair<std::string_view, std::string_view>> places = {
      {"@policy@", policy},     {"@title@", title},
      {"@version@", version()}, {"@style@", html_assets::style},
      {"@data@", safe},         {"@script@", html_assets::script}};
  std::string_view rest = html_assets::page;
  for (const auto& [place, text] : places) {  // in the order of the page: what is put in is never searched
    const std::size_t at = rest.find(place);
    if (at == std::string_view::npos) continue;
    out << rest.substr(0, at) << text;
    rest.remove_prefix(at + place.size());
  }
  out << rest;
}

}  // namespace saltus
