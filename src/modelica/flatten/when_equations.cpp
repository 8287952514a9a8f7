// When equations: conditions and what is done when they become true.
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <iterator>
#include <set>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

using Kind = ModelData::Action::Kind;

}  // namespace

// Its equations hold at the ticks of the clock.
void Flattener::flatten_clocked_when(const WhenEquation& node, const Expr& clock, const Context& context) {
  if (node.branches.size() > 1) throw Fault{node.branches[1].where, "a clocked 'when' has no 'elsewhen'"};
  std::vector<FlatEquation> body;
  in_clocked_when_ = true;
  try {
    flatten_equations(node.branches.front().body, context, body);
  } catch (...) {
    in_clocked_when_ = false;
    throw;
  }
  in_clocked_when_ = false;
  for (FlatEquation& e : body) e.clock = clock.id();
  equations_.insert(equations_.end(), body.begin(), body.end());
}

void Flattener::flatten_when(const WhenEquation& node, const Context& context) {
  if (in_clocked_when_) throw Fault{node.branches.front().where, "'when' inside of a clocked 'when' is not allowed"};
  bool first = true;
  std::unordered_map<NodeId, Location> targets;
  std::set<std::string> assigned;
  for (const auto& branch : node.branches) {
    const Value condition = eval(branch.condition, context);
    if (condition.type == TypeKind::clock && condition.is_scalar() && first)
      return flatten_clocked_when(node, condition.scalar(), context);
    if (condition.type == TypeKind::clock)
      throw Fault{branch.condition->where, "a clocked 'when' has one clock and no 'elsewhen'"};
    std::vector<FlatAction> actions, checks;
    const std::size_t errors = diagnostics_.error_count();
    when_checks_ = &checks;
    when_body(branch.body, context, actions);
    when_checks_ = nullptr;
    actions.insert(actions.end(), checks.begin(), checks.end());
    if (diagnostics_.error_count() == errors) sort_actions(actions);
    for (const FlatAction& action : actions)
      if (action.kind == Kind::assign) targets.emplace(action.target.id(), action.where);
    std::set<std::string> here;
    for (const FlatAction& action : actions)
      if (action.kind == Kind::assign) here.insert(action.target.name());
    if (first) assigned = here;
    std::vector<std::string> differ;
    std::set_symmetric_difference(assigned.begin(), assigned.end(), here.begin(), here.end(),
                                  std::back_inserter(differ));
    if (!differ.empty() && diagnostics_.error_count() == errors)
      warn(branch.where, in_quotes(differ.front()) + " is not determined in every branch of this 'when'; it keeps its value there",
           "write '" + differ.front() + " = pre(" + differ.front() + ")' where that is meant");
    add_clauses(condition, std::move(actions), branch.condition->where, branch.condition, context, !first);
    first = false;
  }
  // each is an equation: if both act at one instant, one of them would be lost
  for (const auto& [id, where] : targets) {
    const auto [it, fresh] = when_targets_.emplace(id, where);
    if (fresh) continue;
    report({where, "two clauses assign " + in_quotes(model_->data().graph->symbol_of(id).name),
            "write one 'when' with 'elsewhen', or one with a vector of conditions"});
    note(it->second, "the other one is here");
  }
}

// A vector of conditions acts when any of its elements becomes true: a chain in which each element has its own edge.
void Flattener::add_clauses(const Value& condition, std::vector<FlatAction> actions, const Location& where,
                            ExprPtr written, const Context& context, bool continues) {
  if (condition.type != TypeKind::boolean || condition.dims.size() > 1)
    throw Fault{where, "the condition of 'when' must be a Boolean or a vector of Booleans, not a value of type " +
                           describe(condition)};
  std::vector<std::string> names = clause_names(written, condition.elements.size(), context, continues);
  for (std::size_t k = 0; k < condition.elements.size(); ++k) {
    clauses_.push_back({BoolExpr(condition.elements[k]), actions, where, continues || k > 0});
    if (!names.empty()) clauses_.back().name = std::move(names[k]);
  }
}

/// What events call the clauses of a `when`: one name for each element of its condition; none where they are not kept.
std::vector<std::string> Flattener::clause_names(ExprPtr condition, std::size_t count, const Context& context,
                                                 bool continues) {
  if (!keeps_texts(context)) return {};
  const std::string word = continues ? "elsewhen " : "when ";
  const auto text = [&](ExprPtr e) {
    return print(e, [&](std::string_view name) { return flat_name(name, context); });
  };
  const auto* list = condition->as<ArrayConstructor>();
  std::vector<std::string> names;
  for (std::size_t k = 0; k < count; ++k)
    names.push_back(word + (list && list->elements.size() == count ? text(list->elements[k])
                            : count == 1                           ? text(condition)
                                         : text(condition) + "[" + std::to_string(k + 1) + "]"));
  constexpr std::size_t longest = 200;
  for (const std::string& name : names)
    if (name.size() > longest) return {};
  return names;
}

void Flattener::when_body(const std::vector<const Equation*>& body, const Context& context,
                          std::vector<FlatAction>& actions) {
  for (const Equation* equation : body) {
    if (diagnostics_.full()) return;
    attempt([&] {
      charge(1, equation->where);
      if (const auto* node = equation->as<EqualityEquation>()) {
        if (const auto* targets = node->lhs->as<Tuple>(); targets && targets->elements.size() != 1) {
          std::vector<FlatEquation> equations;
          tuple_equation(*targets, node->rhs, equation->where, context, equations);
          for (const FlatEquation& e : equations) when_assign(e.lhs, e.rhs, e.where, actions);
          return;
        }
        if (!node->lhs->as<ComponentReference>())
          throw Fault{node->lhs->where, "an equation in 'when' must have the form 'variable = expression'"};
        const Value target = eval(node->lhs, context);
        when_assign(target, eval(node->rhs, context), equation->where, actions);
      } else if (const auto* loop = equation->as<ForEquation>()) {
        repeat(*loop, 0, context, [&](const Context& inner) { when_body(loop->body, inner, actions); });
      } else if (const auto* choice = equation->as<IfEquation>()) {
        when_if(*choice, *equation, context, actions);
      } else if (const auto* effect = equation->as<CallEquation>()) {
        const Call& call = *effect->call->as<Call>();
        const std::string name = print(call.callee);
        if (name == "reinit") {
          reinit(call, equation->where, context, actions);
        } else if (name == "terminate") {
          arguments(call, context, 1, 1, equation->where);
          actions.push_back({Kind::terminate, {}, {}, message(call.arguments[0].value, context), equation->where});
        } else {
          call_equation(call, equation->where, context);
        }
      } else {
        throw Fault{equation->where, equation->as<WhenEquation>() ? "'when' inside of 'when' is not allowed"
                                                                  : "'connect' is not allowed in 'when'"};
      }
    });
  }
}

void Flattener::when_if(const IfEquation& node, const Equation& equation, const Context& context,
                        std::vector<FlatAction>& actions) {
  struct Part {
    Value condition;
    std::vector<FlatAction> body;
  };
  std::vector<Part> parts;
  std::vector<FlatAction> rest;
  for (const auto& branch : node.branches) {
    if (branch.condition) {
      Value condition = eval(branch.condition, context);
      const std::optional<bool> fixed = known(condition, branch.condition->where);
      if (fixed && !*fixed) continue;
      if (!fixed) {
        Part& part = parts.emplace_back();
        path_conditions_.push_back(condition.truth());
        when_body(branch.body, context, part.body);
        path_conditions_.back() = !condition.truth();
        part.condition = std::move(condition);
        continue;
      }
    }
    when_body(branch.body, context, rest);
    break;
  }
  path_conditions_.resize(path_conditions_.size() - parts.size());
  for (std::size_t k = parts.size(); k-- > 0;) {
    std::vector<FlatAction> merged;
    merge_actions(parts[k].condition, parts[k].body, rest, equation.where, merged);
    rest = std::move(merged);
  }
  actions.insert(actions.end(), rest.begin(), rest.end());
}

// A discrete variable that only one of the branches changes keeps its value in the other. Resets and ends take place or do not.
void Flattener::merge_actions(const Value& condition, const std::vector<FlatAction>& then,
                              const std::vector<FlatAction>& otherwise, const Location& where,
                              std::vector<FlatAction>& out) {
  const auto merged = [&](const FlatAction& action, const Expr& a, const Expr& b) {
    const Component* component = component_of(action.target);
    const bool is_boolean = component && component->type.kind == TypeKind::boolean;
    FlatAction result = action;
    result.value =
        is_boolean ? if_else(condition.truth(), BoolExpr(a), BoolExpr(b)).expr() : if_else(condition.truth(), a, b);
    return result;
  };
  const auto unchanged = [&](const FlatAction& action) {
    const Component* component = component_of(action.target);
    return pre(Value(component ? component->type.kind : TypeKind::real, Variability::discrete, action.target), where)
        .scalar();
  };
  const auto under = [&](FlatAction action, const BoolExpr& branch) {
    action.only_if = branch && action.only_if;
    return action;
  };
  std::vector<char> used(otherwise.size(), 0);
  for (const FlatAction& a : then) {
    if (a.kind != Kind::assign) {
      out.push_back(under(a, condition.truth()));
      continue;
    }
    std::size_t match = otherwise.size();
    for (std::size_t k = 0; k < otherwise.size(); ++k)
      if (!used[k] && otherwise[k].kind == a.kind && otherwise[k].target.same(a.target)) match = k;
    if (match < otherwise.size()) used[match] = 1;
    out.push_back(merged(a, a.value, match < otherwise.size() ? otherwise[match].value : unchanged(a)));
  }
  for (std::size_t k = 0; k < otherwise.size(); ++k) {
    if (otherwise[k].kind != Kind::assign)
      out.push_back(under(otherwise[k], !condition.truth()));
    else if (!used[k])
      out.push_back(merged(otherwise[k], unchanged(otherwise[k]), otherwise[k].value));
  }
}

void Flattener::when_assign(const Value& target, const Value& value, const Location& where,
                            std::vector<FlatAction>& actions) {
  std::vector<FlatEquation> pairs;
  equate(target, value, where, pairs);
  for (const FlatEquation& pair : pairs) {
    const Expr& symbol = pair.lhs.scalar();
    const Component* component = component_of(symbol);
    if (!component || component->is_parameter())
      throw Fault{where, "an equation in 'when' must have the form 'variable = expression'"};
    convert(pair.rhs, component->type.kind, where, in_quotes(symbol.name()));
    actions.push_back({Kind::assign, symbol, pair.rhs.scalar(), {}, where});
  }
}

void Flattener::reinit(const Call& call, const Location& where, const Context& context,
                       std::vector<FlatAction>& actions) {
  Context plain = context;
  plain.assigned = nullptr;
  if (call.arguments.size() != 2) throw Fault{where, "'reinit' takes a variable and its new value"};
  const Value target = eval(call.arguments[0].value, plain);
  const Value value = eval(call.arguments[1].value, context);
  std::vector<FlatEquation> pairs;
  equate(target, value, where, pairs);
  for (const FlatEquation& pair : pairs) {
    const Expr& symbol = pair.lhs.scalar();
    if (symbol.is_symbol() && symbol.graph()->symbol_of(symbol.id()).kind == SymbolKind::derivative) {
      actions.push_back({Kind::reset, symbol, pair.rhs.scalar(), {}, where});
      continue;
    }
    const Component* component = component_of(symbol);
    if (!component || component->is_parameter() || component->type.kind != TypeKind::real)
      throw Fault{call.arguments[0].value->where,
                  "'reinit' needs a Real variable or its derivative, not " + in_quotes(print(call.arguments[0].value))};
    if (component->is_discrete())
      throw Fault{call.arguments[0].value->where,
                  in_quotes(symbol.name()) + " changes at events only; assign it instead of 'reinit'",
                  symbol.name() + " = ..."};
    actions.push_back({Kind::reset, symbol, pair.rhs.scalar(), {}, where});
  }
}

// Equations have no order; assignments do. A value that another one needs is assigned first.
void Flattener::sort_actions(std::vector<FlatAction>& actions) {
  std::unordered_map<NodeId, std::size_t> assigned;
  std::set<NodeId> reset;
  for (std::size_t k = 0; k < actions.size(); ++k)
    if (actions[k].kind == Kind::reset && actions[k].only_if.expr().is_constant() &&
        !reset.insert(actions[k].target.id()).second)
      throw Fault{actions[k].where, "'reinit' sets " + in_quotes(actions[k].target.name()) + " twice in one 'when'"};
  for (std::size_t k = 0; k < actions.size(); ++k)
    if (actions[k].kind == Kind::assign && !assigned.emplace(actions[k].target.id(), k).second)
      throw Fault{actions[k].where, in_quotes(actions[k].target.name()) + " is assigned twice in one 'when'"};
  std::vector<std::vector<std::size_t>> users(actions.size());
  std::vector<std::size_t> waiting(actions.size(), 0);
  for (std::size_t k = 0; k < actions.size(); ++k) {
    const Expr reads[] = {actions[k].value, actions[k].only_if.expr()};
    for (const Expr& symbol : symbols_of(reads, SymbolKind::discrete)) {
      const auto it = assigned.find(symbol.id());
      if (it == assigned.end()) continue;
      if (it->second == k)
        throw Fault{actions[k].where, in_quotes(symbol.name()) + " is determined by itself here",
                    "write pre(" + symbol.name() + ") for the value before the event"};
      users[it->second].push_back(k);
      ++waiting[k];
    }
  }
  std::set<std::size_t> ready;
  for (std::size_t k = 0; k < actions.size(); ++k)
    if (waiting[k] == 0) ready.insert(k);
  std::vector<FlatAction> sorted;
  while (!ready.empty()) {
    const std::size_t k = *ready.begin();
    ready.erase(ready.begin());
    sorted.push_back(actions[k]);
    for (const std::size_t user : users[k])
      if (--waiting[user] == 0) ready.insert(user);
  }
  if (sorted.size() != actions.size())
    for (std::size_t k = 0; k < actions.size(); ++k)
      if (waiting[k] > 0)
        throw Fault{actions[k].where, "the equations of this 'when' determine one another in a circle",
                    "use pre() where the value before the event is meant"};
  actions = std::move(sorted);
}

}  // namespace saltus::modelica
