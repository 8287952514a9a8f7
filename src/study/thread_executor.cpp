#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>

#include "study/work_in_threads.hpp"

namespace saltus {

namespace {

/// Threads take units of the block one by one. Each unit has its own place in the result, so that neither the number of
/// threads nor their order shows in it.
class ThreadExecutor final : public StudyExecutor {
 public:
  explicit ThreadExecutor(int threads) : threads_(number_of_threads(threads)) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    const std::int64_t size = study.unit_size(), first = block.first / size, last = first + block.count / size;
    std::atomic<std::int64_t> next = first;
    std::atomic<bool> complete = true;
    const auto threads = static_cast<int>(std::min<std::int64_t>(threads_, last - first));
    work_in_threads(threads, result, monitor, [&](std::vector<MemberFailure>& failures) {
      for (std::int64_t unit = next++; unit < last; unit = next++) {
        auto failed = study.run_unit(unit, block.first, result.columns, monitor.stop());
        if (!failed) {
          complete = false;
          break;
        }
        monitor.add(size, static_cast<std::int64_t>(failed->size()));
        failures.insert(failures.end(), std::make_move_iterator(failed->begin()),
                        std::make_move_iterator(failed->end()));
      }
    });
    return complete;
  }

 private:
  int threads_;
};

}  // namespace

std::unique_ptr<StudyExecutor> make_thread_executor(int threads) {
  return std::make_unique<ThreadExecutor>(threads);
}

}  // namespace saltus
