// On which side of each guard does the solution go on from a point?
#pragma once

#include <saltus/dae/system.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "hybrid/consistency.hpp"

namespace saltus {

/// The guards of the system if all of them are linear, otherwise none: values and slopes then need no evaluations.
inline std::span<const LinearGuard> all_linear(System& system) {
  const auto linear = system.linear_guards();
  return static_cast<int>(linear.size()) == system.structure().guards ? linear : std::span<const LinearGuard>{};
}
/// Time derivative of a linear guard along xp; `slope`: of what is not in its variables.
inline double slope_of(const LinearGuard& guard, std::span<const double> xp, double slope) {
  for (std::size_t i = 0; i < guard.variables.size(); ++i) slope += guard.coefficients[i] * xp[static_cast<std::size_t>(guard.variables[i])];
  return slope;
}
inline double slope_of(const LinearGuard& guard, std::span<const double> xp) { return slope_of(guard, xp, guard.time); }

/// Decides sides at a point. A guard that is clearly not zero has the side of its sign. One that is zero within its noise has the sign of
/// its first time derivative that does not vanish, along the solution in the given system (from Taylor coefficients): no offsets, no
/// waiting times.
class GuardSides {
 public:
  /// What is not certain about a point. Empty lists: everything is.
  struct Doubt {
    std::span<const double> noise = {};        ///< by guard: at least so much; what an event's bracket leaves undecided
    std::span<const double> slope_error = {};  ///< by guard: to be added to the slopes that the equations give
    std::span<const double> twin = {};         ///< a second point that is as good as x: what differs between the two means nothing
    /// > 0: a surface is being left along which the solution slid, so that slopes alone cannot tell. What lasts for less than this time, until
    /// higher derivatives outweigh it, is an error.
    double tangential = 0.0;
    double horizon = std::numeric_limits<double>::infinity();  ///< what the last coefficient does later is not known
  };
  /// Evaluates all guards of the system at the point. `direction` is that of time; `scale` a time over which the solution changes
  /// noticeably (the last step size), used where a system has no Taylor coefficients. `consistency` knows the solutions of modes that are
  /// not explicit.
  void look(System& system, Consistency& consistency, double t, std::span<const double> x, std::span<const double> xp, int direction,
            double scale, const Doubt& doubt);
  /// The usual case, in one pass: all guards of an explicit mode are linear, and no twin is known. Returns whether values and slopes decided all.
  bool look_along(std::span<const LinearGuard> linear, System& system, double t, std::span<const double> x, std::span<const double> xp,
                  int direction, const Doubt& doubt);
  /// Guards that vanish in the mode because it stays on their surfaces: nobody asks for their sides. Before look().
  void ignore(std::span<const int> sliding, std::span<const int> contacts) {
    if (sliding.empty() && contacts.empty() && ignored_.empty()) return;
    ignored_.assign(sliding.begin(), sliding.end());
    for (const int k : contacts) ignore_too(k);
  }
  /// One more, until the next call of ignore().
  void ignore_too(int guard) { ignored_.insert(std::upper_bound(ignored_.begin(), ignored_.end(), guard), guard); }

  /// Guards that are zero at the point, and zero wherever the invariants of the system hold (the speed of a ball in contact), have no side: what
  /// the equations make of them is rounding errors. A point beside, moved back onto the invariants, tells. After look() at the same point;
  /// `size`: by variable, what counts as 1 (the last one also for further variables).
  void rest_on_invariants(System& system, double t, std::span<const double> x, std::span<const double> xp, std::span<const double> size);

  /// Nothing has been looked at yet.
  bool empty() const { return seen_.empty(); }
  int count() const { return static_cast<int>(seen_.size()); }
  /// The guards that are not clearly beside zero, increasing: all others have the multiplicity 0 and the side of their values.
  std::span<const int> zeros() const { return zeros_; }
  /// +1 or -1; 0 if the guard vanishes with all derivatives that were computed.
  int side(int guard) const { return seen_[guard].side; }
  /// The guard goes to a side for reasons that its derivatives here do not show.
  void set_side(int guard, int side) { seen_[guard].side = side; }
  /// Side 0 because a derivative is not finite: nothing can be said.
  bool undefined(int guard) const { return seen_[guard].undefined; }
  /// Multiplicity of the zero at the point: 0 if the guard is not zero; 2 if it vanishes with all derivatives that were computed.
  int multiplicity(int guard) const { return seen_[guard].multiplicity; }
  /// Time derivative of a guard whose zero has the multiplicity 1; of others it means nothing.
  double slope(int guard) const { return seen_[guard].slope; }
  /// Taylor coefficients of a guard along the solution through a consistent x, up to an order; NaN without them.
  static std::vector<double> coefficients(int order, System& system, Consistency& consistency, double t, std::span<const double> x, int guard);
  /// d/dt of a guard along the solution through a consistent x; NaN without Taylor coefficients.
  static double speed(System& system, Consistency& consistency, double t, std::span<const double> x, int guard);
  /// Those of all guards; not a number where there is no series.
  static std::vector<double> speeds(System& system, Consistency& consistency, double t, std::span<const double> x);
  /// The second derivative.
  static double bend(System& system, Consistency& consistency, double t, std::span<const double> x, int guard);
  double value(int guard) const { return g_[guard]; }
  /// How much each guard moves when the values have errors of the size of the tolerance: rtol and atol for each variable, or one for all.
  static std::vector<double> uncertainty(System& system, double t, std::span<const double> x, std::span<const double> xp,
                                         std::span<const double> rtol, std::span<const double> atol);
  /// How much a guard moves when its variables have the rounding errors of the constraints in which they stand: a position that a rod keeps at a
  /// distance from another one has the digits of that one. 0 in explicit modes.
  static double noise_of_constraints(System& system, double t, std::span<const double> x, std::span<const double> xp, int guard);
  /// Below this the sign of the value means nothing.
  double noise(int guard) const { return seen_[guard].noise; }

 private:
  /// What is known about a guard at the point.
  struct Seen {
    double noise, rounding, slope;
    int side, multiplicity;
    bool undefined;

    /// The side of a value that is clearly not zero, otherwise 0; `least`: the noise is not smaller. Returns whether it has one.
    bool decide_by_value(double value, double least) {
      noise = std::max(4.0 * noise + std::numeric_limits<double>::min(), least);
      side = (value > noise) - (value < -noise);
      multiplicity = 0;
      undefined = false;
      slope = 0.0;
      return side != 0;
    }
    void decide(double slope_here, int direction) {
      side = slope_here * direction > 0.0 ? +1 : -1;
      multiplicity = 1;
      slope = slope_here;
    }
  };
  using Linear = std::span<const LinearGuard>;  ///< of all guards, or empty

  void estimate_noise(const LinearGuard& guard, double t, std::span<const double> x, std::span<const double> xp);
  void estimate_noise(System& system, double t, std::span<const double> x, std::span<const double> xp);
  void raise_noise(System& system, double t, std::span<const double> x, std::span<const double> xp);
  /// x with the rounding errors that its values may have.
  std::span<const double> shifted(std::span<const double> x);
  bool use_slopes(System& system, double t, std::span<const double> x, std::span<const double> xp, int direction, const Doubt& doubt);
  void use_taylor(System& system, Linear linear, double t, std::span<const double> x, int direction, const Doubt& doubt);
  bool use_linear_slopes(Linear linear, std::span<const double> xp, int direction, double scale, const Doubt& doubt);
  bool use_series(System& system, Consistency& consistency, double t, std::span<const double> x, int direction,
                  double scale, const Doubt& doubt);
  void choose_sides(int last, double t, int direction, bool errors_unknown, const Doubt& doubt);
  double lasts(std::size_t guard, int i, int last) const;
  double excursion(std::size_t guard, int i, int last, double horizon) const;
  void use_difference(System& system, double t, std::span<const double> x, std::span<const double> xp, int direction, double scale);
  /// Sides of the guards that are clearly not zero. Returns whether these are all.
  bool decide_by_values(std::span<const double> least_noise);
  bool all_decided() const;

  std::vector<double> g_;
  std::vector<Seen> seen_;
  std::vector<int> ignored_, zeros_;  // increasing
  std::vector<double> factors_;  // of shifted()
  std::vector<double> shifted_, series_, twin_series_, disturbed_, solution_, x_, xp_;  // workspace
};

/// Time derivatives of the first `count` guards at a point, along the solution of the system. Without Taylor coefficients a difference
/// quotient over a short time compared with `scale`.
class GuardSlopes {
 public:
  void find(System& system, double t, std::span<const double> x, std::span<const double> xp, double scale, int count,
            std::vector<double>& slopes);

 private:
  std::vector<double> X_, G_;
};

}  // namespace saltus
