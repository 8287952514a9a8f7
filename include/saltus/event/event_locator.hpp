// EventLocator: the earliest time in a step at which a guard leaves the side on which it is locked.
//
//   EventLocator locator;
//   while (stepper.advance(stop).ok()) {
//     if (locator.earliest(system, stepper.dense(), watch, event)) fire(event);
//     else if (locator.not_finite()) shorten(locator.finite_until());  // guards have no values beyond
//   }
//
// Guards that are known to be linear have a polynomial already. The others are enclosed over the step in interval
// arithmetic; a guard whose enclosure stays on its side costs nothing more. The guards that are left are evaluated at
// nine points of the step, fitted until the fit is known to the noise, all roots of the fit are isolated, and the
// earliest that matters is refined on the guard itself. In the end enclosures over parts of the step prove that there
// is no earlier crossing; a crossing that no sample has shown is found by that.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/event/bernstein.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// What the controller knows about a guard at the start of the step.
struct GuardWatch {
  /// +1: g > 0 is the locked side, -1: g < 0 is, 0: not watched.
  signed char side = 0;
  /// Multiplicity of the zero of g at the start of the step: 1 after a crossing, 2 after the end of sliding. It is
  /// divided out, so that the guard neither fires again nor hides a second zero close to the first.
  unsigned char known_root = 0;
  /// Below this |g| has no sign; 0: estimated from the magnitudes that enter g.
  double noise = 0.0;
};

/// A crossing as a bracket: at t_before the guards are on their side, at t_after those that fire are strictly on the
/// other. The two are one unit in the last place of the larger of |t0|, |t_after| apart, more only where rounding makes g
/// zero over a longer time or where several guards fire. For a zero at the very end of the step t_after lies up to 64
/// units beyond t1.
struct LocatedEvent {
  double t_before = 0.0;
  double t_after = 0.0;
  std::vector<int> guards;              ///< those that fire, increasing
  std::vector<signed char> directions;  ///< of g, in time as the integration runs: -1 falling, +1 rising
  bool at_start = false;                ///< the guard leaves its side at the very start of the step, or is out already
  bool proved = false;                  ///< true: certainly no earlier crossing; false: the samples show no earlier one
};

/// A zero that is no event.
struct GuardTouch {
  int guard = 0;
  double t_low = 0.0;  ///< the zero lies between these times, in the order of integration
  double t_high = 0.0;
  RootKind kind = RootKind::even;  ///< even, zero (throughout the step or a part of it), zero_at_end
};

/// How the search works. The defaults are meant to stay.
struct EventOptions {
  double fit_tolerance = 1e-10;  ///< error, relative to the largest |g|, of a fit that does not reach the noise
  int max_depth = 12;            ///< a step is halved at most so often where guards are not resolved
  int max_evaluations = 20000;  ///< of the guards in one step; beyond, what is known is used, and it is not resolved
  int max_enclosures = 2000;    ///< of the guards in one step; beyond, what is known is used, and it is not proved
  double simultaneous = 4.0;    ///< crossings that are this many units in the last place apart fire together
};

/// Counters, summed over all calls.
struct EventStatistics {
  std::int64_t steps = 0;        ///< calls
  std::int64_t evaluations = 0;  ///< of all guards at one point
  std::int64_t suspects = 0;     ///< guards that the first test did not clear
  std::int64_t pieces = 0;       ///< parts of steps that were searched
  std::int64_t events = 0;       ///< crossings found
  std::int64_t enclosures = 0;   ///< of guards, over parts of steps or at points
  std::int64_t hidden = 0;       ///< crossings that no sample has shown, only the proof
};

/// One object serves one thread. Nothing allocates once the largest number of guards, variables and simultaneous events
/// has been seen.
class EventLocator {
 public:
  explicit EventLocator(EventOptions options = {});
  ~EventLocator();
  EventLocator(EventLocator&&) noexcept;
  EventLocator& operator=(EventLocator&&) noexcept;

  /// Looks for the earliest crossing in (t0, t1] of a guard out of its locked side, along the direction of the step;
  /// false: there is none. A zero at t0 is no crossing: where the guard goes from there decides. `event` means
  /// something only on success. `linear` names guards of the system that are known to be linear; they must be what the
  /// system evaluates, up to rounding. Throws UsageError if the sizes of system, step, watch and linear do not fit.
  bool earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> watch, LocatedEvent& event,
                std::span<const LinearGuard> linear = {});

  /// Appends the watched guards that are not certain to stay on their sides during the step, without looking for their
  /// zeros. Systems without enclosures: all that are not linear.
  void find_uncertain(System& system, const DensePolynomial& step, std::span<const GuardWatch> watch,
                      std::span<const LinearGuard> linear, std::vector<int>& uncertain);

  // --- about the last call
  /// Zeros that are no events, before the event or in the whole step, guard by guard.
  std::span<const GuardTouch> touches() const;
  /// True if enclosures prove, up to rounding errors, that along the dense output no guard leaves its side before the
  /// event, or in the whole step. False for systems without enclosures (foreign code) unless their guards are linear.
  bool proved() const;
  /// True if every fit is known to the noise of its guard: what nine points or more show was taken into account.
  bool resolved() const;
  /// A watched guard is NaN or infinite within the step; only the part before finite_until() was searched.
  bool not_finite() const;
  /// The last time up to which the watched guards are finite; t1 if they all are.
  double finite_until() const;
  /// How finely the guards had to be looked at, in intervals per step: 0 if all are linear, 8 if the coarse grid was enough. Much
  /// more means that guards change faster than the solution does.
  double fineness() const;

  const EventStatistics& statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
