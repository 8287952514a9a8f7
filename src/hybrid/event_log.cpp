#include "hybrid/event_log.hpp"

#include <algorithm>
#include <bit>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

constexpr std::size_t few = 16;  // shapes that are likely to come again

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
template <class Pool>
auto take(const Pool& pool, std::size_t& place, std::size_t count) {
  const auto part = std::span(pool.data(), pool.size()).subspan(place, count);
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
  for (const auto* list : {&mode.contacts, &mode.contact_sides})
    for (const int k : *list) mix(~static_cast<std::uint64_t>(k));
  return hash;
}

}  // namespace

EventLog::EventLog(const EventLog& other)
    : entries_(other.entries_),
      numbers_(other.numbers_),
      parts_(other.parts_),
      shapes_(other.shapes_),
      shape_integers_(other.shape_integers_),
      actions_(other.actions_),
      modes_(other.modes_),
      mode_numbers_(other.mode_numbers_),
      mode_integers_(other.mode_integers_),
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
         next_are(integer, stored.sliding, mode.sliding) && next_are(integer, stored.contacts, mode.contacts) &&
         next_are(integer, stored.contacts, mode.contact_sides);
}

std::int32_t EventLog::store(const Mode& mode) {
  if (!entries_.empty()) {  // as a rule it goes on, or to and fro
    const Parts& last = parts(entries_.back());
    for (const std::int32_t id : {last.mode_after, last.mode_before})
      if (equal(modes_[static_cast<std::size_t>(id)], mode)) return id;
  }
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
  append<int>(mode_integers_, mode.contact_sides);
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
  mode.contact_sides = list<int>(take(mode_integers_, integer, stored.contacts));
  return mode;
}

bool EventLog::equal(const StoredShape& stored, const EventShape& shape, const EventNumbers& numbers) const {
  const auto integers = std::span(shape_integers_).subspan(stored.integers);
  const auto begins_with = [](auto list, auto part) { return std::equal(part.begin(), part.end(), list.begin()); };
  return stored.kind == shape.kind && stored.guards == shape.guards.size() && stored.actions == shape.actions.size() &&
         stored.slopes_before == numbers.slope_before.size() && stored.slopes_after == numbers.slope_after.size() &&
         stored.values == numbers.before.size() && stored.weights == numbers.weights.size() && stored.message == shape.message &&
         begins_with(integers, shape.guards) && begins_with(integers.subspan(stored.guards), shape.directions) &&
         begins_with(std::span(actions_).subspan(stored.action), shape.actions);
}

std::int32_t EventLog::store_shape(const EventShape& shape, const EventNumbers& numbers) {
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  for (std::size_t id = shapes_.size(), looked = 0; id-- > 0 && looked < few; ++looked)
    if (equal(shapes_[id], shape, numbers)) return static_cast<std::int32_t>(id);
  shapes_.push_back({shape.kind, size(shape.guards), size(shape.actions), shape_integers_.size(), actions_.size(),
                     std::string(shape.message), size(numbers.slope_before), size(numbers.slope_after), size(numbers.before), size(numbers.weights)});
  append(shape_integers_, shape.guards);
  append(shape_integers_, shape.directions);
  actions_.insert(actions_.end(), shape.actions.begin(), shape.actions.end());
  return static_cast<std::int32_t>(shapes_.size()) - 1;
}

std::int32_t EventLog::store(const Parts& parts) {
  const auto found = std::find(parts_.end() - static_cast<std::ptrdiff_t>(std::min(few, parts_.size())), parts_.end(), parts);
  const auto place = static_cast<std::int32_t>(found - parts_.begin());
  if (found == parts_.end()) parts_.push_back(parts);
  return place;
}

EventTag EventLog::add(const EventShape& shape, const EventNumbers& numbers) {
  Parts parts;
  parts.mode_before = store(*shape.mode_before);
  parts.mode_after = same_but_conditions(*shape.mode_before, *shape.mode_after) ? parts.mode_before : store(*shape.mode_after);
  parts.shape = store_shape(shape, numbers);
  const EventTag tag{store(parts)};
  add(tag, numbers);
  return tag;
}

[[gnu::hot]] void EventLog::add(EventTag tag, const EventNumbers& numbers) {
  entries_.push_back({numbers.t, numbers.jump, tag.place, numbers.cause, numbers.proved});
  if (numbers.before.empty() && numbers.weights.empty())
    numbers_.append(numbers.slope_before, numbers.slope_after);
  else
    numbers_.append(numbers.slope_before, numbers.slope_after, numbers.before, numbers.after, numbers.weights);
}

EventLog::Stored EventLog::stored(std::size_t event) const {
  const Entry& entry = entries_[event];
  const Parts& parts = this->parts(entry);
  const StoredShape& shape = shapes_[static_cast<std::size_t>(parts.shape)];
  const std::span<const int> integers = std::span(shape_integers_).subspan(shape.integers);
  Stored stored;
  stored.t = entry.t;
  stored.kind = shape.kind;
  stored.mode_before = static_cast<std::size_t>(parts.mode_before);
  stored.mode_after = static_cast<std::size_t>(parts.mode_after);
  stored.guards = integers.first(shape.guards);
  stored.directions = integers.subspan(shape.guards, shape.guards);
  stored.actions = std::span(actions_).subspan(shape.action, shape.actions);
  return stored;
}

const std::string& EventLog::describe(std::int32_t mode, const HybridSystem& system) const {
  std::string& text = mode_texts_[static_cast<std::size_t>(mode)];
  if (text.empty()) text = system.describe(restore(modes_[static_cast<std::size_t>(mode)]));
  return text;
}

Event EventLog::make(const Entry& e, std::size_t& number, const HybridSystem& system) const {
  const std::vector<GuardInfo>& guards = system.guards();
  const Parts& parts = this->parts(e);
  const StoredShape& shape = shapes_[static_cast<std::size_t>(parts.shape)];
  std::size_t integer = shape.integers, action = shape.action;
  Event event;
  event.t = e.t;
  event.kind = shape.kind;
  event.cause = e.cause;
  event.jump = e.jump;
  event.proved = e.proved;
  event.mode_before = describe(parts.mode_before, system);
  event.mode_after = describe(parts.mode_after, system);
  event.slope_before = list<double>(take(numbers_, number, shape.slopes_before));
  event.slope_after = list<double>(take(numbers_, number, shape.slopes_after));
  event.before = list<double>(take(numbers_, number, shape.values));
  event.after = list<double>(take(numbers_, number, shape.values));
  event.weights = list<double>(take(numbers_, number, shape.weights));
  for (const int k : take(shape_integers_, integer, shape.guards)) {
    event.guards.push_back(guards[static_cast<std::size_t>(k)].name);
    event.where.push_back(guards[static_cast<std::size_t>(k)].where);
  }
  event.direction = list<int>(take(shape_integers_, integer, shape.guards));
  event.actions = list<std::string>(take(actions_, action, shape.actions));
  event.message = shape.message;
  const StoredMode& mode = modes_[static_cast<std::size_t>(parts.mode_after)];
  std::size_t surface = mode.integers;
  const auto sliding = take(mode_integers_, surface, mode.sliding), contacts = take(mode_integers_, surface, mode.contacts);
  if (shape.kind == EventKind::touch) return event;  // nothing changed
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

void EventLog::for_each(const HybridSystem& system, const std::function<void(const Event&)>& visit) const {
  const std::lock_guard lock(reading_);
  mode_texts_.resize(modes_.size());
  std::size_t number = 0;
  for (std::size_t k = 0; k < entries_.size(); ++k) visit(make(entries_[k], number, system));
}

}  // namespace saltus
