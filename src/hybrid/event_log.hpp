// What a run notes about its events: numbers only, in a few arrays that grow, so that an event costs no allocation of its own. Names and
// texts are looked up when somebody reads the events.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// One event as it happens. The spans are copied.
struct EventNote {
  double t = 0.0;
  EventKind kind = EventKind::crossing;
  JumpCause cause = JumpCause::none;
  double jump = 0.0;
  bool proved = true;
  const Mode *mode_before = nullptr, *mode_after = nullptr;
  std::span<const int> guards = {}, directions = {};
  std::span<const double> slope_before = {}, slope_after = {};  ///< of each guard, or none
  std::span<const double> before = {}, after = {};              ///< of each observed variable
  std::span<const double> weights = {};  ///< of the surfaces on which mode_after slides
  std::span<const std::string_view> actions = {};
  std::string_view message = {};
};

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog& other);
  EventLog& operator=(const EventLog&) = delete;

  /// `with_values`: keeps the values before and after.
  void add(const EventNote& note, bool with_values);
  std::size_t size() const { return entries_.size(); }
  /// All events so far, with the names that the system gives. May be called from several threads.
  const std::vector<Event>& read(const HybridSystem& system) const;

 private:
  struct Entry {
    double t, jump;
    std::int32_t mode_before, mode_after;
    std::uint32_t guards, values, weights, actions, text;  // how many of them; the arrays have those of all entries one after the other
    EventKind kind;
    JumpCause cause;
    bool proved, slopes_before, slopes_after;
  };
  /// Where the parts of an entry begin in the arrays.
  struct Place {
    std::size_t number = 0, integer = 0, action = 0, text = 0;
  };
  /// A mode without the truth of its conditions, which no text mentions.
  struct StoredMode {
    std::uint64_t hash;
    int automaton;
    std::size_t numbers, integers;
    std::uint32_t discrete, locks, sliding, contacts;
  };

  std::int32_t store(const Mode& mode);
  bool equal(const StoredMode& stored, const Mode& mode) const;
  Mode restore(const StoredMode& stored) const;
  /// Moves the place on to the next entry.
  Event make(const Entry& entry, Place& place, const HybridSystem& system) const;
  const std::string& describe(std::int32_t mode, const HybridSystem& system) const;

  std::vector<Entry> entries_;
  std::vector<StoredMode> modes_;
  std::vector<double> mode_numbers_, numbers_;
  std::vector<int> mode_integers_, integers_;
  std::vector<std::string_view> actions_;  // into the system
  std::string text_;
  std::array<std::int32_t, 8> recent_ = {-1, -1, -1, -1, -1, -1, -1, -1};  // modes that are likely to come again
  std::size_t oldest_ = 0;

  mutable std::mutex reading_;
  mutable std::vector<Event> events_;          // those that have been read
  mutable Place unread_;                         // of the next
  mutable std::vector<std::string> mode_texts_;  // empty: not yet described
};

}  // namespace saltus
