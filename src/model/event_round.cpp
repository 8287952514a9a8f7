// One round of the discrete part; event_logic.hpp says what holds in it.
#include <fmt/format.h>
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "dae/round_failure.hpp"
#include "model/event_logic.hpp"

namespace saltus {

namespace {

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Whether two clauses or transitions do the same: elements of one vector of conditions.
template <class Rule>
bool same_actions(const Rule& a, const Rule& b) {
  return std::equal(a.actions.begin(), a.actions.end(), b.actions.begin(), b.actions.end(),
                    [](const auto& p, const auto& q) {
                      return p.kind == q.kind && p.target.same(q.target) && p.value.same(q.value) &&
                             p.only_if.same(q.only_if) && p.message == q.message;
                    });
}

}  // namespace

[[gnu::hot]] bool EventLogic::round(const EventInput& input, Transition& transition) {
  if (transition.reset.size() != transition.x.size()) transition.reset.resize(transition.x.size(), 0);
  if (nothing_discrete_) return false;
  const bool raised = begin_round(input, transition);
  const bool found = find_round(input, transition);
  if (refuse_not_finite(transition) || !found) return true;
  commit_round(input, transition);
  return raised || !active_.empty() || taken_ >= 0 || locks_changed_ || !same(transition.mode.discrete, before_);
}

void EventLogic::start(Mode& mode) {
  if (discrete_locks_.empty()) return;
  const std::vector<double> zero(setup_.variables.size(), 0.0);
  inputs_[variables] = inputs_[derivatives] = zero.data();
  inputs_[discretes] = mode.discrete.data();
  for (std::size_t k = 0; k < pre_discrete_.size(); ++k)
    pre_discrete_[k] = mode.discrete[static_cast<std::size_t>(pre_discrete_index_[k])];
  read_truths(mode);
  refresh_discrete_locks();
  for (const int k : discrete_locks_) mode.locks[static_cast<std::size_t>(k)] = truths_[static_cast<std::size_t>(k)];
}

/// Returns whether something becomes true for this instant.
bool EventLogic::begin_round(const EventInput& input, Transition& transition) {
  Mode& mode = transition.mode;
  if (input.t != t_) since_ = std::isnan(t_) || input.initial ? 0.0 : std::abs(input.t - t_);
  t_ = input.t;
  inputs_[variables] = transition.x.data();
  inputs_[derivatives] = input.xp_before.data();
  inputs_[discretes] = mode.discrete.data();
  followed_ = false;
  for (std::size_t k = 0; k < pre_x_.size(); ++k)
    pre_x_[k] = input.x_before[static_cast<std::size_t>(pre_variable_index_[k])];
  for (std::size_t k = 0; k < pre_discrete_.size(); ++k)
    pre_discrete_[k] = mode.discrete[static_cast<std::size_t>(pre_discrete_index_[k])];
  read_truths(mode);
  if (!discrete_locks_.empty()) discrete_locks_before_ = mode.locks;
  given_.clear();
  conditions_before_ = mode.conditions;
  bool raised = false;
  if (input.terminal && setup_.terminal_flag >= 0)
    raised = std::exchange(mode.discrete[static_cast<std::size_t>(setup_.terminal_flag)], 1.0) == 0.0;
  if (!setup_.pulses.empty() && !input.initial) {
    if (!discrete_locks_.empty()) refresh_discrete_locks();
    raised = raise_pulses(transition) || raised;
  }
  before_ = mode.discrete;
  return raised;
}

void EventLogic::find_travel(ActionList& actions) const {
  for (std::size_t k = 0; k < actions.reads.size(); ++k) {
    const InputPlace& input = actions.reads[k];
    const bool moves = input.group == variables && since_ > 0.0;
    actions.travel[k] = moves ? std::abs(inputs_[derivatives][input.place]) * since_ : 0.0;
  }
}

/// Relations and roundings as conditions see them.
void EventLogic::read_truths(const Mode& mode) {
  for (std::size_t k = 0; k < truths_.size(); ++k) {
    const Lock& lock = setup_.lock_info[k];
    if (lock.guard < 0 || lock.rounding) {
      truths_[k] = mode.locks[k];
      // on the upper end of its interval a rounding has the next integer already
      if (lock.rounding && std::binary_search(mode.sliding.begin(), mode.sliding.end(), lock.guard + 1))
        truths_[k] += 1.0;
      continue;
    }
    const int side = lock.sign * mode.sees[static_cast<std::size_t>(lock.guard)];
    truths_[k] = side > 0 || (side == 0 && lock.weak) ? 1.0 : 0.0;
  }
}

/// The conditions of clauses whose resets have come to rest on a surface stay as they are beside it: what pushes the
/// solution through the surface makes them act again.
void EventLogic::see_from_beside(const Mode& mode) {
  const std::vector<double> on_surface = conditions_.values, truths = truths_;
  Mode beside = mode;
  for (std::size_t k = 0; k < truths_.size(); ++k) {
    const Lock& lock = setup_.lock_info[k];
    const auto place = std::find(mode.contacts.begin(), mode.contacts.end(), lock.guard);
    if (lock.guard < 0 || lock.rounding || place == mode.contacts.end()) continue;
    truths_[k] =
        lock.sign * mode.contact_sides[static_cast<std::size_t>(place - mode.contacts.begin())] > 0 ? 1.0 : 0.0;
  }
  inputs_[discretes] = beside.discrete.data();
  if (defines_) settle_definitions(beside);
  evaluate(conditions_);
  inputs_[discretes] = mode.discrete.data();
  truths_ = truths;
  std::vector<double> result = on_surface;
  for (const int guard : mode.contacts)
    for (const int k : setup_.contact_clauses[static_cast<std::size_t>(guard)])
      result[static_cast<std::size_t>(k)] = conditions_.values[static_cast<std::size_t>(k)];
  conditions_.values = result;
}

void EventLogic::refresh_discrete_locks() {
  evaluate(discrete_relations_);
  for (std::size_t k = 0; k < discrete_locks_.size(); ++k)
    truths_[static_cast<std::size_t>(discrete_locks_[k])] = discrete_relations_.values[k];
}

/// Samples that are due: they are true in every round of the instant. Returns whether there is one.
bool EventLogic::raise_pulses(Transition& transition) {
  evaluate(conditions_);
  bool any = false;
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k) {
    if (!setup_.clauses[k].samples) continue;
    const bool due = conditions_.values[k] != 0.0 && conditions_before_[k] == 0.0;
    if (!due) continue;
    any = true;
    apply(clause_actions_[k], static_cast<int>(k), transition);
  }
  given_.clear();
  return any;
}

/// Sweeps until nothing changes. False: there is no solution; the transition says why.
bool EventLogic::find_round(const EventInput& input, Transition& transition) {
  Mode& mode = transition.mode;
  const std::size_t enough = 3 + levels_.size(),
                    most = enough + 2 * (setup_.clauses.size() + setup_.definitions.size());
  last_active_.clear();
  std::fill(assigned_.begin(), assigned_.end(), char{0});
  if (!one_sweep_ && !relation_locks_.empty()) {
    evaluate(relations_);
    functions_before_ = relations_.values;
    truths_before_ = truths_;
    flipped_.assign(relation_locks_.size(), 0);
  }
  int last_taken = -1;
  for (std::size_t count = 0; count <= most; ++count) {
    if (!one_sweep_) last_ = mode.discrete;
    sweep(input, transition);
    if (transition.failed) return false;
    if (one_sweep_ || (count == 0 && active_.empty() && taken_ < 0 && same(mode.discrete, before_))) return true;
    const bool followed = follow(input, transition);
    const bool steady = !followed && active_ == last_active_ && taken_ == last_taken;
    if (steady && same(mode.discrete, last_)) return !refuse_loop_of_truths(transition);
    if (steady && count > enough) return solve_loop(input, transition) && !refuse_loop_of_truths(transition);
    last_active_ = active_;
    last_taken = taken_;
  }
  const std::string loop = describe_loop(mode);
  if (search_truths(input, transition)) return true;
  if (!transition.failed) fail(transition, "the assignments of one instant need each other and do not settle: " + loop);
  return false;
}

/// Sweeps go round where truths and values need each other (two frictional contacts in one drive train). Looks for a
/// combination of the truths that have changed whose values have just these truths, nearest to those before the round
/// first. Returns whether there is one; the transition may say that it is refused.
bool EventLogic::search_truths(const EventInput& input, Transition& transition) {
  constexpr std::size_t most = 10;  // relations: 1023 combinations
  Mode& mode = transition.mode;
  std::vector<std::size_t> candidates;
  for (std::size_t k = 0; k < flipped_.size(); ++k) {
    const auto place = static_cast<std::size_t>(relation_locks_[k]);
    if (flipped_[k] && !setup_.lock_info[place].rounding) candidates.push_back(place);
  }
  if (one_sweep_ || candidates.empty() || candidates.size() > most) return false;
  std::vector<unsigned> combinations(std::size_t{1} << candidates.size());
  std::iota(combinations.begin(), combinations.end(), 0u);
  std::ranges::stable_sort(combinations, {}, [](unsigned c) { return std::popcount(c); });
  const std::vector<double> truths = truths_before_;
  for (const unsigned combination : combinations) {
    mode.discrete = before_;
    truths_ = truths;
    for (std::size_t k = 0; k < candidates.size(); ++k)
      if (combination >> k & 1u) truths_[candidates[k]] = 1.0 - truths_[candidates[k]];
    sweep(input, transition);
    if (transition.failed) return false;
    const bool changed = follow(input, transition);
    if (changed || !values_found_) continue;
    last_ = mode.discrete;
    sweep(input, transition);
    if (same(mode.discrete, last_)) return !refuse_loop_of_truths(transition);
  }
  return false;
}

/// Clauses and discrete equations once, each with the values that those before it have given.
void EventLogic::sweep(const EventInput& input, Transition& transition) {
  Mode& mode = transition.mode;
  given_.clear();
  active_.clear();
  taken_ = -1;
  assigned_before_.swap(assigned_);
  std::fill(assigned_.begin(), assigned_.end(), char{0});
  for (const int k : built_on_) mode.discrete[static_cast<std::size_t>(k)] = before_[static_cast<std::size_t>(k)];
  if (defines_) settle_definitions(mode);
  bool current = false;
  for (const std::vector<int>& level : levels_) {
    if (!current) evaluate_conditions(mode);
    current = !fire_clauses(level, input, transition);
    if (!current && defines_) settle_definitions(mode);
  }
  if (!setup_.transitions.empty()) choose_transition(input, transition);
  if (one_sweep_) return;
  for (std::size_t k = 0; k < assigned_.size(); ++k)
    if (assigned_before_[k] && !assigned_[k]) mode.discrete[k] = before_[k];
  if (!levels_.empty() && !current) evaluate_conditions(mode);
}

/// Returns whether a clause acts: its condition has become true, and that of no clause before it in its chain.
[[gnu::hot]] bool EventLogic::fire_clauses(std::span<const int> clauses, const EventInput& input,
                                           Transition& transition) {
  bool any = false;
  for (const int k : clauses) {
    const auto place = static_cast<std::size_t>(k);
    const bool fresh = input.initial ? setup_.clauses[place].at_start : conditions_before_[place] == 0.0;
    edges_[place] = conditions_.values[place] != 0.0 && fresh && !input.quiet;
    any = any || edges_[place];
  }
  if (!any) return false;
  bool acted = false;
  for (const int k : clauses) {
    if (!edges_[static_cast<std::size_t>(k)]) continue;
    bool preceded = false;
    for (int p = setup_.clauses[static_cast<std::size_t>(k)].after; p >= 0;
         p = setup_.clauses[static_cast<std::size_t>(p)].after)
      preceded = preceded || edges_[static_cast<std::size_t>(p)];
    if (preceded) continue;
    active_.push_back(k);
    apply(clause_actions_[static_cast<std::size_t>(k)], k, transition);
    acted = true;
  }
  return acted;
}

/// Whether the resets of a transition have come to rest on a surface.
bool EventLogic::in_contact(const Mode& mode, std::size_t k) const {
  const std::vector<int>& guards = setup_.contact_guards[k];
  return std::any_of(guards.begin(), guards.end(),
                     [&](int g) { return std::binary_search(mode.contacts.begin(), mode.contacts.end(), g); });
}

void EventLogic::choose_transition(const EventInput& input, Transition& transition) {
  evaluate(transition_conditions_);
  if (input.quiet) return;
  const Mode& mode = transition.mode;
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const ModelData::Transition& rule = setup_.transitions[k];
    if (static_cast<int>(rule.from) != mode.automaton || transition_conditions_.values[k] == 0.0) continue;
    if (rule.from == rule.to && !input.initial && conditions_before_[setup_.clauses.size() + k] != 0.0) continue;
    const std::vector<int>& pairs = setup_.pair_guards[k];
    if (std::any_of(pairs.begin(), pairs.end(),
                    [&](int g) { return std::binary_search(mode.sliding.begin(), mode.sliding.end(), g); }))
      continue;
    if (in_contact(mode, k)) continue;
    taken_ = static_cast<int>(k);
    return apply(transition_actions_[k], static_cast<int>(setup_.clauses.size() + k), transition);
  }
}

[[gnu::hot]] void EventLogic::apply(ActionList& actions, int giver, Transition& transition) {
  if (actions.right_hand_sides.program.empty()) compile(actions);
  evaluate(actions);
  const std::vector<double>& values = actions.right_hand_sides.values;
  const double* value = values.data();
  using Kind = ModelData::Action::Kind;
  for (const Assignment& a : actions.assignments) {
    const bool takes_place = !a.conditional || *value++ != 0.0;
    if (a.kind == Kind::check) ++value;
    if (a.kind != Kind::reset && a.kind != Kind::assign) continue;  // once the round is known
    const double given = *value++;
    if (!takes_place) continue;
    given_.push_back({&a, given, giver, a.wanted < 0 || values[static_cast<std::size_t>(a.wanted)] != 0.0});
    if (a.kind == Kind::reset) continue;
    const auto target = static_cast<std::size_t>(a.target);
    assigned_[target] = 1;
    if (given_.back().wanted || !given_before(given_.back())) transition.mode.discrete[target] = given;
  }
}

/// Returns whether one of them is new. What one needs of another takes a pass each.
bool EventLogic::settle_definitions(Mode& mode) {
  bool changed = false;
  for (std::size_t pass = 0; pass <= setup_.definitions.size(); ++pass) {
    if (!discrete_locks_.empty()) refresh_discrete_locks();
    if (setup_.definitions.empty() || !update_definitions(mode)) break;
    changed = true;
  }
  return changed;
}

bool EventLogic::update_definitions(Mode& mode) {
  evaluate(definitions_);
  bool changed = false;
  for (std::size_t k = 0; k < definition_target_.size(); ++k) {
    double& value = mode.discrete[static_cast<std::size_t>(definition_target_[k])];
    changed = changed || value != definitions_.values[k];
    value = definitions_.values[k];
  }
  return changed;
}

bool EventLogic::follow(const EventInput& input, Transition& transition) {
  Mode& mode = transition.mode;
  for (const int k : discrete_locks_) mode.locks[static_cast<std::size_t>(k)] = truths_[static_cast<std::size_t>(k)];
  values_found_ = true;
  if (reads_values_ && input.values && (followed_ || !same(mode.discrete, before_))) {
    std::vector<double> x = transition.x, xp(input.xp_before.begin(), input.xp_before.end());
    values_found_ = input.values->find(mode, x, xp);
    if (values_found_) {
      x_ = std::move(x);
      xp_ = std::move(xp);
      followed_ = true;
      inputs_[variables] = x_.data();
      inputs_[derivatives] = xp_.data();
    }
  }
  return refresh_relations();
}

/// How far the rounding errors of what they read move the functions of the relations.
void EventLogic::estimate_noise() {
  constexpr double rounding = 16.0 * std::numeric_limits<double>::epsilon();
  if (slopes_.empty()) find_slopes();
  evaluate(slope_values_);
  for (std::size_t k = 0; k < slopes_.size(); ++k) {
    const Slope& slope = slopes_[k];
    const double moved = slope_values_.values[k] * inputs_[slope.input.group][slope.input.place];
    if (std::isfinite(moved)) noise_[slope.relation] += rounding * std::abs(moved);  // not at the root of zero
  }
}

/// Relations whose functions have changed in this round have the truth of their values.
bool EventLogic::refresh_relations() {
  if (relation_locks_.empty()) return false;
  evaluate(relations_);
  functions_ = relations_.values;
  const std::vector<double>& g = functions_;
  noise_.assign(g.size(), 0.0);
  if (!same(g, functions_before_)) estimate_noise();
  bool changed = false;
  for (std::size_t k = 0; k < g.size(); ++k) {
    const auto place = static_cast<std::size_t>(relation_locks_[k]);
    const Lock& lock = setup_.lock_info[place];
    double& truth = truths_[place];
    double value = truths_before_[place];  // where it is zero, what has been committed counts
    if (g[k] != functions_before_[k]) {
      if (lock.rounding && (g[k] < value - noise_[k] || g[k] > value + 1.0 + noise_[k]))
        value = std::floor(g[k] + noise_[k]);
      else if (!lock.rounding && std::abs(g[k]) > noise_[k])
        value = g[k] > 0.0 ? 1.0 : 0.0;
    }
    if (truth != value) {
      changed = true;
      flipped_[k] = 1;
    }
    truth = value;
  }
  return changed;
}

/// Numbers that are assigned from each other: Newton's method on the map from the values that a sweep reads to those
/// that it gives. One step is exact where the assignments are linear.
bool EventLogic::solve_loop(const EventInput& input, Transition& transition) {
  constexpr int most = 20;
  constexpr double accuracy = 1e-11;
  Mode& mode = transition.mode;
  std::vector<std::size_t> targets;
  for (std::size_t k = 0; k < assigned_.size(); ++k)
    if (assigned_[k] && !setup_.boolean[k]) targets.push_back(k);
  const std::size_t n = targets.size();
  const std::vector<int> active = active_;
  const auto given = [&](std::span<const double> u, std::vector<double>& values) {
    for (std::size_t i = 0; i < n; ++i) mode.discrete[targets[i]] = u[i];
    follow(input, transition);
    sweep(input, transition);
    values.resize(n);
    for (std::size_t i = 0; i < n; ++i) values[i] = mode.discrete[targets[i]];
    return active_ == active;
  };
  std::vector<double> u(n), v, w, J(n * n);
  for (std::size_t i = 0; i < n; ++i) u[i] = mode.discrete[targets[i]];
  DenseLu lu;
  for (int step = 0; n > 0 && step < most; ++step) {
    if (!given(u, v)) break;
    double error = 0.0;
    for (std::size_t i = 0; i < n; ++i) error = std::max(error, std::abs(v[i] - u[i]) / (1.0 + std::abs(u[i])));
    if (!std::isfinite(error)) break;
    if (error <= accuracy) return true;
    bool good = true;
    for (std::size_t j = 0; j < n && good; ++j) {
      std::vector<double> moved = u;
      const double change = 1.0 + std::abs(u[j]);
      moved[j] += change;
      good = given(moved, w);
      for (std::size_t i = 0; i < n; ++i) J[j * n + i] = (i == j ? 1.0 : 0.0) - (w[i] - v[i]) / change;
    }
    for (std::size_t i = 0; i < n; ++i) v[i] -= u[i];
    if (!good || !lu.factorise(static_cast<int>(n), J) || !(lu.reciprocal_condition() > 1e-13)) break;
    lu.solve(v);
    for (std::size_t i = 0; i < n; ++i) u[i] += v[i];
  }
  fail(transition, "the assignments of one instant need each other, and have no solution that can be found: " +
                       describe_loop(mode));
  return false;
}

/// Truth values that are assigned from each other in one round are refused, even if a sweep finds one that fits.
bool EventLogic::refuse_loop_of_truths(Transition& transition) {
  if (active_.size() < 2) return false;
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> open;  // target, and what its value reads
  for (const int k : active_)
    for (const Assignment& a : clause_actions_[static_cast<std::size_t>(k)].assignments)
      if (a.kind == ModelData::Action::Kind::assign && setup_.boolean[static_cast<std::size_t>(a.target)] &&
          !a.reads.empty())
        open.emplace_back(static_cast<std::size_t>(a.target), a.reads);
  for (bool progress = true; progress;) {
    const auto waits = [&](const auto& entry) {
      return std::any_of(entry.second.begin(), entry.second.end(), [&](std::size_t d) {
        return std::any_of(open.begin(), open.end(), [&](const auto& other) { return other.first == d; });
      });
    };
    const auto end = std::remove_if(open.begin(), open.end(), [&](const auto& entry) { return !waits(entry); });
    progress = end != open.end();
    open.erase(end, open.end());
  }
  if (open.empty()) return false;
  std::string names;
  for (const auto& [target, reads] : open)
    names += (names.empty() ? "'" : ", '") + setup_.discretes[target].name() + "'";
  fail(transition, "truth values are assigned from each other at one instant: " + names +
                       "; use pre() where the value before is meant");
  return true;
}

std::string EventLogic::describe_loop(const Mode& mode) const {
  std::string names;
  for (std::size_t k = 0; k < mode.discrete.size(); ++k)
    if (mode.discrete[k] != last_[k] || assigned_[k])
      names += (names.empty() ? "'" : ", '") + setup_.discretes[k].name() + "'";
  return names + "; use pre() where the value before the event is meant";
}

/// What is known now happens.
[[gnu::hot]] void EventLogic::commit_round(const EventInput& input, Transition& transition) {
  Mode& mode = transition.mode;
  locks_changed_ = false;
  for (const int k : discrete_locks_) {
    const double truth = truths_[static_cast<std::size_t>(k)];
    const double before = discrete_locks_before_[static_cast<std::size_t>(k)];
    const bool undefined = std::isnan(before) && std::isnan(truth);  // floor(x/0) in a branch that is not taken
    locks_changed_ = locks_changed_ || (before != truth && !undefined);
    mode.locks[static_cast<std::size_t>(k)] = truth;
  }
  const std::size_t clauses = setup_.clauses.size();
  for (std::size_t k = 0; k < clauses; ++k)  // samples begin right after the first round
    mode.conditions[k] = input.initial && setup_.clauses[k].samples ? 0.0 : conditions_.values[k];
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const bool remembers = setup_.transitions[k].from == setup_.transitions[k].to && !in_contact(mode, k);
    mode.conditions[clauses + k] = remembers ? transition_conditions_.values[k] : 0.0;
  }
  if (!active_.empty() || taken_ >= 0) {
    note_alternatives(transition);
    if (!contested_.empty() && given_.size() > 1) find_contradictions(transition);
  }
  for (const Given& g : given_) {
    if (!g.reset()) continue;
    const auto target = static_cast<std::size_t>(g.by->target);
    if (g.wanted || !given_before(g)) transition.x[target] = g.value;
    transition.reset[target] = 1;
  }
  const auto act = [&](const ActionList& list) {
    const double* value = list.right_hand_sides.values.data();
    using Kind = ModelData::Action::Kind;
    for (const Assignment& a : list.assignments) {
      const bool takes_place = !a.conditional || *value++ != 0.0;
      if (a.kind == Kind::reset || a.kind == Kind::assign) ++value;
      if (a.kind == Kind::record) transition.recorded = true;
      if (a.kind == Kind::check && *value++ == 0.0 && takes_place && !transition.failed) fail(transition, a.message);
      if (a.kind == Kind::terminate && takes_place) {
        transition.terminate = true;
        transition.message = a.message;
      }
    }
  };
  for (const int k : active_) {
    const ModelData::Clause& clause = setup_.clauses[static_cast<std::size_t>(k)];
    if (!clause.name.empty()) transition.fired.push_back(clause.name);
    act(clause_actions_[static_cast<std::size_t>(k)]);
  }
  if (taken_ >= 0) {
    mode.automaton = static_cast<int>(setup_.transitions[static_cast<std::size_t>(taken_)].to);
    transition.fired.push_back(transition_names_[static_cast<std::size_t>(taken_)]);
    act(transition_actions_[static_cast<std::size_t>(taken_)]);
  }
  if (input.initial && setup_.initial_flag >= 0) mode.discrete[static_cast<std::size_t>(setup_.initial_flag)] = 0.0;
}

/// Clauses whose edge is spent on another one, and transitions that could have been taken as well.
void EventLogic::note_alternatives(Transition& transition) {
  for (const int k : active_)
    for (std::size_t other = 0; other < setup_.clauses.size(); ++other)
      if (setup_.clauses[other].after >= 0 && edges_[other] && static_cast<int>(other) != k) {
        int p = static_cast<int>(other);
        while (p >= 0 && p != k) p = setup_.clauses[static_cast<std::size_t>(p)].after;
        if (p == k && !same_actions(setup_.clauses[other], setup_.clauses[static_cast<std::size_t>(k)]))
          transition.notes.push_back("'" + setup_.clauses[other].name + "' becomes true too, and does not act: '" +
                                     setup_.clauses[static_cast<std::size_t>(k)].name + "' comes first");
      }
  if (taken_ < 0) return;
  const auto& rule = setup_.transitions[static_cast<std::size_t>(taken_)];
  for (std::size_t k = static_cast<std::size_t>(taken_) + 1; k < setup_.transitions.size(); ++k)
    if (const auto& other = setup_.transitions[k]; other.from == rule.from &&
                                                   (other.to != rule.to || !same_actions(other, rule)) &&
                                                   transition_conditions_.values[k] != 0.0)
      transition.notes.push_back(fmt::format("'{}{}{}' is written first", transition_names_[k], another_transition,
                                             transition_names_[static_cast<std::size_t>(taken_)]));
}

EventLogic::RoundRecord EventLogic::last_round() const {
  RoundRecord record;
  if (nothing_discrete_) return record;
  for (const Given& g : given_) {
    const std::size_t giver = static_cast<std::size_t>(g.giver), clauses = setup_.clauses.size();
    const ActionList& list = giver < clauses ? clause_actions_[giver] : transition_actions_[giver - clauses];
    if (g.wanted || !given_before(g))
      record.given.push_back({g.giver, static_cast<std::size_t>(g.by - list.assignments.data())});
  }
  const std::array<std::size_t, 8> sizes = {1,
                                            setup_.variables.size(),
                                            setup_.derivatives.size(),
                                            setup_.parameters.size(),
                                            setup_.discretes.size(),
                                            setup_.locks.size(),
                                            pre_x_.size(),
                                            pre_discrete_.size()};
  for (std::size_t group = 0; group < sizes.size(); ++group)
    if (sizes[group] > 0) record.seen[group].assign(inputs_[group], inputs_[group] + sizes[group]);
  record.before = before_;
  record.followed = followed_;
  return record;
}

}  // namespace saltus
