#include "sens/observed.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/expr/derivative.hpp>

#include <map>
#include <unordered_map>

#include "model/model_access.hpp"
#include "model/rehome.hpp"

namespace saltus {

std::vector<Expr> observed_variables(const CompiledModel& model, const Mode& mode, const RecordedSystem& system) {
  const RecordedEquations& eq = system.equations();
  const std::vector<Expr>& eliminated = ModelAccess::eliminated(model, mode);
  const std::size_t parameters = ModelAccess::values(model).parameters.size();
  std::vector<Expr> result;
  std::size_t next = 0;
  for (const int place : ModelAccess::places(model))
    result.push_back(place >= 0 ? eq.variables[static_cast<std::size_t>(place)] : eliminated[next++]);
  for (const int k : ModelAccess::observed_discretes(model))
    result.push_back(eq.data[parameters + static_cast<std::size_t>(k)]);
  return result;
}

Expr function_of_mode(const Expr& f, const CompiledModel& model, const Mode& mode, const RecordedSystem& system,
                      const LinearMode& linear) {
  if (f.is_constant()) return Expr(f.constant_value());
  if (!locks_of(std::span(&f, 1)).empty())
    throw UsageError(
        "a functional contains a relation or rounding, at which the run does not stop: make a variable of "
        "the model of it");
  std::map<std::string, Expr> known;
  std::vector<std::string> names;
  const auto add = [&](const std::string& name, Expr value) {
    rehome(value, linear.graph());
    known.emplace(name, value);
    names.push_back(name);
  };
  const std::vector<Expr> observed = observed_variables(model, mode, system);
  for (std::size_t k = 0; k < observed.size(); ++k) add(model.observed()[k].name, observed[k]);
  const auto parameters = model.parameters();
  for (std::size_t k = 0; k < parameters.size() && k < linear.data().size(); ++k)
    add(parameters[k].first, linear.data()[k]);
  const Graph& from = *f.graph();
  Graph& to = *linear.graph();
  std::unordered_map<NodeId, NodeId> done;
  const NodeId root = f.id();
  for (const NodeId id : from.reachable(std::span(&root, 1))) {
    const Node& node = from.node(id);
    if (node.op == Op::constant) {
      done[id] = to.constant(from.constant_value(id));
    } else if (node.op == Op::symbol) {
      const Symbol& symbol = from.symbol_of(id);
      if (symbol.kind == SymbolKind::time) {
        done[id] = linear.time().in(to);
        continue;
      }
      const auto it = known.find(symbol.name);
      if (symbol.kind == SymbolKind::derivative || it == known.end()) {
        throw UsageError(
            fmt::format("a functional reads '{}', which is neither a variable nor a parameter of the model{}",
                        symbol.name, NameTable(names).hint(symbol.name)));
      }
      done[id] = it->second.in(to);
    } else if (node.op == Op::external) {
      throw UsageError("a functional calls an external function: make a variable of the model of it");
    } else {
      const auto operand = [&](NodeId k) { return k == no_node ? no_node : done.at(k); };
      done[id] = to.make(node.op, operand(node.a), operand(node.b), operand(node.c));
    }
  }
  return {linear.graph(), done.at(root)};
}

}  // namespace saltus
