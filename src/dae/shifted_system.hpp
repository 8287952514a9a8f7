// F(t, x, x') = s F0 with a constant F0 and a share s: the equations of a Newton homotopy.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/system.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Keeps a reference to the system; guards are left out.
class ShiftedSystem final : public System {
 public:
  /// `offset`: F0. The share is 1 at first.
  ShiftedSystem(System& system, std::vector<double> offset);

  void set_share(double share) { share_ = share; }

  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return system_.variable_name(j); }
  std::string equation_name(int i) const override { return system_.equation_name(i); }
  double nominal(int j) const override { return system_.nominal(j); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) override;
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override;
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override;

 private:
  void shift(std::span<double> F) const;

  System& system_;
  std::vector<double> offset_;
  double share_ = 1.0;
  Structure structure_;
};

/// The same for conditions.
class ShiftedConditions final : public ExtraConditions {
 public:
  ShiftedConditions(ExtraConditions& conditions, std::vector<double> offset)
      : conditions_(conditions), offset_(std::move(offset)) {}

  void set_share(double share) { share_ = share; }

  int count() const override { return conditions_.count(); }
  std::string name(int i) const override { return conditions_.name(i); }
  const SparsePattern& state_pattern() const override { return conditions_.state_pattern(); }
  const SparsePattern& derivative_pattern() const override { return conditions_.derivative_pattern(); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) override {
    conditions_.residual(t, x, xp, h);
    for (std::size_t i = 0; i < offset_.size(); ++i) h[i] -= share_ * offset_[i];
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                std::span<double> hxp) override {
    conditions_.jacobian(t, x, xp, hx, hxp);
  }

 private:
  ExtraConditions& conditions_;
  std::vector<double> offset_;
  double share_ = 1.0;
};

}  // namespace saltus
