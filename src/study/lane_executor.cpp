#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <atomic>
#include <memory>

#include "study/lane_crew.hpp"
#include "study/work_in_threads.hpp"

namespace saltus {

namespace {

/// Where members cannot fly at all, threads run them by Simulators.
class LaneExecutor final : public StudyExecutor {
 public:
  explicit LaneExecutor(int threads)
      : threads_(number_of_threads(threads)), simulators_(make_thread_executor(threads)) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    if (flown_ != &study) {
      flight_ = std::make_unique<StudyFlight>(study);
      flown_ = &study;
    }
    if (!flight_->possible()) return simulators_->run(study, block, result, monitor);
    std::atomic<std::int64_t> next = block.first;
    return run_in_lanes({study, *flight_, block, result, monitor}, threads_, [&] {
      const std::int64_t index = next++;
      return index < block.first + block.count ? index : -1;
    });
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
  return flight.why();
}

std::unique_ptr<StudyExecutor> make_lane_executor(int threads) {
  return std::make_unique<LaneExecutor>(threads);
}

}  // namespace saltus
