#include "model/elimination.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace saltus {

namespace {

class Search {
 public:
  explicit Search(const ModelData& model) : model_(model), n_(model.variables.size()) {
    for (std::size_t k = 0; k < n_; ++k) index_[model.variables[k].id()] = static_cast<int>(k);
    for (const auto& p : model.parameters) parameter_value_[p.symbol.id()] = p.value;
  }

  Elimination run() {
    Elimination result = Elimination::none(model_);
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
    // Without states one variable is kept, so that steps follow what moves with time; nothing need be kept where nothing moves.
    if (n_ > 0 && sorted_.size() == n_ && moves(result.solution)) {
      result.solution[sorted_.back()] = {};
      sorted_.pop_back();
    }
    for (const int v : sorted_) {
      result.eliminated[v] = 1;
      result.equation_used[definition_[v]] = 1;
    }
    result.by_start = by_start_;
    result.divisors = std::move(divisors_);
    return result;
  }

 private:
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
    forbidden_.assign(n_, 0);
    std::vector<Expr> all;
    for (const auto& e : model_.equations) push(all, e);
    for (const auto& m : model_.modes)
      for (const auto& e : m.equations) push(all, e);
    for (const auto& e : model_.initial_equations) push(all, e);
    for (const Expr& d : symbols_of(all, SymbolKind::derivative)) forbid(model_.graph->symbol_of(d.id()).base);
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
        if (!side.factor.is_constant()) divisors_.push_back(side.factor);
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
    if (const int v = candidate(a); v >= 0 && is_fixed(b)) return {v, node.op == Op::mul ? b : 1.0 / b};
    if (const int v = candidate(b); node.op == Op::mul && v >= 0 && is_fixed(a)) return {v, a};
    return {};
  }

  /// Whether nothing but parameters occurs.
  static bool is_fixed(const Expr& c) {
    if (c.is_constant()) return true;
    const std::span<const Expr> one(&c, 1);
    for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time, SymbolKind::discrete})
      if (!symbols_of(one, kind).empty()) return false;
    return locks_of(one).empty();
  }

  /// Whether the values of the parameters give nothing that can be divided by.
  bool is_zero(const Expr& c) const {
    if (c.is_constant()) return !usable_divisor(c.constant_value());
    const std::span<const Expr> one(&c, 1);
    std::vector<std::pair<Expr, Expr>> values;
    for (const Expr& p : symbols_of(one, SymbolKind::parameter)) values.emplace_back(p, parameter_value_.at(p.id()));
    const Expr value = substitute(one, values).front();
    return !value.is_constant() || !usable_divisor(value.constant_value());
  }

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
          if (!gives_derivative(v)) break;
          by_start_.push_back(v);
          if (!guesses_derivative(model_, v)) break;
        }
        definition_[v] = -1;
      }
    }
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

  // Kahn's algorithm; what stays in cycles keeps its equation.
  void order_definitions() {
    std::vector<std::vector<int>> used_by(n_);
    std::vector<int> waiting(n_, 0);
    for (std::size_t v = 0; v < n_; ++v) {
      if (definition_[v] < 0) continue;
      for (const int w : variables_in(right_hand_side(static_cast<int>(v))))
        if (definition_[w] >= 0) {
          used_by[w].push_back(static_cast<int>(v));
          ++waiting[v];
        }
    }
    std::vector<int> ready;
    for (std::size_t v = n_; v-- > 0;)
      if (definition_[v] >= 0 && waiting[v] == 0) ready.push_back(static_cast<int>(v));
    while (!ready.empty()) {
      const int v = ready.back();
      ready.pop_back();
      sorted_.push_back(v);
      for (const int w : used_by[v])
        if (--waiting[w] == 0) ready.push_back(w);
    }
  }

  const ModelData& model_;
  std::size_t n_;
  std::unordered_map<NodeId, int> index_;
  std::vector<char> forbidden_, from_left_;
  std::vector<int> definition_, sorted_, by_start_;
  std::vector<Expr> factor_;    // by variable, of its definition; 0: none
  std::vector<Expr> divisors_;  // that were looked at
  std::unordered_map<NodeId, double> parameter_value_;
};

}  // namespace

bool usable_divisor(double value) { return value != 0.0 && std::isfinite(value) && std::isfinite(1.0 / value); }

std::vector<std::pair<Expr, Expr>> Elimination::replacements() const {
  std::vector<std::pair<Expr, Expr>> result;
  for (std::size_t k = 0; k < eliminated.size(); ++k)
    if (eliminated[k]) result.emplace_back(variables[k], solution[k]);
  return result;
}

Elimination Elimination::none(const ModelData& model) {
  const std::size_t n = model.variables.size();
  return {std::vector<char>(n, 0), std::vector<Expr>(n), std::vector<char>(model.equations.size(), 0), model.variables, {}};
}

// z = der(x) with a start value is the only place for a guess of der(x): initialisation needs it where the equations
// for der(x) have several solutions.
bool guesses_derivative(const ModelData& model, int v) {
  const VariableInfo& info = model.variable_info[static_cast<std::size_t>(v)];
  return info.start != 0.0 || model.start_values.contains(info.name);
}

Elimination eliminate_explicit(const ModelData& model) { return Search(model).run(); }

}  // namespace saltus
