// A step of a large model with all its events, part by part, see local_events.cpp.
#pragma once

#include <saltus/dae/parts.hpp>
#include <saltus/step/tableau.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hybrid/part_modes.hpp"
#include "hybrid/part_track.hpp"
#include "hybrid/short_lists.hpp"
#include "hybrid/simulator_impl.hpp"
#include "hybrid/stage_step.hpp"

namespace saltus {

struct Simulator::Impl::LocalEvents::Work {
  Work(Impl& of, std::shared_ptr<const FamilyParts> found, const Tableau& by, Method with);

  Impl& run;
  std::shared_ptr<const FamilyParts> parts;
  const Tableau& tableau;
  int degree;
  Method method;
  std::vector<int> part_of_variable, place_of_variable, part_of_guard;
  std::vector<int> timed;  // parts with time events
  std::vector<std::size_t> first_reader;
  std::vector<int> readers;                    // of each part: parts that read its variables
  std::vector<std::unique_ptr<Impl>> runners;  // by shape

  // one step
  static constexpr double never = std::numeric_limits<double>::infinity();
  double t0 = 0.0, t1 = 0.0;
  double sliver = 0.0;  // times that are closer to each other are one: a run of a part finds an event again with errors
  const DensePolynomial* all = nullptr;
  std::vector<PartTrack> tracks;
  std::vector<int> track_part;  // by track
  std::vector<int> track_of;    // by part: its track; -1: none
  std::vector<double> pending;  // by part: it is to be run from here on
  using Due = std::pair<double, int>;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> queue;
  std::vector<int> uncertain;
  std::int64_t runs = 0, pieces_made = 0, pieces_allowed = 0;
  // workspace
  Mode smooth_mode;
  std::vector<double> smooth_x, scale;
  StageStep stage_step{tableau};
  std::vector<GuardWatch> sides, next_watch;
  std::vector<int> doubtful, due;
  Mode mode_then;
  std::vector<double> x_then, slope_old, slope_new, old_values, new_values;

  void find_readers();

  // --- runs of parts

  /// Writes the polynomials of foreign variables that hold from a time on; returns until when.
  double write_foreign(const FamilyPart& part, const PartShape& shape, double t, Mode& mode) const;

  /// Whether a variable that a part reads is reset at a time.
  bool foreign_jumps(const FamilyPart& part, double t) const;

  /// From when on the variables that a part reads are not those of the step of all.
  double foreign_changed(const FamilyPart& part) const;

  Impl* runner_of(int number, const PartShape& shape);

  /// A guard leaves its zero in another way if variables of others change there: an event at this time is found
  /// again. The time before it, or the time itself if there is none.
  double before_events_at(const PartTrack& track, double t) const;

  /// Runs a part from a time to the end of the step. False: it cannot.
  bool run_part(int number, double from);

  /// A part has another solution from a time on; `before`: its track before, null: the step of all.
  bool keep(int number, const FamilyPart& part, PartTrack fresh, double changed_from, const PartTrack* before);

  /// The same for a part in which nothing happens: steps alone, with the variables of others at the times of the
  /// stages. False: something may happen, or a step fails. `mode_then` and `x_then` are the point at `from`.
  bool run_smoothly(const FamilyPart& part, const PartShape& shape, Impl& runner, double from, PartTrack& track);

  /// The next event of a part that this one reads, or the end of the step.
  double next_foreign_event(const FamilyPart& part, double t) const;

  /// Writes the values of foreign variables at a time, as constants.
  void write_foreign_values(const FamilyPart& part, const PartShape& shape, double t, Mode& mode) const;

  PartEvent event_of(const FamilyPart& part, const PartShape& shape, const EventShape& e, const EventNumbers& numbers,
                     std::size_t state) const;

  /// Whether the small family gives the slopes that the large one has at the beginning of the step.
  bool agrees_with_all(const FamilyPart& part, const std::vector<double>& slopes) const;

  // --- what a change means for others

  double tolerance(int variable, double value) const;

  void values_at(const FamilyPart& part, const PartTrack* track, double t, std::vector<double>& values) const;

  /// Looks at the readers of a part that has changed; `before`: its track before, null: the step of all.
  bool look_at_readers(int number, const FamilyPart& part, const PartTrack* before);

  /// Compares the slopes of a reader at a time, with the new values of a part and with its old ones. False: it cannot.
  bool changes_slope(int changed, int reader, double t, double largest, double rest, bool& matters);

  void ask_for(int part, double from);

  // --- a step

  void begin_step();

  /// The parts in which something may happen.
  void find_touched();

  /// Runs all parts that need it. False: one of them cannot be run, or too many pieces are made.
  bool settle_parts();

  /// The longer a step, the farther changes spread in it, the more parts are run again, and the more pieces their
  /// solutions have. So many pieces are worth a step of this length; with more of them shorter steps cost less. All of
  /// it depends on counts alone.
  double worthwhile_pieces(std::size_t events) const;
  double longest_next_step() const;
  bool made_too_many_pieces() const { return pieces_made > pieces_allowed; }
  static constexpr double shortening = 0.3;

  // --- the record of a step, see local_record.cpp
  /// Writes events and pieces into the result, in the order of time.
  void record();
  /// An event of a part: its place.
  struct Happening {
    double t;
    int track;
    std::size_t event;
  };
  void note_events(std::span<const Happening> happenings, double t);
  std::vector<std::size_t> recorded_states;  // by track: that of its last event, so far
  std::size_t slides_now = 0, contacts_now = 0;
  std::string clause_name(const FamilyPart& part, const std::string& number) const;

  /// Mode and values at the end of the step, the next one begins there.
  void commit();

  /// The sides of the guards of a part at the end of a run.
  static void note_sides(const PartShape& shape, std::span<const GuardWatch> watch, PartTrack& track);

  /// What the next step watches of the guards of the family: in parts that have not been run what the last step has
  /// watched, in the others what is known from their runs. Empty: guards at zero are to be looked at.
  std::span<const GuardWatch> find_watch();
};

}  // namespace saltus
