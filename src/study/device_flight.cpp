#include "study/device_flight.hpp"

#include <algorithm>
#include <limits>

namespace saltus {

namespace {

// The layout without the sizes of a study.
struct NoCode {
  static constexpr int n = 0, parameters = 0, discretes = 0, locks = 0, counted = 0, dense_values = 0;
};
using Fixed = flight::DeviceLayout<NoCode>;
constexpr auto place_of(Fixed::Number k) {
  return static_cast<std::size_t>(k);
}

}  // namespace

DeviceFlight::DeviceFlight(const FlightTask& task, std::int64_t members)
    : task_(task),
      count_(members),
      n_(task.code->tapes.front().n),
      parameters_(task.parameters),
      discretes_(task.code->modes.front().mode.discrete.size()),
      locks_(task.code->modes.front().mode.locks.size()),
      counters_(task.counters.size()) {
  const std::size_t each = place_of(Fixed::x) + 2 * n_ + parameters_ + discretes_ + locks_ + 2 * counters_ +
                           3 * task.dense.size() + 3 * (n_ + 1);
  numbers_.assign(each * count(), 0.0);
  integers_.assign(static_cast<std::size_t>(Fixed::Integer::integers) * count(), 0);
  samples_.assign(static_cast<std::size_t>(task.keep) * task.kept.size() * count(),
                  std::numeric_limits<double>::quiet_NaN());
  finals_.assign(task.kept.size() * count(), 0.0);
  std::fill_n(integers_.begin() + static_cast<std::ptrdiff_t>(Fixed::Integer::state) * count_, count_,
              static_cast<long long>(flight::parked));
}

void DeviceFlight::put(std::int64_t place, const FlightMember& m) {
  const HostCode::State& run = m.run;
  const flight::Motion& motion = run.motion;
  number(place_of(Fixed::t), place) = run.t;
  number(place_of(Fixed::stop), place) = run.stop;
  number(place_of(Fixed::period), place) = m.period;
  number(place_of(Fixed::start), place) = m.start;
  number(place_of(Fixed::window), place) = m.window;
  number(place_of(Fixed::h), place) = motion.h;
  number(place_of(Fixed::last_error), place) = motion.last_error;
  number(place_of(Fixed::next_clock), place) = motion.next_clock;
  std::size_t k = place_of(Fixed::x);
  for (const auto* values : {&run.x_, &run.slope_, &run.numbers.parameters, &run.numbers.discretes, &run.numbers.locks,
                             &m.counts, &m.firsts})
    for (const double v : *values) number(k++, place) = v;
  for (const flight::WindowSums& window : m.windows)
    for (const double v : {window.low, window.high, window.integral}) number(k++, place) = v;
  const auto set = [&](Fixed::Integer which, long long value) {
    integers_[static_cast<std::size_t>(which) * count() + static_cast<std::size_t>(place)] = value;
  };
  set(Fixed::state, flight::flying);
  set(Fixed::mode, run.mode);
  set(Fixed::events, run.events);
  set(Fixed::left, motion.left);
  set(Fixed::cause, motion.cause);
  set(Fixed::due, run.due);
}

flight::DeviceState DeviceFlight::state(std::int64_t place) const {
  return static_cast<flight::DeviceState>(
      integers_[static_cast<std::size_t>(Fixed::state) * count() + static_cast<std::size_t>(place)]);
}

void DeviceFlight::take(std::int64_t place, FlightMember& m) const {
  const auto integer = [&](Fixed::Integer which) {
    return integers_[static_cast<std::size_t>(which) * count() + static_cast<std::size_t>(place)];
  };
  m.run.t = number(place_of(Fixed::t), place);
  m.window = number(place_of(Fixed::window), place);
  m.run.steps = integer(Fixed::steps);
  m.run.events = integer(Fixed::events);
  m.seen = integer(Fixed::seen);
  m.counts.clear();
  m.firsts.clear();
  const std::size_t counts = place_of(Fixed::x) + 2 * n_ + parameters_ + discretes_ + locks_;
  for (std::size_t k = 0; k < counters_; ++k) {
    m.counts.push_back(number(counts + k, place));
    m.firsts.push_back(number(counts + counters_ + k, place));
  }
  m.windows.clear();
  for (std::size_t d = 0, at = counts + 2 * counters_; d < task_.dense.size(); ++d, at += 3)
    m.windows.push_back({number(at, place), number(at + 1, place), number(at + 2, place)});
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, m.seen - task_.transient));
  m.samples.clear();
  for (std::size_t k = 0; k < std::min(kept, static_cast<std::size_t>(task_.keep)) * task_.kept.size(); ++k)
    m.samples.push_back(samples_[k * count() + static_cast<std::size_t>(place)]);
  m.final_values.clear();
  for (std::size_t k = 0; k < task_.kept.size(); ++k)
    m.final_values.push_back(finals_[k * count() + static_cast<std::size_t>(place)]);
  m.missed = flight::Miss::none;
}

}  // namespace saltus
