// The past of a BDF method as modified divided differences, and the coefficients of the next step.
//
// K. E. Brenan, S. L. Campbell, L. R. Petzold, Numerical Solution of Initial-Value Problems in Differential-Algebraic
// Equations, SIAM 1996, section 5.2 (fixed leading coefficient form): phi_i = psi_1 … psi_i [x_n, …, x_{n-i}],
// psi_i = t_{n+1} - t_{n+1-i}; the predictor is sum phi*_i, the corrector has the slope of the predictor plus
// (x - x_predicted) alpha / h with alpha = sum_{j<=k} 1/j.
#pragma once

#include <saltus/step/dense_polynomial.hpp>

#include <array>
#include <span>
#include <vector>

namespace saltus {

class BdfHistory {
 public:
  static constexpr int most = 5;  ///< the highest order

  /// Takes the solution up to p.t1() from a polynomial, at order + 1 equidistant points of its step.
  void start(const DensePolynomial& p, int order);

  /// Prepares the step of size h (signed) with this order: coefficients and starred differences.
  void begin(double h, int order);
  /// Undoes begin after a failed attempt.
  void restore();
  void predict(std::span<double> x, std::span<double> xp) const;
  /// The slope of the corrector is that of the predictor plus leading() times the correction.
  double leading() const { return leading_; }
  /// The step has been accepted with this correction to the prediction.
  void accept(std::span<const double> correction);

  /// Factors of the correction's norm: the error that decides, and the error estimates of the orders k, k-1, k-2.
  double error_constant() const { return error_constant_; }
  double sigma(int order) const { return sigma_[order]; }
  /// Starred difference i during an attempt, plain one after a step.
  std::span<const double> difference(int i) const { return phi_[i]; }
  /// How many of the last steps had the present size and order.
  int regular_steps() const { return regular_; }

  /// The interpolating polynomial of the last accepted step, of the order that it used.
  void polynomial(DensePolynomial& p) const;

 private:
  std::array<std::vector<double>, most + 2> phi_;
  std::array<double, most + 2> psi_{}, alpha_{}, beta_{}, sigma_{}, gamma_{};
  double t_ = 0.0, h_ = 0.0, h_used_ = 0.0, leading_ = 0.0, error_constant_ = 1.0;
  int order_ = 1, order_used_ = 1, regular_ = 0;
};

}  // namespace saltus
