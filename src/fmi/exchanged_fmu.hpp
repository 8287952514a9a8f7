// FMUs for model exchange as hybrid systems, and the state that their systems share.
#pragma once

#include <saltus/fmi/imported_fmu.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fmi/called_fmu.hpp"
#include "fmi/fmu_description.hpp"
#include "fmi/fmu_inputs.hpp"
#include "fmi/unpacked_fmu.hpp"

namespace saltus {

/// What the FMU was after an event: a mode names it by its number.
struct SavedFmuState {
  void* state = nullptr;                  ///< null where the FMU cannot save states
  void* latest = nullptr;                 ///< the same behind the last completed step, if the FMU asks to be told
  std::optional<double> t = {};           ///< of the event; none: the state after the initialisation
  std::optional<double> next_time = {};   ///< of the next time event
  bool ends_run = false;                  ///< the FMU has asked for the end of the run behind a step
  std::map<int, double> rebounds;         ///< by indicator: the side to which it went before a reset sent it back
  std::vector<std::size_t> zeros;         ///< indicators that are zero at the event, up to rounding errors of its time
  std::map<int, std::size_t> other_side;  ///< by indicator: the state on its other side, if known
};

/// See import_fmu.
class ExchangedFmu final : public ImportedFmu {
 public:
  explicit ExchangedFmu(const std::string& file, const ImportOptions& options);
  ~ExchangedFmu() override;

  const Experiment& experiment() const override;
  const std::string& description() const override;
  const std::vector<VariableInfo>& parameters() const override;
  const std::vector<std::string>& notes() const override;
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

/// Mode::discrete holds: the number of the saved state, the sides of all guards that the FMU knows (Mode::locks are
/// those of the run), and the numbers of the inputs.
struct ExchangedFmu::Impl {
  Impl(const std::string& path, const ImportOptions& given);
  ~Impl();

  // --- what does not change
  UnpackedFmu files;
  FmuDescription about;
  std::unique_ptr<ExchangeFmu> fmu;
  RunSettings settings;
  GivenValues start_values;
  std::vector<VariableInfo> variables, observed, parameters;
  std::vector<const DescribedVariable*> observed_from;  ///< null: a continuous state or input that is known anyway
  std::vector<std::size_t> observed_state;              ///< the number of the state, for those
  std::vector<GuardInfo> guards;
  std::vector<InputInfo> inputs;
  std::vector<const DescribedVariable*> input_from;
  std::vector<std::string> notes;
  std::size_t states = 0, indicators = 0;

  // --- what does
  /// A run and those who read its results take turns, each with one question.
  std::recursive_mutex turn;
  std::vector<SavedFmuState> saved;
  std::size_t current = 0;   ///< the saved state that the FMU has now
  bool knows_steps = false;  ///< it has been told about completed steps
  std::vector<double> start_x;
  /// By values of the inputs at the start: the saved state after that initialisation, and its continuous states.
  std::map<std::vector<double>, std::pair<std::size_t, std::vector<double>>> starts;
  std::vector<double> last_field;  ///< the last derivatives that had values
  std::map<std::vector<double>, std::unique_ptr<System>> systems;

  void declare_states();
  void declare_guards();
  void declare_observed();
  void declare_inputs();
  /// From a fresh instance to the first continuous-time mode, with these values of the inputs. Gives the saved state.
  std::size_t initialise(const std::vector<double>& input_values);
  /// Values of the inputs at the start that the description gives.
  std::vector<double> default_inputs() const;
  /// Initialises the FMU with the inputs that the mode has at the start. False: it was.
  bool begin_with_inputs(Transition& transition);
  /// Sides of all indicators after an initialisation.
  void place_at_start(std::size_t number, std::span<const double> x, Mode& mode);
  /// Rounds of event mode to the fixed point, then continuous-time mode.
  EventOutcome settle();

  int time_guard() const { return static_cast<int>(indicators); }
  std::size_t id(const Mode& mode) const { return static_cast<std::size_t>(mode.discrete[0]); }
  /// Where Mode::discrete has the side that the FMU knows of a guard.
  static std::size_t known_side(std::size_t guard) { return 1 + guard; }
  std::size_t first_input_number() const { return 1 + guards.size(); }
  /// The saved state whose field holds on the sides of the mode: that of the mode, or the one across an indicator.
  std::size_t field_id(const Mode& mode) const;
  /// Whether an indicator has been crossed that the FMU does not know of yet.
  bool pending(const Mode& mode) const;
  /// The saved states on the positive and on the negative side of an indicator.
  std::optional<std::pair<std::size_t, std::size_t>> both_sides(const Mode& mode, int guard) const;

  /// Gives the FMU a saved state.
  void activate(std::size_t number);
  /// What the FMU, in this saved state, has made of completed steps.
  void keep_latest(std::size_t number);
  /// A new run begins: saved states are those of the events.
  void forget_latest();
  /// Time, inputs and states; the FMU is in continuous-time mode.
  void set_point(double t, std::span<const double> x, std::span<const double> numbers);
  void set_inputs(double t, std::span<const double> numbers, bool all);
  bool evaluate(std::size_t number, double t, std::span<const double> x, std::span<const double> numbers,
                std::span<double> xp);
  bool indicator_values(std::size_t number, double t, std::span<const double> x, std::span<const double> numbers,
                        std::span<double> z);
  /// Moves a point by so few rounding errors along the solution that the FMU sees the crossed indicators there.
  /// Gives the distance of each of them from zero there.
  std::vector<double> cross(const EventInput& input, const Mode& mode, double& t, std::vector<double>& x);
  /// Whether an indicator is one function in two saved states: compared at a point beside the present one.
  bool same_indicator(std::size_t a, std::size_t b, int guard, double t, std::span<const double> x,
                      std::span<const double> numbers);
  /// Whether the FMU, sent back across an indicator that it has just crossed, has its old field again: then the two
  /// fields are those of the two sides. With a hysteresis it has not.
  bool switches_back(std::size_t before, std::size_t after, const EventInput& input, std::span<const double> x,
                     const Mode& mode);
  /// Indicators now, and a moment later on the solution. False: they cannot be evaluated.
  bool look_ahead(std::size_t number, double t, std::span<const double> x, std::span<const double> numbers,
                  std::span<double> z, std::span<double> later);
  /// Whether an indicator soon goes back from the side that the run has given it.
  bool rebounds(std::size_t number, int guard, double t, std::span<const double> x, const Mode& mode);
  /// Sides of all indicators behind an event. An indicator that is zero there, or no farther from
  /// it than the point at which it was crossed (`depth`), has the side to which it goes, if it gets there a moment
  /// later. Those that stay where they are keep theirs.
  void place_indicators(std::size_t number, double t, std::span<const double> x, std::span<const double> depth,
                        std::span<const char> stays, Mode& mode);
  /// How long it is to the next time event and to the next change of each input.
  void time_guards(std::size_t number, double t, std::span<const double> numbers, std::span<double> g) const;
  /// Changes of inputs that are due; true if there were any.
  bool change_inputs(Mode& mode) const;
};

/// The system of a mode, also of one that slides along an indicator.
std::unique_ptr<System> make_fmu_system(ExchangedFmu::Impl& owner, const Mode& mode);

}  // namespace saltus
