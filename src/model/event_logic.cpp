#include "model/event_logic.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

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
  return {{s.time},       s.variables, s.derivatives,           s.parameters,
          s.discretes,    s.locks,     second(s.pre_variables), second(s.pre_discretes),
          {s.initial, s.terminal}};
}

std::unordered_map<NodeId, int> index_of(std::span<const Expr> symbols) {
  std::unordered_map<NodeId, int> index;
  for (std::size_t k = 0; k < symbols.size(); ++k) index.emplace(symbols[k].id(), static_cast<int>(k));
  return index;
}

enum Group : std::size_t { time, variables, derivatives, parameters, discretes, locks, pre_variables, pre_discretes, phases };

std::uint32_t first_of(const Tape& tape, Group group) {
  return std::accumulate(tape.input_sizes.begin(), tape.input_sizes.begin() + group, tape.first_input());
}

/// Whether a program looks at one of the inputs.
bool reads(const Tape& tape, std::uint32_t first, std::uint32_t count) {
  const auto inside = [&](std::uint32_t slot) { return slot >= first && slot < first + count; };
  const auto any = [&](const std::vector<std::uint32_t>& slots) { return std::any_of(slots.begin(), slots.end(), inside); };
  return std::any_of(tape.outputs.begin(), tape.outputs.end(), any) ||
         std::any_of(tape.calls.begin(), tape.calls.end(), [&](const CallSite& call) { return any(call.arguments); }) ||
         std::any_of(tape.code.begin(), tape.code.end(), [&](const Instruction& i) {
           const std::uint32_t operands[] = {i.a, i.b, i.c};
           return std::any_of(operands, operands + operand_count(i.op), inside);
         });
}
bool reads(const Tape& tape, Group group) { return reads(tape, first_of(tape, group), tape.input_sizes[group]); }
bool reads(const Tape& tape, Group group, int place) {
  const auto offset = static_cast<std::uint32_t>(place);
  return offset < tape.input_sizes[group] && reads(tape, first_of(tape, group) + offset, 1);
}

std::string violated(const BoolExpr& condition, const std::string& message) {
  return "assertion violated: " + message + " (" + to_string(condition) + ")";
}

/// Whether a value is one that has been chosen: 0 where a branch `else pre(q)` leaves the variable as it is.
Expr wanted(const Expr& value, const Expr& target, const Expr& before) {
  if (value.same(target) || value.same(before)) return 0.0;
  if (!value.graph() || value.graph()->node(value.id()).op != Op::select) return 1.0;
  const auto graph = value.graph();
  const Node choice = graph->node(value.id());
  return if_else(BoolExpr(Expr(graph, choice.a)), wanted(Expr(graph, choice.b), target, before), wanted(Expr(graph, choice.c), target, before));
}

[[gnu::noinline]] void fit_resets(Transition& transition) { transition.reset.resize(transition.x.size(), 0); }

}  // namespace

EventLogic::Evaluation::Evaluation(const Groups& inputs, const std::vector<Expr>& outputs, const ProgramOptions& options)
    : program(inputs, Groups{outputs}, options), work(program.workspace()), values(outputs.size()) {}

EventLogic::EventLogic(Setup setup, const ProgramOptions& options)
    : setup_(std::move(setup)),
      options_(options),
      variable_index_(index_of(setup_.variables)),
      discrete_index_(index_of(setup_.discretes)) {
  const Groups in = input_groups(setup_);
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
  for (const Expr& lock : locks_of(definition_values)) {
    const Expr function = switching_function(lock);
    definitions_need_values_ = definitions_need_values_ || !symbols_of(std::span(&function, 1), SymbolKind::variable).empty();
  }
  // the locks themselves, evaluated from their arguments and other locks: left out of the inputs
  std::vector<Expr> own_locks;
  for (const int k : setup_.discrete_locks) own_locks.push_back(setup_.locks[k]);
  conditions_ = Evaluation(in, clause_conditions, options);
  transition_conditions_ = Evaluation(in, transition_conditions, options);
  assertions_ = Evaluation(in, assertion_conditions, options);
  definitions_ = Evaluation(in, definition_values, options);
  Groups without_own = in;
  Graph& graph = *setup_.time.graph();
  for (const int k : setup_.discrete_locks)
    without_own[locks][k] = Expr(setup_.time.graph(), graph.symbol("decided by discrete values", SymbolKind::parameter));
  discrete_relations_ = Evaluation(without_own, own_locks, options);

  for (const auto& [symbol, before] : setup_.pre_variables) pre_variable_index_.push_back(variable_index_.at(symbol.id()));
  for (const auto& [symbol, before] : setup_.pre_discretes) pre_discrete_index_.push_back(discrete_index_.at(symbol.id()));
  levels_ = clause_levels(setup_.clauses, setup_.definitions);
  edges_.resize(setup_.clauses.size());
  most_rounds_ = 100 + 2 * (setup_.clauses.size() + setup_.definitions.size());
  defines_ = !setup_.definitions.empty() || !setup_.discrete_locks.empty();
  pre_x_.resize(setup_.pre_variables.size());
  pre_discrete_.resize(setup_.pre_discretes.size());
  const bool only_clauses = setup_.transitions.empty() && setup_.definitions.empty() && setup_.discrete_locks.empty();
  nothing_discrete_ = only_clauses && setup_.clauses.empty() && setup_.assertions.empty();
  const Tape& tape = conditions_.program.tape();
  settles_at_once_ = only_clauses && setup_.pre_discretes.empty() && !reads(tape, variables) && !reads(tape, discretes);
  const auto looks_at_values = [](const Evaluation& evaluation) {
    const Tape& t = evaluation.program.tape();
    return reads(t, time) || reads(t, variables) || reads(t, derivatives) || reads(t, pre_variables);
  };
  const bool sometimes = std::any_of(setup_.clauses.begin(), setup_.clauses.end(), [](const ModelData::Clause& clause) {
    return std::any_of(clause.actions.begin(), clause.actions.end(), [](const auto& a) { return !a.only_if.expr().is_constant(); });
  });
  acts_by_mode_ = !sometimes && setup_.assertions.empty() && !definitions_need_values_ && !looks_at_values(conditions_) &&
                  !looks_at_values(transition_conditions_) && !looks_at_values(definitions_) && !looks_at_values(discrete_relations_);
  inputs_ = {&t_, nullptr, nullptr, setup_.parameter_values.data(), nullptr, nullptr, pre_x_.data(), pre_discrete_.data(), phase_.data()};
}

bool EventLogic::decides_by_discrete(int discrete) const {
  const auto looks = [&](const Evaluation& evaluation) {
    const Tape& tape = evaluation.program.tape();
    bool found = reads(tape, discretes, discrete);
    for (std::size_t k = 0; k < pre_discrete_index_.size(); ++k)
      found = found || (pre_discrete_index_[k] == discrete && reads(tape, pre_discretes, static_cast<int>(k)));
    return found;
  };
  return looks(conditions_) || looks(transition_conditions_) || looks(definitions_) || looks(discrete_relations_);
}

bool EventLogic::decides_by_lock(int lock) const {
  const auto looks = [&](const Evaluation& evaluation) { return reads(evaluation.program.tape(), locks, lock); };
  return looks(conditions_) || looks(transition_conditions_) || looks(definitions_) || looks(discrete_relations_);
}

void EventLogic::find_contested() {
  std::unordered_map<NodeId, const ActionList*> giver;
  for (const auto* lists : {&clause_actions_, &transition_actions_})
    for (const ActionList& list : *lists)
      for (const auto& a : *list.source) {
        if (a.kind != ModelData::Action::Kind::reset && a.kind != ModelData::Action::Kind::assign) continue;
        if (const auto [it, fresh] = giver.emplace(a.target.id(), &list); !fresh && it->second != &list) contested_.insert(a.target.id());
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
        if (const auto it = assigned.find(symbol.id()); it != assigned.end()) occurring.emplace_back(symbol, it->second);
      values.push_back(substitute(std::span(&e, 1), occurring).front());
    };
    assignment.conditional = !a.only_if.expr().is_constant() || a.only_if.expr().constant_value() == 0.0;
    if (assignment.conditional) add(a.only_if.expr());
    if (a.kind == Kind::reset || a.kind == Kind::assign || a.kind == Kind::check) {
      add(a.value);
      if (a.kind == Kind::assign) assigned.insert_or_assign(a.target.id(), values.back());
      assignment.contested = a.kind != Kind::check && contested_.contains(a.target.id());
    }
    if (assignment.contested) {
      Expr before = a.target;
      for (const auto& [symbol, pre] : a.kind == Kind::reset ? setup_.pre_variables : setup_.pre_discretes)
        if (symbol.same(a.target)) before = pre;
      for (const Expr& symbol : symbols_of(std::span(&values.back(), 1), SymbolKind::discrete))
        assignment.builds_on = assignment.builds_on || symbol.same(a.target);
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
  list.right_hand_sides = Evaluation(input_groups(setup_), values, options_);
}

void EventLogic::refresh_discrete_locks(Mode& mode) {
  evaluate(discrete_relations_);
  for (std::size_t k = 0; k < setup_.discrete_locks.size(); ++k) mode.locks[setup_.discrete_locks[k]] = discrete_relations_.values[k];
}

/// Conditions that hold from the start have no edge, except those that ask for initial().
void EventLogic::start_conditions(Mode& mode) {
  evaluate(conditions_);
  mode.conditions = conditions_.values;
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k)
    if (setup_.clauses[k].at_start) mode.conditions[k] = 0.0;
}

[[gnu::hot]] void EventLogic::apply(ActionList& actions, int giver, Transition& transition) {
  if (actions.right_hand_sides.program.empty()) compile(actions);
  evaluate(actions.right_hand_sides);
  const std::vector<double>& values = actions.right_hand_sides.values;
  const double* value = values.data();
  for (const Assignment& a : actions.assignments) {
    const bool takes_place = !a.conditional || *value++ != 0.0;
    switch (a.kind) {
      case ModelData::Action::Kind::reset:
      case ModelData::Action::Kind::assign: {
        const bool reset = a.kind == ModelData::Action::Kind::reset;
        double& now = (reset ? transition.x : transition.mode.discrete)[a.target];
        const double given = *value++;
        if (!takes_place) break;
        given_.push_back({&a, given, now, giver, a.wanted < 0 || values[a.wanted] != 0.0});
        if (!reset && (given_.back().wanted || !given_before(given_.back()))) now = given_.back().value;
        break;
      }
      case ModelData::Action::Kind::terminate:
        if (!takes_place) break;
        transition.terminate = true;
        transition.message = a.message;
        break;
      case ModelData::Action::Kind::record: transition.recorded = true; break;
      case ModelData::Action::Kind::check:
        if (*value++ != 0.0 || transition.failed) break;
        transition.failed = true;
        transition.message = a.message;
        break;
    }
  }
}

void EventLogic::raise_pulses(Transition& transition) {
  evaluate(conditions_);
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k) {
    if (!setup_.clauses[k].samples) continue;
    const bool due = conditions_.values[k] != 0.0 && transition.mode.conditions[k] == 0.0;
    transition.mode.conditions[k] = conditions_.values[k];
    if (due) apply(clause_actions_[k], static_cast<int>(k), transition);
  }
}

bool EventLogic::lower_pulses(Mode& mode) {
  bool any = false;
  for (const int k : setup_.pulses) any = std::exchange(mode.discrete[k], 0.0) != 0.0 || any;
  return any;
}

/// One round of the clauses. Those that need what others assign wait for them: nobody sees values of which some are old.
/// Returns whether one acted.
bool EventLogic::run_clauses(Transition& transition) {
  evaluate(conditions_, &Setup::Surface::clauses, transition.mode);
  bool acted = fire_clauses(levels_.front(), transition), current = !acted;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    if (!current) {
      settle_definitions(transition.mode);
      evaluate(conditions_, &Setup::Surface::clauses, transition.mode);
    }
    current = !fire_clauses(levels_[level], transition);
    acted = acted || !current;
  }
  return acted;
}

/// Returns whether a clause with an edge acts; an `elsewhen` leaves it to those before it.
[[gnu::hot]] bool EventLogic::fire_clauses(std::span<const int> clauses, Transition& transition) {
  Mode& mode = transition.mode;
  bool any = false;
  for (const int k : clauses) {
    const double truth = conditions_.values[k];
    edges_[k] = truth != 0.0 && mode.conditions[k] == 0.0;
    mode.conditions[k] = truth;
    any = any || edges_[k];
  }
  if (!any) return false;
  for (const int k : clauses) {
    if (!edges_[k]) continue;
    const ModelData::Clause& clause = setup_.clauses[k];
    bool preceded = false;
    for (int p = clause.after; p >= 0; p = setup_.clauses[p].after) preceded = preceded || edges_[p];
    if (preceded) continue;
    if (!clause.name.empty()) transition.fired.push_back(clause.name);
    apply(clause_actions_[k], k, transition);
  }
  return true;  // the first one of a chain that has an edge
}

bool EventLogic::take_transitions(Transition& transition) {
  evaluate(transition_conditions_, &Setup::Surface::transitions, transition.mode);
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const auto& rule = setup_.transitions[k];
    if (static_cast<int>(rule.from) != transition.mode.automaton || transition_conditions_.values[k] == 0.0) continue;
    apply(transition_actions_[k], static_cast<int>(setup_.clauses.size() + k), transition);
    transition.mode.automaton = static_cast<int>(rule.to);
    transition.fired.push_back(transition_names_[k]);
    return true;
  }
  return false;
}

/// In contact the conditions of those whose resets have made it stay as they are beside the surface: `h <= 0` does not become true for the clause that turns
/// the speed round, and can become so again by another surface.
void EventLogic::see_from_beside(Evaluation& conditions, std::vector<int> Setup::Surface::* whose, const Mode& mode) {
  const std::vector<double> on_surface = conditions.values;
  beside_ = mode;
  for (std::size_t c = 0; c < mode.contacts.size(); ++c)
    for (const int lock : setup_.surfaces[mode.contacts[c]].locks) beside_.locks[lock] = mode.contact_sides[c] > 0 ? 1.0 : 0.0;
  inputs_[discretes] = beside_.discrete.data();
  inputs_[locks] = beside_.locks.data();
  if (defines_) settle_definitions(beside_);
  evaluate(conditions);
  inputs_[discretes] = mode.discrete.data();
  inputs_[locks] = mode.locks.data();
  beside_.conditions = on_surface;
  for (const int guard : mode.contacts)
    for (const int k : setup_.surfaces[guard].*whose) beside_.conditions[k] = conditions.values[k];
  conditions.values = beside_.conditions;
}

/// All of a round see the values before it.
void EventLogic::take_resets(Transition& transition) {
  if (!contested_.empty() && given_.front().giver != given_.back().giver) find_contradictions(transition);
  for (const Given& g : given_) {
    if (!g.reset()) continue;
    if (g.wanted || !given_before(g)) transition.x[g.by->target] = g.value;
    transition.reset[g.by->target] = 1;
  }
  given_.clear();
}

const EventLogic::Given* EventLogic::given_before(const Given& given) const {
  const Given* found = nullptr;
  if (!given.by->contested) return found;
  for (const Given* g = given_.data(); g != &given; ++g)
    if (g->by->kind == given.by->kind && g->by->target == given.by->target && g->giver != given.giver && g->wanted) found = g;
  return found;
}

void EventLogic::find_contradictions(Transition& transition) {
  for (const Given& g : given_) {
    const Given* first = g.wanted && !g.by->builds_on ? given_before(g) : nullptr;
    if (!first || first->value == g.value) continue;
    const Expr& symbol = (g.reset() ? setup_.variables : setup_.discretes)[g.by->target];
    transition.contradictions.push_back(
        {symbol.name(), describe_giver(first->giver), describe_giver(g.giver), first->value, g.value, first->before, !g.reset()});
  }
}

std::string EventLogic::describe_giver(int giver) const {
  const std::size_t k = static_cast<std::size_t>(giver), count = setup_.clauses.size();
  const SourceLocation& where = k < count ? setup_.clauses[k].where : setup_.transitions[k - count].where;
  const std::string& name = k < count ? setup_.clauses[k].name : transition_names_[k - count];
  return "'" + name + "'" + (where.known() ? " (" + to_string(where) + ")" : "");
}

/// Returns whether one of them is new. What one needs of another takes a pass each; more than that is a circle, and left to the next round.
bool EventLogic::settle_definitions(Mode& mode) {
  bool changed = false;
  for (std::size_t pass = 0; pass <= setup_.definitions.size(); ++pass) {
    if (!setup_.discrete_locks.empty()) refresh_discrete_locks(mode);
    if (setup_.definitions.empty() || !update_definitions(mode)) break;
    changed = true;
  }
  return changed;
}

bool EventLogic::update_definitions(Mode& mode) {
  evaluate(definitions_);
  bool changed = false;
  for (std::size_t k = 0; k < definition_target_.size(); ++k) {
    double& value = mode.discrete[definition_target_[k]];
    changed = changed || value != definitions_.values[k];
    value = definitions_.values[k];
  }
  return changed;
}

void EventLogic::check_assertions(Transition& transition) {
  evaluate(assertions_);
  for (std::size_t k = 0; k < setup_.assertions.size(); ++k)
    if (assertions_.values[k] == 0.0) {
      transition.failed = true;
      transition.message = violated(setup_.assertions[k].condition, setup_.assertions[k].message);
      return;
    }
}

bool EventLogic::remember_pre(const Mode& mode) {
  bool changed = false;
  for (std::size_t k = 0; k < pre_discrete_.size(); ++k) {
    const double value = mode.discrete[pre_discrete_index_[k]];
    changed = changed || pre_discrete_[k] != value;
    pre_discrete_[k] = value;
  }
  return changed;
}

[[gnu::hot]] bool EventLogic::run(const EventInput& input, Transition& transition) {
  if (nothing_discrete_) {
    if (transition.reset.size() != transition.x.size()) fit_resets(transition);
    return false;
  }
  return definitions_need_values_ ? run_with_values(input, transition) : iterate(input, transition, false);
}

/// Discrete equations that need values of the new mode may go round for ever with those of the old one.
bool EventLogic::run_with_values(const EventInput& input, Transition& transition) {
  before_ = transition;
  settles_ = true;
  const bool acted = iterate(input, transition, false);
  if (settles_) return acted;
  std::swap(transition, before_);
  return iterate(input, transition, true);
}

/// `step_by_step`: returns before pre() changes, so that values and sides are found in between.
[[gnu::hot]] bool EventLogic::iterate(const EventInput& input, Transition& transition, bool step_by_step) {
  Mode& mode = transition.mode;
  t_ = input.t;
  phase_ = {0.0, 0.0};
  inputs_[variables] = transition.x.data();
  inputs_[derivatives] = input.xp_before.data();
  inputs_[discretes] = mode.discrete.data();
  inputs_[locks] = mode.locks.data();
  for (std::size_t k = 0; k < pre_x_.size(); ++k) pre_x_[k] = input.x_before[pre_variable_index_[k]];
  if (!pre_discrete_.empty()) remember_pre(mode);
  given_.clear();
  if (transition.reset.size() != transition.x.size()) fit_resets(transition);
  bool anything = false;
  if (input.initial) {
    anything = defines_ && settle_definitions(mode);  // what they say at the start is no edge
    start_conditions(mode);
    phase_[0] = 1.0;
  }
  if (input.terminal) phase_[1] = 1.0;
  if (!setup_.pulses.empty()) raise_pulses(transition);

  for (std::size_t round = 0; round < most_rounds_; ++round) {  // few models have all of these
    bool changed = defines_ && settle_definitions(mode);
    if (!levels_.empty()) changed = run_clauses(transition) || changed;
    const bool moved = !setup_.transitions.empty() && take_transitions(transition);
    if (!given_.empty()) take_resets(transition);
    if (!setup_.pulses.empty() && lower_pulses(mode)) changed = true;
    if (transition.failed) return true;
    if (moved) {  // guards that mean something in the new mode only must be looked at first
      transition.unfinished = true;
      return true;
    }
    // values before the event stay until all that depends on them has settled: then edge(b) has been seen by everybody
    const bool goes_on = changed || (!pre_discrete_.empty() && remember_pre(mode));
    anything = anything || goes_on;
    if (goes_on && transition.terminate) return true;
    if (!goes_on || settles_at_once_) {
      if (input.initial || input.terminal) {  // the phase is over: clauses that waited for it fall back without acting
        phase_ = {0.0, 0.0};
        evaluate(conditions_, &Setup::Surface::clauses, mode);
        mode.conditions = conditions_.values;
      }
      if (!setup_.assertions.empty()) check_assertions(transition);
      return anything;
    }
    if (step_by_step && !changed) {
      transition.unfinished = true;
      return true;
    }
  }
  report_cycle(transition);
  return true;
}

void EventLogic::report_cycle(Transition& transition) {
  settles_ = false;
  transition.failed = true;
  transition.message = "the discrete equations do not settle within " + std::to_string(most_rounds_) + " rounds at one instant";
  if (transition.fired.empty()) return;
  transition.message += "; the last to act were:";
  const std::size_t first = transition.fired.size() > 6 ? transition.fired.size() - 6 : 0;
  for (std::size_t k = first; k < transition.fired.size(); ++k) transition.message.append(" '").append(transition.fired[k]).append("'");
}

}  // namespace saltus
