// The end of an instant: samples are over, and assertions hold. What sees that a sample is over takes one more round.
#include <algorithm>

#include "model/event_logic.hpp"

namespace saltus {

/// Samples become false. What is assigned from them alone follows at once. Returns true if more sees it: a clause or a
/// transition acts, or the equations of the mode read it. Then nothing but the samples has changed, and a round
/// follows.
bool EventLogic::lower_pulses(Transition& transition, std::span<const int> read_by_equations) {
  Mode& mode = transition.mode;
  const auto differ = [](const std::vector<double>& a, const std::vector<double>& b, std::span<const int> places) {
    return std::ranges::any_of(places,
                               [&](int k) { return a[static_cast<std::size_t>(k)] != b[static_cast<std::size_t>(k)]; });
  };
  last_ = mode.discrete;
  for (const int k : setup_.pulses) mode.discrete[static_cast<std::size_t>(k)] = 0.0;
  if (!differ(mode.discrete, last_, setup_.pulses)) return false;
  before_ = mode.discrete;
  if (defines_) settle_definitions(mode);
  evaluate_conditions(mode);
  bool seen = differ(mode.discrete, last_, read_by_equations) || differ(truths_, mode.locks, discrete_locks_) ||
              transition_follows(mode);
  for (std::size_t k = 0; k < setup_.clauses.size(); ++k)
    seen = seen || (conditions_.values[k] != 0.0 && mode.conditions[k] == 0.0);
  if (!seen) {  // pre() of what has followed is new as well
    last_ = mode.discrete;
    last_conditions_ = conditions_.values;
    for (std::size_t k = 0; k < pre_discrete_.size(); ++k)
      pre_discrete_[k] = mode.discrete[static_cast<std::size_t>(pre_discrete_index_[k])];
    if (defines_) settle_definitions(mode);
    evaluate_conditions(mode);
    seen = mode.discrete != last_ || conditions_.values != last_conditions_;
  }
  if (seen)
    mode.discrete = before_;
  else
    std::ranges::copy(conditions_.values, mode.conditions.begin());
  return seen;
}

/// Whether a transition leads away from the mode, or acts in it, by the conditions as they are.
bool EventLogic::transition_follows(const Mode& mode) {
  if (setup_.transitions.empty()) return false;
  evaluate(transition_conditions_);
  for (std::size_t k = 0; k < setup_.transitions.size(); ++k) {
    const ModelData::Transition& rule = setup_.transitions[k];
    if (static_cast<int>(rule.from) == mode.automaton && transition_conditions_.values[k] != 0.0 &&
        mode.conditions[setup_.clauses.size() + k] == 0.0)
      return true;
  }
  return false;
}

void EventLogic::end_instant(const EventInput& input, std::span<const int> read_by_equations, Transition& transition) {
  if (nothing_discrete_ || (!flags_ && setup_.assertions.empty())) return;
  Mode& mode = transition.mode;
  t_ = input.t;
  inputs_[variables] = transition.x.data();
  inputs_[derivatives] = input.xp_before.data();
  inputs_[discretes] = mode.discrete.data();
  for (std::size_t k = 0; k < pre_x_.size(); ++k)
    pre_x_[k] = transition.x[static_cast<std::size_t>(pre_variable_index_[k])];
  for (std::size_t k = 0; k < pre_discrete_.size(); ++k)
    pre_discrete_[k] = mode.discrete[static_cast<std::size_t>(pre_discrete_index_[k])];
  read_truths(mode);
  if (lower_pulses(transition, read_by_equations)) return;
  if (setup_.assertions.empty()) return;
  if (input.initial && setup_.initial_flag >= 0) {  // initial() holds in this instant, and no longer after it
    Mode start = mode;
    const std::vector<double> truths = truths_;
    start.discrete[static_cast<std::size_t>(setup_.initial_flag)] = 1.0;
    inputs_[discretes] = start.discrete.data();
    if (defines_) settle_definitions(start);
    check_assertions(transition);
    inputs_[discretes] = mode.discrete.data();
    truths_ = truths;
    if (transition.failed) return;
  }
  check_assertions(transition);
}

}  // namespace saltus
