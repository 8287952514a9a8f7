#include "model/event_logic.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "dae/round_failure.hpp"
#include "model/clause_levels.hpp"

namespace saltus {

namespace {

using Groups = std::vector<std::vector<Expr>>;

std::vector<Expr> second(const std::vector<std::pair<Expr, Expr>>& pairs) {
  std::vector<Expr> result;
  for (const auto& p : pairs) result.push_back(p.second);
  return result;
}

Groups input_groups(const EventLogic::Setup& s) {
  return {{s.time},    s.variables, s.derivatives,           s.parameters,
          s.discretes, s.locks,     second(s.pre_variables), second(s.pre_discretes)};
}

std::unordered_map<NodeId, int> index_of(std::span<const Expr> symbols) {
  std::unordered_map<NodeId, int> index;
  for (std::size_t k = 0; k < symbols.size(); ++k) index.emplace(symbols[k].id(), static_cast<int>(k));
  return index;
}

std::uint32_t first_of(const Tape& tape, EventLogic::Group group) {
  return std::accumulate(tape.input_sizes.begin(), tape.input_sizes.begin() + group, tape.first_input());
}

/// Calls visit(place) for each input of a group that a program reads.
template <class Visit>
void for_inputs_read(const Tape& tape, EventLogic::Group group, Visit visit) {
  const std::uint32_t first = first_of(tape, group), count = tape.input_sizes[group];
  const auto look = [&](std::uint32_t slot) {
    if (slot >= first && slot < first + count) visit(slot - first);
  };
  for (const auto& slots : tape.outputs)
    for (const std::uint32_t slot : slots) look(slot);
  for (const CallSite& call : tape.calls)
    for (const std::uint32_t slot : call.arguments) look(slot);
  for (const Instruction& i : tape.code) {
    const std::uint32_t operands[] = {i.a, i.b, i.c};
    for (int k = 0; k < operand_count(i.op); ++k) look(operands[k]);
  }
}
bool reads(const Tape& tape, EventLogic::Group group) {
  bool any = false;
  for_inputs_read(tape, group, [&](std::uint32_t) { any = true; });
  return any;
}

std::string violated(const BoolExpr& condition, const std::string& message, const SourceLocation& where = {}) {
  const std::string place = where.known() ? ", " + to_string(where) : "";
  return "assertion violated: " + message + " (" + to_string(condition) + place + ")";
}

/// Whether a value is one that has been chosen: 0 where a branch `else pre(q)` leaves the variable as it is.
Expr wanted(const Expr& value, const Expr& target, const Expr& before) {
  if (value.same(target) || value.same(before)) return 0.0;
  if (!value.graph() || value.graph()->node(value.id()).op != Op::select) return 1.0;
  const auto graph = value.graph();
  const Node choice = graph->node(value.id());
  return if_else(BoolExpr(Expr(graph, choice.a)), wanted(Expr(graph, choice.b), target, before),
                 wanted(Expr(graph, choice.c), target, before));
}

}  // namespace

EventLogic::Evaluation::Evaluation(const Groups& inputs, const std::vector<Expr>& outputs,
                                   const ProgramOptions& options)
    : program(inputs, Groups{outputs}, options), work(program.workspace()), values(outputs.size()) {}

EventLogic::EventLogic(Setup setup, const ProgramOptions& options)
    : setup_(std::move(setup)),
      options_(options),
      variable_index_(index_of(setup_.variables)),
      discrete_index_(index_of(setup_.discretes)) {
  const Groups in = input_groups(setup_);
  for (std::size_t group = 0; group < in.size(); ++group)
    for (std::size_t place = 0; place < in[group].size(); ++place)
      if (in[group][place].graph()) input_places_.emplace(in[group][place].id(), InputPlace{group, place});
  std::vector<Expr> clause_conditions, transition_conditions, assertion_conditions, definition_values;
  for (const auto& c : setup_.clauses) {
    clause_conditions.push_back(c.condition.expr());
    clause_actions_.emplace_back().source = &c.actions;
  }
  for (const auto& t : setup_.transitions) {
    transition_conditions.push_back(t.condition.expr());
    transition_actions_.emplace_back().source = &t.actions;
    transition_names_.push_back(setup_.mode_names[t.from] + " -> " + setup_.mode_names[t.to]);
  }
  find_contested();
  for (const auto& a : setup_.assertions) assertion_conditions.push_back(a.condition.expr());
  for (const auto& d : setup_.definitions) {
    definition_values.push_back(d.value);
    definition_target_.push_back(discrete_index_.at(d.discrete.id()));
  }
  conditions_ = Evaluation(in, clause_conditions, options);
  transition_conditions_ = Evaluation(in, transition_conditions, options);
  assertions_ = Evaluation(in, assertion_conditions, options);
  definitions_ = Evaluation(in, definition_values, options);
  // relations of discrete values, evaluated from their arguments and other locks: left out of the inputs
  std::vector<Expr> own_locks;
  Groups without_own = in;
  Graph& graph = *setup_.time.graph();
  for (std::size_t k = 0; k < setup_.locks.size(); ++k) {
    if (setup_.lock_info[k].guard >= 0) continue;
    discrete_locks_.push_back(static_cast<int>(k));
    own_locks.push_back(setup_.locks[k]);
    without_own[locks][k] =
        Expr(setup_.time.graph(), graph.symbol("decided by discrete values", SymbolKind::parameter));
  }
  discrete_relations_ = Evaluation(without_own, own_locks, options);

  for (const auto& [symbol, before] : setup_.pre_variables)
    pre_variable_index_.push_back(variable_index_.at(symbol.id()));
  for (const auto& [symbol, before] : setup_.pre_discretes)
    pre_discrete_index_.push_back(discrete_index_.at(symbol.id()));
  levels_ = clause_levels(setup_.clauses, setup_.definitions);
  edges_.resize(setup_.clauses.size());
  if (setup_.initial_flag >= 0)
    for (auto& c : setup_.clauses)
      for (const Expr& symbol : symbols_of(std::span(&c.condition.expr(), 1), SymbolKind::discrete))
        c.at_start = c.at_start || symbol.same(setup_.discretes[static_cast<std::size_t>(setup_.initial_flag)]);
  defines_ = !setup_.definitions.empty() || !discrete_locks_.empty();
  pre_x_.resize(setup_.pre_variables.size());
  pre_discrete_.resize(setup_.pre_discretes.size());
  assigned_.resize(setup_.discretes.size(), 0);
  assigned_before_ = assigned_;
  truths_.resize(setup_.locks.size(), 0.0);
  flags_ = !setup_.pulses.empty() || setup_.initial_flag >= 0 || setup_.terminal_flag >= 0;
  nothing_discrete_ =
      setup_.transitions.empty() && !defines_ && setup_.clauses.empty() && setup_.assertions.empty() && !flags_;
  inputs_ = {&t_, nullptr, nullptr, nullptr, nullptr, truths_.data(), pre_x_.data(), pre_discrete_.data()};
  find_needs();
  find_deciding();
}

void EventLogic::set_parameters(std::span<const double> values) {
  inputs_[parameters] = values.data();
}

void EventLogic::find_deciding() {
  deciding_discretes_.resize(setup_.discretes.size(), 0);
  deciding_locks_.resize(setup_.locks.size(), 0);
  bool looks_at_values = false;
  for (const Evaluation* evaluation :
       {&conditions_, &transition_conditions_, &definitions_, &discrete_relations_, &relations_}) {
    const Tape& tape = evaluation->program.tape();
    for_inputs_read(tape, discretes, [&](std::uint32_t k) { deciding_discretes_[k] = 1; });
    for_inputs_read(tape, pre_discretes, [&](std::uint32_t k) {
      deciding_discretes_[static_cast<std::size_t>(pre_discrete_index_[k])] = 1;
    });
    for_inputs_read(tape, locks, [&](std::uint32_t k) { deciding_locks_[k] = 1; });
    looks_at_values = looks_at_values || reads(tape, time) || reads(tape, variables) || reads(tape, derivatives) ||
                      reads(tape, pre_variables);
  }
  // a counter reads itself, and what reads nothing else decides nothing
  setting_discretes_.resize(setup_.discretes.size(), 0);
  const std::unordered_map<NodeId, int> before = index_of(second(setup_.pre_discretes));
  const auto note_values = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions)
      for (const Expr& symbol : symbols_of(std::span(&a.value, 1), SymbolKind::discrete)) {
        if (symbol.same(a.target)) continue;
        if (const auto it = discrete_index_.find(symbol.id()); it != discrete_index_.end())
          setting_discretes_[static_cast<std::size_t>(it->second)] = 1;
        const auto it = before.find(symbol.id());
        if (it == before.end() || setup_.pre_discretes[static_cast<std::size_t>(it->second)].first.same(a.target))
          continue;
        setting_discretes_[static_cast<std::size_t>(pre_discrete_index_[static_cast<std::size_t>(it->second)])] = 1;
      }
  };
  for (const auto& c : setup_.clauses) note_values(c.actions);
  for (const auto& t : setup_.transitions) note_values(t.actions);
  const bool sometimes = std::any_of(setup_.clauses.begin(), setup_.clauses.end(), [](const ModelData::Clause& clause) {
    return std::any_of(clause.actions.begin(), clause.actions.end(),
                       [](const auto& a) { return !a.only_if.expr().is_constant(); });
  });
  acts_by_mode_ = !sometimes && setup_.assertions.empty() && setup_.initial_flag < 0 && setup_.terminal_flag < 0 &&
                  !looks_at_values;
}

/// What of a round is read in the same round, by conditions, values that are assigned, and the relations in both.
void EventLogic::find_needs() {
  std::vector<Expr> read;
  std::unordered_set<NodeId> assigned, not_states;
  const auto add_actions = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions) {
      read.push_back(a.value);
      read.push_back(a.only_if.expr());
      if (a.kind != ModelData::Action::Kind::assign) continue;
      assigned.insert(a.target.id());
      for (const Expr& symbol : symbols_of(std::span(&a.value, 1), SymbolKind::discrete))
        if (const int k = discrete_index_.at(a.target.id());
            symbol.same(a.target) && std::find(built_on_.begin(), built_on_.end(), k) == built_on_.end())
          built_on_.push_back(k);
    }
  };
  for (const auto& c : setup_.clauses) {
    if (c.samples) continue;  // they act before the others
    read.push_back(c.condition.expr());
    add_actions(c.actions);
  }
  for (const auto& t : setup_.transitions) {
    read.push_back(t.condition.expr());
    add_actions(t.actions);
  }
  for (const auto& d : setup_.definitions) {
    read.push_back(d.value);
    assigned.insert(d.discrete.id());
  }
  for (const auto& a : setup_.assertions) read.push_back(a.condition.expr());
  for (std::size_t j = 0; j < setup_.variables.size(); ++j)
    if (!setup_.state[j]) not_states.insert(setup_.variables[j].id());
  const auto changes = [&](std::span<const Expr> e) {
    const auto in = [&](SymbolKind kind, const std::unordered_set<NodeId>& set) {
      const std::vector<Expr> symbols = symbols_of(e, kind);
      return std::any_of(symbols.begin(), symbols.end(), [&](const Expr& s) { return set.contains(s.id()); });
    };
    return in(SymbolKind::discrete, assigned) || in(SymbolKind::variable, not_states) ||
           !symbols_of(e, SymbolKind::derivative).empty();
  };
  for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::derivative})
    for (const Expr& s : symbols_of(read, kind))
      reads_values_ = reads_values_ || kind == SymbolKind::derivative || not_states.contains(s.id());
  one_sweep_ = !changes(read);
  // relations that conditions read and that a round may change
  std::unordered_map<NodeId, int> place = index_of(setup_.locks);
  for (const Expr& lock : locks_of(read)) {
    const auto it = place.find(lock.id());
    if (it == place.end() || setup_.lock_info[static_cast<std::size_t>(it->second)].guard < 0) continue;
    const Expr function = switching_function(lock);
    if (!changes(std::span(&function, 1))) continue;
    relation_locks_.push_back(it->second);
    relation_functions_.push_back(function);
  }
  relations_ = Evaluation(input_groups(setup_), relation_functions_, options_);
}

void EventLogic::find_slopes() {
  std::vector<InputPlace> places, moving_places;
  std::vector<Expr> inputs = inputs_of(relation_functions_, places), moving;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (places[k].group != parameters && places[k].group != locks) {
      moving.push_back(inputs[k]);
      moving_places.push_back(places[k]);
    }
  const SparseExprMatrix slopes = jacobian(relation_functions_, moving);
  for (const auto& entry : slopes.entries)
    slopes_.push_back({static_cast<std::size_t>(entry.row), moving_places[static_cast<std::size_t>(entry.column)]});
  slope_values_ = Evaluation(input_groups(setup_), slopes.values(), options_);
}

void EventLogic::find_contested() {
  std::unordered_map<NodeId, const ActionList*> giver;
  for (const auto* lists : {&clause_actions_, &transition_actions_})
    for (const ActionList& list : *lists)
      for (const auto& a : *list.source) {
        if (a.kind != ModelData::Action::Kind::reset && a.kind != ModelData::Action::Kind::assign) continue;
        if (const auto [it, fresh] = giver.emplace(a.target.id(), &list); !fresh && it->second != &list)
          contested_.insert(a.target.id());
      }
}

// The right-hand sides of one clause. A later one sees the discrete values that earlier ones assigned; this is done by
// substitution, so that one program computes all of them.
void EventLogic::compile(ActionList& list) const {
  std::vector<Expr> values, wishes;
  std::unordered_map<NodeId, Expr> assigned;
  std::vector<std::pair<Expr, Expr>> occurring;
  for (const auto& a : *list.source) {
    using Kind = ModelData::Action::Kind;
    Assignment assignment{a.kind, -1, a.message};
    if (a.kind == Kind::reset) assignment.target = variable_index_.at(a.target.id());
    if (a.kind == Kind::assign) assignment.target = discrete_index_.at(a.target.id());
    if (a.kind == Kind::check) assignment.message = violated(BoolExpr(a.value), a.message);
    const auto add = [&](const Expr& e) {
      occurring.clear();
      for (const Expr& symbol : symbols_of(std::span(&e, 1), SymbolKind::discrete))
        if (const auto it = assigned.find(symbol.id()); it != assigned.end())
          occurring.emplace_back(symbol, it->second);
      values.push_back(substitute(std::span(&e, 1), occurring).front());
    };
    assignment.conditional = !a.only_if.expr().is_constant() || a.only_if.expr().constant_value() == 0.0;
    if (assignment.conditional) add(a.only_if.expr());
    if (a.kind == Kind::reset || a.kind == Kind::assign || a.kind == Kind::check) {
      add(a.value);
      if (a.kind == Kind::assign) {
        assigned.insert_or_assign(a.target.id(), values.back());
        for (const Expr& symbol : symbols_of(std::span(&values.back(), 1), SymbolKind::discrete))
          if (const auto it = discrete_index_.find(symbol.id()); it != discrete_index_.end())
            assignment.reads.push_back(static_cast<std::size_t>(it->second));
      }
      assignment.contested = a.kind != Kind::check && contested_.contains(a.target.id());
    }
    if (a.kind == Kind::assign)
      assignment.builds_on = std::find(assignment.reads.begin(), assignment.reads.end(),
                                       static_cast<std::size_t>(assignment.target)) != assignment.reads.end();
    if (assignment.contested) {
      Expr before = a.target;
      for (const auto& [symbol, pre] : a.kind == Kind::reset ? setup_.pre_variables : setup_.pre_discretes)
        if (symbol.same(a.target)) before = pre;
      const Expr wish = wanted(values.back(), a.target, before);
      if (!wish.is_constant() || wish.constant_value() == 0.0) {
        assignment.wanted = static_cast<int>(wishes.size());
        wishes.push_back(wish);
      }
    }
    list.assignments.push_back(std::move(assignment));
  }
  for (Assignment& a : list.assignments)
    if (a.wanted >= 0) a.wanted += static_cast<int>(values.size());
  values.insert(values.end(), wishes.begin(), wishes.end());
  std::vector<Expr> inputs = inputs_of(values, list.reads), own;
  list.inputs.resize(inputs.size());
  list.travel.resize(inputs.size());
  std::vector<char> uncertain;
  for (const InputPlace& place : list.reads) uncertain.push_back(place.group != parameters && place.group != locks);
  for (const Expr& lock : locks_of(values)) {
    if (input_places_.contains(lock.id())) continue;
    const Expr function = switching_function(lock);
    std::vector<InputPlace> places;
    inputs_of(std::span(&function, 1), places);
    if (std::any_of(places.begin(), places.end(), [](const InputPlace& place) {
          return place.group == time || place.group == variables || place.group == derivatives ||
                 place.group == pre_variables;
        }))
      own.push_back(lock);
  }
  list.relations = ActionRelations(own, inputs, uncertain, options_);
  list.right_hand_sides = Evaluation({std::move(inputs), std::move(own)}, values, options_);
}

/// The inputs that occur in expressions, with their places.
std::vector<Expr> EventLogic::inputs_of(std::span<const Expr> expressions, std::vector<InputPlace>& places) const {
  std::vector<Expr> inputs;
  const auto graph = common_graph(expressions);
  if (!graph) return inputs;
  std::vector<NodeId> open;
  std::unordered_set<NodeId> seen;
  const auto enter = [&](NodeId id) {
    if (seen.insert(id).second) open.push_back(id);
  };
  for (const Expr& e : expressions)
    if (e.graph()) enter(e.id());
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (const auto it = input_places_.find(id); it != input_places_.end()) {
      inputs.emplace_back(graph, id);
      places.push_back(it->second);
    } else {
      graph->for_each_operand(id, enter);
    }
  }
  return inputs;
}

const EventLogic::Given* EventLogic::given_before(const Given& given) const {
  const Given* found = nullptr;
  if (!given.by->contested) return found;
  for (const Given* g = given_.data(); g != &given; ++g)
    if (g->by->kind == given.by->kind && g->by->target == given.by->target && g->giver != given.giver && g->wanted)
      found = g;
  return found;
}

void EventLogic::find_contradictions(Transition& transition) {
  for (const Given& g : given_) {
    const Given* first = g.wanted && !g.by->builds_on ? given_before(g) : nullptr;
    if (!first || first->value == g.value) continue;
    const auto target = static_cast<std::size_t>(g.by->target);
    const Expr& symbol = (g.reset() ? setup_.variables : setup_.discretes)[target];
    const double before = g.reset() ? transition.x[target] : before_[target];
    transition.contradictions.push_back({symbol.name(), describe_giver(first->giver), describe_giver(g.giver),
                                         first->value, g.value, before, !g.reset()});
  }
}

std::string EventLogic::describe_giver(int giver) const {
  const std::size_t k = static_cast<std::size_t>(giver), count = setup_.clauses.size();
  const SourceLocation& where = k < count ? setup_.clauses[k].where : setup_.transitions[k - count].where;
  const std::string& name = k < count ? setup_.clauses[k].name : transition_names_[k - count];
  return "'" + name + "'" + (where.known() ? " (" + to_string(where) + ")" : "");
}

void EventLogic::check_assertions(Transition& transition) {
  evaluate(assertions_);
  for (std::size_t k = 0; k < setup_.assertions.size(); ++k)
    if (assertions_.values[k] == 0.0)
      return fail(transition,
                  violated(setup_.assertions[k].condition, setup_.assertions[k].message, setup_.assertions[k].where));
}

/// Returns true, and fails, if an expression of the round has a value that is not finite. Infinity that is written down
/// as such, and times of hidden clauses (`sample`, inputs), are allowed.
bool EventLogic::refuse_not_finite(Transition& transition) const {
  const auto refuse = [&](const Expr& target, const Expr& value, const SourceLocation& where) {
    fail(transition, fmt::format("{} for '{}' at t = {:.12g}: '{}'{}", no_finite_value, to_string(target), t_,
                                 to_string(value), where.known() ? " (" + to_string(where) + ")" : ""));
    return true;
  };
  for (std::size_t k = 0; k < definition_target_.size(); ++k) {
    const ModelData::Definition& d = setup_.definitions[k];
    const auto target = static_cast<std::size_t>(definition_target_[k]);
    if (!std::isfinite(transition.mode.discrete[target]) && !d.value.is_constant())
      return refuse(d.discrete, d.value, d.where);
  }
  for (const Given& g : given_) {
    if (std::isfinite(g.value)) continue;
    const std::size_t giver = static_cast<std::size_t>(g.giver), clauses = setup_.clauses.size();
    if (giver < clauses && setup_.clauses[giver].name.empty()) continue;
    const ActionList& list = giver < clauses ? clause_actions_[giver] : transition_actions_[giver - clauses];
    const ModelData::Action& action = (*list.source)[static_cast<std::size_t>(g.by - list.assignments.data())];
    const SourceLocation& where =
        giver < clauses ? setup_.clauses[giver].where : setup_.transitions[giver - clauses].where;
    if (!action.value.is_constant()) return refuse(action.target, action.value, where);
  }
  return false;
}

void EventLogic::fail(Transition& transition, std::string message) const {
  transition.failed = true;
  transition.message = std::move(message);
}

}  // namespace saltus
