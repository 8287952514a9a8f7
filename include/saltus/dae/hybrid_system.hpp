// HybridSystem: a family of modes, the guards between them, and what happens at an event. The other half of the waist (system.hpp is
// the first). Implement it by hand for foreign models; CompiledModel provides it for recorded ones.
#pragma once

#include <saltus/base/rare.hpp>
#include <saltus/dae/extra_conditions.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/dae/written_equations.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

class FamilyParts;

/// The discrete state: everything that is constant between two events.
struct Mode {
  int automaton = 0;               ///< which of the explicit modes is active
  std::vector<double> discrete;    ///< discrete variables
  std::vector<double> locks;       ///< relations (0 or 1) and roundings (integers) as the equations of motion read them
  std::vector<double> conditions;  ///< truth of the `when` conditions after the last event, for finding edges
  std::vector<signed char> sees = {};  ///< by guard: what conditions see of it, -1, 0 or +1. On a surface it is 0
  std::vector<int> sliding = {};   ///< guards on whose surfaces the solution slides, increasing
  std::vector<int> contacts = {};  ///< guards on whose surfaces it rests after infinitely many resets, increasing
  std::vector<int> contact_sides = {};  ///< from which it came to each of them, and to which it goes back

  bool on_surfaces() const { return !sliding.empty() || !contacts.empty(); }
  bool operator==(const Mode&) const = default;
};

/// What the values of a variable stand for. Values are numbers in all cases: 0 and 1 for truth values, 1, 2, … for the
/// literals of an enumeration.
enum class VariableType : unsigned char { real, integer, boolean, enumeration };
/// The type as it stands in files: "Real", "Integer", "Boolean", "enumeration".
std::string_view to_string(VariableType type);

/// What a variable is for the surroundings of a model.
enum class Causality : unsigned char { local, input, output };
/// The causality as it stands in files: "local", "input", "output".
std::string_view to_string(Causality causality);

/// What only some variables have.
struct VariableDetails {
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string unit = {};
  std::string description = {};
  SourceLocation where = {};
  VariableType type = VariableType::real;
  Causality causality = Causality::local;
  std::vector<std::string> literals = {};  ///< of an enumeration, the first for the value 1

  bool operator==(const VariableDetails&) const = default;
};

/// A value as people write it: true or false, a literal, or a number with so many digits. Numbers that the type does not
/// have stay numbers.
std::string value_text(const VariableDetails& variable, double value, int digits = 12);

/// There are as many as a model has variables, which may be very many: details take room only where there are any.
struct VariableInfo {
  std::string name;
  double start = 0.0;
  bool fixed = false;  ///< the start value must be kept by initialisation
  double nominal = 1.0;
  Rare<VariableDetails> details = {};  ///< read by details->unit and so on
};

/// Where a guard stands in a mode.
enum class Position : signed char {
  below = -1,     ///< on its negative side
  unwatched = 0,  ///< it has no meaning in the mode
  above = +1,     ///< on its positive side
  sliding = 2,    ///< the solution slides along its surface
  contact = 3,    ///< the solution rests on its surface after infinitely many resets
};
/// The side of a guard that is watched beside its surface, +1 or -1; 0 for all others.
constexpr int side_of(Position position) {
  return position == Position::above ? +1 : position == Position::below ? -1 : 0;
}
constexpr bool on_surface(Position position) { return position == Position::sliding || position == Position::contact; }

/// What happens where both sides of a surface push towards it.
enum class SurfaceRule {
  filippov,  ///< the solution slides along it
  stay,      ///< the same; where both sides push away, a solution that is on it stays there, too (unstable sliding)
  crossing,  ///< it is crossed or not reached; where neither is possible the run ends
  stop,      ///< the run ends
};

/// "filippov", "stay", "crossing", "stop".
std::string_view name_of(SurfaceRule rule);
/// The rule with this name; nothing for other words.
std::optional<SurfaceRule> surface_rule(std::string_view name);

/// A switching function. Guards are numbered for the whole family; System::guards gives all of them in this order.
struct GuardInfo {
  std::string name;         ///< as a relation: "v1 > v2", "abs(th) < 0.1"
  SourceLocation where = {};
  bool time_only = false;   ///< known in advance: next_time_event says when
  bool of_input = false;    ///< an input changes here: an event only where values or other guards change, too
  SurfaceRule rule = SurfaceRule::filippov;
  /// > 0: errors of its value count in steps, more than rtol |g| + atol nominal is too much.
  double nominal = 0.0;
  bool record_touch = false;  ///< zeros that touch without crossing are wanted as events
  bool slides = true;         ///< the field may differ on its sides, and the solution can be kept on its surface
  /// The side whose truth the relation has at zero: x >= 0 is true there (+1), x > 0 is not (-1). It is taken where the
  /// guard vanishes identically.
  int side_at_zero = -1;
  int true_side = +1;   ///< on which the relation in `name` is true: h < 0 is true below the surface h = 0
  bool paired = false;  ///< transitions without actions lead across its surface and back, see take_paired_side
  /// >= 0: this is the function of another guard once more. While that one rests at zero, the two wait for it to leave to either side; events
  /// name the other.
  int same_as = -1;
};

/// A variable whose values come from outside of the model. Between two changes it is a polynomial in time,
///   u(t) = sum_i c_i (t - since)^i.
/// Its numbers are discrete variables, and so are those of the polynomial that takes its place next. The family acts at
/// `next` or `previous`: a time event at which the new numbers are assigned. A run writes the numbers of the next
/// polynomial before that. All places are those in Mode::discrete.
struct InputInfo {
  static constexpr double never = 1e100;  ///< as a time: no change is planned; -never in `previous`

  int variable = 0;                         ///< its number among the observed variables
  std::vector<int> coefficients = {};       ///< c_0, c_1, …; one alone: the input is constant between changes
  int since = -1;                           ///< -1 where the input is constant between changes
  std::vector<int> next_coefficients = {};  ///< of the polynomial that comes next
  int next_since = -1;
  int next = -1, previous = -1;  ///< when that one begins, in runs forward and in runs backward
  int following = -1;            ///< the number that becomes `next` or `previous` then
};

/// Values of a mode at the present instant, for rounds whose clauses read what the equations make of new discrete values.
class ModeValues {
 public:
  virtual ~ModeValues() = default;
  /// Changes x and xp to the values that the mode has from the same state. False: there are none without a jump of the state.
  virtual bool find(const Mode& mode, std::vector<double>& x, std::vector<double>& xp) = 0;
};

/// What a round may look at.
struct EventInput {
  double t = 0.0;
  std::span<const double> x_before, xp_before;  ///< before the round: what pre() of a variable gives
  bool initial = false;                          ///< the first round of a run
  bool terminal = false;                         ///< the rounds of the last instant of a run
  bool quiet = false;                            ///< conditions take their truths, and nothing acts
  bool probe = false;  ///< asks what would happen, and nothing of it becomes part of the run
  ModeValues* values = nullptr;                  ///< null: the variables do not change in the round
};

/// Two clauses or transitions gave a variable different values in one round. The run ends.
struct Contradiction {
  std::string variable;
  std::string first, second;  ///< the clauses, with their places
  double first_value = 0.0, second_value = 0.0, value_before = 0.0;
  bool discrete = false;  ///< the variable changes at events only
};

/// What a round changes; kept between calls so that nothing is allocated per event.
struct Transition {
  Mode mode;                  ///< in: a committed discrete state; out: after the round
  std::vector<double> x;      ///< in: values of that mode; out: with the resets of the round
  std::vector<char> reset;    ///< which variables were set by resets (accumulates)
  bool terminate = false;
  bool failed = false;        ///< an assertion is violated, or the equations of the round have no solution
  bool recorded = false;      ///< the model asked for the event to be recorded
  std::string message = {};   ///< why it ended, or what failed
  /// Names of the clauses and transitions that acted; they live as long as the system.
  std::vector<std::string_view> fired = {};
  std::vector<Contradiction> contradictions = {};  ///< between them (accumulates)
  std::vector<std::string> notes = {};             ///< what the event says besides (accumulates)

  bool any_reset() const { return std::any_of(reset.begin(), reset.end(), [](char c) { return c != 0; }); }
};

/// Systems, conditions and texts that are handed out live as long as the object that gave them (systems: see
/// forget_systems). Those of two modes are independent: asking for one changes nothing in another. Functions that are
/// const may be called from several threads at once; the others serve one thread.
class HybridSystem {
 public:
  virtual ~HybridSystem() = default;

  /// The same family for one more run or reader, in any thread, independent of this object. Simulator and Trajectory
  /// ask for one each. Null, the default: there is none, and they share this object; then a run and its result must be
  /// used in one thread.
  virtual std::unique_ptr<HybridSystem> instance() const { return nullptr; }

  virtual const std::string& name() const = 0;
  /// The variables x of all systems of the family.
  virtual const std::vector<VariableInfo>& variables() const = 0;
  virtual const std::vector<GuardInfo>& guards() const = 0;
  /// Variables whose values come from outside. Default: none.
  virtual const std::vector<InputInfo>& inputs() const;

  /// The mode before anything is known about guards.
  virtual Mode initial_mode() const = 0;
  /// What must hold at the start of a run beside the equations of the mode; null: nothing.
  virtual ExtraConditions* initial_conditions(const Mode& /*mode*/) { return nullptr; }
  /// The only time at which runs may begin; nothing: any.
  virtual std::optional<double> start_time() const { return {}; }
  /// A short text: the explicit mode's name, the discrete values.
  virtual std::string describe(const Mode& mode) const = 0;

  /// The smooth system of a mode. Cheap when the mode has been seen before. Modes whose functions are the same may have
  /// one system.
  ///
  /// In a mode on surfaces the system moves along them. Its variables may be followed by more than those of the family
  /// (weights that are unknowns), and its guards by those that end a stay (see exit_guards).
  virtual System& system(const Mode& mode) = 0;
  /// Where the guards that end the stay on a surface of the mode stand among those of its system. For a slide there are
  /// two: the weight of the field on the positive side and, behind it, one minus it. For a contact there is one,
  /// positive while the contact holds. The surface is left where one of them becomes negative. Default: behind the
  /// guards of the family, those of the slides first. Gives one number for each of mode.sliding, then of mode.contacts.
  virtual void exit_guards(const Mode& mode, std::vector<int>& numbers) const;
  /// The caller uses no systems but these from now on: the memory of others may be used again. A run calls it now and
  /// then for an instance of its own, because a sampled value makes a new mode at each sample. Default: does nothing.
  virtual void forget_systems(std::span<const System* const> /*kept*/) {}
  /// Whether the equations and guards of two modes are the same functions (those that are watched in one of them): they
  /// differ in discrete values and sides of guards alone. Integration then goes on through an event as if nothing had
  /// happened. Default: no.
  virtual bool same_equations(const Mode& /*a*/, const Mode& /*b*/) const { return false; }
  /// Whether the guards that depend on time alone are the same functions, too. Default: same_equations().
  virtual bool same_time_guards(const Mode& a, const Mode& b) const { return same_equations(a, b); }
  /// The side on which a guard is locked: +1 or -1; 0 if the guard has no meaning in this mode: it is not watched.
  virtual int side(const Mode& mode, int guard) const = 0;
  /// Where all guards stand, in one pass: what an event looks at most often. Default: by side(), guard by guard.
  virtual void positions(const Mode& mode, std::vector<Position>& positions) const;
  /// Guards without a meaning in this mode that may get one when others change their sides: relations in branches that
  /// are not taken. At every event they are locked where the solution is, before they can matter. Default: none.
  virtual std::vector<int> dormant(const Mode& /*mode*/) const { return {}; }
  /// Locks a dormant guard that has this value and goes to this side; 0: it rests at zero. Returns whether that is new.
  virtual bool follow(Mode& mode, int guard, double value, int side) const;
  /// Locks a guard on a side. For a rounding, leaving its interval downwards or upwards moves to the next integer.
  virtual void set_side(Mode& mode, int guard, int side) const = 0;
  /// Locks a guard that vanishes identically. Default: on its side at zero. Where several relations share the guard,
  /// each has its own truth at zero, which no side gives to all of them.
  virtual void rest(Mode& mode, int guard) const {
    set_side(mode, guard, guards()[static_cast<std::size_t>(guard)].side_at_zero);
  }
  /// Whether rest() would change nothing.
  virtual bool rests(const Mode& mode, int guard) const {
    return side(mode, guard) == guards()[static_cast<std::size_t>(guard)].side_at_zero;
  }

  /// The solution goes on in contact with the surface of a guard, to which it came from a side: the guard is locked as at zero.
  void begin_contact(Mode& mode, int guard, int side) const;
  /// The contact is over: the guard is locked on the side from which the solution came.
  void end_contact(Mode& mode, int guard) const;

  /// Whether the mode, with its surfaces, can be made: for sliding the fields on both sides must be known, for contacts the resets. Default:
  /// no.
  virtual bool can_stay_on_surfaces(const Mode& mode);

  /// When the next time-only guard leaves its side, strictly after t (before t if direction is -1); infinity if never.
  /// Appends the guards that do so to `guards`. Default: never.
  virtual double next_time_event(const Mode& /*mode*/, double /*t*/, int direction, std::vector<int>& /*guards*/) {
    return direction * std::numeric_limits<double>::infinity();
  }

  /// The run has gone on to this point and will not come back behind it, except to read its results. True: a time-only
  /// guard leaves its side now, though that was not planned; next_time_event says which. Default: no.
  virtual bool complete_step(const Mode& /*mode*/, double /*t*/, std::span<const double> /*x*/) { return false; }

  /// Runs one round of the discrete part from a committed state: `when` clauses on the edges of their conditions, transitions between
  /// explicit modes, discrete equations. All of them hold together; resets take effect at the end. Conditions see `mode.sees`. Returns
  /// whether anything changed or acted: then another round follows.
  virtual bool transition(const EventInput& input, Transition& transition) = 0;
  /// The last round is over: what is true for an instant only (samples) falls without an edge, and assertions are checked. Default: nothing.
  virtual void end_instant(const EventInput& /*input*/, Transition& /*transition*/) {}
  /// The mode that transitions without actions lead to and back across a surface: its equations are those of the other side of one field.
  /// Default: the same mode.
  virtual void take_paired_side(Mode& /*mode*/) const {}

  /// Whether two modes differ at most in numbers that decide nothing: counters, sampled values. A point that comes back in this sense ends an
  /// instant as a cycle. Default: whether they are equal.
  virtual bool same_decisions(const Mode& a, const Mode& b) const { return a == b; }
  /// Whether events that begin in these modes with the same guard are alike: transition() acts by the mode, without a look at t and x, and the
  /// modes differ at most in numbers that decide nothing (counters, sampled values, roundings). Which clauses act, which variables are set and
  /// which sides change is then the same; only the values that are set may depend on more. Such an event is repeated instead of settled
  /// anew. Default: no.
  virtual bool acts_alike(const Mode& /*a*/, const Mode& /*b*/) const { return false; }

  /// Appends to `key` what identifies the mode: the numbers that decide which equations hold, what their structure is
  /// and which clauses act. Numbers that decide nothing (counters, sampled values) need not be there. Modes with the
  /// same key are one mode of the family. Default: all numbers.
  virtual void identify(const Mode& mode, std::vector<double>& key) const;

  // --- what the user sees: all variables of the model, also those that the systems do not carry
  virtual const std::vector<VariableInfo>& observed() const { return variables(); }
  /// Whether some of them are computed from those of the systems: after every step it is checked that they have values. Discrete ones do not count.
  virtual bool derives_variables() const { return observed().size() != variables().size(); }
  /// Values of the observed variables at a point of a mode.
  virtual void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp, std::span<double> values);
  /// Identifies the values of the parameters, for saved states: other values, another number. Default: there are none.
  virtual std::uint64_t values_key() const { return 0; }
  /// The parts into which a large family falls (parts.hpp), for runs whose steps are polynomials of this degree. Null,
  /// the default: it is one piece.
  virtual std::shared_ptr<const FamilyParts> parts(int /*degree*/) const { return nullptr; }
  /// The name of the clause with this place in Mode::conditions, as events name it. Lives as long as the system.
  virtual std::string_view clause_name(int /*condition*/) const { return {}; }
  /// The equations of a mode as they were written: runs compare their results with them. They live as long as this
  /// object, and modes may share them. Default: null, there is nothing to compare with.
  virtual WrittenEquations* written_equations(const Mode& /*mode*/) { return nullptr; }
};

}  // namespace saltus
