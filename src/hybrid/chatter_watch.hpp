// Chattering: the same one or two guards switch to and fro, again and again, in short intervals, and hardly move between
// two switchings: a band as narrow as the tolerance, a controller at its limit. Sliding does not chatter here. Neither do
// a carrier or a hysteresis band that the model means: their guards move by many tolerances.
#pragma once

#include <saltus/base/state_archive.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace saltus {

class ChatterWatch {
 public:
  struct Episode {
    double from = 0.0, to = 0.0;
    std::int64_t events = 0;
    std::vector<int> guards;

    void persist(StateArchive& archive) { archive(from, to, events, guards); }
  };

  /// `span`: the length of the run.
  explicit ChatterWatch(double span) : longest_pause_(rare * span) {}
  /// Guards fired at t. Returns whether this looks like chattering, from now on.
  bool note(double t, std::span<const int> guards) {
    // as a rule it is the same guard again
    const bool same = guards.size() == 1 && current_.guards.size() == 1 && current_.guards.front() == guards.front();
    interval_ = std::abs(t - current_.to);
    if (!same || current_.events + 1 == enough_ || !(interval_ <= longest_pause_)) return note_any(t, guards);
    current_.to = t;
    if (++current_.events > enough_) {
      episodes_.back().to = t;
      episodes_.back().events = current_.events;
    }
    return false;
  }
  /// Between the last two events.
  double interval() const { return interval_; }
  /// Notes an event of a guard at t. True if this interval and the one before it are shorter than `shortest`: the test of
  /// GESDA with its tolerance TOLC (section 3.4 of the report of 2009).
  bool too_close(double t, double shortest) {
    const bool close = std::abs(t - latest_[1]) < shortest && std::abs(latest_[1] - latest_[0]) < shortest;
    latest_ = {latest_[1], t};
    return close;
  }
  /// The times of the two events before the next one.
  const std::array<double, 2>& latest() const { return latest_; }
  /// After note() has returned true: it is no chattering. The events are counted anew, and many more are needed until the
  /// row ends: the caller's look at the guards is not free.
  void dismiss() {
    episodes_.pop_back();
    current_.events = 0;
    current_.from = current_.to;
    enough_ *= patience;
  }
  /// After note() has returned true: another method is tried first. As many events again make an episode.
  void postpone() {
    episodes_.pop_back();
    enough_ = current_.events + many;
  }
  const std::vector<Episode>& episodes() const { return episodes_; }
  void persist(StateArchive& archive) { archive(interval_, enough_, current_, episodes_, latest_[0], latest_[1]); }

 private:
  bool note_any(double t, std::span<const int> guards);

  static constexpr double rare = 0.01;  // events that are further apart, as a part of the run, do not chatter
  static constexpr int many = 50;       // so many in a row do
  static constexpr int patience = 32;

  double longest_pause_, interval_ = 0.0;
  std::array<double, 2> latest_ = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  std::int64_t enough_ = many;  // of the present row
  Episode current_;
  std::vector<Episode> episodes_;
};

}  // namespace saltus
