// Guards a(data) t + b(data): when they change their sides is known in advance.
#pragma once

#include <saltus/program/program.hpp>

#include <span>
#include <vector>

#include "model/model_guards.hpp"
#include "model/runnable_program.hpp"

namespace saltus {

/// A copy shares the code and has memory of its own.
class TimeGuards {
 public:
  TimeGuards() = default;
  TimeGuards(const Expr& time, std::span<const ModelGuards::Guard> guards, const std::vector<Expr>& parameters,
             const std::vector<Expr>& discretes, const std::vector<Expr>& locks, const ProgramOptions& options);

  const std::vector<int>& guards() const { return guards_; }
  /// See HybridSystem::next_time_event.
  double next(const ModelGuards& sides, std::span<const double> parameters, const Mode& mode, double t, int direction,
              std::vector<int>& fired);

 private:
  std::vector<int> guards_;
  RunnableProgram program_;
  std::vector<double> values_;  // b of each guard, then a
};

}  // namespace saltus
