#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace saltus {

namespace {

/// Threads take units of the block one by one. Each unit has its own place in the result, so that neither the number of
/// threads nor their order shows in it.
class ThreadExecutor final : public StudyExecutor {
 public:
  explicit ThreadExecutor(int threads)
      : threads_(threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

  bool run(const Study& study, const StudyBlock& block, BlockResult& result, StudyMonitor& monitor) override {
    const std::int64_t size = study.unit_size(), first = block.first / size, last = first + block.count / size;
    std::atomic<std::int64_t> next = first;
    std::atomic<bool> complete = true;
    std::mutex mutex;
    std::condition_variable changed;
    int working = static_cast<int>(std::min<std::int64_t>(threads_, last - first));
    std::exception_ptr problem;

    const auto work = [&] {
      std::vector<MemberFailure> own;
      try {
        for (std::int64_t unit = next++; unit < last; unit = next++) {
          auto failed = study.run_unit(unit, block.first, result.columns, monitor.stop());
          if (!failed) {
            complete = false;
            break;
          }
          monitor.add(size, static_cast<std::int64_t>(failed->size()));
          own.insert(own.end(), std::make_move_iterator(failed->begin()), std::make_move_iterator(failed->end()));
        }
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
};

}  // namespace

std::unique_ptr<StudyExecutor> make_thread_executor(int threads) {
  return std::make_unique<ThreadExecutor>(threads);
}

}  // namespace saltus
