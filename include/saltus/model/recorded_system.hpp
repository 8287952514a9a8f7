// RecordedSystem: a System made from expressions. Values, sparse Jacobians, Taylor coefficients and guards all come from the graph.
#pragma once

#include <saltus/dae/system.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>
#include <saltus/program/taylor.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

class RecordedCode;

/// What a mode consists of. Variables are symbols of kind `variable`; their derivatives are der(variable).
struct RecordedEquations {
  Expr time;                      ///< the time symbol; may be a number if time does not occur
  std::vector<Expr> variables;
  std::vector<Expr> equations;    ///< residuals: 0 = expression
  std::vector<Expr> data = {};    ///< parameters, discrete variables: constant while the mode lasts
  std::vector<Expr> locks = {};   ///< relations and roundings that are locked; those not listed are evaluated
  std::vector<Expr> guards = {};  ///< switching functions
  std::vector<std::string> equation_names = {};  ///< optional, one per equation
  std::vector<double> nominal = {};              ///< optional, one per variable
  Scaling scaling = Scaling::automatic;
  std::vector<Expr> invariants = {};  ///< functions of t and x that stay zero along solutions; project() keeps them so
};

/// One set of programs serves all values of data and locks. What depends on the locks (which entries of the Jacobians
/// vanish, whether the mode is an explicit ODE) is analysed when a combination is first seen.
///
/// Programs and structures are shared by the systems that sibling() and for_another_thread() make, and never change
/// once they are there. The graph of the expressions does not grow after construction.
/// A series in stages (start_stages) ends where a sibling is evaluated: to go on with it throws UsageError.
class RecordedSystem final : public System {
 public:
  /// `data` are the values of equations.data, `locks` those of equations.locks (0 or 1, integers for roundings).
  explicit RecordedSystem(RecordedEquations equations, std::vector<double> data = {}, std::vector<double> locks = {},
                          ProgramOptions options = {});
  ~RecordedSystem() override;
  RecordedSystem(RecordedSystem&&) noexcept;
  RecordedSystem& operator=(RecordedSystem&&) noexcept;

  /// The same equations and values for another thread: the two share code, and each has memory of its own.
  /// `shared_data`: values of the first data, which will be the same for all siblings of the new system.
  RecordedSystem for_another_thread(std::span<const double> shared_data = {}) const;
  /// Whether the coefficient of a derivative depends on data: their values decide which form the system has.
  bool form_depends_on_data() const;
  /// Whether a system built for these data would have the same form: the coefficient of a derivative that depends on
  /// data vanishes for both or for none.
  bool same_form_for(std::span<const double> data) const;
  /// The same equations with other values, for the same thread: the two share code and the memory of evaluations, and
  /// each has its own values. `own_data` are those that are not shared. Throws UsageError where set_data does.
  RecordedSystem sibling(std::span<const double> own_data, std::span<const double> locks) const;

  /// Changes the values of data and locks of this system, not those of its siblings. Cheap unless a combination of
  /// structure-changing locks is new. Data cannot be changed if some of them are shared.
  void set_data(std::span<const double> data);
  void set_locks(std::span<const double> locks);
  /// Both at once, for systems that share the first data with their siblings.
  void set_values(std::span<const double> own_data, std::span<const double> locks);
  std::vector<double> data() const;
  /// The data that are not shared with siblings.
  std::span<const double> own_data() const;
  std::span<const double> locks() const;
  /// Locks whose value decides where the Jacobians vanish, as indices into equations.locks.
  const std::vector<int>& structural_locks() const;
  /// Data that do so, as indices into equations.data.
  std::vector<int> structural_data() const;

  const RecordedEquations& equations() const;
  /// The right-hand sides if the mode is an explicit ODE, otherwise empty.
  const std::vector<Expr>& right_hand_sides() const;
  /// What all systems of these equations share.
  const RecordedCode& code() const;
  /// Instructions, back end, bytes: for reports.
  const Program& residual_program() const;

  const Structure& structure() const override;
  std::string variable_name(int j) const override;
  std::string equation_name(int i) const override;
  std::string undefined_part(int i, double t, std::span<const double> x, std::span<const double> xp) const override;
  double nominal(int j) const override;
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override;
  void rhs(double t, std::span<const double> x, std::span<double> xp) override;
  StageEvaluator* stages(const RungeKuttaStages& method) override;
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override;
  void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) override;
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override;
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override;
  void solution_taylor(double t, int order, std::span<double> X) override;
  void start_stages(double t, std::span<const int> c, std::span<const int> d, int last) override;
  void stage_residual(int stage, std::span<const double> X, std::span<double> F) override;
  void settle_stage(int stage, std::span<const double> X) override;
  bool correct_stages(std::span<const double> inverse, std::span<double> X) override;
  bool extend_stages(std::span<const double> inverse, int order, std::span<double> X) override;
  System* differentiated(const DerivativePlan& plan) override;
  bool project(double t, std::span<double> x) override;
  void guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) override;
  void guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) override;
  bool enclose_residual(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                        std::span<Interval> F) override;
  bool enclose_jacobian(Interval t, std::span<const Interval> X, std::span<Interval> Fx,
                        std::span<Interval> Fxp) override;
  bool enclose_guards(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                      std::span<Interval> G) override;
  std::span<const LinearGuard> linear_guards() override;

 private:
  struct Evaluator;
  struct Impl;
  class WithDummyDerivatives;
  explicit RecordedSystem(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
