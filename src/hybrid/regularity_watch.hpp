// Watches, while a mode is being integrated, whether its characteristic values may have changed.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/reduced_system.hpp>
#include <saltus/linalg/lu.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dae/small_inverse.hpp"
#include "hybrid/failure.hpp"

namespace saltus {

/// Modes with a certified structure have a square matrix, the system Jacobian, that is regular as long as the
/// certificate holds: its determinant must not change its sign, and its inverse must not grow by many orders of
/// magnitude. For the others there is the margin of the reduction. Where one of them alarms, the characteristic values
/// are found anew, and these decide.
class RegularityWatch {
 public:
  RegularityWatch();
  ~RegularityWatch();

  /// Begins at a point of a mode. values: null for explicit modes, which need no watch. reduced: what is being
  /// integrated, or null. Keeps references.
  void begin(System& system, const CharacteristicValues* values, const ReducedSystem* reduced, double t,
             std::span<const double> x, std::span<const double> xp);

  /// Whether there is anything to check.
  bool watches() const { return system_ != nullptr; }
  void stop() { system_ = nullptr; }
  /// After a step that is accepted from dense.t0 to `end`: a failure if the values have changed on the way; time() says
  /// where.
  Failure check(const DensePolynomial& dense, double end);
  double time() const { return time_; }

  /// When no step succeeds from the point any more: whether that is because the mode becomes singular there.
  Failure explain(double t, std::span<const double> x, std::span<const double> xp);

 private:
  struct Reading {
    double margin = 1.0;  // 0: singular, or not finite
    int sign = 0;         // of the determinant; 0: not known
  };
  Reading read(double t, std::span<const double> x, std::span<const double> xp);
  Reading read_jacobian(double t, std::span<const double> x, std::span<const double> xp);
  Reading read_sequential();
  Reading read_factors();
  Reading read_inverse();
  template <class ForEach>
  void scale_jacobian(ForEach for_each);
  Reading read_at(const DensePolynomial& dense, double t);
  double locate(const DensePolynomial& dense, double end);
  double find_minimum(const DensePolynomial& dense, double end);
  Failure compare(double t, std::span<const double> x, std::span<const double> xp, bool singular) const;
  /// The variable and the equation that take the largest part in the singularity; empty where that is not known.
  struct Culprits {
    std::string variable, equation;
  };
  Culprits find_culprits(double t, std::span<const double> x, std::span<const double> xp) const;

  System* system_ = nullptr;
  const CharacteristicValues* values_ = nullptr;
  const ReducedSystem* reduced_ = nullptr;
  std::unique_ptr<ReducedSystem> own_;  // for small modes without a certificate
  std::vector<int> order_;                    // in which the system Jacobian is solved by substitution; empty:
  std::unique_ptr<SystemJacobian> jacobian_;  // by factors
  std::unique_ptr<SmallInverse> inverse_;     // or, where it is small, by its inverse
  SparseLu lu_;
  std::vector<double> Fx_, Fxp_, entries_, dense_, x_, xp_, work_;
  std::vector<std::int8_t> row_scale_, column_scale_;  // exponents of powers of two
  Reading last_;
  double first_margin_ = 0.0, checked_margin_ = 0.0, time_ = 0.0;
  double last_time_ = 0.0, slope_ = 0.0;  // of the last reading, and how the margin changed up to there
  int interval_ = 1, steps_ = 0;
};

}  // namespace saltus
