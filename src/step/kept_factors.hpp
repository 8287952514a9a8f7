// Factors of c F_x' + F_x for several step sizes. Where the Jacobian is constant, and dear to factorise, step sizes are
// taken from a grid: they come again behind a switch, and their factors are still there. They serve as they are if the
// switch only adds a source. If it changes a few rows or columns of the Jacobian, solutions are corrected
// (LowRankUpdate): one more solution for each of them, once for each factors.
#pragma once

#include <saltus/step/stepper.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linalg/low_rank_update.hpp"
#include "step/jacobian_change.hpp"
#include "step/shifted_matrix.hpp"

namespace saltus {

/// Steps that differ by rounding errors of their times alone have the same factors: what is left of the difference,
/// times the change of the solution in a step, is far below all tolerances.
inline bool same_step(double a, double b) {
  return std::abs(a - b) <= 1e-10 * std::abs(b);
}

/// F_x and F_x' of the mode in which factors were made. A workspace, if given, saves memory.
struct JacobianValues {
  std::span<double> Fx, Fxp, workspace;
};

class KeptFactors {
 public:
  /// Prepares for a mode, whose linear systems may be solved iteratively, each matrix about so many times. True if the
  /// patterns are the same, so that factors may still be of use.
  bool set_structure(const Structure& structure, int solutions);
  const ShiftedMatrix<double>& matrix() const { return now_.matrix; }

  /// How the Jacobian behind an event differs from J, that of the factors. They serve both if it does not, or in a
  /// `few` rows or columns; otherwise they must be forgotten.
  enum class Difference { none, few, many };
  /// `c`: the factor of F_x' in the step that is likely to come next.
  Difference compare(const JacobianValues& J, std::span<const double> Fx, std::span<const double> Fxp, double c);
  /// True if the Jacobian of the mode differs from that of the factors.
  bool changed() const { return change_number_ != 0; }
  /// True if sizes of steps come again, and factors cost more than the solutions of a step, so that shorter steps pay
  /// for those that are kept.
  bool worthwhile() const { return restarts_ >= often && dear(); }
  /// The longest step of the grid that is not longer.
  static double on_grid(double h);

  /// The matrix c F_x' + F_x of a step of size h; `constant`: the Jacobian is that of the other steps in the mode.
  struct Request {
    double h = 0.0, c = 0.0;
    bool constant = false;
  };
  /// True if the factors of this step are in use.
  bool are_for(double h) const { return now_.h != 0.0 && same_step(now_.h, h) && now_.serve(change_number_); }
  /// Looks for factors, and makes them if there are none. False: singular. `weights` are sizes of variables, in which
  /// errors of corrections are measured (where the Jacobian has changed), `room` is for three vectors.
  bool find(const Request& request, const JacobianValues& J, std::span<const double> weights, std::span<double> room,
            StepStatistics& statistics);
  /// b := (c F_x' + F_x)^{-1} b, with a workspace of n numbers.
  void solve(std::span<double> b, std::span<double> workspace);
  void set_accuracy(std::span<const double> weights, double tolerance) { now_.matrix.set_accuracy(weights, tolerance); }
  /// The Jacobian is another one.
  void forget();
  /// "sparse (41 entries per unknown), corrected behind switches".
  std::string description() const;

 private:
  // The Jacobian that is given to `find` has number 0, the one of the mode 0 or that of the last change.
  struct Factors {
    ShiftedMatrix<double> matrix = {};
    double h = 0.0;                // 0: no factors
    std::int64_t made_for = 0;     // number of the Jacobian
    std::int64_t updated_for = 0;  // the same, for which `update` is prepared
    LowRankUpdate update = {};
    std::int64_t used = 0;  // when, counted in uses

    bool serve(std::int64_t number) const { return made_for == number || (made_for == 0 && updated_for == number); }
  };
  static constexpr int often = 16, most_failures = 2;

  bool dear() const;
  int most_terms() const;
  bool exchange_with_kept(double h);
  void keep();
  bool make(const Request& request, const JacobianValues& J, bool without_change, StepStatistics& statistics);
  bool update(const Request& request, const JacobianValues& J, std::span<const double> weights, std::span<double> room,
              StepStatistics& statistics);
  double error_of_update(double c, const JacobianValues& J, std::span<const double> weights, std::span<double> room);

  const Structure* structure_ = nullptr;
  Factors now_;
  std::vector<Factors> kept_;  // for other steps
  JacobianChange change_;      // the last one
  std::int64_t change_number_ = 0, changes_ = 0, clock_ = 0;
  int restarts_ = 0, failures_ = 0;
  bool updated_ = false;
};

}  // namespace saltus
