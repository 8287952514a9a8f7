// The discrete part of a compiled model: what happens in one round of an instant.
//
// In a round everything holds together: discrete equations, the assignments of the clauses whose conditions have just
// become true, the transition that is taken, and what the equations of the mode make of new discrete values. pre(v) is
// the value before the round. The round is found by sweeps over the clauses, sorted by who needs whom, until nothing
// changes; numbers that need each other are solved by Newton's method, truth values that do are refused. Resets take
// effect at the end of the round.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <array>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/action_relations.hpp"

namespace saltus {

class EventLogic {
 public:
  /// What the programs receive, in this order.
  enum Group : std::size_t { time, variables, derivatives, parameters, discretes, locks, pre_variables, pre_discretes };
  /// A relation or rounding as conditions read it.
  struct Lock {
    int guard = -1;  ///< that decides it; -1: discrete values alone do
    bool rounding = false;
    bool weak = false;  ///< true where the guard is zero
    int sign = +1;      ///< of the side on which it is true
  };
  /// Symbols in the order in which the programs receive their values, and the expressions with eliminated variables
  /// replaced.
  struct Setup {
    Expr time;
    std::vector<Expr> variables, derivatives, parameters, discretes, locks;
    std::vector<std::pair<Expr, Expr>> pre_variables, pre_discretes;  ///< (symbol, pre symbol)
    int initial_flag = -1,
        terminal_flag = -1;     ///< discrete variables that stand for initial() and terminal(); -1: not used
    std::vector<int> pulses;    ///< discrete variables that are true during their instant only
    std::vector<char> boolean;  ///< by discrete variable
    std::vector<char>
        state;  ///< by variable: differentiated in every explicit mode, so that a round does not change it
    std::vector<Lock> lock_info;  ///< by lock
    std::vector<ModelData::Clause> clauses;
    std::vector<ModelData::Transition> transitions;
    std::vector<std::vector<int>>
        pair_guards;  ///< by transition: while the solution slides on these, it is part of the field
    std::vector<std::vector<int>> contact_clauses;  ///< by guard: clauses with resets that come to rest on its surface
    std::vector<std::vector<int>>
        contact_guards;  ///< by transition: in contact with their surfaces its resets have come to rest
    std::vector<ModelData::Definition> definitions;
    std::vector<ModelData::Assertion> assertions;
    std::vector<std::string> mode_names;
    std::vector<double> parameter_values;
  };

  /// What a round looked at, and the values that it gave: for derivatives of what it did.
  struct RoundRecord {
    /// A value that counts. `giver`: clauses come first, then transitions; `action`: its place in the list of actions.
    struct Value {
      int giver;
      std::size_t action;
    };
    std::vector<Value> given;
    std::array<std::vector<double>, 8> seen;  ///< by Group, at the end of the round
    std::vector<double> before;               ///< discrete values before it
    bool followed = false;                    ///< variables had the values of the mode with new discrete values
  };

  EventLogic(Setup setup, const ProgramOptions& options);
  EventLogic(const EventLogic&) = delete;
  EventLogic& operator=(const EventLogic&) = delete;

  /// Values of the parameters, which are not copied. To be called before anything is evaluated.
  void set_parameters(std::span<const double> values);
  /// A run ends here: the next one knows nothing of it.
  void forget_run() { t_ = std::numeric_limits<double>::quiet_NaN(); }
  /// One round; see HybridSystem::transition.
  bool round(const EventInput& input, Transition& transition);
  /// What the last round did; to be asked for before its transition is used for anything else.
  RoundRecord last_round() const;
  /// See HybridSystem::end_instant. `read_by_equations`: discrete variables that the equations of the mode read.
  void end_instant(const EventInput& input, std::span<const int> read_by_equations, Transition& transition);
  /// Relations that depend on discrete values alone, as these are at the start.
  void start(Mode& mode);
  /// Clauses, then transitions: those from a mode to itself act on edges, too.
  std::size_t condition_count() const { return setup_.clauses.size() + setup_.transitions.size(); }
  /// Whether nothing but values that are assigned depends on time and variables.
  bool acts_by_mode() const { return acts_by_mode_; }
  /// Whether something else depends on a discrete variable, or on a lock.
  bool decides_by_discrete(int discrete) const { return deciding_discretes_[static_cast<std::size_t>(discrete)] != 0; }
  /// Whether a value that is assigned or reset depends on a discrete variable.
  bool sets_by_discrete(int discrete) const { return setting_discretes_[static_cast<std::size_t>(discrete)] != 0; }
  bool decides_by_lock(int lock) const { return deciding_locks_[static_cast<std::size_t>(lock)] != 0; }

 private:
  /// A program with its memory, and the values that it gave last.
  struct Evaluation {
    Program program;
    Workspace work;
    std::vector<double> values;

    Evaluation() = default;
    Evaluation(const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& outputs,
               const ProgramOptions& options);
  };
  /// An input of all programs: its group, and its place there.
  struct InputPlace {
    std::size_t group, place;
  };
  struct Assignment {
    ModelData::Action::Kind kind;
    int target;  // index of the variable or discrete variable
    std::string message;
    bool conditional = false;  // whether it takes place comes before its value
    bool contested = false;    // others give it values too
    bool builds_on = false;    // the value that the target has by then
    int wanted = -1;  // place among the values: whether it is given at all (`if c then x else pre(q)`); -1: always
    std::vector<std::size_t> reads = {};  // discrete variables that its value needs, of assignments
  };
  struct ActionList {
    const std::vector<ModelData::Action>* source = nullptr;
    Evaluation right_hand_sides;    // made when the clause first acts, of the inputs that occur
    std::vector<InputPlace> reads;  // these inputs
    std::vector<double> inputs;     // and their values
    std::vector<double> travel;     // and how far they have come since the last instant
    ActionRelations relations;      // that nothing else reads
    std::vector<Assignment> assignments;
  };
  /// What a clause or a transition gives to a variable in this sweep.
  struct Given {
    const Assignment* by;
    double value;
    int giver;    // clauses come first, then transitions
    bool wanted;  // see Assignment

    bool reset() const { return by->kind == ModelData::Action::Kind::reset; }
  };

  void find_contested();
  void find_deciding();
  void find_needs();
  void find_slopes();
  void compile(ActionList& list) const;
  std::vector<Expr> inputs_of(std::span<const Expr> expressions, std::vector<InputPlace>& places) const;
  void evaluate(Evaluation& evaluation) {
    double* const out[] = {evaluation.values.data()};
    evaluation.program(inputs_, out, evaluation.work);
  }
  void evaluate(ActionList& actions) {
    for (std::size_t k = 0; k < actions.reads.size(); ++k)
      actions.inputs[k] = inputs_[actions.reads[k].group][actions.reads[k].place];
    if (!actions.relations.empty()) find_travel(actions);
    const double* const in[] = {actions.inputs.data(), actions.relations.find(actions.inputs, actions.travel).data()};
    double* const out[] = {actions.right_hand_sides.values.data()};
    actions.right_hand_sides.program(in, out, actions.right_hand_sides.work);
  }
  void find_travel(ActionList& actions) const;
  bool begin_round(const EventInput& input, Transition& transition);
  void read_truths(const Mode& mode);
  /// The truth of all conditions. In contact the clauses whose resets have come to rest there are ready to act again.
  void evaluate_conditions(const Mode& mode) {
    evaluate(conditions_);
    if (!mode.contacts.empty()) see_from_beside(mode);
  }
  void see_from_beside(const Mode& mode);
  void refresh_discrete_locks();
  bool raise_pulses(Transition& transition);
  bool lower_pulses(Transition& transition, std::span<const int> read_by_equations);
  bool transition_follows(const Mode& mode);
  bool find_round(const EventInput& input, Transition& transition);
  void sweep(const EventInput& input, Transition& transition);
  bool fire_clauses(std::span<const int> clauses, const EventInput& input, Transition& transition);
  void choose_transition(const EventInput& input, Transition& transition);
  bool in_contact(const Mode& mode, std::size_t k) const;
  inline void apply(ActionList& actions, int giver, Transition& transition);
  bool settle_definitions(Mode& mode);
  bool update_definitions(Mode& mode);
  /// What follows from new discrete values: values of the mode, and relations on both. Returns whether a truth changed.
  bool follow(const EventInput& input, Transition& transition);
  bool refresh_relations();
  void estimate_noise();
  bool search_truths(const EventInput& input, Transition& transition);
  bool solve_loop(const EventInput& input, Transition& transition);
  bool refuse_loop_of_truths(Transition& transition);
  void commit_round(const EventInput& input, Transition& transition);
  void note_alternatives(Transition& transition);
  void check_assertions(Transition& transition);
  void fail(Transition& transition, std::string message) const;
  bool refuse_not_finite(Transition& transition) const;
  /// What another clause or transition has given to the same variable in this round before, and meant; null: nothing.
  const Given* given_before(const Given& given) const;
  void find_contradictions(Transition& transition);
  std::string describe_giver(int giver) const;
  std::string describe_loop(const Mode& mode) const;

  Setup setup_;
  ProgramOptions options_;
  std::unordered_map<NodeId, int> variable_index_, discrete_index_;
  std::unordered_map<NodeId, InputPlace> input_places_;  // of all inputs
  Evaluation conditions_, transition_conditions_, assertions_, definitions_, discrete_relations_, relations_;
  std::vector<int> discrete_locks_;  // decided by discrete values alone
  std::vector<int> relation_locks_;  // of relations_: they may change within a round
  struct Slope {
    std::size_t relation;  // place in relations_
    InputPlace input;
  };
  std::vector<Expr> relation_functions_;  // of relations_
  std::vector<Slope> slopes_;             // of these functions, made when one first changes within a round
  Evaluation slope_values_;
  std::vector<ActionList> clause_actions_, transition_actions_;
  std::unordered_set<NodeId> contested_;  // variables to which more than one clause or transition gives values
  std::vector<std::string> transition_names_;
  std::vector<std::vector<int>> levels_;  // clauses, see clause_levels
  std::vector<char> edges_;               // of the clauses in this sweep
  std::vector<int> built_on_;             // discrete variables whose new value is made of the old one, without pre()
  std::vector<int> definition_target_;
  std::vector<int> pre_variable_index_, pre_discrete_index_;
  std::vector<char> deciding_discretes_, deciding_locks_, setting_discretes_;
  // What the programs see.
  std::array<const double*, 8> inputs_{};
  double t_ = std::numeric_limits<double>::quiet_NaN();  // of the last round; NaN: there was none
  double since_ = 0.0;                                   // the time since the instant before
  std::vector<double> truths_;                           // by lock, as conditions see them
  std::vector<double> pre_x_, pre_discrete_;
  std::vector<double> x_, xp_;  // values of the mode with new discrete values
  std::vector<double> discrete_locks_before_;
  bool locks_changed_ = false;  // those that depend on discrete values alone
  bool followed_ = false;       // x_ and xp_ count
  bool values_found_ = true;    // by the last follow()
  std::vector<char> flipped_;   // of relations_: the truth has changed in this round
  // The round
  std::vector<double> before_;  // discrete values before it
  std::vector<double> last_, last_conditions_, conditions_before_;
  std::vector<double> functions_before_, functions_, truths_before_, noise_;  // of relations_
  std::vector<char> assigned_,
      assigned_before_;       // by discrete variable: by clauses and transitions, in this sweep and the last
  std::vector<Given> given_;  // in this sweep
  std::vector<int> active_, last_active_;  // clauses that act
  int taken_ = -1;                         // transition
  bool defines_ = false;                   // there are definitions, or relations of discrete values
  bool nothing_discrete_ = false;          // events are the business of guards alone
  bool one_sweep_ = false;                 // nothing that a round changes is read in the same round
  bool reads_values_ = false;              // algebraic variables or derivatives
  bool acts_by_mode_ = false;
  bool flags_ = false;  // something is true for an instant only
};

}  // namespace saltus
