// Models of other simulators: FMUs for model exchange, as hybrid systems.
//
//   auto ball = std::make_shared<ImportedFmu>("BouncingBall.fmu");
//   Trajectory run = simulate(ball, {.stop = 3});
//
// An FMU is native code that runs with the rights of the user: load only those that you trust.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/modelica/modelica.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

struct ImportOptions {
  /// Values of parameters and start values, by name.
  std::vector<std::pair<std::string, double>> values = {};
  /// Where runs begin and may end, and the tolerance of the FMU's own iterations. Empty: those of the FMU.
  std::optional<double> start = {}, stop = {}, tolerance = {};
};

/// Event indicators are guards, and time events are exact. At an event the FMU is asked for its new discrete state
/// until nothing changes any more. Where the FMU can save its state, its states on both sides of an indicator are
/// known, so that solutions slide, and all its variables are observed; otherwise only its continuous states and inputs
/// are.
///
/// One run at a time; its result may be read in other threads meanwhile.
class ImportedFmu final : public HybridSystem {
 public:
  /// Unpacks the FMU into a temporary folder, loads its library, and initialises it. Throws UsageError, with the name
  /// of the file, for files that are damaged or no FMUs, for FMUs without model exchange (with what to ask the other
  /// tool for), without a library for this machine, or that fail. Nothing is left behind then.
  explicit ImportedFmu(const std::string& file, const ImportOptions& options = {});
  ~ImportedFmu() override;

  /// What the FMU says about itself.
  const Experiment& experiment() const;
  const std::string& description() const;
  /// Parameters with their values; `start` is the value.
  const std::vector<VariableInfo>& parameters() const;
  /// What a user should know: variables that cannot be shown, abilities that are missing.
  const std::vector<std::string>& notes() const;

  const std::string& name() const override;
  const std::vector<VariableInfo>& variables() const override;
  const std::vector<GuardInfo>& guards() const override;
  const std::vector<InputInfo>& inputs() const override;
  Mode initial_mode() const override;
  std::optional<double> start_time() const override;
  std::string describe(const Mode& mode) const override;
  System& system(const Mode& mode) override;
  int side(const Mode& mode, int guard) const override;
  void set_side(Mode& mode, int guard, int side) const override;
  bool can_stay_on_surfaces(const Mode& mode) override;
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) override;
  bool complete_step(const Mode& mode, double t, std::span<const double> x) override;
  bool transition(const EventInput& input, Transition& transition) override;
  bool same_decisions(const Mode& a, const Mode& b) const override;
  void identify(const Mode& mode, std::vector<double>& key) const override;
  const std::vector<VariableInfo>& observed() const override;
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override;

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

/// What an FMU is, and what Saltus would do with it, in some lines. Loads no library: no code of the FMU runs. Throws
/// UsageError as ImportedFmu does, but takes FMUs of all kinds.
std::string describe_fmu(const std::string& file);

}  // namespace saltus
