// What the executor computes beside its tapes and its search for crossings: where steps end, how long they are,
// whether a point is one of a mode, whether steps are limited by stability.
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

#include "event/sequence_limit.hpp"
#include "flight/crossing_search.hpp"
#include "step/fast_power.hpp"

namespace saltus::flight {

inline constexpr int most_rejections = 64;  ///< of one step
inline constexpr int fewest_arrivals = 4;   ///< of a sequence with a limit: two ratios, and the error of the last one
inline constexpr int most_others = 8;       ///< events of other transitions, before arrivals of another one are kept
inline constexpr double after_not_finite = 0.25;
inline constexpr double smallest_error = -13.287712379549449;  ///< log2(1e-4)
inline constexpr int stiff_steps = 15, other_steps = 6;
inline constexpr double noticeable_instability = 0.01;  ///< in tolerances, where a guard crosses

/// The end of a step, as in step/step_limits.hpp, forwards.
struct End {
  double t = 0.0, h = 0.0;
  bool cut = false;
};
inline End end_of_step(double t0, double h, double limit) {
  const double rest = limit - t0;
  if (rest <= 1.01 * h) return {limit, rest, rest < h};
  const bool halve = rest < 2.0 * h;
  const double t1 = t0 + (halve ? 0.5 * rest : h);
  return {t1, t1 - t0, halve};
}
/// Step-size control as in step/step_controller.hpp, with one power a step: h_new/h = 0.9 error^-a last_error^b.
struct Control {
  double success_power, rejection_power, beta, shrink, growth;
};
/// `last_error`: of the last step that was accepted, as a binary logarithm.
inline double factor_after_success(const Control& c, double error, bool rejected, double& last_error) {
  const double size = fast_log2(larger(error, 1e-10));
  const double factor = 0.9 * fast_exp2(c.success_power * size + c.beta * last_error);
  last_error = larger(size, smallest_error);
  return smaller(larger(factor, c.shrink), rejected ? 1.0 : c.growth);
}
inline double factor_after_rejection(const Control& c, double error) {
  return smaller(larger(0.9 * fast_exp2(c.rejection_power * fast_log2(smaller(error, 1e30))), c.shrink), 0.9);
}

/// Values of guards at a point, and their first and second derivatives along the solution.
struct Values {
  const double *values, *slopes, *curves;
};
/// True if every guard is on its side or, if it is among the `zeros`, at zero and on its way there. h: the size of
/// steps. `left`: the one that is at zero, which was -1.
inline bool on_their_sides(int count, const signed char* sides, const Values& g, const int* zeros, int zero_count,
                           double h, int& left) {
  for (int k = 0; k < count; ++k) {
    const int side = sides[k];
    if (side == 0) continue;
    const double value = side * g.values[k], by_slope = side * g.slopes[k] * h, by_curve = side * g.curves[k] * h * h;
    const double noise = Resolution::leaving * (size_of(by_slope) + size_of(by_curve));
    bool may_be_zero = false;
    for (int i = 0; i < zero_count; ++i) may_be_zero = may_be_zero || zeros[i] == k;
    if (may_be_zero && size_of(value) <= noise) {
      // where the slope is zero as well, as at the end of a slide, the second derivative says where it goes
      const double leaves = size_of(by_slope) <= Resolution::leaving * size_of(by_curve) ? by_curve : by_slope;
      if (!(leaves > 0.0) || left >= 0) return false;
      left = k;
    } else if (!(value > (by_slope > 0.0 ? 0.0 : noise))) {
      return false;
    }
  }
  return true;
}

/// The clocks that fall due next, by their values and slopes at t. `due[k]` becomes 1 for them. False: one of them is
/// not where its side says.
inline bool next_clocks(int count, const signed char* sides, const double* values, const double* slopes, double t,
                        double& next, unsigned char* due) {
  next = infinity;
  for (int k = 0; k < count; ++k) due[k] = 0;
  for (int k = 0; k < count; ++k) {
    if (sides[k] == 0) continue;
    const double value = sides[k] * values[k], moving = sides[k] * slopes[k];
    const double noise = Resolution::clock * size_of(slopes[k] * t);
    if (value < -noise || (value <= noise && !(moving > 0.0))) return false;
    if (!(moving < 0.0)) continue;
    const double then = t - value / moving, close = Resolution::clocks_together * size_of(then);
    if (then < next - close) {
      next = then;
      for (int i = 0; i < k; ++i) due[i] = 0;
    }
    if (then <= next + close) due[k] = 1;
  }
  return true;
}

/// The test of the steppers: Hairer, Wanner, Solving Ordinary Differential Equations II, section IV.2. `weights`: the
/// row of the stage `row`, whose argument it needs.
struct Stiffness {
  const double* weights;
  int row, last;  ///< stages; row < 0: there is no test
  double limit;
};
/// True if the step is longer than stability allows. `noticeable`: differences below this share of the tolerance, which
/// move no guard, do not count, and rounding errors never do.
inline bool looks_stiff(const Stiffness& test, const StepView& s, int n, double h, const double* x, const double* slope,
                        double noticeable, const double* atol, double rtol) {
  double numerator = 0.0, denominator = 0.0, noise = 0.0;
  for (int j = 0; j < n; ++j) {
    double sum = 0.0;
    for (int i = 0; i < test.row; ++i)
      sum += test.weights[i] * (i == 0 ? slope[j] : s.slopes[((i - 1) * n + j) * s.stride]);
    const double argument = x[j] + h * sum;
    const double f = s.slopes[((test.last - 1) * n + j) * s.stride] - s.slopes[((test.row - 1) * n + j) * s.stride];
    const double d = s.x[j * s.stride] - argument;
    const double size = size_of(s.x[j * s.stride]);
    const double least = noticeable * (atol[j] + rtol * size) + Resolution::guard * size;
    numerator += f * f;
    denominator += d * d;
    noise += least * least;
  }
  return denominator > 0.0 && h * h * numerator >= noise && h * h * numerator > test.limit * test.limit * denominator;
}

/// The numbers of a run that its steps change.
struct Motion {
  double h = 0.0;  ///< that is wanted next
  double last_error = smallest_error;
  double next_clock = infinity;
  int rejections = 0;
  int left = -1;  ///< guard that begins at zero
  int stiff_hits = 0, stiff_misses = 0, steps = 0;
  // arrivals are kept for one transition at a time
  int cause = -1;                ///< that transition
  int arrivals = 0, others = 0;  ///< its events, and those of others since the last one
};

/// Notes the last step. True: the member is stiff. `crosses`: a guard crosses in a step, where one that is longer than
/// stability allows is enough: the crossing may be an error of fast variables.
template <class Test>
bool note_stiffness(Motion& m, bool crosses, Test&& test) {
  if (++m.steps % 16 != 0 && m.stiff_hits == 0 && !crosses) return false;
  if (test()) {
    m.stiff_misses = 0;
    return ++m.stiff_hits == stiff_steps || crosses;
  }
  if (m.stiff_hits > 0 && ++m.stiff_misses == other_steps) m.stiff_hits = m.stiff_misses = 0;
  return false;
}

/// The arrivals of a transition e: time, then the variables. `atol`, `rtol`: of the run.
struct ArrivalTest {
  int n;
  const double* atol;
  double rtol;

  /// True if the arrivals, with one more, have limits that are known within the tolerance in time and every variable,
  /// before the stop time; or if they come too close to be told apart.
  bool accumulate(const Motion& m, const Arrivals* known, int e, double t, const double* x, double stop) const {
    if (m.cause != e || m.arrivals + 1 < fewest_arrivals) return false;
    if (t - known[0].last <= Resolution::time(t, 0.0)) return true;
    const SequenceLimit end = known[0].limit(t);
    if (!end.known(rtol * size_of(t)) || !(end.value < stop)) return false;
    for (int j = 0; j < n; ++j) {
      const double tolerance = atol[j] + rtol * size_of(x[j]);
      // what the largest ratio makes of so small a difference is below a thousandth of the tolerance
      const bool rests = size_of(x[j] - known[1 + j].last) <= Resolution::resting * tolerance;
      if (!rests && !known[1 + j].limit(x[j]).known(tolerance)) return false;
    }
    return true;
  }
  void note(Motion& m, Arrivals* known, int e, double t, const double* x) const {
    if (m.cause != e) {
      if (m.cause >= 0 && ++m.others <= most_others) return;
      m.cause = e;
      m.arrivals = 0;
    }
    m.others = 0;
    ++m.arrivals;
    known[0].add(t);
    for (int j = 0; j < n; ++j) known[1 + j].add(x[j]);
  }
};

/// A step that cannot be accepted. False: there were too many, or it is too short.
inline bool shorten(Motion& m, double t, double stop, double size, double factor) {
  const double smallest = Resolution::shortest_step(t, stop);
  if (++m.rejections > most_rejections || size <= smallest) return false;
  m.h = larger(size * factor, smallest);
  return true;
}

/// The first step: one that moves by a hundredth of what errors are measured by.
inline double first_step(int n, const double* x, const double* slope, const double* atol, double rtol,
                         double distance) {
  double d0 = 0.0, d1 = 0.0;
  for (int j = 0; j < n; ++j) {
    const double scale = atol[j] + rtol * size_of(x[j]);
    d0 = larger(d0, size_of(x[j]) / scale);
    d1 = larger(d1, size_of(slope[j]) / scale);
  }
  return smaller(d0 < 1e-5 || d1 < 1e-5 ? 1e-4 * distance : 0.01 * (d0 / d1), distance);
}

}  // namespace saltus::flight
