// The code of a flight: steps, transitions and observed values of the modes of an atlas.
//
// Modes whose equations are the same have one tape; their locks are data. All is immutable and serves any number of
// threads.
#pragma once

#include <saltus/program/program.hpp>
#include <saltus/step/tableau.hpp>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flight/atlas.hpp"
#include "flight/flight_arithmetic.hpp"
#include "flight/guard_bounds.hpp"
#include "program/step_tape.hpp"
#include "program/tape_runner.hpp"

namespace saltus {

/// How steps are made: by the table of a Runge-Kutta method, or by the Taylor series of the solution.
struct FlightMethod {
  const Tableau* tableau = nullptr;
  int series = 0;  ///< the order, where there is no table

  bool possible() const { return tableau || (series > 0 && series <= highest_crossing_degree); }
  int stages() const { return tableau ? tableau->stages : 2; }
  int all_stages() const { return tableau ? tableau->all_stages() : 2; }
  int dense_degree() const { return tableau ? tableau->dense_degree : series; }
  /// Of right-hand sides and series, in a step.
  int evaluations() const { return tableau && tableau->extra_stages == 0 ? tableau->stages - 1 : all_stages(); }
  bool operator==(const FlightMethod&) const = default;
  /// Appends numbers that no other method has.
  void identify(std::vector<double>& key) const;
};

/// The numbers of a run that its equations and actions read.
struct FlightNumbers {
  std::vector<double> parameters, discretes, locks;
};

/// Which number stands for an input of a tape.
struct FlightDatum {
  enum class Kind { parameter, discrete, lock, fixed } kind;
  std::size_t place;  ///< among its kind; fixed: in FlightMode::fixed
};

/// The equations of some modes.
struct FlightTape {
  std::size_t n = 0;                  ///< variables
  std::vector<FlightDatum> data;      ///< what is constant during a step
  std::vector<int> guards;            ///< that the step watches, by number in the system
  std::vector<int> clocks;            ///< guards of time alone, by number
  std::vector<int> first;             ///< see StepTape
  std::vector<unsigned char> affine;  ///< see StepTape
  TapeRunner step;                    ///< in lanes
  Program at;          ///< t, x, data: slopes of x; values of guards, their first and second derivatives along the
                       ///< solution; values of clocks, their slopes
  Program guard;       ///< t, x, data: values of guards
  Program observe;     ///< t, x, data: eliminated variables that are wanted
  GuardBounds bounds;  ///< of guards that are not affine
  Program project;     ///< t, x, data: x after one step of Newton's method onto the constraints; empty: there are none
  std::vector<unsigned char> state;  ///< by variable, with constraints: whether it is differentiated

  bool constrained() const { return !project.empty(); }
};

/// Tries one candidate for what happens next.
struct FlightEdge {
  int edge = 0;  ///< among those of the mode in the atlas
  std::vector<int> departures;
  int guard = -1;        ///< that fires, by its place in the tape; -1: clocks
  long long clocks = 0;  ///< that fall due together, as bits
  std::size_t target = 0;
  Program act;                 ///< t, x, parameters, discretes: what is set
  std::vector<int> variables;  ///< the first of these values are theirs
  std::vector<int> discretes;  ///< and then theirs
  std::vector<std::pair<int, double>> roundings;
  std::vector<int> at_zero;  ///< guards of the target's tape (places) that may be zero after it
  Program project;  ///< as that of the target's tape, where the variables that are set stay; empty: nothing may move
};

struct FlightMode {
  int number = 0;  ///< in the atlas
  std::size_t tape = 0;
  Mode mode;                             ///< for everything else
  std::vector<signed char> sides;        ///< by guard of the tape; 0: not watched
  std::vector<signed char> clock_sides;  ///< by clock
  std::vector<double> fixed;             ///< data that are the same for all members
  std::vector<FlightEdge> edges;
};

struct FlightCode {
  std::vector<FlightTape> tapes;
  std::vector<FlightMode> modes;
  std::vector<int> deciding_discretes, deciding_locks;
  FlightMethod method;
  flight::Control control{};      ///< of step sizes
  flight::Stiffness stiffness{};  ///< its weights are those of the tableau

  /// True if a guard that the mode watches is not affine: steps need a proof (StepBounds).
  bool needs_proof(const FlightMode& mode) const;
  /// Puts the numbers of a member into the data of a tape, `stride` apart.
  void gather(const FlightMode& mode, const FlightNumbers& numbers, double* data, std::size_t stride) const;
};

/// What is to be compiled beside the atlas.
struct FlightOrder {
  FlightMethod method;
  int lanes = 1;  ///< of steps: 1, 4 or 8. With several lanes, every watched guard is affine or has bounds
  std::vector<int> eliminated;  ///< eliminated variables that are wanted, by their order
};

/// Compiles. Modes and edges that have no code are left out; `missing` says why, for people.
FlightCode compile_flight(const Atlas& atlas, const CompiledModel& model, const FlightOrder& order,
                          std::vector<std::string>& missing);
/// Whether the actions of an edge give what they gave in the event from which it was learned.
bool as_in_example(const FlightCode& code, const FlightEdge& edge, const AtlasEdge& learned);
/// Leaves out edges of which that is not true.
void drop_wrong_edges(const Atlas& atlas, FlightCode& code, std::vector<std::string>& missing);

}  // namespace saltus
