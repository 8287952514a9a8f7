// Events that accumulate: a ball that comes to rest bounces infinitely often in finite time.
#pragma once

#include <saltus/base/state_archive.hpp>

#include <cmath>
#include <cstddef>
#include <vector>

#include "event/resolution.hpp"

namespace saltus {

class ZenoWatch {
 public:
  /// The guard caused an event at t.
  void note(int guard, double t) {
    const auto place = static_cast<std::size_t>(guard);
    if (place >= records_.size()) make_room(guard);
    Record& r = records_[place];
    const double interval = t - r.t;
    if (++r.hits > 2)
      r.shrunk = std::abs(interval) <= flight::Resolution::largest_ratio * std::abs(r.interval) ? r.shrunk + 1 : 0;
    r.interval_before = r.interval;
    r.interval = interval;
    r.t = t;
  }
  /// Whether the intervals between its last events have shrunk, each time.
  bool accumulates(int guard) const {
    constexpr int enough = 5;  // so many in a row
    const auto place = static_cast<std::size_t>(guard);
    return place < records_.size() && records_[place].shrunk >= enough;
  }

  // --- of a guard that was noted
  /// The last interval between two of them.
  double interval(int guard) const;
  /// The next one, if they go on to shrink as the last ones did.
  double next_interval(int guard) const;
  /// Where they accumulate if the intervals go on to shrink as the last ones did (Aitken's extrapolation).
  double limit(int guard) const;
  void persist(StateArchive& archive) { archive(records_); }
  void forget(int guard) { records_[static_cast<std::size_t>(guard)] = {}; }

 private:
  [[gnu::noinline]] void make_room(int guard);

  struct Record {
    double t = 0.0, interval = 0.0, interval_before = 0.0;
    int hits = 0, shrunk = 0;

    void persist(StateArchive& archive) { archive(t, interval, interval_before, hits, shrunk); }
  };
  std::vector<Record> records_;  // by guard; those beyond the end have had no events
};

}  // namespace saltus
