#include "study/lane_crew.hpp"

#include <algorithm>
#include <atomic>

#include "study/lane_flight.hpp"
#include "study/work_in_threads.hpp"

namespace saltus {

void BlockTask::keep(std::int64_t index, const MemberOutcome& outcome, std::vector<MemberFailure>& failures) const {
  for (std::size_t a = 0; a < result.columns.size(); ++a)
    std::ranges::copy(outcome.columns[a],
                      result.columns[a].begin() + (index - block.first) * study.arrays()[a].numbers());
  const bool ok = member_ok(outcome.status);
  if (!ok) failures.push_back({index, outcome.status, outcome.t, outcome.message});
  monitor.add(1, ok ? 0 : 1);
}

bool run_in_lanes(const BlockTask& task, int threads, const std::function<std::int64_t()>& next) {
  std::atomic<bool> complete = true;
  const auto count = static_cast<int>(std::min<std::int64_t>(threads, task.block.count));
  work_in_threads(count, task.result, task.monitor, [&](std::vector<MemberFailure>& failures) {
    const std::atomic<bool>& stop = task.monitor.stop();
    const auto simulate = [&](std::int64_t index) {
      const MemberOutcome outcome = StudyAccess::run(task.study, index, stop);
      if (!outcome.stopped) task.keep(index, outcome, failures);
    };
    LaneFlight flight(
        task.flight.task(),
        [&](FlightMember& member) {
          for (std::int64_t index = next(); index >= 0; index = next()) {
            if (stop) return false;
            if (task.flight.begin(index, member)) return true;
            simulate(index);
          }
          return false;
        },
        [&](FlightMember& member) {
          if (member.missed == flight::Miss::none)
            task.keep(member.index, task.flight.outcome(member), failures);
          else
            simulate(member.index);
        });
    if (!flight.run([&] { return stop.load(); }) || stop) complete = false;
  });
  return complete;
}

}  // namespace saltus
