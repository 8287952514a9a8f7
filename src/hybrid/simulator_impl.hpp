// The state of a run and its loop (simulator.cpp, simulator_events.cpp). Parts of the loop are classes of their own,
// each in the file that it names; all of them work on this state.
#pragma once

#include <saltus/base/state_archive.hpp>
#include <saltus/event/event_locator.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "event/algebraic_proof.hpp"
#include "flight/pilot.hpp"
#include "hybrid/bounds_watch.hpp"
#include "hybrid/chatter_watch.hpp"
#include "hybrid/equation_watch.hpp"
#include "hybrid/event_log.hpp"
#include "hybrid/guard_errors.hpp"
#include "hybrid/instant/known_edges.hpp"
#include "hybrid/kept_memory.hpp"
#include "hybrid/method_choice.hpp"
#include "hybrid/redundancy_watch.hpp"
#include "hybrid/regularity_watch.hpp"
#include "hybrid/run_history.hpp"
#include "hybrid/run_inputs.hpp"
#include "hybrid/simulate_options.hpp"
#include "hybrid/zeno_watch.hpp"

namespace saltus {

struct Simulator::Impl {
  std::shared_ptr<HybridSystem> hybrid;
  bool alone;  // no other run or reader evaluates it
  SimulateOptions options;
  Trajectory result;
  int direction;
  RunInputs inputs;
  bool over = false;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  MethodChoice methods;
  Instant instant;
  KnownEdges edges{*hybrid, instant};

  // the state: what the controller has settled last, moved on by the stepper
  double t;
  double pause;  // where advance_to wants to stop
  double asked;  // where it wanted to stop last
  Mode& mode = instant.now.mode;
  std::vector<double>&x = instant.now.x, &xp = instant.now.xp;
  System* system = nullptr;
  System* stepped = nullptr;  // with which the stepper began: that one, or one with the same functions

  Stepper* stepper = nullptr;
  EventLocator locator;
  AlgebraicProof algebraic;
  GuardErrors guard_errors;
  RegularityWatch regularity;
  RedundancyWatch redundancy;
  std::string contradiction;  // of nonlinear equations, which ends the run after the step
  bool undetermined = false;  // the equations of the mode leave variables open, which are kept constant
  EquationWatch equations;
  BoundsWatch bounds;
  std::vector<std::uint64_t>
      told_undetermined;  // by Structure::id: modes with undetermined variables that the remark names
  ZenoWatch zeno;         // resets
  /// Consecutive resets by a guard that have moved the state by less than its tolerance.
  struct SmallResets {
    int guard = 0, side = 0;  // from which it comes
    int count = 0;

    void persist(StateArchive& archive) { archive(guard, side, count); }
  };
  std::vector<SmallResets> small_resets;
  ZenoWatch switchings;  // the others
  int near_events = 0;   // of those, in a row, that were within the tolerance of the point where their surfaces meet
  ChatterWatch chatter;
  std::vector<GuardWatch> watch;
  /// How far from zero the value of a guard may go without a meaning: because it vanishes identically in the mode (the
  /// distance of two carts that are coupled), or until it has left, because the equations deny that it does.
  struct Band {
    double width = 0.0;
    bool until_left = false;
  };
  std::vector<Band> bands;  // by guard; empty: none
  bool watching = false;
  LocatedEvent located;
  bool proved = true;           // of the last search
  double first_unproved = 0.0;  // the start of the first step whose search is no proof
  GuardSlopes slopes;
  struct PendingTouch {
    int guard;
    double t;
  };
  std::vector<int> jumps;  // guards of the event that have a cut there, not a zero
  std::vector<PendingTouch>
      pending_touches;  // zeros at the end of the last step: the next one tells whether they touch or cross
  bool touches_wanted = false;
  std::size_t observed = 0;        // variables
  bool derived_variables = false;  // there are some that follow from those that are integrated
  int not_finite_at = -1;          // one of them
  bool has_time_guards = false;
  std::vector<int> time_guards;
  double next_time = 0.0;
  /// What the steps of a mode have taught.
  struct KnownSteps {
    int number = -1;                                          // of the mode, in the order in which modes were entered
    Mode mode;                                                // one with this structure
    double guards = std::numeric_limits<double>::infinity();  // the longest that guards can be followed over
    double first = std::numeric_limits<double>::infinity();   // the longest that is worth trying after an event
    Stepper* stepper = nullptr;                               // that makes them, if the mode is explicit
    bool dense_is_accurate = false;                           // inside them
  };
  std::unordered_map<std::uint64_t, KnownSteps> known_steps;  // by Structure::id
  KnownSteps* known = nullptr;                                // of the present mode
  KnownSteps* helped = nullptr;    // of the mode in which an explicit method makes some steps, otherwise null
  Stepper* own_stepper = nullptr;  // of that mode
  bool own_dense_is_accurate = false;
  int helping_steps = 0;  // that are left then
  std::uint64_t known_structure = 0;
  bool first_step = false;           // the next step is the first after a restart
  std::int64_t rejected_before = 0;  // it
  DensePolynomial rest;              // of a step that an event without consequences has interrupted
  bool in_rest = false;
  bool stepped_beyond_events = false;  // the last step; see LocalEvents
  int steps_until_forgetting = 0;
  std::int64_t steps_made = 0;  // all that were accepted, also on the way to events
  double shortened = 0.0;       // > 0: a step had to be cut because guards could not be evaluated

  // closeness of events
  double last_event = -std::numeric_limits<double>::infinity(), last_interval = 0.0;
  int close_events = 0;

  // workspace of events
  std::vector<double> state_before, slope_before, x_then, xp_then, g_then, guard_slopes;
  std::vector<double> values_before, values_after, slopes_before, slopes_after, weights;
  std::vector<int> causes;     // see EventShape
  std::vector<int> also_zero;  // guards of the family that are zero where the event begins, and no causes so far
  Mode mode_before;
  const Mode* mode_left = &mode_before;  // that, or one that was the same

  std::span<const double> relative_tolerances() const {
    return options.rtol_each.empty() ? std::span(&options.rtol, 1) : std::span(options.rtol_each);
  }
  std::span<const double> absolute_tolerances() const {
    return options.atol_each.empty() ? std::span(&options.atol, 1) : std::span(options.atol_each);
  }

  static const EventLog& log_of(const Trajectory& trajectory) { return *trajectory.events_; }

  /// Called with each event instead of recording it; null: the result records them.
  std::function<void(const EventShape&, const EventNumbers&)> event_sink;

  std::string remark;  // about start values and the like, for the status of a run that succeeds
  void add_remark(const std::string& text) { remark += (remark.empty() || text.empty() ? "" : "; ") + text; }

  /// `from`: goes on from this state; null: begins.
  Impl(std::shared_ptr<HybridSystem> h, SimulateOptions o, const SimulatorState* from = nullptr);
  /// A thread that runs one simulator after another gives them the same memory, see kept_memory.hpp.
  static void* operator new(std::size_t size) { return KeptMemory<Impl>::take(size); }
  static void operator delete(void* memory) { KeptMemory<Impl>::give_back(memory); }

  // --- modes
  double time_scale() const {
    const double h = stepper ? stepper->next_step() : 0.0;
    return h > 0.0 && std::isfinite(h) ? h : 1e-3 * std::abs(options.stop - options.start) + 1e-300;
  }
  /// Makes the system of the mode that the controller has settled current, chooses a stepper and sets the watch on its
  /// guards.
  bool enter_mode();
  /// The same without the watch.
  bool enter_system();
  /// The same after an event on a known edge: what the mode needs is there, as a rule.
  bool enter_mode_again();
  std::vector<int> exits;  // see HybridSystem::exit_guards
  std::vector<Position> positions;
  bool dense_is_accurate() const { return known->dense_is_accurate; }
  void restart(double step);
  void begin_segment();

  /// Goes on from a point that was settled before, in this mode; nothing of the past counts. False: the run has ended.
  bool go_to(double time, const Mode& at, std::span<const double> state, double step);
  /// Variables of other parts jump at the present instant: settles what that means, and goes on.
  bool settle_outside_change(double step);
  /// Discrete variables that no event reads have changed in `mode`: goes on with its new system.
  /// `known_watch`: on the guards of the family, where it is known; see GuardWatching::take_watch.
  bool go_on_in_mode(double step, std::span<const GuardWatch> known_watch = {});

  // --- steps
  bool reached(double a, double b) const { return (a - b) * direction >= 0.0; }
  /// Whether the run is beyond a time.
  bool passed(double time) const { return (t - time) * direction > 0.0; }
  /// Where a step has to end at the latest: the stop time, a pause or a time event.
  double next_stop() const {
    const double end = reached(options.stop, next_time) ? next_time : options.stop;
    return reached(end, pause) ? pause : end;
  }
  void step();
  /// Steps up to a time, or until so many events have happened. False: the run ended before.
  bool advance_to(double end, std::int64_t most_events);
  /// One step of the stepper; false: the run has ended.
  bool advance();
  /// The last step, from the present time on.
  const DensePolynomial& current() { return in_rest ? rest : stepper->dense(); }
  /// Accepts the solution up to `end`.
  void take_step(double end);
  /// The same for a step without events, and goes on from there.
  void accept_step(double end);
  void find_derivatives();
  /// Whether a linear guard is zero up to its rounding errors. It may stay there if steps are so short that its digits
  /// do not change.
  bool at_the_last_digit() const;
  /// Guards are not finite in part of the step: try again with half of what was good.
  void shorten();
  /// A guard leaves at once the side to which its slope has just shown. The step is too long to tell: true, it is tried
  /// again with a quarter of it.
  bool denies_start();
  /// Whether the equations of algebraic variables show no crossing that the dense output does not have. False: they do,
  /// and a shorter step is made, which sees it.
  bool algebraic_follow(bool found);
  /// Makes the last step once more, with this length. False: that would be too short, and nothing is done.
  bool repeat_step(double length);
  /// Whether guards with nominal values are as accurate as they should be; otherwise a shorter step is made.
  bool guards_are_accurate();
  /// A guard has another sign where the step begins than at the state: true, the difference is noise from now on.
  bool begins_elsewhere();
  /// Guards that move by many tolerances between their events switch as the model means it, however often: true, and
  /// the events are counted anew.
  bool dismiss_chattering(std::span<const int> fired);
  /// After an event: true if a limit of the options has ended the run.
  bool ends_by_limit(bool by_time);
  bool progress() { return !options.progress || report_progress(); }
  /// Counters of all steps, those in flight included.
  StepStatistics all_steps() const {
    StepStatistics all = methods.statistics();
    all += flights.statistics();
    return all += locals.statistics();
  }
  bool report_progress();
  /// Sets a hybrid system that is shared to the present mode once more: since the last step others may have asked it
  /// for other modes, to read a result or to run the same system.
  void regain_mode();
  /// Gives back systems of modes that were left.
  void forget_systems();

  /// `approached`: a step was made that ends here, or so near that its dense output is as good.
  void event_at(double when, bool by_guard, bool approached = false);
  /// Keeps the state in mode_before, state_before, slope_before.
  void keep_state();
  /// The state before an event is `mode`, `t`, `x`, `xp`.
  void handle_event(bool by_guard, bool by_time, double step_size);
  /// Which guards begin the event, and which others are zero there within the noise of the point.
  void find_causes(bool by_guard, bool by_time);
  /// The same, and what goes before it, for a guard that crosses as it has crossed before. False: it has not, and
  /// nothing has changed.
  bool repeat_event(bool by_time, double step_size);
  /// The event has been settled: goes on behind it.
  void leave_event(bool by_time, double step_size);
  /// Whether guards of time fire now: those in `time_guards`. They have been planned for this very instant.
  bool times_due();
  /// An event at t by the time guards that are due, between two steps.
  void handle_due_times();
  /// Whether the event leaves equations and values as they were: the stepper goes on as if nothing had happened.
  bool without_consequences() const;
  /// Goes on from an event without consequences.
  void go_on();
  /// Intervals below this have fewer than three digits.
  double unresolved_interval() const {
    return 1e3 * std::numeric_limits<double>::epsilon() *
           std::max(std::abs(t), 1e-6 * std::abs(options.stop - options.start));
  }

  // --- parts of the loop: each works on the state above
  /// How a run begins, see run_beginning.cpp.
  class Beginning {
   public:
    explicit Beginning(Impl& of) : run(of) {}

    /// Goes from the start values to the first step, or ends the run.
    void begin();

   private:
    /// Mode and values at the start, from the start values. False: see the instant's failure.
    bool find();
    /// The same from simpler equations, if the system knows any (EasierStart). False: no start is found so.
    bool find_by_homotopy();
    /// Goes on from the first regular time of a mode that is singular at the start; the way there is a straight line.
    void leave_singular_point();

    Impl& run;
  };

  /// Events at which inputs change, see input_events.cpp.
  class InputEvents {
   public:
    explicit InputEvents(Impl& of) : run(of) {}

    /// Inputs change at the present time, from outside.
    void set(std::span<const InputChange> changes);
    /// Whether the guards that fired are those of inputs.
    bool alone() const;
    /// Whether nothing but inputs has changed in the instant that has been settled, each by a new slope at most.
    bool only_slopes();

   private:
    Impl& run;
  };

  /// Events that accumulate, see accumulation.cpp.
  class Accumulation {
   public:
    explicit Accumulation(Impl& of) : run(of) {}

    /// Resets that accumulate, and whose jumps have become smaller than the tolerance: what is left of them is a
    /// contact. False: the run has ended.
    bool come_to_rest(std::span<const double> x_before);
    /// Switchings that accumulate where surfaces meet, nearer to it than the tolerance: the solution goes on there.
    /// False: the run has ended.
    bool meet_surfaces();
    /// Events that accumulate where no contact takes over would never end: stop when the intervals cannot be resolved
    /// any more.
    bool too_close();

   private:
    /// Whether the jump from x_before to the present state is.
    bool larger_than_tolerance(std::span<const double> x_before) const;
    /// Whether a reset takes most of the speed of the guard that fired, and the flight that is left is unresolved: the
    /// reset at its end would not be seen. (A speed that is zero is no flight: the solution goes on through the
    /// surface.)
    bool flight_is_lost(std::size_t fired, int side);
    /// Whether a flight is too short for the clock, or too low for the digits of the guard.
    bool unresolved_flight(int guard, double duration, double speed) const;
    bool rest_if_possible(std::span<const double> x_before, bool small, bool all_repeated);
    /// A guard whose resets must end here, because their flights are unresolved.
    struct Stuck {
      int guard = -1;                ///< -1: there is none
      bool lost = false;             ///< the first flight after its reset is unresolved already
      bool another_goes_on = false;  ///< resets of another guard accumulate as well, and are resolved
    };
    std::vector<Instant::Contact> resting_guards(bool small, Stuck& stuck);
    void add_group(std::vector<Instant::Contact>& contacts);
    void keep_noise();
    bool rest_too_low();
    bool can_rest(const Instant::Contact& contact);
    std::vector<double> tolerances() const;
    void keep_tail(double t_last, std::span<const double> x_last, std::span<const double> x_limit);
    bool go_on_without_contact(const Stuck& stuck, bool denied);
    bool end_unresolved(int guard, const std::string& why);
    /// The solution from the last reset by a guard, which has come from x_before, to where all resets that are left
    /// accumulate. Nothing if they do not follow from the last one, or if something else happens before.
    std::optional<DensePolynomial> tail_of_resets(std::size_t fired, std::span<const double> x_before);
    /// The controller has put the solution onto surfaces: settles what that changes (the sign of a speed), records it,
    /// and goes on. False: the run has ended.
    bool begin_staying(EventKind kind, std::span<const std::string> messages, std::vector<std::string_view> actions);

    Impl& run;
  };

  /// What a run writes down about its events, see event_record.cpp.
  class EventRecord {
   public:
    explicit EventRecord(Impl& of) : run(of) {}

    /// Records the event once it has been settled.
    void record_settled(bool by_time);
    EventKind kind_of_settled(bool by_time) const;
    std::string message_of_settled();
    /// Zeros of the last step that touched without crossing become events where the guard asks for it. `found`: the
    /// step ends with an event.
    void record_touches(bool found);
    /// The weights of the surfaces on which the present mode slides, in `weights`.
    void find_weights();
    EventTag record(const EventShape& shape, const EventNumbers& numbers);

   private:
    EventNumbers settled_numbers();
    /// Those with which the event has begun, and those that have fired and were zero there.
    std::span<const int> settled_causes();
    void record_touch(const PendingTouch& touch);

    Impl& run;
  };

  /// How a run ends, and what its status says, see run_end.cpp.
  class RunEnd {
   public:
    explicit RunEnd(Impl& of) : run(of) {}

    /// Names the variables that the equations of the present mode leave undetermined, once per mode.
    std::vector<std::string> observed_with(const std::vector<int>& variables);
    void tell_undetermined(const CharacteristicValues& values);
    /// Looks for values beyond their bounds at the present point.
    void check_bounds();
    void end(Failure outcome);
    static std::string describe(const Chattering& episode);
    std::string ended_by_model() const;
    /// They have none at `end`: the run ends at the last time at which they do.
    void end_where_derived_are_finite(double end);
    void report_failure(const StepOutcome& outcome);
    /// Names of guards that have no finite value somewhere in the last step.
    std::vector<std::string> undefined_guards();
    /// The stop time is reached, or the model ends the run: clauses that wait for terminal() act.
    void finish(Failure outcome = {});

   private:
    void end_not_finite(const std::string& where, std::vector<std::string> culprits);
    void report_structure(const StepOutcome& outcome, std::vector<std::string> culprits);

    Impl& run;
  };

  /// The way to the point of an event, and what is not certain about it, see event_approach.cpp.
  class EventApproach {
   public:
    explicit EventApproach(Impl& of) : run(of) {}

    // --- events
    /// The dense output of implicit methods is less accurate than the ends of their steps: goes to the event by a step
    /// that ends there, and corrects its time by Newton's method on the guard.
    void approach_event();
    /// Moves values at this time onto all constraints of the mode.
    void polish(double when, std::vector<double>& values, std::vector<double>& slopes_there);
    /// x and x' in the last step, or just behind it.
    void state_at(double when, std::span<double> state, std::span<double> slope);
    /// t_before, or a time that is so far before t_after that it can be told from it.
    double at_least_some_units_before(double t_after, double t_before) const;
    /// A guard is known to the event's bracket only: what it changes from t_before to t_after (at least a few units in
    /// the last place of time), in the old mode, is noise. `own_step`: the event was reached by a step of its own.
    void measure_bracket(double t_before, double t_after, bool by_guard, bool own_step);
    /// Slopes of all guards at the present point, in guard_slopes.
    void find_slopes();
    /// Where the equations deny that the guards of the event cross: stiff ones turn errors of the state, which are
    /// within the tolerance, into large ones of its derivatives. The integrated solution tells the true slope.
    void correct_slopes();
    /// On surfaces, the state at an event is moved onto them; the point before that is as good as the one after.
    void project_event_state();
    void note_crossings();
    /// The equations cannot be evaluated beyond a surface, and steps have come as near to it as they can, by the clock
    /// or by the digits of the guard: the event is there, where the tangent reaches the other side. False: no guard is
    /// about to change its side here.
    bool cross_edge();
    /// The state lies on guards that fire, within rounding: moves it on along the solution, by units in the last place
    /// of time, until it is on the side that the new mode needs.
    void push_across(std::span<const int> guards);

   private:
    /// Whether a guard that is not one of the event is out at a time in the last step.
    bool another_has_left(double when);
    /// Goes to a time by steps that end there, from the present one; the last one is not accepted yet. False: the run
    /// has ended, or another method goes on.
    bool step_to(double target);
    /// Whether the dense output of the last step is as good there as the end of the step.
    bool near_the_end(double when);

    Impl& run;
  };

  /// Which guards are watched in the present mode, see guard_watching.cpp.
  class GuardWatching {
   public:
    explicit GuardWatching(Impl& of) : run(of) {}

    /// Sets the watch on the guards of the present mode.
    void set_watch();
    /// The same where it is known on which sides the guards of the family are, and none of them is at zero.
    void take_watch(std::span<const GuardWatch> family);
    void plan_time_events();
    /// Whether a guard vanishes identically in the mode.
    bool vanishes(std::size_t guard) const {
      return guard < run.bands.size() && run.bands[guard].width > 0.0 && !run.bands[guard].until_left;
    }
    /// After a step guards fire again, except those that are still on the wrong side, on their way from the event
    /// before the step: it was too short for them to leave, by the clock or by their rounding errors.
    void arm_guards(double begin);

   private:
    /// What was not certain about the instant is over.
    void end_doubts();
    /// `resting`: there are guards that vanish with all their derivatives.
    void find_bands(bool resting);
    bool may_rest(int guard) const;
    /// Ends bands that guards have left, and tells the watch about the others.
    void keep_bands();

    Impl& run;
  };

  /// Which stepper makes the steps, and how long they may be, see stepper_use.cpp.
  class StepperUse {
   public:
    explicit StepperUse(Impl& of) : run(of) {}

    Stepper* choose_stepper(std::string& problem);
    void use(Stepper* chosen);
    /// The method of the present stepper.
    Method method();
    void start_stepper(double step);
    /// The mode turned out to be stiff: continues with another stepper. False: there is none.
    bool change_method();
    /// A guard crosses in a step that is longer than stability allows: the crossing may be an error of fast variables.
    /// True: the step will be made again by an implicit method, which the mode has from now on.
    bool repeat_unstable_step();
    /// Guards chatter in this mode with an explicit method. True: variables are fast compared with the intervals, and
    /// the mode has an implicit method from its next entry on.
    bool suspect_stiffness(System& system);
    /// The same for the modes before and after an event. True: the stepper is another one, and has to be started.
    bool suspect_stiffness(System& left, System& entered);
    /// While the solution stands still, steps grow and guards that depend on time turn many times within one: they
    /// limit it.
    void follow_guards();
    /// The first step after an event is often too long in the same way each time, where the event begins something
    /// fast.
    void learn_first_step();
    /// A method that was chosen automatically cannot go on, and another one may: an implicit one instead of a series,
    /// one that iterates instead of linear steps. False: all others have been tried.
    bool try_another_method(const StepOutcome& outcome);
    /// A method that needs derivatives fails in an explicit mode, where they may be infinite (a root of zero): one that
    /// needs none makes some steps. False: it has been tried.
    bool get_help();
    /// Goes back to the mode's own method.
    void end_help();

   private:
    Impl& run;
    const Stepper* named_ = nullptr;  // the stepper whose method is method_
    Method method_ = Method::automatic;
  };

  /// Steps and events in code that was made for them, see flight_use.cpp.
  class FlightUse {
   public:
    explicit FlightUse(Impl& of) : run(of), next_try_(of.options.flights_after / 2) {}

    bool flying() const { return flying_; }
    /// Takes off if it is time and the run can fly.
    void consider();
    /// In flight, instead of Impl::step. False: the flight has ended before a step was made.
    bool step();
    /// An event begins on the ground, caused by guards or by time.
    void begin_event(bool by_guard, bool by_time);
    /// It has been settled and recorded.
    void end_event(bool by_time);
    /// Makes mode, x, xp and system of the run those of the flight.
    void show();
    StepStatistics statistics() const { return pilot_ ? pilot_->statistics() : StepStatistics{}; }
    /// A system that the flight uses; null: none.
    const System* system() const { return flying_ ? pilot_->system() : nullptr; }
    /// The size of the next step, in flight.
    double next_step() const { return pilot_->next_step(); }
    /// Writes or reads what later steps depend on; mode, x and the stepper of the run are there.
    void persist(StateArchive& archive);

   private:
    /// What events on an edge have in common.
    struct Shape {
      EventKind kind = EventKind::crossing;
      bool by_time = false;
      std::vector<int> guards, directions;
      std::vector<std::string> actions;
      // the last one that was not like the one before it
      EventTag tag;
      std::int64_t version = -1;
      Mode modes[2];
      bool written[2] = {false, false};  // of them: but for numbers they are the mode behind the edge
      std::size_t latest = 0;            // of them: behind it

      void persist(StateArchive& archive) { archive(kind, by_time, guards, directions, actions); }
    };
    bool possible() const;
    FlightMethod method_in_flight() const;
    void make_pilot();
    void stay();
    void record();
    bool equations_hold(double begin);
    bool is_special();
    void land();

    Impl& run;
    std::unique_ptr<Pilot> pilot_;
    bool given_up_ = false, flying_ = false;
    bool lands_ = false;                                 // as soon as it can
    std::int64_t next_try_, pause_ = 64, took_off_ = 0;  // in steps of the run
    std::vector<int> departures_;                        // of the event on the ground
    std::vector<std::vector<Shape>> shapes_;             // by mode and edge of the pilot's atlas
    std::int64_t version_ = 0;                           // of the numbers of the mode in flight
    Mode mode_;                                          // at the beginning of the flight
    const Mode* now_ = nullptr;                          // that, or one of a shape
    int number_ = -1;                                    // among the modes of the record; -1: not known
    Shape* last_ = nullptr;                              // of the last event
    bool shown_ = false;
    DensePolynomial dense_;
    std::vector<std::string_view> actions_;  // workspace
  };

  /// Events of large models, each settled in the part in which it happens, see local_events.cpp.
  class LocalEvents {
   public:
    explicit LocalEvents(Impl& of);
    ~LocalEvents();

    /// Whether the next step may go beyond events. Asked before each step.
    bool active();
    /// The stepper has made a step: settles all events in it, and goes on from its end. Where it cannot, the step is
    /// made again, with events one by one.
    void take_step();
    StepStatistics statistics() const;
    void persist(StateArchive& archive) { archive(pause_, next_pause_); }

   private:
    struct Work;

    bool possible() const;
    void accept(double end);

    Impl& run;
    std::unique_ptr<Work> work_;
    bool looked_ = false;  // for parts
    int pause_ = 0;        // so many steps are made with events one by one
    int next_pause_ = 1;   // after the next failure
  };

  /// A run as a value, see saved_run.cpp and run_history.cpp.
  class SavedRun {
   public:
    explicit SavedRun(Impl& of) : run(of) {}

    SimulatorState state();
    void resume(const SimulatorState& from);

    /// A run that stands where the state was taken, and goes on as if it had not been interrupted.
    static std::unique_ptr<Impl> resumed(const std::shared_ptr<HybridSystem>& hybrid, const SimulateOptions& options,
                                         const SimulatorState& from);
    /// After a step: takes this point as the one from which the run can be repeated, if it is time.
    void look() {
      if (run.steps_made >= history.next_look && !history.free_until) keep_point();
    }
    /// The first step of the run was chosen by the stop time if there was nothing else to go by.
    void note_first_step();

    RunHistory history;
    /// Set: the run was repeated up to a point before this state, and has not gone on yet. The state counts.
    std::optional<SimulatorState> shown;
    /// Goes on from there.
    void pass_shown();
    /// Makes a run that was not repeated of one that shows a state: what comes from outside happens at the state.
    static void begin_at_shown(std::unique_ptr<Impl>& impl);

   private:
    void forget_steps_until(double t);
    void go_on_as_left(const SimulatorState& from);
    /// The point, and the numbers of its memory without a seal.
    SimulatorState point(bool& remembers_steps);
    void keep_point();
    std::uint64_t identify_course(double from, double to) const;
    std::optional<SavedHistory> saved_history(bool remembers_steps) const;
    static void persist_history(StateArchive& archive, SavedHistory& saved);
    static std::optional<SavedHistory> read_history(const SimulatorState& from);
    static std::unique_ptr<Impl> repeated(const std::shared_ptr<HybridSystem>& hybrid, const SimulateOptions& options,
                                          const SimulatorState& from, const SavedHistory& saved);
    bool as_left_ = false;  // the state from which the run goes on is as it was taken
    /// Values or parameters have been changed: settles what that means at the present instant.
    void go_on_changed(const SimulatorState& from);
    // write or read what later steps depend on beside the point
    void persist_events(StateArchive& archive);
    bool persist_steps(StateArchive& archive);

    Impl& run;
  };

  /// Values that the user sees, see observation.cpp.
  class Observation {
   public:
    explicit Observation(Impl& of) : run(of) {}

    /// Steppers need not know algebraic variables and derivatives exactly where they are: finds them from the
    /// equations.
    void refine();
    std::vector<double> observe_refined();
    void observe(std::vector<double>& values) const;
    /// Compares the result with the equations as they were written, at the present time or one inside the last step,
    /// which is of this length. False: they do not hold, and the run has ended.
    bool equations_hold(double when, double length);
    /// Compares the truths of relations with the present point. `length`: of the last step. False: they contradict each
    /// other, and the run has ended.
    bool relations_hold(double length);
    /// The same just before the event at the present time, with the mode that it has ended.
    bool relations_held(double length);
    /// Whether the variables that follow from others (they are not integrated) have values at a time within the last
    /// step.
    bool derived_are_finite(double when);
    /// The same at the present point. False: the run has ended.
    bool derived_are_finite_now();

   private:
    bool finite_at(double when, std::span<const double> state, std::span<const double> slope);
    /// Replaces run.xp_then by differences of the solution around a time inside the last step, where these exist.
    /// Returns the length over which they were taken.
    double compare_slopes(double when, double length);

    Impl& run;
    std::array<std::vector<double>, 5> around_;  // of compare_slopes
  };

  Beginning beginning{*this};
  InputEvents input_events{*this};
  Accumulation accumulation{*this};
  EventRecord recorder{*this};
  RunEnd ending{*this};
  EventApproach approach{*this};
  GuardWatching guarding{*this};
  StepperUse steppers{*this};
  FlightUse flights{*this};
  LocalEvents locals{*this};
  SavedRun saved{*this};
  Observation observation{*this};
};

}  // namespace saltus
