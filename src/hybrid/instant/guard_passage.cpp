#include "hybrid/instant/guard_passage.hpp"

#include <cmath>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {
constexpr signed char at_zero = 0;
}

void GuardPassage::begin(std::size_t guards) {
  hold();
  seen_.assign(guards, Seen::not_yet);
  resize(clear_, guards);
}

[[gnu::hot]] void GuardPassage::see(const GuardSides& view, std::span<const Position> positions,
                                    const std::vector<signed char>& sees) {
  passing_.clear();
  unseen_.clear();
  for (std::size_t k = 0; k < positions.size(); ++k) {
    const int guard = static_cast<int>(k), side = side_of(positions[k]), goes_to = view.side(guard);
    const auto position = static_cast<signed char>(side == 0 || goes_to == 0 ? goes_to : side);
    if (view.multiplicity(guard) == 0 && !on_surface(positions[k])) {
      if (sees[k] != position) unseen_.push_back({guard, position});
      seen_[k] = Seen::clear;
      clear_[k] = view.value(guard);
      continue;
    }
    // onto zero, within the instant: the noise alone may be another one, because the slope is
    const bool jumped = seen_[k] == Seen::clear && std::abs(view.value(guard) - clear_[k]) > view.noise(guard);
    passing_.push_back({guard, on_surface(positions[k]) ? at_zero : position, jumped});
    seen_[k] = Seen::zero;
  }
}

void GuardPassage::show(std::vector<signed char>& sees) {
  for (const Unseen& guard : unseen_) sees[static_cast<std::size_t>(guard.guard)] = guard.side;
  unseen_.clear();
}

signed char GuardPassage::step(const Passing& guard, bool initial, const std::vector<signed char>& sees) const {
  const signed char before = sees[static_cast<std::size_t>(guard.guard)], target = guard.target;
  if (initial || guard.jumped || guard.waits) return at_zero;
  return static_cast<signed char>(before + (target > before) - (target < before));
}

[[gnu::hot]] bool GuardPassage::pass(const Trials& trials, bool initial, bool quiet, std::vector<signed char>& sees) {
  bool arrived = true, noticed = false, some_wait = false;
  for (Passing& guard : passing_) {
    signed char& see = sees[static_cast<std::size_t>(guard.guard)];
    const signed char before = see;
    see = step(guard, initial, sees);
    guard.jumped = false;
    some_wait = std::exchange(guard.waits, false) || some_wait;
    arrived = arrived && see == guard.target;
    // a step to zero is noticed if a relation has another truth there
    if (see != before)
      noticed = noticed || see != 0 || trials.has_second(guard.guard) || trials.side_at_zero(guard.guard) != before;
  }
  if (!arrived && (!quiet || noticed || initial || some_wait)) return false;
  for (const Passing& guard : passing_) sees[static_cast<std::size_t>(guard.guard)] = guard.target;
  if (!unseen_.empty()) show(sees);
  return true;
}

}  // namespace saltus
