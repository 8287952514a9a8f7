#include "hybrid/instant/surface_edges.hpp"

#include "hybrid/instant/instant.hpp"
#include "hybrid/instant/learned_edge.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
/// On one surface at most, and not in contact: where the solution stays is then decided by the two fields alone.
bool plain(const Mode& mode) {
  return mode.sliding.size() <= 1 && mode.contacts.empty() && mode.discrete.size() + mode.locks.size() <= most_numbers;
}
}  // namespace

bool SurfaceEdges::ordinary() const {
  const Instant& i = instant_;
  const Mode &before = *i.begun_, &after = i.now.mode;
  const Transition& done = i.transition;
  return before.on_surfaces() != after.on_surfaces() && plain(before) && plain(after) &&
         before.automaton == after.automaton && i.begun_ != &i.refreshed_ && i.view_current_ && !i.reset_ &&
         done.fired.empty() && done.message.empty() && done.notes.empty() && !done.terminate &&
         same(before.discrete, after.discrete) && same(before.conditions, after.conditions) &&
         i.trial_.system->structure().explicit_ode && !i.trials_.takes_paired_sides();
}

void SurfaceEdges::learn() {
  Instant& i = instant_;
  if (i.course_.guard < 0 || !ordinary()) return;
  const std::size_t place = place_of_guard();
  if (edges_.size() <= place) edges_.resize(place + 1);
  Edge& edge = edges_[place];
  if (edge.learned_in_vain > often_enough) return;
  ++edge.learned_in_vain;
  copy(*i.begun_, edge.before);
  copy(i.now.mode, edge.after);
  const GuardSides& view = i.trial_.view;
  edge.sides.clear();
  edge.multiplicities.clear();
  for (int k = 0; k < view.count(); ++k) {
    edge.sides.push_back(static_cast<signed char>(view.side(k)));
    edge.multiplicities.push_back(static_cast<signed char>(view.multiplicity(k)));
  }
  copy(i.fired_.guards, edge.fired);
  copy(i.fired_.directions, edge.directions);
}

std::size_t SurfaceEdges::place_of_guard() const {
  const int guard = instant_.course_.guard;
  const bool above = guard < instant_.family_guards && instant_.hybrid_.side(*instant_.begun_, guard) > 0;
  return 2 * static_cast<std::size_t>(guard) + (above ? 1 : 0);
}

bool SurfaceEdges::looks_like(const Edge& edge, const GuardSides& view) {
  if (static_cast<std::size_t>(view.count()) != edge.sides.size()) return false;
  for (int k = 0; k < view.count(); ++k)
    if (view.side(k) != edge.sides[static_cast<std::size_t>(k)] ||
        view.multiplicity(k) != edge.multiplicities[static_cast<std::size_t>(k)])
      return false;
  return true;
}

bool SurfaceEdges::begins_here(const Edge& edge) const {
  const Mode& here = *instant_.begun_;
  if (same(edge.before, here)) return true;
  return same(edge.before.locks, here.locks) && same(edge.before.sees, here.sees) &&
         instant_.hybrid_.acts_alike(edge.before, here);
}

bool SurfaceEdges::follow(const Arrival& arrival) {
  Instant& i = instant_;
  if (i.course_.guard < 0 || edges_.empty()) return false;
  const std::size_t place = place_of_guard();
  if (place >= edges_.size()) return false;
  Edge& edge = edges_[place];
  if (edge.sides.empty() || i.begun_ == &i.refreshed_ || !begins_here(edge)) return false;
  // with a field that points to the surface on this side, a weight between 0 and 1 means that the other one does, too
  const bool comes_across = i.approach_.left && i.approach_.slope != 0.0 && i.doubt().slope_error.empty();
  if (edge.after.on_surfaces() && !comes_across) return false;
  Trial& trial = i.trial_;
  copy(edge.after, trial.point.mode);
  copy(i.begun_->discrete, trial.point.mode.discrete);  // nothing has set them
  i.view_current_ = false;
  if (!i.trials_.find_values(i.now, i.circumstances_, trial) || trial.jumps) return false;
  i.trials_.look(arrival.t, trial);
  if (!i.trials_.weights_admissible(trial) || !looks_like(edge, trial.view)) return false;
  edge.learned_in_vain = 0;
  i.view_current_ = true;
  copy(trial.point.mode, i.now.mode);
  copy(trial.point.x, i.now.x);
  copy(trial.point.xp, i.now.xp);
  copy(trial.alternative, i.doubt().alternative_state);
  copy(edge.fired, i.fired_.guards);
  copy(edge.directions, i.fired_.directions);
  return true;
}

}  // namespace saltus
