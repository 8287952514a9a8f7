// Discrete equations and the hand-over to the Model.
//
// A discrete variable with an equation that always holds (b = x > 0) is a definition. It is put in place of the
// variable wherever that is read, so that der(x) = if b then -1 else 1 has the surface x > 0 like the equation that
// spells it out. Where a definition looks back (b = x > 1 or pre(b) and x > 0), the continuous equations keep the
// variable: its value changes in event iteration only.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <queue>
#include <utility>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/with_events.hpp"

namespace saltus::modelica {

namespace {

using Kind = ModelData::Action::Kind;

}  // namespace

// Takes the discrete equations out of the list and finds what each of them determines.
void Flattener::sort_equations() {
  std::unordered_map<NodeId, Location> determined;
  for (const FlatClause& clause : clauses_)
    for (const FlatAction& action : clause.actions)
      if (action.kind == Kind::assign) determined.emplace(action.target.id(), action.where);
  for (const ModelData::Input& input : model_->data().inputs) {
    if (!input.held) continue;
    const Expr& symbol = model_->data().discretes[static_cast<std::size_t>(input.places.variable)].symbol;
    if (const auto place = places_.find(symbol.id()); place != places_.end())
      determined.emplace(symbol.id(), place->second.component->where());
  }
  std::vector<FlatEquation> continuous, open;
  const auto candidate = [&](const Value& side) {
    return is_discrete_symbol(side.scalar()) && !determined.contains(side.scalar().id());
  };
  const auto define = [&](const Value& target, const Value& value, const FlatEquation& e) {
    determined.emplace(target.scalar().id(), e.where);
    // what is discrete changes at events only: those of relations in functions and under noEvent, too
    const Component* const component = component_of(target.scalar());
    const bool discrete = component && component->type.kind != TypeKind::real;
    const Expr worth = discrete && moves_between_events(value.scalar()) ? with_events(value.scalar()) : value.scalar();
    if (discrete && moves_between_events(worth))
      report({e.where, in_quotes(target.scalar().name()) + " changes at events only, but its value makes none",
              "a function of variables that is not written in Modelica may be called inside of 'when'"});
    if (component && component->type.kind == TypeKind::real && moves_between_events(worth))
      report({e.where, in_quotes(target.scalar().name()) + " is discrete, but this equation changes it between events",
              "leave out 'discrete', or give it its value in a 'when'"});
    definitions_.push_back({target.scalar(), worth, e.where, e.shape});
  };
  for (FlatEquation& e : equations_) {
    const bool touches_discrete = is_discrete_symbol(e.lhs.scalar()) || is_discrete_symbol(e.rhs.scalar());
    const bool real = e.lhs.type == TypeKind::real || e.rhs.type == TypeKind::real;
    const auto real_discrete = [&](const Value& side) {
      return is_discrete_symbol(side.scalar()) && component_of(side.scalar())->type.kind == TypeKind::real;
    };
    // a Real variable may well equal a discrete one: then the equation determines the Real
    if (real && !(real_discrete(e.lhs) || real_discrete(e.rhs))) {
      continuous.push_back(std::move(e));
      continue;
    }
    if (real && !candidate(e.lhs) && !candidate(e.rhs)) {
      continuous.push_back(std::move(e));
      continue;
    }
    if (!touches_discrete) {
      report(
          {e.where, "this equation determines no discrete variable", "write it in the form 'variable = expression'"});
      continue;
    }
    open.push_back(std::move(e));
  }
  equations_ = std::move(continuous);
  // first what leaves no choice, then equations between two variables, from what is known already
  std::vector<FlatEquation> pairs;
  for (FlatEquation& e : open) {
    const bool left = candidate(e.lhs), right = candidate(e.rhs);
    if (left && right) {
      pairs.push_back(std::move(e));
    } else if (left) {
      define(e.lhs, e.rhs, e);
    } else if (right) {
      define(e.rhs, e.lhs, e);
    } else {
      const Expr& symbol = is_discrete_symbol(e.lhs.scalar()) ? e.lhs.scalar() : e.rhs.scalar();
      report({e.where, in_quotes(symbol.name()) + " is determined twice"});
      const auto it = determined.find(symbol.id());
      if (it != determined.end()) note(it->second, "the other equation is here");
    }
  }
  for (bool progress = true; progress && !pairs.empty();) {
    progress = false;
    std::vector<FlatEquation> rest;
    for (FlatEquation& e : pairs) {
      const bool left = candidate(e.lhs), right = candidate(e.rhs);
      if (left && right) {
        rest.push_back(std::move(e));
        continue;
      }
      progress = true;
      if (left)
        define(e.lhs, e.rhs, e);
      else if (right)
        define(e.rhs, e.lhs, e);
      else
        report({e.where, in_quotes(e.lhs.scalar().name()) + " is determined twice"});
    }
    if (!progress) {  // nothing is known of these: the left-hand side is what the author meant
      define(rest.front().lhs, rest.front().rhs, rest.front());
      rest.erase(rest.begin());
      progress = true;
    }
    pairs = std::move(rest);
  }
  for (const auto& discrete : model_->data().discretes) {
    if (discrete.hidden || determined.contains(discrete.symbol.id())) continue;
    const auto place = places_.find(discrete.symbol.id());
    if (place == places_.end()) continue;
    if (kept_ && is_determined_elsewhere(discrete.symbol)) continue;
    // an equation with an expression of type Real would have to round
    const auto gives_real = [&](const Value& side, const Value& other) {
      return side.scalar().same(discrete.symbol) && !other.scalar().is_symbol();
    };
    const auto e = std::ranges::find_if(equations_, [&](const FlatEquation& equation) {
      return gives_real(equation.lhs, equation.rhs) || gives_real(equation.rhs, equation.lhs);
    });
    if (e != equations_.end() && place->second.component->type.kind == TypeKind::integer)
      report({e->where, in_quotes(discrete.name) + " is of type Integer, but its value is of type Real",
              "integer(x) rounds down"});
    else
      report({place->second.component->where(), "no equation determines " + in_quotes(discrete.name),
              "give it an equation, or make it a parameter"});
  }
}

// Everything that is evaluated at events.
template <class Visit>
void Flattener::for_event_expressions(Visit visit) {
  const auto visit_condition = [&](BoolExpr& condition) {
    Expr e = condition.expr();
    visit(e);
    condition = BoolExpr(e);
  };
  for (Definition& definition : definitions_) visit(definition.value);
  for (FlatClause& clause : clauses_) {
    visit_condition(clause.condition);
    for (FlatAction& action : clause.actions) {
      visit(action.value);
      visit_condition(action.only_if);
    }
  }
  for (FlatAssertion& assertion : assertions_) visit_condition(assertion.condition);
}

// What stays in circles keeps its variables and is iterated at events. In kept loops a definition and what reads it may
// stand in passes of different shapes: there the cells replace their own definitions.
void Flattener::define_discretes() {
  std::vector<DefinedDiscrete> defined;
  std::unordered_set<NodeId> truths;
  for (const auto& discrete : model_->data().discretes)
    if (discrete.boolean) truths.insert(discrete.symbol.id());
  for (const Definition& d : definitions_) defined.push_back({d.symbol, d.value, truths.contains(d.symbol.id())});
  const std::vector<std::size_t> order = order_of(defined);
  if (order.size() < definitions_.size()) {
    std::vector<char> is_ordered(definitions_.size(), 0);
    for (const std::size_t k : order) is_ordered[k] = 1;
    const auto first = std::ranges::find(is_ordered, 0) - is_ordered.begin();
    warn(definitions_[static_cast<std::size_t>(first)].where,
         "discrete equations determine one another in a circle here; they are iterated at events",
         "use pre() where the value before the event is meant");
  }
  if (!definitions_.empty() && !kept_) replace_definitions(defined, order);
}

void Flattener::replace_definitions(std::vector<DefinedDiscrete>& defined, const std::vector<std::size_t>& order) {
  std::unordered_set<NodeId> before;
  for (const auto& [id, symbol] : pre_symbols_) before.insert(symbol->id());
  std::vector<Expr> continuous;
  for (const FlatEquation& e : equations_) {
    continuous.push_back(e.lhs.scalar());
    continuous.push_back(e.rhs.scalar());
  }
  DefinitionRules rules(model_->data().graph, defined, order, before, continuous);
  for (std::size_t k = 0; k < definitions_.size(); ++k) definitions_[k].value = defined[k].value;
  const auto rewrite = [&](Value& side) { side.elements[0] = rules.in_equations(side.elements[0]); };
  for (FlatEquation& e : equations_) {
    rewrite(e.lhs);
    rewrite(e.rhs);
  }
  for (FlatEquation& e : initial_equations_) {
    if (!is_discrete_symbol(e.lhs.scalar())) rewrite(e.lhs);
    rewrite(e.rhs);
  }
  for_event_expressions([&](Expr& e) { e = rules.at_events(e); });
}

// Clauses whose values others need (not through pre), in conditions, values or what defines these, act first;
// otherwise, and in circles, the order of the file holds.
std::vector<std::size_t> Flattener::sorted_groups(const std::vector<std::vector<std::size_t>>& groups) const {
  std::unordered_map<NodeId, std::vector<std::size_t>> assigned_by;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::size_t c : groups[g])
      for (const FlatAction& action : clauses_[c].actions)
        if (action.kind == Kind::assign) {
          auto& list = assigned_by[action.target.id()];
          if (list.empty() || list.back() != g) list.push_back(g);
        }
  std::unordered_map<NodeId, const Expr*> defined_by;
  for (const Definition& definition : definitions_) defined_by.emplace(definition.symbol.id(), &definition.value);
  std::vector<std::vector<std::size_t>> users(groups.size());
  std::vector<std::size_t> waiting(groups.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::set<std::size_t> needs;
    std::vector<const Expr*> open;
    std::unordered_set<NodeId> seen;
    for (const std::size_t c : groups[g]) {
      open.push_back(&clauses_[c].condition.expr());
      for (const FlatAction& action : clauses_[c].actions) {
        open.push_back(&action.value);
        open.push_back(&action.only_if.expr());
      }
    }
    while (!open.empty()) {
      const Expr& e = *open.back();
      open.pop_back();
      for (const Expr& symbol : symbols_of(std::span(&e, 1), SymbolKind::discrete)) {
        if (!seen.insert(symbol.id()).second) continue;
        if (const auto it = defined_by.find(symbol.id()); it != defined_by.end()) open.push_back(it->second);
        if (const auto it = assigned_by.find(symbol.id()); it != assigned_by.end())
          for (const std::size_t other : it->second)
            if (other != g) needs.insert(other);
      }
    }
    for (const std::size_t other : needs) users[other].push_back(g);
    waiting[g] = needs.size();
  }
  std::vector<std::size_t> order;
  std::vector<char> done(groups.size(), 0);
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (waiting[g] == 0) ready.push(g);
  for (std::size_t first = 0; first < groups.size(); ++first) {
    if (ready.empty() && !done[first]) ready.push(first);  // in a circle
    while (!ready.empty()) {
      const std::size_t g = ready.top();
      ready.pop();
      if (std::exchange(done[g], 1)) continue;
      order.push_back(g);
      for (const std::size_t user : users[g])
        if (--waiting[user] == 0) ready.push(user);
    }
  }
  return order;
}

void Flattener::emit_clauses() {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < clauses_.size(); ++k) {
    if (!clauses_[k].continues || groups.empty()) groups.emplace_back();
    groups.back().push_back(k);
  }
  for (const std::size_t g : sorted_groups(groups)) {
    std::optional<When> chain;
    for (const std::size_t k : groups[g]) {
      const FlatClause& clause = clauses_[k];
      if (kept_) kept_->clause_shapes.push_back(clause.shape);
      chain = chain ? chain->otherwise_when(clause.condition, locate(clause.where))
                    : model_->when(clause.condition, locate(clause.where));
      if (!clause.name.empty()) chain->named(clause.name);
      for (const FlatAction& action : clause.actions) {
        if (action.kind == Kind::reset)
          chain->reset(action.target, action.value, action.only_if);
        else if (action.kind == Kind::assign)
          chain->assign(action.target, action.value);
        else if (action.kind == Kind::terminate)
          chain->terminate(action.message, action.only_if);
        else if (action.kind == Kind::check)
          chain->assertion(BoolExpr(action.value), action.message);
      }
      if (clause.actions.empty()) chain->record();
    }
  }
}

// A discrete variable with fixed = true has its start value before the run: nothing else may give it another one.
void Flattener::check_fixed_start(const Expr& symbol, double value, const Location& where) {
  const auto& [component, position] = places_.at(symbol.id());
  if (present_numbers(*component, "fixed", 0.0)[position] == 0.0) return;
  const double start = present_numbers(*component, "start", 0.0)[position];
  if (value == start) return;
  const auto text = [&](double number) {
    return component->type.kind != TypeKind::boolean ? number_text(number) : number != 0.0 ? "true" : "false";
  };
  report({where,
          in_quotes(symbol.name()) + " is fixed at its start value " + text(start) + ", but this gives it the value " +
              text(value),
          "leave out 'fixed = true', or what gives it another value"});
}

// What is known before the run may be named by variables: equations give them values of parameters, or other names.
void Flattener::follow_known_equations(Value& value) {
  const auto& graph = model_->data().graph;
  std::unordered_map<NodeId, std::vector<Expr>> sides;  // of equations, by the symbol on the other side
  if (!symbols_of(std::span(&value.scalar(), 1), SymbolKind::variable).empty())
    for (const FlatEquation& e : equations_)
      for (const bool left : {true, false})
        if (const Expr& side = (left ? e.lhs : e.rhs).scalar(); side.is_symbol())
          sides[side.id()].push_back((left ? e.rhs : e.lhs).scalar());
  Rewrite rewrite(*graph);
  for (const Expr& symbol : symbols_of(std::span(&value.scalar(), 1), SymbolKind::variable)) {
    std::vector<Expr> names{symbol};
    for (std::size_t k = 0; k < names.size() && !rewrite.replace.contains(symbol.id()); ++k)
      for (const Expr& side : sides[names[k].id()])
        if (is_known(side))
          rewrite.replace.emplace(symbol.id(), side.in(*graph));
        else if (side.is_symbol() && std::ranges::none_of(names, [&](const Expr& name) { return name.same(side); }))
          names.push_back(side);
  }
  if (!rewrite.replace.empty()) value.elements = {Expr(graph, rewrite(value.scalar().id()))};
}

// Initial equations of the form 'variable = known' are start values as well; one may follow from another.
void Flattener::emit_initial_equations() {
  std::unordered_map<NodeId, NodeId> variable_of_pre;
  for (const auto& [id, symbol] : pre_symbols_) variable_of_pre.emplace(symbol->id(), id);
  for (std::size_t k = 0; k < model_->data().variables.size(); ++k)
    if (const VariableInfo& info = model_->data().variable_info[k]; info.fixed)
      parameter_values_.emplace(model_->data().variables[k].id(), info.start);
  const auto try_side = [&](const Value& side, const Value& other, const Location& where) {
    if (!side.scalar().is_symbol()) return false;
    const auto it = variable_of_pre.find(side.scalar().id());
    const Expr symbol = it == variable_of_pre.end() ? side.scalar() : Expr(model_->data().graph, it->second);
    const Component* component = component_of(symbol);
    if (!component || component->is_parameter() || parameter_values_.contains(symbol.id())) return false;
    if (!is_known(other.scalar())) return false;
    const double value = parameter_value(other.scalar());
    if (!std::isfinite(value)) return false;
    if (component->is_discrete()) check_fixed_start(symbol, value, where);
    model_->set(symbol.name(), value);
    follow_parameters(symbol, other.scalar());
    if (component->is_discrete() && !other.scalar().is_constant() &&
        !model_->data().start_values.contains(symbol.name())) {
      const std::string what = "the start value of " + in_quotes(symbol.name());
      used_value(other.scalar(), what);
      for (const Expr& s : symbols_of(std::span(&other.scalar(), 1), SymbolKind::variable))
        model_->fix(s.name(), "its start value decides " + what + "; read the model with the new value");
    }
    parameter_values_.emplace(symbol.id(), value);
    parameter_values_.emplace(side.scalar().id(), value);
    return true;
  };
  // active = true, active = local, local = pre(next): the value goes on through names, to the one before the start
  const auto follow_definitions = [&] {
    bool any = false;
    for (const Definition& definition : definitions_) {
      const auto known = parameter_values_.find(definition.symbol.id());
      const Expr& name = definition.value;
      if (known == parameter_values_.end() || !name.is_symbol() || parameter_values_.contains(name.id())) continue;
      const double value = known->second;
      const auto real = [](const Expr& e) { return Value(TypeKind::real, Variability::discrete, e); };
      if (variable_of_pre.contains(name.id()))
        any = try_side(real(name), real(Expr(value)), definition.where) || any;
      else if (is_discrete_symbol(name))
        any = parameter_values_.emplace(name.id(), value).second || any;
    }
    return any;
  };
  const auto is_before = [&](const Value& side) {
    return side.scalar().is_symbol() && variable_of_pre.contains(side.scalar().id());
  };
  for (FlatEquation& e : initial_equations_)
    if (is_before(e.lhs) || is_before(e.rhs)) follow_known_equations(is_before(e.lhs) ? e.rhs : e.lhs);
  std::vector<char> solved(initial_equations_.size(), 0);
  constexpr int most_passes = 100;
  // in pre(a) = pre(b), where nothing gives pre(b), that is the start value of b
  const auto assume_start = [&] {
    for (std::size_t k = 0; k < initial_equations_.size(); ++k) {
      const Value& other = initial_equations_[k].rhs;
      if (solved[k] || !is_before(initial_equations_[k].lhs) || !is_before(other)) continue;
      const auto gives = [&](const FlatEquation& e) { return is_before(e.lhs) && e.lhs.scalar().same(other.scalar()); };
      if (parameter_values_.contains(other.scalar().id()) || std::ranges::any_of(initial_equations_, gives)) continue;
      const auto& [component, position] = places_.at(variable_of_pre.at(other.scalar().id()));
      parameter_values_.emplace(other.scalar().id(), present_numbers(*component, "start", 0.0)[position]);
      return true;
    }
    return false;
  };
  bool progress = true;
  for (int pass = 0; pass < most_passes && (progress || assume_start()); ++pass) {
    progress = follow_definitions();
    for (std::size_t k = 0; k < initial_equations_.size(); ++k) {
      const FlatEquation& e = initial_equations_[k];
      if (solved[k] || !(try_side(e.lhs, e.rhs, e.where) || try_side(e.rhs, e.lhs, e.where))) continue;
      solved[k] = 1;
      progress = true;
    }
  }
  const auto is_discrete = [&](const Value& side) { return is_discrete_symbol(side.scalar()) || is_before(side); };
  InitialTargets targets = initial_targets();
  for (std::size_t k = 0; k < initial_equations_.size(); ++k) {
    const FlatEquation& e = initial_equations_[k];
    if (!is_discrete(e.lhs) && !is_discrete(e.rhs)) {
      model_->initial_equation({e.lhs.scalar(), e.rhs.scalar()}, locate(e.where));
      continue;
    }
    const Value &side = is_discrete(e.lhs) ? e.lhs : e.rhs, &other = is_discrete(e.lhs) ? e.rhs : e.lhs;
    if (!is_before(side)) {
      solve_at_start(e, solved[k] != 0, targets);
    } else if (!solved[k]) {
      const Expr symbol(model_->data().graph, variable_of_pre.at(side.scalar().id()));
      if (targets.given.contains(symbol.id()))
        report({e.where, "the value of " + in_quotes(symbol.name()) +
                             " before the start must be known before the run: " +
                             "another equation gives its value at the start"});
      else
        assign_at_start(symbol, other.scalar(), e.where, targets);
    }
  }
}

// Discrete variables whose values at the start follow from something else than their initial equations.
Flattener::InitialTargets Flattener::initial_targets() const {
  InitialTargets targets;
  for (const Definition& definition : definitions_) targets.given.insert(definition.symbol.id());
  const Expr& initial = model_->data().initial_symbol;
  for (const FlatClause& clause : clauses_) {
    const std::vector<Expr> read = symbols_of(std::span(&clause.condition.expr(), 1), SymbolKind::discrete);
    if (std::ranges::none_of(read, [&](const Expr& symbol) { return symbol.same(initial); })) continue;
    for (const FlatAction& action : clause.actions)
      if (action.kind == Kind::assign) targets.given.insert(action.target.id());
  }
  return targets;
}

// What states are at the start is found before clauses act: an initial equation that needs their values must not decide
// them.
void Flattener::assign_at_start(const Expr& symbol, const Expr& value, const Location& where, InitialTargets& targets) {
  const auto reads = [](const Expr& e, SymbolKind kind) { return !symbols_of(std::span(&e, 1), kind).empty(); };
  const auto contains = [&](const Expr& e) {
    return std::ranges::any_of(symbols_of(std::span(&e, 1), SymbolKind::discrete),
                               [&](const Expr& other) { return other.same(symbol); });
  };
  if (reads(value, SymbolKind::variable) || reads(value, SymbolKind::derivative))
    for (const FlatEquation& e : initial_equations_) {
      if (is_discrete_symbol(e.lhs.scalar()) || is_discrete_symbol(e.rhs.scalar())) continue;
      if (!contains(e.lhs.scalar()) && !contains(e.rhs.scalar())) continue;
      report({where,
              "this initial equation gives " + in_quotes(symbol.name()) +
                  " a value that depends on variables, and the initial equation '" + to_string(e.lhs.scalar()) + " = " +
                  to_string(e.rhs.scalar()) + "' of variables reads " + in_quotes(symbol.name()),
              "give " + in_quotes(symbol.name()) + " a value of parameters, or a start value"});
      return;
    }
  targets.given.insert(symbol.id());
  clauses_.push_back(
      {.condition = model_->initial(), .actions = {{Kind::assign, symbol, value, "", where}}, .where = where});
}

// An initial equation of a discrete variable whose value is not known before the run is an assignment at the start,
// which is solved together with the other equations there. Where the variable has its value already, the equation must
// hold: a run that violates it ends with a message.
void Flattener::solve_at_start(const FlatEquation& e, bool known, InitialTargets& targets) {
  const auto is_free = [&](const Value& side) {
    if (!is_discrete_symbol(side.scalar()) || targets.given.contains(side.scalar().id())) return false;
    const auto& [component, position] = places_.at(side.scalar().id());
    return !component->is_parameter() && present_numbers(*component, "fixed", 0.0)[position] == 0.0;
  };
  const bool left = is_free(e.lhs);
  const Value &side = left ? e.lhs : e.rhs, &other = left ? e.rhs : e.lhs;
  if (is_free(side)) {
    if (known)
      targets.given.insert(side.scalar().id());
    else
      assign_at_start(side.scalar(), other.scalar(), e.where, targets);
    return;
  }
  const Expr &a = e.lhs.scalar(), &b = e.rhs.scalar();
  const bool truths = e.lhs.type == TypeKind::boolean;
  const BoolExpr holds = truths ? (BoolExpr(a) && BoolExpr(b)) || (!BoolExpr(a) && !BoolExpr(b)) : saltus::equal(a, b);
  if (holds.expr().is_constant() && holds.expr().constant_value() != 0.0) return;
  clauses_.push_back({.condition = model_->initial(),
                      .actions = {{Kind::check,
                                   {},
                                   holds.expr(),
                                   "the initial equation '" + to_string(a) + " = " + to_string(b) + "' does not hold",
                                   e.where}},
                      .where = e.where});
}

void Flattener::emit() {
  if (!prototypes_.empty() && !initial_equations_.empty()) throw NotKept{};
  if (kept_) {
    for (const FlatEquation& e : equations_) kept_->equation_shapes.push_back(e.shape);
    for (const Definition& definition : definitions_) kept_->definition_shapes.push_back(definition.shape);
    for (const FlatAssertion& assertion : assertions_) kept_->assertion_shapes.push_back(assertion.shape);
  }
  for (const FlatEquation& e : equations_) model_->equation({e.lhs.scalar(), e.rhs.scalar()}, "", locate(e.where));
  emit_initial_equations();
  for (const Definition& definition : definitions_)
    model_->define(definition.symbol, definition.value, locate(definition.where));
  emit_clauses();
  emit_surfaces();
  for (const FlatAssertion& assertion : assertions_)
    model_->assertion(assertion.condition, assertion.message, locate(assertion.where));
  // A model of parameters and constants alone runs, too: it says something that always holds.
  const ModelData& data = model_->data();
  if (data.variables.empty() && data.discretes.empty() && data.clauses.empty() && data.assertions.empty())
    model_->assertion(BoolExpr(true), "a model without variables");
}

}  // namespace saltus::modelica
