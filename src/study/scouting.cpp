#include "study/scouting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "model/model_access.hpp"
#include "sens/watched_model.hpp"

namespace saltus {

namespace {

/// The guards with which an event began; none: it cannot be told.
std::vector<int> departures_of(CompiledModel& member, const Mode& before, const Mode& after, const Event& event) {
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

/// `places`: of each variable of the model, its place among those of the systems, or -1.
void scout_event(Atlas& atlas, CompiledModel& member, const std::vector<int>& places, const Mode& before,
                 const Simulator& after, const std::vector<Act>& acts) {
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
  if (!event.message.empty()) return;
  std::vector<double> x_before(member.variables().size());
  for (std::size_t k = 0; k < places.size(); ++k)
    if (places[k] >= 0) x_before[static_cast<std::size_t>(places[k])] = event.before[k];
  atlas.learn(member, {.t = event.t,
                       .before = before,
                       .after = after.mode(),
                       .departures = departures_of(member, before, after.mode(), event),
                       .x_before = x_before,
                       .x_after = after.x().first(x_before.size()),
                       .acts = acts});
}

}  // namespace

bool scout(Atlas& atlas, const CompiledModel& member, const SimulateOptions& options) {
  constexpr std::int64_t many = 256;  // events between two times of forgetting
  if (!atlas.possible()) return false;
  const auto acts = std::make_shared<std::vector<Act>>();
  CompiledModel model = member;
  SimulateOptions own = options;
  own.keep_steps = own.keep_event_values = true;
  Simulator run(std::make_shared<WatchedModel>(member, acts), own);
  if (!run.finished() || run.status().ok()) atlas.enter(run.mode());
  std::int64_t forgotten = 0;
  for (bool goes_on = !run.finished(); goes_on;) {
    const Mode before = run.mode();
    const std::int64_t events = run.trajectory().statistics().events;
    acts->clear();
    goes_on = run.step();
    const std::int64_t more = run.trajectory().statistics().events - events;
    if (more == 1) scout_event(atlas, model, ModelAccess::places(member), before, run, *acts);
    if (more > 0) atlas.enter(run.mode());
    if (events - forgotten < many) continue;
    run.forget_past();
    forgotten = events + more;
  }
  return run.status().ok();
}

}  // namespace saltus
