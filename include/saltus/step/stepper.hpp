// Stepper: an integrator seen one accepted step at a time. Every method stands behind this interface.
//
//   stepper.start(system, {.t = 0, .x = x0, .xp = xp0, .direction = +1});
//   while (stepper.t() < stop && stepper.advance(stop).ok()) use(stepper.x(), stepper.dense());
#pragma once

#include <saltus/base/state_archive.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

struct Tableau;

/// Accuracy and limits of a run.
struct StepOptions {
  double rtol = 1e-6;
  std::vector<double> rtol_each = {};  ///< by variable, instead of rtol; variables beyond the list have rtol
  std::vector<double> atol = {1e-9};  ///< one for all variables, or one each
  double further_atol = 0.0;          ///< for variables beyond those of a list (weights of surfaces); 0: there are none
  double max_step = std::numeric_limits<double>::infinity();
  double initial_step = 0.0;  ///< 0: chosen by the method
  int max_order = 0;          ///< of methods of variable order; 0: no limit. Read by the makers of the table of methods
  /// For runs that look for events inside the steps: variables that guards read (Structure::guard_variables) are held to the
  /// tolerance between the ends of the steps, too, with shorter steps where need be. Implicit methods in the stiff limit take
  /// steps that no polynomial follows, and algebraic variables may bend where no differentiated one does.
  bool control_dense = false;
  /// For runs that keep their steps: dense() gives all variables the order that it has for those of nonstiff equations,
  /// whatever it costs. Steps stay as they are.
  bool keep_dense = false;

  /// The smallest relative tolerance of a variable.
  double tightest_rtol() const;
};

/// Counters, summed over restarts.
struct StepStatistics {
  std::int64_t steps = 0;        ///< accepted steps
  std::int64_t rejected = 0;     ///< steps repeated for accuracy, convergence or values that are not finite
  std::int64_t evaluations = 0;  ///< of F or f, one point each
  std::int64_t jacobians = 0;
  std::int64_t factorisations = 0;
  /// Factors that were corrected for a switch that changes a few rows or columns of the Jacobian, not made anew.
  std::int64_t low_rank_updates = 0;
  std::int64_t iterations = 0;  ///< of Newton's method

  StepStatistics& operator+=(const StepStatistics& other) {
    steps += other.steps;
    rejected += other.rejected;
    evaluations += other.evaluations;
    jacobians += other.jacobians;
    factorisations += other.factorisations;
    low_rank_updates += other.low_rank_updates;
    iterations += other.iterations;
    return *this;
  }
  void persist(StateArchive& archive) {
    archive(steps, rejected, evaluations, jacobians, factorisations, low_rank_updates, iterations);
  }
};

/// How an attempt to advance ended.
enum class StepResult {
  accepted,
  step_too_small,  ///< the error test or Newton's method still fails at the smallest step that changes t
  not_finite,      ///< values stay NaN or infinite at the smallest step
  singular,        ///< the iteration matrix stays singular
};

struct StepOutcome {
  StepResult result = StepResult::accepted;
  int worst = -1;  ///< the variable (error test) or equation (values, convergence) that was worst, or -1
  int equation = -1;  ///< the equation, where a variable and an equation are known

  bool ok() const { return result == StepResult::accepted; }
};

/// A point to start from. For a DAE x and xp must be consistent; for an explicit ODE xp may be empty.
struct StartPoint {
  double t = 0.0;
  std::span<const double> x;
  std::span<const double> xp = {};
  int direction = +1;  ///< +1 forwards, -1 backwards in time
  double step = 0.0;   ///< size of the first step to try (positive); 0: chosen by the method
  bool xp_is_rhs = false;  ///< the system is an explicit ODE and xp is f(t, x): it need not be evaluated again
};

/// After `start`, `advance` makes one accepted step at a time. Nothing allocates in an accepted step once two steps
/// have been made, except that long runs of explicit methods get a compiled program for all stages together, once.
class Stepper {
 public:
  virtual ~Stepper() = default;

  virtual std::string_view name() const = 0;
  virtual int order() const = 0;
  /// The table of an explicit Runge-Kutta method; null for all others.
  virtual const Tableau* tableau() const { return nullptr; }

  /// Begins at a point, of the same system as before or of another; statistics go on counting. A one-step method that
  /// is given the previous step size starts at full order with it.
  virtual void start(System& system, const StartPoint& point) = 0;
  /// Makes one accepted step that does not pass `limit` (and ends exactly there if it comes near), repeating with
  /// smaller steps as needed. On failure the state is that of the last accepted step. Throws UsageError if `limit` is
  /// not ahead of t.
  virtual StepOutcome advance(double limit) = 0;

  // --- the state after the last accepted step (or at the start)
  virtual double t() const = 0;
  virtual std::span<const double> x() const = 0;
  virtual std::span<const double> xp() const = 0;
  /// For explicit ODEs: whether xp() is f(t, x) itself rather than an approximation.
  virtual bool xp_is_rhs() const { return false; }
  /// The last accepted step as a polynomial (a constant before the first). May cost evaluations when first asked for
  /// after a step; ask before the next `advance`, even one that fails.
  virtual const DensePolynomial& dense() = 0;
  /// Until the next step nobody will ask for dense(): gives memory of the size of the system back, where there is much.
  virtual void forget_dense() {}
  /// The step size that the method would try next (positive).
  virtual double next_step() const = 0;
  /// Estimated local error of the last step over the tolerance, 1 at most.
  virtual double error() const = 0;
  /// Whether stability rather than accuracy has limited the recent steps since `start`: time for an implicit method.
  virtual bool stiff() const { return false; }
  /// Whether the last step was longer than the stability of the method allows. Its error is small compared with the
  /// tolerance, but fast variables may oscillate by as much: guards that read them need an implicit method.
  virtual bool unstable() const { return false; }

  /// Whether `start` takes systems with hidden constraints as they are written; others need them reduced (ReducedSystem).
  virtual bool takes_hidden_constraints() const { return false; }
  /// Whether all constraints hold to rounding at the ends of the steps.
  virtual bool keeps_constraints() const { return false; }

  /// How the linear systems of the last mode were solved: "banded (1 + 1), 500 of 1000 eliminated"; "" for explicit
  /// methods.
  virtual std::string linear_algebra() const { return ""; }

  /// Writes or reads all that later steps depend on; `system`: the one that is being integrated, null if this stepper is not in use. False:
  /// the method cannot, nothing has been written, and it has to be started anew. Default: it cannot.
  virtual bool persist(System* /*system*/, StateArchive& /*archive*/) { return false; }

  const StepStatistics& statistics() const { return statistics_; }

 protected:
  StepStatistics statistics_;
};

}  // namespace saltus
