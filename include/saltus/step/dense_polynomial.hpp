// The solution over one step as a polynomial: what dense output, event location and trajectories share.
#pragma once

#include <memory>
#include <span>
#include <vector>

namespace saltus {

struct PolynomialOfPart;

/// x(t0 + theta h) = sum_k c_k theta^k for theta in [0, 1], every variable with the same degree.
struct DensePolynomial {
  double t0 = 0.0;
  double h = 0.0;  ///< negative when time runs backwards
  int degree = 0;
  int variables = 0;
  std::vector<double> c;  ///< c[k*variables + j]: coefficient k of variable j
  /// Some variables have polynomials of their own: then `c` is empty, and all() is what the others have. Null: none.
  std::shared_ptr<const PolynomialOfPart> parts = {};

  double t1() const { return t0 + h; }
  /// The value at any t (meant for t between t0 and t1).
  void evaluate(double t, std::span<double> x) const;
  double evaluate(double t, int j) const;
  /// The same function from t to t1, in `part`.
  void tail(double t, DensePolynomial& part) const;
  /// The derivative with respect to t.
  void derivative(double t, std::span<double> xp) const;

 private:
  template <class Read>
  void read_parts(std::span<double> out, Read read) const;
};

/// Some variables over a part of a step, instead of what stands before it.
struct PolynomialOfPart {
  std::shared_ptr<const DensePolynomial> all;           ///< of the whole step
  std::shared_ptr<const PolynomialOfPart> before = {};  ///< other variables, or the same ones earlier; null: the first
  std::vector<int> variables = {};                      ///< their places in the step
  DensePolynomial polynomial = {};

  PolynomialOfPart() = default;
  PolynomialOfPart(const PolynomialOfPart&) = delete;
  PolynomialOfPart& operator=(const PolynomialOfPart&) = delete;
  /// One after the other, however many there are.
  ~PolynomialOfPart();
};

}  // namespace saltus
