// The linear equations of changes in a mode that is not explicit. y are changes of all unknowns of its linearisation
// (linear_mode.hpp): variables and derivatives, with the rows
//
//   0 = E y + D dd,        h' = y_h'        for the held variables h.
//
// All other unknowns follow from the held ones: y = push(y_h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sens/linear_equations.hpp"
#include "sens/linear_mode.hpp"

namespace saltus {

class ConstrainedEquations final : public LinearEquations {
 public:
  explicit ConstrainedEquations(std::shared_ptr<const LinearMode> mode);

  /// Begins at a point with these held variables. False: the others do not follow from them.
  bool open(const TangentValues& values, double t, std::span<const double> x, std::span<const double> xp,
            const std::vector<int>& held);
  /// Holds other variables, at the present point.
  void hold(const std::vector<int>& held);
  const std::vector<int>& held() const { return held_; }
  /// The linearisation, at the time that was asked for last.
  LinearPoint& point() { return point_; }
  const LinearPoint& point() const { return point_; }
  /// Moves the point along the solution.
  bool move(double t, SolutionPath& path, const TangentValues& values);
  /// The values at the present point.
  void read(Values& out) const;

  bool evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) override;
  bool factorise(double shift, const Values& at) override;
  void solve(double* r, int width) override;
  void solve_transposed(std::span<double> r) override;

  /// Factors with which all unknowns follow from the held ones.
  bool factorise_free(const Values& at);
  /// Sets all that is not held, in lanes of the unknowns.
  void push(const Values& at, const TangentValues& values, const Lanes& lanes, std::span<double> y);
  /// Places of the held variables and of their derivatives among the unknowns.
  std::span<const int> held_places() const { return held_places_; }
  std::span<const int> slope_places() const { return slope_places_; }

 private:
  /// A part of E with columns of its own: which entries, by rows.
  struct Part {
    LaneRows pattern;
    std::vector<int> source;  // entry of E
    std::vector<double> values;
    void take(std::span<const double> a, const std::vector<int>& place);
  };
  Part part(std::span<const int> columns) const;
  void approach(double t, SolutionPath& path, const TangentValues& values);

  std::shared_ptr<const LinearMode> mode_;
  LinearPoint point_;
  std::uint64_t number_ = 0;  // of the values that the point has
  std::size_t rows_;
  std::vector<int> held_, held_places_, slope_places_;
  std::vector<int> place_;       // of the entries of E, by rows; then those of the rows of the held variables
  std::vector<int> data_order_;  // the entries of D, sorted by columns
  Part by_held_, by_slope_;
  // K, the matrix of a step: the column of h has that of h', times the shift, in it
  LaneLu step_lu_, free_lu_;
  std::vector<int> step_columns_, free_columns_;    // unknowns
  std::vector<int> step_position_, free_position_;  // of each entry of E in the values; -1: none
  std::vector<char> shifted_;                       // entries of E that the shift multiplies
  std::vector<double> matrix_;
  double shift_ = 0.0;
  std::vector<double> x_, xp_, work_, right_;
};

}  // namespace saltus
