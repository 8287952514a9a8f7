// One member in flight, from take-off to landing, as a thread of a device runs it. The text is compiled at run time,
// behind the tables and functions of a study (Code, see device_source.cpp); a test compiles it for processors.
//
// Steps and decisions are those of LaneFlight, in its order, so results have its bits. What it would do otherwise, or
// cannot do here, parks the member: lanes fly it again from its start.
#pragma once

#include "flight/flight_arithmetic.hpp"
#include "study/window_arithmetic.hpp"

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

/// Where the numbers of a member begin.
template <class Code>
struct DeviceLayout {
  enum Number : int { t, stop, period, start, window, h, last_error, next_clock, last_event, last_interval, x };
  static constexpr int slope = x + Code::n, parameters = slope + Code::n, discretes = parameters + Code::parameters,
                       locks = discretes + Code::discretes, counts = locks + Code::locks,
                       firsts = counts + Code::counters, windows = firsts + Code::counters,
                       numbers = windows + 3 * Code::dense;
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
    shrinking,
    due,
    integers
  };
};

template <class Code>
class DeviceMember {
  using Layout = DeviceLayout<Code>;

 public:
  DeviceMember(const DeviceArrays& arrays, long long member) : a(arrays), i(member) { load(); }

  void fly() {
    for (long long attempt = 0; state == flying && attempt < a.attempts; ++attempt) attempt_step();
    store();
  }

 private:
  double& number(int k) { return a.numbers[k * a.count + i]; }
  long long& integer(int k) { return a.integers[k * a.count + i]; }

  template <class Each>
  void all_numbers(Each&& each) {
    each(Layout::t, t), each(Layout::stop, stop), each(Layout::period, period), each(Layout::start, start);
    each(Layout::window, window), each(Layout::h, motion.h), each(Layout::last_error, motion.last_error);
    each(Layout::next_clock, motion.next_clock), each(Layout::last_event, motion.last_event);
    each(Layout::last_interval, motion.last_interval);
    for (int j = 0; j < Code::n; ++j) each(Layout::x + j, x[j]), each(Layout::slope + j, slope[j]);
    for (int k = 0; k < Code::parameters; ++k) each(Layout::parameters + k, parameters[k]);
    for (int k = 0; k < Code::discretes; ++k) each(Layout::discretes + k, discretes[k]);
    for (int k = 0; k < Code::locks; ++k) each(Layout::locks + k, locks[k]);
    for (int k = 0; k < Code::counters; ++k) each(Layout::counts + k, counts[k]), each(Layout::firsts + k, firsts[k]);
    for (int k = 0; k < Code::dense; ++k) {
      each(Layout::windows + 3 * k, windows[k].low), each(Layout::windows + 3 * k + 1, windows[k].high);
      each(Layout::windows + 3 * k + 2, windows[k].integral);
    }
  }
  template <class Each>
  void all_integers(Each&& each) {
    each(Layout::state, state), each(Layout::mode, mode), each(Layout::steps, steps), each(Layout::events, events);
    each(Layout::seen, seen), each(Layout::left, motion.left), each(Layout::rejections, motion.rejections);
    each(Layout::stiff_hits, motion.stiff_hits), each(Layout::stiff_misses, motion.stiff_misses);
    each(Layout::tests, motion.steps), each(Layout::shrinking, motion.shrinking), each(Layout::due, due);
  }
  static void set(int& value, long long number) { value = static_cast<int>(number); }
  static void set(long long& value, long long number) { value = number; }
  void load() {
    all_numbers([this](int k, double& value) { value = number(k); });
    all_integers([this](int k, auto& value) { set(value, integer(k)); });
    if (state == flying) Code::gather(mode, parameters, discretes, locks, data);
  }
  void store() {
    all_numbers([this](int k, double& value) { number(k) = value; });
    all_integers([this](int k, auto& value) { integer(k) = static_cast<long long>(value); });
  }

  void attempt_step() {
    const int tape = Code::mode_tape(mode);
    const End end = end_of_step(t, smaller(motion.h, Code::max_step), smaller(stop, motion.next_clock));
    typename Code::Step step;
    Code::step(tape, t, end.h, end.t, x, slope, data, step);
    if (!(step.error <= 1.0) || step.finite != 0.0)
      return reject(end, step.error < infinity && step.error > 1.0 ? factor_after_rejection(Code::control(), step.error)
                                                                   : after_not_finite);
    const Guards guards{Code::guard_count(tape), Code::sides(mode), Code::first(tape), Code::affine(tape)};
    const Course course{step.lower, step.upper, step.bernstein, step.scale, step.rough, 1};
    const Crossing crossing = flight::find_crossing(guards, course, motion.left, t, end.h, [&](int guard, double u) {
      return polish(tape, end.h, step, guard, u);
    });
    if (crossing.coarse || crossing.denied) return reject(end, 0.5);
    if (crossing.together) return park();
    if (Code::needs_proof(mode) && !proved(tape, end.h, step, crossing)) return park();
    const double factor = factor_after_success(Code::control(), step.error, motion.rejections > 0, motion.last_error);
    motion.h = end.cut ? larger(motion.h, end.h * factor) : end.h * factor;
    motion.rejections = 0;
    if (++steps > a.max_steps) return park();
    if (Code::park_if_stiff && Code::stiffness_row >= 0 && is_stiff(end.h, step, crossing.guard >= 0)) return park();
    if (crossing.guard >= 0) {
      const double when = smaller(t + crossing.u * end.h, end.t);
      see_piece(tape, end.h, step, when);
      see_samples(tape, end.h, step, when, false);
      double point[Code::n];
      dense_at(step, crossing.u, point);
      for (int j = 0; j < Code::n; ++j) x[j] = point[j];
      t = when;
      if (!follow(crossing.guard, 0)) park();
      return;
    }
    const bool clock = end.t == motion.next_clock;
    see_piece(tape, end.h, step, end.t);
    see_samples(tape, end.h, step, end.t, !clock);
    if (motion.left >= 0 &&
        Code::sides(mode)[motion.left] * step.guards[motion.left] > rounding_of_guards * step.scale[motion.left])
      motion.left = -1;
    for (int j = 0; j < Code::n; ++j) {
      x[j] = step.x[j];
      slope[j] = step.slopes[(Code::stages - 2) * Code::n + j];
    }
    t = end.t;
    if (clock) {
      if (!follow(-1, due)) park();
    } else if (t == stop) {
      land();
    }
  }

  /// Whether no guard that is not affine has left its side before the crossing, or in the whole step.
  bool proved(int tape, double h, const typename Code::Step& step, const Crossing& crossing) {
    double in[2 + 6 * Code::n], out[4 * Code::most_bounds], low = 0.0, high = -1.0;
    for (int k = 0; k < Code::guard_count(tape); ++k) {
      const int side = Code::sides(mode)[k], place = Code::bound_place(tape)[k];
      if (side == 0 || Code::affine(tape)[k]) continue;
      const auto find = [&](const StepPart& piece, GuardRange& range) {
        if (place < 0) return false;
        if (low != piece.low || high != piece.high) {
          low = piece.low;
          high = piece.high;
          find_ranges(Code::n, Code::degree, 1, t, h, x, step.dense, piece, in);
          Code::bounds(tape, in, data, out);
        }
        range = {out[place], out[Code::most_bounds + place], out[2 * Code::most_bounds + place],
                 out[3 * Code::most_bounds + place]};
        return true;
      };
      const StepPart part{0.0, crossing.guard < 0 ? 1.0 : crossing.u, k == motion.left, k == crossing.guard};
      if (!stays(side, part, find, [](const StepPart&) { return false; })) return false;
    }
    return true;
  }

  void reject(const End& end, double factor) {
    if (!shorten(motion, t, stop, end.h, factor)) park();
  }
  void park() { state = parked; }

  bool is_stiff(double h, const typename Code::Step& step, bool crosses) {
    return note_stiffness(motion, crosses, [&] {
      return looks_stiff({Code::stiffness_weights(), Code::stiffness_row, Code::stages - 1, Code::stiffness_limit},
                         Code::n, 1, h, x, slope, step.x, step.slopes, crosses ? noticeable_instability : 0.0,
                         Code::atol(), Code::rtol);
    });
  }

  void dense_at(const typename Code::Step& step, double u, double* point) const {
    for (int j = 0; j < Code::n; ++j) point[j] = dense_value(step.dense, Code::n, Code::degree, 1, j, x[j], u);
  }

  double polish(int tape, double h, const typename Code::Step& step, int guard, double u) {
    const int first = Code::first(tape)[guard], degree = Code::first(tape)[guard + 1] - first - 1;
    for (int round = 0; round < 3; ++round) {
      double point[Code::n], values[Code::most_guards];
      dense_at(step, u, point);
      Code::guards(tape, t + u * h, point, data, values);
      const double next = u - values[guard] / evaluate_bernstein(step.bernstein + first, degree, u).slope;
      if (!(next > 0.0 && next <= 1.0)) break;
      u = next;
    }
    return u;
  }

  void see_samples(int tape, double h, const typename Code::Step& step, double t_end, bool inclusive) {
    if (period == 0.0) return;
    while (seen + 1 < Code::transient + Code::keep) {
      const double when = start + static_cast<double>(seen + 1) * period;
      if (!(when < t_end || (inclusive && when == t_end))) return;
      ++seen;
      if (seen <= Code::transient) continue;
      double point[Code::n];
      dense_at(step, (when - t) / h, point);
      keep(tape, when, point);
    }
  }
  /// Extrema and integrals up to `t_end`.
  void see_piece(int tape, double h, const typename Code::Step& step, double t_end) {
    const double begin = t < window ? window : t;
    if (Code::dense == 0 || !(t_end > begin)) return;
    double times[Code::window_nodes], values[Code::window_nodes * Code::dense + 1], at[Code::dense + 1];
    see_window({Code::window_node(), Code::window_weight(), Code::window_nodes}, {times, values, at}, Code::dense,
               begin, t_end, windows, [&](double when, bool, double* out) {
                 double point[Code::n];
                 dense_at(step, (when - t) / h, point);
                 Code::observe_dense(tape, when, point, data, discretes, out);
               });
  }
  /// Puts a sample into its place.
  void keep(int tape, double when, const double* point) {
    double values[Code::kept + 1];
    Code::observe(tape, when, point, data, discretes, values);
    const long long sample = seen - Code::transient - 1;
    for (int k = 0; k < Code::kept; ++k) a.samples[(sample * Code::kept + k) * a.count + i] = values[k];
  }

  void land() {
    double values[Code::kept + 1];
    Code::observe(Code::mode_tape(mode), t, x, data, discretes, values);
    for (int k = 0; k < Code::kept; ++k) a.finals[k * a.count + i] = values[k];
    if (period != 0.0 && t >= stop)
      for (; seen < Code::transient + Code::keep; ++seen) {
        if (seen < Code::transient) continue;
        const long long sample = seen - Code::transient;
        for (int k = 0; k < Code::kept; ++k) a.samples[(sample * Code::kept + k) * a.count + i] = values[k];
      }
    state = landed;
  }

  /// An event of a guard (a place in the tape), or of clocks (as bits). False: no edge holds.
  bool follow(int guard, long long clocks) {
    for (int e = Code::first_edge(mode); e < Code::first_edge(mode + 1); ++e)
      if (Code::edge_guard(e) == guard && Code::edge_clocks(e) == clocks && try_edge(e)) return true;
    return false;
  }

  bool try_edge(int e) {
    const int target = Code::edge_target(e), tape = Code::mode_tape(target);
    double x_new[Code::n], d_new[Code::discretes + 1], l_new[Code::locks + 1], data_new[Code::most_data + 1];
    for (int j = 0; j < Code::n; ++j) x_new[j] = x[j];
    for (int k = 0; k < Code::discretes; ++k) d_new[k] = discretes[k];
    for (int k = 0; k < Code::locks; ++k) l_new[k] = locks[k];
    if (!Code::act(e, t, x, parameters, discretes, x_new, d_new, l_new)) return false;
    Code::gather(target, parameters, d_new, l_new, data_new);
    double new_slope[Code::n], values[Code::most_guards], slopes[Code::most_guards], curves[Code::most_guards],
        clock_values[Code::most_clocks], clock_slopes[Code::most_clocks];
    Code::at(tape, t, x_new, data_new, new_slope, values, slopes, curves, clock_values, clock_slopes);
    for (int j = 0; j < Code::n; ++j)
      if (!(size_of(new_slope[j]) < infinity)) return false;
    const double h = motion.h > 0.0 ? motion.h : 1e-3 * (stop - t);
    int left = -1;
    if (!on_their_sides(Code::guard_count(tape), Code::sides(target), {values, slopes, curves},
                        Code::edge_zeros() + Code::first_zero(e), Code::first_zero(e + 1) - Code::first_zero(e), h,
                        left))
      return false;
    unsigned char fall_due[Code::most_clocks];
    double next = infinity;
    if (!next_clocks(Code::clock_count(tape), Code::clock_sides(target), clock_values, clock_slopes, t, next, fall_due))
      return false;
    motion.next_clock = next;
    motion.left = left;
    due = 0;
    for (int k = 0; k < Code::clock_count(tape); ++k)
      if (fall_due[k]) due |= 1LL << k;
    ++events;
    const bool accumulates = note_event(motion, t);
    for (int k = 0; k < Code::counters; ++k) {
      const double more = d_new[Code::counter(k)] - discretes[Code::counter(k)];
      if (more == 0.0 || !(t > window || window == start)) continue;
      counts[k] += more;
      if (!(firsts[k] == firsts[k])) firsts[k] = t;
    }
    const bool section = Code::section >= 0 && d_new[Code::section >= 0 ? Code::section : 0] !=
                                                   discretes[Code::section >= 0 ? Code::section : 0];
    for (int j = 0; j < Code::n; ++j) x[j] = x_new[j], slope[j] = new_slope[j];
    for (int k = 0; k < Code::discretes; ++k) discretes[k] = d_new[k];
    for (int k = 0; k < Code::locks; ++k) locks[k] = l_new[k];
    for (int k = 0; k < Code::most_data; ++k) data[k] = data_new[k];
    mode = target;
    if (section) {
      ++seen;
      if (seen > Code::transient) keep(tape, t, x);
      if (seen == Code::transient) window = t;
    }
    if (accumulates)
      park();
    else if (t >= stop || (section && seen >= Code::transient + Code::keep))
      land();
    return true;
  }

  const DeviceArrays& a;
  const long long i;
  double t, stop, period, start, window;
  Motion motion;
  double x[Code::n], slope[Code::n], parameters[Code::parameters + 1], discretes[Code::discretes + 1],
      locks[Code::locks + 1], counts[Code::counters + 1], firsts[Code::counters + 1], data[Code::most_data + 1];
  WindowSums windows[Code::dense + 1];
  int state, mode;
  long long steps, events, seen, due;
};

}  // namespace saltus::flight
