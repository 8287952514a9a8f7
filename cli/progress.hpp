// What long commands share: a line that shows how far they are, and a clean end by Ctrl-C.
#pragma once

#include <saltus/hybrid/simulator.hpp>

#include <chrono>
#include <ostream>
#include <string>

namespace saltus::cli {

/// Turns Ctrl-C into a request to end the run while it lives; a second one kills as usual.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  /// Whether Ctrl-C was pressed since the guard was made.
  static bool interrupted();

 private:
  void (*previous_)(int);
};

/// The line for a run of which so many seconds have passed: "[####    ]  50 %  t = 5  1000 steps  3 events  12 s left".
std::string progress_line(const Progress& progress, double seconds);

/// A line on the terminal that shows how far a long run is. Appears after some time only, and not at all unless
/// enabled.
class ProgressBar {
 public:
  ProgressBar(std::ostream& err, bool enabled) : err_(err), enabled_(enabled) {}
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Returns false once Ctrl-C was pressed.
  bool operator()(const Progress& progress);
  void clear();

 private:
  std::ostream& err_;
  bool enabled_;
  std::size_t width_ = 0;  // of what is on the screen
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), shown_ = began_;
};

}  // namespace saltus::cli
