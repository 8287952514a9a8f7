#include "flight/atlas.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "model/model_access.hpp"

namespace saltus {

namespace {

/// What clauses of samples did, which act before all others: numbers of the next samples. The pulses themselves are
/// over when the instant is.
std::vector<EventLogic::RoundRecord::Value> samples_of(const EventLogic::Setup& setup, const AtlasEdge& edge) {
  std::vector<EventLogic::RoundRecord::Value> values;
  const auto place_in = [](const std::vector<Expr>& list, const Expr& symbol) {
    return static_cast<std::size_t>(std::ranges::find_if(list, [&](const Expr& e) { return e.same(symbol); }) -
                                    list.begin());
  };
  const auto fires = [&](const Expr& lock) {
    const std::size_t place = place_in(setup.locks, lock);
    return place < setup.locks.size() &&
           std::ranges::any_of(edge.departures, [&](int d) { return d / 2 == setup.lock_info[place].guard; });
  };
  for (std::size_t k = 0; k < setup.clauses.size(); ++k) {
    if (!setup.clauses[k].samples) continue;
    if (std::ranges::none_of(locks_of(std::span(&setup.clauses[k].condition.expr(), 1)), fires)) continue;
    const auto& actions = setup.clauses[k].actions;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      const int target = static_cast<int>(place_in(setup.discretes, actions[i].target));
      if (std::ranges::find(setup.pulses, target) == setup.pulses.end()) values.push_back({static_cast<int>(k), i});
    }
  }
  return values;
}

void persist_mode(StateArchive& archive, Mode& mode) {
  archive(mode.automaton, mode.discrete, mode.locks, mode.conditions, mode.sees, mode.sliding, mode.contacts,
          mode.contact_sides);
}

}  // namespace

Atlas::Atlas(const CompiledModel& model) {
  const Mode mode = model.initial_mode();
  const auto controlled = [](const GuardInfo& guard) { return guard.nominal > 0.0; };
  possible_ =
      model.acts_alike(mode, mode) && model.inputs().empty() && std::ranges::none_of(model.guards(), controlled);
  const auto decides = [&](std::vector<double> Mode::*list, std::size_t k) {
    Mode other = mode;
    (other.*list)[k] += 1.0;
    return !model.acts_alike(mode, other);
  };
  for (std::size_t k = 0; k < mode.discrete.size(); ++k)
    if (decides(&Mode::discrete, k)) deciding_discretes_.push_back(static_cast<int>(k));
  for (std::size_t k = 0; k < mode.locks.size(); ++k)
    if (decides(&Mode::locks, k)) deciding_locks_.push_back(static_cast<int>(k));
}

std::vector<double> Atlas::key_of(const Mode& mode) const {
  std::vector<double> key{static_cast<double>(mode.automaton)};
  for (const auto* surfaces : {&mode.sliding, &mode.contacts, &mode.contact_sides}) {
    key.push_back(static_cast<double>(surfaces->size()));
    key.insert(key.end(), surfaces->begin(), surfaces->end());
  }
  key.insert(key.end(), mode.conditions.begin(), mode.conditions.end());
  for (const int k : deciding_locks_) key.push_back(mode.locks[static_cast<std::size_t>(k)]);
  for (const int k : deciding_discretes_) key.push_back(mode.discrete[static_cast<std::size_t>(k)]);
  return key;
}

int Atlas::find(const Mode& mode) const {
  const auto found = numbers_.find(key_of(mode));
  return found == numbers_.end() ? -1 : found->second;
}

int Atlas::enter(const Mode& mode) {
  const auto [it, fresh] = numbers_.try_emplace(key_of(mode), static_cast<int>(modes_.size()));
  if (fresh) modes_.push_back({mode, {}});
  return it->second;
}

AtlasPlace Atlas::learn(const CompiledModel& member, SeenEvent event) {
  if (!possible_) return {};
  std::vector<Act> rounds = committed(event.acts);
  std::erase_if(rounds, [](const Act& act) {  // truths have changed, and nothing has acted
    return act.round.given.empty() && act.x_before == act.x_after &&
           act.mode_before.discrete == act.mode_after.discrete;
  });
  AtlasEdge edge{.departures = std::move(event.departures)};
  const int from = find(event.before);
  if (from < 0 || edge.departures.empty() || rounds.size() > 1) return {};
  edge.example = {event.t,
                  ModelAccess::values(member).parameters,
                  {event.x_before.begin(), event.x_before.end()},
                  {event.x_after.begin(), event.x_after.end()},
                  event.before.discrete,
                  event.after};
  if (!rounds.empty()) {
    if (rounds.front().round.followed) return {};
    edge.given = samples_of(ModelAccess::logic(member), edge);
    edge.given.insert(edge.given.end(), rounds.front().round.given.begin(), rounds.front().round.given.end());
    edge.truths = rounds.front().round.seen[EventLogic::locks];
  }
  for (std::size_t k = 0; k < event.before.locks.size(); ++k)
    if (const double change = event.after.locks[k] - event.before.locks[k];
        change != 0.0 && !std::ranges::binary_search(deciding_locks_, static_cast<int>(k)))
      edge.roundings.emplace_back(static_cast<int>(k), change);
  edge.target = enter(event.after);
  auto& known = modes_[static_cast<std::size_t>(from)].edges;
  const auto same_values = [](const auto& a, const auto& b) { return a.giver == b.giver && a.action == b.action; };
  const auto same = [&](const AtlasEdge& e) {
    return e.departures == edge.departures && e.target == edge.target && e.roundings == edge.roundings &&
           e.truths == edge.truths && std::ranges::equal(e.given, edge.given, same_values);
  };
  const auto place = std::ranges::find_if(known, same);
  const AtlasPlace found{from, static_cast<int>(place - known.begin())};
  if (place == known.end()) known.push_back(std::move(edge));
  return found;
}

void Atlas::identify(std::vector<double>& key) const {
  for (const AtlasMode& mode : modes_) {
    const std::vector<double> own = key_of(mode.mode);
    key.push_back(static_cast<double>(own.size()));
    key.insert(key.end(), own.begin(), own.end());
    key.push_back(static_cast<double>(mode.edges.size()));
    for (const AtlasEdge& edge : mode.edges) {
      for (const std::size_t size :
           {edge.departures.size(), edge.given.size(), edge.truths.size(), edge.roundings.size()})
        key.push_back(static_cast<double>(size));
      key.insert(key.end(), edge.departures.begin(), edge.departures.end());
      key.push_back(edge.target);
      for (const auto& value : edge.given) {
        key.push_back(value.giver);
        key.push_back(static_cast<double>(value.action));
      }
      key.insert(key.end(), edge.truths.begin(), edge.truths.end());
      for (const auto& [lock, change] : edge.roundings) {
        key.push_back(lock);
        key.push_back(change);
      }
    }
  }
}

void AtlasEdge::persist(StateArchive& archive) {
  std::vector<int> givers, locks;
  std::vector<std::size_t> actions;
  std::vector<double> changes;
  for (const auto& value : given) {
    givers.push_back(value.giver);
    actions.push_back(value.action);
  }
  for (const auto& [lock, change] : roundings) {
    locks.push_back(lock);
    changes.push_back(change);
  }
  archive(departures, target, givers, actions, truths, locks, changes, example.t, example.parameters, example.x_before,
          example.x_after, example.discrete_before);
  persist_mode(archive, example.after);
  if (archive.writes()) return;
  if (givers.size() != actions.size() || locks.size() != changes.size())
    throw UsageError("the saved state is damaged: its numbers do not fit the model");
  given.clear();
  roundings.clear();
  for (std::size_t k = 0; k < givers.size(); ++k) given.push_back({givers[k], actions[k]});
  for (std::size_t k = 0; k < locks.size(); ++k) roundings.emplace_back(locks[k], changes[k]);
}

void AtlasMode::persist(StateArchive& archive) {
  persist_mode(archive, mode);
  archive(edges);
}

void Atlas::persist(StateArchive& archive) {
  archive(modes_);
  if (archive.writes()) return;
  numbers_.clear();
  for (std::size_t k = 0; k < modes_.size(); ++k) numbers_.emplace(key_of(modes_[k].mode), static_cast<int>(k));
}

}  // namespace saltus
