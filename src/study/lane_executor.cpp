#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "study/study_flight.hpp"

namespace saltus {

namespace {

/// Threads take members of the block one by one, and fly many of them at a time. Members that cannot fly are run by
/// Simulators. Each has its own place in the result.
class LaneExecutor final : public StudyExecutor {
 public:
  explicit LaneExecutor(int threads)
      : threads_(threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))),
        simulators_(make_thread_executor(threads)) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    if (flown_ != &study) {
      flight_ = std::make_unique<StudyFlight>(study);
      flown_ = &study;
    }
    if (!flight_->possible()) return simulators_->run(study, block, result, monitor);
    std::atomic<std::int64_t> next = block.first;
    std::atomic<bool> complete = true;
    std::mutex mutex;
    std::condition_variable changed;
    int working = static_cast<int>(std::min<std::int64_t>(threads_, block.count));
    std::exception_ptr problem;

    const auto work = [&] {
      std::vector<MemberFailure> own;
      try {
        const auto keep = [&](std::int64_t index, const MemberOutcome& outcome) {
          for (std::size_t a = 0; a < result.columns.size(); ++a)
            std::ranges::copy(outcome.columns[a],
                              result.columns[a].begin() + (index - block.first) * study.arrays()[a].numbers());
          const bool ok = member_ok(outcome.status);
          if (!ok) own.push_back({index, outcome.status, outcome.t, outcome.message});
          monitor.add(1, ok ? 0 : 1);
        };
        const auto simulate = [&](std::int64_t index) {
          const MemberOutcome outcome = StudyAccess::run(study, index, monitor.stop());
          if (!outcome.stopped) keep(index, outcome);
        };
        LaneFlight flight(
            flight_->task(),
            [&](FlightMember& member) {
              for (std::int64_t index = next++; index < block.first + block.count; index = next++) {
                if (monitor.stop()) return false;
                if (flight_->begin(index, member)) return true;
                simulate(index);
              }
              return false;
            },
            [&](FlightMember& member) {
              if (member.parked == Parking::none)
                keep(member.index, flight_->outcome(member));
              else
                simulate(member.index);
            });
        if (!flight.run([&] { return monitor.stop().load(); })) complete = false;
        if (monitor.stop()) complete = false;
      } catch (...) {
        complete = false;
        const std::lock_guard lock(mutex);
        problem = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      result.failures.insert(result.failures.end(), std::make_move_iterator(own.begin()),
                             std::make_move_iterator(own.end()));
      --working;
      changed.notify_one();
    };

    std::vector<std::jthread> threads;
    for (int k = working; k > 0; --k) threads.emplace_back(work);
    {
      std::unique_lock lock(mutex);
      while (working > 0) {
        changed.wait_for(lock, std::chrono::milliseconds(100));
        lock.unlock();
        monitor.report();
        lock.lock();
      }
    }
    threads.clear();
    if (problem) std::rethrow_exception(problem);
    std::ranges::sort(result.failures, {}, &MemberFailure::index);
    return complete;
  }

 private:
  int threads_;
  std::unique_ptr<StudyExecutor> simulators_;
  const Study* flown_ = nullptr;
  std::unique_ptr<StudyFlight> flight_;
};

}  // namespace

std::vector<std::string> obstacles_to_lanes(const Study& study) {
  const StudyFlight flight(study);
  return flight.possible() ? std::vector<std::string>{} : flight.why();
}

std::unique_ptr<StudyExecutor> make_lane_executor(int threads) {
  return std::make_unique<LaneExecutor>(threads);
}

}  // namespace saltus
