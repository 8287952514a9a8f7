#include "hybrid/chatter_watch.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {

bool ChatterWatch::note_any(double t, std::span<const int> guards) {
  if (guards.empty()) return false;
  std::vector<int>& together = current_.guards;
  const bool first = together.empty();
  for (const int k : guards)
    if (std::find(together.begin(), together.end(), k) == together.end()) together.push_back(k);
  if (first || std::abs(t - current_.to) > longest_pause_ || together.size() > 2) {
    together.assign(guards.begin(), guards.end());
    current_.from = t;
    current_.events = 0;
    enough_ = many;
  }
  current_.to = t;
  ++current_.events;
  if (current_.events < enough_) return false;
  if (current_.events == enough_) {
    episodes_.push_back(current_);
    return true;
  }
  Episode& episode = episodes_.back();
  episode.to = t;
  episode.events = current_.events;
  if (episode.guards.size() != together.size()) episode.guards = together;
  return false;
}

}  // namespace saltus
