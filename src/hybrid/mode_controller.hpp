// The mode controller: at one instant, runs discrete actions, finds consistent values, decides on which side of each guard the solution
// goes on, and chooses between crossing and sliding, until everything fits together.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hybrid/consistency.hpp"
#include "hybrid/event_log.hpp"
#include "hybrid/failure.hpp"
#include "hybrid/guard_sides.hpp"
#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"
#include "hybrid/trial_values.hpp"

namespace saltus {

class ModeController {
 public:
  ModeController(HybridSystem& hybrid, int direction, int max_mode_changes);

  /// The mode and values that are being settled; the result after settle(). In between they are the state of the run.
  Transition transition;
  std::vector<double> xp;  ///< derivatives that go with transition.x

  // --- what an event knows
  std::vector<double> bracket_noise;  ///< by guard: how much it changes over the bracket of the event
  std::vector<double> slope_error;    ///< by guard: what the slopes that the equations give lack; empty: nothing
  std::vector<double> twin;           ///< another point that is as good as transition.x, within the tolerance, or empty
  double tolerance = 1e-6;            ///< relative accuracy of values
  std::vector<double> sizes;          ///< by variable, or one for all: what counts as 1 for the tolerance, atol/rtol
  double time_scale = 1.0;            ///< a time over which the solution changes noticeably
  bool stop_if_non_unique = false;

  /// Forgets what the last instant knew.
  void begin_instant() {
    fired_.clear();
    fired_direction_.clear();
    opened_.clear();
    left_by_weight_ = selected_ = trying_ = false;
    left_guard_ = lone_guard_ = -1;
    led_here_ = nullptr;
    if (failure_) failure_ = {};
    view_current_ = false;
  }
  /// Nothing has acted so far, in `transition`.
  void forget_actions() {
    resize(transition.reset, transition.x.size());
    for (char& reset : transition.reset)
      if (reset) reset = 0;  // few, as a rule: a call of memset would take longer
    reset_ = false;
    transition.terminate = transition.failed = transition.recorded = false;
    transition.message.clear();
    transition.fired.clear();
    if (!transition.contradictions.empty()) transition.contradictions.clear();
    if (!contradiction.empty()) contradiction.clear();
  }
  /// The event begins in this mode, at transition.x with the derivatives xp: guards that are dormant there are locked where the solution is. The
  /// mode must stay until settle() has returned. Before fire().
  void arrive(const Mode& from, double t);
  /// The solution leaves a mode because this guard fires, with this slope there. The mode must stay until settle() has returned.
  void leave(const Mode& from, int guard, double slope);
  /// This guard alone has fired, by its value or by time. After arrive().
  void alone(int guard) { lone_guard_ = guard; }
  /// A guard left its side: changes the side in transition.mode. For a weight of a sliding mode or the force of a contact (numbers after
  /// the family's guards) the surface is left.
  void fire(int guard);
  /// Infinitely many resets by this guard, of which the last moved the state from x_before to where it is, are over: the solution, which came from
  /// this side, goes on in contact with its surface, if there is such a mode and it would hold. False: nothing has changed.
  bool rest_on(int guard, int side, const EventInput& input);
  /// Why the last one was in vain: the contact would hold if relations on the surface had the truth that they have beside it.
  bool rest_denied() const { return rest_denied_; }
  /// Infinitely many switchings of these guards are over: the solution goes on where their surfaces meet, if there is such a mode. False: nothing has
  /// changed.
  bool slide_on(std::span<const int> guards, double t);

  /// Before the discrete part runs for the first time: consistent values and sides as the start says, so that no clause sees an edge.
  bool prepare(double t);
  /// Runs until nothing changes. False: see failure(). Ends early where the model terminates the run.
  bool settle(const EventInput& input);
  /// Whether this guard has left this side, on which it is locked, in this mode before, in a way that can be repeated.
  bool remembers(int guard, int side);
  /// The mode in which it did, if it was exactly the present one, otherwise null.
  const Mode* remembered() const { return exact_ ? &remembered_->before : nullptr; }
  /// It has done so again, alone: does what was done then, instead of arrive(), fire() and settle(), if what settle() would find is the same.
  /// `from`: the present mode, kept. After remembers(). False: all of it has been undone.
  bool repeat(const Mode& from, int guard, const EventInput& input);
  /// For whoever records events: the tag that this one has in common with those that it repeats exactly, not known at first. Null: there are none.
  EventTag* tag_of_repeated() const { return led_here_ && exact_ ? &led_here_->tag : nullptr; }
  /// The sides of all guards of the family if the last event was repeated, otherwise none.
  std::span<const signed char> sides_of_repeated() const { return led_here_ ? std::span<const signed char>(led_here_->sides) : std::span<const signed char>{}; }
  /// No guard that fired matters: goes on from transition.x as it is, instead of settle(). False: see failure().
  bool pass(double t);
  const Failure& failure() const { return failure_; }
  /// Keeps a text about clauses that contradict each other, in `contradiction`. Called by settle().
  void note_contradictions();
  std::string contradiction;  ///< of this instant; empty: none

  // --- the outcome
  System& system() { return *system_; }
  Consistency& consistency() { return consistency_; }
  const GuardSides& sides() const { return sides_; }
  /// Whether the model has set variables.
  bool reset() const { return reset_; }
  const std::vector<int>& fired() const { return fired_; }
  const std::vector<int>& fired_direction() const { return fired_direction_; }
  std::vector<std::string> guard_names(std::span<const int> guards) const;
  int family_guards() const { return family_guards_; }

  /// Consistent values of transition.mode at transition.x, once more.
  bool find_values(double t, Cause cause);
  /// Looks at all guards of the current system at the current point, unless it has just done so.
  void look(double t) {
    if (!view_current_) look_again(t);
  }
  /// The instant is over: very large modes give back what only the next one needs.
  void end_instant() { give_back(transition.x.size(), twin, x_before_values_, twin_here_); }
  /// What look() saw no longer holds: something about the point or its noise is different.
  void forget_view() { view_current_ = false; }

 private:
  void look_again(double t);
  void look_at(GuardSides& sides, System& system, const Mode& mode, double t, std::span<const double> x, std::span<const double> derivative);
  /// What settle() has done so far.
  struct Rounds {
    std::size_t seen = 0, before_action = 0;  // modes in seen_, and those before the model acted last
    int regimes = 0;                          // that were chosen anew
    // --- sides that are tried, see tried_sides.cpp
    std::size_t first = 0;  // of seen_ from which sides are tried
    bool from_entry = false;  // they are tried from before that, where guards have fired
    bool trying = false;      // sides have been changed at zero since then
    bool undoable = false;    // the model has acted for them
    bool taken_back = false;  // it was looked whether they go back

    void forget() { *this = {.regimes = regimes, .taken_back = taken_back}; }
    /// What has happened so far has really happened.
    void try_from(std::size_t round) {
      first = round;
      from_entry = trying = undoable = false;
    }
  };
  struct Seen {
    Mode mode;
    std::vector<double> x;
    std::vector<char> reset;
    std::size_t actions = 0, contradictions = 0, firings = 0;  // so far
    bool recorded = false;
  };
  enum class Next { again, done, failed };
  Next let_model_act(const EventInput& input, bool first_round, Rounds& rounds, bool& acted);
  Next find_point(const EventInput& input, Cause cause, bool seen_here);
  Next choose_anew(const EventInput& input, Cause cause, Rounds& rounds);
  std::size_t rounds_until_tried(const Rounds& rounds) const;
  void note_round(Rounds& rounds);
  bool returns(const Rounds& rounds);
  bool fail_in_circle(double t);
  void keep_entry();
  void go_back_to(const Seen& kept);
  bool takes_back(const Rounds& rounds, double t);
  bool may_slide(int guard, double t);
  Next take_back(const EventInput& input, Rounds& rounds);
  bool go_on_from(const Seen& kept, const Mode& tried, const EventInput& input, bool& failed);
  void keep_truth(const Mode& before);
  /// The state from which sides are tried.
  const Seen& first_tried(const Rounds& rounds) const { return rounds.from_entry ? entered_ : seen_[rounds.first]; }
  bool jump_beside_resets(double t);
  bool find_values_of_system(double t, Cause cause);
  bool near(std::span<const double> a, std::span<const double> b) const;
  void keep_twin(std::span<const double> before);
  std::span<const double> twin_of(std::span<const double> x) const;
  static constexpr double negligible_part = 1e-6;  // of a step: what happens within it is far below the tolerance
  /// What is not certain about a point of the present instant.
  GuardSides::Doubt doubt_at(std::span<const double> x) const {
    return {bracket_noise, slope_error, twin_of(x), left_by_weight_ ? negligible_part * time_scale : 0.0};
  }
  void fit(const System& system, std::vector<double>& x) const;
  bool took_part(int guard) const;
  bool matters(int guard, int to_side);
  bool follow_dormant(const GuardSides& seen);
  bool side_fits(int guard, int now) const;
  /// The guard under whose name a guard fires.
  int named(int guard) const {
    const int other = hybrid_.guards()[static_cast<std::size_t>(guard)].same_as;
    return other >= 0 ? other : guard;
  }
  bool sides_fit() const;
  bool adjust_sides(double t);
  bool zeros_wait() const;
  bool sides_by_value(double t);
  bool weights_admissible() const;
  bool move_across_surfaces();
  void release(int surface);
  bool release_contacts();
  bool has_opened(int guard) const {
    return std::any_of(opened_.begin(), opened_.end(), [guard](const Opened& contact) { return contact.guard == guard; });
  }
  bool stay_open(double t);
  bool surfaces_hold(const Mode& mode, const GuardSides& sides) const;
  bool stays_on_surfaces(double t);
  void try_force_beside(int guard, int side, double t);
  std::span<const double> noise_on_surfaces(const System& system, const Mode& mode);
  void go_back(const Mode& mode, const std::vector<double>& x, const std::vector<double>& derivatives);
  bool leave_surfaces(const EventInput& input);
  void stay_at_zero(const EventInput& input, std::span<const int> guards);
  void share_doubts();
  bool slides_no_more(double t);
  bool stop_sliding();
  bool select_sides(double t, Cause cause);
  bool select_regular_sides(double t, Cause cause, int most_flips);
  bool search_sides(double t, Cause cause, int most_flips, bool regular_only);
  bool leads_nowhere(System& system, double t);
  bool may_fit(std::span<const int> switches) const;
  bool combination_fits(double t, Cause cause, std::span<const int> switches);
  bool choose_regime(const EventInput& input);
  void choose_at_start(double t);
  std::span<const int> active_surfaces();
  bool slides_alone(int guard);
  /// A way to go on from a point on surfaces.
  struct Regime {
    Mode mode;
    std::vector<double> x;  ///< with the weights that are unknowns
    bool rests = false;     ///< on a surface that it does not slide on
  };
  bool take_regime(std::span<Regime> feasible, double t);
  std::optional<Regime> regime_where_surfaces_meet(const EventInput& input);
  std::vector<Regime> feasible_regimes(const EventInput& input, std::span<const int> surfaces);
  std::vector<Regime> all_regimes(const EventInput& input, std::span<const int> surfaces, bool before_actions = false);
  std::optional<Regime> pivot(const EventInput& input, std::span<const int> surfaces);
  std::optional<Regime> try_regime(const EventInput& input, std::span<const int> surfaces, std::span<const int> wanted,
                                   GuardSides* view = nullptr, bool before_actions = false);
  Next try_once(Regime& regime, const EventInput& input, std::span<const int> surfaces, std::span<const int> wanted, GuardSides& sides, bool before_actions);
  bool others_follow(Mode& mode, std::span<const int> surfaces, const GuardSides& sides) const;
  bool goes_on(double t, const Mode& mode, std::vector<double>& x, GuardSides& sides);
  bool weights_matter(System& system, double t, std::span<const double> x, std::span<const double> derivative) const;
  bool sides_fit(const Mode& mode, std::span<const int> surfaces, std::span<const int> wanted, const GuardSides& sides) const;
  bool check_uniqueness(const EventInput& input, bool moved);
  bool note_alternatives(double t, std::size_t count, const Mode& taken);
  bool fail(StatusCode code, std::string message, std::vector<std::string> culprits = {});
  void note_firing(int guard, int to_side);
  void add_firing(int guard, int to_side);
  bool pushed_back() const;
  /// A number of a mode that becomes another one.
  struct Change {
    std::vector<double> Mode::* list;
    std::size_t place;
    double value;
  };
  /// What happened when one guard left a mode.
  struct Familiar {
    Mode before, acted;                // `acted`: after the guard has changed its side and the model has acted
    std::vector<Change> settling;      // what became of `acted`
    std::vector<signed char> sides;    // of all guards afterwards
    std::vector<int> fired, directions;
    int side = 0;                      // of the guard, before it fired
    bool leaves = false;               // the guard must be away from zero afterwards: on the surface the solution may not be unique
    bool known = false;
    int learned_in_vain = 0;               // times, since it was repeated last
    const Familiar* follower = nullptr;    // begins exactly in the mode to which this one leads
    EventTag tag;                          // see tag_of_repeated
  };
  static std::size_t place_of(int guard, int side) { return 2 * static_cast<std::size_t>(guard) + (side > 0 ? 1 : 0); }
  void learn();
  static void find_changes(const Mode& from, const Mode& to, std::vector<Change>& found);
  static void apply(std::span<const Change> changes, Mode& mode) {
    for (const Change& change : changes) (mode.*change.list)[change.place] = change.value;
  }
  bool goes_as(const Familiar& event, int guard, const EventInput& input);
  bool looks_like(const Familiar& event, int guard);

  HybridSystem& hybrid_;
  int direction_, max_mode_changes_, family_guards_;
  bool learns_;  // events that may come again
  std::vector<int> fixed_;
  std::vector<char> has_second_;  // by guard: another one has its function; empty: there are none
  std::vector<int> turned_;       // guards that have changed their side at zero
  bool zeros_wait_ = false;       // those that are zero, until others have changed theirs
  bool rest_later_ = false;       // guards that vanish stay on their sides for now
  System* system_ = nullptr;
  Consistency consistency_;
  GuardSides sides_;
  std::vector<int> fired_, fired_direction_;
  struct Opened {
    int guard, side;  // to which the solution goes back
  };
  std::vector<Opened> opened_;  // contacts that have opened at this instant because of their forces
  bool rest_denied_ = false;
  std::vector<double> force_noise_;        // by guard: of the force of its contact
  std::vector<double> noise_on_surfaces_;  // workspace
  bool left_by_weight_ = false;
  bool reset_ = false;  // transition.any_reset()
  bool selected_ = false;  // a regular combination of switches was looked for and found
  Failure failure_;
  bool view_current_ = false;
  std::vector<double> x_before_values_;
  std::vector<Seen> seen_;  // at this instant, before sides were adjusted; kept for its memory
  Seen entered_;            // before guards have changed their sides by firing
  bool trying_ = false;     // they have
  std::string start_note_;  // about the regime that was chosen at the start
  const Mode* begun_ = nullptr;  // the mode in which the instant began, with dormant guards as they lay then
  Mode refreshed_;               // room for it
  Mode flipped_;                 // workspace
  Transition trial_;             // workspace
  std::vector<double> trial_xp_;  // workspace
  std::vector<int> watched_;     // workspace
  const Mode* left_ = nullptr;  // where the event came from
  int left_guard_ = -1;      // by which guard; -1: not known, or by several
  int lone_guard_ = -1;      // that has fired alone, -1: there is none
  double left_slope_ = 0.0;
  /// Whether a surface could be slid on by itself, in the mode that was asked about last.
  struct Alone {
    Mode mode;
    bool possible = false;
    bool known = false;
  };
  std::vector<Alone> alone_;  // by guard
  std::vector<int> surfaces_;  // that are active
  std::vector<Familiar> familiar_;  // two by guard, for either side
  Familiar* remembered_ = nullptr;
  Familiar* led_here_ = nullptr;  // the event that led to the present mode, if it was repeated
  bool exact_ = false;            // also in the numbers of the mode
  Mode acted_;                    // of this instant
  TrialValues trial_values_;  // of a combination of switches
  GuardSides trial_sides_;   // of a regime that is being tried
  mutable std::vector<double> twin_here_;
};

}  // namespace saltus
