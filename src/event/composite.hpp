// Composite: the guards of a system along the dense output of one step, as functions of time.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace saltus {

class Composite {
 public:
  /// Both must outlive the use of this object.
  void start(System& system, const DensePolynomial& step);

  /// All guards at t0 + s h, s in [0, 1].
  void at_fraction(double s, double* g);
  /// All guards at time t, as a user of the dense output sees them.
  void at_time(double t, double* g);
  double time(double s) const { return s == 1.0 ? step_->t1() : step_->t0 + s * step_->h; }
  double fraction(double t) const { return (t - step_->t0) / step_->h; }
  const DensePolynomial& step() const { return *step_; }

  /// How much rounding of t, x and x' moves each guard, times 1/eps: the guards are evaluated at t0 + s h with all
  /// inputs shifted by irregular amounts, a small part of their magnitudes. `base` holds the values there without
  /// shift.
  void sensitivity(double s, const double* base, std::vector<double>& result);

  std::int64_t evaluations = 0;

 private:
  void state(double s);
  std::span<const double> x() const { return {x_.get(), n_}; }
  std::span<const double> xp() const { return {xp_.get(), n_}; }

  System* system_ = nullptr;
  const DensePolynomial* step_ = nullptr;
  std::size_t guards_ = 0;
  std::size_t n_ = 0;
  bool all_ = true;                   // values are initialised: where guards read few of many variables, most pages are never touched
  std::unique_ptr<double[]> x_, xp_;
  std::vector<double> shifted_;
  bool with_derivatives_ = true;
  std::span<const int> few_;  // the variables that the guards read, if these are few
};

}  // namespace saltus
