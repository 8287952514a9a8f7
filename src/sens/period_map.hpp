// The map of a period, as equations for cycles: unknowns are the state at the begin, the period where it is not known,
// and a parameter where a branch of cycles is followed.
//
//   phi(x, T, q) - x = 0        after a period the state is the same
//   n (x - reference) = 0       where T is unknown: the begin is on a section
#pragma once

#include <saltus/linalg/matrix.hpp>
#include <saltus/sens/cycle.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

class PeriodMap {
 public:
  /// What the equations are at a point, in units of `scale`.
  struct Point {
    CycleStatus status = CycleStatus::failed;  ///< converged: all of this is there
    std::string message;
    std::vector<double> unknowns;  ///< x, then T if it is unknown, then the parameter if there is one
    double period = 0.0;
    std::vector<double> residual;
    Matrix jacobian;            ///< of the residual by the unknowns
    Matrix monodromy;           ///< in the units of the model
    std::vector<double> slope;  ///< of the state at the begin
    std::shared_ptr<const SensitivityRun> run;

    bool ok() const { return status == CycleStatus::converged; }
  };

  /// `parameter`: the one that is an unknown; empty: none. Throws UsageError for options that make no sense.
  PeriodMap(const CompiledModel& model, const CycleOptions& options, std::string parameter = "");

  std::size_t states() const { return variables_.size(); }
  const std::vector<std::string>& variables() const { return variables_; }
  bool period_is_unknown() const { return unknown_period_; }
  /// Number of the variable of the section in the state; -1: it has none of its own.
  int section() const { return section_; }
  /// How many equations there are: the unknowns less the parameter.
  std::size_t equations() const { return states() + (unknown_period_ ? 1 : 0); }

  /// The begin of the search: start values of the model, after the transient. Nothing: it failed; `why` says how.
  std::optional<std::vector<double>> guess(std::string& why);
  Point evaluate(std::span<const double> unknowns) const;
  /// Sections without a variable of their own go through this point, across its slope.
  void move_reference(const Point& point);
  /// The same, and sizes of the unknowns are those of this point; that of the parameter is given.
  void set_reference(const Point& point, double parameter_size = 1.0);
  /// Sizes of the unknowns: what residuals and steps are measured with.
  const std::vector<double>& scale() const { return scale_; }

 private:
  CompiledModel with(std::span<const double> unknowns) const;
  double known_period(const CompiledModel& model) const;
  bool find_passages(const Trajectory& run, double& from, double& period) const;

  std::unique_ptr<const CompiledModel> model_;
  CycleOptions options_;
  std::string parameter_;
  bool unknown_period_ = false;
  std::vector<std::string> variables_;
  std::vector<std::size_t> places_;  // among the observed variables
  std::vector<double> scale_, reference_, normal_;
  int section_ = -1;  // number of its variable in the state
};

}  // namespace saltus
