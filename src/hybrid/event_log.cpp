#include "hybrid/event_log.hpp"

#include <saltus/hybrid/event_text.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

constexpr std::size_t few = 16;  // shapes that are likely to come again

/// "v1 > v2" as a surface: "v1 = v2". Relations in parentheses are arguments.
std::string surface_name(std::string relation) {
  int depth = 0;
  for (std::size_t k = 0; k < relation.size(); ++k) {
    const char c = relation[k];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth > 0 || (c != '<' && c != '>')) continue;
    const std::size_t length = k + 1 < relation.size() && relation[k + 1] == '=' ? 2 : 1;
    return relation.replace(k, length, "=");
  }
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

}  // namespace

EventLog::EventLog(const EventLog& other)
    : entries_(other.entries_),
      numbers_(other.numbers_),
      parts_(other.parts_),
      shapes_(other.shapes_),
      shape_integers_(other.shape_integers_),
      actions_(other.actions_),
      modes_(other.modes_) {}

bool EventLog::equal(const StoredShape& stored, const EventShape& shape, const EventNumbers& numbers) const {
  const auto integers = std::span(shape_integers_).subspan(stored.integers);
  const auto begins_with = [](auto list, auto part) { return std::equal(part.begin(), part.end(), list.begin()); };
  return stored.kind == shape.kind && stored.guards == shape.guards.size() &&
         stored.causes == shape.causes.size() && stored.actions == shape.actions.size() &&
         stored.slopes_before == numbers.slope_before.size() && stored.slopes_after == numbers.slope_after.size() &&
         stored.values == numbers.before.size() && stored.weights == numbers.weights.size() && stored.message == shape.message &&
         begins_with(integers, shape.guards) && begins_with(integers.subspan(stored.guards), shape.directions) &&
         begins_with(integers.subspan(2 * stored.guards), shape.causes) &&
         begins_with(std::span(actions_).subspan(stored.action), shape.actions);
}

std::int32_t EventLog::store_shape(const EventShape& shape, const EventNumbers& numbers) {
  const auto size = [](const auto& values) { return static_cast<std::uint32_t>(values.size()); };
  for (std::size_t id = shapes_.size(), looked = 0; id-- > 0 && looked < few; ++looked)
    if (equal(shapes_[id], shape, numbers)) return static_cast<std::int32_t>(id);
  shapes_.push_back({shape.kind, size(shape.guards), size(shape.causes), size(shape.actions), shape_integers_.size(),
                     actions_.size(), std::string(shape.message), size(numbers.slope_before),
                     size(numbers.slope_after), size(numbers.before), size(numbers.weights)});
  append(shape_integers_, shape.guards);
  append(shape_integers_, shape.directions);
  append(shape_integers_, shape.causes);
  actions_.insert(actions_.end(), shape.actions.begin(), shape.actions.end());
  return static_cast<std::int32_t>(shapes_.size()) - 1;
}

std::int32_t EventLog::store(const Parts& parts) {
  for (std::size_t id = parts_.size(), looked = 0; id-- > 0 && looked < few; ++looked)
    if (parts_[id] == parts) return static_cast<std::int32_t>(id);
  parts_.push_back(parts);
  return static_cast<std::int32_t>(parts_.size()) - 1;
}

EventTag EventLog::add(const EventShape& shape, const EventNumbers& numbers) {
  const int before = modes_.keep(*shape.mode_before), after = modes_.keep(*shape.mode_after);
  return add(before, after, shape, numbers);
}

EventTag EventLog::add(int mode_before, int mode_after, const EventShape& shape, const EventNumbers& numbers) {
  const EventTag tag{store({store_shape(shape, numbers), mode_before, mode_after})};
  add(tag, numbers);
  return tag;
}

EventTag EventLog::add(EventTag like, int mode_before, const Mode& mode_after, const EventNumbers& numbers) {
  const EventTag tag{static_cast<std::int32_t>(parts_.size())};
  const Parts known = parts_[static_cast<std::size_t>(like.place)];
  parts_.push_back({known.shape, mode_before, modes_.keep_new(mode_after, known.mode_after)});
  add(tag, numbers);
  return tag;
}

[[gnu::hot]] void EventLog::add(EventTag tag, const EventNumbers& numbers) {
  if ((numbers.t - until_) * direction_ <= 0.0) return;
  entries_.push_back({numbers.t, numbers.jump, tag.place, numbers.cause, numbers.proved});
  if (numbers.before.empty() && numbers.weights.empty())
    numbers_.append(numbers.slope_before, numbers.slope_after);
  else if (!shapes_[static_cast<std::size_t>(parts_[static_cast<std::size_t>(tag.place)].shape)].keeps_changes())
    numbers_.append(numbers.slope_before, numbers.slope_after, numbers.before, numbers.after, numbers.weights);
  else
    add_changes(numbers);
}

void EventLog::add_changes(const EventNumbers& numbers) {
  changes_.assign(1, 0.0);
  for (std::size_t k = 0; k < numbers.before.size(); ++k) {
    if (std::bit_cast<std::uint64_t>(numbers.before[k]) == std::bit_cast<std::uint64_t>(numbers.after[k])) continue;
    changes_.push_back(static_cast<double>(k));
    changes_.push_back(numbers.after[k]);
  }
  changes_.front() = static_cast<double>(changes_.size() / 2);
  numbers_.append(numbers.slope_before, numbers.slope_after, numbers.before, changes_, numbers.weights);
}

std::vector<double> EventLog::take_after(const StoredShape& shape, const std::vector<double>& before, std::size_t& number) const {
  if (!shape.keeps_changes()) return list<double>(take(numbers_, number, shape.values));
  std::vector<double> after = before;
  const auto count = static_cast<std::size_t>(numbers_[number++]);
  for (std::size_t k = 0; k < count; ++k, number += 2) after[static_cast<std::size_t>(numbers_[number])] = numbers_[number + 1];
  return after;
}

EventLog::Stored EventLog::stored(std::size_t event) const {
  const Entry& entry = entries_[event];
  const Parts& parts = this->parts(entry);
  const StoredShape& shape = shapes_[static_cast<std::size_t>(parts.shape)];
  const std::span<const int> integers = std::span(shape_integers_).subspan(shape.integers);
  Stored stored;
  stored.t = entry.t;
  stored.kind = shape.kind;
  stored.mode_before = parts.mode_before;
  stored.mode_after = parts.mode_after;
  stored.guards = integers.first(shape.guards);
  stored.directions = integers.subspan(shape.guards, shape.guards);
  stored.causes = integers.subspan(2 * shape.guards, shape.causes);
  stored.actions = std::span(actions_).subspan(shape.action, shape.actions);
  return stored;
}

const std::string& EventLog::describe(std::int32_t mode, const HybridSystem& system) const {
  std::string& text = mode_texts_[static_cast<std::size_t>(mode)];
  if (text.empty()) text = system.describe(modes_.read(mode, read_));
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
  event.after = take_after(shape, event.before, number);
  event.weights = list<double>(take(numbers_, number, shape.weights));
  for (const int k : take(shape_integers_, integer, shape.guards)) {
    event.guards.push_back(guards[static_cast<std::size_t>(k)].name);
    event.where.push_back(guards[static_cast<std::size_t>(k)].where);
  }
  event.direction = list<int>(take(shape_integers_, integer, shape.guards));
  for (std::size_t k = 0; k < event.guards.size(); ++k) {
    const int guard = shape_integers_[shape.integers + k];
    event.becomes.push_back(truth_change(guards[static_cast<std::size_t>(guard)], event.direction[k]));
  }
  event.actions = list<std::string>(take(actions_, action, shape.actions));
  event.message = shape.message;
  if (shape.kind == EventKind::touch) return event;  // nothing changed
  const Mode& mode = modes_.read(parts.mode_after, read_);
  if (!event.weights.empty())
    for (const int k : mode.sliding) event.surfaces.push_back(surface_name(guards[static_cast<std::size_t>(k)].name));
  for (const int k : mode.contacts) event.contacts.push_back(surface_name(guards[static_cast<std::size_t>(k)].name));
  return event;
}

void EventLog::forget() {
  const std::lock_guard lock(reading_);
  entries_.clear();
  numbers_.clear();
  events_.clear();
  unread_ = 0;
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
