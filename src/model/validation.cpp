#include "model/validation.hpp"

#include <fmt/format.h>
#include <saltus/dae/structural_analysis.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <unordered_map>

namespace saltus {

namespace {

constexpr std::size_t most_names = 5;

template <class Name>
std::string list(const std::vector<int>& indices, Name name) {
  std::string text;
  for (std::size_t k = 0; k < std::min(indices.size(), most_names); ++k) text += (k ? ", " : "") + name(indices[k]);
  if (indices.size() > most_names) text += fmt::format(", … ({} more)", indices.size() - most_names);
  return text;
}

class ModeCheck {
 public:
  ModeCheck(const ModelData& model, const Elimination& elimination, std::size_t mode) : model_(model), mode_(mode) {
    for (std::size_t k = 0; k < model.variables.size(); ++k) {
      if (elimination.eliminated[k]) continue;
      column_[model.variables[k].id()] = static_cast<int>(variables_.size());
      variables_.push_back(static_cast<int>(k));
    }
    for (std::size_t k = 0; k < model.equations.size(); ++k)
      if (!elimination.equation_used[k]) equations_.push_back(&model.equations[k]);
    if (!model.modes.empty())
      for (const auto& e : model.modes[mode].equations) equations_.push_back(&e);
    solution_of_.reserve(model.variables.size());
    for (std::size_t k = 0; k < model.variables.size(); ++k)
      if (elimination.eliminated[k]) solution_of_.emplace(model.variables[k].id(), &elimination.solution[k]);
  }

  void run() const {
    const Structure s = structure();
    const StructuralAnalysis analysis = analyse_structure(s);
    if (!analysis.singular()) return;
    const auto variable = [&](int j) { return "'" + model_.variable_info[variables_[j]].name + "'"; };
    const auto equation = [&](int i) {
      const auto& e = *equations_[i];
      return (e.where.known() ? to_string(e.where) + ": " : "") + "'" + (e.name.empty() ? to_string(e.equation, 60) : e.name) +
             "'";
    };
    std::string text = fmt::format("model '{}'", model_.name);
    if (!model_.modes.empty()) text += fmt::format(", mode '{}'", model_.modes[mode_].name);
    const std::size_t m = equations_.size(), n = variables_.size();
    if (m != n)
      text += fmt::format(": {} equation{} for {} variable{}", m, m == 1 ? "" : "s", n, n == 1 ? "" : "s");
    else
      text += ": the equations cannot determine the variables";
    if (!analysis.underdetermined.variables.empty()) {
      const std::size_t missing = analysis.underdetermined.variables.size() - analysis.underdetermined.equations.size();
      text += fmt::format("; {} more equation{} needed among the variables {}", missing, missing == 1 ? " is" : "s are",
                          list(analysis.underdetermined.variables, variable));
    }
    if (!analysis.overdetermined.equations.empty()) {
      const std::size_t extra = analysis.overdetermined.equations.size() - analysis.overdetermined.variables.size();
      text += fmt::format("; {} equation{} too many among {}", extra, extra == 1 ? " is" : "s are",
                          list(analysis.overdetermined.equations, equation));
      if (!analysis.overdetermined.variables.empty())
        text += ", which contain only " + list(analysis.overdetermined.variables, variable);
    }
    throw ModelError(location(analysis), text);
  }

 private:
  SourceLocation location(const StructuralAnalysis& analysis) const {
    for (const int i : analysis.overdetermined.equations)
      if (equations_[i]->where.known()) return equations_[i]->where;
    for (const int j : analysis.underdetermined.variables)
      if (const SourceLocation& where = model_.variable_info[variables_[j]].details->where; where.known()) return where;
    return {};
  }

  Structure structure() const {
    std::vector<std::pair<int, int>> state, derivative;
    for (std::size_t i = 0; i < equations_.size(); ++i) {
      const Expr r[] = {equations_[i]->equation.lhs, equations_[i]->equation.rhs};
      if (r[0].graph() && r[0].graph() == r[1].graph() && r[0].id() == r[1].id()) continue;  // x = 1*x says nothing
      const int row = static_cast<int>(i);
      // an eliminated variable stands for the variables of its solution
      std::vector<Expr> expressions(std::begin(r), std::end(r));
      for (const Expr& x : symbols_of(r, SymbolKind::variable))
        if (const auto it = solution_of_.find(x.id()); it != solution_of_.end()) expressions.push_back(*it->second);
      for (const Expr& x : symbols_of(expressions, SymbolKind::variable))
        if (const auto it = column_.find(x.id()); it != column_.end()) state.emplace_back(row, it->second);
      for (const Expr& d : symbols_of(expressions, SymbolKind::derivative))
        if (const auto it = column_.find(model_.graph->symbol_of(d.id()).base); it != column_.end())
          derivative.emplace_back(row, it->second);
    }
    Structure s;
    s.variables = static_cast<int>(variables_.size());
    s.equations = static_cast<int>(equations_.size());
    s.state_pattern = make_pattern(s.equations, s.variables, state);
    s.derivative_pattern = make_pattern(s.equations, s.variables, derivative);
    return s;
  }

  const ModelData& model_;
  std::size_t mode_;
  std::vector<int> variables_;
  std::vector<const ModelData::NamedEquation*> equations_;
  std::unordered_map<NodeId, int> column_;
  std::unordered_map<NodeId, const Expr*> solution_of_;
};

}  // namespace

void validate(const ModelData& model, const Elimination& elimination) {
  if (model.variables.empty() && model.discretes.empty() && model.clauses.empty() && model.assertions.empty() && model.modes.empty())
    throw ModelError("model '" + model.name + "' is empty: it has neither variables nor clauses");
  for (const auto& t : model.transitions)
    if (!t.has_target)
      throw ModelError(t.where, "the transition from mode '" + model.modes[t.from].name + "' on '" + to_string(t.condition) +
                                    "' has no successor: say .to(mode)");
  if (model.unbalanced) return;
  for (std::size_t mode = 0; mode < std::max<std::size_t>(1, model.modes.size()); ++mode)
    ModeCheck(model, elimination, mode).run();
}

}  // namespace saltus
