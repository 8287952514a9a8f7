// Minima, maxima and means of variables over time, from a dense output that is seen piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "study/window_arithmetic.hpp"

namespace saltus {

/// The rule for functions of polynomials of this degree.
flight::WindowRule window_rule(int degree);

class Windows {
 public:
  using Window = flight::WindowSums;
  /// Puts the values of all variables at a time into `values`. `last`: at the end of a piece, before what happens
  /// there.
  using Evaluate = std::function<void(double t, bool last, std::span<double> values)>;

  /// What a variable has before anything was seen.
  static constexpr Window nothing = {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                                     0.0};
  explicit Windows(std::size_t variables = 0) : windows_(variables, nothing) {}
  /// As they were seen elsewhere.
  explicit Windows(std::vector<Window> windows) : windows_(std::move(windows)) {}

  std::size_t variables() const { return windows_.size(); }
  const Window& operator[](std::size_t variable) const { return windows_[variable]; }
  /// A piece of the run without events, on which variables are functions of polynomials of this degree.
  void see(double begin, double end, int degree, const Evaluate& evaluate);

 private:
  std::vector<Window> windows_;
  // workspace
  std::vector<double> times_, nodes_, point_;
};

}  // namespace saltus
