// Clauses of clocked equations: what they assign at the ticks of their clocks.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>

#include "modelica/flatten/clocked_partitions.hpp"

namespace saltus::modelica {

namespace {

using ClauseAction = ModelData::Action::Kind;

}  // namespace

void ClockedPartitions::replace_holds() {
  Rewrite rewrite(*graph_);
  for (const auto& [id, op] : f_.clock_operators_)
    if (op.kind == ClockKind::hold) rewrite.replace.emplace(id, op.argument.scalar().id());
  const auto apply = [&](Expr& e) {
    if (e.graph()) e = Expr(graph_, rewrite(e.id()));
  };
  const auto condition = [&](BoolExpr& truth) {
    Expr e = truth.expr();
    apply(e);
    truth = BoolExpr(e);
  };
  std::vector<FlatEquation> unclocked;
  for (std::size_t k = 0; k < f_.equations_.size(); ++k) {
    if (roots_.contains(base_.find(node_of_equation(k)))) continue;
    FlatEquation e = f_.equations_[k];
    apply(e.lhs.elements[0]);
    apply(e.rhs.elements[0]);
    unclocked.push_back(std::move(e));
  }
  f_.equations_ = std::move(unclocked);
  for (FlatClause& clause : f_.clauses_) {
    condition(clause.condition);
    for (FlatAction& action : clause.actions) {
      apply(action.value);
      condition(action.only_if);
    }
  }
  for (auto& assertion : f_.assertions_) condition(assertion.condition);
  for (FlatEquation& e : f_.initial_equations_) {
    apply(e.lhs.elements[0]);
    apply(e.rhs.elements[0]);
  }
  for (auto& [id, op] : f_.clock_operators_)
    if (!op.argument.elements.empty()) apply(op.argument.elements[0]);
  for (Definition& definition : definitions_) {
    apply(definition.value);
    f_.definitions_.push_back({definition.symbol, definition.value, definition.where});
  }
}

Expr ClockedPartitions::before(const Expr& symbol) {
  if (names_.contains(symbol.id())) return f_.model_->pre(symbol);
  return f_.pre(Value(type_of(symbol.id()), Variability::discrete, symbol), {}).scalar();
}

Expr ClockedPartitions::sampled(const Expr& u, bool event) {
  if (u.is_constant()) return u;
  Rewrite rewrite(*graph_);
  const BoolExpr initial = event ? BoolExpr(false) : f_.model_->initial();
  for (const NodeId id : symbols_in(u)) {
    if (!is_variable(id)) continue;
    const Expr now = expr(id), left = before(now);
    const Expr value = type_of(id) == TypeKind::boolean ? if_else(initial, BoolExpr(now), BoolExpr(left)).expr()
                                                        : if_else(initial, now, left);
    rewrite.replace.emplace(id, value.id());
  }
  return {graph_, rewrite(u.id())};
}

BoolExpr ClockedPartitions::first_tick(Part& part) {
  if (!part.ticked) part.ticked = hidden("ticked", TypeKind::boolean, 0.0);
  return !BoolExpr(f_.model_->pre(*part.ticked));
}

Expr ClockedPartitions::interval_of(Base& base, Part& part) {
  if (!base.is_event()) return Expr(part.clock.step.value() * base.unit);
  if (!part.last_time) part.last_time = hidden("time", TypeKind::real, 0.0);
  return if_else(first_tick(part), Expr(base.clock->seconds), f_.model_->time() - f_.model_->pre(*part.last_time));
}

Expr ClockedPartitions::replaced(const Expr& e, Base& base, Part& part) {
  if (!e.graph()) return e;
  Rewrite rewrite(*graph_);
  for (const NodeId id : symbols_in(e)) {
    const ClockOperator* op = operator_of(id);
    if (!op) continue;
    Expr value;
    if (op->kind == ClockKind::sample)
      value = sampled(op->argument.scalar(), base.is_event());
    else if (op->kind == ClockKind::previous)
      value = before(op->argument.scalar());
    else if (op->kind == ClockKind::interval)
      value = interval_of(base, part);
    else if (op->kind == ClockKind::first_tick)
      value = first_tick(part).expr();
    else
      value = op->argument.scalar();
    rewrite.replace.emplace(id, value.in(*graph_));
  }
  return {graph_, rewrite(e.id())};
}

void ClockedPartitions::emit(Base& base) {
  const std::vector<Row>& rows = rows_of_.at(&base);
  if (base.is_event() && !base.blocks.empty()) {
    base.count = hidden("tick", TypeKind::integer, -1.0);
    base.condition = hidden("condition", TypeKind::boolean, 1.0);  // what holds from the start makes no tick
    f_.definitions_.push_back({*base.condition, base.clock->argument.scalar(), base.clock->where});
    f_.clauses_.push_back(
        {condition_of(base),
         {{ClauseAction::assign, *base.count, f_.model_->pre(*base.count) + 1.0, "", base.clock->where}},
         base.clock->where});
  }
  for (std::size_t k = 0; k < base.blocks.size();) {
    const std::size_t p = base.blocks[k].part;
    std::vector<FlatAction> actions;
    const Location where = rows[base.blocks[k].rows.front()].where;
    for (; k < base.blocks.size() && base.blocks[k].part == p; ++k) solve(base, base.blocks[k], rows, actions);
    add_clause(base, parts_[p], std::move(actions), where);
  }
  for (const std::size_t p : base.parts) {
    Part& part = parts_[p];
    std::vector<FlatAction> actions;
    if (part.last_time) actions.push_back({ClauseAction::assign, *part.last_time, f_.model_->time(), "", part.where});
    if (part.ticked) actions.push_back({ClauseAction::assign, *part.ticked, Expr(1.0), "", part.where});
    if (!actions.empty()) add_clause(base, part, std::move(actions), part.where);
  }
}

void ClockedPartitions::add_clause(Base& base, Part& part, std::vector<FlatAction> actions, const Location& where) {
  if (!base.is_event()) {
    f_.start_time_used_ = true;
    const double start = f_.start_time_ + part.clock.first.value() * base.unit;
    const double interval = part.clock.step.value() * base.unit;
    const Value pulse = f_.sample({Value::real(start), Value::real(interval)}, where);
    f_.clauses_.push_back({pulse.truth(), std::move(actions), where});
    return;
  }
  const std::int64_t first = part.clock.first.numerator(), step = part.clock.step.numerator();
  if (first != 0 || step != 1) {
    const Expr tick = f_.model_->pre(*base.count) + 1.0 - static_cast<double>(first);
    const BoolExpr active = no_event(tick >= 0.0 && saltus::equal(mod(tick, static_cast<double>(step)), 0.0));
    for (FlatAction& action : actions) {
      const Expr old = f_.model_->pre(action.target);
      const bool truth = names_.contains(action.target.id()) || f_.places_.contains(action.target.id())
                             ? type_of(action.target.id()) == TypeKind::boolean
                             : part.ticked && action.target.same(*part.ticked);
      action.value =
          truth ? if_else(active, BoolExpr(action.value), BoolExpr(old)).expr() : if_else(active, action.value, old);
    }
  }
  f_.clauses_.push_back({condition_of(base), std::move(actions), where});
}

void ClockedPartitions::solve(Base& base, const Block& block, const std::vector<Row>& rows,
                              std::vector<FlatAction>& actions) {
  Part& part = parts_[block.part];
  if (block.rows.size() == 1) {
    const Row& row = rows[block.rows.front()];
    const NodeId v = block.unknowns.front();
    if (row.state != no_node) {
      actions.push_back({ClauseAction::assign, expr(v), integrated(base, part, row, v), "", row.where});
      return;
    }
    for (const bool left : {true, false}) {
      const Expr& own = left ? row.lhs : row.rhs;
      const Expr& other = left ? row.rhs : row.lhs;
      if (!own.is_symbol() || own.id() != v || contains(other, v)) continue;
      const TypeKind type = type_of(v), given = left ? row.rhs_type : row.lhs_type;
      if (type != given && !(type == TypeKind::real && given == TypeKind::integer))
        throw Fault{row.where, in_quotes(name_of(v)) + " is of type " + std::string(type_name(type)) +
                                   ", but its value is of type " + std::string(type_name(given))};
      actions.push_back({ClauseAction::assign, expr(v), replaced(other, base, part), "", row.where});
      return;
    }
  }
  solve_linear(base, part, block, rows, actions);
}

Expr ClockedPartitions::integrated(Base& base, Part& part, const Row& row, NodeId unknown) {
  const Expr x = expr(row.state), d = expr(row.slope), h = interval_of(base, part);
  const BoolExpr first = first_tick(part);
  const Expr old = before(x), slope = f_.model_->pre(d);
  const bool trapezoid = part.method == "ImplicitTrapezoid";
  if (unknown == row.slope) {
    const Expr change = (x - old) / h;
    return if_else(first, Expr(0.0), trapezoid ? 2.0 * change - slope : change);
  }
  const Expr step = part.method == "ExplicitEuler" ? slope : trapezoid ? 0.5 * (slope + d) : d;
  return if_else(first, start_of(row.state), old + h * step);
}

void ClockedPartitions::solve_linear(Base& base, Part& part, const Block& block, const std::vector<Row>& rows,
                                     std::vector<FlatAction>& actions) {
  const std::size_t n = block.rows.size();
  const Location where = rows[block.rows.front()].where;
  std::string names;
  for (const NodeId v : block.unknowns) names += (names.empty() ? "" : ", ") + in_quotes(name_of(v));
  const auto refuse = [&](const std::string& why) {
    throw Fault{where, "the clocked equations for " + names + " are not solved: " + why,
                "write them as assignments, or with previous(...)"};
  };
  constexpr std::size_t largest = 50;
  if (n > largest) refuse("they are more than " + std::to_string(largest));
  std::vector<std::pair<Expr, Expr>> zeros;
  for (const NodeId v : block.unknowns) {
    if (type_of(v) != TypeKind::real) refuse("only Reals may depend on each other in one tick");
    zeros.emplace_back(expr(v), Expr(0.0));
  }
  std::vector<std::vector<Expr>> a(n, std::vector<Expr>(n + 1));
  for (std::size_t i = 0; i < n; ++i) {
    const Row& row = rows[block.rows[i]];
    Expr residual;
    if (row.state != no_node)
      residual = expr(row.state) - integrated(base, part, row, row.state);
    else
      residual = replaced(row.lhs, base, part) - replaced(row.rhs, base, part);
    if (decided_by(residual, block.unknowns)) refuse("a relation depends on an unknown");
    for (std::size_t j = 0; j < n; ++j) {
      a[i][j] = derivative(residual, expr(block.unknowns[j]));
      for (const NodeId v : block.unknowns)
        if (contains(a[i][j], v)) refuse("they are not linear");
    }
    a[i][n] = -substitute(std::span(&residual, 1), zeros).front();
  }
  // elimination; numbers are the better pivots
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t pivot = n;
    double best = 0.0;
    for (std::size_t k = i; k < n; ++k) {
      const Expr& e = a[k][i];
      if (e.is_constant() && std::abs(e.constant_value()) > best) {
        best = std::abs(e.constant_value());
        pivot = k;
      }
    }
    for (std::size_t k = i; k < n && pivot == n; ++k)
      if (!a[k][i].is_constant()) pivot = k;
    if (pivot == n) refuse("they are singular");
    std::swap(a[i], a[pivot]);
    for (std::size_t k = i + 1; k < n; ++k) {
      if (a[k][i].is_constant() && a[k][i].constant_value() == 0.0) continue;
      const Expr factor = a[k][i] / a[i][i];
      for (std::size_t j = i; j <= n; ++j) a[k][j] = a[k][j] - factor * a[i][j];
      a[k][i] = Expr(0.0);
    }
  }
  std::vector<Expr> x(n);
  for (std::size_t i = n; i-- > 0;) {
    Expr rest = a[i][n];
    for (std::size_t j = i + 1; j < n; ++j) rest = rest - a[i][j] * x[j];
    x[i] = rest / a[i][i];
  }
  for (std::size_t j = 0; j < n; ++j)
    actions.push_back({ClauseAction::assign, expr(block.unknowns[j]), x[j], "", where});
}

bool ClockedPartitions::decided_by(const Expr& e, const std::vector<NodeId>& unknowns) const {
  if (!e.graph()) return false;
  const NodeId root = e.id();
  for (const NodeId id : graph_->reachable(std::span(&root, 1)))
    if (is_switch(graph_->node(id).op))
      for (const NodeId v : unknowns)
        if (contains(expr(id), v)) return true;
  return false;
}

}  // namespace saltus::modelica
