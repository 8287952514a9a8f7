#include "hybrid/event_log.hpp"

#include <algorithm>
#include <bit>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

/// "v1 > v2" as a surface: "v1 = v2".
std::string surface_name(std::string relation) {
  for (const char* sign : {" >= ", " > "})
    if (const auto place = relation.find(sign); place != std::string::npos)
      return relation.replace(place, std::string_view(sign).size(), " = ");
  return relation;
}

template <class Value>
void append(std::vector<Value>& pool, std::span<const Value> values) {
  for (const Value& value : values) pool.push_back(value);
}

/// Takes `count` values of a pool from `place` on, and moves on.
template <class Value>
std::span<const Value> take(const std::vector<Value>& pool, std::size_t& place, std::size_t count) {
  const auto part = std::span(pool).subspan(place, count);
  place += count;
  return part;
}

template <class To, class From>
std::vector<To> list(std::span<const From> values) {
  return {values.begin(), values.end()};
}

std::uint64_t hash_of(const Mode& mode) {
  std::uint64_t hash = 0xcbf29ce484222325u + static_cast<std::uint64_t>(mode.automaton);
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29; };
  for (const double value : mode.discrete) mix(std::bit_cast<std::uint64_t>(value));
  for (const double value : mode.locks) mix(std::bit_cast<std::uint64_t>(value));
  for (const int k : mode.sliding) mix(static_cast<std::uint64_t>(k) + 1);
  for (const int k : mode.contacts) mix(~static_cast<std::uint64_t>(k));
  return hash;
}

}  // namespace

EventLog::EventLog(const EventLog& other)
    : entries_(other.entries_),
      modes_(other.modes_),
      mode_numbers_(other.mode_numbers_),
      numbers_(other.numbers_),
      mode_integers_(other.mode_integers_),
      integers_(other.integers_),
      actions_(other.actions_),
      text_(other.text_),
      recent_(other.recent_),
      oldest_(other.oldest_) {}

bool EventLog::equal(const StoredMode& stored, const Mode& mode) const {
  if (stored.automaton != mode.automaton) return false;
  const double* number = mode_numbers_.data() + stored.numbers;
  const int* integer = mode_integers_.data() + stored.integers;
  const auto next_are = [](auto*& place, std::uint32_t count, const auto& list) {
    if (list.size() != count) return false;
    for (const auto value : list)
      if (*place++ != value) return false;
    return true;
  };
  return next_are(number, stored.discrete, mode.discrete) && next_are(number, stored.locks, mode.locks) &&
         next_are(integer, stored.sliding, mode.sliding) && next_are(integer, stored.contacts, mode.contacts);
}

std::int32_t EventLog::store(const Mode& mode) {
  if (!entries_.empty())  // as a rule it goes on, or to and fro
    for (const std::int32_t id : {entries_.back().mode_after, entries_.back().mode_before})
      if (equal(modes_[static_cast<std::size_t>(id)], mode)) return id;
  const std::uint64_t hash = hash_of(mode);
  for (const std::int32_t id : recent_)
    if (id >= 0 && modes_[static_cast<std::size_t>(id)].hash == hash && equal(modes_[static_cast<std::size_t>(id)], mode)) return id;
  const auto id = static_cast<std::int32_t>(modes_.size());
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  modes_.push_back({hash, mode.automaton, mode_numbers_.size(), mode_integers_.size(), size(mode.discrete), size(mode.locks),
                    size(mode.sliding), size(mode.contacts)});
  append<double>(mode_numbers_, mode.discrete);
  append<double>(mode_numbers_, mode.locks);
  append<int>(mode_integers_, mode.sliding);
  append<int>(mode_integers_, mode.contacts);
  recent_[oldest_++ % recent_.size()] = id;
  return id;
}

Mode EventLog::restore(const StoredMode& stored) const {
  std::size_t number = stored.numbers, integer = stored.integers;
  Mode mode;
  mode.automaton = stored.automaton;
  mode.discrete = list<double>(take(mode_numbers_, number, stored.discrete));
  mode.locks = list<double>(take(mode_numbers_, number, stored.locks));
  mode.sliding = list<int>(take(mode_integers_, integer, stored.sliding));
  mode.contacts = list<int>(take(mode_integers_, integer, stored.contacts));
  return mode;
}

void EventLog::add(const EventNote& note, bool with_values) {
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  const std::int32_t before = store(*note.mode_before);
  const std::int32_t after = same_but_conditions(*note.mode_before, *note.mode_after) ? before : store(*note.mode_after);
  entries_.push_back({note.t, note.jump, before, after, size(note.guards), with_values ? size(note.before) : 0, size(note.weights),
                      size(note.actions), size(note.message), note.kind, note.cause, note.proved, !note.slope_before.empty(),
                      !note.slope_after.empty()});
  append(numbers_, note.slope_before);
  append(numbers_, note.slope_after);
  if (with_values) {
    append(numbers_, note.before);
    append(numbers_, note.after);
  }
  append(numbers_, note.weights);
  append(integers_, note.guards);
  append(integers_, note.directions);
  append(actions_, note.actions);
  if (!note.message.empty()) text_ += note.message;
}

const std::string& EventLog::describe(std::int32_t mode, const HybridSystem& system) const {
  std::string& text = mode_texts_[static_cast<std::size_t>(mode)];
  if (text.empty()) text = system.describe(restore(modes_[static_cast<std::size_t>(mode)]));
  return text;
}

Event EventLog::make(const Entry& e, Place& place, const HybridSystem& system) const {
  const std::vector<GuardInfo>& guards = system.guards();
  Event event;
  event.t = e.t;
  event.kind = e.kind;
  event.cause = e.cause;
  event.jump = e.jump;
  event.proved = e.proved;
  event.mode_before = describe(e.mode_before, system);
  event.mode_after = describe(e.mode_after, system);
  event.slope_before = list<double>(take(numbers_, place.number, e.slopes_before ? e.guards : 0));
  event.slope_after = list<double>(take(numbers_, place.number, e.slopes_after ? e.guards : 0));
  event.before = list<double>(take(numbers_, place.number, e.values));
  event.after = list<double>(take(numbers_, place.number, e.values));
  event.weights = list<double>(take(numbers_, place.number, e.weights));
  for (const int k : take(integers_, place.integer, e.guards)) {
    event.guards.push_back(guards[static_cast<std::size_t>(k)].name);
    event.where.push_back(guards[static_cast<std::size_t>(k)].where);
  }
  event.direction = list<int>(take(integers_, place.integer, e.guards));
  event.actions = list<std::string>(take(actions_, place.action, e.actions));
  event.message = text_.substr(place.text, e.text);
  place.text += e.text;
  const StoredMode& mode = modes_[static_cast<std::size_t>(e.mode_after)];
  std::size_t surface = mode.integers;
  const auto sliding = take(mode_integers_, surface, mode.sliding), contacts = take(mode_integers_, surface, mode.contacts);
  if (e.kind == EventKind::touch) return event;  // nothing changed
  if (!event.weights.empty())
    for (const int k : sliding) event.surfaces.push_back(surface_name(guards[static_cast<std::size_t>(k)].name));
  for (const int k : contacts) event.contacts.push_back(surface_name(guards[static_cast<std::size_t>(k)].name));
  return event;
}

const std::vector<Event>& EventLog::read(const HybridSystem& system) const {
  const std::lock_guard lock(reading_);
  mode_texts_.resize(modes_.size());
  events_.reserve(entries_.size());
  for (std::size_t k = events_.size(); k < entries_.size(); ++k) events_.push_back(make(entries_[k], unread_, system));
  return events_;
}

}  // namespace saltus
