// One run in flight: its steps and events are made by code for the modes and transitions that it has met before.
//
// On the ground the run tells what happens at its events. Where its mode is known it takes off. It lands before
// whatever is not known, and goes on there as any other run.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/step/dense_polynomial.hpp>
#include <saltus/step/stepper.hpp>
#include <saltus/step/tableau.hpp>

#include <memory>
#include <span>
#include <vector>

#include "event/step_enclosure.hpp"
#include "flight/atlas.hpp"
#include "flight/flight_code.hpp"
#include "flight/mode_entry.hpp"
#include "flight/observed_places.hpp"
#include "flight/step_bounds.hpp"

namespace saltus {

struct PilotRules {
  double rtol = 1e-6;
  std::vector<double> atol = {};  ///< by variable
  double max_step = 0.0;
  double stop = 0.0;           ///< the last step of the run is not flown
  bool lands_if_stiff = true;  ///< the run may take another method
};

/// An event that was flown through.
struct FlownEvent {
  AtlasPlace edge;
  double t = 0.0;
  bool reset = false;                 ///< actions have set variables
  bool numbers_kept = true;           ///< discrete values that decide nothing, and roundings, are those before it
  double jump = 0.0;                  ///< the largest change of an observed variable
  std::vector<double> before, after;  ///< observed variables
  std::vector<double> slopes_before, slopes_after;  ///< of the guards that fired, see Pilot::describe
  std::vector<double> weights;                      ///< of the surfaces on which the mode behind the event slides
};

class Pilot {
 public:
  /// Null: the system is not of a kind that can be flown. The system must live as long as the pilot, and is watched.
  static std::unique_ptr<Pilot> make(HybridSystem& system, PilotRules rules);
  ~Pilot();

  // --- on the ground
  /// Learns from now on.
  void begin_learning(const Mode& mode);
  bool learning() const { return learning_; }
  /// An event begins.
  void begin_event() { acts_.clear(); }
  /// It has ended. The edge, or none: such events are not flown through.
  AtlasPlace learn(double t, const Mode& before, const Mode& after, std::vector<int> departures,
                   std::span<const double> x_before, std::span<const double> x_after);
  /// The guards that an edge names, for the slopes of its events.
  void describe(AtlasPlace edge, const std::vector<int>& fired);
  /// The guards and sides with which the events on an edge begin, see departure().
  const std::vector<int>& departures(AtlasPlace edge) const {
    return atlas_.modes()[static_cast<std::size_t>(edge.mode)].edges[static_cast<std::size_t>(edge.edge)].departures;
  }
  /// Begins a flight in steps of this method. Code is made of what has been learned, some times at most; then nothing
  /// more is learned. False: the mode or the point is not one that can be flown from.
  bool take_off(FlightMethod method, double t, const Mode& mode, std::span<const double> x, double step);

  // --- in flight
  enum class Outcome {
    step,   ///< one step has been made
    event,  ///< a part of a step, and the event at its end
    land,   ///< something is not known: nothing has been done
  };
  /// Goes on, not beyond `limit`.
  Outcome advance(double limit);

  double t() const { return t_; }
  std::span<const double> x() const;
  std::span<const double> slopes() const;
  double next_step() const { return motion_.h; }
  bool slides() const { return !base_->sliding.empty(); }
  /// The present mode. `numbers_alone`: it is there but for its numbers.
  void write_mode(Mode& mode, bool numbers_alone = false) const;
  /// Observed variables at the present point.
  void write_values(std::vector<double>& values);
  /// The last step as a polynomial.
  void write_dense(DensePolynomial& dense) const;
  const FlownEvent& event() const { return event_; }
  /// Whether the last steps were limited by stability.
  bool stiff() const { return stiff_; }
  /// Whether a slide has just ended. The next step can be flown; until then the loop could not go on.
  bool leaves_surface() const { return leaves_surface_; }
  const StepStatistics& statistics() const { return statistics_; }
  /// The system that it uses in the present mode; null: none.
  const System* system() const { return system_; }

  /// Writes or reads what later steps depend on. `flying`: the run is in the air.
  void persist(StateArchive& archive, bool& flying, FlightMethod method, double t, const Mode& mode,
               std::span<const double> x);

 private:
  /// What a tape works on.
  struct Seat {
    Seat(const FlightTape& tape, FlightMethod method, const PilotRules& rules);

    std::vector<std::vector<double>> inputs, outputs;
    std::vector<const double*> in;
    std::vector<double*> out;
    TapeRunner::Memory memory;
    Workspace observe, guard;
    StepBounds bounds;
    // where the groups lie
    double *t, *h, *end, *x, *slope, *data;
    const double *x_end, *slopes, *last_slope, *error, *finite, *dense, *guards;
    flight::Course course;
  };
  /// Where the slope of a guard that an event names comes from.
  struct NamedGuard {
    enum class Source { crossing, none, clock, guard } before, after;
    std::size_t place_before, place_after;  // among clocks or guards of the tape
  };
  /// What an event on an edge looks up.
  struct ReadyEdge {
    bool usable = false;
    bool leaves_surface = false;                           // the target slides on fewer surfaces
    std::vector<std::pair<int, double>> discretes, locks;  // that decide, and what they become, where they change
    std::vector<std::pair<std::size_t, double>> wanted;    // of what actions give: the values that lead to the target
    std::vector<NamedGuard> named;
    Workspace work;
  };
  struct ReadyMode {
    Seat* seat = nullptr;
    flight::Guards guards;
    std::vector<int> interpolated;     // guards that are watched and not affine, by number
    std::vector<std::size_t> weights;  // of the surfaces on which it slides, as places among the guards
    std::vector<ReadyEdge> edges;
  };
  struct LastStep {
    double t = 0.0, h = 0.0;
    const Seat* seat = nullptr;  ///< in which it was made
    std::vector<double> x;       ///< where it began
  };
  /// What the steps of a mode have taught.
  struct StepLimits {
    double guards = flight::infinity;  // the longest that guards can be followed over
    double first = flight::infinity;   // the longest that is worth trying after an event

    void persist(StateArchive& archive) { archive(guards, first); }
  };
  /// A number of the run before an event.
  struct Change {
    double* number;
    double before;
  };

  Pilot(CompiledModel& model, PilotRules rules);
  const FlightMode& mode() const { return code_->modes[static_cast<std::size_t>(mode_)]; }
  const FlightTape& tape() const { return code_->tapes[mode().tape]; }
  const ReadyMode& ready() const { return ready_[static_cast<std::size_t>(mode_)]; }
  Seat& seat() const { return *ready().seat; }
  void compile(FlightMethod method);
  void make_ready(const FlightMode& mode);
  ReadyEdge make_ready(const FlightMode& from, const FlightEdge& edge) const;
  NamedGuard name(const FlightMode& from, const FlightEdge& edge, int guard) const;
  bool can_be_flown(const FlightMode& mode) const;
  void enter(const FlightMode& mode, const double* x);
  bool make_step(double limit, flight::Crossing& crossing);
  void learn_from_step(double error, bool rejected, bool coarse);
  bool make_event(const flight::Crossing& crossing);
  bool left_behind() const;
  bool leads_away();
  double polish(int guard, double u);
  bool proved(const flight::Crossing& crossing);
  bool is_enclosed(std::size_t guard, const flight::StepPart& part);
  void dense_at(double u, std::vector<double>& x) const;
  bool follow(double t, std::span<const int> departures, double slope);
  bool try_edge(double t, const FlightEdge& edge, ReadyEdge& ready, double slope);
  bool act(double t, const FlightEdge& edge, ReadyEdge& ready);
  void set(double& number, double value) {
    changes_[change_count_++] = {&number, number};
    number = value;
  }
  void undo();
  void find_slopes_before(double t, const ReadyEdge& edge, double slope);
  void find_slopes_after(const ReadyEdge& edge);
  void observe(const FlightMode& mode, const Seat& seat, double t, const double* x, std::vector<double>& values);

  CompiledModel& model_;
  PilotRules rules_;
  bool learning_ = false;
  std::vector<Act> acts_;
  Atlas atlas_;
  std::vector<std::vector<std::vector<int>>> fired_;  // by mode and edge of the atlas
  std::size_t described_ = 0;                         // edges with such a list
  std::vector<StepLimits> limits_;                    // by mode of the atlas
  std::vector<ObservedPlace> places_;                 // of the observed variables
  std::vector<int> eliminated_;

  std::size_t compiled_ = 0;  // edges that the code knows
  int compilations_ = 0;
  std::shared_ptr<const FlightCode> code_;
  std::vector<std::unique_ptr<Seat>> seats_;  // by tape
  std::vector<ReadyMode> ready_;              // by mode of the code
  std::vector<int> code_place_;               // by mode of the atlas; -1: not flown
  std::unique_ptr<ModeEntry> entry_;

  // where the run is
  double t_ = 0.0;
  int mode_ = 0;
  Mode first_;                  // at the beginning of the flight
  const Mode* base_ = &first_;  // the mode but for its numbers: that, or one behind an edge
  FlightNumbers numbers_;
  flight::Motion motion_;
  flight::End end_;
  LastStep last_step_;
  System* system_ = nullptr;  // of the mode, where it was needed for enclosures
  StepEnclosure enclosure_;   // of the last step, if it is `enclosing_`
  DensePolynomial dense_;
  bool enclosing_ = false;
  std::vector<int> due_;  // clocks that fire at motion_.next_clock, as departures
  std::vector<double> clock_slopes_;
  bool stiff_ = false, leaves_surface_ = false;
  bool behind_event_ = false;  // no step has been made since the last event
  StepStatistics statistics_;
  FlownEvent event_;
  // workspace
  std::vector<Change> changes_;  // of numbers_, by the last event: the first change_count_
  std::size_t change_count_ = 0;
  std::vector<double> x_event_, x_next_, set_, observed_, guards_;
  Mode mode_now_;
  LastStep step_before_;
};

}  // namespace saltus
