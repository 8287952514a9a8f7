#include "study/work_in_threads.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>

namespace saltus {

void work_in_threads(int threads, BlockResult& result, StudyMonitor& monitor,
                     const std::function<void(std::vector<MemberFailure>&)>& work) {
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
    result.failures.insert(result.failures.end(), std::make_move_iterator(own.begin()),
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
      monitor.report();
      lock.lock();
    }
  }
  all.clear();
  if (problem) std::rethrow_exception(problem);
  std::ranges::sort(result.failures, {}, &MemberFailure::index);
}

int number_of_threads(int wanted) {
  return wanted > 0 ? wanted : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace saltus
