// What one part of a large model did within a step of all: pieces of its solution, and its events.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {

/// An event of a part. Guards are those of the large family, actions the numbers of clauses of the small one.
struct PartEvent {
  double t = 0.0;
  EventKind kind = EventKind::crossing;
  JumpCause cause = JumpCause::none;
  double jump = 0.0;
  bool proved = true;
  std::vector<int> guards, directions;
  std::vector<std::string> actions;
  std::string message;
  std::vector<double> slope_before, slope_after;
  std::size_t state = 0;  ///< what holds behind it: its place in PartTrack::states
};

struct PartTrack {
  struct Piece {
    DensePolynomial polynomial;  ///< of the variables of the part
    double t_end;
    bool smooth = false;  ///< it begins without an event of the part

    double begin() const { return polynomial.t0; }
  };
  /// The mode of the small family from a time on.
  struct State {
    double t;
    Mode mode;
  };

  std::vector<Piece> pieces;  ///< without gaps, to the end of the step
  std::vector<State> states;  ///< the first one holds where the pieces begin
  std::vector<PartEvent> events;
  std::vector<double> x_end;
  std::vector<signed char> sides;  ///< at the end, of the guards that the part lists; empty: some are at zero
  double changed_from = 0.0;       ///< from here on the solution is another one than before this run

  bool empty() const { return pieces.empty(); }
  /// The piece that holds at a time, as the right limit.
  const Piece& at(double t) const {
    const auto later = std::upper_bound(pieces.begin(), pieces.end(), t,
                                        [](double value, const Piece& piece) { return value < piece.begin(); });
    return later == pieces.begin() ? pieces.front() : *std::prev(later);
  }
  /// The same up to a time.
  PartTrack until(double t) const {
    PartTrack result;
    for (const Piece& piece : pieces)
      if (piece.begin() < t) result.pieces.push_back(piece);
    if (!result.pieces.empty()) result.pieces.back().t_end = t;
    for (const State& state : states)
      if (result.states.empty() || state.t <= t) result.states.push_back(state);
    for (const PartEvent& event : events)
      if (event.t <= t) result.events.push_back(event);
    return result;
  }
};

}  // namespace saltus
