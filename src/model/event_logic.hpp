// The discrete part of a compiled model: what happens at an event.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/model.hpp>
#include <saltus/program/program.hpp>

#include <unordered_map>
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
    std::vector<int> discrete_locks;  ///< locks that depend on discrete values only: decided here, not by guards
    std::vector<ModelData::Clause> clauses;
    std::vector<ModelData::Transition> transitions;
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

 private:
  struct Assignment {
    ModelData::Action::Kind kind;
    int target;  // index of the variable or discrete variable
    std::string message;
  };
  struct ActionList {
    const std::vector<ModelData::Action>* source = nullptr;
    Program program;  // made when the clause first acts
    Workspace work;
    std::vector<Assignment> assignments;
  };

  bool iterate(const EventInput& input, Transition& transition, bool step_by_step);
  void compile(ActionList& list) const;
  void evaluate(const Program& program, Workspace& work, std::vector<double>& out);
  void refresh_discrete_locks(Mode& mode);
  bool apply(ActionList& actions, Transition& transition);
  bool fire_clauses(Transition& transition);
  bool take_transitions(Transition& transition);
  bool update_definitions(Transition& transition);
  void check_assertions(Transition& transition);
  /// Takes the discrete values as those before the next iteration. Returns whether one of them is new.
  bool remember_pre(const Transition& transition);

  Setup setup_;
  ProgramOptions options_;
  std::unordered_map<NodeId, int> variable_index_, discrete_index_;
  Program conditions_, transition_conditions_, assertions_, definitions_, discrete_relations_;
  Workspace conditions_work_, transition_work_, assertions_work_, definitions_work_, relations_work_;
  std::vector<ActionList> clause_actions_, transition_actions_;
  std::vector<std::string> transition_names_;
  std::vector<int> definition_target_;
  std::vector<int> pre_variable_index_, pre_discrete_index_;
  // current values, as the programs see them
  double t_ = 0.0;
  std::vector<double> x_, xp_, discrete_, locks_, pre_x_, pre_discrete_, phase_, truth_, values_;
  bool definitions_need_values_ = false;  // of variables, which change with the mode
  bool settles_ = true;                   // the last iteration
  Transition before_;                     // what run() was given
};

}  // namespace saltus
