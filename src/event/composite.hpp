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
  void start(System& system, const DensePolynomial& step) {
    system_ = &system;
    step_ = &step;
    const Structure& structure = system.structure();
    guards_ = static_cast<std::size_t>(structure.guards);
    with_derivatives_ = structure.guards_read_xp;
    const auto n = static_cast<std::size_t>(step.variables);
    few_ = structure.guard_variables;
    if (few_.size() > n / 2) few_ = {};
    if (n_ != n || (few_.empty() && !all_)) make_room(n);
  }

  /// All guards at t0 + s h, s in [0, 1].
  void at_fraction(double s, double* g) { evaluate(s, time(s), g); }
  /// All guards at time t, as a user of the dense output sees them.
  void at_time(double t, double* g) { evaluate(fraction(t), t, g); }
  double time(double s) const { return s == 1.0 ? step_->t1() : step_->t0 + s * step_->h; }
  double fraction(double t) const { return (t - step_->t0) / step_->h; }
  const DensePolynomial& step() const { return *step_; }
  System& system() const { return *system_; }

  /// How much rounding of t, x and x' moves each guard, times 1/eps: the guards are evaluated at t0 + s h with all
  /// inputs shifted by irregular amounts, a small part of their magnitudes. `base` holds the values there without
  /// shift.
  void sensitivity(double s, const double* base, std::vector<double>& result);

  std::int64_t evaluations = 0;

 private:
  void make_room(std::size_t n);
  void values_and_derivatives(double s);
  /// The state that the guards read at t0 + s h.
  void state(double s) {
    if (with_derivatives_) return values_and_derivatives(s);
    const auto value = [s, n = n_, degree = step_->degree, top = step_->c.data() + static_cast<std::size_t>(step_->degree) * n_](std::size_t j) {
      const double* c = top + j;
      double sum = *c;
      for (int k = degree; k > 0; --k) sum = sum * s + *(c -= n);
      return sum;
    };
    for (const int j : few_) x_[static_cast<std::size_t>(j)] = value(static_cast<std::size_t>(j));
    if (few_.empty())
      for (std::size_t j = 0; j < n_; ++j) x_[j] = value(j);
  }
  void evaluate(double s, double t, double* g) {
    state(s);
    system_->guards(t, {x_.get(), n_}, {xp_.get(), n_}, {g, guards_});
    ++evaluations;
  }

  System* system_ = nullptr;
  const DensePolynomial* step_ = nullptr;
  std::size_t guards_ = 0;
  std::size_t n_ = 0;
  bool all_ = true;                   // values are initialised: where guards read few of many variables, most pages are never touched
  std::unique_ptr<double[]> x_, xp_;
  std::vector<double> shifted_;
  bool with_derivatives_ = true;
  std::span<const int> few_;  // the variables that the guards read, if these are half of all or fewer
};

}  // namespace saltus
