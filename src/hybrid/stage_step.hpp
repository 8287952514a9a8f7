// One step of an explicit Runge-Kutta method whose right-hand side is put together stage by stage: for parts of a model
// that read other variables at the times of the stages.
#pragma once

#include <saltus/step/dense_polynomial.hpp>
#include <saltus/step/tableau.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace saltus {

class StageStep {
 public:
  explicit StageStep(const Tableau& tableau) : tableau_(tableau) {}

  /// Steps from x at t by h. `rhs(t, x, slope)` returns whether there are values; `scale[j]` is the tolerance of a
  /// variable. Returns the error over the tolerance; infinity where there are no values.
  template <class Rhs>
  double make(double t, double h, std::span<const double> x, std::span<const double> scale, Rhs&& rhs) {
    const std::size_t n = x.size();
    const auto width = static_cast<std::size_t>(tableau_.all_stages()),
               stages = static_cast<std::size_t>(tableau_.stages);
    slopes_.resize(width * n);
    y_.resize(n);
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0.0;
        for (std::size_t k = 0; k < i; ++k) sum += tableau_.a[i * width + k] * slopes_[k * n + j];
        y_[j] = x[j] + h * sum;
      }
      if (i + 1 == stages) end_ = y_;
      if (!rhs(t + tableau_.c[i] * h, std::span<const double>(y_), std::span(slopes_).subspan(i * n, n)))
        return std::numeric_limits<double>::infinity();
    }
    write_polynomial(t, h, x);
    const double first = norm(tableau_.error, h, scale);
    if (tableau_.second_error.empty() || first == 0.0) return first;
    const double second = norm(tableau_.second_error, h, scale);
    return first * first / std::sqrt(first * first + 0.01 * second * second);
  }
  const std::vector<double>& end() const { return end_; }
  const DensePolynomial& polynomial() const { return polynomial_; }

 private:
  double norm(const std::vector<double>& weights, double h, std::span<const double> scale) const {
    double largest = 0.0;
    for (std::size_t j = 0; j < scale.size(); ++j) {
      double sum = 0.0;
      for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * slopes_[i * scale.size() + j];
      const double error = std::abs(h * sum) / scale[j];
      if (!(error <= largest)) largest = error;  // NaN counts
    }
    return largest;
  }

  void write_polynomial(double t, double h, std::span<const double> x) {
    const std::size_t n = x.size();
    const auto width = static_cast<std::size_t>(tableau_.all_stages()),
               degree = static_cast<std::size_t>(tableau_.dense_degree);
    polynomial_.t0 = t;
    polynomial_.h = h;
    polynomial_.degree = tableau_.dense_degree;
    polynomial_.variables = static_cast<int>(n);
    polynomial_.c.assign((degree + 1) * n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      polynomial_.c[j] = x[j];
      for (std::size_t k = 0; k < degree; ++k) {
        double sum = 0.0;
        for (std::size_t i = 0; i < width; ++i) sum += tableau_.dense[i * degree + k] * slopes_[i * n + j];
        polynomial_.c[(k + 1) * n + j] = h * sum;
      }
    }
  }

  const Tableau& tableau_;
  std::vector<double> slopes_, y_, end_;  // slopes: by stage
  DensePolynomial polynomial_;
};

}  // namespace saltus
