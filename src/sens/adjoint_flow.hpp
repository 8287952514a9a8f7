// The adjoint equations of a mode along a recorded solution, as a system like any other:
//
//   lambda' = -A(t)^T lambda - L_x,
//
// where s' = A s are the variational equations of the held variables, and L is what is integrated.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/trajectory.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sens/linear_mode.hpp"

namespace saltus {

/// A recorded solution in one mode, and the linearisation of the mode along it.
class RecordedPath {
 public:
  RecordedPath(LinearPoint point, const std::vector<Trajectory::Step>& steps)
      : point_(std::move(point)), steps_(steps) {}

  /// The point at a time; null if the mode cannot be linearised there.
  LinearPoint* at(double t);
  LinearPoint& point() { return point_; }

 private:
  LinearPoint point_;
  const std::vector<Trajectory::Step>& steps_;
  std::size_t step_ = 0;
  std::vector<double> x_, xp_;
};

class AdjointEquations final : public System {
 public:
  /// `integrand`: of what is integrated; null: nothing. Keeps references.
  AdjointEquations(RecordedPath& path, Gradient* integrand);

  const Structure& structure() const override { return structure_; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void rhs(double t, std::span<const double> x, std::span<double> xp) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  double nominal(int j) const override { return nominal_[static_cast<std::size_t>(j)]; }
  void set_nominal(std::vector<double> nominal) { nominal_ = std::move(nominal); }

  /// The function of the unknowns whose pull is -lambda' and, for the data, what is integrated along the solution.
  void fill(const LinearPoint& point, std::span<const double> lambda, std::vector<double>& function);

 private:
  RecordedPath& path_;
  Gradient* integrand_;
  Structure structure_;
  std::vector<int> places_;  // of the entries of the Jacobian in its pattern
  std::vector<double> function_, nominal_;
};

/// The equations as a family of one mode without events.
class AdjointFlow final : public HybridSystem {
 public:
  AdjointFlow(AdjointEquations& equations, std::span<const double> start);

  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {}; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { return equations_; }
  int side(const Mode&, int) const override { return 0; }
  void set_side(Mode&, int, int) const override {}
  bool transition(const EventInput&, Transition&) override { return false; }

 private:
  AdjointEquations& equations_;
  std::string name_ = "adjoint equations";
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_;
};

}  // namespace saltus
