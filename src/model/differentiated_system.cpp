#include "model/differentiated_system.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "model/graph_copy.hpp"
#include "model/recorded_code.hpp"

namespace saltus {

namespace {

/// x, der(x), der(der(x)), …
std::string derivative_name(const std::string& name, int order) {
  return order == 0 ? name : "der(" + derivative_name(name, order - 1) + ")";
}

}  // namespace

std::shared_ptr<const DifferentiatedCode> differentiate(const DifferentiatedSource& source,
                                                        const DerivativePlan& plan) {
  const RecordedEquations& eq = source.equations;
  const auto &c = plan.equation_offset, &d = plan.variable_offset;
  const auto from = common_graph(eq.variables);
  const auto graph = std::make_shared<Graph>();  // that of the model does not grow with its runs
  const std::size_t n = eq.variables.size();

  RecordedEquations made;
  made.scaling = eq.scaling;
  made.time = Expr(graph, graph->symbol("time", SymbolKind::time));
  std::vector<std::vector<Expr>> chain(n);  // x_j and its derivatives
  const auto add = [&](std::size_t j, int order) {
    const std::string& name = from->symbol_of(eq.variables[j].id()).name;
    chain[j].emplace_back(graph, graph->symbol(derivative_name(name, order), SymbolKind::variable));
    made.variables.push_back(chain[j].back());
    made.nominal.push_back(eq.nominal.empty() ? 1.0 : eq.nominal[j]);
  };
  for (std::size_t j = 0; j < n; ++j) add(j, 0);
  for (std::size_t j = 0; j < n; ++j)
    for (int order = 1; order <= d[j]; ++order) add(j, order);

  std::unordered_map<NodeId, NodeId> known;
  std::vector<NodeId> inputs;
  const auto replace = [&](const Expr& symbol, const Expr& by) {
    inputs.push_back(symbol.in(*from));
    known.emplace(inputs.back(), by.in(*graph));
  };
  replace(eq.time, made.time);
  for (std::size_t j = 0; j < n; ++j) {
    replace(eq.variables[j], chain[j][0]);
    if (d[j] > 0) replace(der(eq.variables[j]), chain[j][1]);
  }
  const auto take_values = [&](const std::vector<Expr>& symbols, std::span<const double> values,
                               const std::vector<char>& fixed) {
    for (std::size_t k = 0; k < symbols.size(); ++k) {
      made.data.emplace_back(graph, graph->symbol("data", SymbolKind::parameter));
      replace(symbols[k], fixed[k] ? Expr(graph, graph->constant(values[k])) : made.data.back());
    }
  };
  take_values(eq.data, source.data, source.fixed_data);
  take_values(eq.locks, source.locks, source.fixed_locks);
  // derivatives of other variables occur in branches only that the structure has cut off
  for (const Expr& x : symbols_of(eq.equations, SymbolKind::derivative))
    if (!known.contains(x.in(*from))) replace(x, Expr(graph, graph->constant(0.0)));
  std::vector<Expr> level = GraphCopy(from, graph, eq.equations, inputs).with(std::move(known));

  for (std::size_t j = 0; j < n; ++j)
    for (int k = 0; k < plan.states[j]; ++k) {
      made.equations.push_back(der(chain[j][static_cast<std::size_t>(k)]) - chain[j][static_cast<std::size_t>(k) + 1]);
      made.equation_names.push_back("the derivative of " + derivative_name(from->symbol_of(eq.variables[j].id()).name, k));
    }
  std::vector<Expr> symbols{made.time}, directions{Expr(1.0)};
  for (const auto& list : chain)
    for (std::size_t k = 0; k + 1 < list.size(); ++k) {
      symbols.push_back(list[k]);
      directions.push_back(list[k + 1]);
    }
  std::vector<int> which(level.size());  // equations of the present order
  for (std::size_t i = 0; i < level.size(); ++i) which[i] = static_cast<int>(i);
  for (int order = 0; !level.empty(); ++order) {
    std::vector<Expr> next;
    std::vector<int> next_which;
    for (std::size_t k = 0; k < level.size(); ++k) {
      const auto i = static_cast<std::size_t>(which[k]);
      made.equations.push_back(level[k]);
      const std::string name = eq.equation_names.empty() ? "equation " + std::to_string(i + 1) : eq.equation_names[i];
      made.equation_names.push_back(order == 0 ? name : name + ", differentiated " + std::to_string(order) + (order == 1 ? " time" : " times"));
      if (order == c[i]) continue;
      next.push_back(level[k]);
      next_which.push_back(which[k]);
    }
    level = next.empty() ? next : directional_derivative(next, symbols, directions);
    which = std::move(next_which);
  }
  std::vector<double> values(source.data.begin(), source.data.end());
  values.insert(values.end(), source.locks.begin(), source.locks.end());
  const auto result = std::make_shared<DifferentiatedCode>();
  const auto code = std::make_shared<RecordedCode>(std::move(made), values, std::span<const double>{}, source.options);
  graph->freeze();
  result->structure = code->select(values, {}).structure;
  result->structure.guards = source.structure.guards;
  result->structure.guard_variables = source.structure.guard_variables;
  for (std::size_t j = 0; j < n; ++j)
    if (d[j] > 0 && plan.states[j] == 0) result->structure.dense_variables.push_back(static_cast<int>(j));
  result->code = code;
  return result;
}

}  // namespace saltus
