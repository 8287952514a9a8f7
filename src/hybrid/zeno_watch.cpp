#include "hybrid/zeno_watch.hpp"

#include <cmath>

namespace saltus {

namespace {
constexpr int enough = 5;           // so many intervals in a row must have shrunk
constexpr double shrinks = 0.999;  // by this factor at least
}  // namespace

void ZenoWatch::note(int guard, double t) {
  Record& r = records_[guard];
  const double interval = t - r.t;
  if (++r.hits > 2) r.shrunk = std::abs(interval) <= shrinks * std::abs(r.interval) ? r.shrunk + 1 : 0;
  r.interval_before = r.interval;
  r.interval = interval;
  r.t = t;
}

bool ZenoWatch::accumulates(int guard) const {
  const auto it = records_.find(guard);
  return it != records_.end() && it->second.shrunk >= enough;
}

double ZenoWatch::interval(int guard) const {
  const auto it = records_.find(guard);
  return it == records_.end() ? INFINITY : std::abs(it->second.interval);
}

double ZenoWatch::limit(int guard) const {
  const auto it = records_.find(guard);
  if (it == records_.end()) return NAN;
  const Record& r = it->second;
  return r.t + r.interval * r.interval / (r.interval_before - r.interval);
}

}  // namespace saltus
