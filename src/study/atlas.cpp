#include "study/atlas.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "model/model_access.hpp"
#include "sens/watched_model.hpp"

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

}  // namespace

Atlas::Atlas(const CompiledModel& model) : places_(ModelAccess::places(model)) {
  const Mode mode = model.initial_mode();
  possible_ = model.acts_alike(mode, mode) && model.inputs().empty();
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

bool Atlas::learn(const CompiledModel& member, const SimulateOptions& options) {
  constexpr std::int64_t many = 256;  // events between two times of forgetting
  if (!possible_) return false;
  const auto acts = std::make_shared<std::vector<Act>>();
  CompiledModel model = member;
  SimulateOptions own = options;
  own.keep_steps = own.keep_event_values = true;
  Simulator run(std::make_shared<WatchedModel>(member, acts), own);
  if (!run.finished() || run.status().ok()) enter(run.mode());
  std::int64_t forgotten = 0;
  for (bool goes_on = !run.finished(); goes_on;) {
    const Mode before = run.mode();
    const std::int64_t events = run.trajectory().statistics().events;
    acts->clear();
    goes_on = run.step();
    const std::int64_t more = run.trajectory().statistics().events - events;
    if (more == 1) learn_event(model, before, run, *acts);
    if (more > 0) enter(run.mode());
    if (events - forgotten < many) continue;
    run.forget_past();
    forgotten = events + more;
  }
  return run.status().ok();
}

std::vector<int> Atlas::departures_of(CompiledModel& member, const Mode& before, const Mode& after,
                                      const Event& event) const {
  const auto& guards = member.guards();
  std::vector<int> due;
  const double just_before = std::nextafter(event.t, -std::numeric_limits<double>::infinity());
  const double next = member.next_time_event(before, just_before, +1, due);
  if (std::abs(next - event.t) <= 4.0 * std::numeric_limits<double>::epsilon() * std::abs(event.t)) {
    std::vector<int> result;
    for (const int k : due) result.push_back(departure(k, member.side(before, k)));
    std::ranges::sort(result);
    return result;
  }
  if (event.kind == EventKind::slide_exit) {
    std::vector<int> left, exits;
    std::ranges::set_difference(before.sliding, after.sliding, std::back_inserter(left));
    if (left.size() != 1 || before.sliding.size() != after.sliding.size() + 1 || !before.contacts.empty()) return {};
    const auto place = std::ranges::find(before.sliding, left.front()) - before.sliding.begin();
    member.exit_guards(before, exits);
    // the solution goes to the side whose weight has become 1
    const int weight = exits[static_cast<std::size_t>(place)];
    return {departure(member.side(after, left.front()) > 0 ? weight + 1 : weight, +1)};
  }
  if (event.guards.empty()) return {};
  const auto has_name = [&](const GuardInfo& g) { return g.same_as < 0 && g.name == event.guards.front(); };
  if (std::ranges::count_if(guards, has_name) != 1) return {};
  const int guard = static_cast<int>(std::ranges::find_if(guards, has_name) - guards.begin());
  const int side = member.side(before, guard);
  return side == 0 ? std::vector<int>{} : std::vector{departure(guard, side)};
}

void Atlas::learn_event(CompiledModel& member, const Mode& before, const Simulator& after,
                        const std::vector<Act>& acts) {
  const Event& event = after.trajectory().events().back();
  switch (event.kind) {
    case EventKind::crossing:
    case EventKind::reset:
    case EventKind::transition:
    case EventKind::slide_enter:
    case EventKind::slide_exit:
    case EventKind::time:
      break;
    default:
      return;
  }
  std::vector<Act> rounds = committed(acts);
  std::erase_if(rounds, [](const Act& act) {  // truths have changed, and nothing has acted
    return act.round.given.empty() && act.x_before == act.x_after &&
           act.mode_before.discrete == act.mode_after.discrete;
  });
  AtlasEdge edge{.departures = departures_of(member, before, after.mode(), event)};
  const int from = find(before);
  if (from < 0 || edge.departures.empty() || !event.message.empty() || rounds.size() > 1) return;
  edge.example = {event.t, ModelAccess::values(member).parameters, {}, {}, before.discrete, after.mode().discrete};
  edge.example.x_before.resize(member.variables().size());
  edge.example.x_after.assign(after.x().begin(),
                              after.x().begin() + static_cast<std::ptrdiff_t>(member.variables().size()));
  for (std::size_t k = 0; k < places_.size(); ++k)
    if (places_[k] >= 0) edge.example.x_before[static_cast<std::size_t>(places_[k])] = event.before[k];
  if (!rounds.empty()) {
    if (rounds.front().round.followed) return;
    edge.given = samples_of(ModelAccess::logic(member), edge);
    edge.given.insert(edge.given.end(), rounds.front().round.given.begin(), rounds.front().round.given.end());
    edge.truths = rounds.front().round.seen[EventLogic::locks];
  }
  for (std::size_t k = 0; k < before.locks.size(); ++k)
    if (const double change = after.mode().locks[k] - before.locks[k];
        change != 0.0 && !std::ranges::binary_search(deciding_locks_, static_cast<int>(k)))
      edge.roundings.emplace_back(static_cast<int>(k), change);
  edge.target = enter(after.mode());
  auto& known = modes_[static_cast<std::size_t>(from)].edges;
  const auto same_values = [](const auto& a, const auto& b) { return a.giver == b.giver && a.action == b.action; };
  const auto same = [&](const AtlasEdge& e) {
    return e.departures == edge.departures && e.target == edge.target && e.roundings == edge.roundings &&
           e.truths == edge.truths && std::ranges::equal(e.given, edge.given, same_values);
  };
  if (std::ranges::none_of(known, same)) known.push_back(std::move(edge));
}

}  // namespace saltus
