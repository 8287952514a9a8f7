// KeptSize: how much memory the steps of a result take, counted while it grows.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>

namespace saltus {

/// Counts each step once. What several steps share (the polynomial of all variables, behind those of parts) counts
/// once, too.
class KeptSize {
 public:
  /// The bytes of the steps that have come since the last call, or since the beginning.
  std::size_t new_steps(const Trajectory& run);

 private:
  std::size_t segment_ = 0, step_ = 0;       // behind the last one that has been counted
  const DensePolynomial* shared_ = nullptr;  // by the last steps
};

}  // namespace saltus
