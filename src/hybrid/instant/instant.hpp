// What happens at one instant.
//
//   repeat
//     decide   positions and values with which the solution goes on, discrete variables as they are (decision.hpp)
//     commit   them
//     pass     every guard that is zero goes one step towards its position, as conditions see it
//     act      one round: discrete equations, clauses on edges, a transition, resets at its end
//   until nothing acts and every guard has arrived.
//
// Clauses act on committed points only, so nothing is ever undone. A committed point that comes back is a cycle, and
// ends the run.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "hybrid/event_log.hpp"
#include "hybrid/instant/decision.hpp"
#include "hybrid/instant/guard_passage.hpp"
#include "hybrid/instant/point.hpp"
#include "hybrid/instant/surface_edges.hpp"
#include "hybrid/instant/trials.hpp"
#include "hybrid/instant/visited_points.hpp"
#include "hybrid/large_modes.hpp"

namespace saltus {

/// Rounds in which resets shrink towards a limit, of which there may be any number: a cradle of balls, plastic impacts
/// against each other.
class ShrinkingRounds {
 public:
  /// A round has moved the state by so many tolerances. Returns whether the moves of the last rounds are smaller than
  /// those of as many before.
  bool note(double size) {
    sum_ += size;
    if (++count_ < window) return false;
    const bool shrinks = sum_ < 0.9 * before_;
    before_ = sum_;
    sum_ = 0.0;
    count_ = 0;
    return shrinks;
  }

 private:
  static constexpr int window = 12;  // several guards act by turns

  double sum_ = 0.0, before_ = std::numeric_limits<double>::infinity();
  int count_ = 0;
};

/// The point at which a solution arrives, in the mode before.
struct Arrival {
  double t = 0.0;
  const Mode* mode = nullptr;
  std::span<const double> x, xp;
  bool initial = false, terminal = false;
};

class Instant final : private ModeValues {
 public:
  Instant(HybridSystem& hybrid, int direction, int max_rounds, bool stop_if_non_unique);

  const int family_guards;  ///< how many guards the family has
  Point now;                ///< the state of the run; the outcome after settle()
  Transition transition;    ///< what has acted: names, resets, notes. Mode and values are in `now`

  Uncertainty& doubt() { return trials_.doubt; }

  // --- an instant: begin(), fire() for each guard, settle()
  /// Forgets what the last instant knew. The mode must stay until settle() has returned.
  void begin(const Mode& from);
  /// Guards that had no meaning in the mode are placed where the solution is, before anything can read them. After
  /// begin().
  void place_dormant(double t);
  /// A guard left its side. For a weight of a sliding mode or the force of a contact (numbers after those of the
  /// family) the surface is left.
  void fire(int guard);
  /// The solution leaves the mode because this guard alone fires, with this slope.
  void leave(int guard, double slope) {
    approach_.left = begun_;
    approach_.guard = guard;
    approach_.slope = slope;
  }
  /// Runs until nothing changes. False: see failure(), and `now` is the arrival. Ends early where the model terminates
  /// the run.
  bool settle(const Arrival& arrival);
  /// No guard that fired matters: goes on from `now` as it is. False: see failure(), and `now` is the arrival.
  bool pass_by(const Arrival& arrival);
  /// The instant is over: very large modes give back what only the next one needs.
  void end() { give_back(now.x.size(), doubt().alternative_state, before_round_.x, committed_x_); }

  /// This guard alone has fired, by its value or by time: what happens is noted, see known_edges.hpp and
  /// surface_edges.hpp.
  void alone(int guard) { course_.guard = guard; }

  // --- accumulation, see accumulation.cpp
  enum class Rest {
    begun,
    denied,  ///< it would hold if relations on the surface had the truth that they have beside it
    none,
  };
  /// A surface that holds the solution after infinitely many resets, and the side from which the solution came.
  struct Contact {
    int guard, side;
  };
  /// Infinitely many resets by these guards, of which the last moved the state from arrival.x to where it is, are over:
  /// the solution goes on in contact with their surfaces, or with some of them where others open, if there is such a
  /// mode and it would hold. Otherwise nothing has changed.
  Rest rest_on(std::span<const Contact> contacts, const Arrival& arrival);
  /// Infinitely many switchings of these guards are over: the solution goes on where their surfaces meet. False:
  /// nothing has changed.
  bool slide_on(std::span<const int> guards, double t);

  // --- the outcome
  const Failure& failure() const { return failure_; }
  System& system() { return *trial_.system; }
  Consistency& consistency() { return trials_.consistency(); }
  const GuardSides& sides() const { return trial_.view; }
  /// Whether the model has set variables.
  bool reset() const { return reset_; }
  /// Guards that have changed their positions, and to which side.
  const std::vector<int>& fired() const { return fired_.guards; }
  const std::vector<int>& fired_direction() const { return fired_.directions; }
  /// Consistent values of now.mode, once more. False: see failure().
  bool find_values(double t);
  /// The state has been moved onto the surfaces of its mode: guards have the errors of that.
  void raise_noise_of_projection(double t);
  /// Looks at all guards at the present point, unless it has just done so.
  void look(double t);
  /// What look() saw no longer holds: something about the point or its noise is different.
  void forget_view() { view_current_ = false; }
  void forget_actions();

 private:
  bool find(const Mode& mode, std::vector<double>& x, std::vector<double>& xp) override;
  void zero_where_unclear(const Trial& found, std::vector<double>& x, std::vector<double>& xp) const;
  void zero_slopes_where_unclear(const Trial& found, std::vector<double>& xp) const;
  bool decide(bool first);
  bool decide_from_other_guesses(Approach& approach);
  bool decide_without_errors(Approach& approach);
  void commit();
  bool see(bool initial);
  void hold_followers();
  bool act(const Arrival& arrival, bool first, Point& point);
  enum class Ending { done, failed, goes_on };
  Ending finish(const Arrival& arrival);
  bool allows_ambiguity(double t);
  void end_stay(int exit);
  bool crosses_plainly(const Arrival& arrival) const;
  bool arrived_plainly(const Arrival& arrival) const;
  bool matters(int guard, int to_side);
  void leave_jumped_surfaces(const Arrival& arrival, Mode& mode);
  /// What becomes of guards whose resets the rounds of an instant have undone or used up.
  enum class Returning {
    none,         ///< there are none
    fires_again,  ///< conditions see the other side of one once more
    held,         ///< contacts have begun
    denied,       ///< the run ends, see failure()
  };
  Returning hold_returning(const Arrival& arrival, bool converge);
  bool place_turned_guards();
  bool leaves_noticeably(int guard);
  std::vector<double> tolerance_of_guards();
  bool turns_round(int guard, int side, std::span<const double> after);
  bool takes_speed(const Arrival& arrival, int guard, int side);
  bool brings_back(int guard, int side);
  double tolerance_of(std::string_view variable) const;
  bool fail(StatusCode code, std::string message, std::vector<std::string> culprits = {});
  bool look_on_surfaces(const Point& candidate, double t, Trial& trial);
  bool surfaces_hold(const Point& candidate, double t, Trial& trial);
  bool stay_in_contact(Point& candidate, double t);
  void take(Trial& trial);
  void note_cancelled_resets();
  bool stay_on_surfaces(const Point& candidate, double t);
  void see_at(int guard, int side, double t);
  void note_contacts(double t);
  bool try_force_beside(const Point& contact, int guard, int side, double t);

  HybridSystem& hybrid_;
  int max_rounds_;
  Trials trials_;
  Decision decision_;
  Approach approach_;
  Trial trial_;                // the last one that was committed
  bool view_current_ = false;  // trial_ is at the present point
  Failure failure_;
  const Mode* begun_ = nullptr;
  double t_ = 0.0;
  struct Firings {
    std::vector<int> guards, directions;

    void clear() {
      guards.clear();
      directions.clear();
      many.clear();
    }
    void add(int guard, int to_side) {
      if (has(guard)) return;
      guards.push_back(guard);
      directions.push_back(to_side);
    }
    bool has_fired(int guard) const { return std::find(guards.begin(), guards.end(), guard) != guards.end(); }

   private:
    bool has(int guard) {
      constexpr std::size_t few = 16;
      if (guards.size() <= few) return std::find(guards.begin(), guards.end(), guard) != guards.end();
      if (many.size() != guards.size()) many = {guards.begin(), guards.end()};
      return !many.insert(guard).second;
    }
    std::unordered_set<int> many;  // the same guards, where they are more than a few
  };
  Firings fired_;
  struct Crossed {
    int guard, side;
  };
  std::vector<Crossed> crossed_;    // guards that have fired, whether they matter or not
  bool reset_ = false;              // something has been reset in this instant
  bool round_resets_ = false;       // something has been reset in the last round
  std::vector<char> reset_before_;  // workspace: what the rounds before have reset
  bool decided_anew_ = false;       // something has changed the field or the state since the arrival
  Point before_round_;              // what pre() of variables gives
  Mode committed_, flipped_;
  std::vector<GuardPassage::Passing*> leaving_;         // guards that are seen to leave zero in a round
  std::vector<Position> positions_, positions_before_;  // of the committed mode, and of the one before
  std::vector<double> committed_x_;
  std::vector<double> discrete_before_end_;
  GuardPassage passage_;
  VisitedPoints visited_;
  Circumstances circumstances_;
  std::vector<double> arrival_state_;  // workspace of takes_speed()
  Mode refreshed_;                     // the mode at the arrival, with dormant guards where they are
  GuardSides dormant_view_;
  std::vector<int> watched_;       // workspace
  Trial contact_trial_;            // workspace of contacts that may begin
  std::vector<Contact> contacts_;  // workspace
  struct BegunContact {
    int guard;
    double speed;  // of the guard in the mode without surfaces
  };
  std::vector<BegunContact> began_;  // in this instant
  /// What other discrete values would give is decided apart, so that nothing of it is left.
  struct Question {
    explicit Question(Trials& of) : trials(of.hybrid(), of.direction()), decision(trials) {}

    Trials trials;
    Decision decision;
    Trial trial;
  };
  std::unique_ptr<Question> question_;  // null: none was asked so far
  Question& question();

  /// What has happened when one guard fired alone.
  struct Course {
    int guard = -1;     // -1: nothing is noted
    int acting_rounds;  // so many
    signed char see;    // what the guard was seen as in the last of them
    Mode acted;         // after it
  };
  Course course_;
  SurfaceEdges surface_edges_{*this};
  friend class KnownEdges;
  friend class SurfaceEdges;
};

}  // namespace saltus
