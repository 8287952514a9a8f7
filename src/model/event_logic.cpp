#include "model/event_logic.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace saltus {

namespace {

using Groups = std::vector<std::vector<Expr>>;
constexpr int max_rounds = 100;

std::vector<Expr> second(const std::vector<std::pair<Expr, Expr>>& pairs) {
  std::vector<Expr> result;
  for (const auto& p : pairs) result.push_back(p.second);
  return result;
}

Groups input_groups(const EventLogic::Setup& s) {
  return {{s.time},       s.variables, s.derivatives,           s.parameters,
          s.discretes,    s.locks,     second(s.pre_variables), second(s.pre_discretes),
          {s.initial, s.terminal}};
}

std::unordered_map<NodeId, int> index_of(std::span<const Expr> symbols) {
  std::unordered_map<NodeId, int> index;
  for (std::size_t k = 0; k < symbols.size(); ++k) index.emplace(symbols[k].id(), static_cast<int>(k));
  return index;
}

}  // namespace

EventLogic::EventLogic(Setup setup, const ProgramOptions& options)
    : setup_(std::move(setup)),
      options_(options),
      variable_index_(index_of(setup_.variables)),
      discrete_index_(index_of(setup_.discretes)) {
  const Groups in = input_groups(setup_);
  std::vector<Expr> clause_conditions, transition_conditions, assertion_conditions, definition_values, relation_arguments;
  for (const auto& c : setup_.clauses) {
    clause_conditions.push_back(c.condition.expr());
    clause_actions_.emplace_back().source = &c.actions;
  }
  for (const auto& t : setup_.transitions) {
    transition_conditions.push_back(t.condition.expr());
    transition_actions_.emplace_back().source = &t.actions;
    transition_names_.push_back(setup_.mode_names[t.from] + " -> " + setup_.mode_names[t.to]);
  }
  for (const auto& a : setup_.assertions) assertion_conditions.push_back(a.condition.expr());
  for (const auto& d : setup_.definitions) {
    definition_values.push_back(d.value);
    definition_target_.push_back(discrete_index_.at(d.discrete.id()));
  }
  for (const Expr& lock : locks_of(definition_values)) {
    const Expr function = switching_function(lock);
    definitions_need_values_ = definitions_need_values_ || !symbols_of(std::span(&function, 1), SymbolKind::variable).empty();
  }
  // the locks themselves, evaluated from their arguments: left out of the inputs
  std::vector<Expr> own_locks;
  for (const int k : setup_.discrete_locks) own_locks.push_back(setup_.locks[k]);
  const auto compile_group = [&](Program& program, Workspace& work, const Groups& inputs, const std::vector<Expr>& outputs) {
    program = Program(inputs, Groups{outputs}, options);
    work = program.workspace();
  };
  compile_group(conditions_, conditions_work_, in, clause_conditions);
  compile_group(transition_conditions_, transition_work_, in, transition_conditions);
  compile_group(assertions_, assertions_work_, in, assertion_conditions);
  compile_group(definitions_, definitions_work_, in, definition_values);
  Groups without_locks = in;
  without_locks[5].clear();
  compile_group(discrete_relations_, relations_work_, without_locks, own_locks);

  for (const auto& [symbol, before] : setup_.pre_variables) pre_variable_index_.push_back(variable_index_.at(symbol.id()));
  for (const auto& [symbol, before] : setup_.pre_discretes) pre_discrete_index_.push_back(discrete_index_.at(symbol.id()));
  x_.resize(setup_.variables.size());
  xp_.resize(setup_.variables.size());
  pre_x_.resize(setup_.pre_variables.size());
  pre_discrete_.resize(setup_.pre_discretes.size());
  phase_.assign(2, 0.0);
}

// The right-hand sides of one clause. A later one sees the discrete values that earlier ones assigned; this is done by
// substitution, so that one program computes all of them.
void EventLogic::compile(ActionList& list) const {
  std::vector<Expr> values;
  std::unordered_map<NodeId, Expr> assigned;
  std::vector<std::pair<Expr, Expr>> occurring;
  for (const auto& a : *list.source) {
    Assignment assignment{a.kind, -1, a.message};
    if (a.kind == ModelData::Action::Kind::reset || a.kind == ModelData::Action::Kind::assign) {
      const bool reset = a.kind == ModelData::Action::Kind::reset;
      assignment.target = reset ? variable_index_.at(a.target.id()) : discrete_index_.at(a.target.id());
      occurring.clear();
      for (const Expr& symbol : symbols_of(std::span(&a.value, 1), SymbolKind::discrete))
        if (const auto it = assigned.find(symbol.id()); it != assigned.end()) occurring.emplace_back(symbol, it->second);
      values.push_back(substitute(std::span(&a.value, 1), occurring).front());
      if (!reset) assigned.insert_or_assign(a.target.id(), values.back());
    }
    list.assignments.push_back(std::move(assignment));
  }
  list.program = Program(input_groups(setup_), Groups{values}, options_);
  list.work = list.program.workspace();
}

void EventLogic::evaluate(const Program& program, Workspace& work, std::vector<double>& out) {
  out.resize(program.tape().outputs[0].size());
  if (out.empty()) return;
  const double* in[] = {&t_,           x_.data(),     xp_.data(),           setup_.parameter_values.data(), discrete_.data(),
                        locks_.data(), pre_x_.data(), pre_discrete_.data(), phase_.data()};
  double* const outs[] = {out.data()};
  program(in, outs, work);
}

void EventLogic::refresh_discrete_locks(Mode& mode) {
  if (setup_.discrete_locks.empty()) return;
  evaluate(discrete_relations_, relations_work_, values_);
  for (std::size_t k = 0; k < setup_.discrete_locks.size(); ++k)
    mode.locks[setup_.discrete_locks[k]] = locks_[setup_.discrete_locks[k]] = values_[k];
}

bool EventLogic::apply(ActionList& actions, Transition& transition) {
  if (actions.program.empty()) compile(actions);
  evaluate(actions.program, actions.work, values_);
  std::size_t next = 0;
  bool changed = false;
  for (const Assignment& a : actions.assignments) {
    switch (a.kind) {
      case ModelData::Action::Kind::reset:
        changed = changed || transition.x[a.target] != values_[next];
        transition.x[a.target] = values_[next++];  // x_ keeps the value before this round
        transition.reset[a.target] = 1;
        break;
      case ModelData::Action::Kind::assign:
        changed = changed || discrete_[a.target] != values_[next];
        transition.mode.discrete[a.target] = discrete_[a.target] = values_[next++];
        break;
      case ModelData::Action::Kind::terminate:
        transition.terminate = true;
        transition.message = a.message;
        break;
      case ModelData::Action::Kind::record: transition.recorded = true; break;
    }
  }
  return changed;
}

bool EventLogic::fire_clauses(Transition& transition) {
  if (setup_.clauses.empty()) return false;
  evaluate(conditions_, conditions_work_, truth_);
  std::vector<double>& before = transition.mode.conditions;
  bool acted = false;
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k) {
    const bool edge = truth_[k] != 0.0 && before[k] == 0.0;
    before[k] = truth_[k];
    truth_[k] = edge ? 1.0 : 0.0;  // from here on: whether the clause has its edge now
    if (!edge) continue;
    bool preceded = false;
    for (int p = setup_.clauses[k].after; p >= 0; p = setup_.clauses[p].after) preceded = preceded || truth_[p] != 0.0;
    if (preceded) continue;
    if (!setup_.clauses[k].name.empty()) transition.fired.push_back(setup_.clauses[k].name);
    apply(clause_actions_[k], transition);
    acted = true;
  }
  return acted;
}

bool EventLogic::take_transitions(Transition& transition) {
  if (setup_.transitions.empty()) return false;
  evaluate(transition_conditions_, transition_work_, truth_);
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const auto& rule = setup_.transitions[k];
    if (static_cast<int>(rule.from) != transition.mode.automaton || truth_[k] == 0.0) continue;
    apply(transition_actions_[k], transition);
    transition.mode.automaton = static_cast<int>(rule.to);
    transition.fired.push_back(transition_names_[k]);
    return true;
  }
  return false;
}

bool EventLogic::update_definitions(Transition& transition) {
  if (setup_.definitions.empty()) return false;
  evaluate(definitions_, definitions_work_, values_);
  bool changed = false;
  for (std::size_t k = 0; k < setup_.definitions.size(); ++k) {
    double& value = transition.mode.discrete[definition_target_[k]];
    changed = changed || value != values_[k];
    value = discrete_[definition_target_[k]] = values_[k];
  }
  return changed;
}

void EventLogic::check_assertions(Transition& transition) {
  if (setup_.assertions.empty()) return;
  evaluate(assertions_, assertions_work_, values_);
  for (std::size_t k = 0; k < setup_.assertions.size(); ++k)
    if (values_[k] == 0.0) {
      transition.failed = true;
      transition.message = "assertion violated: " + setup_.assertions[k].message + " (" +
                           to_string(setup_.assertions[k].condition) + ")";
      return;
    }
}

bool EventLogic::remember_pre(const Transition& transition) {
  bool changed = false;
  for (std::size_t k = 0; k < pre_discrete_index_.size(); ++k) {
    const double value = transition.mode.discrete[pre_discrete_index_[k]];
    changed = changed || pre_discrete_[k] != value;
    pre_discrete_[k] = value;
  }
  return changed;
}

bool EventLogic::run(const EventInput& input, Transition& transition) {
  if (definitions_need_values_) before_ = transition;
  const bool acted = iterate(input, transition, false);
  if (settles_ || !definitions_need_values_) return acted;
  // Discrete equations that need values of the new mode may go round for ever with those of the old one.
  std::swap(transition, before_);
  return iterate(input, transition, true);
}

/// `step_by_step`: returns before pre() changes, so that values and sides are found in between.
bool EventLogic::iterate(const EventInput& input, Transition& transition, bool step_by_step) {
  settles_ = true;
  t_ = input.t;
  std::copy_n(transition.x.begin(), x_.size(), x_.begin());  // weights of surfaces may follow
  std::copy_n(input.xp_before.begin(), xp_.size(), xp_.begin());
  discrete_ = transition.mode.discrete;
  locks_ = transition.mode.locks;
  for (std::size_t k = 0; k < pre_variable_index_.size(); ++k) pre_x_[k] = input.x_before[pre_variable_index_[k]];
  remember_pre(transition);
  phase_ = {0.0, 0.0};
  transition.reset.resize(transition.x.size(), 0);
  refresh_discrete_locks(transition.mode);
  if (input.initial) {  // conditions that hold from the start have no edge, except those that ask for initial()
    evaluate(conditions_, conditions_work_, transition.mode.conditions);
    for (std::size_t k = 0; k < setup_.clauses.size(); ++k)
      if (setup_.clauses[k].at_start) transition.mode.conditions[k] = 0.0;
    phase_[0] = 1.0;
  }
  if (input.terminal) phase_[1] = 1.0;

  bool anything = false;
  for (int round = 0; round < max_rounds; ++round) {
    refresh_discrete_locks(transition.mode);
    bool changed = update_definitions(transition);
    changed = fire_clauses(transition) || changed;
    const bool moved = take_transitions(transition);
    std::copy_n(transition.x.begin(), x_.size(), x_.begin());
    if (moved) {  // guards that mean something in the new mode only must be looked at first
      transition.unfinished = true;
      return true;
    }
    // values before the event stay until all that depends on them has settled: then edge(b) has been seen by everybody
    if (!changed && !remember_pre(transition)) {
      if (input.initial || input.terminal) {  // the phase is over: clauses that waited for it fall back without acting
        phase_ = {0.0, 0.0};
        evaluate(conditions_, conditions_work_, transition.mode.conditions);
      }
      check_assertions(transition);
      return anything;
    }
    anything = true;
    if (transition.terminate) return true;
    if (step_by_step && !changed) {
      transition.unfinished = true;
      return true;
    }
  }
  settles_ = false;
  transition.failed = true;
  transition.message = "the discrete equations do not settle within " + std::to_string(max_rounds) + " rounds at one instant";
  if (!transition.fired.empty()) {
    transition.message += "; the last to act were:";
    const std::size_t first = transition.fired.size() > 6 ? transition.fired.size() - 6 : 0;
    for (std::size_t k = first; k < transition.fired.size(); ++k) transition.message.append(" '").append(transition.fired[k]).append("'");
  }
  return true;
}

}  // namespace saltus
