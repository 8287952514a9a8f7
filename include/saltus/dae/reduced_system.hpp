// ReducedSystem: a system of any index, over- or underdetermined, seen by integrators as a square system without hidden
// constraints.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/derivative_array.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// Whether integrators need the reduction: hidden constraints (mu > 0), or not as many independent equations as
/// variables.
bool needs_reduction(const Structure& structure, const CharacteristicNumbers& numbers);

/// The strangeness-free form of Kunkel and Mehrmann,
///
///   Z1ᵀ F(t, x, x') = 0            d differential equations
///   Z2ᵀ F_[0..mu](t, x, y) = 0     a constraints, the hidden ones included
///   x_j - x_j(restart) = 0         u components that the equations leave open, which are kept constant
///                                  (CharacteristicValues::constant_components)
///
/// where y, the higher derivatives, solves the rest of the derivative array for the given (t, x). As a System it is
/// square and of index 1 (or 0), so that every implicit integrator for F(t, x, x') = 0 solves it without drift;
/// variables, names, nominal values and guards are those of the original system, and exactly its differentiated
/// variables occur differentiated.
///
/// Z1 and Z2 are evaluated anew by `jacobian`, at its arguments, and stay until the next call: a Newton iteration
/// sees one fixed set of equations. Where y cannot be found the residual is NaN, which makes integrators shorten the
/// step.
///
/// Redundant equations (v > 0) that contradict the others are solved in the sense of least squares, in the norm in
/// which they are written: an equation that is multiplied by 2 counts four times. Derivatives of order k, which hidden
/// constraints are made of, are multiplied by the k-th power of the time unit of the scaling.
///
/// If the structure is certified, equation i is differentiated c_i times only and y is unique; otherwise the array is
/// uniform and the y of minimum change is taken.
class ReducedSystem final : public System {
 public:
  /// Keeps a reference to the system. Throws UsageError if the values are undecided, were made for another system, or
  /// if the system is too large for dense projectors.
  ReducedSystem(System& system, const CharacteristicValues& values);
  ~ReducedSystem() override;

  System& original() { return *system_; }
  /// Goes on with another system of the same structure: the same mode with other values. Keeps a reference to it.
  void set_original(System& system) {
    system_ = &system;
    array_.set_system(system);
  }

  // --- System
  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return system_->variable_name(j); }
  std::string equation_name(int i) const override;
  double nominal(int j) const override { return system_->nominal(j); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  void guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) override;

  // --- the reduction itself
  /// Evaluates Z1 and Z2 at a point that need not be exactly consistent. False if the values are not finite.
  bool refresh(double t, std::span<const double> x, std::span<const double> xp);
  /// Forgets y: to be called when the state has jumped. X are Taylor coefficients at the new point (as from
  /// initialise), or empty.
  void restart(double t, std::span<const double> X = {});

  const std::vector<int>& constant_components() const { return constant_; }
  /// How well some components determine what the equations leave open, at the last refresh and in its scaling: 1 at
  /// best, 0 not at all.
  double constancy(std::span<const int> components) const;
  /// Keeps other components constant from the next restart on, where the present ones have become poor (below 0.3) and
  /// others are clearly better. Returns whether there are such.
  bool choose_constant_anew();

  /// Smallest singular value or pivot that counts / norm of the array, at the last refresh: the distance from a change
  /// of the characteristic values.
  double margin() const { return margin_; }
  /// Whether the margin is so small (below 1e-6 of the array and a thousandth of what it was at first) that the
  /// characteristic values may change here and should be found anew.
  bool alarm() const { return margin_ < 1e-6 && margin_ < 1e-3 * first_margin_; }

 private:
  void choose_array(const CharacteristicValues& values);
  /// Where y is known: its Taylor coefficients and the pseudo-inverse that finds it nearby.
  struct Support {
    double t = 0.0;
    std::vector<double> X;
    Matrix inverse;
  };

  void forget_failed_step(double t);
  bool solve_derivatives(double t, std::span<const double> x, std::span<const double> xp);
  bool iterate_derivatives(double t, const Matrix& inverse);
  bool add_support(double t);
  const Support& nearest(double t) const;
  void predict_derivatives(double t, std::span<const double> x, std::span<const double> xp);
  Matrix scaled_part(bool derivatives) const;
  double decompose(const Matrix& M, Matrix& inverse, Matrix* null) const;
  double find_constraints(const Matrix& null, const Matrix& N, Matrix& T2);
  double find_differential_part(const Matrix& ET2, const Matrix& T2);
  bool leaves_choice() const { return rank_ < static_cast<int>(columns_.size()); }
  void remove_undetermined();
  void gather(std::span<const double> all);

  System* system_;
  Structure structure_;
  DerivativeArray array_;
  CharacteristicNumbers numbers_;
  int n_, m_, level_ = 0, rank_ = 0;
  bool certified_ = false;  // ranks follow from the structure
  std::vector<int> rows_, columns_;               // the part of the array that is used; columns of y only
  std::vector<double> row_scale_, column_scale_;  // of all rows and columns of the array
  Matrix Z1_, Z2_;  // in scaled coordinates
  std::vector<int> constant_;  // variables
  Matrix open_;                // directions that the equations leave open, at the last refresh
  Matrix derivative_part_;  // of the array at the last refresh, if it leaves a part of y open
  std::vector<double> anchor_;    // x at the last restart; points in between are guesses of an integrator
  bool has_anchor_ = false;
  std::vector<double> X_;  // current coefficients
  std::vector<Support> supports_;  // of the last refresh, and others that y needed since then
  Support before_;                 // the first of them as it was before the last refresh
  double t_start_, t_refreshed_;   // of the last restart (NaN: there was none) and the last refresh
  int iterations_ = 0;             // of the last solution for y
  double margin_ = 1.0, first_margin_ = 0.0;
  std::vector<double> f_, g_, step_, F_;
  Matrix J_;
};

}  // namespace saltus
