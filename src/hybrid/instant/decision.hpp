// How a solution goes on from a point: positions of the guards and values, with discrete variables as they are. Fields
// come first: what clauses would make of a position plays no part in whether the solution goes there.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hybrid/instant/regimes.hpp"
#include "hybrid/instant/switch_pivoting.hpp"
#include "hybrid/instant/trials.hpp"

namespace saltus {

/// How the solution has come to a point.
struct Approach {
  const Mode* left =
      nullptr;              ///< the mode that it leaves because one guard fires; null: not known, or several have fired
  int guard = -1;           ///< that guard
  double slope = 0.0;       ///< with this slope
  bool slide_ends = false;  ///< a weight has reached 0 or 1
  /// Contacts that open because of their forces: what is left of force and speed are errors.
  struct Opened {
    int guard, side;  ///< to which the solution goes back
  };
  std::vector<Opened> opened = {};
};

class Decision {
 public:
  explicit Decision(Trials& trials)
      : trials_(trials), hybrid_(trials.hybrid()), regimes_(trials), pivoting_(trials.hybrid()) {}

  bool stop_if_non_unique = false;

  /// Finds positions with which the solution goes on from `from`, beginning with those of trial.point.mode. False:
  /// failure() says why.
  bool decide(const Point& from, const Circumstances& now, Approach& approach, Trial& trial);
  /// Looks for other motions where the one that was found was not the only candidate. False: the run is to end, see
  /// failure().
  bool note_other_motions(double t, bool transversal, const Trial& trial);
  /// The same for the motion with which the solution leaves the instant. Where a guard rests within rounding errors,
  /// the trial becomes the mode that keeps it at zero.
  int stays(const Mode& mode) const;
  bool check_uniqueness(const Point& from, double t, bool transversal, Trial& trial);

  const Failure& failure() const { return failure_; }
  /// What the event is to say, and why the run is to stop at a surface; empty: nothing.
  std::string note, stop_message;
  void forget() {
    if (failure_) failure_ = {};
    if (!note.empty()) note.clear();
    if (!stop_message.empty()) stop_message.clear();
    selected_ = false;
  }
  /// The same for a new instant, which may search as long as any other.
  void begin() {
    forget();
    search_work_ = 0.0;
    if (!unfinished_.empty()) unfinished_.clear();
  }

 private:
  enum class Next { again, done, failed };
  bool decide_from_sides(const Point& from, const Circumstances& now, Approach& approach, Trial& trial);
  bool take_sides_of_guess(const Point& from, double t, Mode& mode) const;
  Next search(const Point& from, const Circumstances& now, Approach& approach, Trial& trial);
  bool widen_noise(const Trial& trial);
  void raise_noise(double t, Trial& trial);
  void raise_noise(std::span<const double> impulses);
  void follow_clear_slopes(double t, Trial& trial);
  bool rests_between(const Mode& other, double t, Trial& trial);
  bool by_clear_slopes(const Mode& other, const Trial& trial) const;
  void mark_zeros(const Point& from, double t, const Mode& mode);
  bool pushed_away(const Trial& trial, const Impulses& impulses) const;
  bool place(const Trial& trial, const Circumstances& now, const Approach& approach, Mode& next);
  bool place_dormant(Trial& trial) const;
  bool on_surface(const Trial& trial) const;
  void remember(const Mode& mode);
  bool choose_otherwise(const Point& from, const Circumstances& now, Trial& trial);
  Next without_values(const Point& from, const Circumstances& now, bool seen_here, Trial& trial);
  bool stop_sliding(Mode& mode) const;
  void leave_surfaces(std::span<const int> guards, Mode& mode) const;
  bool move_across_surfaces(Trial& seen, Point& from) const;
  void open_contacts(const Trial& trial, Mode& next, Approach& approach) const;
  bool stays_open(const Trial& trial, const Circumstances& now, const Approach& approach);
  bool fail(StatusCode code, std::string message, std::vector<std::string> culprits = {});
  Next failed(Failure reason) {
    failure_ = std::move(reason);
    if (!failure_.message.ends_with(unfinished_)) failure_.message += unfinished_;
    return Next::failed;
  }
  // --- motions of a point on surfaces, see motions.cpp
  std::vector<int> active_surfaces(double t, const Trial& trial) const;
  bool choose_regime(const Point& from, double t, Trial& trial);
  bool take_regime(std::span<Regime> feasible, double t, Trial& trial);
  std::optional<Regime> regime_where_surfaces_meet(const Point& from, double t, const Trial& seen);
  bool rests_instead(const Point& from, double t, Trial& trial);
  std::vector<Regime> all_motions(double t, bool transversal, const Trial& trial);
  Regime* kept_at_rest(std::span<Regime> feasible, const Trial& trial) const;
  bool count_motions(double t, std::span<const Regime> feasible, const Trial& trial);
  bool note_alternatives(double t, std::size_t count, const Mode& taken);
  // --- combinations of switches, see switch_search.cpp
  struct SwitchSearch {
    int most_flips = Resolution::most_switches;
    bool regular_only = false;  ///< modes that need no analysis
    bool without_jump = false;  ///< modes that need no impulse
    bool may_rest = false;      ///< switches may stay at zero, between their sides
  };
  bool search_switches(const Point& from, const Circumstances& now, const SwitchSearch& search, Mode& mode);
  bool give_up(std::span<const int> switches);
  bool pivot_switches(const Point& from, const Circumstances& now, std::span<const int> switches,
                      const SwitchSearch& search, Mode& mode);
  Mode with_sides_of_values(Mode mode, std::span<const int> switches) const;
  bool fits_by_values(const Point& from, const Circumstances& now, std::span<const int> switches,
                      const SwitchSearch& search, const std::vector<Mode>& candidates, Mode& mode);
  bool may_fit(const Mode& mode, std::span<const int> switches) const;
  bool combination_fits(const Point& from, const Circumstances& now, std::span<const int> switches,
                        const SwitchSearch& search, Trial& trial);
  bool rest_beside(const Point& from, const Circumstances& now, std::span<const int> switches,
                   const std::vector<int>& wrong, const Trial& trial);
  bool on_wrong_side(const Trial& trial, int guard) const;

  Trials& trials_;
  HybridSystem& hybrid_;
  Regimes regimes_;
  SwitchPivoting pivoting_;
  Failure failure_;
  bool selected_ = false;     // a combination of switches was looked for and found
  double search_work_ = 0.0;  // of the searches of this instant, see Resolution
  std::string unfinished_;    // what a message says about a search that was given up; empty: none was
  std::vector<Mode> tried_;   // positions that were tested from this point: the first ones of the list
  std::size_t tried_count_ = 0;
  Point on_surface_;                 // the last of their points at which a guard is zero, at a start; empty: none was
  std::vector<char> zero_;           // by guard: it was zero in one of them
  std::vector<int> clear_side_;      // by guard: the side to which its slope has led clearly; 0: to none
  std::vector<double> clear_value_;  // by guard: its last value that was clearly not zero; 0: it had no such value
  Mode next_;                        // workspace
  Trial attempt_;                    // workspace of regimes and combinations
  Trial beside_;                     // workspace: the combination on the other side of some switches
  std::vector<Position> positions_;  // workspace
};

}  // namespace saltus
