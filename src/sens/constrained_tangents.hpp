// Derivatives in a mode that is not explicit. What flows are the derivatives of all unknowns of its linearisation
// (linear_mode.hpp), of which some variables are held and the others follow. Explicit Runge-Kutta methods integrate the
// held ones, Rosenbrock methods all (constrained_equations.hpp). Where hidden constraints leave a choice of the held
// variables, it changes along the solution.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "sens/constrained_equations.hpp"
#include "sens/tangent_flow.hpp"

namespace saltus {

class ConstrainedTangents final : public TangentMode {
 public:
  /// `observer`: evaluates functions of the variables of the mode.
  ConstrainedTangents(std::shared_ptr<const LinearMode> mode, std::shared_ptr<TangentWork> observer);

  TangentWork& observer() const { return *observer_; }
  const LinearMode& mode() const { return *mode_; }

  /// Begins at a point with these held variables. False: the others do not follow from them.
  bool open(const TangentValues& values, double t, std::span<const double> x, std::span<const double> xp,
            const std::vector<int>& held);
  /// Sets all unknowns that are not held, at the point where it is. False: they do not follow.
  bool follow(const TangentValues& values, std::span<double> y);
  /// Goes to a point of the solution.
  bool move(double t, SolutionPath& path, const TangentValues& values);

  /// Values, slopes and second derivatives of the variables at the present point.
  struct Point {
    std::vector<double> x, xp, xpp;
  };
  Point point() const;
  /// From lanes of the unknowns to lanes of the variables (or of their derivatives, which are zero where the equations
  /// do not have them).
  std::vector<double> part(std::span<const double> y, int order) const;

  const Lanes& flowing() const override { return lanes_; }
  std::span<const double> weights() const override { return weights_; }
  TangentStepper* explicit_stepper(const Tableau& tableau) override;
  TangentStepper& implicit_stepper() override;
  int passed(double t, SolutionPath& path, const TangentValues& values, std::span<double> y, bool anew,
             bool& good) override;
  /// The equations must not be singular, with these held variables, inside of the step.
  bool serves(double end, SolutionPath& path, const TangentValues& values) override;
  void choose(int choice) override;
  std::vector<double> observed_slopes(double t, SolutionPath& path, const TangentValues& values,
                                      std::span<const double> y) override;
  std::vector<std::vector<double>> observed(double t, SolutionPath& path, const TangentValues& values,
                                            std::span<const double> y) override;

 private:
  int choice();

  std::shared_ptr<const LinearMode> mode_;
  std::shared_ptr<TangentWork> observer_;
  ConstrainedEquations equations_;
  Lanes lanes_;  // of the unknowns
  std::vector<double> weights_;
  std::vector<std::vector<int>> choices_;  // of held variables
  double best_condition_ = 0.0;            // since the last choice
  int orientation_ = 1;                    // of the equations, with this choice
  LinearEquations::Values at_;
  std::map<const Tableau*, std::unique_ptr<TangentStepper>> explicit_;
  std::unique_ptr<LinearRosenbrock> implicit_;
};

}  // namespace saltus
