// The residuals of a fit and their derivatives, as functions of the parameters.
#pragma once

#include <saltus/linalg/matrix.hpp>
#include <saltus/sens/fit.hpp>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

class SensitivityRun;

class FitProblem {
 public:
  /// One measured number.
  struct Target {
    std::string label;
    std::string event;         ///< empty: the value of a variable
    std::size_t variable = 0;  ///< its place among the observed variables
    std::size_t number = 0;    ///< of the event, from 0
    double t = 0.0, measured = 0.0, sigma = 1.0;
  };

  /// Throws UsageError for data and names that do not fit, see fit().
  FitProblem(const CompiledModel& model, const FitData& data, const std::vector<FitParameter>& parameters,
             const FitOptions& options);

  int values() const { return static_cast<int>(targets_.size()); }
  int parameters() const { return static_cast<int>(parameters_.size()); }
  bool has_sigmas() const { return has_sigmas_; }
  const CompiledModel& model() const { return model_; }
  const std::vector<Target>& targets() const { return targets_; }
  /// From the start to the last value.
  const SimulateOptions& simulate() const { return simulate_; }
  /// The model with these values of the parameters.
  CompiledModel with(std::span<const double> p) const;
  /// The parameters with their guesses.
  const std::vector<FitParameter>& unknowns() const { return parameters_; }

  /// How values near a jump are compared. Where the time of a jump is not known yet, a value may be on its wrong side,
  /// and the sum of squares jumps when the two pass each other. `lenient`: a value is compared with the other side of
  /// the jumps beside it, too, continued along the slope there; the nearer side counts, at a discount that grows with
  /// the distance in time. So the sum is continuous.
  enum class Jumps { strict, lenient };
  void set_jumps(Jumps jumps) { jumps_ = jumps; }
  /// How many values the last call of residuals() compared with the other side of a jump.
  int other_sides() const { return other_sides_; }

  /// (modelled - measured) / sigma. Nothing: the model cannot be run to the last value; failure() says why.
  std::optional<std::vector<double>> residuals(std::span<const double> p);
  /// Their derivatives. Nothing: there are none, failure() says why.
  std::optional<Matrix> jacobian(std::span<const double> p);

  /// The values of the last call of residuals(), one by one, and its run.
  std::vector<FitResidual> table() const;
  const std::optional<Trajectory>& run() const { return run_; }
  const std::string& failure() const { return failure_; }
  const std::set<std::string>& notes() const { return notes_; }
  /// Events that were measured and that the run of the last call of residuals() does not have.
  std::vector<std::string> missing_events() const;
  int runs() const { return runs_; }
  int derivatives() const { return derivatives_; }

 private:
  void add_series(const FitSeries& series);
  void add_events(const FitEvents& events);
  /// Checks the sigmas of `count` values; the one of value k is sigma[k], sigma[0] or 1.
  double sigma_of(const std::vector<double>& sigma, std::size_t k, std::size_t count, const std::string& what);
  /// Throws UsageError if a name is neither a guard nor a kind, and no event of the run is called so.
  void check_event_names(const Trajectory& run) const;
  /// Places of the measured events among those of a run; events.size() for one that is missing.
  std::vector<std::size_t> places_of_events(const Trajectory& run) const;
  std::optional<std::vector<double>> modelled(const Trajectory& run);
  /// The other side of a jump that a value is compared with.
  struct OtherSide {
    std::size_t event;    ///< events.size(): none, the value itself counts
    double factor = 1.0;  ///< of the difference
    double value = 0.0;   ///< that counts as modelled
  };
  OtherSide other_side(const Trajectory& run, const Target& target, double value) const;
  double value_at(const Trajectory& run, double t, std::size_t variable) const;
  std::optional<Matrix> differences(std::span<const double> p);
  bool has_all_derivatives(const SensitivityRun& run) const;

  CompiledModel model_;
  std::vector<FitParameter> parameters_;
  SimulateOptions simulate_;
  std::vector<Target> targets_;
  double last_ = 0.0;  // measured time
  Jumps jumps_ = Jumps::strict;
  int other_sides_ = 0;
  std::optional<bool> sigmas_given_;
  bool has_sigmas_ = false;
  std::optional<Trajectory> run_;
  std::vector<double> modelled_;
  std::string failure_;
  std::set<std::string> notes_;
  int runs_ = 0, derivatives_ = 0;
};

}  // namespace saltus
