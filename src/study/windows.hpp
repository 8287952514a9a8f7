// Minima, maxima and means of variables over time, from a dense output that is seen piece by piece.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

namespace saltus {

class Windows {
 public:
  struct Window {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    double integral = 0.0;
  };
  /// Puts the values of all variables at a time into `values`. `last`: at the end of a piece, before what happens
  /// there.
  using Evaluate = std::function<void(double t, bool last, std::span<double> values)>;

  explicit Windows(std::size_t variables = 0) : windows_(variables) {}

  std::size_t variables() const { return windows_.size(); }
  const Window& operator[](std::size_t variable) const { return windows_[variable]; }
  /// A piece of the run without events, on which variables are functions of polynomials of this degree.
  void see(double begin, double end, int degree, const Evaluate& evaluate);

 private:
  void see_extremum(std::size_t at, std::size_t variable, double sign, const Evaluate& evaluate);
  double value(std::size_t node, std::size_t variable) const { return nodes_[node * windows_.size() + variable]; }

  std::vector<Window> windows_;
  // workspace
  std::vector<double> times_, nodes_, point_;
};

}  // namespace saltus
