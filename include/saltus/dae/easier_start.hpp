// What a hybrid system may offer beside its equations: simpler ones, for a start that is not found otherwise.
#pragma once

#include <memory>
#include <span>

namespace saltus {

class HybridSystem;

/// Implemented by hybrid systems that know simpler forms of their equations.
class EasierStart {
 public:
  virtual ~EasierStart() = default;
  /// The same variables and modes with a share, between 0 and 1, of the actual equations; the rest is simplified.
  /// `values`, of the observed variables, are guesses of the start; empty: the start values are. Null: there is nothing
  /// simpler.
  virtual std::shared_ptr<HybridSystem> eased(double share, std::span<const double> values) const = 0;
};

}  // namespace saltus
