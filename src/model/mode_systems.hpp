// The systems of the modes that share their equations, one for each combination of the values that occur in them.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/recorded_system.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace saltus {

/// Which discrete variables and locks occur in equations or guards; modes that differ in others only have the same
/// functions.
struct OccurringValues {
  std::vector<int> discretes, locks;  ///< increasing

  OccurringValues() = default;
  OccurringValues(const RecordedEquations& equations, std::span<const Expr> all_discretes,
                  std::span<const Expr> all_locks);
};

/// Places of those of `all` that are among `occurring`.
std::vector<int> places_of(std::span<const Expr> all, std::span<const Expr> occurring);

/// Systems stay in place, and keep their values, as long as this object, unless they are forgotten. They share programs
/// and the memory of evaluations; each has its discrete values and locks of its own. In one thread.
class ModeSystems {
 public:
  /// `prototype`: the equations. The first of its data are the parameters, the last the discrete variables.
  /// Behind them stands, for each guard in `slides`, whether the mode slides on its surface.
  ModeSystems(const RecordedSystem& prototype, std::span<const double> parameters, const OccurringValues& values,
              std::span<const int> slides = {});

  /// The data that are not the same in all modes. Valid until the next call.
  const std::vector<double>& data_of(const Mode& mode);

  /// The system of a mode.
  [[gnu::hot]] RecordedSystem& get(const Mode& mode) {
    for (RecordedSystem* system : recent_)
      if (system && fits(*system, mode)) return *system;
    return find(mode);
  }
  /// If there are many, those that are not kept may take other values from now on.
  void forget(std::span<const System* const> kept) {
    if (systems_.size() > many) forget_others(kept);
  }

 private:
  using Table = std::unordered_multimap<std::uint64_t, RecordedSystem>;
  static constexpr std::size_t many = 64;
  void forget_others(std::span<const System* const> kept);
  bool fits(const RecordedSystem& system, const Mode& mode) const;
  std::uint64_t hash(const Mode& mode) const;
  [[gnu::noinline]] RecordedSystem& find(const Mode& mode);

  RecordedSystem prototype_;
  const OccurringValues& values_;
  std::span<const int> slides_;         // guards, increasing
  std::vector<double> data_;            // workspace
  Table systems_;                       // by hash
  std::vector<Table::node_type> free_;  // forgotten
  std::array<RecordedSystem*, 4> recent_{};
  std::size_t oldest_ = 0;
};

}  // namespace saltus
