// What is zero, what is the same time, what is too short: the tolerances of events, each of them once.
//
// Inputs are the unit of rounding, the tolerances of the run, the time and the length of a step. Plain arithmetic
// without a library: the same text is compiled for processors and, at run time, for devices.
#pragma once

namespace saltus::flight {

struct Resolution {
  static constexpr double epsilon = 0x1p-52;  ///< distance from 1 to the next number

  /// Rounding errors of a guard, relative to the sum of the magnitudes of its terms. A term is a product of some
  /// factors (each rounded), and is added to others: 16 operations, with a margin of two.
  static constexpr double guard = 32.0 * epsilon;
  /// Relative error of a polynomial that is shifted to the middle of a piece: 16 operations for the highest degree,
  /// with a margin of two.
  static constexpr double shifted = 32.0 * epsilon;
  /// A guard of time alone: two roundings of its value at t, with a margin of four.
  static constexpr double clock = 8.0 * epsilon;
  /// Two guards of time alone are due together: the rounding of t, with a margin of four.
  static constexpr double clocks_together = 4.0 * epsilon;
  /// The first coefficients of a guard that begins at zero are errors of the reset, beside the largest one.
  static constexpr double leading = 1e-6;
  /// The slope of a guard that leaves zero is zero, beside what the guard moves by in a step.
  static constexpr double leaving = 1e-9;
  /// Pieces of a step, as a part of it, are not halved further: what is undecided then touches.
  static constexpr double touch = 0x1p-40;
  /// The most pieces into which one step is divided; then it is made again, shorter.
  static constexpr int most_pieces = 400;
  /// The ratio of the differences of arrivals that still have a limit: q/(1 - q) amplifies rounding errors by 10^3.
  static constexpr double largest_ratio = 0.999;
  /// A correction by Newton's method, beside what it corrects: the next one would be a rounding error, since it is as
  /// large as the square of this one.
  static constexpr double converged = 1e-10;
  /// A variable that changes by so few tolerances from one arrival to the next is at rest: times 10^3 it is below a
  /// thousandth of its tolerance.
  static constexpr double resting = 1e-6;

  /// Times that are one: t + u h is rounded twice, and the root of a polynomial four times; with a margin of four.
  static double time(double t, double h) {
    const double from = t < 0.0 ? -t : t, length = h < 0.0 ? -h : h;
    return 16.0 * epsilon * (from < length ? length : from);
  }
  /// A step that is too short to be told from none.
  static double shortest_step(double t, double limit) {
    const double from = 4.0 * epsilon * (t < 0.0 ? -t : t), way = 1e-24 * (limit - t), least = 1e-290;
    const double most = from < way ? way : from;
    return most < least ? least : most;
  }
};

}  // namespace saltus::flight
