// What a run notes about its events: numbers only, in a few arrays that grow, so that an event costs no allocation of its own. Names and
// texts are looked up when somebody reads the events.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hybrid/growing_array.hpp"
#include "hybrid/kept_modes.hpp"

namespace saltus {

/// What differs from one event to the next of its kind. The spans are copied.
struct EventNumbers {
  double t = 0.0;
  JumpCause cause = JumpCause::none;
  double jump = 0.0;
  bool proved = true;
  std::span<const double> slope_before = {}, slope_after = {};  ///< of each guard, or none
  std::span<const double> before = {}, after = {};              ///< of each observed variable
  std::span<const double> weights = {};                         ///< of the surfaces on which the mode behind the event slides
};

/// What is the same for many events. The spans are copied.
struct EventShape {
  EventKind kind = EventKind::crossing;
  const Mode* mode_before = nullptr;
  const Mode* mode_after = nullptr;
  std::span<const int> guards = {}, directions = {};
  std::span<const std::string_view> actions = {};
  std::string_view message = {};
  /// The guards with which the event began, by their numbers in the system of the mode before: those that crossed, or
  /// fell due. Others fired because of what these did. Empty: no guard began it, or it is not known (events in parts).
  std::span<const int> causes = {};
};

/// Where the log keeps the shape of an event, its modes included.
struct EventTag {
  std::int32_t place = -1;

  bool known() const { return place >= 0; }
};

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog& other);
  EventLog& operator=(const EventLog&) = delete;

  /// Notes an event.
  EventTag add(const EventShape& shape, const EventNumbers& numbers);
  /// The same for modes that have been kept; those of the shape do not count.
  EventTag add(int mode_before, int mode_after, const EventShape& shape, const EventNumbers& numbers);
  /// The same for one that has the shape of another.
  void add(EventTag tag, const EventNumbers& numbers);
  /// The same for one that has the shape of another, but leads to a mode with new numbers. `mode_before`: its number in
  /// modes().
  EventTag add(EventTag like, int mode_before, const Mode& mode_after, const EventNumbers& numbers);
  /// The number of the mode behind the events with this tag.
  int mode_after(EventTag tag) const { return parts_[static_cast<std::size_t>(tag.place)].mode_after; }
  std::size_t size() const { return entries_.size(); }
  /// Gives back the events so far. Tags stay valid.
  void forget();
  /// Does not note events up to a time. `direction`: of time, +1 or -1.
  void ignore_until(double t, int direction) { until_ = t, direction_ = direction; }
  /// All events so far, with the names that the system gives. May be called from several threads.
  const std::vector<Event>& read(const HybridSystem& system) const;

  /// Calls `visit` for each event in turn; keeps none of them.
  void for_each(const HybridSystem& system, const std::function<void(const Event&)>& visit) const;

  /// An event as it is stored. The spans are valid until the next event is added.
  struct Stored {
    double t;
    EventKind kind;
    int mode_before, mode_after;  ///< their numbers in modes()
    std::span<const int> guards, directions, causes;  ///< see EventShape
    std::span<const std::string> actions;
  };
  /// The event at a position below size().
  Stored stored(std::size_t event) const;
  /// The modes before and after the events, and those of the segments. Equal modes may have several numbers.
  KeptModes& modes() { return modes_; }
  const KeptModes& modes() const { return modes_; }

 private:
  /// (24 bytes: memory that is touched for the first time may cost more than all the rest of an event)
  struct Entry {
    double t, jump;
    std::int32_t tag;
    JumpCause cause;
    bool proved;
  };
  /// What a tag stands for.
  struct Parts {
    std::int32_t shape, mode_before, mode_after;

    bool operator==(const Parts&) const = default;
  };
  struct StoredShape {
    EventKind kind;
    std::uint32_t guards, causes, actions;
    std::size_t integers, action;  // where its parts begin: guards, directions and causes; actions
    std::string message;
    std::uint32_t slopes_before, slopes_after, values, weights;  // how many numbers an event has

    /// Values behind the event are what has changed, if there are many: how many have, and each with its place.
    bool keeps_changes() const { return values > 32; }
  };
  const Parts& parts(const Entry& entry) const { return parts_[static_cast<std::size_t>(entry.tag)]; }
  std::int32_t store(const Parts& parts);
  std::int32_t store_shape(const EventShape& shape, const EventNumbers& numbers);
  bool equal(const StoredShape& stored, const EventShape& shape, const EventNumbers& numbers) const;
  void add_changes(const EventNumbers& numbers);
  std::vector<double> take_after(const StoredShape& shape, const std::vector<double>& before, std::size_t& number) const;
  /// Takes the numbers from this place on, and moves it.
  Event make(const Entry& entry, std::size_t& number, const HybridSystem& system) const;
  const std::string& describe(std::int32_t mode, const HybridSystem& system) const;

  double until_ = -std::numeric_limits<double>::infinity();
  int direction_ = 1;
  GrowingArray<Entry> entries_;
  GrowingArray<double> numbers_;  // of all entries, one after the other
  GrowingArray<Parts> parts_;     // by tag
  std::vector<StoredShape> shapes_;
  std::vector<int> shape_integers_;
  std::vector<std::string> actions_;
  KeptModes modes_;
  std::vector<double> changes_;  // workspace

  mutable std::mutex reading_;
  mutable std::vector<Event> events_;          // those that have been read
  mutable std::size_t unread_ = 0;             // where the numbers of the next begin
  mutable std::vector<std::string> mode_texts_;  // empty: not yet described
  mutable KeptModes::Read read_;                 // the mode that was described last
};

}  // namespace saltus
