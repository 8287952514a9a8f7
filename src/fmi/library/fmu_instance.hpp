// One instance of an exported model: what both versions of FMI do with it. The C functions (fmi2_functions.cpp,
// fmi3_functions.cpp) check the order of the calls and the types of variables, and translate.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "fmi/exported_model.hpp"
#include "fmi/library/exchanged_run.hpp"
#include "fmi/library/stepped_run.hpp"
#include "fmi/run_settings.hpp"

namespace saltus {

class FmuInstance {
 public:
  enum class Kind { co_simulation, model_exchange };
  /// Where the instance stands in the state machine of the standard. Bits, so that functions can name several.
  enum Phase : unsigned {
    instantiated = 1,
    initialization = 2,
    event = 4,       ///< Event Mode
    continuous = 8,  ///< Continuous-Time Mode of model exchange
    step = 16,       ///< Step Mode of co-simulation
    terminated = 32,
    failed = 64,
  };

  /// A copy of everything that changes, for fmi2GetFMUstate and its relatives.
  struct Snapshot {
    Phase phase = instantiated;
    RunSettings settings;
    std::map<std::size_t, double> given;
    std::map<std::size_t, InputChange> inputs;
    std::optional<SimulatorState> run;
    ExchangedRun::Memory memory;  ///< of model exchange

    /// As bytes and back; reading throws UsageError for what is damaged.
    std::vector<double> numbers() const;
    static Snapshot from_numbers(std::vector<double> numbers);
  };

  /// Reads the model from the folder of resources. Throws Error for models that cannot be read, and UsageError if the
  /// token is that of another model.
  FmuInstance(Kind kind, const std::string& resources, const std::string& token);

  const ExportedModel& model() const { return model_; }
  Kind kind() const { return kind_; }
  Phase phase() const { return phase_; }
  void set_phase(Phase phase) { phase_ = phase; }

  /// Throws UsageError for times and tolerances that make no sense.
  void setup(const RunSettings& settings);
  void enter_initialization() { phase_ = initialization; }
  /// Finds the initial values; the next phase is up to the caller.
  void exit_initialization();
  void reset();

  // --- values, by value reference; throw UsageError for what is not there or cannot be set now
  const FmuVariable& variable(std::size_t reference) const;
  double value(std::size_t reference);
  void set_value(std::size_t reference, double value);
  /// The input moves along a line from now on; to be set together with its value.
  void set_slope(std::size_t reference, double slope);

  Snapshot snapshot();
  void restore(const Snapshot& snapshot);

  // --- co-simulation
  CommunicationStep do_step(double t, double h, bool return_at_events);
  double time() const;

  // --- model exchange
  ExchangedRun& exchanged();
  SettledEvent settle();

  /// Directional derivatives by central differences. In Initialization Mode those of initial values with respect to
  /// inputs, start values and parameters; afterwards those of observed variables, derivatives and indicators in the
  /// present mode, with respect to states, inputs and the time. Throws Error in modes with hidden constraints.
  void directional(std::span<const std::size_t> unknowns, std::span<const std::size_t> knowns,
                   std::span<const double> seed, std::span<double> sensitivity);
  /// The same for the transposed matrix: a seed for each unknown, a result for each known.
  void adjoint(std::span<const std::size_t> unknowns, std::span<const std::size_t> knowns, std::span<const double> seed,
               std::span<double> sensitivity);

 private:
  bool has_run() const { return run_.index() != 0; }
  CompiledModel with_given() const;
  void ensure_run();
  void apply_changes();
  void refresh_values();
  std::vector<double> initial_values(std::span<const std::size_t> unknowns, std::span<const std::size_t> knowns,
                                     std::span<const double> values);

  Kind kind_;
  ExportedModel model_;
  Phase phase_ = instantiated;
  RunSettings settings_;
  std::map<std::size_t, double> given_;            ///< parameters and start values, by value reference
  std::map<std::size_t, InputChange> inputs_;      ///< values that the importer has given
  std::map<std::size_t, InputChange> new_inputs_;  ///< those that the run does not know yet
  bool parameters_changed_ = false;
  std::variant<std::monostate, SteppedRun, ExchangedRun> run_;
  std::vector<double> observed_;                  ///< values of all observed variables, if known
  std::vector<double> derivatives_, indicators_;  ///< likewise
};

}  // namespace saltus
