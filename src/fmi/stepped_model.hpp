// FMUs for co-simulation as hybrid systems: nothing is integrated, and each communication point is an event.
//
// At a communication point the FMU makes the step to the next one. So the values at both ends of an interval are known
// while a run is in it, and the real ones are straight lines between. The next point is the nearest of: the grid of
// communication steps, the next change of an input, the next event that the FMU has announced. Where an FMU of FMI 3.0
// returns early, the interval ends there, with event mode.
#pragma once

#include <saltus/fmi/imported_fmu.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fmi/called_fmu.hpp"
#include "fmi/fmu_description.hpp"
#include "fmi/fmu_inputs.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

/// Mode::discrete holds: the number of the interval (0 before a run has begun), the sides of all guards that have been
/// acted on, and the numbers of the inputs.
class SteppedModel final : public ImportedFmu {
 public:
  SteppedModel(const std::string& file, const ImportOptions& options);
  ~SteppedModel() override;

  const Experiment& experiment() const override { return about_.experiment; }
  const std::string& description() const override { return about_.description; }
  const std::vector<VariableInfo>& parameters() const override { return parameters_; }
  const std::vector<std::string>& notes() const override { return notes_; }

  const std::string& name() const override { return about_.model_name; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  const std::vector<InputInfo>& inputs() const override { return inputs_; }
  Mode initial_mode() const override;
  std::optional<double> start_time() const override { return settings_.start; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode& mode) override;
  void forget_systems(std::span<const System* const> kept) override;
  int side(const Mode& mode, int guard) const override;
  void set_side(Mode& mode, int guard, int side) const override;
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) override;
  bool transition(const EventInput& input, Transition& transition) override;
  bool same_decisions(const Mode&, const Mode&) const override { return true; }
  void identify(const Mode&, std::vector<double>&) const override {}
  const std::vector<VariableInfo>& observed() const override { return observed_; }
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override;

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  /// From one communication point to the next.
  struct Interval {
    double begin = 0.0, end = 0.0;
    std::vector<double> at_begin, at_end;  ///< values of the observed variables
    bool started = true;                   ///< false: the FMU is initialised, and has not been stepped yet
    bool event = false;                    ///< the FMU needs event mode at its end
    bool terminate = false;                ///< the FMU ends the run at its end
    std::optional<double> next_time = {};  ///< of an event that the FMU has announced
    std::size_t next = none;               ///< the interval that follows, if it is known
  };

  void declare_variables();
  void initialise(const std::vector<double>& input_values);
  EventOutcome settle();
  /// The interval that begins at t, after `before`. `numbers`: Mode::discrete.
  std::size_t go_on(std::size_t before, double t, std::span<const double> numbers, bool inputs_jump);
  /// Goes back to the begin of an interval and from there to t, where it now ends.
  void shorten(std::size_t number, double t);
  double next_point(double t, std::span<const double> numbers, const std::optional<double>& next_time) const;
  StepEnd step(double t, double end);
  /// Values of inputs at t; `after` a change, discrete ones too.
  void set_inputs(double t, std::span<const double> numbers, bool all);
  void set_slopes(double t, double end, std::span<const double> numbers);
  std::vector<double> read();
  std::vector<double> inputs_at(double t, std::span<const double> numbers) const;
  static std::size_t acted_side(std::size_t guard) { return 1 + guard; }

  UnpackedFmu files_;
  FmuDescription about_;
  RunSettings settings_;
  double step_ = 0.0;
  GivenValues start_values_;
  std::unique_ptr<SteppedFmu> fmu_;
  std::vector<VariableInfo> variables_, observed_, parameters_;
  std::vector<const DescribedVariable*> observed_from_, input_from_;
  std::vector<GuardInfo> guards_;
  std::vector<InputInfo> inputs_;
  std::vector<std::string> notes_;

  // --- what changes
  std::recursive_mutex turn_;
  std::vector<Interval> intervals_;   ///< those of earlier runs, too: their results read them
  std::size_t current_ = none;        ///< the FMU stands at the end of this one
  bool used_ = false;                 ///< the FMU has been stepped since it was initialised
  void* at_begin_ = nullptr;          ///< saved state of the FMU at the begin of the current interval
  std::vector<double> started_with_;  ///< the inputs of the last initialisation
  std::map<std::vector<double>, std::unique_ptr<System>> systems_;
};

}  // namespace saltus
