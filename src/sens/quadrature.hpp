// Integrals of functions with many values, by Kronrod's extensions of Gauss's rules with two points (exact up to degree
// 7) and, for tight tolerances, three (degree 11), on intervals that are halved until the two rules agree (R. Piessens
// et al., QUADPACK, 1983).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace saltus {

class Quadrature {
  struct Node {
    double at, weight, gauss;
  };
  static constexpr std::array<Node, 7> seven = {{{-0.960491268708020283, 0.104656226026467265, 0.0},
                                                 {-0.774596669241483377, 0.268488089868333441, 5.0 / 9.0},
                                                 {-0.434243749346802558, 0.401397414775962223, 0.0},
                                                 {0.0, 0.450916538658474142, 8.0 / 9.0},
                                                 {0.434243749346802558, 0.401397414775962223, 0.0},
                                                 {0.774596669241483377, 0.268488089868333441, 5.0 / 9.0},
                                                 {0.960491268708020283, 0.104656226026467265, 0.0}}};
  static constexpr std::array<Node, 5> five = {{{-0.925820099772551462, 98.0 / 495.0, 0.0},
                                                {-0.577350269189625765, 27.0 / 55.0, 1.0},
                                                {0.0, 28.0 / 45.0, 0.0},
                                                {0.577350269189625765, 27.0 / 55.0, 1.0},
                                                {0.925820099772551462, 98.0 / 495.0, 0.0}}};

 public:
  /// Errors are held below `rtol` of the integral of the absolute value so far, by value; errors below `negligible`,
  /// one number per value, do not count.
  Quadrature(std::vector<double> negligible, double rtol)
      : sum_(negligible.size(), 0.0),
        size_(sum_),
        negligible_(std::move(negligible)),
        share_(std::pow(rtol, 2.0 / 3.0)),
        nodes_(rtol < 1e-8 ? std::span<const Node>(seven) : std::span<const Node>(five)) {}

  /// Adds the integral from a to b; f(t, out, noise) adds its values to `out`, and to `noise` what rounding errors may
  /// be.
  template <class F>
  void add(double a, double b, const F& f) {
    add(a, b, f, 0);
  }
  const std::vector<double>& sum() const { return sum_; }

 private:
  template <class F>
  void add(double a, double b, const F& f, int depth) {
    constexpr int deepest = 12;
    const double middle = 0.5 * (a + b), half = 0.5 * (b - a);
    std::vector<double> fine(sum_.size(), 0.0), coarse(sum_.size(), 0.0), sizes(sum_.size(), 0.0), values(sum_.size()),
        noise(sum_.size(), 0.0);
    for (const Node& node : nodes_) {
      std::ranges::fill(values, 0.0);
      f(middle + half * node.at, std::span<double>(values));
      for (std::size_t i = 0; i < values.size(); ++i) {
        fine[i] += half * node.weight * values[i];
        coarse[i] += half * node.gauss * values[i];
        sizes[i] += std::abs(half * node.weight * values[i]);
      }
    }
    bool agree = true;
    for (std::size_t i = 0; i < fine.size() && agree; ++i) {
      // the error of the fine rule is much smaller than the difference: QUADPACK estimates size (200 difference /
      // size)^1.5
      const double difference = std::abs(fine[i] - coarse[i]), size = sizes[i] + size_[i];
      agree = 200.0 * difference <= share_ * size || difference <= negligible_[i];
    }
    if (!agree && depth < deepest) {
      add(a, middle, f, depth + 1);
      add(middle, b, f, depth + 1);
      return;
    }
    for (std::size_t i = 0; i < fine.size(); ++i) {
      sum_[i] += fine[i];
      size_[i] += sizes[i];
    }
  }

  std::vector<double> sum_, size_, negligible_;
  double share_;
  std::span<const Node> nodes_;
};

}  // namespace saltus
