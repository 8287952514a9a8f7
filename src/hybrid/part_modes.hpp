// The mode of a part, as the small family and as the large one have it.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/dae/parts.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "hybrid/kept_modes.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

/// Surfaces stand in increasing order.
inline void sort_surfaces(Mode& mode) {
  std::ranges::sort(mode.sliding);
  if (mode.contacts.size() < 2) return;
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t k = 0; k < mode.contacts.size(); ++k) pairs.emplace_back(mode.contacts[k], mode.contact_sides[k]);
  std::ranges::sort(pairs);
  for (std::size_t k = 0; k < pairs.size(); ++k) std::tie(mode.contacts[k], mode.contact_sides[k]) = pairs[k];
}

/// A mode of a part as it is kept: with discrete variables of the part alone. Values of parameters and polynomials of
/// foreign variables, which may be thousands, are written again when it is read.
inline void keep_mode(const FamilyPart& part, const Mode& mode, Mode& kept) {
  kept.automaton = mode.automaton;
  const auto begin = mode.discrete.begin();
  kept.discrete.assign(begin, begin + static_cast<std::ptrdiff_t>(part.discretes.size()));
  kept.locks = mode.locks;
  kept.conditions = mode.conditions;
  kept.sees = mode.sees;
  kept.sliding = mode.sliding;
  kept.contacts = mode.contacts;
  kept.contact_sides = mode.contact_sides;
}

/// Writes what stands behind the discrete variables of the part, without polynomials.
inline void complete_mode(const FamilyPart& part, const PartShape& shape, std::span<const double> parameters,
                          Mode& mode) {
  mode.discrete.resize(shape.discretes(part), 0.0);
  for (std::size_t k = 0; k < part.parameters.size(); ++k)
    mode.discrete[shape.first_parameter(part) + k] = parameters[static_cast<std::size_t>(part.parameters[k])];
  for (std::size_t k = 0; k < part.constants.size(); ++k)
    mode.discrete[shape.first_constant(part) + k] = part.constants[k];
}

/// The mode of a part as the small family has it, from that of all, without polynomials.
inline void take_mode(const FamilyPart& part, const PartShape& shape, std::span<const double> parameters,
                      const Mode& from, Mode& mode) {
  mode.automaton = 0;
  mode.discrete.resize(part.discretes.size());
  for (std::size_t k = 0; k < part.discretes.size(); ++k)
    mode.discrete[k] = from.discrete[static_cast<std::size_t>(part.discretes[k])];
  complete_mode(part, shape, parameters, mode);
  mode.locks.resize(part.locks.size());
  for (std::size_t k = 0; k < part.locks.size(); ++k)
    mode.locks[static_cast<std::size_t>(shape.locks[k])] = from.locks[static_cast<std::size_t>(part.locks[k])];
  mode.conditions.resize(part.conditions.size());
  for (std::size_t k = 0; k < part.conditions.size(); ++k)
    mode.conditions[k] = from.conditions[static_cast<std::size_t>(part.conditions[k])];
  mode.sees.resize(part.guards.size());
  mode.sliding.clear();
  mode.contacts.clear();
  mode.contact_sides.clear();
  for (std::size_t k = 0; k < part.guards.size(); ++k) {
    const int guard = part.guards[k], own = shape.guards[k];
    mode.sees[static_cast<std::size_t>(own)] = from.sees[static_cast<std::size_t>(guard)];
    if (!from.sliding.empty() && std::ranges::binary_search(from.sliding, guard)) mode.sliding.push_back(own);
    const auto contact = std::ranges::lower_bound(from.contacts, guard);
    if (contact == from.contacts.end() || *contact != guard) continue;
    mode.contacts.push_back(own);
    mode.contact_sides.push_back(from.contact_sides[static_cast<std::size_t>(contact - from.contacts.begin())]);
  }
  sort_surfaces(mode);
}

/// Writes the mode of a part into that of all, but for the surfaces on which it stays; appends the places of its
/// numbers (discrete variables, then locks).
inline void give_mode(const FamilyPart& part, const PartShape& shape, const Mode& mode, Mode& to,
                      std::vector<std::size_t>& places) {
  for (std::size_t k = 0; k < part.discretes.size(); ++k) {
    const auto place = static_cast<std::size_t>(part.discretes[k]);
    to.discrete[place] = mode.discrete[k];
    places.push_back(place);
  }
  for (std::size_t k = 0; k < part.locks.size(); ++k) {
    const auto place = static_cast<std::size_t>(part.locks[k]);
    to.locks[place] = mode.locks[static_cast<std::size_t>(shape.locks[k])];
    places.push_back(to.discrete.size() + place);
  }
  for (std::size_t k = 0; k < part.conditions.size(); ++k)
    to.conditions[static_cast<std::size_t>(part.conditions[k])] = mode.conditions[k];
  for (std::size_t k = 0; k < part.guards.size(); ++k)
    to.sees[static_cast<std::size_t>(part.guards[k])] = mode.sees[static_cast<std::size_t>(shape.guards[k])];
}

/// Appends the surfaces of the large family (surface::toggle) on which only one of two modes of a part stays.
inline void find_toggled(const FamilyPart& part, const PartShape& shape, const Mode& before, const Mode& now,
                         std::vector<int>& toggled) {
  if (!before.on_surfaces() && !now.on_surfaces()) return;
  const auto surface_of = [](const Mode& mode, int own, int guard) {
    if (contains(mode.sliding, own)) return surface::slide(guard);
    const auto contact = std::ranges::find(mode.contacts, own);
    if (contact == mode.contacts.end()) return -1;
    return surface::contact(guard, mode.contact_sides[static_cast<std::size_t>(contact - mode.contacts.begin())]);
  };
  for (std::size_t k = 0; k < part.guards.size(); ++k) {
    const int own = shape.guards[k], guard = part.guards[k];
    const int old_surface = surface_of(before, own, guard), new_surface = surface_of(now, own, guard);
    if (old_surface == new_surface) continue;
    for (const int surface : {old_surface, new_surface})
      if (surface >= 0) toggled.push_back(surface);
  }
}

}  // namespace saltus
