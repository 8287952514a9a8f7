// A loaded FMU: the functions of both versions of the standard behind one interface for each kind.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmi/fmu_description.hpp"
#include "fmi/run_settings.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

/// What the event mode of an FMU has found.
struct EventOutcome {
  bool again = false;      ///< another round is needed
  bool terminate = false;  ///< the FMU ends the run
  bool states_changed = false;
  std::optional<double> next_time = {};
};

/// What both kinds have. Functions throw Error, with the name of the C function and the last message of the FMU, where
/// that one fails.
class CalledFmu {
 public:
  virtual ~CalledFmu() = default;

  virtual void begin_initialization(const RunSettings& settings) = 0;
  virtual void end_initialization() = 0;
  /// Back to where it was after it had been loaded.
  virtual void reset() = 0;
  virtual void set(const DescribedVariable& variable, double value) = 0;
  virtual double get(const DescribedVariable& variable) = 0;

  // --- saved states, if the description says so
  virtual void* save() = 0;
  virtual void restore(void* state) = 0;
  virtual void release(void* state) = 0;
};

class ExchangeFmu : public CalledFmu {
 public:
  virtual void enter_event_mode() = 0;
  virtual EventOutcome update_discrete_states() = 0;
  virtual void enter_continuous_mode() = 0;
  /// Tells that a step of the integrator is over. True if the FMU asks for an event.
  virtual bool completed_step(bool& terminate) = 0;
  virtual void set_time(double t) = 0;
  virtual void set_states(std::span<const double> x) = 0;
  virtual void states(std::span<double> x) = 0;
  virtual void nominals(std::span<double> x) = 0;
  /// False: the FMU cannot be evaluated here (fmi2Discard); another point may work.
  virtual bool derivatives(std::span<double> xp) = 0;
  virtual bool indicators(std::span<double> z) = 0;
  /// Derivative of all state derivatives in the direction of one state. False: not available here.
  virtual bool column(std::size_t state, std::span<double> derivative) = 0;
};

/// How a step of an FMU for co-simulation has ended.
struct StepEnd {
  bool made = true;        ///< false: the FMU refuses the step; a shorter one may work
  double t = 0.0;          ///< the time that was reached
  bool terminate = false;  ///< the FMU ends the run
  bool event = false;      ///< event mode is needed
};

class SteppedFmu : public CalledFmu {
 public:
  virtual StepEnd do_step(double t, double h) = 0;
  /// A continuous input moves along a line in the next step; its value is that at the beginning. False: the FMU cannot
  /// take slopes.
  virtual bool set_slope(const DescribedVariable& variable, double slope) = 0;

  // --- event mode, if the description says so
  virtual void enter_event_mode() = 0;
  virtual EventOutcome update_discrete_states() = 0;
  virtual void enter_step_mode() = 0;
};

// Loads the library and makes an instance. Throws UsageError if that fails.
std::unique_ptr<ExchangeFmu> load_exchange_fmu(const UnpackedFmu& files, const FmuDescription& description);
std::unique_ptr<SteppedFmu> load_stepped_fmu(const UnpackedFmu& files, const FmuDescription& description);

// One for each version.
std::unique_ptr<ExchangeFmu> load_exchange_fmu2(const UnpackedFmu& files, const FmuDescription& description);
std::unique_ptr<ExchangeFmu> load_exchange_fmu3(const UnpackedFmu& files, const FmuDescription& description);
std::unique_ptr<SteppedFmu> load_stepped_fmu2(const UnpackedFmu& files, const FmuDescription& description);
std::unique_ptr<SteppedFmu> load_stepped_fmu3(const UnpackedFmu& files, const FmuDescription& description);

}  // namespace saltus
