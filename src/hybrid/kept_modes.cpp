#include "hybrid/kept_modes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// The share of one number of a mode in its hash, which is a sum: what changes can be taken out and put in.
std::uint64_t share(std::size_t place, double value) {
  return value == 0.0 ? 0 : mixed(std::bit_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15u * (place + 1));
}

std::uint64_t share_of_surface(int surface) {
  return mixed(~static_cast<std::uint64_t>(surface));
}

/// Of all of them: what is toggled twice is as it was.
std::uint64_t share_of_surfaces(const Mode& mode) {
  std::uint64_t hash = 0;
  for (const int k : mode.sliding) hash ^= share_of_surface(surface::slide(k));
  for (std::size_t k = 0; k < mode.contacts.size(); ++k)
    hash ^= share_of_surface(surface::contact(mode.contacts[k], mode.contact_sides[k]));
  return hash;
}

std::uint64_t share_of_automaton(const Mode& mode) {
  return mixed(static_cast<std::uint64_t>(mode.automaton) + 1);
}

bool same_shape(const Mode& a, const Mode& b) {
  return a.discrete.size() == b.discrete.size() && a.locks.size() == b.locks.size();
}

/// Calls `visit` with the places in which two modes of the same shape differ.
template <class Visit>
void for_each_change(const Mode& from, const Mode& to, Visit&& visit) {
  const std::size_t discretes = from.discrete.size();
  for (std::size_t k = 0; k < discretes; ++k)
    if (from.discrete[k] != to.discrete[k]) visit(k, from.discrete[k], to.discrete[k]);
  for (std::size_t k = 0; k < from.locks.size(); ++k)
    if (from.locks[k] != to.locks[k]) visit(discretes + k, from.locks[k], to.locks[k]);
}

}  // namespace

namespace surface {

void list(const Mode& mode, std::vector<int>& surfaces) {
  surfaces.clear();
  for (const int k : mode.sliding) surfaces.push_back(slide(k));
  const auto slides = static_cast<std::ptrdiff_t>(surfaces.size());
  for (std::size_t k = 0; k < mode.contacts.size(); ++k)
    surfaces.push_back(contact(mode.contacts[k], mode.contact_sides[k]));
  std::ranges::inplace_merge(surfaces, surfaces.begin() + slides);
}

void take(std::span<const int> surfaces, Mode& mode) {
  mode.sliding.clear();
  mode.contacts.clear();
  mode.contact_sides.clear();
  for (const int code : surfaces) {
    const int guard = code / 4;
    if (code == slide(guard)) {
      mode.sliding.push_back(guard);
    } else {
      mode.contacts.push_back(guard);
      mode.contact_sides.push_back(code - contact(guard, 0));
    }
  }
}

void toggle(std::vector<int> toggled, Mode& mode) {
  if (toggled.empty()) return;
  std::ranges::sort(toggled);
  std::vector<int> odd, before, now;
  for (std::size_t k = 0, last = 0; k < toggled.size(); k = last) {
    while (last < toggled.size() && toggled[last] == toggled[k]) ++last;
    if ((last - k) % 2 == 1) odd.push_back(toggled[k]);
  }
  list(mode, before);
  std::ranges::set_symmetric_difference(before, odd, std::back_inserter(now));
  take(now, mode);
}

}  // namespace surface

bool KeptModes::is_last(const Mode& mode) const {
  return last_number_ >= 0 && same_but_conditions(mode, last_);
}

std::uint64_t KeptModes::hash_of(const Mode& mode) const {
  if (last_number_ >= 0 && same_shape(mode, last_)) {
    std::uint64_t hash =
        last_hash_ - surfaces_of_last_ + share_of_surfaces(mode) - share_of_automaton(last_) + share_of_automaton(mode);
    for_each_change(last_, mode, [&](std::size_t place, double before, double now) {
      hash += share(place, now) - share(place, before);
    });
    return hash;
  }
  std::uint64_t hash = share_of_surfaces(mode) + share_of_automaton(mode);
  for (std::size_t k = 0; k < mode.discrete.size(); ++k) hash += share(k, mode.discrete[k]);
  for (std::size_t k = 0; k < mode.locks.size(); ++k) hash += share(mode.discrete.size() + k, mode.locks[k]);
  return hash;
}

/// What differs from the mode that was kept in full last. False: that is too much.
bool KeptModes::find_changes(const Mode& mode) {
  if (full_number_ < 0 || !same_shape(mode, full_)) return false;
  found_.clear();
  toggled_.clear();
  for_each_change(full_, mode, [&](std::size_t place, double, double now) { found_.push_back({place, now}); });
  if (full_.on_surfaces() || mode.on_surfaces()) {
    surface::list(full_, of_full_);
    surface::list(mode, of_mode_);
    std::ranges::set_symmetric_difference(of_full_, of_mode_, std::back_inserter(toggled_));
  }
  // the changes grow from mode to mode; with so many of them they take as much room as one mode in full now and then
  const auto most = static_cast<std::size_t>(
      std::sqrt(static_cast<double>(mode.discrete.size() + mode.locks.size() + mode.sliding.size())));
  return found_.size() + toggled_.size() <= most;
}

int KeptModes::add(std::int32_t head, std::size_t begin) {
  kept_.push_back({head, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(std::uint64_t{begin} >> 32)});
  return static_cast<int>(kept_.size()) - 1;
}

int KeptModes::add(const Head& head, std::size_t begin) {
  heads_.push_back(head);
  return add(static_cast<std::int32_t>(heads_.size()) - 1, begin);
}

void KeptModes::remember(const Mode& mode, int number) {
  last_number_ = number;
  last_hash_ = head(number).hash;
  surfaces_of_last_ = share_of_surfaces(mode);
  copy(mode, last_);
  to_toggle_.clear();
}

void KeptModes::complete_last() {
  surface::toggle(std::move(to_toggle_), last_);
  to_toggle_.clear();
}

int KeptModes::keep(const Mode& mode) {
  conditions_ = std::max(conditions_, mode.conditions.size());
  sees_ = std::max(sees_, mode.sees.size());
  if (!to_toggle_.empty()) complete_last();
  if (is_last(mode)) return last_number_;
  const std::uint64_t hash = hash_of(mode);
  for (const int number : recent_) {
    if (number < 0 || head(number).hash != hash || !same_but_conditions(this->mode(number), mode)) continue;
    remember(mode, number);
    return number;
  }
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  int number;
  if (find_changes(mode)) {
    number = add({hash, mode.automaton, full_number_, surfaces_.size(), 0, 0, size(found_), size(toggled_)},
                 changes_.size());
    changes_.append(found_);
  } else {
    surface::list(mode, toggled_);
    number =
        add({hash, mode.automaton, in_full, surfaces_.size(), size(mode.discrete), size(mode.locks), 0, size(toggled_)},
            numbers_.size());
    numbers_.append(mode.discrete, mode.locks);
    full_number_ = number;
    copy(mode, full_);
  }
  surfaces_.append(toggled_);
  recent_[oldest_++ % recent_.size()] = number;
  remember(mode, number);
  return number;
}

int KeptModes::keep_new(const Mode& mode, int like) {
  constexpr std::size_t few = 16;  // numbers: to find what has changed would take longer than to keep them
  if (mode.discrete.size() + mode.locks.size() > few) return keep(mode);
  const std::size_t begin = numbers_.size();
  numbers_.append(mode.discrete, mode.locks);
  if (head(like).base == in_full) return add(kept(like).head, begin);
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  const std::size_t surfaces = surfaces_.size();
  surface::list(mode, toggled_);
  surfaces_.append(toggled_);
  return add({0, mode.automaton, in_full, surfaces, size(mode.discrete), size(mode.locks), 0, size(toggled_)}, begin);
}

int KeptModes::keep_changed(const Mode& mode, std::span<const std::size_t> places, std::span<const int> toggled) {
  constexpr int longest = 500;  // what reading a mode goes through
  if (last_number_ < 0 || !same_shape(mode, last_) || chain_ >= longest) {
    chain_ = 0;
    Mode now = mode;
    if (last_number_ >= 0) {
      complete_last();
      surface::list(last_, toggled_);
      surface::take(toggled_, now);
    }
    surface::toggle({toggled.begin(), toggled.end()}, now);
    return keep(now);
  }
  const std::size_t discretes = mode.discrete.size();
  found_.clear();
  std::uint64_t hash = last_hash_;
  for (const std::size_t place : places) {
    const double now = place < discretes ? mode.discrete[place] : mode.locks[place - discretes];
    double& before = place < discretes ? last_.discrete[place] : last_.locks[place - discretes];
    if (now == before) continue;
    hash += share(place, now) - share(place, before);
    before = now;
    found_.push_back({place, now});
  }
  if (found_.empty() && toggled.empty()) return last_number_;
  toggled_.assign(toggled.begin(), toggled.end());
  hash -= surfaces_of_last_;
  for (const int k : toggled) surfaces_of_last_ ^= share_of_surface(k);
  hash += surfaces_of_last_;
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  const int number =
      add({hash, mode.automaton, last_number_, surfaces_.size(), 0, 0, size(found_), size(toggled_)}, changes_.size());
  changes_.append(found_);
  surfaces_.append(toggled_);
  to_toggle_.insert(to_toggle_.end(), toggled.begin(), toggled.end());
  last_number_ = number;
  last_hash_ = hash;
  ++chain_;
  return number;
}

Mode KeptModes::mode(int number) const {
  Read none;
  read(number, none);
  return std::move(none.mode);
}

const Mode& KeptModes::read(int number, Read& last) const {
  if (number == last.number) return last.mode;
  std::vector<int> chain;  // from the mode itself to the one that follows the last one
  int base = number;
  while (base != last.number && head(base).base != in_full) {
    chain.push_back(base);
    base = head(base).base;
  }
  if (base != last.number) {
    const Head& full = head(base);
    const double* const numbers = numbers_.data() + kept(base).begin();
    last.mode.discrete.assign(numbers, numbers + full.discrete);
    last.mode.locks.assign(numbers + full.discrete, numbers + full.discrete + full.locks);
    surface::take({surfaces_.data() + full.surfaces, full.toggled}, last.mode);
  }
  last.mode.conditions.resize(conditions_, 0.0);
  last.mode.sees.resize(sees_, 0);
  follow(chain, last.mode);
  last.mode.automaton = head(number).automaton;
  last.number = number;
  return last.mode;
}

void KeptModes::follow(std::span<const int> chain, Mode& mode) const {
  const std::size_t discretes = mode.discrete.size();
  std::vector<int> toggled;
  for (std::size_t link = chain.size(); link-- > 0;) {
    const Head& own = head(chain[link]);
    for (std::size_t k = 0; k < own.changes; ++k) {
      const Change& change = changes_[kept(chain[link]).begin() + k];
      (change.place < discretes ? mode.discrete[change.place] : mode.locks[change.place - discretes]) = change.value;
    }
    const int* const begin = surfaces_.data() + own.surfaces;
    toggled.insert(toggled.end(), begin, begin + own.toggled);
  }
  surface::toggle(std::move(toggled), mode);
}

}  // namespace saltus
