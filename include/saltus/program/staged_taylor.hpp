// Taylor coefficients of the residual of a differential-algebraic equation, stage by stage.
#pragma once

#include <saltus/program/taylor.hpp>

#include <memory>
#include <span>
#include <vector>

namespace saltus {

/// For a program with the input groups t, x, x', and others that are constant, and with residuals F as its only outputs. With
/// the offsets c_i of the equations and d_j of the variables (Pryce's structural analysis), stage k, from -max d on, computes
/// coefficient c_i + k of F_i from the coefficients of x_j up to d_j + k. Every node is computed at the order that its users need and
/// no further, so a stage costs one coefficient of every node, whatever the offsets.
class StagedTaylor {
 public:
  /// What the recorded solution of the stages is written in.
  struct Symbols {
    Expr time;
    std::vector<Expr> X;        ///< coefficients 0 … max d of x, n each
    std::vector<Expr> inverse;  ///< of the system Jacobian, by columns
    std::vector<std::vector<Expr>> constants;
    double (*factor)(int offset, int stage);  ///< see stage_factor
  };

  explicit StagedTaylor(TaylorProgram program);

  /// Sets the offsets, and what is constant (one list per group after x'). Branches that the constants switch off do not
  /// count. False if a residual seems to need coefficients that its stage does not have (terms that cancel): then this form
  /// cannot be used.
  bool prepare(std::span<const int> c, std::span<const int> d, std::span<const std::span<const double>> constants);
  /// Makes room for stages up to `last`; allocates only if that is more than ever before. Forgets all coefficients.
  void start(double t, int last);
  /// F_i,[c_i + stage], or 0 where that is negative; X are the coefficients of x, n values each, of which those of order d_j + stage are
  /// read. All stages before must have been done; the same one may be repeated.
  void residual(int stage, std::span<const double> X, std::span<double> F);
  /// The coefficients of order d_j + stage, stage > 0, that were zero in residual() are those of X now.
  void settle(int stage, std::span<const double> X);

  /// After prepare(): which branches the constants have chosen. The recorded forms are the same wherever this and the offsets are.
  const std::vector<char>& choices() const { return choices_; }
  /// About how many operations the recorded forms need.
  std::size_t operations(int order) const;
  /// One step of Newton's method in each stage up to 0: the coefficients 0 … max d after it. `inverses`: by stage, from
  /// -max d on, what stands in the place of the inverse there; empty lists: that of the symbols.
  std::vector<Expr> record_correction(const Symbols& symbols,
                                      std::span<const std::vector<Expr>> inverses = {}) const;
  /// The stages above 0: the coefficients 1 … order for consistent X.
  std::vector<Expr> record_extension(const Symbols& symbols, int order) const;

 private:
  class Recorder;
  struct Step;  // one instruction, and at which order
  struct Steps;

  TaylorProgram program_;
  std::shared_ptr<const Steps> steps_;
  std::vector<int> c_, d_;
  std::vector<char> choices_;
  std::vector<double> constants_;  // order 0 of every slot that does not vary
  std::vector<double> series_;     // rows of coefficients, one per slot
  std::vector<double> change_;     // of the last coefficient, one per slot
  std::size_t stride_ = 0;
};

}  // namespace saltus
