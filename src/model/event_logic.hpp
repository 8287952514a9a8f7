// The discrete part of a compiled model: what happens at an event.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <array>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace saltus {

/// Runs `when` clauses, definitions and transitions between explicit modes to a fixed point, as Modelica's event iteration does: in each
/// round pre() has the values of the round before, and clauses act on the rising edge of their conditions.
class EventLogic {
 public:
  /// Symbols in the order in which the programs receive their values, and the expressions with eliminated variables replaced.
  struct Setup {
    Expr time;
    std::vector<Expr> variables, derivatives, parameters, discretes, locks;
    std::vector<std::pair<Expr, Expr>> pre_variables, pre_discretes;  ///< (symbol, pre symbol)
    Expr initial, terminal;
    std::vector<int> pulses;          ///< discrete variables that are true in the first round of an instant only
    std::vector<int> discrete_locks;  ///< locks that depend on discrete values only: decided here, not by guards
    std::vector<ModelData::Clause> clauses;
    std::vector<ModelData::Transition> transitions;
    /// A contact with a surface takes the place of resets.
    struct Surface {
      std::vector<int> locks, clauses, transitions;  ///< the relations on it, and whose resets these are
    };
    std::vector<Surface> surfaces;  ///< by guard
    std::vector<ModelData::Definition> definitions;
    std::vector<ModelData::Assertion> assertions;
    std::vector<std::string> mode_names;
    std::vector<double> parameter_values;
  };

  EventLogic(Setup setup, const ProgramOptions& options);
  EventLogic(const EventLogic&) = delete;
  EventLogic& operator=(const EventLogic&) = delete;

  bool run(const EventInput& input, Transition& transition);
  std::size_t clause_count() const { return setup_.clauses.size(); }
  /// Whether nothing but values that are assigned depends on time and variables.
  bool acts_by_mode() const { return acts_by_mode_; }
  /// Whether something else depends on a discrete variable, or on a lock.
  bool decides_by_discrete(int discrete) const;
  bool decides_by_lock(int lock) const;

 private:
  /// A program with its memory, and the values that it gave last.
  struct Evaluation {
    Program program;
    Workspace work;
    std::vector<double> values;

    Evaluation() = default;
    Evaluation(const std::vector<std::vector<Expr>>& inputs, const std::vector<Expr>& outputs, const ProgramOptions& options);
  };
  struct Assignment {
    ModelData::Action::Kind kind;
    int target;  // index of the variable or discrete variable
    std::string message;
    bool conditional = false;  // whether it takes place comes before its value
    bool contested = false;  // others give it values too
    bool builds_on = false;  // the value that the target has by then
    int wanted = -1;         // place among the values: whether it is given at all (`if c then x else pre(q)`); -1: always
  };
  struct ActionList {
    const std::vector<ModelData::Action>* source = nullptr;
    Evaluation right_hand_sides;  // made when the clause first acts
    std::vector<Assignment> assignments;
  };
  /// What a clause or a transition gives to a variable.
  struct Given {
    const Assignment* by;
    double value, before;
    int giver;    // clauses come first, then transitions
    bool wanted;  // see Assignment

    bool reset() const { return by->kind == ModelData::Action::Kind::reset; }
  };

  [[gnu::noinline]] bool run_with_values(const EventInput& input, Transition& transition);
  bool iterate(const EventInput& input, Transition& transition, bool step_by_step);
  void find_contested();
  void compile(ActionList& list) const;
  void evaluate(Evaluation& evaluation) {
    double* const out[] = {evaluation.values.data()};
    evaluation.program(inputs_, out, evaluation.work);
  }
  void refresh_discrete_locks(Mode& mode);
  void start_conditions(Mode& mode);
  /// Raises the pulses of the samples that are due: in the first round everybody sees them.
  void raise_pulses(Transition& transition);
  /// Returns whether there was one.
  bool lower_pulses(Mode& mode);
  inline void apply(ActionList& actions, int giver, Transition& transition);
  inline bool run_clauses(Transition& transition);
  bool fire_clauses(std::span<const int> clauses, Transition& transition);
  bool take_transitions(Transition& transition);
  /// The truth of conditions, of clauses or transitions.
  void evaluate(Evaluation& conditions, std::vector<int> Setup::Surface::* whose, const Mode& mode) {
    evaluate(conditions);
    if (!mode.contacts.empty()) see_from_beside(conditions, whose, mode);
  }
  [[gnu::noinline]] void see_from_beside(Evaluation& conditions, std::vector<int> Setup::Surface::* whose, const Mode& mode);
  inline void take_resets(Transition& transition);
  /// What another clause or transition has given to the same variable in this round before, and meant; null: nothing.
  const Given* given_before(const Given& given) const;
  [[gnu::noinline]] void find_contradictions(Transition& transition);
  std::string describe_giver(int giver) const;
  bool settle_definitions(Mode& mode);
  bool update_definitions(Mode& mode);
  void check_assertions(Transition& transition);
  /// Takes the discrete values as those before the next iteration. Returns whether one of them is new.
  bool remember_pre(const Mode& mode);
  void report_cycle(Transition& transition);

  Setup setup_;
  ProgramOptions options_;
  std::unordered_map<NodeId, int> variable_index_, discrete_index_;
  Evaluation conditions_, transition_conditions_, assertions_, definitions_, discrete_relations_;
  std::vector<ActionList> clause_actions_, transition_actions_;
  std::unordered_set<NodeId> contested_;  // variables to which more than one clause or transition gives values
  std::vector<std::string> transition_names_;
  std::vector<std::vector<int>> levels_;  // clauses, see clause_levels
  std::vector<char> edges_;               // of the clauses of this round
  std::vector<int> definition_target_;
  std::vector<int> pre_variable_index_, pre_discrete_index_;
  // What the programs see. Variables, discrete values and locks are the transition's own; resets wait for the end of the round.
  std::array<const double*, 9> inputs_{};
  double t_ = 0.0;
  std::array<double, 2> phase_{};  // initial(), terminal()
  std::vector<double> pre_x_, pre_discrete_;
  std::vector<Given> given_;              // in this round
  std::size_t most_rounds_ = 0;           // a cascade in which each clause waits for the one before takes two rounds each
  bool defines_ = false;                  // there are definitions, or relations of discrete values
  bool nothing_discrete_ = false;         // events are the business of guards alone
  bool settles_at_once_ = false;          // nothing that a round changes is looked at in the next one
  bool acts_by_mode_ = false;
  bool definitions_need_values_ = false;  // of variables, which change with the mode
  bool settles_ = true;                   // the last iteration; looked at if definitions need values
  Transition before_;                     // what run() was given
  Mode beside_;                           // workspace
};

}  // namespace saltus
