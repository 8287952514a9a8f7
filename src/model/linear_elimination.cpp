#include "model/linear_elimination.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>

#include "model/expression_tests.hpp"

namespace saltus {

namespace {

using Factor = LinearElimination::Factor;

/// Of two factors; the square of one that is no sum is its own.
std::pair<Expr, double> squares_of(const Factor& f) {
  return f.squares_value != 0.0 ? std::pair(f.squares, f.squares_value) : std::pair(f.expr * f.expr, f.value * f.value);
}

Factor multiplied(const Factor& a, const Factor& b) {
  Factor result{a.expr * b.expr, a.value * b.value};
  if (a.squares_value == 0.0 && b.squares_value == 0.0) return result;
  const auto [x, x_value] = squares_of(a);
  const auto [y, y_value] = squares_of(b);
  result.squares = x * y;
  result.squares_value = x_value * y_value;
  return result;
}

Expr divide(const Expr& a, const Expr& b) {
  if (b.is_constant() && std::abs(b.constant_value()) == 1.0) return b.constant_value() > 0.0 ? a : -a;
  return a / b;
}

Factor divided(const Factor& a, const Factor& b) {
  Factor result = multiplied(a, {1.0 / b.expr, 1.0 / b.value});
  result.expr = divide(a.expr, b.expr);
  return result;
}

Factor added(const Factor& a, const Factor& b) {
  const auto [x, x_value] = squares_of(a);
  const auto [y, y_value] = squares_of(b);
  return {a.expr + b.expr, a.value + b.value, x + y, x_value + y_value};
}

constexpr std::size_t longest = 6;  // rows with more terms are solved for variables that no other row has
constexpr std::size_t most_fill = 8;
constexpr double smallest_share = 0.01;  // of the largest factor of a row
constexpr double rounding = 1e-8;        // of a sum, in relation to what is summed

}  // namespace

LinearElimination::LinearElimination(const ModelData& model, std::vector<char> candidates,
                                     std::span<const Expr> residuals,
                                     const std::unordered_map<NodeId, double>& parameter_values)
    : model_(model), candidates_(std::move(candidates)), parameter_values_(parameter_values) {
  const std::size_t n = candidates_.size();
  for (std::size_t k = 0; k < n; ++k)
    if (candidates_[k]) index_.emplace(model.variables[k].id(), static_cast<int>(k));
  rows_of_.resize(n);
  other_rows_of_.resize(n);
  count_.assign(n, 0);
  classify(residuals);
  rows_.resize(residuals.size());
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    split(residuals[k], rows_[k]);
    for (const auto& [v, factor] : rows_[k].terms) {
      rows_of_[static_cast<std::size_t>(v)].push_back(static_cast<int>(k));
      ++count_[static_cast<std::size_t>(v)];
    }
    for (const int v : rows_[k].others) other_rows_of_[static_cast<std::size_t>(v)].push_back(static_cast<int>(k));
  }
}

/// What the nodes of the equations contain.
void LinearElimination::classify(std::span<const Expr> residuals) {
  const Graph& graph = *model_.graph;
  std::vector<NodeId> roots;
  for (const Expr& e : residuals) roots.push_back(e.in(*model_.graph));
  has_candidate_.assign(graph.size(), 0);
  has_derivative_.assign(graph.size(), 0);
  fixed_.assign(graph.size(), 0);
  for (const NodeId id : graph.reachable(roots)) {
    const Op op = graph.node(id).op;
    if (op == Op::constant) {
      fixed_[id] = 1;
    } else if (op == Op::symbol) {
      const SymbolKind kind = graph.symbol_of(id).kind;
      fixed_[id] = kind == SymbolKind::parameter;
      has_derivative_[id] = kind == SymbolKind::derivative;
      has_candidate_[id] = index_.contains(id);
    } else {
      fixed_[id] = op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::neg;
      graph.for_each_operand(id, [&](NodeId part) {
        fixed_[id] = fixed_[id] && fixed_[part];
        has_derivative_[id] = has_derivative_[id] || has_derivative_[part];
        has_candidate_[id] = has_candidate_[id] || has_candidate_[part];
      });
    }
  }
}

void LinearElimination::split(const Expr& residual, Row& row) {
  const std::shared_ptr<Graph>& graph = model_.graph;
  const NodeId root = residual.in(*graph);
  row.derivatives = has_derivative_[root];
  std::vector<std::pair<NodeId, Factor>> stack{{root, {.expr = 1.0, .value = 1.0}}};
  while (!stack.empty()) {
    const auto [id, factor] = stack.back();
    stack.pop_back();
    const Expr e(graph, id);
    if (!has_candidate_[id]) {
      row.rest = row.rest + factor.expr * e;
      continue;
    }
    const Node node = graph->node(id);  // a copy: factors are made of new nodes
    const Factor minus{-factor.expr, -factor.value, factor.squares, factor.squares_value};
    if (node.op == Op::symbol) {
      add_term(row, index_.at(id), factor);
    } else if (node.op == Op::add || node.op == Op::sub) {
      stack.emplace_back(node.b, node.op == Op::add ? factor : minus);
      stack.emplace_back(node.a, factor);
    } else if (node.op == Op::neg) {
      stack.emplace_back(node.a, minus);
    } else if (node.op == Op::mul && (fixed_[node.a] || fixed_[node.b])) {
      const bool first = fixed_[node.a];
      stack.emplace_back(first ? node.b : node.a, multiplied(factor, of_parameters(first ? node.a : node.b)));
    } else if (node.op == Op::div && fixed_[node.b] && is_usable(of_parameters(node.b))) {
      stack.emplace_back(node.a, divided(factor, of_parameters(node.b)));
    } else {
      row.rest = row.rest + factor.expr * e;
      std::vector<int> inside;
      for (const Expr& s : symbols_of(std::span(&e, 1), SymbolKind::variable))
        if (const auto it = index_.find(s.id()); it != index_.end()) inside.push_back(it->second);
      std::ranges::sort(inside);
      join(row.others, inside);
    }
  }
  std::erase_if(row.terms, [](const auto& term) { return is_zero(term.second.expr); });
}

LinearElimination::Factor LinearElimination::of_parameters(NodeId id) {
  const auto [it, fresh] = factors_.try_emplace(id);
  if (!fresh) return it->second;
  const Expr e(model_.graph, id);
  it->second = {.expr = e, .value = fixed_value(e, parameter_values_)};
  return it->second;
}

void LinearElimination::add_term(Row& row, int variable, const Factor& factor) {
  const auto [it, fresh] = row.terms.try_emplace(variable, factor);
  if (!fresh) it->second = added(it->second, factor);
}

void LinearElimination::join(std::vector<int>& list, const std::vector<int>& more) {
  const auto middle = static_cast<std::ptrdiff_t>(list.size());
  list.insert(list.end(), more.begin(), more.end());
  std::inplace_merge(list.begin(), list.begin() + middle, list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

bool LinearElimination::is_usable(const Factor& factor) {
  if (!factor.expr.is_constant() && looked_at_.insert(factor.expr.id()).second)
    decisions_.push_back({factor.expr, rounding * sqrt(squares_of(factor).first)});
  return is_decided(factor.value, rounding * std::sqrt(factor.squares_value));
}

bool LinearElimination::has_share_of(const Factor& factor, const Factor& other) {
  Graph& graph = *model_.graph;
  const bool varies = !factor.expr.is_constant() || !other.expr.is_constant();
  if (varies && compared_.emplace(factor.expr.in(graph), other.expr.in(graph)).second)
    decisions_.push_back({factor.expr, smallest_share * other.expr});
  return is_decided(factor.value, smallest_share * other.value);
}

bool LinearElimination::may_solve(const Row& row, int variable) {
  if (std::ranges::binary_search(row.others, variable)) return false;
  const Factor& factor = row.terms.at(variable);
  for (const auto& [v, other] : row.terms)  // whose errors would grow
    if (v != variable && !has_share_of(factor, other)) return false;
  return is_usable(factor);
}

int LinearElimination::choose(const Row& row) {
  int best = -1;
  std::pair<int, bool> least;
  for (const auto& [v, factor] : row.terms) {
    const bool one = factor.expr.is_constant() && std::abs(factor.value) == 1.0;
    const std::pair key(count_[static_cast<std::size_t>(v)], !one);
    if (best >= 0 && (key > least || (key == least && v > best))) continue;
    if (!may_solve(row, v)) continue;
    best = v;
    least = key;
  }
  if (best < 0 || row.terms.size() <= 2) return best;
  return (row.terms.size() - 1) * static_cast<std::size_t>(least.first - 1) <= most_fill ? best : -1;
}

void LinearElimination::wait(std::size_t row) {
  const std::size_t terms = rows_[row].terms.size();
  if (rows_[row].active && !rows_[row].derivatives && terms > 0 && terms <= longest)
    waiting_[terms].push_back(static_cast<int>(row));
}

void LinearElimination::remove(int variable) {
  if (--count_[static_cast<std::size_t>(variable)] == 1) alone_.push_back(variable);
}

bool LinearElimination::solve(std::size_t number, int variable) {
  Row& pivot = rows_[number];
  const Factor by = pivot.terms.at(variable);
  const Factor minus{-by.expr, -by.value, by.squares, by.squares_value};
  const Expr rest = divide(pivot.rest, minus.expr);
  std::vector<std::pair<int, Factor>> terms;
  for (const auto& [v, factor] : pivot.terms)
    if (v != variable) terms.emplace_back(v, divided(factor, minus));
  std::ranges::sort(terms, {}, &std::pair<int, Factor>::first);
  Expr solution = rest;
  std::vector<int> inside = pivot.others;
  for (const auto& [v, factor] : terms) {
    solution = solution + factor.expr * model_.variables[static_cast<std::size_t>(v)];
    join(inside, {v});
  }
  std::vector<int> reads = inside;
  join(reads, pivot.solved);
  found_.push_back({variable, number, solution, std::move(reads)});
  pivot.active = false;
  for (const auto& [v, factor] : terms) remove(v);
  for (const int r : std::exchange(rows_of_[static_cast<std::size_t>(variable)], {})) {
    Row& row = rows_[static_cast<std::size_t>(r)];
    const auto it = row.terms.find(variable);
    if (!row.active || it == row.terms.end()) continue;
    const Factor own = it->second;
    row.terms.erase(it);
    row.rest = row.rest + own.expr * rest;
    for (const auto& [v, factor] : terms) {
      const bool had = row.terms.contains(v);
      add_term(row, v, multiplied(own, factor));
      if (!had) {
        rows_of_[static_cast<std::size_t>(v)].push_back(r);
        ++count_[static_cast<std::size_t>(v)];
      } else if (is_zero(row.terms.at(v).expr)) {
        row.terms.erase(v);
        remove(v);
      }
    }
    join(row.others, pivot.others);
    join(row.solved, pivot.solved);
    for (const int v : pivot.others) other_rows_of_[static_cast<std::size_t>(v)].push_back(r);
    if (row.terms.empty() && row.others.empty() && !depends_on(row.rest, {SymbolKind::variable})) return false;
    wait(static_cast<std::size_t>(r));
  }
  for (const int r : std::exchange(other_rows_of_[static_cast<std::size_t>(variable)], {})) {
    Row& row = rows_[static_cast<std::size_t>(r)];
    if (!row.active) continue;
    if (std::erase(row.others, variable) == 0) continue;
    join(row.solved, {variable});
    join(row.others, inside);
    for (const int v : inside) other_rows_of_[static_cast<std::size_t>(v)].push_back(r);
  }
  return true;
}

bool LinearElimination::is_among_others(std::size_t variable) const {
  return std::ranges::any_of(other_rows_of_[variable], [&](int r) {
    const Row& row = rows_[static_cast<std::size_t>(r)];
    return row.active && std::ranges::binary_search(row.others, static_cast<int>(variable));
  });
}

std::vector<LinearDefinition> LinearElimination::run() {
  waiting_.resize(longest + 1);
  for (std::size_t v = candidates_.size(); v-- > 0;)
    if (count_[v] == 1) alone_.push_back(static_cast<int>(v));
  for (std::size_t k = rows_.size(); k-- > 0;) wait(k);
  bool goes_on = true;
  while (goes_on) {
    if (!alone_.empty()) {  // nothing else changes where a variable is in one row only
      const auto v = static_cast<std::size_t>(alone_.back());
      alone_.pop_back();
      if (count_[v] != 1 || is_among_others(v)) continue;
      const auto row = std::ranges::find_if(
          rows_of_[v], [&](int r) { return rows_[r].active && rows_[r].terms.contains(static_cast<int>(v)); });
      if (row == rows_of_[v].end() || rows_[*row].derivatives || !may_solve(rows_[*row], static_cast<int>(v))) continue;
      if (!solve(static_cast<std::size_t>(*row), static_cast<int>(v))) return {};
      continue;
    }
    goes_on = false;
    for (std::size_t length = 1; length <= longest && !goes_on; ++length)
      while (!waiting_[length].empty() && !goes_on) {
        const auto row = static_cast<std::size_t>(waiting_[length].back());
        waiting_[length].pop_back();
        if (!rows_[row].active || rows_[row].terms.size() != length) continue;
        const int v = choose(rows_[row]);
        if (v < 0) continue;
        if (!solve(row, v)) return {};
        goes_on = true;
      }
  }
  return std::move(found_);
}

}  // namespace saltus
