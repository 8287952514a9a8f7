#include "study/device_flight.hpp"

#include <algorithm>
#include <limits>

namespace saltus {

namespace {

// The layout without the sizes of a study.
struct NoCode {
  static constexpr int n = 0, parameters = 0, discretes = 0, locks = 0, counters = 0, dense = 0;
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
  const std::size_t each =
      place_of(Fixed::x) + 2 * n_ + parameters_ + discretes_ + locks_ + 2 * counters_ + 3 * task.dense.size();
  numbers_.assign(each * count(), 0.0);
  integers_.assign(static_cast<std::size_t>(Fixed::Integer::integers) * count(), 0);
  samples_.assign(static_cast<std::size_t>(task.keep) * task.kept.size() * count(),
                  std::numeric_limits<double>::quiet_NaN());
  finals_.assign(task.kept.size() * count(), 0.0);
  std::fill_n(integers_.begin() + static_cast<std::ptrdiff_t>(Fixed::Integer::state) * count_, count_,
              static_cast<long long>(flight::parked));
}

bool DeviceFlight::take_off(std::int64_t place, const FlightMember& m, ModeEntry& entry) {
  const FlightMode& mode = task_.code->modes[m.mode];
  const FlightTape& tape = task_.code->tapes[mode.tape];
  if (!entry.look(mode, m.numbers, m.t, 1e-3 * (m.stop - m.t), m.x.data(), all_guards(tape))) return false;
  number(place_of(Fixed::t), place) = m.t;
  number(place_of(Fixed::stop), place) = m.stop;
  number(place_of(Fixed::period), place) = m.period;
  number(place_of(Fixed::start), place) = m.start;
  number(place_of(Fixed::window), place) = m.window;
  const flight::Motion motion;
  number(place_of(Fixed::h), place) =
      flight::first_step(static_cast<int>(n_), 1, m.x.data(), entry.slopes().data(), task_.atol.data(), task_.rtol,
                         std::min(m.stop - m.t, task_.max_step));
  number(place_of(Fixed::last_error), place) = motion.last_error;
  number(place_of(Fixed::next_clock), place) = entry.next_clock();
  number(place_of(Fixed::last_event), place) = motion.last_event;
  number(place_of(Fixed::last_interval), place) = motion.last_interval;
  std::size_t k = place_of(Fixed::x);
  const auto put = [&](std::span<const double> values) {
    for (const double v : values) number(k++, place) = v;
  };
  put(m.x);
  put(entry.slopes());
  put(m.numbers.parameters);
  put(m.numbers.discretes);
  put(m.numbers.locks);
  put(std::vector<double>(counters_, 0.0));
  put(std::vector<double>(counters_, std::numeric_limits<double>::quiet_NaN()));
  for (std::size_t d = 0; d < task_.dense.size(); ++d)
    put(std::vector<double>{Windows::nothing.low, Windows::nothing.high, Windows::nothing.integral});
  const auto set = [&](Fixed::Integer which, long long value) {
    integers_[static_cast<std::size_t>(which) * count() + static_cast<std::size_t>(place)] = value;
  };
  long long due = 0;
  for (std::size_t c = 0; c < entry.due().size(); ++c)
    if (entry.due()[c]) due |= 1LL << c;
  set(Fixed::state, flight::flying);
  set(Fixed::mode, static_cast<long long>(m.mode));
  set(Fixed::events, m.events);
  set(Fixed::left, entry.left());
  set(Fixed::due, due);
  return true;
}

flight::DeviceState DeviceFlight::state(std::int64_t place) const {
  return static_cast<flight::DeviceState>(
      integers_[static_cast<std::size_t>(Fixed::state) * count() + static_cast<std::size_t>(place)]);
}

void DeviceFlight::land(std::int64_t place, FlightMember& m) const {
  const auto integer = [&](Fixed::Integer which) {
    return integers_[static_cast<std::size_t>(which) * count() + static_cast<std::size_t>(place)];
  };
  m.t = number(place_of(Fixed::t), place);
  m.window = number(place_of(Fixed::window), place);
  m.steps = integer(Fixed::steps);
  m.events = integer(Fixed::events);
  m.seen = integer(Fixed::seen);
  m.counts.clear();
  m.firsts.clear();
  const std::size_t counts = place_of(Fixed::x) + 2 * n_ + parameters_ + discretes_ + locks_;
  for (std::size_t k = 0; k < counters_; ++k) {
    m.counts.push_back(number(counts + k, place));
    m.firsts.push_back(number(counts + counters_ + k, place));
  }
  std::vector<Windows::Window> windows;
  for (std::size_t d = 0, at = counts + 2 * counters_; d < task_.dense.size(); ++d, at += 3)
    windows.push_back({number(at, place), number(at + 1, place), number(at + 2, place)});
  m.windows = Windows(std::move(windows));
  const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, m.seen - task_.transient));
  m.samples.clear();
  for (std::size_t k = 0; k < std::min(kept, static_cast<std::size_t>(task_.keep)) * task_.kept.size(); ++k)
    m.samples.push_back(samples_[k * count() + static_cast<std::size_t>(place)]);
  m.final_values.clear();
  for (std::size_t k = 0; k < task_.kept.size(); ++k)
    m.final_values.push_back(finals_[k * count() + static_cast<std::size_t>(place)]);
  m.parked = Parking::none;
}

}  // namespace saltus
