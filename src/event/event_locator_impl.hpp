// The state and the parts of the search that event_locator.cpp (the walk over a step), event_linear.cpp (roots of linear
// guards), event_search.cpp (roots of the others), event_choice.cpp (from roots to the event) and guard_proof.cpp (that nothing
// was missed) share.
#pragma once

#include "bracket.hpp"
#include "chebyshev_fit.hpp"
#include "composite.hpp"
#include "step_enclosure.hpp"

#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace saltus {

constexpr int coarse_grid = 8;

/// A part of the step, in fractions of it, that is searched at once.
struct Piece {
  double low, high;
  int depth;
};

/// A place at which a guard seems to leave its side. u is the guard times its side.
struct Candidate {
  int guard = 0;
  double low = 0.0, guess = 0.0, high = 1.0;  // fractions of the step: u >= 0 at low (or low is the start), u < 0 at high
  double blur = 0.0;                          // how far the zero may be from the guess, as a fraction of the step
  double noise_blur = 0.0;                    // the part of it that noise of the guard makes (see noise_blur_of)
  double fit_noise = 0.0, magnitude = 0.0;    // of a rough fit, whose noise_blur is still to be found: what made the blur, and the largest |u|
  double slope = 0.0;                         // |du/ds| at the guess; 0: not known
  bool at_start = false;
  bool trust_low = false;   // a divided-out zero: u >= 0 at low is known although the value may not show it
  bool may_vanish = false;  // within noise at the end of the step: an event only if the other side is reached
  bool closer = false;      // comes from a closer look
};

enum class Verdict { nothing, found, split, not_finite };

/// What a closer look at an even root cell tells.
enum class Closer { undecided, nothing, touch, crossing };

struct EventLocator::Impl {
  EventOptions options;
  EventStatistics statistics;
  Composite composite;
  std::span<const GuardWatch> watch;
  std::size_t guards = 0;

  std::vector<double> rows;  // value of guard k at point j of the finest grid of the present piece: rows[j*guards + k]
  int sampled = 0;           // the finest grid that is sampled on the present piece
  Piece piece = {};
  std::vector<double> sides, margins, probe_row, noise, closer_row, closer_noise;
  bool noise_known = false;
  bool rough = false;  // the fit in use is not known to the noise, but its roots stand out
  std::vector<int> suspects;
  std::vector<Candidate> candidates;         // on the present piece
  std::vector<Candidate> linear_candidates;  // of linear guards, on the whole step
  std::vector<GuardTouch> touches;
  bool resolved = true;         // every fit is known to the noise of its guard
  bool linear_resolved = true;  // those of linear guards are
  bool proved = true, not_finite = false;
  double last_fraction = 1.0;  // the guards are finite up to here
  double finite_until = 0.0;
  double fineness = 0.0;   // of the finest samples, in intervals per step
  double resume = 1.0;     // where a promised crossing turned out to be none: behind it the search has to go on
  double direction = 1.0;  // of the step
  double unit = 0.0;       // one unit in the last place of the times that are being looked at
  std::int64_t evaluations_before = 0;
  RootCells roots, closer_roots;

  // The proof (guard_proof.cpp)
  enum class Proof { complete, incomplete, crossing };
  StepEnclosure enclosure;
  bool enclosable = true;                         // the system gives enclosures
  std::int64_t enclosures_before = 0;
  std::vector<int> open;                          // the guards that enclosures over the whole step do not clear
  std::vector<int> pending, remaining, monotone;  // lists of guards, for pieces
  std::vector<Interval> slopes;                   // of each guard, over the present piece
  struct {
    double low, high;
  } gap = {};  // where a crossing is that no sample has shown

  bool earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                std::span<const LinearGuard> linear, LocatedEvent& event);
  void make_room(std::size_t count);
  void begin(System& system, const DensePolynomial& step, std::span<const GuardWatch> given);
  bool search(std::span<const LinearGuard> linear, LocatedEvent& event);
  bool search_all(std::span<const LinearGuard> linear, LocatedEvent& event);
  void not_resolved(int k);
  Interval enclosed(int k, int order) const;
  double given_noise(int k) const { return watch[static_cast<std::size_t>(k)].noise; }
  void test_natural(double low, double high, std::vector<int>& list, bool strict);
  void test_mean_value(double low, double high, std::vector<int>& list, bool strict, bool& below);
  void test_monotone(double low, double high, std::vector<int>& list, std::span<const int> ends, bool& below);
  void clear_guards();
  Proof prove(double low, double high, std::span<const int> ends);
  bool confirm(bool found, LocatedEvent& event);
  void sample(int N);
  void first_test();
  static bool far_from_zero(const DensePolynomial& step, std::span<const GuardWatch> given, std::span<const LinearGuard> linear);
  void find_uncertain(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                      std::span<const LinearGuard> linear, std::vector<int>& uncertain);
  bool search_linear(std::span<const LinearGuard> linear, bool& sampling);
  bool crossing_of_line(int k, std::span<const double> c, double guard_noise, double magnitude);
  void roots_of_line(int k, std::span<const double> c, double guard_noise, double magnitude);
  int divide_start(int k, Bernstein& p) const;
  Verdict search_piece();
  void add_linear();
  Verdict search_guard(int k);
  bool stands_out(int k, int N, const double* a, double upper_half, double magnitude, Fit& fitted, int& divided);
  Verdict series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u, int& divided);
  Verdict fit_series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u, int& divided);
  void estimate_noise();
  double noise_of(int k, double magnitude);
  bool take_roots(int k, const Bernstein& p, int divided, double last_value, double noise_of_last);
  Candidate crossing(int k, const Bernstein& p, const RootCell& cell, const Piece& where, int divided);
  Closer look_closer(int k, double& low, double& high);
  void shorten_to_finite();
  void walk_back(Candidate& c, Bracket& bracket, double stride);
  bool walk_forward(const Candidate& c, Bracket& bracket, double stride);
  bool try_neighbours(const Candidate& c, Bracket& bracket, double& t, double& value);
  bool refine(Candidate& c, Bracket& bracket);
  bool refine_first(Bracket& bracket);
  void give_up(Candidate c);
  double noise_blur_of(const Candidate& c);
  double window_of(const Bracket& bracket);
  /// Whether time a comes after time b as the integration runs.
  bool ahead(double a, double b) const { return direction * (a - b) > 0.0; }
  bool choose(LocatedEvent& event);
  void join_others(Bracket& best, LocatedEvent& event);
  bool go_on();
  /// Guard k times its side, at time t.
  double u_at(int k, double t) {
    composite.at_time(t, probe_row.data());
    return watch[static_cast<std::size_t>(k)].side * probe_row[static_cast<std::size_t>(k)];
  }
  /// One unit in the last place of the larger of |t0| and |t|; NaN if that is not finite.
  double unit_at(double t) const {
    const double largest = std::max(std::abs(composite.step().t0), std::abs(t));
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(largest) + 1) - largest;  // the next number
  }
  bool exhausted() const { return composite.evaluations - evaluations_before > options.max_evaluations; }
};

}  // namespace saltus
