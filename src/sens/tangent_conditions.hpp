// Conditions that the tangents satisfy at the start, from initial equations.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/model/recorded_system.hpp>

#include <string>
#include <vector>

namespace saltus {

class TangentConditions final : public ExtraConditions {
 public:
  /// Functions of what the system of the tangents reads, for its values of data and locks.
  TangentConditions(const RecordedSystem& tangents, const std::vector<Expr>& residuals);

  int count() const override { return count_; }
  std::string name(int i) const override { return "derivative of initial equation " + std::to_string(i + 1); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                std::span<double> hxp) override;
  const SparsePattern& state_pattern() const override { return state_pattern_; }
  const SparsePattern& derivative_pattern() const override { return derivative_pattern_; }

 private:
  int count_;
  std::vector<double> data_, locks_;
  SparsePattern state_pattern_, derivative_pattern_;
  Program residual_, jacobian_;
  Workspace residual_work_, jacobian_work_;
};

}  // namespace saltus
