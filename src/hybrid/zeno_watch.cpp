#include "hybrid/zeno_watch.hpp"

#include <cmath>

#include "event/sequence_limit.hpp"

namespace saltus {

void ZenoWatch::make_room(int guard) {
  records_.resize(static_cast<std::size_t>(guard) + 1);
}

double ZenoWatch::interval(int guard) const {
  return std::abs(records_[static_cast<std::size_t>(guard)].interval);
}

double ZenoWatch::next_interval(int guard) const {
  const Record& r = records_[static_cast<std::size_t>(guard)];
  return r.interval * r.interval / std::abs(r.interval_before);
}

double ZenoWatch::limit(int guard) const {
  const Record& r = records_[static_cast<std::size_t>(guard)];
  return limit_of_sequence(r.t, r.interval, r.interval_before, r.interval_before).value;
}

}  // namespace saltus
