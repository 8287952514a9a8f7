// Integrals of functions with many values, by Kronrod's extension of Gauss's rule with three points (exact up to degree
// 11), on intervals that are halved until the two rules agree (R. Piessens et al., QUADPACK, 1983).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace saltus {

class Quadrature {
 public:
  /// Errors are held below `rtol` of the integral of the absolute value so far, by value; errors below `negligible`,
  /// one number per value, do not count.
  Quadrature(std::vector<double> negligible, double rtol)
      : sum_(negligible.size(), 0.0), size_(sum_), negligible_(std::move(negligible)), rtol_(rtol) {}

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
    static constexpr std::array<double, 7> at = {
        -0.960491268708020283, -0.774596669241483377, -0.434243749346802558, 0.0,
        0.434243749346802558,  0.774596669241483377,  0.960491268708020283};
    static constexpr std::array<double, 7> weight = {0.104656226026467265, 0.268488089868333441, 0.401397414775962223,
                                                     0.450916538658474142, 0.401397414775962223, 0.268488089868333441,
                                                     0.104656226026467265};
    static constexpr std::array<double, 7> gauss = {0.0, 5.0 / 9.0, 0.0, 8.0 / 9.0, 0.0, 5.0 / 9.0, 0.0};
    constexpr int deepest = 12;
    const double middle = 0.5 * (a + b), half = 0.5 * (b - a);
    std::vector<double> fine(sum_.size(), 0.0), coarse(sum_.size(), 0.0), sizes(sum_.size(), 0.0), values(sum_.size()),
        noise(sum_.size(), 0.0);
    for (std::size_t k = 0; k < at.size(); ++k) {
      std::ranges::fill(values, 0.0);
      f(middle + half * at[k], std::span<double>(values));
      for (std::size_t i = 0; i < values.size(); ++i) {
        fine[i] += half * weight[k] * values[i];
        coarse[i] += half * gauss[k] * values[i];
        sizes[i] += std::abs(half * weight[k] * values[i]);
      }
    }
    bool agree = true;
    for (std::size_t i = 0; i < fine.size() && agree; ++i) {
      // the error of the fine rule is much smaller than the difference: QUADPACK's estimate
      const double difference = std::abs(fine[i] - coarse[i]), size = sizes[i] + size_[i];
      const double error = size > 0.0 ? size * std::min(1.0, std::pow(200.0 * difference / size, 1.5)) : 0.0;
      agree = error <= rtol_ * size + negligible_[i];
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
  double rtol_;
};

}  // namespace saltus
