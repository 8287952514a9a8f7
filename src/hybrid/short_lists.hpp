// Copies and comparisons of modes and states. An event makes dozens of them, most often of two or three numbers: what std::vector does to
// be ready for any size would cost more than the rest of the event.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace saltus {

namespace rarely {  // apart, so that what happens nearly always is short enough to be inlined

template <class Value>
[[gnu::noinline]] void copy(std::span<const Value> from, std::vector<Value>& to) {
  to.assign(from.begin(), from.end());
}
template <class Value>
[[gnu::noinline]] void resize(std::vector<Value>& list, std::size_t size) {
  list.resize(size);
}

}  // namespace rarely

template <class Value>
void copy(std::span<const Value> from, std::vector<Value>& to) {
  constexpr std::size_t few = 4;
  const std::size_t size = from.size();
  if (size != to.size() || size > few)
    rarely::copy(from, to);
  else
    for (std::size_t k = 0; k < size; ++k) to[k] = from[k];
}
template <class Value>
void copy(const std::vector<Value>& from, std::vector<Value>& to) {
  copy(std::span<const Value>(from), to);
}

template <class Value>
void resize(std::vector<Value>& list, std::size_t size) {
  if (list.size() != size) rarely::resize(list, size);
}

inline void copy(const Mode& from, Mode& to) {
  to.automaton = from.automaton;
  copy(from.discrete, to.discrete);
  copy(from.locks, to.locks);
  copy(from.conditions, to.conditions);
  copy(from.sees, to.sees);
  if (!from.on_surfaces() && !to.on_surfaces()) return;
  copy(from.sliding, to.sliding);
  copy(from.contacts, to.contacts);
  copy(from.contact_sides, to.contact_sides);
}

/// Swaps two modes without moving their numbers.
inline void exchange(Mode& a, Mode& b) {
  std::swap(a.automaton, b.automaton);
  a.discrete.swap(b.discrete);
  a.locks.swap(b.locks);
  a.conditions.swap(b.conditions);
  a.sees.swap(b.sees);
  a.sliding.swap(b.sliding);
  a.contacts.swap(b.contacts);
  a.contact_sides.swap(b.contact_sides);
}

template <class Value>
bool same(const std::vector<Value>& a, const std::vector<Value>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t k = 0; k < a.size(); ++k)
    if (a[k] != b[k]) return false;
  return true;
}

inline bool contains(const std::vector<int>& list, int value) { return std::find(list.begin(), list.end(), value) != list.end(); }

/// Whether two modes differ at most in the truth of their conditions, which counts at the next edge only.
inline bool same_but_conditions(const Mode& a, const Mode& b) {
  return a.automaton == b.automaton && same(a.discrete, b.discrete) && same(a.locks, b.locks) && same(a.sliding, b.sliding) &&
         same(a.contacts, b.contacts) && same(a.contact_sides, b.contact_sides);
}
inline bool same(const Mode& a, const Mode& b) {
  return same_but_conditions(a, b) && same(a.conditions, b.conditions) && same(a.sees, b.sees);
}

}  // namespace saltus
