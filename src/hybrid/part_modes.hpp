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

/// Puts the surface of a guard on a list, with its side, or takes it away.
inline void change_surface(std::vector<int>& list, std::vector<int>* sides, int guard, bool on, int side) {
  const auto place = std::ranges::lower_bound(list, guard);
  const bool was = place != list.end() && *place == guard;
  const auto offset = place - list.begin();
  if (was && !on) {
    list.erase(place);
    if (sides) sides->erase(sides->begin() + offset);
  } else if (!was && on) {
    list.insert(place, guard);
    if (sides) sides->insert(sides->begin() + offset, side);
  } else if (was && sides) {
    (*sides)[static_cast<std::size_t>(offset)] = side;
  }
}

/// The mode of a part as the small family has it, from that of all, without polynomials.
inline void take_mode(const FamilyPart& part, const PartShape& shape, std::span<const double> parameters,
                      const Mode& from, Mode& mode) {
  mode.automaton = 0;
  mode.discrete.assign(shape.discretes(part), 0.0);
  for (std::size_t k = 0; k < part.discretes.size(); ++k)
    mode.discrete[k] = from.discrete[static_cast<std::size_t>(part.discretes[k])];
  for (std::size_t k = 0; k < part.parameters.size(); ++k)
    mode.discrete[shape.first_parameter(part) + k] = parameters[static_cast<std::size_t>(part.parameters[k])];
  for (std::size_t k = 0; k < part.constants.size(); ++k)
    mode.discrete[shape.first_constant(part) + k] = part.constants[k];
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

/// Writes the mode of a part into that of all; appends the places of its numbers (discrete variables, then locks).
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
  for (std::size_t k = 0; k < part.guards.size(); ++k) {
    const int guard = part.guards[k], own = shape.guards[k];
    to.sees[static_cast<std::size_t>(guard)] = mode.sees[static_cast<std::size_t>(own)];
    change_surface(to.sliding, nullptr, guard, contains(mode.sliding, own), 0);
    const auto contact = std::ranges::find(mode.contacts, own);
    const bool touches = contact != mode.contacts.end();
    change_surface(to.contacts, &to.contact_sides, guard, touches,
                   touches ? mode.contact_sides[static_cast<std::size_t>(contact - mode.contacts.begin())] : 0);
  }
}

}  // namespace saltus
