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

#include "flight/atlas.hpp"
#include "flight/executor.hpp"
#include "flight/flight_code.hpp"
#include "flight/host_code.hpp"
#include "flight/mode_entry.hpp"
#include "flight/observed_places.hpp"

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

  double t() const { return run_.t; }
  std::span<const double> x() const { return run_.x_; }
  std::span<const double> slopes() const { return run_.slope_; }
  double next_step() const { return run_.motion.h; }
  bool slides() const { return !base_->sliding.empty(); }
  /// The present mode. `numbers_alone`: it is there but for its numbers.
  void write_mode(Mode& mode, bool numbers_alone = false) const;
  /// Observed variables at the present point.
  void write_values(std::vector<double>& values);
  /// The last step as a polynomial.
  void write_dense(DensePolynomial& dense) const;
  const FlownEvent& event() const { return event_; }
  /// Whether a slide has just ended. The next step can be flown; until then the loop could not go on.
  bool leaves_surface() const { return leaves_surface_; }
  const StepStatistics& statistics() const { return statistics_; }
  /// The system that it uses in the present mode; null: none.
  const System* system() const;

  /// Writes or reads what later steps depend on. `flying`: the run is in the air.
  void persist(StateArchive& archive, bool& flying, FlightMethod method, double t, const Mode& mode,
               std::span<const double> x);

 private:
  using State = HostCode::State;
  /// What a tape works on.
  struct TapeRoom {
    TapeRoom(const FlightTape& tape, const PilotRules& rules);

    std::vector<double> atol;
    std::vector<std::vector<double>> outputs;
    std::vector<double*> out;
    TapeRunner::Memory memory;
  };
  /// Where the slopes of a guard that an event names come from: places in the tapes of the modes before and after it.
  struct NamedGuard {
    enum class Source { none, clock, guard };
    struct Place {
      Source source = Source::none;
      std::size_t number = 0;
    } before, after;
  };
  /// What an event on an edge looks up, by its number in the code.
  struct ReadyEdge {
    AtlasPlace place;
    bool leaves_surface = false;  // the target slides on fewer surfaces
    std::vector<NamedGuard> named;
  };
  struct LastStep {
    double t = 0.0, h = 0.0;
    std::vector<double> x;          // where it began
    const double* dense = nullptr;  // its coefficients: in a room, or a copy
  };
  /// Reads the events of the executor.
  struct Recorder {
    Pilot& pilot;
    void step(const State&, const flight::End&, const flight::StepView&, double, bool) const {}
    void event(const State& run, const flight::EventRecord<HostCode>& record) const { pilot.note(run, record); }
  };
  class Enclosures;

  Pilot(CompiledModel& model, PilotRules rules);
  const FlightMode& mode() const { return code_->modes[static_cast<std::size_t>(run_.mode)]; }
  void compile(FlightMethod method);
  void make_ready(const FlightMode& from, const FlightEdge& edge);
  static NamedGuard::Place place_of(const FlightCode& code, const FlightMode& mode, int guard);
  flight::StepView evaluate(const State& run, const flight::End& end);
  void keep_step(const flight::End& end, const flight::StepView& step);
  void write_dense(DensePolynomial& dense, double t, double h, std::span<const double> x,
                   const double* coefficients) const;
  bool can_be_flown(const FlightMode& mode) const { return mode.mode.contacts.empty(); }
  void note(const State& run, const flight::EventRecord<HostCode>& record);
  bool leads_away();
  void observe(int mode, double t, const double* x, const double* data, const double* discretes,
               std::vector<double>& values);
  static double slope_of(const NamedGuard::Place& place, const HostCode::Point& point);

  CompiledModel& model_;
  PilotRules rules_;
  bool learning_ = false;
  std::vector<Act> acts_;
  Atlas atlas_;
  std::vector<std::vector<std::vector<int>>> fired_;  // by mode and edge of the atlas
  std::size_t described_ = 0;                         // edges with such a list
  std::vector<ObservedPlace> places_;                 // of the observed variables
  std::vector<int> eliminated_;

  std::size_t compiled_ = 0;  // edges that the code knows
  int compilations_ = 0;
  std::shared_ptr<const FlightCode> code_;
  std::unique_ptr<HostCode> host_;
  std::unique_ptr<flight::Executor<HostCode>> executor_;
  std::unique_ptr<Enclosures> enclosures_;
  std::vector<std::unique_ptr<TapeRoom>> rooms_;   // by tape
  std::vector<ReadyEdge> ready_;                   // by edge of the code
  std::vector<std::vector<std::size_t>> weights_;  // by mode: those of its surfaces, as places among the guards
  std::vector<int> code_place_;                    // by mode of the atlas; -1: not flown
  std::unique_ptr<ModeEntry> entry_;

  // where the run is
  State run_;
  Mode first_;                  // at the beginning of the flight
  const Mode* base_ = &first_;  // the mode but for its numbers: that, or one behind an edge
  const Mode* base_before_event_ = &first_;
  LastStep last_step_;
  bool leaves_surface_ = false;
  StepStatistics statistics_;
  FlownEvent event_;
  // workspace
  State before_event_, trial_;
  std::vector<double> dense_copy_;
};

}  // namespace saltus
