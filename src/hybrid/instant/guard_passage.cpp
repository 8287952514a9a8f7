#include "hybrid/instant/guard_passage.hpp"

#include <cmath>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr signed char at_zero = 0;
}

void GuardPassage::begin(std::size_t guards) {
  passing_.clear();
  seen_.assign(guards, Seen::not_yet);
  resize(clear_, guards);
}

[[gnu::hot]] bool GuardPassage::see(const GuardSides& view, std::span<const Position> positions,
                                    std::vector<signed char>& sees) {
  passing_.clear();
  bool noticed = false;
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const int guard = static_cast<int>(k), side = side_of(positions[k]), goes_to = view.side(guard);
    const auto position = static_cast<signed char>(side == 0 || goes_to == 0 ? goes_to : side);
    if (view.multiplicity(guard) == 0 && !on_surface(positions[k])) {
      noticed = noticed || sees[k] != position;
      sees[k] = position;
      seen_[k] = Seen::clear;
      clear_[k] = view.value(guard);
      continue;
    }
    // onto zero, within the instant: the noise alone may be another one, because the slope is
    const bool jumped = seen_[k] == Seen::clear && std::abs(view.value(guard) - clear_[k]) > view.noise(guard);
    passing_.push_back({guard, on_surface(positions[k]) ? at_zero : position, jumped});
    seen_[k] = Seen::zero;
  }
  return noticed;
}

[[gnu::hot]] bool GuardPassage::pass(const Trials& trials, bool initial, bool quiet, std::vector<signed char>& sees) {
  bool arrived = true, noticed = false;
  for (Passing& guard : passing_) {
    signed char& see = sees[static_cast<std::size_t>(guard.guard)];
    const signed char before = see, target = guard.target;
    see = initial || guard.jumped ? at_zero : static_cast<signed char>(before + (target > before) - (target < before));
    guard.jumped = false;
    arrived = arrived && see == target;
    // a step to zero is noticed if a relation has another truth there
    if (see != before)
      noticed = noticed || see != 0 || trials.has_second(guard.guard) || trials.side_at_zero(guard.guard) != before;
  }
  if (arrived || !quiet || noticed || initial) return arrived;
  for (const Passing& guard : passing_) sees[static_cast<std::size_t>(guard.guard)] = guard.target;
  return true;
}

}  // namespace saltus
