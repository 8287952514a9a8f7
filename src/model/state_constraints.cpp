// Index reduction of linear constraints between states, with symbols: the dummy derivatives of Mattsson and Söderlind
// (SIAM J. Sci. Comput. 14, 1993) where the choice of states does not depend on values.
#include "model/state_constraints.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "model/rewrite_model.hpp"

namespace saltus {

namespace {

/// Σ factor*variable + constants = 0.
struct Constraint {
  std::size_t equation;
  std::vector<int> variables;
  std::vector<Expr> factors;
};

class Reduction {
 public:
  explicit Reduction(ModelData& model) : model_(model), n_(model.variables.size()) {
    for (std::size_t k = 0; k < n_; ++k) index_.emplace(model.variables[k].id(), static_cast<int>(k));
    for (const auto& p : model.parameters) parameter_value_.emplace(p.symbol.id(), p.value);
    mark_held();
    mark_defined();
  }

  StateConstraints run() {
    do read_velocities();
    while (solve_some());
    return std::move(used_);
  }
  bool has_solved() const { return has_solved_; }

 private:
  /// Variables that stay what they are.
  void mark_held() {
    held_.assign(n_, 0);
    reset_.assign(n_, 0);
    for (std::size_t k = 0; k < n_; ++k) held_[k] = model_.variable_info[k].fixed;
    const auto mark_targets = [&](const std::vector<ModelData::Action>& actions) {
      for (const auto& a : actions)
        if (a.kind == ModelData::Action::Kind::reset)
          if (const auto it = index_.find(a.target.id()); it != index_.end())
            held_[it->second] = reset_[it->second] = 1;
    };
    for (const auto& c : model_.clauses) mark_targets(c.actions);
    for (const auto& t : model_.transitions) mark_targets(t.actions);
    for (const auto& [symbol, before] : model_.pre_symbols)
      if (const auto it = index_.find(symbol.id()); it != index_.end()) held_[it->second] = 1;
  }

  /// Variables that an equation gives as a sum or a difference: s_rel = s_b - s_a.
  void mark_defined() {
    defined_.assign(n_, 0);
    for (const ModelData::NamedEquation& e : model_.equations)
      for (const auto& [side, other] :
           {std::pair(e.equation.lhs, e.equation.rhs), std::pair(e.equation.rhs, e.equation.lhs)}) {
        const int v = variable_in(side);
        if (v < 0 || other.is_constant()) continue;
        const Op op = other.graph()->node(other.id()).op;
        if (op == Op::add || op == Op::sub) defined_[v] = 1;
      }
  }

  void find_differentiated() {
    differentiated_.assign(n_, 0);
    for (const Expr& d : symbols_of(expressions_of(model_), SymbolKind::derivative))
      if (const auto it = index_.find(model_.graph->symbol_of(d.id()).base); it != index_.end())
        differentiated_[it->second] = 1;
  }

  /// The variable whose derivative the expression is; -1 if the expression is something else.
  int differentiated_in(const Expr& e) const {
    if (!e.is_symbol() || e.graph()->symbol_of(e.id()).kind != SymbolKind::derivative) return -1;
    const auto it = index_.find(e.graph()->symbol_of(e.id()).base);
    return it == index_.end() ? -1 : it->second;
  }
  int variable_in(const Expr& e) const {
    if (!e.is_symbol()) return -1;
    const auto it = index_.find(e.id());
    return it == index_.end() ? -1 : it->second;
  }

  /// Puts v in place of der(s) in all but the one equation v = der(s), for one such v of each s: one that is
  /// differentiated itself, or held, if there is one.
  void read_velocities() {
    find_differentiated();
    struct Velocity {
      std::size_t equation = 0;
      int variable = -1;
      int rank = -1;
    };
    std::unordered_map<int, Velocity> velocity_of;
    for (std::size_t k = 0; k < model_.equations.size(); ++k) {
      const Equation& e = model_.equations[k].equation;
      for (const auto& [side, other] : {std::pair(e.lhs, e.rhs), std::pair(e.rhs, e.lhs)}) {
        const int s = differentiated_in(side), v = variable_in(other);
        if (s < 0 || v < 0 || s == v) continue;
        const int rank = 2 * differentiated_[v] + held_[v];
        Velocity& known = velocity_of[s];
        if (rank > known.rank) known = {k, v, rank};
      }
    }
    if (velocity_of.empty()) return;
    Rewrite rewrite(*model_.graph);
    std::vector<std::pair<std::size_t, Equation>> kept;
    for (const auto& [s, velocity] : velocity_of) {
      kept.emplace_back(velocity.equation, model_.equations[velocity.equation].equation);
      rewrite.replace.emplace(der(model_.variables[s]).id(), model_.variables[velocity.variable].id());
    }
    rewrite_model(model_, rewrite);
    for (auto& [k, equation] : kept) model_.equations[k].equation = equation;
  }

  /// Solves constraints that have no variable in common that is solved for. False: there are none.
  bool solve_some() {
    find_differentiated();
    std::unordered_set<int> solved;
    std::vector<std::pair<int, Expr>> slopes;
    for (const Constraint& c : constraints()) {
      if (std::ranges::any_of(c.variables, [&](int v) { return solved.contains(v); })) continue;
      const int place = choose(c);
      if (place < 0) continue;
      Expr slope = 0.0;
      for (std::size_t i = 0; i < c.variables.size(); ++i)
        if (static_cast<int>(i) != place)
          slope =
              slope - c.factors[i] / c.factors[static_cast<std::size_t>(place)] * der(model_.variables[c.variables[i]]);
      const int v = c.variables[static_cast<std::size_t>(place)];
      solved.insert(v);
      slopes.emplace_back(v, slope);
    }
    for (const auto& [v, slope] : slopes) {  // one after the other: a slope may read the derivative of a later variable
      Rewrite rewrite(*model_.graph);
      rewrite.replace.emplace(der(model_.variables[v]).id(), slope.in(*model_.graph));
      rewrite_model(model_, rewrite);
    }
    has_solved_ = has_solved_ || !slopes.empty();
    return !slopes.empty();
  }

  /// Equations that become constraints between differentiated variables once algebraic variables are eliminated.
  std::vector<Constraint> constraints() {
    const Elimination elimination = eliminate_explicit(model_);
    Rewrite rewrite(*model_.graph);
    for (const auto& [variable, solution] : elimination.replacements())
      rewrite.replace.emplace(variable.id(), solution.in(*model_.graph));
    std::vector<Constraint> found;
    for (std::size_t k = 0; k < model_.equations.size(); ++k) {
      if (elimination.equation_used[k]) continue;
      const Expr residual(model_.graph, rewrite(model_.equations[k].equation.residual().in(*model_.graph)));
      if (std::optional<Constraint> c = constraint_of(residual, k)) found.push_back(std::move(*c));
    }
    return found;
  }

  /// Nothing where something else than differentiated variables and parameters occurs, or a variable not linearly.
  std::optional<Constraint> constraint_of(const Expr& residual, std::size_t equation) const {
    const Graph& graph = *model_.graph;
    const NodeId root = residual.id();
    Constraint result{equation, {}, {}};
    std::vector<NodeId> ids = graph.reachable(std::span(&root, 1));
    for (const NodeId id : ids) {
      const Op op = graph.node(id).op;
      if (op == Op::symbol) {
        const SymbolKind kind = graph.symbol_of(id).kind;
        if (kind == SymbolKind::parameter) continue;
        const auto it = index_.find(id);
        if (it == index_.end() || !differentiated_[it->second]) return std::nullopt;
        result.variables.push_back(it->second);
      } else if (op != Op::constant && op != Op::add && op != Op::sub && op != Op::mul && op != Op::div &&
                 op != Op::neg) {
        return std::nullopt;
      }
    }
    if (result.variables.empty()) return std::nullopt;
    for (const int v : result.variables) {
      result.factors.push_back(derivative(residual, model_.variables[v]));
      if (!is_of_parameters(result.factors.back())) return std::nullopt;
    }
    return result;
  }

  /// The place of the variable that the constraint is solved for; -1: none. One that an equation defines comes first:
  /// s_rel, in s_rel = s_b - s_a. If one of the others is reset, only such a one follows it. Sums of three and more in
  /// which none is defined (currents at the star point of a converter) are left alone: errors of all others would meet
  /// in one variable, and no error test looks at it.
  int choose(const Constraint& c) {
    const Equation& written = model_.equations[c.equation].equation;
    const auto is_defined = [&](int v) {
      return defined_[v] || variable_in(written.lhs) == v || variable_in(written.rhs) == v;
    };
    if (c.variables.size() > 2 && std::ranges::none_of(c.variables, is_defined)) return -1;
    const bool some_reset = std::ranges::any_of(c.variables, [&](int v) { return reset_[v] != 0; });
    int best = -1;
    std::tuple<bool, int> least;
    for (std::size_t i = 0; i < c.variables.size(); ++i) {
      const int v = c.variables[i];
      const bool defined = is_defined(v);
      if (held_[v] || (some_reset && !defined)) continue;
      used_.by_start.push_back(v);
      if (guesses_derivative(model_, v)) continue;
      const std::tuple key(!defined, v);
      if ((best >= 0 && key > least) || !has_share(c, i)) continue;
      best = static_cast<int>(i);
      least = key;
    }
    return best;
  }

  /// Whether the factor of a variable is not much smaller than that of another one.
  bool has_share(const Constraint& c, std::size_t place) {
    constexpr double smallest_share = 0.01;
    const Expr& own = c.factors[place];
    for (std::size_t i = 0; i < c.factors.size(); ++i) {
      const Expr bound = i == place ? Expr(0.0) : smallest_share * c.factors[i];
      if (!own.is_constant() || !bound.is_constant()) used_.decisions.push_back({own, bound});
      if (!is_decided(fixed_value(own, parameter_value_), fixed_value(bound, parameter_value_))) return false;
    }
    return true;
  }

  ModelData& model_;
  std::size_t n_;
  std::unordered_map<NodeId, int> index_;
  std::unordered_map<NodeId, double> parameter_value_;
  std::vector<char> held_, reset_, defined_, differentiated_;
  bool has_solved_ = false;
  StateConstraints used_;
};

}  // namespace

StateConstraints solve_state_constraints(ModelData& model) {
  if (model.unbalanced) return {};
  ModelData reduced = model;
  Reduction reduction(reduced);
  StateConstraints used = reduction.run();
  if (reduction.has_solved()) model = std::move(reduced);
  return used;
}

}  // namespace saltus
