// Sensitivities: derivatives of a run with respect to parameters and start values, through its events.
//
//   const SensitivityRun run = simulate_with_sensitivities(model, {"mu", "x.start"}, {.stop = 10.0});
//   run.final("x", "mu");               // d x(10) / d mu
//   run.events()[0].dt;                 // how the time of the first event moves
#pragma once

#include <saltus/hybrid/simulator.hpp>
#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/compiled_model.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// Whether something has a derivative.
enum class Smoothness : unsigned char {
  smooth,     ///< it has one
  one_sided,  ///< it has one for each side, and they differ: for a growing parameter, unless a text says otherwise
  undefined,  ///< it has none, or it is not known: a text says why
};
/// As it stands in files: "smooth", "one_sided", "undefined".
std::string_view to_string(Smoothness smoothness);

/// What an event adds to the sensitivities.
struct EventSensitivity {
  double t = 0.0;
  /// Derivative of its time, one value per parameter; empty where there is none, and where several guards happen
  /// together whose times move apart.
  std::vector<double> dt;
  /// Of dt and of what comes after the event: the worst of all parameters. Sensitivities end where it is undefined,
  /// except at touches.
  Smoothness smoothness = Smoothness::smooth;
  /// Of dt, one per parameter; empty where dt is.
  std::vector<Smoothness> dt_smoothness = {};
  std::string text;  ///< why there is no derivative, or what to think of it; "" if there is nothing to say
};

/// A run and its derivatives. Derivatives are taken at a fixed time: at the time of an event they jump. Values are
/// right limits, as those of the trajectory. To be read in one thread.
class SensitivityRun {
 public:
  SensitivityRun(SensitivityRun&&) noexcept;
  SensitivityRun& operator=(SensitivityRun&&) noexcept;
  ~SensitivityRun();

  /// The run: it has the bits of a run without sensitivities that does not fly (SimulateOptions::flights_after = -1).
  /// Runs up to a thousand steps do not fly by themselves; longer ones differ from it by rounding errors.
  const Trajectory& trajectory() const;
  /// By what is differentiated, as it was asked for.
  const std::vector<std::string>& parameters() const;
  /// Up to this time there are derivatives: the end of the run, or an event behind which there are none.
  double end() const;
  /// Why they end before the run does; "" if they do not.
  const std::string& why() const;

  /// Derivatives of all variables (in the order of Trajectory::variables) by a parameter, at a time up to end(). Throws
  /// UsageError for other times and for names that were not asked for.
  std::vector<double> at(double t, const std::string& parameter) const;
  double at(double t, const std::string& variable, const std::string& parameter) const;
  /// Just before t: at the time of an event, what held before it.
  std::vector<double> before(double t, const std::string& parameter) const;
  double before(double t, const std::string& variable, const std::string& parameter) const;
  /// By all parameters, in their order, at a time up to end() or just before it: for the cost of one of them.
  std::vector<std::vector<double>> at(double t) const;
  std::vector<std::vector<double>> before(double t) const;
  /// Derivatives of all variables by time, at a time up to end(); at the end of the run those just before it.
  std::vector<double> slopes(double t) const;
  /// Derivatives of the final values. Where the model has ended the run, the end moves with the parameter, and the
  /// values there are differentiated along with it. Throws UsageError if the sensitivities end before the run does.
  std::vector<double> final(const std::string& parameter) const;
  double final(const std::string& variable, const std::string& parameter) const;

  // --- derivatives that are not those of both sides
  /// Of the derivatives by a parameter at a time up to end(); at an event, after it.
  Smoothness smoothness(double t, const std::string& parameter) const;
  /// Of the derivatives of the final values, one per variable. Undefined ones are not a number in final().
  std::vector<Smoothness> final_smoothness(const std::string& parameter) const;
  Smoothness final_smoothness(const std::string& variable, const std::string& parameter) const;
  /// Why derivatives by a parameter are one-sided or undefined somewhere; "" if they are not.
  const std::string& remark(const std::string& parameter) const;

  /// One for each event of the trajectory, up to the one at which the sensitivities end (that one included).
  const std::vector<EventSensitivity>& events() const;

 private:
  struct Impl;
  friend class ForwardRun;
  explicit SensitivityRun(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// How derivatives are computed.
struct SensitivityOptions {
  /// Whether their errors are tested: where the steps of the run are too long for them, they take shorter ones. False:
  /// they take the steps of the run, whatever their errors are. The run itself has the same bits either way.
  bool control = true;
};

/// Runs a model and differentiates the run by parameters ("mu") and by start values ("x.start").
///
/// Throws UsageError for names by which a run cannot be differentiated, with the reason: what is no number (a size, a
/// truth value), a start value that is only a guess. Everything else is told by the trajectory's status and by why().
SensitivityRun simulate_with_sensitivities(const CompiledModel& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options = {},
                                           const SensitivityOptions& sensitivity = {});
/// Compiles the model first.
SensitivityRun simulate_with_sensitivities(const Model& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options = {},
                                           const SensitivityOptions& sensitivity = {});

}  // namespace saltus
