// Modes as small numbers: equal modes are one.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace saltus {

/// Numbers the modes of a run in the order in which they are met. Two modes have one number if the family identifies
/// them by the same values (HybridSystem::identify), so comparing two modes is comparing two numbers, and what is known
/// about a mode is an array by its number.
class ModeTable {
 public:
  /// Keeps a reference to the family.
  explicit ModeTable(const HybridSystem& family) : family_(family) {}

  /// The number of a mode; a new one if it has not been met.
  int number(const Mode& mode);
  /// The mode with which a number was first met.
  const Mode& mode(int number) const { return modes_[static_cast<std::size_t>(number)]; }
  /// How many modes have been met: numbers are 0 … size() - 1.
  int size() const { return static_cast<int>(modes_.size()); }

 private:
  bool has_key(int number) const;

  const HybridSystem& family_;
  std::vector<double> key_;                              // workspace
  std::vector<double> keys_;                             // of all modes, one after the other
  std::vector<std::size_t> key_begins_ = {0};            // in keys_, and where the last one ends
  std::unordered_multimap<std::uint64_t, int> numbers_;  // by hash of the key
  std::vector<Mode> modes_;
};

}  // namespace saltus
