#include "study/layout.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fingerprint.hpp"

namespace saltus {

namespace {

std::size_t observed_index(const CompiledModel& model, const std::string& name, const std::string& what) {
  const auto& observed = model.observed();
  const NameTable names(observed, [](const VariableInfo& v) -> std::string_view { return v.name; });
  if (const auto place = names.find(name)) return *place;
  const std::string hint = names.hint(name);
  throw UsageError(fmt::format("{}: there is no variable '{}' in the model{}", what, name,
                               hint.empty() ? "; saltus check lists the variables" : hint));
}

void check_sampling(const StudyPlan& plan) {
  const Sampling& s = plan.sampling;
  if (s.at == SampleAt::none) {
    for (const Collector& c : plan.collect)
      if (c.what == Collect::sample || c.what == Collect::period)
        throw UsageError(fmt::format("'{}' needs samples: give a period or a section", result_name(c)));
    return;
  }
  if (s.transient < 0) throw UsageError(fmt::format("a transient of {} samples; it must not be negative", s.transient));
  if (s.keep < 1) throw UsageError(fmt::format("{} samples to keep; there must be at least one", s.keep));
  if (s.at == SampleAt::period && s.variable.empty() && !(s.period > 0.0 && std::isfinite(s.period)))
    throw UsageError(fmt::format("a period of {}; it must be a positive number", s.period));
  if (s.at == SampleAt::section && s.variable.empty())
    throw UsageError("a section needs a counter; see count_crossings");
}

}  // namespace

void check_result_names(const std::vector<StudyArray>& arrays) {
  std::set<std::string> seen;
  const auto special = [](char c) { return c == '/' || static_cast<unsigned char>(c) < ' '; };
  for (const StudyArray& a : arrays) {
    if (a.name.empty() || a.name.front() == '.' || std::ranges::any_of(a.name, special) || a.name.size() > 200)
      throw UsageError("'" + a.name +
                       "' cannot be the name of a result: it has a '/', a '.' in front or more than 200 "
                       "letters; give it another one: name=what(…)");
    if (!seen.insert(a.name).second)
      throw UsageError("two results have the name '" + a.name + "'; give one of them another: name=what(…)");
  }
}

std::vector<StudyArray> arrays_of(const StudyPlan& plan) {
  check_sampling(plan);
  using Type = StudyArray::Type;
  std::vector<StudyArray> arrays;
  for (const std::string& name : varied_names(plan)) arrays.push_back({.name = name, .coordinate = true});
  if (plan.follow == Follow::both)
    arrays.push_back({.name = "direction", .description = "+1 upwards, -1 downwards", .coordinate = true});
  arrays.push_back({.name = "status", .type = Type::byte, .description = "0 and 1: ended well; 255: not run"});
  arrays.push_back({.name = "path", .type = Type::byte, .description = "0: by a simulator; 1: in lanes; 255: not run"});
  arrays.push_back({.name = "steps", .type = Type::integer});
  arrays.push_back({.name = "events", .type = Type::integer});
  arrays.push_back({.name = "t_end"});
  arrays.push_back({.name = "kept", .type = Type::integer, .description = "samples that were kept"});
  for (const Collector& c : plan.collect) {
    arrays.push_back({.name = result_name(c)});
    if (c.what == Collect::sample) arrays.back().width = plan.sampling.keep;
    if (c.what == Collect::period) arrays.back().type = Type::integer;
  }
  return arrays;
}

StudyLayout make_layout(const StudyPlan& plan, const Model& model, const CompiledModel& compiled) {
  StudyLayout layout{.arrays = arrays_of(plan)};
  layout.varied = varied_names(plan).size();
  layout.fixed = layout.varied + (plan.follow == Follow::both ? 1 : 0);
  layout.collected = layout.arrays.size() - plan.collect.size();
  for (std::size_t k = 0; k < layout.varied; ++k) {
    std::string& name = layout.arrays[k].name;
    const auto found = model.data().names.find(name);
    if (found != model.data().names.end() && found->second.kind != SymbolKind::parameter) name += start_suffix;
  }
  for (std::size_t k = 0; k < plan.collect.size(); ++k) {
    const Collector& c = plan.collect[k];
    const std::size_t at = observed_index(compiled, c.variable, "collect");
    layout.variables.push_back(at);
    const VariableInfo& variable = compiled.observed()[at];
    StudyArray& array = layout.arrays[layout.collected + k];
    if (c.what != Collect::count && c.what != Collect::period && c.what != Collect::first)
      array.unit = variable.details->unit;
    array.description = variable.details->description;
    if (c.what != Collect::minimum && c.what != Collect::maximum && c.what != Collect::mean) continue;
    layout.integrates = true;
    if (std::ranges::find(layout.dense, at) == layout.dense.end()) layout.dense.push_back(at);
  }
  if (!plan.sampling.variable.empty() && plan.sampling.at != SampleAt::none)
    layout.sampling_variable = static_cast<int>(observed_index(compiled, plan.sampling.variable, "sampling"));
  check_result_names(layout.arrays);
  return layout;
}

namespace {

/// What all expressions of a model compute. Their texts do not tell: relations are shown as the user wrote them, with
/// the names of constants.
std::uint64_t fingerprint_of_operations(const ModelData& data) {
  std::vector<Expr> all;
  const auto add_equations = [&](const std::vector<ModelData::NamedEquation>& equations) {
    for (const auto& e : equations) all.insert(all.end(), {e.equation.lhs, e.equation.rhs});
  };
  const auto add_actions = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions) all.insert(all.end(), {a.target, a.value, a.only_if.expr()});
  };
  for (const auto& [name, start] : data.start_values) all.push_back(start);
  add_equations(data.equations);
  add_equations(data.initial_equations);
  for (const auto& m : data.modes) add_equations(m.equations);
  for (const auto& d : data.definitions) all.insert(all.end(), {d.discrete, d.value});
  for (const auto& c : data.clauses) {
    all.push_back(c.condition.expr());
    add_actions(c.actions);
  }
  for (const auto& t : data.transitions) {
    all.push_back(t.condition.expr());
    add_actions(t.actions);
  }
  for (const auto& a : data.assertions) all.push_back(a.condition.expr());
  Fingerprint found;
  std::vector<NodeId> roots;
  for (const Expr& e : all) {
    if (e.graph()) roots.push_back(e.id());
    found.add(e.graph() ? 1.0 : e.constant_value());
  }
  const Graph& graph = *data.graph;
  std::unordered_map<NodeId, std::uint64_t> number;  // in this order, whatever else is in the graph
  for (const NodeId id : graph.reachable(roots)) {
    number.emplace(id, number.size());
    const Op op = graph.node(id).op;
    found.add(static_cast<std::uint64_t>(op));
    if (op == Op::constant) found.add(graph.constant_value(id));
    if (op == Op::symbol) found.add(std::string_view(graph.symbol_of(id).name));
    if (op == Op::external) found.add(std::string_view(graph.call_of(id).function->name));
    graph.for_each_operand(id, [&](NodeId operand) { found.add(number.at(operand)); });
  }
  for (const NodeId root : roots) found.add(number.at(root));
  return found.value();
}

}  // namespace

std::string describe_model(const StudyPlan& plan, const Model& model) {
  constexpr std::size_t all = 1'000'000;
  const ModelData& data = model.data();
  const std::vector<std::string> varied = varied_names(plan);
  const auto value = [&](const std::string& name, double number) {
    return std::ranges::find(varied, name) != varied.end() ? std::string("varies") : number_text(number);
  };
  std::string text = "model " + data.name + "\n";
  for (const auto& p : data.parameters) text += "parameter " + p.name + " = " + value(p.name, p.value) + "\n";
  for (const auto& v : data.variable_info) text += "variable " + v.name + " start " + value(v.name, v.start) + "\n";
  for (const auto& d : data.discretes) text += "discrete " + d.name + " start " + value(d.name, d.start) + "\n";
  for (const auto& [name, start] : data.start_values) text += "start " + name + " = " + to_string(start, all) + "\n";
  for (const auto& e : data.equations) text += to_string(e.equation, all) + "\n";
  for (const auto& e : data.initial_equations) text += "initial " + to_string(e.equation, all) + "\n";
  for (const auto& d : data.definitions) text += to_string(d.discrete) + " := " + to_string(d.value, all) + "\n";
  const auto write_actions = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions) {
      const bool assigns = a.kind == ModelData::Action::Kind::reset || a.kind == ModelData::Action::Kind::assign;
      text += assigns ? "  " + to_string(a.target) + " := " + to_string(a.value, all) + "\n"
                      : fmt::format("  action {}: {}\n", static_cast<int>(a.kind), a.message);
    }
  };
  for (const auto& c : data.clauses) {
    text += "when " + to_string(c.condition, all) + "\n";
    write_actions(c.actions);
  }
  for (const auto& s : data.surfaces)
    text += fmt::format("surface {} rule {}\n", to_string(s.relation, all), static_cast<int>(s.rule));
  for (const auto& a : data.assertions) text += "assert " + to_string(a.condition, all) + "\n";
  if (data.unbalanced) text += "unbalanced\n";
  if (data.start_time) text += "starts at " + number_text(*data.start_time) + "\n";
  if (data.scaling != Scaling::automatic) text += fmt::format("scaling {}\n", static_cast<int>(data.scaling));
  if (data.stabilisation != 0.0) text += "stabilisation " + number_text(data.stabilisation) + "\n";
  for (const auto& m : data.modes) {
    text += "mode " + m.name + "\n";
    for (const auto& e : m.equations) text += "  " + to_string(e.equation, all) + "\n";
  }
  for (const auto& t : data.transitions) {
    text += fmt::format("transition {} to {}: {}\n", t.from, t.to, to_string(t.condition, all));
    write_actions(t.actions);
  }
  return text + fmt::format("operations {:016x}\n", fingerprint_of_operations(data));
}

}  // namespace saltus
