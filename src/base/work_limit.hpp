// Limits of searches: how much work they may take, and until when.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace saltus {

class WorkLimit;

/// Thrown where a limit is passed, and caught where it was set.
struct WorkStopped {
  const WorkLimit* limit;
};

/// A limit for what this thread does while the object lives. Limits inside of limits all count.
class WorkLimit {
 public:
  /// Trials may take so many operations together; the one that passes this number is the last.
  explicit WorkLimit(double operations) : most_(operations) {}
  /// Until so many seconds have passed, or `stop` is true.
  WorkLimit(double seconds, const std::atomic<bool>& stop) : stop_(&stop) {
    if (std::isfinite(seconds) && seconds < 1e9)
      deadline_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    else
      deadline_ = Clock::time_point::max();
  }
  ~WorkLimit() { innermost_ = outer_; }
  WorkLimit(const WorkLimit&) = delete;
  WorkLimit& operator=(const WorkLimit&) = delete;

  std::int64_t trials() const { return trials_; }

  /// A trial of a search begins, with so many operations. What `look` is told from here on counts, too. Throws
  /// WorkStopped.
  static void begin_trial(double operations) {
    for (WorkLimit* limit = innermost_; limit; limit = limit->outer_) {
      if (limit->spent_ > limit->most_) throw WorkStopped{limit};
      ++limit->trials_;
    }
    look(operations);
  }
  /// So many operations are about to be made, in a search or not. Throws WorkStopped if they are not wanted any more.
  static void look(double operations) {
    for (WorkLimit* limit = innermost_; limit; limit = limit->outer_) {
      limit->unseen_ += operations;
      if (limit->trials_ > 0) limit->spent_ += operations;
      if (limit->stop_) limit->look_if_due(0.0);
    }
  }

  /// The same for an evaluation of equations, which counts as no work of a search.
  static void look_at_clock(double operations) {
    for (WorkLimit* limit = innermost_; limit; limit = limit->outer_)
      if (limit->stop_) limit->look_if_due(operations);
  }

 private:
  using Clock = std::chrono::steady_clock;
  void look_if_due(double operations) {
    constexpr double between_looks = 1e5;  // at the clock
    unseen_ += operations;
    if (unseen_ < between_looks) return;
    unseen_ = 0.0;
    if (*stop_ || Clock::now() > deadline_) throw WorkStopped{this};
  }

  inline static thread_local WorkLimit* innermost_ = nullptr;

  WorkLimit* outer_ = std::exchange(innermost_, this);
  double most_ = std::numeric_limits<double>::infinity(), spent_ = 0.0, unseen_ = 0.0;
  std::int64_t trials_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
  Clock::time_point deadline_ = Clock::now();
};

}  // namespace saltus
