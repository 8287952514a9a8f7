#include "study/scouting.hpp"

#include <algorithm>
#include <memory>

#include "hybrid/run_access.hpp"
#include "model/model_access.hpp"
#include "sens/watched_model.hpp"

namespace saltus {

namespace {

/// The guards with which an event began, and their sides: one guard, or clocks; none: it is not of that kind.
std::vector<int> departures_of(const CompiledModel& member, const Mode& before, std::span<const int> causes) {
  const auto& guards = member.guards();
  std::vector<int> result;
  std::size_t clocks = 0;
  for (const int k : causes) {
    const bool of_family = k < static_cast<int>(guards.size());
    clocks += of_family && guards[static_cast<std::size_t>(k)].time_only;
    result.push_back(departure(k, of_family ? member.side(before, k) : +1));
  }
  std::ranges::sort(result);
  return clocks == result.size() || (clocks == 0 && result.size() == 1) ? result : std::vector<int>{};
}

/// `places`: of each variable of the model, its place among those of the systems, or -1.
void scout_event(Atlas& atlas, CompiledModel& member, const std::vector<int>& places, const Mode& before,
                 const Simulator& after, const std::vector<Act>& acts) {
  const Event& event = after.trajectory().events().back();
  const EventLog& log = RunAccess::events(after.trajectory());
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
                       .departures = departures_of(member, before, log.stored(log.size() - 1).causes),
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
