// All stages of an explicit Runge-Kutta step as one program. For small modes the loops over variables and stages cost more than the
// right-hand sides do; unrolled into native code they cost next to nothing.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/program/program.hpp>

#include <cstdint>
#include <span>
#include <vector>

#include "model/runnable_program.hpp"

namespace saltus {

/// The code, for one method: the same for all who evaluate it.
class StageCode {
 public:
  /// x' = f(t, x) with values of `data` and `locks` that are given at every evaluation.
  StageCode(const RungeKuttaStages& method, const Expr& time, std::span<const Expr> variables, std::span<const Expr> f,
            const std::vector<Expr>& data_symbols, const std::vector<Expr>& lock_symbols,
            const ProgramOptions& options);

  bool made_for(const RungeKuttaStages& method) const {
    return method.fingerprint != 0 && fingerprint_ != 0 ? method.fingerprint == fingerprint_ : has_numbers_of(method);
  }
  const Program& program() const { return program_; }
  int stages() const { return stages_; }

 private:
  bool has_numbers_of(const RungeKuttaStages& method) const;

  std::vector<double> a_, c_, dense_;
  std::uint64_t fingerprint_;
  int stages_, dense_degree_;
  Program program_;
};

/// The code with memory to run it.
class StageProgram {
 public:
  explicit StageProgram(const StageCode& code);

  const StageCode& code() const { return *code_; }
  /// See StageEvaluator::evaluate.
  void evaluate(double t, double h, double end, std::span<const double> x, std::span<double* const> k,
                std::span<double> x_before_last, std::span<double> x_end, std::span<double> dense, const double* data,
                const double* locks);

 private:
  const StageCode* code_;
  RunnableProgram program_;
  std::vector<double*> out_;
};

}  // namespace saltus
