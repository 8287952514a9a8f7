// The initial equations of a recorded model.
#pragma once

#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/hybrid_system.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <string>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// For the discrete values of one mode. A copy shares the code and has memory of its own.
class InitialEquations final : public ExtraConditions {
 public:
  /// What the residuals are functions of.
  struct Symbols {
    Expr time;
    std::vector<Expr> variables, derivatives, parameters, discretes, locks;
  };

  InitialEquations(const Symbols& symbols, const std::vector<Expr>& residuals, std::vector<std::string> names,
                   ProgramOptions options);

  /// Values of the parameters, which are not copied.
  void set_parameters(std::span<const double> values) { parameters_ = values.data(); }

  /// Discrete values and locks to be used.
  void set_mode(const Mode& mode);
  /// Whether they are those of the mode.
  bool has_values_of(const Mode& mode) const;

  int count() const override { return static_cast<int>(names_.size()); }
  std::string name(int i) const override { return names_[i]; }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                std::span<double> hxp) override;
  const SparsePattern& state_pattern() const override { return state_pattern_; }
  const SparsePattern& derivative_pattern() const override { return derivative_pattern_; }

 private:
  std::vector<std::string> names_;
  const double* parameters_ = nullptr;
  std::vector<double> discrete_, locks_;
  SparsePattern state_pattern_, derivative_pattern_;
  RunnableProgram residual_, jacobian_;
};

}  // namespace saltus
