// Trials: whether a solution can go on from a point with given positions of the guards. Nothing but the trial itself
// changes.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <span>
#include <string>
#include <vector>

#include "hybrid/consistency.hpp"
#include "hybrid/failure.hpp"
#include "hybrid/guard_sides.hpp"
#include "hybrid/instant/point.hpp"
#include "hybrid/trial_values.hpp"

namespace saltus {

/// The circumstances of all trials of one instant.
struct Circumstances {
  double t = 0.0;
  Cause cause = Cause::mode_change;
  std::vector<int> set = {};  ///< variables that resets have given values
};

/// A discrete state with the values that it has, and where its guards go from there.
struct Trial {
  Point point;
  System* system = nullptr;
  GuardSides view;
  std::vector<int> exits;           ///< of a mode on surfaces, see HybridSystem::exit_guards
  Failure failure;                  ///< there are no values, because of this
  bool jumps = false;               ///< the state has moved, and no reset has moved it
  std::vector<double> alternative;  ///< a second point that is as good; empty: none
};

/// The impulses of guards whose functions contain algebraic variables (the current of a diode), while the state jumps.
struct Impulses {
  std::vector<int> allowed;  ///< guards with an impulse to the side of their position
  int forbidden = -1;        ///< a guard with an impulse to the other side; -1: no guard has one
  /// Surfaces that cannot carry theirs: the weight of a slide is bounded (dry friction has a largest force), and a
  /// contact pushes, but does not pull.
  std::vector<int> overloaded;
  std::vector<double> sizes;  ///< by guard of the family: of its impulse, 0 where it has none; empty: not known
};

std::vector<std::string> names_of(const HybridSystem& hybrid, std::span<const int> guards);

class Trials {
 public:
  Trials(HybridSystem& hybrid, int direction);

  Uncertainty doubt;

  HybridSystem& hybrid() { return hybrid_; }
  Consistency& consistency() { return consistency_; }
  int family_guards() const { return static_cast<int>(hybrid_.guards().size()); }
  int direction() const { return direction_; }
  int side_at_zero(int guard) const { return hybrid_.guards()[static_cast<std::size_t>(guard)].side_at_zero; }
  /// Whether some transitions belong to the field (HybridSystem::take_paired_side).
  bool takes_paired_sides() const { return takes_paired_sides_; }
  /// Guards with a second one for the same function; empty: none.
  bool has_second(int guard) const { return !has_second_.empty() && has_second_[static_cast<std::size_t>(guard)] != 0; }
  /// The guard under whose name a guard fires.
  int named(int guard) const {
    const int other = hybrid_.guards()[static_cast<std::size_t>(guard)].same_as;
    return other >= 0 ? other : guard;
  }

  /// Finds the values that trial.point.mode has from `from`, and looks at its guards there. False: there are none, see
  /// trial.failure.
  bool test(const Point& from, const Circumstances& now, Trial& trial);
  /// The first half of it.
  bool find_values(const Point& from, const Circumstances& now, Trial& trial);
  /// The second half.
  void look(double t, Trial& trial);
  /// The impulses with which the state of a trial has jumped from a point. None where they are not unique, or the mode
  /// is too large for dense matrices.
  Impulses impulses(const Point& from, double t, const Trial& trial) const;
  /// Their sizes where no state has jumped: of x and y in x' + y', each may jump. Empty: no variable has.
  std::vector<double> inner_impulses(const Point& from, double t, const Trial& trial) const;
  /// The guards that would decide whether a mode on surfaces stays there do: weights between 0 and 1, forces that push.
  bool surfaces_hold(const Trial& trial) const;
  bool weights_admissible(const Trial& trial) const;
  /// Whether a guard of the family stands where the solution goes; `side`: where it is locked.
  bool fits(const Trial& trial, int guard, int side) const {
    const int seen = trial.view.side(guard);
    return side == 0 || seen == side || (seen == 0 && hybrid_.rests(trial.point.mode, guard));
  }
  bool fits(const Trial& trial);
  /// Whether each weight that is an unknown changes the equations: where both sides of a surface agree there is nothing
  /// to slide with.
  bool weights_matter(System& system, double t, std::span<const double> x, std::span<const double> xp) const;
  /// False if the equations do not contain one of the weights that are unknowns: no values need to be looked for.
  bool weights_appear(System& system, double t, std::span<const double> x, std::span<const double> xp) const;
  /// False if the structure of a slide leaves weights open, as on the surface of a guard that depends on time alone
  /// through other equations: no values need to be looked for.
  bool can_determine_weights(const System& system);
  /// True if weights that are unknowns are added to the equations, not multiplied with other unknowns: one guess is
  /// enough for them.
  bool weights_are_added(System& system, double t, std::span<const double> x, std::span<const double> xp) const;
  /// Whether the mode is regular and its weights mean something; after find_values.
  bool is_regular(const Trial& trial, double t);
  /// Whether a mode is singular by its structure or, where that promises a mode without hidden constraints, by its
  /// values.
  bool is_singular(const Point& from, const Mode& mode, double t);
  /// True if the equations of a mode hold on both sides of a guard with the same values wherever the guard is zero (the
  /// curve of a diode): there is nothing to slide on.
  bool continuous_across(const Mode& mode, int guard, double t, std::span<const double> x, std::span<const double> xp);
  /// Weights that are unknowns follow the variables of the family; they start in the middle.
  void fit(const System& system, std::vector<double>& x) const;
  /// Whether two points are the same within the tolerance.
  bool near(std::span<const double> a, std::span<const double> b) const;
  /// How much they differ, in errors of a step.
  double distance(std::span<const double> a, std::span<const double> b) const;
  /// What is not certain about a function is so for both guards that have it.
  void share_doubts();
  /// Guards whose values depend on algebraic variables, so that they have none before the mode is known.
  std::vector<int> switches_at(const Trial& trial, double t) const;
  std::vector<std::string> names(std::span<const int> guards) const { return names_of(hybrid_, guards); }
  TrialValues& newton() { return newton_; }

 private:
  System& system_of(const Mode& mode);
  bool state_jumps(const Point& from, const Circumstances& now, const Trial& trial) const;
  bool jump_beside_resets(const Point& from, const Circumstances& now, Trial& trial);
  void keep_alternative(const Point& from, Trial& trial);
  std::span<const double> alternative_of(const Trial& trial);
  std::span<const double> noise_on_surfaces(const System& system, const Mode& mode, std::span<const int> exits);

  HybridSystem& hybrid_;
  int direction_;
  bool takes_paired_sides_;
  std::vector<int> fixed_;
  std::vector<char> has_second_;
  std::vector<int> seconds_;  // guards that have the function of another one
  Consistency consistency_;
  TrialValues newton_;
  std::vector<double> alternative_here_, noise_;  // workspace
  Mode paired_;                                   // workspace
  std::vector<Position> positions_;               // workspace
};

}  // namespace saltus
