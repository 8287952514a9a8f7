// One member of a study on a device, from its start to its end, as a thread runs it. The text is compiled at run time,
// behind the tables and functions of a study (Code, see device_source.cpp); a test compiles it for processors.
//
// The loop is the executor's (flight/executor.hpp), so results have the bits of lanes. What it misses, lanes run again.
#pragma once

#include "flight/executor.hpp"
#include "study/member_sink.hpp"

namespace saltus::flight {

/// Members side by side: number k of member i stands at k*count + i.
struct DeviceArrays {
  long long count;
  long long attempts;   ///< steps that a member tries before the kernel ends
  long long max_steps;  ///< of a member
  double* numbers;
  long long* integers;
  double* samples;
  double* finals;
};

enum DeviceState : int { flying, landed, parked };

/// What the executor works on, in arrays of fixed sizes. Sizes has the numbers of a study as constants.
template <class Sizes>
struct FixedRooms {
  struct Numbers {
    double x_[Sizes::n], slope_[Sizes::n], parameters_[Sizes::parameters + 1], discretes_[Sizes::discretes + 1],
        locks_[Sizes::locks + 1], data_[Sizes::most_data + 1];
    Arrivals arrivals_[Sizes::n + 1];

    double* x() { return x_; }
    double* slope() { return slope_; }
    double* data() { return data_; }
    Arrivals* arrivals() { return arrivals_; }
    double* parameters() { return parameters_; }
    double* discretes() { return discretes_; }
    double* locks() { return locks_; }
    const double* x() const { return x_; }
    const double* slope() const { return slope_; }
    const double* data() const { return data_; }
    const double* parameters() const { return parameters_; }
    const double* discretes() const { return discretes_; }
    const double* locks() const { return locks_; }
  };
  struct Point {
    template <class Code>
    Point(Code&, int) {}
    double x[Sizes::n], slope[Sizes::n], guards[Sizes::most_guards], guard_slopes[Sizes::most_guards],
        guard_curves[Sizes::most_guards], clocks[Sizes::most_clocks], clock_slopes[Sizes::most_clocks],
        discretes[Sizes::discretes + 1], locks[Sizes::locks + 1], data[Sizes::most_data + 1];
    unsigned char due[Sizes::most_clocks];
  };
  struct SearchRoom {
    template <class Code>
    explicit SearchRoom(Code&) {}
    double in[2 + 6 * Sizes::n], out[4 * Sizes::most_bounds], x[Sizes::n], values[Sizes::most_guards];
  };
  /// Of a sink.
  struct Room {
    template <class Code>
    explicit Room(Code&) {}
    double x[Sizes::n], values[Sizes::kept_values + 1], times[Sizes::window_nodes],
        window_values[Sizes::window_nodes * Sizes::dense_values + 1], at[Sizes::dense_values + 1];
  };
};

/// Where the numbers of a member begin.
template <class Sizes>
struct DeviceLayout {
  enum Number : int { t, stop, period, start, window, h, last_error, next_clock, x };
  static constexpr int slope = x + Sizes::n, parameters = slope + Sizes::n, discretes = parameters + Sizes::parameters,
                       locks = discretes + Sizes::discretes, counts = locks + Sizes::locks,
                       firsts = counts + Sizes::counted, windows = firsts + Sizes::counted,
                       arrivals = windows + 3 * Sizes::dense_values, numbers = arrivals + 3 * (Sizes::n + 1);
  enum Integer : int {
    state,
    mode,
    steps,
    events,
    seen,
    left,
    rejections,
    stiff_hits,
    stiff_misses,
    tests,
    cause,
    arrived,
    others,
    due,
    integers
  };
};

template <class Code>
class DeviceMember {
  using Layout = DeviceLayout<Code>;

 public:
  DeviceMember(const DeviceArrays& arrays, long long member) : a(arrays), i(member) { load(); }

  void run() {
    Executor<Code> executor(code);
    MemberSink<Code, DeviceMember> sink(code, *this);
    for (long long attempt = 0; state == flying && attempt < a.attempts; ++attempt) {
      const End end = executor.plan(r, r.stop);
      typename Code::Step step;
      Code::step(Code::mode_tape(r.mode), r.t, end.h, end.t, r.x(), r.slope(), r.data(), step);
      const StepView s{1,           step.error, step.finite, step.x,         step.slopes, step.dense,
                       step.guards, step.lower, step.upper,  step.bernstein, step.scale};
      const Judgement j = executor.advance(r, end, s, executor.growth(r.motion, step.error), sink);
      if (j.verdict == Verdict::missed) {
        state = parked;
      } else if (j.verdict != Verdict::rejected && (r.t >= r.stop || sink.enough())) {
        sink.finish(r);
        state = landed;
      }
    }
    store();
  }

  // --- of the sink
  double period, start, window;
  long long seen;
  double counts[Code::counted + 1], firsts[Code::counted + 1];
  WindowSums* window_sums() { return windows; }
  void put_sample(long long number, const double* values, int count) {
    for (int k = 0; k < count; ++k) a.samples[(number * count + k) * a.count + i] = values[k];
  }
  void put_final(const double* values, int count) {
    for (int k = 0; k < count; ++k) a.finals[k * a.count + i] = values[k];
  }

 private:
  double& number(int k) { return a.numbers[k * a.count + i]; }
  long long& integer(int k) { return a.integers[k * a.count + i]; }

  template <class Each>
  void all_numbers(Each&& each) {
    Motion& motion = r.motion;
    each(Layout::t, r.t), each(Layout::stop, r.stop), each(Layout::period, period), each(Layout::start, start);
    each(Layout::window, window), each(Layout::h, motion.h), each(Layout::last_error, motion.last_error);
    each(Layout::next_clock, motion.next_clock);
    for (int j = 0; j < Code::n; ++j) each(Layout::x + j, r.x()[j]), each(Layout::slope + j, r.slope()[j]);
    for (int k = 0; k < Code::parameters; ++k) each(Layout::parameters + k, r.parameters()[k]);
    for (int k = 0; k < Code::discretes; ++k) each(Layout::discretes + k, r.discretes()[k]);
    for (int k = 0; k < Code::locks; ++k) each(Layout::locks + k, r.locks()[k]);
    for (int k = 0; k < Code::counted; ++k) each(Layout::counts + k, counts[k]), each(Layout::firsts + k, firsts[k]);
    for (int k = 0; k < Code::dense_values; ++k) {
      each(Layout::windows + 3 * k, windows[k].low), each(Layout::windows + 3 * k + 1, windows[k].high);
      each(Layout::windows + 3 * k + 2, windows[k].integral);
    }
    for (int k = 0; k <= Code::n; ++k) {
      Arrivals& of = r.arrivals()[k];
      each(Layout::arrivals + 3 * k, of.last), each(Layout::arrivals + 3 * k + 1, of.difference);
      each(Layout::arrivals + 3 * k + 2, of.before);
    }
  }
  template <class Each>
  void all_integers(Each&& each) {
    Motion& motion = r.motion;
    each(Layout::state, state), each(Layout::mode, r.mode), each(Layout::steps, r.steps);
    each(Layout::events, r.events), each(Layout::seen, seen), each(Layout::left, motion.left);
    each(Layout::rejections, motion.rejections), each(Layout::stiff_hits, motion.stiff_hits);
    each(Layout::stiff_misses, motion.stiff_misses), each(Layout::tests, motion.steps);
    each(Layout::cause, motion.cause), each(Layout::arrived, motion.arrivals);
    each(Layout::others, motion.others), each(Layout::due, r.due);
  }
  static void set(int& value, long long number) { value = static_cast<int>(number); }
  static void set(long long& value, long long number) { value = number; }
  void load() {
    all_numbers([this](int k, double& value) { value = number(k); });
    all_integers([this](int k, auto& value) { set(value, integer(k)); });
    r.max_steps = a.max_steps;
    if (state == flying) Code::gather(r.mode, r.parameters(), r.discretes(), r.locks(), r.data());
  }
  void store() {
    all_numbers([this](int k, double& value) { number(k) = value; });
    all_integers([this](int k, auto& value) { integer(k) = static_cast<long long>(value); });
  }

  const DeviceArrays& a;
  const long long i;
  Code code;
  RunState<Code> r;
  WindowSums windows[Code::dense_values + 1];
  int state;
};

}  // namespace saltus::flight
