// Events that accumulate: a ball that comes to rest bounces infinitely often in finite time.
#pragma once

#include <cstddef>
#include <vector>

namespace saltus {

class ZenoWatch {
 public:
  /// The guard caused an event at t.
  void note(int guard, double t);
  /// Whether the intervals between its last events have shrunk, each time.
  bool accumulates(int guard) const;

  // --- of a guard that was noted
  /// The last interval between two of them.
  double interval(int guard) const;
  /// The next one, if they go on to shrink as the last ones did.
  double next_interval(int guard) const;
  /// Where they accumulate if the intervals go on to shrink as the last ones did (Aitken's extrapolation).
  double limit(int guard) const;
  void forget(int guard) { records_[static_cast<std::size_t>(guard)] = {}; }

 private:
  struct Record {
    double t = 0.0, interval = 0.0, interval_before = 0.0;
    int hits = 0, shrunk = 0;
  };
  std::vector<Record> records_;  // by guard; those beyond the end have had no events
};

}  // namespace saltus
