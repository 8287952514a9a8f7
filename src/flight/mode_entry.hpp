// Whether a point is one of a mode of a flight, and what begins there: slopes, the next clocks, the guard that is zero.
#pragma once

#include <span>
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
            std::span<const int> at_zero);

  /// Slopes, and values and slopes of guards and clocks alone.
  void evaluate(const FlightMode& mode, const FlightNumbers& numbers, double t, const double* x);

  // --- what the last look has found
  std::span<const double> data() const { return room_->data; }  ///< of the tape
  std::span<const double> slopes() const { return room_->slopes; }
  int left() const { return left_; }                                            ///< the guard that is zero; -1: none
  std::span<const double> guards() const { return room_->guards; }              ///< their values, by place in the tape
  std::span<const double> guard_slopes() const { return room_->guard_slopes; }  ///< along the solution
  std::span<const double> clock_slopes() const { return room_->clock_slopes; }
  double next_clock() const { return next_clock_; }
  std::span<const unsigned char> due() const { return room_->due; }  ///< by clock: whether it fires then

 private:
  /// What the program of a tape reads and writes.
  struct Room {
    explicit Room(const FlightTape& tape);

    Workspace work;
    std::vector<double> data, slopes, guards, guard_slopes, guard_curves, clocks, clock_slopes;
    std::vector<unsigned char> due;
    double* out[6];
  };

  const FlightCode& code_;
  std::vector<Room> rooms_;  // by tape
  Room* room_ = nullptr;     // that was used last
  int left_ = -1;
  double next_clock_ = flight::infinity;
};

/// All guards of a tape, as places: at the start of a run each of them may be zero.
std::vector<int> all_guards(const FlightTape& tape);

}  // namespace saltus
