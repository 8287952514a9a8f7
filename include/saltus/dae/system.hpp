// System: one smooth mode as integrators, analysis and event location see it. Half of the narrow waist (hybrid_system.hpp is the other).
//
//   F(t, x, x') = 0,   m equations, n variables; all switches inside are locked.
//
// Implement it by hand for foreign models; a recorded model provides it by itself.
#pragma once

#include <saltus/base/error.hpp>
#include <saltus/base/interval.hpp>
#include <saltus/linalg/sparse.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

/// Tells structures apart. No two objects of a program have the same one, at any time: a copy gets a new one.
class StructureId {
 public:
  StructureId() : number_(next()) {}
  StructureId(const StructureId&) : StructureId() {}
  StructureId& operator=(const StructureId&) {
    number_ = next();
    return *this;
  }
  /// What is known about a structure is kept by this number.
  std::uint64_t number() const { return number_; }

 private:
  static std::uint64_t next();

  std::uint64_t number_;
};

/// How derivative arrays are scaled before their ranks are decided, and before systems with them are solved.
enum class Scaling : std::uint8_t {
  automatic,  ///< variables by their nominal values and by the entries of the Jacobians, equations by their entries
  nominal,    ///< variables by their nominal values alone, equations not at all
  off
};

/// What does not change while the mode lasts.
struct Structure {
  int variables = 0;  ///< n
  int equations = 0;  ///< m
  int guards = 0;     ///< number of guard functions (see System::guards)
  SparsePattern state_pattern;       ///< where F_x may be non-zero (m x n)
  SparsePattern derivative_pattern;  ///< where F_x' may be non-zero (m x n)
  bool explicit_ode = false;  ///< m = n and rhs() is there: x' = f(t, x), with F = x' - f
  bool linear = false;        ///< F is affine in x and x': the Jacobians depend on t alone
  bool constant_jacobian = false;  ///< linear, and F_x, F_x' do not depend on t either
  bool constant_mass = false;  ///< F is affine in x' with a constant matrix F_x'
  bool taylor = false;        ///< the taylor functions are there
  bool differentiable = false;  ///< differentiated() is there
  bool moving = false;  ///< every call of jacobian() fixes the equations anew (ReducedSystem): refresh them in every step
  Scaling scaling = Scaling::automatic;
  bool guards_read_xp = true;  ///< false: guards() does not look at xp
  std::vector<int> guard_variables = {};  ///< the only ones whose values or derivatives the guards read; empty: not known
  /// Algebraic variables from which values inside the steps follow, beside the differentiated ones: with dummy derivatives,
  /// those that are differentiated in the original system.
  std::vector<int> dense_variables = {};
  StructureId id = {};

  /// Whether x_j' occurs in F.
  bool differentiated(int j) const { return derivative_pattern.start[j] < derivative_pattern.start[j + 1]; }
};

/// A guard that is linear in t and x with constant coefficients: g = constant + time t + sum_i coefficients[i] x[variables[i]].
/// The lists belong to the system, and live as long as its values stay as they are.
struct LinearGuard {
  int guard = 0;  ///< its number in the system
  double constant = 0.0;
  double time = 0.0;
  std::span<const int> variables = {};
  std::span<const double> coefficients = {};
};

/// What a system must know of an explicit Runge-Kutta method to evaluate its stages at once (see Tableau).
struct RungeKuttaStages {
  int stages = 0;                 ///< of the step, that at its end included
  std::span<const double> a, c;   ///< the rows of a have the length of c
  int dense_degree = 0;           ///< of the dense output; 0: it is not wanted
  std::span<const double> dense = {};  ///< its weights
  std::uint64_t fingerprint = 0;       ///< of all these numbers: who asks at every event is answered quickly. 0: there is none
};

/// All stages of an explicit Runge-Kutta step in one evaluation.
class StageEvaluator {
 public:
  virtual ~StageEvaluator() = default;
  /// From x and k[0] = f(t, x): the other stages k[1] …, the arguments of the last two, and the coefficients of all powers of theta
  /// but x itself, if the dense output is wanted. `end` is t + h, rounded as the caller likes.
  virtual void evaluate(double t, double h, double end, std::span<const double> x, std::span<double* const> k,
                        std::span<double> x_before_last, std::span<double> x_end, std::span<double> dense) = 0;
};

/// How a system of higher index becomes one of index 1 (System::differentiated): offsets of equations and variables as in StructuralAnalysis,
/// and how many of x_j, x_j', … are states.
struct DerivativePlan {
  std::span<const int> equation_offset, variable_offset;
  std::span<const int> states;
};

/// Evaluations are not const: an implementation keeps its workspace, so one object serves one thread. Values that are not finite mean
/// "cannot be evaluated here", which makes integrators shorten the step. Arrays have the sizes that the comments give; the caller
/// owns them; nothing allocates after the first call.
class System {
 public:
  virtual ~System() = default;

  virtual const Structure& structure() const = 0;
  virtual std::string variable_name(int j) const { return "x[" + std::to_string(j + 1) + "]"; }
  virtual std::string equation_name(int i) const { return "equation " + std::to_string(i + 1); }
  /// For messages: the part of equation i that has no finite value at a point, as text ("sqrt(h)"); after a line
  /// break what to try, if that is known. Default: not known.
  virtual std::string undefined_part(int /*i*/, double /*t*/, std::span<const double> /*x*/,
                                     std::span<const double> /*xp*/) const {
    return "";
  }
  /// A typical size of |x_j|, for scaling.
  virtual double nominal(int /*j*/) const { return 1.0; }

  // --- values
  /// F(t, x, xp), m values.
  virtual void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) = 0;
  /// x' = f(t, x); only if structure().explicit_ode.
  virtual void rhs(double t, std::span<const double> x, std::span<double> xp);

  /// For explicit ODEs: a faster way to evaluate all stages of a step than one after the other. Valid as long as the system. Default:
  /// null, there is none.
  virtual StageEvaluator* stages(const RungeKuttaStages& /*method*/) { return nullptr; }

  // --- first derivatives
  /// F_x and F_x' at the places of the two patterns.
  virtual void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                        std::span<double> Fxp) = 0;
  /// Partial derivative of F with respect to t (m values). Default: central difference of the residual.
  virtual void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft);

  // --- Taylor coefficients; only if structure().taylor
  // X holds the coefficients x_[0], x_[1], … of x(t + s) = sum x_[i] s^i, n values each. Level k uses x_[0] … x_[k+1], where x' has the
  // coefficients (i+1) x_[i+1].
  /// Coefficients F_[0] … F_[level], m values each.
  virtual void taylor(double t, int level, std::span<const double> X, std::span<double> F);
  /// The same, and the coefficients of F_x and F_x' (nonzeros of the pattern each, level+1 of them).
  virtual void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                               std::span<double> Fxp);
  /// For explicit ODEs: the coefficients x_[1] … x_[order] of the solution through x_[0] = X[0..n).
  virtual void solution_taylor(double t, int order, std::span<double> X);

  // --- the same in stages, for differential-algebraic equations of any index; only if structure().taylor
  // With offsets c_i of the equations and d_j of the variables (StructuralAnalysis), stage k = -max d, …, 0, 1, … has the coefficients c_i + k of
  // F_i as equations and d_j + k of x_j as unknowns (N. S. Nedialkov, J. D. Pryce, BIT 45 (2005) 561-591).
  /// Begins at time t with stages up to `last` in mind. The offsets must stay in place until the next call.
  virtual void start_stages(double t, std::span<const int> c, std::span<const int> d, int last);
  /// Coefficients c_i + stage of F, 0 where that is negative. X has room for the coefficients of order max c + last + 1 at least; those
  /// of higher order than d_j + stage are zero. Stages come one after the other; the same one may be repeated with other unknowns.
  virtual void stage_residual(int stage, std::span<const double> X, std::span<double> F);
  /// The unknowns of this stage, which were zero in stage_residual, are those in X now; stage > 0.
  virtual void settle_stage(int stage, std::span<const double> X);
  // All at once, for small systems, given the inverse of the system Jacobian by columns; after start_stages. False: not available.
  /// Stages up to 0 one after the other: from the unknowns in X, a step of Newton's method for each.
  virtual bool correct_stages(std::span<const double> /*inverse*/, std::span<double> /*X*/) { return false; }
  /// Stages 1 to `last`, for consistent X: the coefficients up to `order` of all variables.
  virtual bool extend_stages(std::span<const double> /*inverse*/, int /*order*/, std::span<double> /*X*/) { return false; }

  /// The system with dummy derivatives (S. E. Mattsson, G. Söderlind, SIAM J. Sci. Comput. 14 (1993) 677-692): its variables are x, then
  /// the derivatives of x_1 up to order d_1 each, of x_2, …; its equations say that the states are what the next variables are the
  /// derivatives of, and that equation i holds with all its derivatives up to order c_i. It is of index 1 if the plan is good, and its mass matrix is constant.
  /// It lives as long as this system, or until many others have been asked for, and follows its data and locks while these leave the structure as it is. Null: not available.
  virtual System* differentiated(const DerivativePlan& /*plan*/) { return nullptr; }

  // --- invariants
  /// Moves x by the smallest correction onto the surfaces that the mode keeps (those on which it slides). Returns whether x changed.
  virtual bool project(double /*t*/, std::span<double> /*x*/) { return false; }

  // --- guards
  /// Values of the switching functions of the mode.
  virtual void guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g);
  /// Their Taylor coefficients g_[0] … g_[order] along X (x_[0] … x_[order+1]), `guards` values each; only if structure().taylor.
  virtual void guards_taylor(double t, int order, std::span<const double> X, std::span<double> G);
  /// Enclosures of their Taylor coefficients over a piece of a curve, for the proof that no guard leaves its side
  /// unseen. `t` contains the times of the piece. X encloses x_[0] … x_[order+1] at every point of the piece, only of
  /// the variables that guard_variables lists (of all if it is empty); x_[order+1] only if guards_read_xp. G receives
  /// g_[0] … g_[order], `guards` values each; only those of the guards in `which` (increasing) mean something. False:
  /// not available, as for foreign code.
  virtual bool enclose_guards(Interval /*t*/, int /*order*/, std::span<const Interval> /*X*/,
                              std::span<const int> /*which*/, std::span<Interval> /*G*/) {
    return false;
  }
  /// The same for the equations: F_[0] … F_[order], m values each, of those in `which`. X encloses all variables.
  virtual bool enclose_residual(Interval /*t*/, int /*order*/, std::span<const Interval> /*X*/,
                                std::span<const int> /*which*/, std::span<Interval> /*F*/) {
    return false;
  }
  /// Enclosures of F_x and F_x' at the places of the two patterns, over a box: X encloses x, then x'. Default: as for
  /// foreign code.
  virtual bool enclose_jacobian(Interval /*t*/, std::span<const Interval> /*X*/, std::span<Interval> /*Fx*/,
                                std::span<Interval> /*Fxp*/) {
    return false;
  }
  /// Those of the guards that are known to be linear, with their coefficients in the mode as it is now; they must be what guards() evaluates,
  /// up to rounding. Event location needs no evaluations for them. Valid until the mode changes. Default: none.
  virtual std::span<const LinearGuard> linear_guards() { return {}; }

 private:
  std::vector<double> scratch_;
  double stage_time_ = 0.0;
  std::span<const int> stage_offset_;
};

}  // namespace saltus
