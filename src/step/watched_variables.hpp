// The variables that guards read, and those from which values inside the steps follow. Event location and readers of the
// result look at them between the ends of the steps, so that their errors count there, too.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/step/stepper.hpp>

#include <algorithm>
#include <span>
#include <vector>

#include "step/tolerances.hpp"

namespace saltus {

class WatchedVariables {
 public:
  /// None where nobody looks inside the steps, or where all guards are functions of time. The system must stay in place.
  void set(System& system, const StepOptions& options) {
    const Structure& structure = system.structure();
    read_.clear();
    all_ = any_ = algebraic_ = false;
    if (!options.control_dense) return;
    if (structure.guards > 0) {
      read_ = structure.guard_variables;
      all_ = read_.empty() && !only_time(system);
    }
    for (const int j : structure.dense_variables)
      if (std::ranges::find(read_, j) == read_.end()) read_.push_back(j);
    any_ = all_ || !read_.empty();
    const auto algebraic = [&](int j) { return !structure.differentiated(j); };
    for (int j = 0; j < structure.variables && all_ && !algebraic_; ++j) algebraic_ = algebraic(j);
    algebraic_ = algebraic_ || (any_ && std::ranges::any_of(read_, algebraic));
  }

  bool any() const { return any_; }
  /// Whether the derivative of one of them does not occur.
  bool algebraic() const { return algebraic_; }
  bool contains(int j) const { return all_ || (any_ && std::ranges::find(read_, j) != read_.end()); }
  /// marks[j] := 1 for all of them.
  void mark(std::vector<char>& marks) const {
    if (all_) std::ranges::fill(marks, static_cast<char>(1));
    for (const int j : read_) marks[static_cast<std::size_t>(j)] = 1;
  }
  /// As Tolerances::largest_ratio.
  double largest_ratio(std::span<const double> v, std::span<const double> x, const Tolerances& tolerances,
                       int* worst) const {
    if (all_) return tolerances.largest_ratio(v, x, nullptr, worst);
    double largest = 0.0;
    for (const int j : read_) {
      const auto k = static_cast<std::size_t>(j);
      const double ratio = std::abs(v[k]) / tolerances.scale(j, std::abs(x[k]));
      if (ratio <= largest) continue;
      largest = ratio;
      *worst = j;
      if (std::isnan(ratio)) return std::numeric_limits<double>::infinity();
    }
    return largest;
  }

 private:
  static bool only_time(System& system) {
    const auto linear = system.linear_guards();
    return linear.size() == static_cast<std::size_t>(system.structure().guards) &&
           std::ranges::all_of(linear, [](const LinearGuard& guard) { return guard.variables.empty(); });
  }

  std::vector<int> read_;  // where it is not all
  bool all_ = false, any_ = false, algebraic_ = false;
};

}  // namespace saltus
