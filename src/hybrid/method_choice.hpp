// Which stepper integrates which mode.
#pragma once

#include <saltus/dae/characteristic_values.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/step/stepper.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace saltus {

struct Tableau;

/// Keeps one stepper of each kind that the run needs, so that returning to a mode costs nothing.
class MethodChoice {
 public:
  /// `dense_matters`: values inside the steps are used, by event location or by the user.
  MethodChoice(const SimulateOptions& options, bool dense_matters);

  /// Whether the choice depends on the description of the mode.
  bool per_mode() const { return !mode_methods_.empty(); }
  /// What is known about a mode.
  struct Candidate {
    const System& system;                        ///< as written
    bool hidden_constraints = false;             ///< most methods need it reduced
    bool reducible = true;                       ///< it can be
    const CharacteristicValues* values = nullptr;  ///< null: explicit
    std::string description;
    bool singular_start = false;  ///< algebraic equations that are nearly singular: linear steps lose their solution
  };
  /// The stepper for a mode. Null if the method that was asked for cannot solve it; then `problem` says why.
  Stepper* choose(const Candidate& mode, std::string& problem);
  /// A method for explicit equations that needs no derivatives, for steps where one that does fails. Null if this stepper is such a one.
  Stepper* helper(const Stepper& stepper);
  /// Whether all values inside the steps of this stepper are as accurate as those at their ends, and their slopes; otherwise an event is reached
  /// by a step that ends there. Implicit methods watch the variables that guards read only, their fast variables have no slopes inside, and
  /// constraints hold to rounding at the ends only.
  bool dense_is_accurate(const Stepper& stepper, const System& system) const;
  /// An explicit method is limited by stability in this mode. Returns whether another one shall be chosen from now on.
  bool note_stiff(const System& system);
  /// Tells that methods which rely on the structure of the mode fail in it. True: another method has not been tried yet.
  bool note_structure_fails(const System& system);
  /// Tells that a Rosenbrock method fails: where algebraic equations bend, one linear step does not find their solution,
  /// and Newton's method may. True: it has not been tried yet.
  bool note_linear_steps_fail(const System& system, const Stepper& stepper);
  /// Writes or reads what is known about the mode of this system.
  void persist(const System& system, StateArchive& archive);
  /// Writes or reads the steppers; `current` is the one in use, in the mode of this system. False: one of them cannot be written.
  bool persist_steppers(System& system, Stepper*& current, StateArchive& archive);
  /// The table of the method that automatic runs take in explicit modes.
  const Tableau* explicit_tableau() const;
  /// The method of one of these steppers.
  Method method_of(const Stepper& stepper) const;
  /// Counters of all steppers together.
  StepStatistics statistics() const;
  /// Modes for which a method was given and that were not entered so far; perhaps they are called otherwise.
  const std::set<std::string>& not_entered() const { return not_entered_; }
  /// The methods used so far, with the reason for each.
  std::string description() const;

 private:
  Method wanted_for(const std::string& mode);
  /// A method, and the form in which it gets a mode with hidden constraints.
  struct Choice {
    Method method;
    bool dummy_derivatives = false;  ///< with dummy derivatives; otherwise reduced, or as it is
    auto operator<=>(const Choice&) const = default;
  };
  Choice kind_for(const Candidate& mode, Method wanted, std::string& problem) const;
  /// What is best for explicit modes that are not stiff.
  Method explicit_method() const;
  /// What is best for stiff modes.
  Method stiff_method() const;
  std::unique_ptr<Stepper> make(const Choice& choice) const;

  Method wanted_;
  std::map<std::string, Method> mode_methods_;
  std::set<std::string> not_entered_;
  StepOptions options_;
  std::map<Choice, std::unique_ptr<Stepper>> steppers_;
  std::map<Choice, std::string> reasons_;
  // by Structure::id: modes known to be stiff, those in which the structure fails, and those that need an iteration
  std::set<std::uint64_t> stiff_, unstructured_, iterated_;
};

}  // namespace saltus
