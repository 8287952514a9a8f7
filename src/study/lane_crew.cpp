#include "study/lane_crew.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace saltus {

void BlockTask::keep(std::int64_t index, const MemberOutcome& outcome, std::vector<MemberFailure>& failures) const {
  for (std::size_t a = 0; a < result.columns.size(); ++a)
    std::ranges::copy(outcome.columns[a],
                      result.columns[a].begin() + (index - block.first) * study.arrays()[a].numbers());
  const bool ok = member_ok(outcome.status);
  if (!ok) failures.push_back({index, outcome.status, outcome.t, outcome.message});
  monitor.add(1, ok ? 0 : 1);
}

void work_in_threads(const BlockTask& task, int threads, const std::function<void(std::vector<MemberFailure>&)>& work) {
  std::mutex mutex;
  std::condition_variable changed;
  int working = std::max(1, threads);
  std::exception_ptr problem;
  const auto one = [&] {
    std::vector<MemberFailure> own;
    try {
      work(own);
    } catch (...) {
      const std::lock_guard lock(mutex);
      problem = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    task.result.failures.insert(task.result.failures.end(), std::make_move_iterator(own.begin()),
                                std::make_move_iterator(own.end()));
    --working;
    changed.notify_one();
  };
  std::vector<std::jthread> all;
  for (int k = working; k > 0; --k) all.emplace_back(one);
  {
    std::unique_lock lock(mutex);
    while (working > 0) {
      changed.wait_for(lock, std::chrono::milliseconds(100));
      lock.unlock();
      task.monitor.report();
      lock.lock();
    }
  }
  all.clear();
  if (problem) std::rethrow_exception(problem);
  std::ranges::sort(task.result.failures, {}, &MemberFailure::index);
}

bool run_in_lanes(const BlockTask& task, int threads, const std::function<std::int64_t()>& next) {
  std::atomic<bool> complete = true;
  const auto count = static_cast<int>(std::min<std::int64_t>(threads, task.block.count));
  work_in_threads(task, count, [&](std::vector<MemberFailure>& failures) {
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
          if (member.parked == Parking::none)
            task.keep(member.index, task.flight.outcome(member), failures);
          else
            simulate(member.index);
        });
    if (!flight.run([&] { return stop.load(); }) || stop) complete = false;
  });
  return complete;
}

}  // namespace saltus
