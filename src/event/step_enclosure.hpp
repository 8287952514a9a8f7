// StepEnclosure: enclosures of the guards of a system along pieces of the dense output of one step.
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

class StepEnclosure {
 public:
  static constexpr int max_order = 3;

  /// Both must outlive the use of this object.
  void start(System& system, const DensePolynomial& step);
  /// Encloses the guards in `which` on the part [low, high] of the step, given in fractions of it, with their Taylor
  /// coefficients up to `order`. False: the system cannot do it.
  bool enclose(double low, double high, int order, std::span<const int> which);
  /// Coefficient i of guard k, with respect to the fraction of the step, as the last call of enclose() has found it.
  Interval coefficient(int k, int i) const;

  std::int64_t calls = 0;  ///< of enclose()

 private:
  void enclose_variable(std::size_t place, std::size_t j, double middle, double radius, int rows);

  System* system_ = nullptr;
  const DensePolynomial* step_ = nullptr;
  std::size_t guards_ = 0;
  std::span<const int> read_;  // the variables that the guards read; empty: all of them
  std::vector<Interval> x_, g_;
  std::vector<double> shifted_;
};

}  // namespace saltus
