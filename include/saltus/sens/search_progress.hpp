// What a search of many runs (fit, find_cycle, follow_cycle) reports while it goes on.
#pragma once

#include <functional>
#include <string>

namespace saltus {

/// How far a search is. Its runs report their own progress (SimulateOptions::progress).
struct SearchProgress {
  std::string doing;         ///< in words: "run 17 of at most 200"
  double share = 0.0;        ///< of the work that is done, from 0 to 1
  bool upper_bound = false;  ///< the share is that of the most work the search may take, and it may end much earlier
};

/// Called between the runs of a search, and before the first of them; empty: not called.
using SearchObserver = std::function<void(const SearchProgress&)>;

}  // namespace saltus
