#include "model/elimination.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "model/linear_elimination.hpp"

namespace saltus {

namespace {

/// Numbers in an order in which those that one needs come before it: Kahn's algorithm. Cycles are left out.
std::vector<int> by_needs(const std::vector<std::vector<int>>& needs) {
  std::vector<std::vector<int>> needed_by(needs.size());
  std::vector<std::size_t> waiting(needs.size());
  std::vector<int> ready, order;
  for (std::size_t k = needs.size(); k-- > 0;) {
    waiting[k] = needs[k].size();
    if (needs[k].empty()) ready.push_back(static_cast<int>(k));
  }
  for (std::size_t k = 0; k < needs.size(); ++k)
    for (const int need : needs[k]) needed_by[static_cast<std::size_t>(need)].push_back(static_cast<int>(k));
  while (!ready.empty()) {
    const int k = ready.back();
    ready.pop_back();
    order.push_back(k);
    for (const int other : needed_by[static_cast<std::size_t>(k)])
      if (--waiting[static_cast<std::size_t>(other)] == 0) ready.push_back(other);
  }
  return order;
}

class Search {
 public:
  /// `needed`: variables that must stay.
  Search(const ModelData& model, const std::vector<int>& needed) : model_(model), n_(model.variables.size()) {
    forbidden_.assign(n_, 0);
    for (const int v : needed) forbidden_[v] = 1;
    for (std::size_t k = 0; k < n_; ++k) index_[model.variables[k].id()] = static_cast<int>(k);
    for (const auto& p : model.parameters) parameter_value_[p.symbol.id()] = p.value;
  }

  /// `together`: also variables that linear equations determine together.
  Elimination run(bool together) {
    Elimination result = Elimination::none(model_);
    together_ = together;
    mark_forbidden();
    choose_definitions();
    choose_multiples();
    order_definitions();
    // in order, so that each solution is free of eliminated variables before it is put into the next
    Rewrite rewrite(*model_.graph);
    for (const int v : sorted_) {
      result.solution[v] = Expr(model_.graph, rewrite(right_hand_side(v).in(*model_.graph)));
      rewrite.replace.emplace(model_.variables[v].id(), result.solution[v].id());
    }
    for (const int v : sorted_) {
      result.eliminated[v] = 1;
      result.equation_used[definition_[v]] = 1;
    }
    if (together) eliminate_together(rewrite, result);
    // Without states one variable is kept, so that steps follow what moves with time; nothing need be kept where
    // nothing moves.
    if (n_ > 0 && sorted_.size() == n_ && moves(result.solution)) {
      const int kept = sorted_.back();
      result.solution[kept] = {};
      result.eliminated[kept] = 0;
      result.equation_used[definition_[kept]] = 0;
    }
    result.by_start = by_start_;
    result.decisions = std::move(decisions_);
    return result;
  }

 private:
  /// Of the equations that are left, those that are linear. `rewrite` replaces what is eliminated so far.
  void eliminate_together(Rewrite& rewrite, Elimination& result) {
    std::vector<char> candidates(n_, 0);
    for (std::size_t v = 0; v < n_; ++v)
      candidates[v] = !forbidden_[v] && !result.eliminated[v] && !guesses_derivative(model_, static_cast<int>(v));
    if (std::ranges::find(candidates, 1) == candidates.end()) return;
    std::vector<std::size_t> numbers;
    std::vector<Expr> residuals;
    for (std::size_t k = 0; k < model_.equations.size(); ++k) {
      if (result.equation_used[k]) continue;
      numbers.push_back(k);
      residuals.emplace_back(model_.graph, rewrite(model_.equations[k].equation.residual().in(*model_.graph)));
    }
    const auto solve_for = [&](const std::vector<char>& wanted) {
      LinearElimination linear(model_, wanted, residuals, parameter_value_);
      std::vector<LinearDefinition> found = linear.run();
      decisions_.insert(decisions_.end(), linear.decisions().begin(), linear.decisions().end());
      return found;
    };
    std::vector<LinearDefinition> found = solve_for(candidates);
    // where the model stays implicit nothing is gained by guards that are not linear any more
    if (found.size() < static_cast<std::size_t>(std::ranges::count(candidates, 1)) || has_other_algebraic(result)) {
      const std::size_t before = static_cast<std::size_t>(std::ranges::count(candidates, 1));
      for (const int v : read_by_relations(rewrite)) candidates[v] = 0;
      if (static_cast<std::size_t>(std::ranges::count(candidates, 1)) < before) found = solve_for(candidates);
    }
    if (found.empty()) return;
    // those that others read come first
    std::vector<int> place(n_, -1);
    for (std::size_t k = 0; k < found.size(); ++k) place[found[k].variable] = static_cast<int>(k);
    std::vector<std::vector<int>> needs(found.size());
    for (std::size_t k = 0; k < found.size(); ++k)
      for (const int w : found[k].reads)
        if (place[w] >= 0) needs[k].push_back(place[w]);
    const std::vector<int> order = by_needs(needs);
    Rewrite solve(*model_.graph);
    if (order.size() != found.size()) throw UsageError("linear equations were solved in a circle");
    for (const int k : order) {
      const LinearDefinition& d = found[static_cast<std::size_t>(k)];
      const int v = d.variable;
      result.solution[v] = Expr(model_.graph, solve(d.solution.in(*model_.graph)));
      solve.replace.emplace(model_.variables[v].id(), result.solution[v].id());
      result.eliminated[v] = 1;
      definition_[v] = static_cast<int>(numbers[d.equation]);
      result.equation_used[definition_[v]] = 1;
    }
    for (const int v : sorted_) result.solution[v] = Expr(model_.graph, solve(result.solution[v].in(*model_.graph)));
    for (const int k : order) sorted_.push_back(found[static_cast<std::size_t>(k)].variable);
  }

  /// Whether some variables are neither differentiated nor eliminated nor may be.
  bool has_other_algebraic(const Elimination& result) const {
    for (std::size_t v = 0; v < n_; ++v)
      if (!differentiated_[v] && !result.eliminated[v] &&
          (forbidden_[v] || guesses_derivative(model_, static_cast<int>(v))))
        return true;
    return false;
  }

  /// Variables in switching functions.
  std::vector<int> read_by_relations(Rewrite& rewrite) const {
    std::vector<Expr> all;
    const auto add = [&](const Expr& e) {
      if (!e.is_constant()) all.push_back(e);
    };
    const auto add_actions = [&](const std::vector<ModelData::Action>& actions) {
      for (const ModelData::Action& a : actions) add(a.value), add(a.only_if.expr());
    };
    for (const auto& e : model_.equations) add(e.equation.lhs), add(e.equation.rhs);
    for (const auto& m : model_.modes)
      for (const auto& e : m.equations) add(e.equation.lhs), add(e.equation.rhs);
    for (const auto& c : model_.clauses) add(c.condition.expr()), add_actions(c.actions);
    for (const auto& t : model_.transitions) add(t.condition.expr()), add_actions(t.actions);
    for (const auto& d : model_.definitions) add(d.value);
    for (const auto& a : model_.assertions) add(a.condition.expr());
    std::vector<Expr> functions;
    for (const Expr& lock : locks_of(all))
      functions.emplace_back(model_.graph, rewrite(switching_function(lock).in(*model_.graph)));
    std::vector<int> read;
    for (const Expr& s : symbols_of(functions, SymbolKind::variable))
      if (const auto it = index_.find(s.id()); it != index_.end()) read.push_back(it->second);
    return read;
  }

  /// Whether one of the expressions changes between events: it contains time other than in a locked relation.
  bool moves(const std::vector<Expr>& expressions) const {
    std::vector<NodeId> ids, leaves;
    for (const Expr& e : expressions) ids.push_back(e.in(*model_.graph));
    for (const Expr& lock : locks_of(expressions)) leaves.push_back(lock.id());
    const std::vector<NodeId> nodes = model_.graph->reachable(ids, leaves);
    return std::find(nodes.begin(), nodes.end(), model_.time.id()) != nodes.end();
  }

  // A variable that is differentiated, reset, fixed or seen through pre() must stay.
  void mark_forbidden() {
    std::vector<Expr> all;
    for (const auto& e : model_.equations) push(all, e);
    for (const auto& m : model_.modes)
      for (const auto& e : m.equations) push(all, e);
    for (const auto& e : model_.initial_equations) push(all, e);
    differentiated_.assign(n_, 0);
    for (const Expr& d : symbols_of(all, SymbolKind::derivative)) {
      forbid(model_.graph->symbol_of(d.id()).base);
      if (const auto it = index_.find(model_.graph->symbol_of(d.id()).base); it != index_.end())
        differentiated_[it->second] = 1;
    }
    for (std::size_t k = 0; k < n_; ++k)
      if (model_.variable_info[k].fixed) forbidden_[k] = 1;
    const auto forbid_targets = [&](const std::vector<ModelData::Action>& actions) {
      for (const auto& a : actions)
        if (a.kind == ModelData::Action::Kind::reset) forbid(a.target.id());
    };
    for (const auto& c : model_.clauses) forbid_targets(c.actions);
    for (const auto& t : model_.transitions) forbid_targets(t.actions);
    for (const auto& [symbol, before] : model_.pre_symbols)
      if (const auto it = index_.find(symbol.id()); it != index_.end()) forbidden_[it->second] = 1;
  }

  static void push(std::vector<Expr>& all, const ModelData::NamedEquation& e) {
    all.push_back(e.equation.lhs);
    all.push_back(e.equation.rhs);
  }

  void forbid(NodeId id) {
    if (const auto it = index_.find(id); it != index_.end()) forbidden_[it->second] = 1;
  }

  int candidate(const Expr& e) const {
    if (!e.is_symbol()) return -1;
    const auto it = index_.find(e.id());
    return it == index_.end() || forbidden_[it->second] ? -1 : it->second;
  }

  /// Of the equations that are left, those in which one side is a multiple of a variable.
  void choose_multiples() {
    std::vector<char> used(model_.equations.size(), 0);
    for (const int k : definition_)
      if (k >= 0) used[static_cast<std::size_t>(k)] = 1;
    for (std::size_t k = 0; k < model_.equations.size(); ++k) {
      if (used[k]) continue;
      const Equation& e = model_.equations[k].equation;
      for (const bool left : {true, false}) {
        const Multiple side = multiple(left ? e.lhs : e.rhs);
        const int v = side.variable;
        if (v < 0 || definition_[v] >= 0) continue;
        if (!side.factor.is_constant()) decisions_.push_back({side.factor, 0.0});
        if (is_zero(side.factor)) continue;
        definition_[v] = static_cast<int>(k);
        from_left_[v] = left;
        factor_[v] = side.factor;
        const auto inside = variables_in(right_hand_side(v));
        if (std::find(inside.begin(), inside.end(), v) == inside.end() && !gives_derivative(v)) break;
        definition_[v] = -1;
        factor_[v] = {};
      }
    }
  }

  struct Multiple {
    int variable = -1;  // -1: it is none
    Expr factor;
  };

  /// c*v, v*c or v/c with a factor of parameters.
  Multiple multiple(const Expr& e) const {
    if (!e.graph() || e.is_constant()) return {};
    const Node& node = e.graph()->node(e.id());
    if (node.op == Op::neg) return {candidate(Expr(e.graph(), node.a)), Expr(-1.0)};
    if (node.op != Op::mul && node.op != Op::div) return {};
    const Expr a(e.graph(), node.a), b(e.graph(), node.b);
    if (const int v = candidate(a); v >= 0 && is_of_parameters(b)) return {v, node.op == Op::mul ? b : 1.0 / b};
    if (const int v = candidate(b); node.op == Op::mul && v >= 0 && is_of_parameters(a)) return {v, a};
    return {};
  }

  /// Whether the values of the parameters give nothing that can be divided by.
  bool is_zero(const Expr& c) const { return !is_decided(value(c)); }
  double value(const Expr& c) const { return fixed_value(c, parameter_value_); }

  std::vector<int> variables_in(const Expr& e) const {
    std::vector<int> result;
    for (const Expr& s : symbols_of(std::span(&e, 1), SymbolKind::variable))
      if (const auto it = index_.find(s.id()); it != index_.end()) result.push_back(it->second);
    return result;
  }

  void choose_definitions() {
    definition_.assign(n_, -1);
    from_left_.assign(n_, 0);
    factor_.assign(n_, {});
    for (std::size_t k = 0; k < model_.equations.size(); ++k) {
      const Equation& e = model_.equations[k].equation;
      for (const bool left : {true, false}) {
        const int v = candidate(left ? e.lhs : e.rhs);
        if (v < 0 || definition_[v] >= 0) continue;
        definition_[v] = static_cast<int>(k);
        from_left_[v] = left;
        const auto inside = variables_in(right_hand_side(v));
        if (std::find(inside.begin(), inside.end(), v) == inside.end()) {
          if (!gives_derivative(v)) {
            if (!enlarges_errors(v)) break;
          } else {
            by_start_.push_back(v);
            if (!guesses_derivative(model_, v)) break;
          }
        }
        definition_[v] = -1;
      }
    }
  }

  /// Whether errors of variables that are no states are much larger in v: v = 1e5*w. Then linear equations are solved
  /// for w, if v may wait for that.
  bool enlarges_errors(int v) {
    constexpr double most = 100.5;  // a factor of 100 is fine
    if (!together_ || guesses_derivative(model_, v)) return false;
    const Expr side = right_hand_side(v);
    if (side.is_constant()) return false;
    const Graph& graph = *side.graph();
    std::vector<std::pair<NodeId, Expr>> open{{side.id(), 1.0}};
    for (std::size_t looked_at = 0; !open.empty() && looked_at < 1000; ++looked_at) {
      const auto [id, factor] = open.back();
      open.pop_back();
      const Node node = graph.node(id);  // a copy: factors are made of new nodes
      const auto times = [&](NodeId part) { return factor * Expr(side.graph(), part); };
      if (node.op == Op::symbol) {
        if (candidate(Expr(side.graph(), id)) < 0) continue;
        if (!factor.is_constant()) decisions_.push_back({factor, most});
        if (is_decided(value(factor), most)) return true;
      } else if (node.op == Op::add || node.op == Op::sub) {
        open.insert(open.end(), {{node.a, factor}, {node.b, factor}});
      } else if (node.op == Op::neg) {
        open.emplace_back(node.a, factor);
      } else if (node.op == Op::select) {
        open.insert(open.end(), {{node.b, factor}, {node.c, factor}});
      } else if (node.op == Op::mul && is_of_parameters(Expr(side.graph(), node.a))) {
        open.emplace_back(node.b, times(node.a));
      } else if (node.op == Op::mul && is_of_parameters(Expr(side.graph(), node.b))) {
        open.emplace_back(node.a, times(node.b));
      } else if (node.op == Op::div && is_of_parameters(Expr(side.graph(), node.b))) {
        open.emplace_back(node.a, factor / Expr(side.graph(), node.b));
      }
    }
    return false;
  }

  bool gives_derivative(int v) const {
    const Expr side = right_hand_side(v);
    return !symbols_of(std::span(&side, 1), SymbolKind::derivative).empty();
  }

  Expr right_hand_side(int v) const {
    const Equation& e = model_.equations[definition_[v]].equation;
    const Expr& other = from_left_[v] ? e.rhs : e.lhs;
    return has_factor(v) ? other / factor_[v] : other;
  }

  bool has_factor(int v) const { return factor_[v].graph() || factor_[v].constant_value() != 0.0; }

  // What stays in cycles keeps its equation.
  void order_definitions() {
    std::vector<std::vector<int>> needs(n_);
    for (std::size_t v = 0; v < n_; ++v)
      if (definition_[v] >= 0)
        for (const int w : variables_in(right_hand_side(static_cast<int>(v))))
          if (definition_[w] >= 0) needs[v].push_back(w);
    sorted_ = by_needs(needs);
    std::erase_if(sorted_, [&](int v) { return definition_[v] < 0; });
  }

  const ModelData& model_;
  std::size_t n_;
  bool together_ = false;
  std::unordered_map<NodeId, int> index_;
  std::vector<char> forbidden_, differentiated_, from_left_;
  std::vector<int> definition_, sorted_, by_start_;
  std::vector<Expr> factor_;  // by variable, of its definition; 0: none
  std::vector<Elimination::Decision> decisions_;
  std::unordered_map<NodeId, double> parameter_value_;
};

}  // namespace

bool is_decided(double value, double bound) {
  return value != 0.0 && std::isfinite(value) && std::isfinite(1.0 / value) && std::abs(value) >= std::abs(bound);
}

bool is_of_parameters(const Expr& e) {
  if (e.is_constant()) return true;
  const std::span<const Expr> one(&e, 1);
  for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time, SymbolKind::discrete})
    if (!symbols_of(one, kind).empty()) return false;
  return locks_of(one).empty();
}

double fixed_value(const Expr& e, const std::unordered_map<NodeId, double>& parameter_values) {
  if (e.is_constant()) return e.constant_value();
  if (const auto it = parameter_values.find(e.id()); it != parameter_values.end()) return it->second;
  const std::span<const Expr> one(&e, 1);
  std::vector<std::pair<Expr, Expr>> values;
  for (const Expr& p : symbols_of(one, SymbolKind::parameter)) values.emplace_back(p, parameter_values.at(p.id()));
  const Expr result = substitute(one, values).front();
  return result.is_constant() ? result.constant_value() : 0.0;
}

std::vector<std::pair<Expr, Expr>> Elimination::replacements() const {
  std::vector<std::pair<Expr, Expr>> result;
  for (std::size_t k = 0; k < eliminated.size(); ++k)
    if (eliminated[k]) result.emplace_back(variables[k], solution[k]);
  return result;
}

Elimination Elimination::none(const ModelData& model) {
  const std::size_t n = model.variables.size();
  return {
      std::vector<char>(n, 0), std::vector<Expr>(n), std::vector<char>(model.equations.size(), 0), model.variables, {}};
}

// z = der(x) with a start value is the only place for a guess of der(x): initialisation needs it where the equations
// for der(x) have several solutions.
bool guesses_derivative(const ModelData& model, int v) {
  const VariableInfo& info = model.variable_info[static_cast<std::size_t>(v)];
  return info.start != 0.0 || model.start_values.contains(info.name);
}

namespace {

/// Variables that a clause reads to assign something on which they depend themselves: the two are found together, from
/// equations that are not solved. (What a clause reads of its own target directly is the value before.)
std::vector<int> read_by_their_source(const ModelData& model, const Elimination& elimination) {
  std::unordered_map<NodeId, int> index;
  for (std::size_t k = 0; k < elimination.eliminated.size(); ++k)
    if (elimination.eliminated[k]) index.emplace(model.variables[k].id(), static_cast<int>(k));
  std::vector<int> found;
  const auto look = [&](const std::vector<ModelData::Action>& actions) {
    for (const ModelData::Action& a : actions) {
      if (a.kind != ModelData::Action::Kind::assign) continue;
      for (const Expr& e : {a.value, a.only_if.expr()}) {
        if (e.is_constant()) continue;
        for (const Expr& v : symbols_of(std::span(&e, 1), SymbolKind::variable)) {
          const auto it = index.find(v.id());
          if (it == index.end() || elimination.solution[it->second].is_constant()) continue;
          const std::vector<Expr> sources =
              symbols_of(std::span(&elimination.solution[it->second], 1), SymbolKind::discrete);
          if (std::ranges::any_of(sources, [&](const Expr& q) { return q.same(a.target); }))
            found.push_back(it->second);
        }
      }
    }
  };
  for (const auto& c : model.clauses) look(c.actions);
  for (const auto& t : model.transitions) look(t.actions);
  return found;
}

}  // namespace

Elimination eliminate_explicit(const ModelData& model, bool together) {
  std::vector<int> needed;
  while (true) {
    Elimination result = Search(model, needed).run(together);
    const std::vector<int> more = read_by_their_source(model, result);
    if (more.empty()) return result;
    needed.insert(needed.end(), more.begin(), more.end());
  }
}

}  // namespace saltus
