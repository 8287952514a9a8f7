// What a run in flight computes beside its tapes: where steps end, how long they are, where the first event lies,
// and whether a point is one of a mode.
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices. Numbers
// of a member stand `stride` places apart, for members that lie side by side.
#pragma once

#include "flight/first_crossing.hpp"
#include "step/fast_power.hpp"

namespace saltus::flight {

inline constexpr double infinity = __builtin_bit_cast(double, 0x7ff0000000000000LL);
inline constexpr double epsilon = 0x1p-52;
inline constexpr int most_rejections = 64;  ///< of one step
inline constexpr int most_shrinking = 8;    ///< intervals between events, each clearly shorter than the one before
inline constexpr double shrinking_ratio = 0.9;
inline constexpr double rounding_of_guards = 32.0 * epsilon;  ///< relative to the terms that a guard adds
inline constexpr double resolved = 1e-6;    ///< an interpolated guard is followed if its last coefficients are smaller
inline constexpr double barely = 1e-6;      ///< coefficients of a guard that begins at zero, compared with the others
inline constexpr double negligible = 1e-9;  ///< distance of a guard from zero, compared with what it moves by in a step
inline constexpr double after_not_finite = 0.25;
inline constexpr double smallest_error = -13.287712379549449;  ///< log2(1e-4)
inline constexpr int stiff_steps = 15, other_steps = 6;
inline constexpr double noticeable_instability = 0.01;  ///< in tolerances, where a guard crosses

inline double size_of(double x) {
  return x < 0.0 ? -x : x;
}
inline double larger(double a, double b) {
  return a < b ? b : a;
}
inline double smaller(double a, double b) {
  return b < a ? b : a;
}

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
inline double shortest_step(double t0, double limit) {
  return larger(larger(4.0 * epsilon * size_of(t0), 1e-24 * (limit - t0)), 1e-290);
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

/// x_j(t + u h) from the coefficients of the dense output.
inline double dense_value(const double* c, int n, int degree, int stride, int j, double x, double u) {
  double sum = 0.0;
  for (int k = degree; k-- > 0;) sum = u * (c[(k * n + j) * stride] + sum);
  return x + sum;
}

/// The guards of a mode.
struct Guards {
  int count;
  const signed char* sides;     ///< 0: not watched
  const int* first;             ///< of the Bernstein coefficients of each
  const unsigned char* affine;  ///< otherwise interpolated
};
/// What a step says about them (StepOutput).
struct Course {
  const double *lower, *upper, *bernstein, *scale, *rough;
  int stride;
};
struct Crossing {
  int guard = -1;  ///< none
  double u = no_crossing;
  bool denied = false;    ///< a guard leaves at once the side to which it has just gone
  bool together = false;  ///< another one fires at the same time
  bool coarse = false;    ///< the step is too long to follow a guard
};

/// The first event of a step from t with size h. `left`: the guard that begins at zero, -1: none. `polish(guard, u)`
/// corrects a zero of an interpolated guard.
template <class Polish>
Crossing find_crossing(const Guards& guards, const Course& course, int left, double t, double h, Polish&& polish) {
  Crossing found;
  for (int k = 0; k < guards.count; ++k) {
    const int side = guards.sides[k], at = k * course.stride;
    if (side == 0) continue;
    const double least = side > 0 ? course.lower[at] : -course.upper[at];
    if (least > 0.0 && guards.affine[k]) continue;
    const double scale = course.scale[at], noise = rounding_of_guards * scale;
    if (!guards.affine[k]) {
      if (least > 4.0 * course.rough[at]) continue;
      if (course.rough[at] > resolved * scale || !(scale < infinity)) {
        found.coarse = true;
        return found;
      }
    }
    if (least >= -noise) continue;
    double b[highest_crossing_degree + 1];
    const int first = guards.first[k], degree = guards.first[k + 1] - first - 1;
    for (int i = 0; i <= degree; ++i) b[i] = side * course.bernstein[(first + i) * course.stride];
    if (left == k) {  // it begins at zero, and its slope may be zero, too
      double largest = 0.0;
      for (int i = 0; i <= degree; ++i) largest = larger(largest, size_of(b[i]));
      for (int i = 0; i < 2 && size_of(b[i]) <= barely * largest + noise; ++i) b[i] = 0.0;
    }
    if (b[0] < -noise || (left == k && b[1] < -noise)) {
      found.denied = true;
      return found;
    }
    double u = first_crossing(b, degree, noise);
    if (u > 1.0) continue;
    if (!guards.affine[k]) u = polish(k, u);
    const double resolution = 16.0 * epsilon * (1.0 + size_of(t) / size_of(h));
    if (found.guard >= 0 && size_of(u - found.u) <= resolution) found.together = true;
    if (u < found.u) {
      found.together = found.together && size_of(u - found.u) <= resolution;
      found.u = u;
      found.guard = k;
    }
  }
  return found;
}

/// A part of a step, 0 <= low <= high <= 1. A guard that is zero at one end must move away from there all the time.
struct StepPart {
  double low = 0.0, high = 1.0;
  bool leaves_zero = false, reaches_zero = false;  ///< the guard is zero at `low`, at `high`
};
/// Bounds of a guard and of its slope over such a part.
struct GuardRange {
  double lower, upper, slope_lower, slope_upper;

  bool proves(int side, const StepPart& part) const {
    if (side > 0 ? lower > 0.0 : upper < 0.0) return true;
    const bool leaves = side > 0 ? slope_lower > 0.0 : slope_upper < 0.0;
    const bool returns = side > 0 ? slope_upper < 0.0 : slope_lower > 0.0;
    return (part.leaves_zero && leaves) || (part.reaches_zero && returns);
  }
};
/// True if a guard is proved to be on its side in a part of a step. `find(part, range)` gives bounds, or false if there
/// are none. They are tried on finer and finer pieces; `enclosed(piece)` may prove what they do not.
template <class Find, class Enclosed>
bool stays(int side, const StepPart& part, Find&& find, Enclosed&& enclosed) {
  constexpr int deepest = 10;
  StepPart waiting[deepest + 2];
  int depth[deepest + 2];
  int count = 1;
  waiting[0] = part;
  depth[0] = 0;
  while (count > 0) {
    const StepPart piece = waiting[--count];
    const int halvings = depth[count];
    GuardRange range;
    const bool bounded = find(piece, range);
    if (bounded && range.proves(side, piece)) continue;
    if ((!bounded || halvings == deepest) && enclosed(piece)) continue;
    if (halvings == deepest) return false;
    const double middle = 0.5 * (piece.low + piece.high);
    depth[count] = depth[count + 1] = halvings + 1;
    waiting[count++] = {middle, piece.high, false, piece.reaches_zero};
    waiting[count++] = {piece.low, middle, piece.leaves_zero, false};
  }
  return true;
}
/// The inputs of the program of bounds (GuardBounds) for a part of a step, 2 + 6 n numbers: time, then the variables
/// and their slopes. Variables are polynomials there: about the middle they are shifted to, terms of the second and
/// higher orders are what they may deviate by, and rounding errors.
inline void find_ranges(int n, int degree, int stride, double t, double h, const double* x, const double* dense,
                        const StepPart& part, double* in) {
  constexpr double unit = 32.0 * epsilon;
  const double middle = 0.5 * (part.low + part.high);
  const double radius = (1.0 + 4.0 * epsilon) * larger(part.high - middle, middle - part.low);
  in[0] = t + middle * h;
  in[1] = radius * h + unit * (size_of(t) + h);
  for (int j = 0; j < n; ++j) {
    double p[highest_crossing_degree + 1], size = size_of(x[j * stride]), slope_size = 0.0;
    p[0] = x[j * stride];
    for (int k = 1; k <= degree; ++k) {
      p[k] = dense[((k - 1) * n + j) * stride];
      size += size_of(p[k]);
      slope_size += k * size_of(p[k]);
    }
    for (int i = 0; i < degree; ++i)  // repeated Horner's scheme
      for (int k = degree - 1; k >= i; --k) p[k] += middle * p[k + 1];
    double deviation = unit * size, slope_deviation = unit * slope_size, power = radius;
    for (int k = 2; k <= degree; ++k) {
      if (k > 2) slope_deviation += k * power * size_of(p[k]);
      power *= radius;
      deviation += power * size_of(p[k]);
    }
    double* const place = in + 2 + j;
    place[0] = p[0];
    place[n] = radius * p[1];
    place[2 * n] = deviation;
    place[3 * n] = p[1] / h;
    place[4 * n] = degree > 1 ? 2.0 * radius * p[2] / h : 0.0;
    place[5 * n] = slope_deviation / h;
  }
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
    const double noise = negligible * (size_of(by_slope) + size_of(by_curve));
    bool may_be_zero = false;
    for (int i = 0; i < zero_count; ++i) may_be_zero = may_be_zero || zeros[i] == k;
    if (may_be_zero && size_of(value) <= noise) {
      // where the slope is zero as well, as at the end of a slide, the second derivative says where it goes
      const double leaves = size_of(by_slope) <= negligible * size_of(by_curve) ? by_curve : by_slope;
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
    const double noise = 8.0 * epsilon * size_of(slopes[k] * t);
    if (value < -noise || (value <= noise && !(moving > 0.0))) return false;
    if (!(moving < 0.0)) continue;
    const double then = t - value / moving, close = 4.0 * epsilon * size_of(then);
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
/// move no guard, do not count.
inline bool looks_stiff(const Stiffness& test, int n, int stride, double h, const double* x, const double* slope,
                        const double* x_end, const double* slopes, double noticeable, const double* atol, double rtol) {
  double numerator = 0.0, denominator = 0.0, noise = 0.0;
  for (int j = 0; j < n; ++j) {
    double sum = 0.0;
    for (int i = 0; i < test.row; ++i)
      sum += test.weights[i] * (i == 0 ? slope[j * stride] : slopes[((i - 1) * n + j) * stride]);
    const double argument = x[j * stride] + h * sum;
    const double f = slopes[((test.last - 1) * n + j) * stride] - slopes[((test.row - 1) * n + j) * stride];
    const double d = x_end[j * stride] - argument;
    const double least = noticeable * (atol[j] + rtol * size_of(x_end[j * stride]));
    numerator += f * f;
    denominator += d * d;
    noise += least * least;
  }
  return denominator > 0.0 && h * h * numerator >= noise && h * h * numerator > test.limit * test.limit * denominator;
}

/// The numbers of a lane that its steps change.
struct Motion {
  double h = 0.0;  ///< that is wanted next
  double last_error = smallest_error;
  double next_clock = infinity;
  double last_event = -infinity, last_interval = infinity;
  int rejections = 0;
  int left = -1;  ///< guard that begins at zero
  int stiff_hits = 0, stiff_misses = 0, steps = 0;
  int shrinking = 0;
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

/// Notes an event. True: events accumulate.
inline bool note_event(Motion& m, double t) {
  const double interval = t - m.last_event;
  m.shrinking = interval < shrinking_ratio * m.last_interval ? m.shrinking + 1 : 0;
  m.last_event = t;
  m.last_interval = interval;
  return m.shrinking >= most_shrinking;
}

/// A step that cannot be accepted. False: there were too many, or it is too short.
inline bool shorten(Motion& m, double t, double stop, double size, double factor) {
  const double smallest = shortest_step(t, stop);
  if (++m.rejections > most_rejections || size <= smallest) return false;
  m.h = larger(size * factor, smallest);
  return true;
}

/// The first step: one that moves by a hundredth of what errors are measured by.
inline double first_step(int n, int stride, const double* x, const double* slope, const double* atol, double rtol,
                         double distance) {
  double d0 = 0.0, d1 = 0.0;
  for (int j = 0; j < n; ++j) {
    const double scale = atol[j] + rtol * size_of(x[j * stride]);
    d0 = larger(d0, size_of(x[j * stride]) / scale);
    d1 = larger(d1, size_of(slope[j * stride]) / scale);
  }
  return smaller(d0 < 1e-5 || d1 < 1e-5 ? 1e-4 * distance : 0.01 * (d0 / d1), distance);
}

}  // namespace saltus::flight
