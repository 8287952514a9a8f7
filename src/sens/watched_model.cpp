#include "sens/watched_model.hpp"

#include <utility>

namespace saltus {

bool WatchedModel::transition(const EventInput& input, Transition& transition) {
  if (input.quiet) return model_.transition(input, transition);
  const std::size_t n = model_.variables().size();
  const auto values = [n](const std::vector<double>& x) {
    return std::vector<double>(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(std::min(n, x.size())));
  };
  Act act{.t = input.t, .initial = input.initial, .terminal = input.terminal};
  act.x_before = values(transition.x);
  act.mode_before = transition.mode;
  const bool changed = model_.transition(input, transition);
  if (!changed) return false;
  act.x_after = values(transition.x);
  act.mode_after = transition.mode;
  act.round = ModelAccess::last_round(model_);
  if (!act.round.followed) act.round.seen[EventLogic::variables] = act.x_before;  // resets came last
  acts_->push_back(std::move(act));
  return true;
}

std::vector<Act> committed(std::vector<Act> acts) {
  std::vector<Act> result;
  for (Act& act : acts) {
    if (!result.empty()) {
      const Act& last = result.back();
      const bool from_the_same = last.t == act.t && last.initial == act.initial && last.x_before == act.x_before &&
                                 last.mode_before.discrete == act.mode_before.discrete;
      if (from_the_same && (last.x_after != act.x_before || last.mode_after.discrete != act.mode_before.discrete))
        result.pop_back();
    }
    result.push_back(std::move(act));
  }
  return result;
}

}  // namespace saltus
