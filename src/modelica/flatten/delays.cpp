// delay(x, T) of what changes at events only (Modelica 3.7, 3.7.2.1): y(t) = x(t - T), and x at the start until then.
//
// Changes that are on their way are kept in a ring of discrete variables, each with the time at which it arrives and
// the new value. Two hidden clauses work on it: one adds a change when x changes, the other lets the earliest arrive.
// So each change is a time event of its own, exact as all of them are, and saved states, studies and derivatives need
// no rule for delays. An expression that moves between events is refused: its history would be a function.
#include <saltus/expr/graph.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

/// Changes that may be on their way at the same time.
constexpr int ring_size = 32;
/// As a time: nothing is on its way.
constexpr double never = 1e100;

/// The value of the list at a place that is a number of the run.
Expr chosen(const std::vector<Expr>& list, const Expr& place) {
  Expr result = list.front();
  for (std::size_t k = 1; k < list.size(); ++k)
    result = no_event(if_else(place >= static_cast<double>(k), list[k], result));
  return result;
}

Expr next_place(const Expr& place) {
  return no_event(if_else(place >= ring_size - 1.0, 0.0, place + 1.0));
}

}  // namespace

Value Flattener::delay_call(std::vector<Value> arguments, const Location& where) {
  if (!variables_declared_) throw Fault{where, "'delay' is used where only parameters are known"};
  if (kept_ || !prototypes_.empty()) throw NotKept{};
  if (in_initial_ || in_clocked_when_) throw Fault{where, "'delay' stands in equations of a model only"};
  Value& x = arguments[0];
  const Value& time = arguments[1];
  if (x.type == TypeKind::record || x.type == TypeKind::string)
    throw Fault{where, "'delay' needs a number, not a value of type " + describe(x)};
  if (!time.is_scalar() || !time.is_numeric())
    throw Fault{where, "the delay time must be a number, not a value of type " + describe(time)};
  if (time.variability < Variability::parameter)
    throw Fault{where, "'delay' with a delay time that varies is not supported", reference_page};
  const Expr& length = time.scalar();
  const double seconds = parameter_value(length);
  if (!(seconds >= 0.0) || (arguments.size() > 2 && !(seconds <= parameter_value(arguments[2].scalar()))))
    throw Fault{where, "the delay time is " + number_text(seconds) + "; it must lie between 0 and " +
                           (arguments.size() > 2 ? number_text(parameter_value(arguments[2].scalar())) : "infinity")};
  if (seconds == 0.0) {
    used_value(length, "whether there is a delay");
    return x;
  }
  for (Expr& e : x.elements) {
    if (e.is_constant()) continue;
    const auto [it, fresh] = delayed_.try_emplace({e.id(), length.is_constant() ? no_node : length.id(), seconds});
    if (fresh) {
      it->second = {.from = e, .length = length, .where = where};
      Delayed& delayed = it->second;
      std::string name = "delay(" + to_string(e) + ", " + to_string(length) + ")";
      while (model_->data().names.contains(name)) name += " again";
      delayed.symbol =
          x.type == TypeKind::boolean
              ? model_->discrete(name, false, locate(where)).expr()
              : model_->discrete(name, 0.0,
                                 {.type = x.type == TypeKind::real ? VariableType::real : VariableType::integer},
                                 locate(where));
      delay_order_.push_back(&delayed);
    }
    e = it->second.symbol;
  }
  x.variability = std::max(x.variability, Variability::discrete);
  return std::move(x);
}

/// The expression with variables replaced by what equations give them, until nothing is left that moves between events.
Expr Flattener::piecewise_constant(const Expr& e, const std::unordered_map<NodeId, const FlatEquation*>& givers,
                                   std::unordered_set<NodeId>& open, const Location& where) {
  const auto& graph = model_->data().graph;
  const auto refuse = [&](const Expr& moving) {
    throw Fault{
        where, "'delay' of '" + to_string(e) + "' is not supported: '" + to_string(moving) + "' changes between events",
        "a delay can be taken of what changes at events only"};
  };
  if (e.is_constant()) return e;
  const Deeper deeper(*this, where);
  Rewrite rewrite(*graph);
  std::vector<NodeId> waiting{e.id()};
  std::unordered_set<NodeId> seen;
  while (!waiting.empty()) {
    const NodeId id = waiting.back();
    waiting.pop_back();
    if (!seen.insert(id).second) continue;
    charge(1, where);
    const Node node = graph->node(id);
    if (node.op == Op::positive || node.op == Op::nonnegative || node.op == Op::floor) continue;  // it has events
    if (node.op == Op::live_positive || node.op == Op::live_nonnegative || node.op == Op::live_floor)
      refuse(Expr(graph, id));
    if (node.op != Op::symbol) {
      graph->for_each_operand(id, [&](NodeId part) { waiting.push_back(part); });
      continue;
    }
    const SymbolKind kind = graph->symbol_of(id).kind;
    if (kind == SymbolKind::time || kind == SymbolKind::derivative) refuse(Expr(graph, id));
    if (kind != SymbolKind::variable) continue;
    const auto giver = givers.find(id);
    if (giver == givers.end() || !open.insert(id).second) refuse(Expr(graph, id));
    const FlatEquation& equation = *giver->second;
    const bool left = equation.lhs.scalar().is_symbol() && equation.lhs.scalar().id() == id;
    const Expr value = piecewise_constant((left ? equation.rhs : equation.lhs).scalar(), givers, open, where);
    open.erase(id);
    rewrite.replace.emplace(id, value.is_constant() ? graph->constant(value.constant_value()) : value.id());
  }
  return Expr(graph, rewrite(e.id()));
}

void Flattener::resolve_delays() {
  if (delay_order_.empty()) return;
  std::unordered_map<NodeId, const FlatEquation*> givers;
  for (const FlatEquation& equation : equations_)
    for (const Value* side : {&equation.lhs, &equation.rhs})
      if (side->scalar().is_symbol()) givers.try_emplace(side->scalar().id(), &equation);
  for (const Delayed* delayed : delay_order_) {
    attempt([&] {
      std::unordered_set<NodeId> open;
      add_delay(*delayed, piecewise_constant(delayed->from, givers, open, delayed->where));
    });
  }
}

void Flattener::add_delay(const Delayed& delayed, const Expr& signal) {
  const Location& where = delayed.where;
  const std::string name = delayed.symbol.name();
  const auto hidden = [&](const std::string& what, double start) {
    const Expr symbol = model_->discrete(what + " of " + name, start, VariableOptions{}, locate(where));
    model_->content()->discretes.back().hidden = true;
    return symbol;
  };
  const Expr input = hidden("signal", 0.0), due = hidden("next arrival", never);
  const Expr added = hidden("changes", 0.0), arrived = hidden("arrivals", 0.0);
  const Expr tail = hidden("last place", ring_size - 1.0), head = hidden("first place", 0.0);
  const Expr last = hidden("last arrival", -never), turn = hidden("turn", 0.0);
  std::vector<Expr> times, values;
  for (int k = 0; k < ring_size; ++k) {
    times.push_back(hidden("arrival " + std::to_string(k + 1), never));
    values.push_back(hidden("value " + std::to_string(k + 1), 0.0));
  }
  definitions_.push_back({input, signal, where});
  const auto before = [&](const Expr& symbol) { return model_->pre(symbol); };
  const auto all_before = [&](std::vector<Expr> list) {
    for (Expr& symbol : list) symbol = before(symbol);
    return list;
  };
  const std::vector<Expr> times_before = all_before(times), values_before = all_before(values);
  const Expr arrival = model_->time() + delayed.length;
  const BoolExpr is_new = no_event(arrival > before(last));  // of several rounds of one instant the last one counts
  const BoolExpr leaves = !saltus::equal(input, before(input)), arrives = model_->time() >= before(due);
  // What arrives next, after a round in which a change leaves, arrives, or both. Both clauses say the same.
  const auto next_arrival = [&](const BoolExpr& leaving, const BoolExpr& arriving) {
    const Expr gone = no_event(if_else(arriving, before(arrived) + 1.0, before(arrived)));
    const Expr waiting = chosen(times_before, no_event(if_else(arriving, next_place(before(head)), before(head))));
    return no_event(if_else(before(added) > gone, waiting, if_else(leaving && is_new, arrival, Expr(never))));
  };
  const auto assign = [&](const Expr& target, const Expr& value) {
    return FlatAction{ModelData::Action::Kind::assign, target, value, "", where};
  };
  const Expr added_now = no_event(if_else(is_new, before(added) + 1.0, before(added)));
  const Expr tail_now = no_event(if_else(is_new, next_place(before(tail)), before(tail)));
  std::vector<FlatAction> leave{assign(due, next_arrival(true, no_event(arrives))), assign(added, added_now),
                                assign(tail, tail_now), assign(last, arrival)};
  for (std::size_t k = 0; k < times.size(); ++k) {
    const double place = static_cast<double>(k);
    const BoolExpr is_place = no_event(tail_now >= place - 0.5) && no_event(tail_now <= place + 0.5);
    leave.push_back(assign(times[k], no_event(if_else(is_place, arrival, times_before[k]))));
    leave.push_back(assign(values[k], no_event(if_else(is_place, input, values_before[k]))));
  }
  leave.push_back({ModelData::Action::Kind::check,
                   {},
                   no_event(added_now - before(arrived) <= static_cast<double>(ring_size)).expr(),
                   "more than " + std::to_string(ring_size) + " changes are on their way in '" + name + "'",
                   where});
  // x may change in two rounds that follow each other: two clauses take turns, so that each change is an edge
  leave.push_back(assign(turn, 1.0 - before(turn)));
  clauses_.push_back({.condition = leaves && turn < 0.5, .actions = leave, .where = where});
  clauses_.push_back({.condition = leaves && turn > 0.5, .actions = std::move(leave), .where = where});
  clauses_.push_back({.condition = arrives,
                      .actions = {assign(due, next_arrival(no_event(leaves), true)),
                                  assign(delayed.symbol, chosen(values_before, before(head))),
                                  assign(head, next_place(before(head))), assign(arrived, before(arrived) + 1.0)},
                      .where = where});
  clauses_.push_back({.condition = model_->initial(), .actions = {assign(delayed.symbol, input)}, .where = where});
}

}  // namespace saltus::modelica
