#include "model/pass_blocks.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <unordered_map>

#include "model/rewrite_model.hpp"

namespace saltus {

PassBlocks::PassBlocks(const RepeatedModel& passes) : passes_(passes) {
  int equations = 0;
  for (const RepeatedModel::Shape& shape : passes.shapes) {
    PassShape& own = shapes_.emplace_back(read(shape));
    const auto count = static_cast<int>(shape.cells);
    own.first_equation = std::exchange(equations, equations + own.equation_count() * count);
    own.first_pass = std::exchange(passes_count_, passes_count_ + count);
  }
  first_sum_ = equations;
  equations += static_cast<int>(passes.sums.size());
  if (equations != static_cast<int>(passes.variables.size())) throw NotKept{};
  find_states();
  start_.push_back(0);
  for (int e = 0; e < equations; ++e) list_unknowns(e);
  find_form();
}

PassShape PassBlocks::read(const RepeatedModel::Shape& shape) const {
  const ModelData& m = shape.model;
  PassShape result{.shape = &shape};
  std::unordered_map<NodeId, int> variables, discretes;
  for (std::size_t k = 0; k < m.variables.size(); ++k) variables.emplace(m.variables[k].id(), static_cast<int>(k));
  for (std::size_t k = 0; k < m.discretes.size(); ++k)
    discretes.emplace(m.discretes[k].symbol.id(), static_cast<int>(k));
  for (const auto& [symbol, before] : m.pre_symbols)
    for (auto* places : {&variables, &discretes})
      if (const auto it = places->find(symbol.id()); it != places->end()) places->emplace(before.id(), it->second);
  const auto add = [&](const std::vector<Expr>& all, PassNames& names) {
    for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::discrete})
      for (const Expr& s : symbols_of(all, kind)) {
        if (const auto it = variables.find(s.id()); it != variables.end()) names.variables.push_back(it->second);
        if (const auto it = discretes.find(s.id()); it != discretes.end())
          (at(it->second) < result.discretes() ? names.discretes : names.numbers).push_back(it->second);
      }
    for (const Expr& s : symbols_of(all, SymbolKind::derivative))
      names.derivatives.push_back(variables.at(m.graph->symbol_of(s.id()).base));
    for (std::vector<int>* list : {&names.variables, &names.derivatives, &names.discretes, &names.numbers}) {
      std::ranges::sort(*list);
      list->erase(std::unique(list->begin(), list->end()), list->end());
    }
  };
  for (const ModelData::NamedEquation& e : m.equations) {
    PassNames& names = result.equations.emplace_back();
    std::vector<Expr> sides{e.equation.lhs, e.equation.rhs};
    std::erase_if(sides, [](const Expr& side) { return side.is_constant(); });
    add(sides, names);
    const std::vector<Expr> locks = locks_of(sides);
    PassNames inside;
    add(locks, inside);
    names.compared = inside.variables;
    names.compared.insert(names.compared.end(), inside.derivatives.begin(), inside.derivatives.end());
    if (!locks.empty() && !names.decides()) throw NotKept{};  // an event of time alone
  }
  const auto assign = [&](const Expr& target) {
    if (const auto it = discretes.find(target.id()); it != discretes.end()) result.assigned.push_back(it->second);
  };
  for (const ModelData::Definition& d : m.definitions) assign(d.discrete);
  for (const ModelData::Clause& c : m.clauses)
    for (const ModelData::Action& action : c.actions)
      if (action.kind == ModelData::Action::Kind::assign) assign(action.target);
  ModelData events;
  events.graph = m.graph;
  events.clauses = m.clauses;
  events.definitions = m.definitions;
  events.assertions = m.assertions;
  add(expressions_of(events), result.events);
  for (const auto& [symbol, before] : m.pre_symbols)
    if (const auto it = discretes.find(symbol.id()); it != discretes.end())
      result.events.discretes.push_back(it->second);
  std::ranges::sort(result.events.discretes);
  result.events.discretes.erase(std::ranges::unique(result.events.discretes).begin(), result.events.discretes.end());
  return result;
}

PassPlace PassBlocks::equation(int number) const {
  auto shape = std::prev(std::ranges::upper_bound(shapes_, number, {}, &PassShape::first_equation));
  while (shape->equations.empty()) --shape;  // shapes without equations begin at the same number
  const int offset = number - shape->first_equation;
  return {&*shape, offset / shape->equation_count(), offset % shape->equation_count()};
}

PassPlace PassBlocks::pass(int number) const {
  const auto shape = std::prev(std::ranges::upper_bound(shapes_, number, {}, &PassShape::first_pass));
  return {&*shape, number - shape->first_pass};
}

void PassBlocks::find_states() {
  is_state_.assign(passes_.variables.size(), 0);
  for (const PassShape& shape : shapes_)
    for (int pass = 0; pass < static_cast<int>(shape.shape->cells); ++pass)
      for (const PassNames& e : shape.equations)
        for (const int k : e.derivatives) is_state_[at(shape.variable(pass, k))] = 1;
}

void PassBlocks::list_unknowns(int number) {
  const auto first = static_cast<std::ptrdiff_t>(unknowns_.size());
  if (is_sum(number)) {
    for (const RepeatedModel::Sum::Term& term : sum(number).terms)
      if (!is_state(term.variable)) unknowns_.push_back(term.variable);
  } else {
    const PassPlace p = equation(number);
    for (const int k : p.names().derivatives) unknowns_.push_back(p.variable(k));
    for (const int k : p.names().variables)
      if (!is_state(p.variable(k))) unknowns_.push_back(p.variable(k));
  }
  std::sort(unknowns_.begin() + first, unknowns_.end());
  unknowns_.erase(std::unique(unknowns_.begin() + first, unknowns_.end()), unknowns_.end());
  start_.push_back(static_cast<int>(unknowns_.size()));
}

namespace {

/// Takes equations away that have one unknown left, and unknowns that one equation has, as long as there are any.
class Peeling {
 public:
  Peeling(const SparsePattern& by_unknowns, const PassBlocks& passes) : by_unknowns_(by_unknowns), passes_(passes) {
    const int n = by_unknowns.columns;
    matched_.assign(at(n), 0);
    taken_.assign(at(n), 0);
    left_in_equation_.resize(at(n));
    left_of_unknown_.resize(at(n));
    for (int k = 0; k < n; ++k) {
      left_in_equation_[at(k)] = static_cast<int>(passes.unknowns(k).size());
      left_of_unknown_[at(k)] = by_unknowns.start[at(k) + 1] - by_unknowns.start[at(k)];
      if (left_in_equation_[at(k)] == 1) open_.push_back(k);
      if (left_of_unknown_[at(k)] == 1) open_unknowns_.push_back(k);
    }
    while (!open_.empty() || !open_unknowns_.empty()) {
      if (!open_.empty())
        take_equation();
      else
        take_unknown();
    }
  }

  std::vector<std::pair<int, int>> first, last;  ///< equations and unknowns in their order; the last ones backwards
  bool has_taken_equation(int e) const { return matched_[at(e)] != 0; }
  bool has_taken_unknown(int v) const { return taken_[at(v)] != 0; }

 private:
  void take_equation() {
    const int e = open_.back();
    open_.pop_back();
    if (matched_[at(e)]) return;
    for (const int v : passes_.unknowns(e))
      if (!taken_[at(v)]) {
        take(e, v);
        first.emplace_back(e, v);
        return;
      }
    throw NotKept{};  // the equation has no unknown of its own
  }
  void take_unknown() {
    const int v = open_unknowns_.back();
    open_unknowns_.pop_back();
    if (taken_[at(v)]) return;
    for (int k = by_unknowns_.start[at(v)]; k < by_unknowns_.start[at(v) + 1]; ++k)
      if (const int e = by_unknowns_.row[at(k)]; !matched_[at(e)]) {
        take(e, v);
        last.emplace_back(e, v);
        return;
      }
    throw NotKept{};  // no equation is left for it
  }
  void take(int e, int v) {
    matched_[at(e)] = taken_[at(v)] = 1;
    for (int k = by_unknowns_.start[at(v)]; k < by_unknowns_.start[at(v) + 1]; ++k)
      if (const int other = by_unknowns_.row[at(k)]; --left_in_equation_[at(other)] == 1) open_.push_back(other);
    for (const int other : passes_.unknowns(e))
      if (--left_of_unknown_[at(other)] == 1) open_unknowns_.push_back(other);
  }

  const SparsePattern& by_unknowns_;
  const PassBlocks& passes_;
  std::vector<char> matched_, taken_;
  std::vector<int> left_in_equation_, left_of_unknown_, open_, open_unknowns_;
};

}  // namespace

// Most equations are assignments in some order; what is left has algebraic loops.
void PassBlocks::find_form() {
  const auto n = static_cast<int>(passes_.variables.size());
  std::vector<std::pair<int, int>> entries;
  for (int e = 0; e < n; ++e)
    for (const int v : unknowns(e)) entries.emplace_back(e, v);
  const SparsePattern pattern = make_pattern(n, n, entries);
  const Peeling peeling(pattern, *this);
  const auto add = [&](int e, int v) {
    form_.equation.push_back(e);
    form_.variable.push_back(v);
  };
  const auto close = [&] { form_.start.push_back(static_cast<int>(form_.equation.size())); };
  for (const auto& [e, v] : peeling.first) add(e, v), close();
  std::vector<int> equations, variables, place(at(n), -1);
  for (int k = 0; k < n; ++k) {
    if (!peeling.has_taken_equation(k)) equations.push_back(k);
    if (!peeling.has_taken_unknown(k)) {
      place[at(k)] = static_cast<int>(variables.size());
      variables.push_back(k);
    }
  }
  Structure loops;
  loops.equations = loops.variables = static_cast<int>(equations.size());
  entries.clear();
  for (int k = 0; k < loops.equations; ++k)
    for (const int v : unknowns(equations[at(k)]))
      if (place[at(v)] >= 0) entries.emplace_back(k, place[at(v)]);
  loops.state_pattern = make_pattern(loops.equations, loops.variables, entries);
  loops.derivative_pattern.rows = loops.derivative_pattern.columns = loops.variables;
  loops.derivative_pattern.start.assign(at(loops.variables) + 1, 0);
  const StructuralAnalysis analysis = analyse_structure(loops);
  if (analysis.singular()) throw NotKept{};
  for (int b = 0; b < analysis.blocks.blocks(); ++b) {
    for (int k = analysis.blocks.start[at(b)]; k < analysis.blocks.start[at(b) + 1]; ++k)
      add(equations[at(analysis.blocks.equation[at(k)])], variables[at(analysis.blocks.variable[at(k)])]);
    close();
  }
  for (auto it = peeling.last.rbegin(); it != peeling.last.rend(); ++it) add(it->first, it->second), close();
  block_of_equation_.resize(at(n));
  block_of_unknown_.resize(at(n));
  for (int b = 0; b < blocks(); ++b) {
    for (const int e : equations_of(b)) block_of_equation_[at(e)] = b;
    for (const int v : unknowns_of(b)) block_of_unknown_[at(v)] = b;
  }
}

}  // namespace saltus
