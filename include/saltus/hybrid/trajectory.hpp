// Trajectory: the result of a run. Values at any time, the events with their causes, the status, the statistics.
#pragma once

#include <saltus/base/status.hpp>
#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/methods.hpp>
#include <saltus/step/dense_polynomial.hpp>
#include <saltus/step/stepper.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

enum class EventKind {
  initial,     ///< something happened while the run was being initialised
  crossing,    ///< a guard changed its side; values are continuous
  reset,       ///< the user's reset moved the state
  transition,  ///< another explicit mode is active
  slide_enter, ///< the solution slides on another set of surfaces, at least one of them new
  slide_exit,  ///< the solution leaves a surface on which it slid
  contact,     ///< infinitely many resets are over: the solution goes on in contact with their surface
  release,     ///< a contact opens
  time,        ///< known in advance
  record,      ///< the model asked for it (a section)
  touch,       ///< a guard touched zero without crossing; nothing else happened
  terminal,    ///< the model ended the run
};
/// The kind as it stands in JSON files.
std::string_view to_string(EventKind kind);

/// Why values changed at an event.
enum class JumpCause : unsigned char {
  none,         ///< they did not
  reset,        ///< the user's reset, and what had to follow it
  consistency,  ///< the equations of the new mode
};
/// The cause as it stands in JSON files.
std::string_view to_string(JumpCause cause);

/// What happened at one instant.
struct Event {
  double t = 0.0;
  EventKind kind = EventKind::crossing;
  std::vector<std::string> guards;      ///< names of the guards that fired
  std::vector<SourceLocation> where;    ///< their source lines
  std::vector<int> direction;           ///< +1 rising, -1 falling, 0 touching, one per guard
  std::vector<int> becomes;             ///< +1: the relation becomes true, -1: false, 0: it touches, or is none
  std::vector<double> slope_before, slope_after;  ///< time derivative of each guard in the modes before and after
  std::vector<std::string> actions;     ///< clauses and transitions that acted
  std::string mode_before, mode_after;
  std::vector<double> before, after;    ///< all observed variables on both sides
  double jump = 0.0;                    ///< largest change of an observed variable
  JumpCause cause = JumpCause::none;    ///< of the jump
  bool proved = true;                   ///< no earlier crossing was missed; false: only likely (see EventLocator)
  std::vector<std::string> surfaces;    ///< on which the solution slides after the event
  std::vector<double> weights;          ///< of the field on the positive side of each
  std::vector<std::string> contacts;    ///< surfaces with which the solution is in contact after the event
  std::string message;

  /// One line for people: "h < 0 falls, reset, jump 25.2".
  std::string describe() const;
};

/// One or two guards switched to and fro in short intervals.
struct Chattering {
  double from = 0.0, to = 0.0;
  std::int64_t events = 0;
  std::vector<std::string> guards;
};

struct RunStatistics : StepStatistics {
  std::int64_t events = 0;
  std::int64_t restarts = 0;
  std::int64_t sliding_steps = 0;      ///< accepted steps, or parts of steps up to an event, on surfaces that are slid along
  std::int64_t flown = 0;              ///< steps that code made for known events, see SimulateOptions::flights_after
  std::int64_t local_events = 0;       ///< events that were settled in one part of the model, see SimulateOptions::local_events_from
  std::int64_t part_runs = 0;          ///< runs of parts, within one step each, for these events
  std::int64_t guard_evaluations = 0;  ///< of all guards at one point, in the search for events; linear guards: at events only
  std::int64_t guard_enclosures = 0;   ///< of guards over a part of a step, in interval arithmetic, for the proof of the search
  std::int64_t unproved = 0;  ///< steps in which a missed crossing is unlikely but not excluded
  double seconds = 0.0;
  std::string method;  ///< the stepper, and why it was chosen
};

class EventLog;
class ResultReaders;
struct ModeGraph;

/// Values are right limits: at the time of an event, what holds after it.
///
/// Reading changes nothing. Once the run has ended, any number of threads read one const Trajectory at the same time,
/// and neither the model nor the simulator need live any more. (Results of hybrid systems without
/// HybridSystem::instance keep the system alive, and evaluate it.)
class Trajectory {
 public:
  /// One accepted step, valid from its beginning to t_end (an event may cut it short).
  struct Step {
    DensePolynomial polynomial;
    double t_end;
    bool proved = true;  ///< all crossings up to t_end are known for certain; false: only likely
    Method method = Method::automatic;  ///< made the step; automatic: a line, over infinitely many resets for example
  };
  struct Segment {
    int mode = 0;              ///< its number, see Trajectory::mode
    bool slides = false;       ///< it moves along surfaces
    bool in_contact = false;   ///< it rests on surfaces after infinitely many resets
    std::vector<Step> steps;  ///< empty only in the last segment, if the run ended where its mode began
  };

  Trajectory(std::shared_ptr<HybridSystem> system, double t_start);
  ~Trajectory();
  Trajectory(const Trajectory& other);
  Trajectory(Trajectory&&) noexcept;
  Trajectory& operator=(const Trajectory& other);
  Trajectory& operator=(Trajectory&&) noexcept;

  const Status& status() const { return status_; }
  /// Made when first asked for; statistics().events is their number.
  const std::vector<Event>& events() const;
  /// Calls `visit` for each event in turn and keeps none of them: for results with very many events. `visit` must not
  /// ask the result for its events.
  void for_each_event(const std::function<void(const Event&)>& visit) const;
  const RunStatistics& statistics() const { return statistics_; }
  const std::vector<Chattering>& chattering() const { return chattering_; }
  /// Names and attributes of the variables, in the order of the values.
  const std::vector<VariableInfo>& variables() const;
  /// Position of a variable, or of a derivative by time: "der(x)" has the position of x plus the number of variables,
  /// unless a variable has that name. Throws UsageError with the nearest name if there is none.
  std::size_t index(const std::string& name) const;
  /// What stands at a position: a variable, or behind them its derivative.
  VariableInfo variable(std::size_t position) const;

  double t_start() const { return t_start_; }
  /// The last time that the result covers; status().t is the same.
  double t_end() const { return t_end_; }
  /// All variables at a time between t_start and t_end. Throws UsageError outside, and before the present time of
  /// Simulator::forget_steps.
  std::vector<double> at(double t) const;
  double at(double t, const std::string& name) const;
  /// Just before t: at the time of an event, what held before it.
  std::vector<double> before(double t) const;
  /// Derivatives of all variables by time: those of differentiated variables from the equations, all others by
  /// differences along the solution, with a relative error of 1e-8 or so where the mode is explicit, elsewhere as far as
  /// the tolerance allows. 0 of what is constant between events; not a number in runs that kept no steps.
  std::vector<double> slopes(double t) const;
  std::vector<double> slopes_before(double t) const;
  double slope(double t, const std::string& name) const;
  /// The end of the run.
  const std::vector<double>& final() const { return final_values_; }

  const std::vector<Segment>& segments() const { return segments_; }
  /// The mode of a segment, without what only the next event reads: conditions are false, and see all guards at zero.
  Mode mode(const Segment& segment) const;
  /// The modes of the run and the transitions between them, made at each call. Include <saltus/hybrid/mode_graph.hpp>.
  ModeGraph mode_graph() const;
  /// `intervals` + 1 equidistant times and, twice each, the times of the events in between (values before and after). One time if the run has no length.
  struct Samples {
    std::vector<double> t;
    std::vector<std::vector<double>> values;
  };
  Samples sample(int intervals) const;
  /// Values of some variables and derivatives (their positions) at many times, into given memory: variable k at time i
  /// becomes out[k * times.size() + i]. `before`: at which times the left limit is meant; empty: at none. Times in order are the
  /// fastest. Throws UsageError as at() does, and for positions and sizes that do not fit.
  void sample(std::span<const double> times, std::span<const int> variables, std::span<double> out,
              std::span<const unsigned char> before = {}) const;

 private:
  friend class Simulator;
  /// Where a limit is found: in a step, or among values that are known.
  struct Place {
    const Segment* segment = nullptr;
    const Step* step = nullptr;
    double t = 0.0;                                ///< within the step
    const std::vector<double>* values = nullptr;  ///< without a step
  };
  Place find(double t, bool right) const;
  std::vector<double> limit(double t, bool right) const;
  std::vector<double> slope_limit(double t, bool right) const;
  /// The step in which t lies; null if no steps are there.
  const Step* find_step(double t, bool right, const Segment*& segment) const;
  /// What the events at t leave behind, or found; empty if values were not kept, none if there are no events.
  const std::vector<double>* at_event(double t, bool right) const;

  std::shared_ptr<ResultReaders> readers_;
  double t_start_, t_end_;
  double values_from_;  ///< t_start, or later if steps were given back: from here on values are known
  std::vector<double> initial_values_, final_values_;
  std::vector<Segment> segments_;
  std::unique_ptr<EventLog> events_;
  std::vector<Chattering> chattering_;
  Status status_;
  RunStatistics statistics_;
};

}  // namespace saltus
