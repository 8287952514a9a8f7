// Some equations of a system as a system of their own, for some of its variables; the others are given functions of time.
#pragma once

#include <saltus/dae/system.hpp>

#include <span>
#include <vector>

namespace saltus {

/// Evaluations cost as much as those of the whole system.
class SubSystem final : public System {
 public:
  /// Keeps a reference to the whole system.
  SubSystem(System& whole, std::vector<int> equations, std::vector<int> variables);

  /// The coefficients x_[0], x_[1], … of all variables of the whole system; missing ones are zero.
  void set_inputs(std::span<const double> X) { inputs_.assign(X.begin(), X.end()); }

  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return whole_.variable_name(variables_[j]); }
  std::string equation_name(int i) const override { return whole_.equation_name(equations_[i]); }
  double nominal(int j) const override { return whole_.nominal(variables_[j]); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) override;
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override;
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override;

 private:
  void fill(std::size_t coefficients, std::span<const double> X);
  void fill(std::span<const double> x, std::span<const double> xp);
  std::span<const double> coefficient(std::size_t order) const;
  void pick(std::span<const double> all, std::span<double> part) const;

  System& whole_;
  std::vector<int> equations_, variables_;
  std::vector<int> state_place_, derivative_place_;  // of its entries among those of the whole system
  Structure structure_;
  std::vector<double> inputs_, X_, F_, Fx_, Fxp_;
};

/// The entries of a pattern that lie in the given rows and columns (local numbers, -1: outside): their pattern, and where
/// they stand in the whole one.
SparsePattern part_of(const SparsePattern& whole, std::span<const int> local_row, int rows,
                      std::span<const int> variables, std::vector<int>& place);

}  // namespace saltus
