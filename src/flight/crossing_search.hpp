// The first event of a step, with proof.
//
// Guards that are affine in time and variables are polynomials along the step: where their Bernstein coefficients are
// on the side of the guard, there is no zero; otherwise their first zero is isolated by halving. Along all others the
// search marches from the left. It passes a piece of the step when bounds over it say that every guard stays on its
// side. There is no interpolation, so a pulse of any width is found.
//
// Plain arithmetic without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

#include "event/resolution.hpp"
#include "flight/first_crossing.hpp"

namespace saltus::flight {

inline constexpr double infinity = __builtin_bit_cast(double, 0x7ff0000000000000LL);

inline double size_of(double x) {
  return x < 0.0 ? -x : x;
}
inline double larger(double a, double b) {
  return a < b ? b : a;
}
inline double smaller(double a, double b) {
  return b < a ? b : a;
}

/// A step that was made, as its tape gives it. Numbers of one kind stand `stride` places apart.
struct StepView {
  int stride;
  double error;   ///< in tolerances
  double finite;  ///< 0, or NaN
  const double *x, *slopes, *dense, *guards;
  const double *lower, *upper, *bernstein, *scale;  ///< of guards that are affine
};

/// x_j(t + u h) from the coefficients of the dense output. x: where the step began.
inline double dense_value(const StepView& s, int n, int degree, int j, double x, double u) {
  double sum = 0.0;
  for (int k = degree; k-- > 0;) sum = u * (s.dense[(k * n + j) * s.stride] + sum);
  return x + sum;
}

/// The guards of a mode.
struct Guards {
  int count;
  const signed char* sides;     ///< 0: not watched
  const int* first;             ///< of the Bernstein coefficients of each
  const unsigned char* affine;  ///< otherwise bounded
};
struct Crossing {
  int guard = -1;  ///< none
  double u = no_crossing;
  bool denied = false;    ///< a guard leaves at once the side to which it has just gone
  bool unproved = false;  ///< there are guards that cannot be bounded, or only on pieces that are too short
  bool together = false;  ///< another one fires at the same time

  /// Another guard crosses at u. `resolution`: of times, as a part of the step.
  void add(int k, double at, double resolution) {
    if (guard >= 0 && size_of(at - u) <= resolution) together = true;
    if (!(at < u)) return;
    together = together && size_of(at - u) <= resolution;
    u = at;
    guard = k;
  }
};

/// The first crossing of an affine guard in a step; no_crossing if there is none. `leaves_zero`: the guard begins at
/// zero, where its slope may be zero, too. `denied`: it goes back at once.
inline double first_affine_crossing(const Guards& guards, const StepView& s, int k, bool leaves_zero, bool& denied) {
  const int side = guards.sides[k], at = k * s.stride;
  const double least = side > 0 ? s.lower[at] : -s.upper[at], noise = Resolution::guard * s.scale[at];
  if (least >= -noise) return no_crossing;
  double b[highest_crossing_degree + 1];
  const int first = guards.first[k], degree = guards.first[k + 1] - first - 1;
  for (int i = 0; i <= degree; ++i) b[i] = side * s.bernstein[(first + i) * s.stride];
  if (leaves_zero) {
    double largest = 0.0;
    for (int i = 0; i <= degree; ++i) largest = larger(largest, size_of(b[i]));
    int leading = 0;
    for (; leading < 2 && size_of(b[leading]) <= Resolution::leading * largest + noise; ++leading) b[leading] = 0.0;
    denied = leading <= degree && b[leading] < -noise;
  }
  denied = denied || b[0] < -noise;
  return denied ? no_crossing : first_crossing(b, degree, noise);
}

/// The affine guards of a step from t with size h. `left`: the guard that begins at zero, -1: none.
inline Crossing find_affine_crossing(const Guards& guards, const StepView& s, int left, double t, double h) {
  Crossing found;
  const double resolution = Resolution::time(t, h) / size_of(h);
  for (int k = 0; k < guards.count && !found.denied; ++k) {
    if (guards.sides[k] == 0 || !guards.affine[k]) continue;
    if ((guards.sides[k] > 0 ? s.lower[k * s.stride] : -s.upper[k * s.stride]) > 0.0) continue;
    const double u = first_affine_crossing(guards, s, k, k == left, found.denied);
    if (u <= 1.0) found.add(k, u, resolution);
  }
  return found;
}

/// A piece of a step, 0 <= low <= high <= 1.
struct StepPart {
  double low = 0.0, high = 1.0;
};
/// Bounds of a guard over such a piece, and of its slope.
struct GuardRange {
  double lower, upper, slope_lower, slope_upper;
};
enum class Passage {
  stays,     ///< the guard is on its side if it was so at the beginning of the piece
  falls,     ///< it is monotone: its value at the end tells
  undecided  ///< the piece has to be halved
};
inline Passage passage(int side, const GuardRange& r) {
  if (side > 0 ? r.lower > 0.0 || r.slope_lower > 0.0 : r.upper < 0.0 || r.slope_upper < 0.0) return Passage::stays;
  return (side > 0 ? r.slope_upper < 0.0 : r.slope_lower > 0.0) ? Passage::falls : Passage::undecided;
}

/// The zero of a function that is positive at `low` and not at `high`: secants between brackets (the Illinois method).
/// `resolution`: of u.
template <class Value>
double only_zero_between(double low, double high, double at_low, double at_high, double resolution, Value&& value) {
  constexpr int most = 100;
  double u = high;
  int last = 0;
  for (int i = 0; i < most; ++i) {
    double next = high - at_high * (high - low) / (at_high - at_low);
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    const double moved = size_of(next - u);
    u = next;
    const double there = value(u);
    const int now = there > 0.0 ? 1 : -1;
    if (now > 0) {
      low = u;
      at_low = there;
      if (last == now) at_high *= 0.5;
    } else {
      high = u;
      at_high = there;
      if (last == now) at_low *= 0.5;
    }
    last = now;
    if (there == 0.0 || moved <= resolution || high - low <= resolution) break;
  }
  return u;
}

/// Marches over the guards that are not affine, up to the crossing that was found before. `range(k, part, r)` gives
/// bounds, or false if there are none; `values(u)` the values of all guards at a place. `left`: as above.
template <class Range, class Values>
void march(const Guards& guards, int left, double t, double h, Crossing& found, Range&& range, Values&& values) {
  const double resolution = Resolution::time(t, h) / size_of(h), limit = smaller(found.u, 1.0);
  double low = 0.0, size = 1.0;
  for (int pieces = 0; low < limit; ++pieces) {
    if (pieces == Resolution::most_pieces) {
      found.denied = found.unproved = true;
      return;
    }
    const StepPart part{low, smaller(low + size, limit)};
    const bool tiny = size <= Resolution::touch;
    bool undecided = false, falls = false;
    for (int k = 0; k < guards.count && !undecided; ++k) {
      if (guards.sides[k] == 0 || guards.affine[k]) continue;
      GuardRange r;
      if (!range(k, part, r)) {
        found.unproved = true;
        return;
      }
      const Passage kind = passage(guards.sides[k], r);
      // a guard that begins at zero with a slope of zero: the pieces behind this one tell where it goes
      if (kind == Passage::undecided && tiny && k == left && low == 0.0) continue;
      if (kind == Passage::undecided && !tiny) undecided = true;
      falls = falls || kind != Passage::stays;
    }
    if (undecided) {
      size = 0.5 * (part.high - low);
      continue;
    }
    if (falls) {
      Crossing here;
      for (int k = 0; k < guards.count; ++k) {
        if (guards.sides[k] == 0 || guards.affine[k]) continue;
        GuardRange r;
        if (!range(k, part, r) || passage(guards.sides[k], r) == Passage::stays) continue;
        if (tiny && k == left && low == 0.0) continue;
        const auto value = [&](double u) { return guards.sides[k] * values(u)[k]; };
        const double at_high = value(part.high);
        if (at_high > 0.0) continue;
        const double at_low = value(low);
        const bool known = at_high <= 0.0 && at_low == at_low;
        if (!known || (k == left && low == 0.0)) {
          found.denied = true;
          found.unproved = !known;
          return;
        }
        here.add(k, at_low > 0.0 ? only_zero_between(low, part.high, at_low, at_high, resolution, value) : low,
                 resolution);
      }
      if (here.guard >= 0) {
        const bool together = here.together;
        found.add(here.guard, here.u, resolution);
        found.together = found.together || together;
        return;
      }
    }
    low = part.high;
    size = 2.0 * size;
  }
}

/// The inputs of the program of bounds (GuardBounds) for a piece of a step, 2 + 6 n numbers: time, then the variables
/// and their slopes. Variables are polynomials there: about the middle they are shifted to, terms of the second and
/// higher orders are what they may deviate by, and rounding errors. x: where the step began.
inline void find_ranges(int n, int degree, double t, double h, const double* x, const StepView& s, const StepPart& part,
                        double* in) {
  constexpr double unit = Resolution::shifted;
  const double middle = 0.5 * (part.low + part.high);
  const double radius = (1.0 + 4.0 * Resolution::epsilon) * larger(part.high - middle, middle - part.low);
  in[0] = t + middle * h;
  in[1] = radius * h + unit * (size_of(t) + h);
  for (int j = 0; j < n; ++j) {
    double p[highest_crossing_degree + 1], size = size_of(x[j]), slope_size = 0.0;
    p[0] = x[j];
    for (int k = 1; k <= degree; ++k) {
      p[k] = s.dense[((k - 1) * n + j) * s.stride];
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

}  // namespace saltus::flight
