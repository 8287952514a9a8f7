// What the clauses of a model did in a run, round by round.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "model/event_logic.hpp"

namespace saltus {

/// One round that changed something.
struct Act {
  double t = 0.0;
  bool initial = false, terminal = false;
  std::vector<double> x_before, x_after;  ///< variables that the systems carry
  Mode mode_before, mode_after;
  EventLogic::RoundRecord round;
};

/// What really happened: an event that is like an earlier one is repeated, and where that turns out to be wrong it is
/// settled anew from the same point. The acts of such an attempt are left out.
std::vector<Act> committed(std::vector<Act> acts);

/// Makes a round, run(input, transition), and appends what it did, record(), if it changed anything. `variables`: how
/// many the systems carry. Returns what the round returns.
template <class Run, class Record>
bool note_round(std::vector<Act>& acts, std::size_t variables, const EventInput& input, Transition& transition,
                Run&& run, Record&& record) {
  if (input.quiet || input.probe) return run(input, transition);
  const auto values = [variables](const std::vector<double>& x) {
    return std::vector<double>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(std::min(variables, x.size())));
  };
  Act act{.t = input.t, .initial = input.initial, .terminal = input.terminal};
  act.x_before = values(transition.x);
  act.mode_before = transition.mode;
  if (!run(input, transition)) return false;
  act.x_after = values(transition.x);
  act.mode_after = transition.mode;
  act.round = record();
  if (!act.round.followed) act.round.seen[EventLogic::variables] = act.x_before;  // resets came last
  acts.push_back(std::move(act));
  return true;
}

}  // namespace saltus
