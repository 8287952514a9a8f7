// CourseEnclosure: enclosures of variables along pieces of the dense output of one step; StepEnclosure: of guards.
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

/// Taylor coefficients of variables at all points of a piece, with respect to time.
class CourseEnclosure {
 public:
  /// The step must outlive the use of this object. At most so many coefficients will be asked for.
  void start(const DensePolynomial& step, int most_rows);
  /// The times of the piece [low, high] of the step, given in fractions of it; what follows is about this piece.
  Interval place(double low, double high);
  /// Coefficients 0 … rows-1 of variable j, in out[0], out[stride], …
  void enclose(std::size_t j, int rows, Interval* out, std::size_t stride);

 private:
  const DensePolynomial* step_ = nullptr;
  double middle_ = 0.0, radius_ = 0.0;
  std::vector<double> shifted_;
  std::vector<Interval> powers_;  // of the length of the step
};

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
  System* system_ = nullptr;
  const DensePolynomial* step_ = nullptr;
  CourseEnclosure course_;
  std::size_t guards_ = 0;
  std::span<const int> read_;  // the variables that the guards read; empty: all of them
  std::vector<Interval> x_, g_;
};

}  // namespace saltus
