// Analyses of modes that runs of a model have made. They cost more than a short run; the next run from the same point,
// with the same values, need not make them again.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/hybrid_system.hpp>

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace saltus {

/// An analysis is a function of the mode with all its numbers and of the point: the same question gets the same answer.
/// May be used by several threads.
class KeptAnalyses {
 public:
  /// Those of a compiled model, also of one that is wrapped, kept with its code; null: the system is of another kind.
  static std::shared_ptr<KeptAnalyses> of(const HybridSystem& system);

  CharacteristicValues find(System& system, double t, std::span<const double> x, const CharacteristicOptions& options);

 private:
  static constexpr std::size_t most = 16;            // that are kept
  static constexpr std::size_t most_variables = 64;  // of a mode

  std::mutex lock_;
  std::deque<std::pair<std::vector<double>, std::shared_ptr<const CharacteristicValues>>> known_;  // by question
};

}  // namespace saltus
