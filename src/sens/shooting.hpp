// Multiple shooting (H. Bock, Recent advances in parameter identification, 1983): the record is divided into windows,
// each with a run of its own from a state that is an unknown, too. Where two windows meet, the differences of the
// states are further residuals. Errors cannot grow for longer than a window, so that a poor guess keeps in step with
// the data.
#pragma once

#include <saltus/linalg/matrix.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sens/fit_problem.hpp"
#include "sens/state_variables.hpp"

namespace saltus {

class ShootingProblem {
 public:
  /// `problem`: what is fitted; it outlives this object. `windows`: at least 2. Throws UsageError where times of events
  /// are among the data. States at the begin of windows are guessed from the data where there are some, and otherwise
  /// from `run`.
  ShootingProblem(const FitProblem& problem, int windows, const Trajectory& run);

  int values() const;
  int parameters() const { return static_cast<int>(unknowns_.size()); }
  /// The parameters of the fit, then the states at the begin of all windows but the first.
  const std::vector<FitParameter>& unknowns() const { return unknowns_; }
  /// The standard deviation of the differences between windows, as a share of the size of each variable.
  void set_continuity(double share) { continuity_ = share; }

  /// As FitProblem gives them, with the differences behind them.
  std::optional<std::vector<double>> residuals(std::span<const double> u);
  std::optional<Matrix> jacobian(std::span<const double> u);

 private:
  std::optional<std::vector<double>> residuals_of_windows(std::span<const double> u) const;
  struct Window {
    double from, to;
    std::vector<std::size_t> targets;  // in it
  };
  /// The model for the run of a window, and the names by which it is differentiated: first parameters, then states.
  CompiledModel model_of(std::size_t window, std::span<const double> u, const std::vector<double>& before) const;
  SimulateOptions options_of(const Window& window) const;
  std::size_t node(std::size_t window, std::size_t k) const;  // the unknown that is variable k at its begin

  const FitProblem& problem_;
  StateVariables state_;
  std::vector<double> size_;  // of the state variables
  std::vector<Window> windows_;
  std::vector<FitParameter> unknowns_;
  double continuity_ = 1.0;
};

}  // namespace saltus
