#include "model/start_values.hpp"

#include <saltus/expr/print.hpp>
#include <saltus/program/program.hpp>

#include <cmath>

namespace saltus {

void evaluate_start_values(const ModelData& model, std::vector<VariableInfo>& variables, std::vector<ModelData::Discrete>& discretes) {
  if (model.start_values.empty()) return;
  std::vector<Expr> parameters, expressions;
  std::vector<double> values;
  for (const auto& p : model.parameters) {
    parameters.push_back(p.symbol);
    values.push_back(p.value);
  }
  for (const auto& [name, value] : model.start_values) expressions.push_back(value);
  const Program program(std::vector<std::vector<Expr>>{parameters}, std::vector<std::vector<Expr>>{expressions});
  Workspace work = program.workspace();
  std::vector<double> results(expressions.size());
  const double* in[] = {values.data()};
  double* out[] = {results.data()};
  program(in, out, work);
  std::size_t k = 0;
  for (const auto& [name, value] : model.start_values) {
    const auto& [kind, index] = model.names.at(name);
    const SourceLocation& where = kind == SymbolKind::variable ? variables[index].details->where : discretes[index].where;
    if (!std::isfinite(results[k]))
      throw ModelError(where, "the start value of '" + name + "', " + to_string(value) + ", is " + number_text(results[k]) +
                                  " for the present parameters");
    (kind == SymbolKind::variable ? variables[index].start : discretes[index].start) = results[k++];
  }
}

}  // namespace saltus
