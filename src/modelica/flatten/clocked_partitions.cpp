// Which equations are clocked, by which clock, and in which order they are solved at a tick.
#include "modelica/flatten/clocked_partitions.hpp"
#include <saltus/expr/rewrite.hpp>

#include <algorithm>

namespace saltus::modelica {

void ClockedPartitions::resolve() {
  name_arguments();
  connect();
  check_unclocked();
  if (declare_as_discrete()) return;
  find_parts();
  for (Base& base : bases_) {
    infer(base);
    choose_methods(base);
    sort(base);
  }
  replace_holds();
  for (Base& base : bases_) emit(base);
}

const ClockOperator* ClockedPartitions::operator_of(NodeId id) const {
  const auto it = f_.clock_operators_.find(id);
  return it == f_.clock_operators_.end() ? nullptr : &it->second;
}

bool ClockedPartitions::is_clock(NodeId id) const {
  if (const ClockOperator* op = operator_of(id))
    return op->constructs() || (op->converts() && op->argument.type == TypeKind::clock);
  const auto it = f_.places_.find(id);
  return it != f_.places_.end() && it->second.component->type.kind == TypeKind::clock;
}

bool ClockedPartitions::is_variable(NodeId id) const {
  if (names_.contains(id)) return true;
  const auto it = f_.places_.find(id);
  return it != f_.places_.end() && !it->second.component->is_parameter() &&
         it->second.component->type.kind != TypeKind::clock;
}

std::vector<NodeId> ClockedPartitions::symbols_in(const Expr& e) const {
  std::vector<NodeId> result;
  if (!e.graph()) return result;
  const NodeId root = e.id();
  for (const NodeId id : graph_->reachable(std::span(&root, 1)))
    if (graph_->node(id).op == Op::symbol) result.push_back(id);
  return result;
}

std::vector<NodeId> ClockedPartitions::variables_in(const Expr& e) {
  std::vector<NodeId> result;
  for (const NodeId id : symbols_in(e)) {
    if (is_variable(id)) result.push_back(id);
    if (graph_->symbol_of(id).kind == SymbolKind::derivative) result.push_back(graph_->symbol_of(id).base);
    if (const auto it = before_.find(id); it != before_.end()) result.push_back(it->second);
  }
  return result;
}

std::optional<NodeId> ClockedPartitions::converted(const ClockOperator& op) const {
  if (op.argument.elements.empty() || !op.argument.scalar().is_symbol()) return std::nullopt;
  const NodeId id = op.argument.scalar().id();
  return is_variable(id) || is_clock(id) ? std::optional(id) : std::nullopt;
}

std::string ClockedPartitions::name_of(NodeId id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? graph_->symbol_of(id).name : it->second.text;
}

TypeKind ClockedPartitions::type_of(NodeId id) const {
  const auto it = names_.find(id);
  return it == names_.end() ? f_.places_.at(id).component->type.kind : it->second.type;
}

Expr ClockedPartitions::start_of(NodeId id) const {
  const auto& [component, position] = f_.places_.at(id);
  if (!f_.attribute_given(*component, "start")) return 0.0;
  const std::vector<Expr> starts = f_.attribute(*component, "start").elements;
  return starts[starts.size() == 1 ? 0 : position];
}

Location ClockedPartitions::where_of(NodeId id) const {
  const auto it = f_.places_.find(id);
  return it == f_.places_.end() ? Location{} : it->second.component->where();
}

Expr ClockedPartitions::hidden(const std::string& what, TypeKind type, double start) {
  const std::string name = "clock: " + what + " #" + std::to_string(++hidden_);
  VariableOptions options;
  if (type == TypeKind::boolean) options.type = VariableType::boolean;
  if (type == TypeKind::integer || type == TypeKind::enumeration) options.type = VariableType::integer;
  const Expr symbol = f_.model_->discrete(name, start, options);
  f_.model_->content().change()->discretes.back().hidden = true;
  return symbol;
}

Expr ClockedPartitions::named(const Value& value, bool clocked, const Location& where) {
  const TypeKind type = value.type;
  Expr symbol;
  if (clocked || type != TypeKind::real) {
    symbol = hidden("expression", type, type == TypeKind::enumeration ? 1.0 : 0.0);
  } else {
    symbol = f_.model_->variable("sample(" + std::to_string(++hidden_) + ")", 0.0, {}, f_.locate(where));
  }
  names_[symbol.id()] = {"an expression", type};
  FlatEquation equation{Value(type, Variability::discrete, symbol), value, where};
  equation.lhs.enumeration = value.enumeration;
  if (clocked || type == TypeKind::real)
    f_.equations_.push_back(std::move(equation));
  else
    definitions_.push_back({symbol, value.scalar(), where});
  return symbol;
}

bool ClockedPartitions::has_switches(const Expr& e) const {
  if (!e.graph()) return false;
  const NodeId root = e.id();
  return std::ranges::any_of(graph_->reachable(std::span(&root, 1)),
                             [&](NodeId id) { return is_switch(graph_->node(id).op); });
}

void ClockedPartitions::name_arguments() {
  for (const auto& [id, symbol] : f_.pre_symbols_) before_.emplace(symbol->id(), id);
  std::vector<NodeId> ids;
  for (const auto& [id, op] : f_.clock_operators_) ids.push_back(id);
  std::ranges::sort(ids);
  std::unordered_map<NodeId, NodeId> slopes;
  for (const NodeId id : ids) {
    ClockOperator& op = f_.clock_operators_.at(id);
    if (op.kind == ClockKind::derivative) {
      const NodeId x = op.argument.scalar().id();
      const Expr d = hidden("der(" + name_of(x) + ")", TypeKind::real, 0.0);
      names_[d.id()] = {"der(" + name_of(x) + ")", TypeKind::real};
      states_.push_back({x, d.id(), op.where});
      slopes.emplace(id, d.id());
    }
  }
  if (!slopes.empty()) {
    Rewrite rewrite(*graph_);
    for (const auto& [id, d] : slopes) rewrite.replace.emplace(id, d);
    const auto apply = [&](Value& side) {
      if (Expr& e = side.elements[0]; e.graph()) e = Expr(graph_, rewrite(e.id()));
    };
    for (FlatEquation& e : f_.equations_) {
      apply(e.lhs);
      apply(e.rhs);
    }
    for (const NodeId id : ids)
      if (ClockOperator& op = f_.clock_operators_.at(id); !op.argument.elements.empty()) apply(op.argument);
  }
  for (const NodeId id : ids) {
    ClockOperator& op = f_.clock_operators_.at(id);
    if (op.argument.elements.empty() || op.argument.type == TypeKind::clock) continue;
    const Expr e = op.argument.scalar();
    const auto varies = [&](NodeId symbol) {
      return operator_of(symbol) || is_variable(symbol) || before_.contains(symbol);
    };
    if (e.is_symbol() && is_variable(e.id())) continue;
    const std::vector<NodeId> symbols = symbols_in(e);
    if (op.kind != ClockKind::sample && std::ranges::none_of(symbols, varies)) continue;
    if (op.kind == ClockKind::sample) {
      if (op.argument.type != TypeKind::real || has_switches(e))
        op.argument.elements[0] = named(op.argument, false, op.where);
    } else if (op.converts()) {
      op.argument.elements[0] = named(op.argument, true, op.where);
    } else if (op.kind == ClockKind::interval || op.kind == ClockKind::first_tick) {
      throw Fault{op.where, "the argument of 'interval' and 'firstTick' must be a variable"};
    }
  }
}

void ClockedPartitions::join(std::size_t a, std::size_t b) {
  base_.join(a, b);
  sub_.join(a, b);
}

void ClockedPartitions::connect() {
  graph_size_ = graph_->size();
  for (const State& state : states_) join(state.x, state.d);
  for (const auto& [id, op] : f_.clock_operators_) {
    if (!is_clock(id)) continue;
    clocked_.insert(id);
    if (op.converts()) base_.join(id, op.argument.scalar().id());
    if (op.kind == ClockKind::solver) join(id, op.clock->id());
    if (op.kind == ClockKind::event) note_unclocked(op.argument.scalar(), op.where);
  }
  for (std::size_t k = 0; k < f_.equations_.size(); ++k) {
    const FlatEquation& e = f_.equations_[k];
    const std::size_t node = node_of_equation(k);
    if (e.clock != no_node) {
      join(node, e.clock);
      clocked_.insert(node);
    }
    for (const Value* side : {&e.lhs, &e.rhs}) {
      for (const NodeId id : variables_in(side->scalar())) join(node, id);
      for (const NodeId id : symbols_in(side->scalar())) {
        if (is_clock(id)) {
          join(node, id);
          clocked_.insert(node);
        } else if (const ClockOperator* op = operator_of(id)) {
          connect_operator(*op, node, e.where);
        }
      }
    }
  }
  const auto outside = [&](const Expr& e, const Location& where, bool only_holds) {
    if (!only_holds) note_unclocked(e, where);
    for (const NodeId id : symbols_in(e))
      if (const ClockOperator* op = operator_of(id)) {
        if (op->kind != ClockKind::hold)
          throw Fault{where, "an operator of clocks stands outside of a clocked equation", "write hold(...) around it"};
        clocked_.insert(op->argument.scalar().id());
      }
  };
  for (const FlatClause& clause : f_.clauses_) {
    outside(clause.condition.expr(), clause.where, false);
    for (const FlatAction& action : clause.actions) {
      outside(action.target, action.where, false);
      outside(action.value, action.where, false);
      outside(action.only_if.expr(), action.where, false);
    }
  }
  for (const auto& assertion : f_.assertions_) outside(assertion.condition.expr(), assertion.where, true);
  for (const FlatEquation& e : f_.initial_equations_)
    for (const Value* side : {&e.lhs, &e.rhs}) outside(side->scalar(), e.where, true);
  for (const Definition& definition : definitions_) outside(definition.value, definition.where, false);
}

void ClockedPartitions::connect_operator(const ClockOperator& op, std::size_t node, const Location& where) {
  if (op.kind == ClockKind::hold) {
    clocked_.insert(op.argument.scalar().id());
    unclocked_.emplace_back(node, where);
    return;
  }
  clocked_.insert(node);
  if (op.kind == ClockKind::sample) {
    if (op.clock) join(node, op.clock->id());
    note_unclocked(op.argument.scalar(), op.where);
  } else if (const auto id = converted(op)) {
    if (op.converts())
      base_.join(node, *id);
    else
      join(node, *id);
  }
}

void ClockedPartitions::note_unclocked(const Expr& e, const Location& where) {
  for (const NodeId id : variables_in(e)) unclocked_.emplace_back(id, where);
}

void ClockedPartitions::check_unclocked() {
  for (const std::size_t node : clocked_) roots_.insert(base_.find(node));
  for (const auto& [node, where] : unclocked_)
    if (roots_.contains(base_.find(node)))
      throw Fault{where,
                  node < graph_size_ ? in_quotes(name_of(static_cast<NodeId>(node))) + " is clocked, and used unclocked"
                                     : "this equation reads clocked and unclocked variables",
                  "write sample(u) where a clocked equation reads u, hold(u) where an unclocked one does"};
}

bool ClockedPartitions::declare_as_discrete() {
  for (const auto& [id, place] : f_.places_) {
    Component& component = *place.component;
    if (!is_variable(id) || !roots_.contains(base_.find(id)) || component.is_discrete()) continue;
    if (f_.structural_.emplace(component.path, "the clock of a variable").second) f_.structure_changed_ = true;
  }
  return f_.structure_changed_;
}

void ClockedPartitions::find_parts() {
  std::map<std::size_t, std::size_t> base_index;
  const auto part_at = [&](std::size_t node) -> Part& {
    const std::size_t root = sub_.find(node);
    const auto [place, fresh] = part_of_root_.try_emplace(root, parts_.size());
    if (fresh) {
      parts_.emplace_back();
      const auto [base, is_new] = base_index.try_emplace(base_.find(node), bases_.size());
      if (is_new) bases_.emplace_back();
      bases_[base->second].parts.push_back(place->second);
    }
    return parts_[place->second];
  };
  for (std::size_t k = 0; k < f_.equations_.size(); ++k) {
    const std::size_t node = node_of_equation(k);
    if (!roots_.contains(base_.find(node))) continue;
    Part& part = part_at(node);
    part.equations.push_back(k);
    if (!std::exchange(part.has_where, true)) part.where = f_.equations_[k].where;
  }
  std::vector<NodeId> ids;
  for (const auto& [id, place] : f_.places_) ids.push_back(id);
  for (const auto& [id, name] : names_) ids.push_back(id);
  for (const auto& [id, op] : f_.clock_operators_)
    if (is_clock(id)) ids.push_back(id);
  std::ranges::sort(ids);
  for (const NodeId id : ids) {
    if (!(is_variable(id) || is_clock(id)) || !roots_.contains(base_.find(id))) continue;
    Part& part = part_at(id);
    if (is_variable(id)) part.variables.push_back(id);
    if (const ClockOperator* op = operator_of(id); op && !std::exchange(part.has_where, true)) part.where = op->where;
  }
}

std::string ClockedPartitions::contents(std::size_t part) const {
  std::string text;
  for (const NodeId id : parts_[part].variables)
    if (!names_.contains(id) && std::ranges::count(text, ',') < 2)
      text += (text.empty() ? "" : ", ") + in_quotes(name_of(id));
  return text.empty() ? "a clock" : text;
}

template <class Visit>
void ClockedPartitions::for_each_operator(std::size_t part, Visit visit) {
  for (const std::size_t k : parts_[part].equations)
    for (const Value* side : {&f_.equations_[k].lhs, &f_.equations_[k].rhs})
      for (const NodeId id : symbols_in(side->scalar()))
        if (const ClockOperator* op = operator_of(id); op && !is_clock(id)) visit(*op);
}

void ClockedPartitions::infer(Base& base) {
  std::vector<std::string> names;
  std::map<std::size_t, std::size_t> place;
  for (const std::size_t p : base.parts) {
    place.emplace(p, names.size());
    names.push_back(contents(p));
  }
  std::vector<ClockConversion> conversions;
  std::vector<ClockLabel> labels;
  std::size_t rational = 0, other = 0;
  Location where = parts_[base.parts.front()].where;
  const auto convert = [&](const ClockOperator& op, std::size_t to) {
    if (const auto id = converted(op); id && op.converts())
      conversions.push_back({place.at(part_of(*id)), place.at(to), op.kind, op.factor, op.resolution});
  };
  std::vector<NodeId> ids;
  for (const auto& [id, op] : f_.clock_operators_)
    if (is_clock(id) && roots_.contains(base_.find(id)) && place.contains(part_of(id))) ids.push_back(id);
  std::ranges::sort(ids);
  for (const NodeId id : ids) {
    const ClockOperator& op = *operator_of(id);
    const std::size_t part = part_of(id);
    convert(op, part);
    if (op.kind == ClockKind::solver && !op.method.empty()) {
      std::string& method = parts_[part].method;
      if (!method.empty() && method != op.method)
        throw Fault{op.where, "two solver methods in one partition: " + method + " and " + op.method};
      method = op.method;
    }
    if (op.kind == ClockKind::rational) {
      ++rational;
      labels.push_back({place.at(part), Rational(op.factor, op.resolution)});
      where = op.where;
    } else if (op.kind == ClockKind::real || op.kind == ClockKind::event) {
      ++other;
      base.clock = &op;
      labels.push_back({place.at(part), 1});
      where = op.where;
    }
  }
  if (other > 0 && rational + other > 1)
    throw Fault{where,
                std::to_string(rational + other) + " clocks in one partition: only rational clocks may be several",
                "write one clock, and give it to all by its name"};
  if (base.clock && base.clock->kind == ClockKind::real) base.unit = base.clock->seconds;
  for (const std::size_t p : base.parts) for_each_operator(p, [&](const ClockOperator& op) { convert(op, p); });
  try {
    const std::vector<SubClock> found = infer_clocks(names, conversions, labels, base.is_event());
    for (const std::size_t p : base.parts) parts_[p].clock = found[place.at(p)];
  } catch (const ClockFault& fault) {
    throw Fault{where, fault.message};
  }
  if (labels.empty())
    f_.warn(where, "no clock is given for " + contents(base.parts.front()) + ": its fastest part ticks every second",
            "write Clock(1.0), or another clock");
}

void ClockedPartitions::choose_methods(Base& base) {
  for (const State& state : states_) {
    if (!roots_.contains(base_.find(state.x))) throw Fault{state.where, "this derivative belongs to no clock"};
    const std::size_t own = part_of(state.x);
    if (std::ranges::find(base.parts, own) == base.parts.end()) continue;
    if (parts_[own].method.empty()) {
      std::set<std::string> near;
      for (const std::size_t p : base.parts)
        if (!parts_[p].method.empty()) near.insert(parts_[p].method);
      if (near.size() != 1)
        throw Fault{state.where,
                    name_of(state.d) + (near.empty() ? " is clocked, and its clock has no solver method"
                                                     : " is clocked, and may have several solver methods"),
                    "write Clock(c, solverMethod = \"ImplicitEuler\")"};
      parts_[own].method = *near.begin();
    }
    const std::string& method = parts_[own].method;
    if (method != "ExplicitEuler" && method != "ImplicitEuler" && method != "ImplicitTrapezoid")
      throw Fault{state.where, "the solver method " + in_quotes(method) + " is not supported",
                  "ExplicitEuler, ImplicitEuler and ImplicitTrapezoid are"};
    if (base.is_event()) throw Fault{state.where, "derivatives in partitions with an event clock are not supported"};
  }
}

void ClockedPartitions::sort(Base& base) {
  std::vector<Row> rows;
  for (const std::size_t p : base.parts)
    for (const std::size_t k : parts_[p].equations) {
      const FlatEquation& e = f_.equations_[k];
      if (e.lhs.type == TypeKind::clock || e.rhs.type == TypeKind::clock) continue;
      Row row{.part = p,
              .lhs = e.lhs.scalar(),
              .rhs = e.rhs.scalar(),
              .lhs_type = e.lhs.type,
              .rhs_type = e.rhs.type,
              .where = e.where};
      for (const Expr* side : {&row.lhs, &row.rhs})
        for (const NodeId id : symbols_in(*side)) {
          if (is_variable(id)) row.unknowns.push_back(id);
          if (graph_->symbol_of(id).kind == SymbolKind::time)
            throw Fault{e.where, "'time' in a clocked partition is not supported", "write sample(time)"};
          if (before_.contains(id)) throw Fault{e.where, "'pre' in a clocked equation", "write previous(...)"};
          if (const ClockOperator* op = operator_of(id); op && op->converts())
            if (const auto needed = converted(*op)) row.needs.push_back(*needed);
        }
      rows.push_back(std::move(row));
    }
  for (const State& state : states_) {
    const std::size_t p = part_of(state.x);
    if (std::ranges::find(base.parts, p) == base.parts.end()) continue;
    Row row{.part = p, .where = state.where, .state = state.x, .slope = state.d, .unknowns = {state.x}};
    if (parts_[p].method != "ExplicitEuler") row.unknowns.push_back(state.d);
    rows.push_back(std::move(row));
  }
  for (Row& row : rows) {
    std::ranges::sort(row.unknowns);
    row.unknowns.erase(std::unique(row.unknowns.begin(), row.unknowns.end()), row.unknowns.end());
  }
  match(base, rows);
  rows_of_[&base] = std::move(rows);
}

void ClockedPartitions::match(Base& base, const std::vector<Row>& rows) {
  std::unordered_map<NodeId, std::size_t> owner;
  std::vector<NodeId> matched(rows.size(), no_node);
  std::unordered_set<NodeId> seen;
  constexpr std::size_t most = 10'000;  // paths of the search may be as long
  if (rows.size() > most)
    throw Fault{rows.front().where,
                "more than " + std::to_string(most) + " clocked equations in one partition are not supported"};
  const auto augment = [&](const auto& self, std::size_t k) -> bool {
    std::vector<NodeId> order = rows[k].unknowns;
    const auto alone = [&](NodeId id) { return rows[k].lhs.is_symbol() && rows[k].lhs.id() == id ? 0 : 1; };
    std::ranges::stable_sort(order, {}, alone);
    for (const NodeId id : order) {
      if (!seen.insert(id).second) continue;
      if (const auto it = owner.find(id); it != owner.end() && !self(self, it->second)) continue;
      owner[id] = k;
      matched[k] = id;
      return true;
    }
    return false;
  };
  for (const bool first : {true, false})  // equations of the form v = ... choose first
    for (std::size_t k = 0; k < rows.size(); ++k) {
      const bool solved = rows[k].lhs.is_symbol() || rows[k].state != no_node;
      if (solved != first) continue;
      seen.clear();
      if (!augment(augment, k))
        throw Fault{rows[k].where, "the clocked equations determine too much: this one is left over"};
    }
  for (const std::size_t p : base.parts)
    for (const NodeId id : parts_[p].variables)
      if (!owner.contains(id))
        throw Fault{where_of(id), "no clocked equation determines " + in_quotes(name_of(id)), "give it an equation"};
  // strongly connected rows (Tarjan), those that others need first
  std::vector<std::vector<std::size_t>> uses(rows.size());
  for (std::size_t k = 0; k < rows.size(); ++k)
    for (const auto* list : {&rows[k].unknowns, &rows[k].needs})
      for (const NodeId id : *list)
        if (const auto it = owner.find(id); it != owner.end() && it->second != k) uses[k].push_back(it->second);
  std::vector<std::size_t> index(rows.size(), 0), low(rows.size(), 0), stack;
  std::vector<char> open(rows.size(), 0);
  std::size_t next = 0;
  struct Visit {
    std::size_t row, use = 0;
  };
  for (std::size_t root = 0; root < rows.size(); ++root) {
    if (index[root] != 0) continue;
    std::vector<Visit> path{{root}};
    while (!path.empty()) {
      Visit& at = path.back();
      if (at.use == 0) {
        index[at.row] = low[at.row] = ++next;
        stack.push_back(at.row);
        open[at.row] = 1;
      }
      if (at.use < uses[at.row].size()) {
        const std::size_t other = uses[at.row][at.use++];
        if (index[other] == 0)
          path.push_back({other});
        else if (open[other])
          low[at.row] = std::min(low[at.row], index[other]);
        continue;
      }
      const std::size_t row = at.row;
      path.pop_back();
      if (!path.empty()) low[path.back().row] = std::min(low[path.back().row], low[row]);
      if (low[row] != index[row]) continue;
      Block block{.part = rows[row].part};
      for (std::size_t k = rows.size(); k != row;) {
        k = stack.back();
        stack.pop_back();
        open[k] = 0;
        block.rows.push_back(k);
        block.unknowns.push_back(matched[k]);
        if (rows[k].part != block.part)
          throw Fault{rows[k].where,
                      "equations of several sub-clocks need each other: " + in_quotes(name_of(matched[k])) + " and " +
                          in_quotes(name_of(matched[row])),
                      "write previous(...) in one of them"};
      }
      base.blocks.push_back(std::move(block));
    }
  }
}

void Flattener::resolve_clocks() {
  if (clock_operators_.empty() && std::ranges::none_of(places_, [](const auto& place) {
        return place.second.component->type.kind == TypeKind::clock;
      }))
    return;
  ClockedPartitions(*this).resolve();
}

}  // namespace saltus::modelica
