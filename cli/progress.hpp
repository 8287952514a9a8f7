// What long commands share: a line that shows how far they are, and a clean end by Ctrl-C.
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/sens/search_progress.hpp>

#include <chrono>
#include <functional>
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

/// The line for a search of many runs: "[####    ]  50 %  r = 1.2, 17 points  t = 5  12 s left", or, where the share is
/// an upper bound, "iteration 3 of at most 30  t = 5  at most 12 s left". The search proper began after `begun`
/// seconds.
std::string search_line(const SearchProgress& search, double begun, const Progress& run, double seconds);

/// A line on the terminal that is written over again and again. Appears after some time only, and not at all unless
/// enabled.
class TerminalLine {
 public:
  TerminalLine(std::ostream& err, bool enabled) : err_(err), enabled_(enabled) {}
  ~TerminalLine() { clear(); }
  TerminalLine(const TerminalLine&) = delete;
  TerminalLine& operator=(const TerminalLine&) = delete;

  /// Shows the text, which is made from the seconds so far, if the last one was shown long enough.
  void show(const std::function<std::string(double seconds)>& text);
  void clear();

 private:
  std::ostream& err_;
  bool enabled_;
  std::size_t width_ = 0;  // of what is on the screen
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), shown_ = began_;
};

/// Shows how far a long run is.
class ProgressBar {
 public:
  ProgressBar(std::ostream& err, bool enabled) : line_(err, enabled) {}

  /// Returns false once Ctrl-C was pressed.
  bool operator()(const Progress& progress);
  void clear() { line_.clear(); }

 private:
  TerminalLine line_;
};

/// Shows how far a search of many runs is, and how much time is left.
class SearchBar {
 public:
  SearchBar(std::ostream& err, bool enabled) : line_(err, enabled) {}

  /// What the search reports between its runs.
  void operator()(const SearchProgress& search);
  /// What a run of the search reports. Returns true: Ctrl-C ends the program.
  bool operator()(const Progress& run);

 private:
  TerminalLine line_;
  SearchProgress search_;
  double begun_ = 0.0;  // seconds until the last report of a share of zero
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace saltus::cli
