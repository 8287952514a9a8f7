// The part of the mode controller that finds values and sides at the start, before anything has happened: no clause sees an edge by it.
#include <utility>

#include "hybrid/mode_controller.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr int flips_at_start = 4;  // of switches: nothing is known about them yet
}  // namespace

bool ModeController::prepare(double t) {
  begun_ = &transition.mode;
  // a mode that is not the right one may move fixed values by rounding errors, and give them a sign
  const std::vector<double> start = transition.x;
  const auto restore_fixed = [&] {
    for (const int j : fixed_) transition.x[j] = start[static_cast<std::size_t>(j)];
  };
  bool resting = false;  // the others have found their sides
  Mode earlier = transition.mode;  // to which sides come back if they go round
  std::vector<double> earlier_x = start;
  for (int round = 0; round < max_mode_changes_; ++round) {
    restore_fixed();
    if (round == 0 && leads_nowhere(hybrid_.system(transition.mode), t)) select_regular_sides(t, Cause::start, flips_at_start);
    // a mode that cannot be evaluated here may be the wrong one: the values of the guards say which
    if (!find_values(t, Cause::start) && !(round == 0 && sides_by_value(t) && find_values(t, Cause::start))) return false;
    look(t);
    const bool moved = follow_dormant(sides_);  // initial equations may ask for them
    rest_later_ = !resting;
    const bool adjusted = adjust_sides(t);
    rest_later_ = false;
    if (!adjusted && !moved && std::exchange(resting, true)) break;
    if (adjusted && same(transition.mode, earlier) && near(transition.x, earlier_x)) {
      choose_at_start(t);
      break;
    }
    if ((round & (round - 1)) == 0) {  // rounds become long enough for any cycle
      earlier = transition.mode;
      earlier_x = transition.x;
    }
  }
  restore_fixed();
  refreshed_ = transition.mode;
  begun_ = &refreshed_;
  const bool selected = selected_;
  begin_instant();
  selected_ = selected;
  return true;
}

/// Locks every guard on the side of its value at the start values. Returns whether a side changed.
bool ModeController::sides_by_value(double t) {
  std::vector<double> g(static_cast<std::size_t>(system_->structure().guards)), at_rest(transition.x.size(), 0.0);
  system_->guards(t, transition.x, at_rest, g);
  bool changed = false;
  for (int k = 0; k < family_guards(); ++k) {
    const int now = hybrid_.side(transition.mode, k);
    if (now == 0 || !(now * g[k] < 0.0)) continue;
    hybrid_.set_side(transition.mode, k, -now);
    changed = true;
  }
  return changed;
}

/// Sides go round at the start, and no clause may see that: the regime is chosen before they act. Where it slides there is no side from which it
/// has come, and relations have the truth of a value that is exactly zero. Where there is none, settle() says so.
void ModeController::choose_at_start(double t) {
  const Mode mode = transition.mode;
  const std::vector<double> x = transition.x, derivatives = xp;
  if (find_values(t, Cause::start)) {
    look(t);
    if (choose_regime({.t = t, .x_before = x, .xp_before = derivatives, .initial = true}) && !transition.terminate) {
      for (const int k : transition.mode.sliding) hybrid_.rest(transition.mode, k);
      start_note_ = std::move(transition.message);
      return;
    }
  }
  go_back(mode, x, derivatives);
}

}  // namespace saltus
