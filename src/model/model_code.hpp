// What is known about a model once it has been compiled.
#pragma once

#include <saltus/expr/rewrite.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/attachments.hpp"
#include "model/elimination.hpp"
#include "model/event_logic.hpp"
#include "model/initial_equations.hpp"
#include "model/mode_systems.hpp"
#include "model/model_equations.hpp"
#include "model/model_guards.hpp"
#include "model/model_values.hpp"
#include "model/rehome.hpp"
#include "model/state_constraints.hpp"
#include "model/surface_modes.hpp"
#include "model/time_guards.hpp"

namespace saltus {

/// What is known about a model once it has been compiled. Runs in any number of threads share it. What was not needed
/// so far, modes on surfaces and parts of programs, is added on first use under a mutex, and does not change anything
/// that is there.
struct CompiledModel::Code {
  std::string name;
  std::optional<double> start_time;
  GraphHandle graph;  // frozen: nothing is added to it any more
  ProgramOptions options;
  std::vector<Expr> all_variables, variables, derivatives, parameters, discretes;
  std::shared_ptr<const ModelValues> values_then;  // with which it was compiled
  ValueNames names;
  std::vector<ModelData::Discrete> discrete_data;
  bool stands_still = false;
  bool observes_states = false;         // and nothing else: observed values are the first of x
  std::vector<int> observed_position;   // of each model variable: index of the kept variable, or -1
  std::vector<int> observed_discretes;  // which of the discrete variables are not hidden
  ModelGuards guards;
  TimeGuards time_guards;
  std::vector<InputInfo> inputs;
  struct Switches {
    std::vector<int> discretes, locks;
    std::vector<int> dormant_locks;  // locks that change no structure, of guards that do not always matter
  };
  Switches in_time_guards;         // those that occur in guards that depend on time alone
  std::vector<Switches> switches;  // by explicit mode: those that occur in its equations or in guards
  std::vector<OccurringValues>
      occurring;  // by explicit mode: all that its functions depend on, guards of time included
  std::vector<std::string> mode_names;
  std::size_t start_mode = 0;
  int initial_flag = -1, terminal_flag = -1;  // discrete variables for initial() and terminal(); -1: not used
  std::vector<std::unique_ptr<RecordedSystem>> systems;  // by explicit mode, to make those of runs from
  std::vector<Expr> negated;                             // by lock: the opposite of a relation, for descriptions
  EventLogic::Setup logic_setup;
  std::vector<std::pair<int, bool>> by_start;  // variables z = der(x), and whether they were kept: see same_code_for
  Program decisions;                           // from parameters: on what the choice of eliminated variables rests
  std::vector<bool> decided;                   // with the values that the code was made with
  std::vector<char> leave_out;  // by parameter: a factor with it is zero, and so the equations lack a derivative
  std::unique_ptr<const ModelData> source;  // as it was written; null: nothing ever needs other code
  bool eases = false;                       // it has homotopies
  bool stabilised = false;                  // see Model::stabilise_sliding
  bool acts_by_mode = false;
  struct PairedSide {
    int guard, side, other;  // on this side of the guard the other explicit mode has the field
  };
  std::vector<std::vector<PairedSide>> paired_side;     // by explicit mode
  std::vector<int> deciding_locks, deciding_discretes;  // see acts_alike
  std::vector<int> decisive;  // discrete variables that decide, move the state, or set one that does
  std::unique_ptr<InitialEquations> initial_equations;  // null: none
  std::vector<Expr> initial_residuals;                  // of these
  Program observe_program;
  std::vector<Expr> solutions;  // of the eliminated variables
  Expr time;

  std::unique_ptr<SurfaceModes> surface_modes;
  struct WrittenMode {
    std::vector<ModelData::NamedEquation> equations;
    std::vector<Expr> locks;
    std::vector<int> lock_places;
    std::vector<ModelEquations::Relation> relations;
    std::size_t common = 0;  // equations of all explicit modes
  };
  std::vector<WrittenMode> written;                     // by explicit mode
  std::vector<Expr> written_derivatives;                // of all variables, where clauses reset
  std::vector<std::vector<int>> written_reset_targets;  // by guard: see ModelEquations::Source
  mutable std::mutex compiling_written;
  mutable std::vector<std::unique_ptr<ModelEquations>> compiled_written;

  /// The model keeps its graph: with_own_graph makes one for the code.
  Code(const ModelData& m, const StateConstraints& constraints, ProgramOptions opts);

  /// The mode before anything is known about guards.
  Mode first_mode(const ModelValues& values) const;

  /// Whether code that is compiled for other values may be another one.
  bool depends_on_values() const;

  /// Whether code that is compiled for these values is the same.
  bool same_code_for(const ModelValues& values) const;

  /// What they are with these values of the parameters.
  std::vector<bool> decisions_for(std::span<const double> values) const;

  /// Parameters, and the discrete variables at the start.
  std::vector<double> data_of(const ModelValues& values) const;

  // The discrete part keeps what it is working on, and compiles actions when they first take place, in a graph of its
  // own: each run has one, and leaves it to the next.
  mutable Attachments attachments;
  mutable std::mutex lending;
  mutable std::vector<std::unique_ptr<EventLogic>> idle_logic;

  std::unique_ptr<EventLogic> make_logic() const;
  std::unique_ptr<EventLogic> borrow_logic() const;
  void give_back(std::unique_ptr<EventLogic> logic) const;

  /// Transitions that lead across a surface and back are part of the field there.
  void find_pairs(EventLogic::Setup& setup);

  /// A surface can be slid on if its function depends on the state and the field on its relations.
  void find_slides(const EventLogic::Setup& setup);

  /// Sides decide, and whatever the discrete part looks at. Which guards matter may depend on anything.
  void find_deciding(const EventLogic& logic);

  /// See CompiledModel::identify. Found when it is first asked for.
  struct Identity {
    std::once_flag found;
    std::vector<int> locks, discretes;
  };
  mutable Identity identity_places;

  /// What decides for the discrete part, for the guards that matter, or for the structure of equations.
  const Identity& identity() const;

  /// Whether the model may fall into parts: one explicit mode with explicit equations, and nothing that concerns all.
  bool may_have_parts() const;

  /// A surface on which a mode slides, as an equation.
  std::string surface_text(const Mode& mode, int guard) const;

  /// Relations and roundings as the model has them, by what they are after elimination.
  static ModelGuards::Written written_relations(const ModelData& m, Rewrite& continuous, Rewrite& rewrite);

  /// Keeps the equations as they were written, with pre(v) = v, and finds their relations among the locks. (Nothing may
  /// be built in the graph before what is integrated: numbers of nodes decide in which order derivatives are added.)
  void keep_written(const ModelData& m, Rewrite& now, Rewrite& continuous);
  std::vector<ModelEquations::Relation> find_written_relations(const std::function<Expr(const Expr&)>& apply) const;

  /// Those of an explicit mode, compiled when they are first asked for. Null: they are not kept.
  const ModelEquations* written_equations(std::size_t mode) const;

  void take_declarations(const ModelData& m, const Elimination& elimination);
  /// What is asked of other values of the parameters: which factors are zero.
  void keep_decisions(const Elimination& elimination);

  /// initial() and terminal(), where the model uses them, are discrete variables that are true in some rounds only.
  int add_flag(const ModelData& m, const Expr& symbol, double start);

  /// What a clause assigns is, in its own condition, the value before: `when time >= since + 3` may set `since`.
  static void own_targets_before(const ModelData& m, EventLogic::Setup& s);

  EventLogic::Setup event_setup(const ModelData& m, Rewrite& rewrite) const;

  void compile_systems(const ModelData& m, std::vector<std::vector<Expr>> equations,
                       std::vector<std::vector<std::string>> texts);

  /// Inputs, and the guards that say when they change.
  void take_inputs(const ModelData& m);

  void find_time_switches();

  void find_switches(const RecordedSystem& system);

  void compile_observation();

  // In the initial equations initial() holds and pre(q) is q.
  void compile_initial_equations(const ModelData& m, const Rewrite& continuous);

  std::vector<std::vector<Expr>> observe_inputs() const {
    return {{time}, variables, derivatives, parameters, discretes, guards.locks()};
  }

  void prepare_surface_modes(const ModelData& m, const EventLogic::Setup& discrete_part, Rewrite& continuous);

  Mode initial_mode(const ModelValues& values) const;
};

}  // namespace saltus
