// The code of a recorded system: equations, structure and programs. It is shared by all systems that evaluate it, in
// any thread.
//
// Parts that not every run needs (Jacobians, series, stages) are compiled when they are first asked for, under a mutex,
// and stay in place and unchanged from then on. What they are does not depend on who asks first: parts that need new
// expressions build them in a clone of the graph. A system asks once for each part and keeps the address, so
// evaluations take no lock.
#pragma once

#include <saltus/model/recorded_system.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "model/explicit_form.hpp"
#include "model/guard_enclosure.hpp"
#include "model/linear_guards.hpp"
#include "model/locked_jacobians.hpp"
#include "model/projection.hpp"
#include "model/stage_program.hpp"
#include "model/staged_solution.hpp"

namespace saltus {

struct DifferentiatedCode;

class RecordedCode {
 public:
  using Locked = LockedJacobians::Locked;

  /// `data` and `locks` are checked for their numbers only; coefficients of derivatives that depend on data must not
  /// vanish for `data`.
  RecordedCode(RecordedEquations equations, std::span<const double> data, std::span<const double> locks,
               ProgramOptions options);
  ~RecordedCode();
  RecordedCode(const RecordedCode&) = delete;
  RecordedCode& operator=(const RecordedCode&) = delete;

  const RecordedEquations& equations() const { return eq_; }
  const std::vector<Expr>& right_hand_sides() const { return explicit_form_.right_hand_sides(); }
  const ProgramOptions& options() const { return options_; }
  /// What does not depend on locks.
  const Structure& common() const { return common_; }
  const LockedJacobians& jacobians() const { return jacobians_; }
  /// Whether other data can make the coefficient of a derivative zero.
  bool data_may_be_impossible() const { return explicit_form_.found() && explicit_form_.depends_on_data(); }
  /// Whether coefficients of derivatives depend on data, so that values decide whether the form is explicit.
  bool form_depends_on_data() const { return explicit_form_.depends_on_data(); }
  /// Whether a system built for these data would have the same equations.
  bool same_form_for(std::span<const double> data) const { return explicit_form_.same_for(data); }
  /// Throws UsageError if these data make the coefficient of a derivative zero.
  void require_possible(std::span<const double> data) const;
  /// The structure for these values. Stays in place.
  const Locked& select(std::span<const double> data, std::span<const double> locks) const;

  // --- parts, compiled on first use. The references stay valid as long as the code.
  const Program& residual() const;
  const Program& rhs() const;
  const Program& jacobian() const;
  const Program& time_derivative() const;
  const Program& guard_values() const;
  const TaylorProgram& residual_series() const;
  const TaylorProgram& jacobian_series() const;
  const TaylorProgram& rhs_series() const;
  const TaylorProgram& guard_series() const;
  /// The coefficients 1 … order of the solution; empty where the series evaluator is to be used.
  const Program& solution(int order) const;
  /// All stages of a Runge-Kutta step; null where stages are evaluated one by one.
  const StageCode* stages(const RungeKuttaStages& method) const;
  /// To be copied: each system has its own memory for them.
  const LinearGuards& linear_guards() const;
  const GuardEnclosure& guard_enclosure() const;
  const Projection& projection() const;
  /// Native code for stages of series, shared by all who need it.
  const std::shared_ptr<StagedPrograms>& staged_programs() const { return staged_programs_; }
  /// The equations with dummy derivatives, for the structure that data and locks select.
  std::shared_ptr<const DifferentiatedCode> differentiated(const Locked& structure, std::span<const double> data,
                                                           std::span<const double> locks,
                                                           const DerivativePlan& plan) const;

  /// What identifies a plan.
  static std::vector<int> key_of(const DerivativePlan& plan);

 private:
  using Groups = std::vector<std::vector<Expr>>;
  using Outputs = std::initializer_list<const std::vector<Expr>*>;
  void check_sizes(std::span<const double> data, std::span<const double> locks) const;
  void find_guard_variables();
  bool uses_external() const;
  Groups inputs(bool with_derivatives) const;
  static Groups copy(Outputs outputs);
  /// These make a part unless it is there. Called under the mutex.
  const Program& make(Program& program, bool with_derivatives, Outputs outputs) const;
  const TaylorProgram& make(TaylorProgram& program, bool with_derivatives, Outputs outputs) const;
  /// The equations in a clone of the graph, for parts that need new expressions.
  RecordedEquations cloned(std::vector<Expr>* rhs = nullptr) const;

  RecordedEquations eq_;
  std::vector<Expr> xp_;
  ProgramOptions options_;
  ExplicitForm explicit_form_;
  Structure common_;
  std::shared_ptr<StagedPrograms> staged_programs_ = std::make_shared<StagedPrograms>();

  mutable std::mutex making_;  // all that follows
  mutable LockedJacobians jacobians_;
  mutable Program residual_, rhs_, jacobian_, time_derivative_, guard_values_;
  mutable TaylorProgram residual_series_, jacobian_series_, rhs_series_, guard_series_;
  mutable std::map<int, Program> solutions_;  // by order
  mutable std::vector<std::unique_ptr<StageCode>> stages_;
  mutable std::unique_ptr<LinearGuards> linear_guards_;
  mutable std::unique_ptr<GuardEnclosure> guard_enclosure_;
  mutable std::unique_ptr<Projection> projection_;
  struct Differentiated {
    std::shared_ptr<const DifferentiatedCode> code;
    std::int64_t last_asked = 0;
  };
  mutable std::map<std::pair<int, std::vector<int>>, Differentiated>
      differentiated_;  // by number of the structure, and plan
  mutable std::int64_t times_asked_ = 0;
};

}  // namespace saltus
