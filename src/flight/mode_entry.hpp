// Whether a point is one of a mode of a flight, and what begins there: slopes, the next clocks, the guard that is zero.
#pragma once

#include <vector>

#include "flight/flight_code.hpp"

namespace saltus {

/// For one thread.
class ModeEntry {
 public:
  explicit ModeEntry(const FlightCode& code);

  /// h: the size of steps, by which small distances are told from zero. `at_zero`: guards, as places in the tape, that
  /// may be zero. False: the point is not one of the mode, or has no slopes.
  bool look(const FlightMode& mode, const FlightNumbers& numbers, double t, double h, const double* x,
            const std::vector<int>& at_zero);

  /// Slopes, and values and slopes of guards and clocks alone.
  void evaluate(const FlightMode& mode, const FlightNumbers& numbers, double t, const double* x);

  // --- what the last look has found
  const std::vector<double>& slopes() const { return slopes_; }
  int left() const { return left_; }                                         ///< the guard that is zero; -1: none
  const std::vector<double>& guards() const { return guards_; }              ///< their values, by place in the tape
  const std::vector<double>& guard_slopes() const { return guard_slopes_; }  ///< along the solution
  const std::vector<double>& clock_slopes() const { return clock_slopes_; }
  double next_clock() const { return next_clock_; }
  const std::vector<unsigned char>& due() const { return due_; }  ///< by clock: whether it fires then

 private:
  const FlightCode& code_;
  std::vector<Workspace> work_;  // by tape
  std::vector<double> data_, slopes_, guards_, guard_slopes_, guard_curves_, clocks_, clock_slopes_;
  std::vector<unsigned char> due_;
  int left_ = -1;
  double next_clock_ = flight::infinity;
};

/// All guards of a tape, as places: at the start of a run each of them may be zero.
std::vector<int> all_guards(const FlightTape& tape);

}  // namespace saltus
