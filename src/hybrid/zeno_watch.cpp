#include "hybrid/zeno_watch.hpp"

#include <cmath>

namespace saltus {

namespace {
constexpr int enough = 5;           // so many intervals in a row must have shrunk
constexpr double shrinks = 0.999;  // by this factor at least
}  // namespace

[[gnu::hot]] void ZenoWatch::note(int guard, double t) {
  const auto place = static_cast<std::size_t>(guard);
  if (place >= records_.size()) records_.resize(place + 1);
  Record& r = records_[place];
  const double interval = t - r.t;
  if (++r.hits > 2) r.shrunk = std::abs(interval) <= shrinks * std::abs(r.interval) ? r.shrunk + 1 : 0;
  r.interval_before = r.interval;
  r.interval = interval;
  r.t = t;
}

[[gnu::hot]] bool ZenoWatch::accumulates(int guard) const {
  const auto place = static_cast<std::size_t>(guard);
  return place < records_.size() && records_[place].shrunk >= enough;
}

double ZenoWatch::interval(int guard) const { return std::abs(records_[static_cast<std::size_t>(guard)].interval); }

double ZenoWatch::next_interval(int guard) const {
  const Record& r = records_[static_cast<std::size_t>(guard)];
  return r.interval * r.interval / std::abs(r.interval_before);
}

double ZenoWatch::limit(int guard) const {
  const Record& r = records_[static_cast<std::size_t>(guard)];
  return r.t + r.interval * r.interval / (r.interval_before - r.interval);
}

}  // namespace saltus
