// The modes that a result keeps. From one event to the next a mode changes in few places, however large it is: most
// modes are kept as what differs from an earlier one.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hybrid/growing_array.hpp"

namespace saltus {

/// A surface on which a mode stays, as one number: that of a slide, or that of a contact from a side.
namespace surface {
inline int slide(int guard) {
  return 4 * guard;
}
inline int contact(int guard, int side) {
  return 4 * guard + 2 + side;
}
/// Writes the surfaces of a mode, in increasing order.
void list(const Mode& mode, std::vector<int>& surfaces);
/// Makes a mode stay on these surfaces.
void take(std::span<const int> surfaces, Mode& mode);
/// Some surfaces are left, others are new: each number in `toggled` takes one away that is there, and adds one that is
/// not. In any order; twice is as if it were not there. Costs what is toggled, and one pass over the surfaces.
void toggle(std::vector<int> toggled, Mode& mode);
}  // namespace surface

class KeptModes {
 public:
  /// Keeps a mode, without what only the next event reads (the truth of conditions and what they see), and returns its
  /// number. A mode that equals one of the last ones gets the number of that one.
  int keep(const Mode& mode);
  /// The same for a mode of which is known that its numbers are new. `like`: the number of a mode that differs from it
  /// in numbers alone.
  int keep_new(const Mode& mode, int like);
  /// The same for a mode that differs from the one that was kept last in these places alone: discrete variables first,
  /// then locks; and on these surfaces (see surface::toggle), which `mode` itself need not show. Costs what has
  /// changed, however large the mode is.
  int keep_changed(const Mode& mode, std::span<const std::size_t> places, std::span<const int> toggled);
  /// A mode that has been kept. Conditions are false in it, and see all guards at zero.
  Mode mode(int number) const;
  /// A mode that has been read.
  struct Read {
    int number = -1;
    Mode mode;
  };
  /// Reads a mode. Costs what has changed, where it is counted from the one that was read last.
  const Mode& read(int number, Read& last) const;
  /// How many there are: their numbers are 0 … size() - 1.
  std::size_t size() const { return kept_.size(); }

 private:
  static constexpr std::int32_t in_full = -1;

  /// A number that is another one than in the base.
  struct Change {
    std::size_t place;  // discrete variables first, then locks
    double value;
  };
  /// What modes may have in common: all but the numbers.
  struct Head {
    std::uint64_t hash;  // of the first one
    std::int32_t automaton;
    std::int32_t base;               // the number of the mode from which changes are counted, or in_full
    std::size_t surfaces;            // where they begin in surfaces_
    std::uint32_t discrete, locks;   // of a mode that is kept in full
    std::uint32_t changes, toggled;  // toggled: surfaces on which only one of the two modes stays
  };
  /// (12 bytes, two of them a place in numbers_ or changes_: runs with samples keep one for each)
  struct Kept {
    std::int32_t head;
    std::uint32_t begin_low, begin_high;

    std::size_t begin() const { return static_cast<std::size_t>(std::uint64_t{begin_high} << 32 | begin_low); }
  };

  bool is_last(const Mode& mode) const;
  void complete_last();
  std::uint64_t hash_of(const Mode& mode) const;
  bool find_changes(const Mode& mode);
  void remember(const Mode& mode, int number);
  /// Makes the modes of a chain out of the one from which it is counted; the last mode comes first.
  void follow(std::span<const int> chain, Mode& mode) const;
  int add(const Head& head, std::size_t begin);
  int add(std::int32_t head, std::size_t begin);
  const Kept& kept(int number) const { return kept_[static_cast<std::size_t>(number)]; }
  const Head& head(int number) const { return heads_[static_cast<std::size_t>(kept(number).head)]; }

  GrowingArray<Kept> kept_;  // by number
  GrowingArray<Head> heads_;
  GrowingArray<double> numbers_;  // of modes that are kept in full
  GrowingArray<Change> changes_;
  GrowingArray<int> surfaces_;             // those that are toggled
  std::size_t conditions_ = 0, sees_ = 0;  // how many there are
  Mode last_, full_;                       // the mode that came last, and the one that was kept in full last
  std::vector<int> to_toggle_;             // surfaces of last_ that are not yet as they are
  int last_number_ = -1, full_number_ = -1;
  int chain_ = 0;                                       // so many modes before the last one are counted from each other
  std::uint64_t last_hash_ = 0, surfaces_of_last_ = 0;  // the second one: the share of its surfaces in the first one
  std::array<int, 8> recent_ = {-1, -1, -1, -1, -1, -1, -1, -1};  // modes that are likely to come again
  std::size_t oldest_ = 0;
  std::vector<Change> found_;                     // workspace
  std::vector<int> toggled_, of_full_, of_mode_;  // workspace
};

}  // namespace saltus
