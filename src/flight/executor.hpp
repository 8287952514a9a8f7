// The executor of hybrid runs whose modes and transitions are compiled: step, error control, first crossing with proof,
// transversality, transition with its obligations, record, miss. There is one text of it, for a run alone, for runs
// side by side in lanes, and for a thread of a device; all of them have the same bits.
//
//   loop:  step := the tape of the mode, from plan()           the caller's, so that several runs share an evaluation
//          judge:   too large an error, or a denied crossing   the step is made again, shorter
//          move:    no crossing                                the run is at the end of the step
//          settle:  the arrival; the field leads back          the step is made again, shorter
//                   for each transition of (mode, cause): if its obligations hold, the run is behind the event
//          miss:    what is not known; the run has not changed
//
// Code is what is compiled: static functions and arrays of fixed sizes on a device (device_source.cpp), a view of
// FlightCode on a processor (host_code.hpp). A Sink sees steps and events before the run has moved on.
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

#include "flight/constraints.hpp"
#include "flight/flight_arithmetic.hpp"

namespace saltus::flight {

/// Why a run cannot go on with what is compiled.
enum class Miss : int {
  none,
  no_transition,  ///< none is known for the event, or the obligations of none hold
  simultaneous,   ///< two guards fire at the same time
  accumulation,   ///< infinitely many events have a limit
  no_step,        ///< steps become too small, or their values are not finite
  stiff,          ///< steps are limited by stability
  too_many_steps,
  unproved,  ///< a guard may have left its side and returned within a step
  count
};

/// A run as a value: all that its next step depends on. A copy is another run that goes on from there.
template <class Code>
struct RunState : Code::Numbers {
  double t = 0.0, stop = 0.0;
  int mode = 0;
  long long steps = 0, events = 0, max_steps = 0;
  long long due = 0;  ///< clocks that fire at motion.next_clock, as bits
  Motion motion;
};

/// What becomes of a step that was made.
enum class Verdict : int {
  rejected,   ///< it is to be made again, shorter
  missed,     ///< see Judgement::miss
  moves,      ///< there is no event up to its end
  crosses,    ///< a guard crosses in it
  falls_due,  ///< guards of time fire at its end
  settled     ///< the event is over, the run is behind it
};
struct Judgement {
  Verdict verdict = Verdict::rejected;
  Miss miss = Miss::none;
  double t = 0.0;     ///< of the event, or of the end of the step
  Crossing crossing;  ///< of a guard
  Motion motion;      ///< once the step is accepted
};

/// The next step size should the step be accepted, relative to it.
struct Growth {
  double factor, last_error;
};

/// An event, for those who want to know what happened. It is complete before the run changes.
template <class Code>
struct EventRecord {
  int transition, guard;  ///< guard: its place in the tape of the mode before; -1: clocks
  int mode_after;
  double t;
  const typename Code::Point &before, &after;  ///< at the point before and after, in the mode there
};

template <class Code>
class Executor {
 public:
  using State = RunState<Code>;
  using Point = typename Code::Point;

  explicit Executor(Code& code) : code_(code) {}

  /// Where the next step ends, not beyond `limit`.
  End plan(const State& r, double limit) const {
    return end_of_step(r.t, smaller(r.motion.h, code_.max_step()), smaller(limit, r.motion.next_clock));
  }

  Growth growth(const Motion& motion, double error) const {
    Growth g{1.0, motion.last_error};
    g.factor = factor_after_success(code_.control(), error <= 1.0 ? error : 1.0, motion.rejections > 0, g.last_error);
    return g;
  }

  /// Judges the step from r to `end`. Only a rejection changes r: the size of its next step.
  Judgement judge(State& r, const End& end, const StepView& s, const Growth& growth) {
    Judgement j;
    if (!(s.error <= 1.0) || s.finite != 0.0)
      return reject(
          r, end,
          s.error < infinity && s.error > 1.0 ? factor_after_rejection(code_.control(), s.error) : after_not_finite,
          Miss::no_step);
    j.crossing = find_crossing(r, end, s);
    if (j.crossing.denied) return reject(r, end, 0.5, j.crossing.unproved ? Miss::unproved : Miss::no_step);
    if (j.crossing.unproved) return missed(Miss::unproved);
    if (j.crossing.together) return missed(Miss::simultaneous);
    if (r.steps >= r.max_steps) return missed(Miss::too_many_steps);
    const bool crosses = j.crossing.guard >= 0;
    j.motion = r.motion;
    j.motion.last_error = growth.last_error;
    j.motion.h = end.cut ? larger(r.motion.h, end.h * growth.factor) : end.h * growth.factor;
    j.motion.rejections = 0;
    if (code_.watches_stiffness() && is_stiff(j.motion, r, end, s, crosses)) return missed(Miss::stiff);
    j.t = crosses ? smaller(r.t + j.crossing.u * end.h, end.t) : end.t;
    j.verdict = crosses ? Verdict::crosses : end.t == r.motion.next_clock ? Verdict::falls_due : Verdict::moves;
    return j;
  }

  /// Goes to the end of a step without an event.
  template <class Sink>
  void move(State& r, const End& end, const StepView& s, const Judgement& j, Sink&& sink) {
    sink.step(r, end, s, j.t, true);
    r.motion = j.motion;
    if (r.motion.left >= 0 && has_left_zero(r, s)) r.motion.left = -1;
    const int n = code_.variables(), last = (code_.stages() - 2) * n;
    for (int i = 0; i < n; ++i) {
      r.x()[i] = s.x[i * s.stride];
      r.slope()[i] = s.slopes[(last + i) * s.stride];
    }
    r.t = end.t;
    ++r.steps;
  }

  /// The event in the step, or at its end: the first transition whose obligations hold.
  template <class Sink>
  Judgement settle(State& r, const End& end, const StepView& s, const Judgement& j, Sink&& sink) {
    const int guard = j.verdict == Verdict::crosses ? j.crossing.guard : -1;
    const long long clocks = guard < 0 ? r.due : 0;
    Point before(code_, 0), after(code_, 1);
    Judgement result = j;
    if (!arrive(r, end, s, guard, result, before)) return missed(Miss::no_transition);
    if (guard >= 0 && leads_back(r.mode, guard, end.h, before)) return reject(r, end, 0.5, Miss::no_step);
    for (int e = code_.first_edge(r.mode); e < code_.first_edge(r.mode + 1); ++e) {
      if (code_.edge_guard(e) != guard || code_.edge_clocks(e) != clocks) continue;
      Motion motion = j.motion;
      long long due = 0;
      if (!enter(e, r, result.t, before, after, motion, due)) continue;
      const ArrivalTest arrivals{code_.variables(), code_.atol(), code_.rtol()};
      if (guard >= 0 && arrivals.accumulate(motion, r.arrivals(), e, result.t, before.x, r.stop))
        return missed(Miss::accumulation);
      sink.step(r, end, s, result.t, false);
      sink.event(r, EventRecord<Code>{e, guard, code_.edge_target(e), result.t, before, after});
      if (guard >= 0) arrivals.note(motion, r.arrivals(), e, result.t, before.x);
      commit(r, e, result.t, after, motion, due);
      result.verdict = Verdict::settled;
      return result;
    }
    return missed(Miss::no_transition);
  }

  /// All of it: judges the step, and moves or settles. Sink: see above.
  template <class Sink>
  Judgement advance(State& r, const End& end, const StepView& s, const Growth& growth, Sink&& sink) {
    const Judgement j = judge(r, end, s, growth);
    if (j.verdict == Verdict::moves) move(r, end, s, j, sink);
    return j.verdict == Verdict::crosses || j.verdict == Verdict::falls_due ? settle(r, end, s, j, sink) : j;
  }

  /// Whether the guard that began the step at zero is away from it at the end.
  bool has_left_zero(const State& r, const StepView& s) const {
    const int k = r.motion.left;
    const double noise = Resolution::guard * s.scale[k * s.stride];
    return code_.sides(r.mode)[k] * s.guards[k * s.stride] > noise;
  }

 private:
  static Judgement missed(Miss why) {
    Judgement j;
    j.verdict = Verdict::missed;
    j.miss = why;
    return j;
  }
  Judgement reject(State& r, const End& end, double factor, Miss otherwise) const {
    Judgement j;
    return shorten(r.motion, r.t, r.stop, end.h, factor) ? j : missed(otherwise);
  }

  Crossing find_crossing(const State& r, const End& end, const StepView& s) {
    const int tape = code_.mode_tape(r.mode), left = r.motion.left, n = code_.variables();
    const Guards guards{code_.guard_count(tape), code_.sides(r.mode), code_.first(tape), code_.affine(tape)};
    Crossing found = find_affine_crossing(guards, s, left, r.t, end.h);
    if (found.denied || !code_.needs_proof(r.mode)) return found;
    typename Code::SearchRoom room(code_);
    double low = 0.0, high = -1.0;  // of the piece whose bounds are there
    const auto range = [&](int k, const StepPart& part, GuardRange& g) {
      const int place = code_.bound_place(tape)[k];
      if (place < 0) return code_.enclose(r, end, s, k, part, g);
      if (low != part.low || high != part.high) {
        low = part.low;
        high = part.high;
        find_ranges(n, code_.degree(), r.t, end.h, r.x(), s, part, room.in);
        code_.bounds(tape, room.in, r.data(), room.out);
      }
      const int most = code_.bound_stride();
      g = {room.out[place], room.out[most + place], room.out[2 * most + place], room.out[3 * most + place]};
      return true;
    };
    const auto values = [&](double u) -> const double* {
      for (int i = 0; i < n; ++i) room.x[i] = dense_value(s, n, code_.degree(), i, r.x()[i], u);
      code_.guards(tape, r.t + u * end.h, room.x, r.data(), room.values);
      return room.values;
    };
    march(guards, left, r.t, end.h, found, range, values);
    return found;
  }

  bool is_stiff(Motion& motion, const State& r, const End& end, const StepView& s, bool crosses) const {
    const bool may_be_invented = crosses && code_.leaves_if_stiff();
    return note_stiffness(motion, may_be_invented, [&] {
      return looks_stiff(code_.stiffness(), s, code_.variables(), end.h, r.x(), r.slope(),
                         may_be_invented ? noticeable_instability : 0.0, code_.atol(), code_.rtol());
    });
  }

  /// The point of the event, and what is evaluated there. On constraints the dense output is right within its error
  /// only: the point moves onto them, and in time until it is on the guard again. False: that fails.
  bool arrive(const State& r, const End& end, const StepView& s, int guard, Judgement& j, Point& p) {
    constexpr int most_rounds = 4;
    const int tape = code_.mode_tape(r.mode), n = code_.variables();
    const bool constrained = code_.constrained(tape);
    typename Code::SearchRoom room(code_);
    for (int round = 0; round < most_rounds; ++round) {
      for (int i = 0; i < n; ++i)
        p.x[i] = guard < 0 ? s.x[i * s.stride] : dense_value(s, n, code_.degree(), i, r.x()[i], j.crossing.u);
      if (constrained && !become_consistent(code_, tape, -1, j.t, p.x, r.data(), room.x)) return false;
      code_.at(tape, j.t, p.x, r.data(), p);
      if (!constrained || guard < 0) return true;
      const double u = j.crossing.u - p.guards[guard] / (p.guard_slopes[guard] * end.h);
      if (size_of(u - j.crossing.u) * end.h <= Resolution::time(r.t, end.h)) return true;
      if (!(u > 0.0 && u <= 1.0)) return false;
      j.crossing.u = u;
      j.t = smaller(r.t + u * end.h, end.t);
    }
    return true;
  }

  /// Whether the field of the mode leads from the crossing back to the side where the guard was: then the polynomial of
  /// the step crosses, within its error, and the solution does not.
  bool leads_back(int mode, int guard, double h, const Point& p) const {
    const double moving = code_.sides(mode)[guard] * p.guard_slopes[guard] * h;
    const double turning = size_of(p.guard_curves[guard]) * h * h;
    return moving > Resolution::leaving * (moving + turning);
  }

  /// Follows transition e from the point before to the one after. False: an obligation does not hold.
  bool enter(int e, const State& r, double t, const Point& before, Point& after, Motion& motion, long long& due) {
    const int target = code_.edge_target(e), tape = code_.mode_tape(target), n = code_.variables();
    for (int i = 0; i < n; ++i) after.x[i] = before.x[i];
    for (int k = 0; k < code_.discrete_numbers(); ++k) after.discretes[k] = r.discretes()[k];
    for (int k = 0; k < code_.lock_numbers(); ++k) after.locks[k] = r.locks()[k];
    if (!code_.act(e, t, before.x, r.parameters(), r.discretes(), after.x, after.discretes, after.locks)) return false;
    code_.gather(target, r.parameters(), after.discretes, after.locks, after.data);
    if (code_.constrained(tape)) {
      typename Code::SearchRoom room(code_);
      if (!become_consistent(code_, tape, e, t, after.x, after.data, room.x)) return false;
    }
    code_.at(tape, t, after.x, after.data, after);
    for (int i = 0; i < n; ++i)
      if (!(size_of(after.slope[i]) < infinity)) return false;
    motion.left = -1;
    const int first = code_.first_zero(e), zeros = code_.first_zero(e + 1) - first;
    if (!on_their_sides(code_.guard_count(tape), code_.sides(target),
                        {after.guards, after.guard_slopes, after.guard_curves}, code_.edge_zeros() + first, zeros,
                        motion.h, motion.left) ||
        !next_clocks(code_.clock_count(tape), code_.clock_sides(target), after.clocks, after.clock_slopes, t,
                     motion.next_clock, after.due))
      return false;
    for (int k = 0; k < code_.clock_count(tape); ++k)
      if (after.due[k]) due |= 1LL << k;
    motion.last_error = smallest_error;  // as a stepper that is started anew
    return true;
  }

  void commit(State& r, int e, double t, const Point& after, const Motion& motion, long long due) {
    const int target = code_.edge_target(e);
    for (int i = 0; i < code_.variables(); ++i) {
      r.x()[i] = after.x[i];
      r.slope()[i] = after.slope[i];
    }
    for (int k = 0; k < code_.discrete_numbers(); ++k) r.discretes()[k] = after.discretes[k];
    for (int k = 0; k < code_.lock_numbers(); ++k) r.locks()[k] = after.locks[k];
    for (int k = 0; k < code_.data_count(code_.mode_tape(target)); ++k) r.data()[k] = after.data[k];
    r.t = t;
    r.mode = target;
    r.motion = motion;
    r.due = due;
    ++r.steps;
    ++r.events;
  }

  Code& code_;
};

}  // namespace saltus::flight
