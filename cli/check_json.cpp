#include "cli/check_json.hpp"

#include <saltus/expr/print.hpp>

#include <cmath>
#include <nlohmann/json.hpp>

namespace saltus::cli {

namespace {

using Json = nlohmann::ordered_json;

Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json place_json(const SourceLocation& where) {
  return where.known() ? Json(to_string(where)) : Json(nullptr);
}

Json declaration(const std::string& name, double value, const VariableDetails& details, const char* key) {
  return {{"name", name},
          {key, json_number(value)},
          {"type", std::string(to_string(details.type))},
          {"unit", details.unit},
          {"description", details.description},
          {"where", place_json(details.where)}};
}

Json mode_json(const ModeAnalysis& a) {
  Json json = {{"mode", a.mode}, {"t", a.t}, {"variables", a.variables}};
  if (a.steps > 0)
    json["run"] = {{"entered", a.entered},
                   {"time", a.time},
                   {"steps", a.steps},
                   {"shortest_step", a.shortest_step},
                   {"longest_step", a.longest_step}};
  if (a.stands_still) {
    json["kind"] = "nothing to integrate";
    return json;
  }
  json["kind"] = a.explicit_ode ? "explicit" : "implicit";
  json["linear"] = a.linear;
  if (a.explicit_ode) return json;
  json["structure"] = {{"singular", !a.singularity.empty()},
                       {"why", a.singularity},
                       {"index", a.index},
                       {"degrees_of_freedom", a.degrees_of_freedom},
                       {"blocks", a.blocks},
                       {"certified", a.certified},
                       {"reciprocal_condition", json_number(a.reciprocal_condition)}};
  json["characteristic_values"] = {{"mu", a.numbers.mu},
                                   {"d", a.numbers.d},
                                   {"a", a.numbers.a},
                                   {"u", a.numbers.u},
                                   {"v", a.numbers.v},
                                   {"decision", a.decision},
                                   {"kept", json_number(a.kept)},
                                   {"dropped", json_number(a.dropped)},
                                   {"undetermined", a.undetermined}};
  return json;
}

}  // namespace

void write_check_json(std::ostream& out, const CheckResult& result) {
  const ModelData& model = result.model;
  Json json = {{"format", "saltus check"}, {"version", 1}, {"model", model.name}};
  for (const char* list : {"variables", "discrete_variables", "parameters", "equations", "clauses", "guards", "modes"})
    json[list] = Json::array();
  for (const VariableInfo& v : model.variable_info) {
    json["variables"].push_back(declaration(v.name, v.start, *v.details, "start"));
    json["variables"].back()["fixed"] = v.fixed;
  }
  for (const auto& q : model.discretes)
    if (!q.hidden) json["discrete_variables"].push_back(declaration(q.name, q.start, *q.details, "start"));
  for (const VariableInfo& p : result.compiled.parameter_info())
    json["parameters"].push_back(declaration(p.name, p.start, *p.details, "value"));
  constexpr std::size_t longest = 1000;  // letters of an equation
  for (const auto& e : model.equations)
    json["equations"].push_back(
        {{"text", e.name.empty() ? to_string(e.equation, longest) : e.name}, {"where", place_json(e.where)}});
  for (const auto& c : model.clauses)
    if (!c.name.empty()) json["clauses"].push_back({{"text", c.name}, {"where", place_json(c.where)}});
  for (const GuardInfo& g : result.compiled.guards())
    if (g.same_as < 0 && !g.of_input)
      json["guards"].push_back(
          {{"text", g.name},
           {"watched", result.compiled.watched_text(static_cast<int>(&g - result.compiled.guards().data()))},
           {"time_only", g.time_only},
           {"where", place_json(g.where)}});
  for (const ModeAnalysis& mode : result.modes) json["modes"].push_back(mode_json(mode));
  json["status"] = {{"code", std::string(to_string(result.status.code))},
                    {"ok", result.status.ok()},
                    {"t", json_number(result.status.t)},
                    {"message", result.status.message}};
  out << json.dump(2) << '\n';
}

}  // namespace saltus::cli
