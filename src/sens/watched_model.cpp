#include "sens/watched_model.hpp"

namespace saltus {

bool WatchedModel::transition(const EventInput& input, Transition& transition) {
  return note_round(
      *acts_, model_.variables().size(), input, transition,
      [&](const EventInput& in, Transition& out) { return model_.transition(in, out); },
      [&] { return ModelAccess::last_round(model_); });
}

}  // namespace saltus
