// What other layers read of a compiled model: the expressions that were compiled, what rounds did, and code that these
// layers have made of it.
#pragma once

#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "model/acts.hpp"
#include "model/event_logic.hpp"
#include "model/model_guards.hpp"
#include "model/model_values.hpp"

namespace saltus {

struct PartSource;

struct ModelAccess {
  /// Two models with the same code differ in numbers only.
  static bool same_code(const CompiledModel& a, const CompiledModel& b);
  /// Symbols and actions, with eliminated variables replaced.
  static const EventLogic::Setup& logic(const CompiledModel& model);
  static const ModelGuards& guards(const CompiledModel& model);
  /// The equations of the first explicit mode, or of all if there are none.
  static const RecordedSystem& system(const CompiledModel& model);
  /// What a mode's description says about a guard, and whether it mentions it.
  static bool shows_guard(const CompiledModel& model, const Mode& mode, int guard);
  static std::string guard_text(const CompiledModel& model, const Mode& mode, int guard);
  /// Names of the symbols in the relation of a guard, as the model has it.
  static std::vector<std::string> guard_reads(const CompiledModel& model, int guard);
  /// The mode before anything is known about guards, with these values of the discrete variables.
  static Mode first_mode(const CompiledModel& model, std::vector<double> discretes);
  /// A surface on which a mode slides, or with which it is in contact, as an equation.
  static std::string surface_text(const CompiledModel& model, const Mode& mode, int guard);
  /// How many guards that end stays the system of a mode on surfaces has behind those of the model.
  static std::size_t exit_guard_count(const CompiledModel& model, const Mode& mode);
  /// What parts of the model are made of, for polynomials of this degree.
  static PartSource part_source(const CompiledModel& model, int degree);
  /// A model that was written without the class Model.
  static std::shared_ptr<CompiledModel> compiled(const ModelData& model, const ProgramOptions& options);
  /// Numbers of parameters and start values.
  static const ModelValues& values(const CompiledModel& model);
  /// Start values that are expressions of parameters.
  static const StartValues& start_values(const CompiledModel& model);
  /// Of each variable of the model: its place among those of the systems, or -1.
  static const std::vector<int>& places(const CompiledModel& model);
  /// The discrete variables that are observed.
  static const std::vector<int>& observed_discretes(const CompiledModel& model);
  /// By parameter: whether equations lack derivatives because a factor with it is zero (zero_factors.hpp).
  static const std::vector<char>& leave_out(const CompiledModel& model);
  /// What eliminated variables are in this mode, in their order, in the graph of the mode's system.
  static const std::vector<Expr>& eliminated(const CompiledModel& model, const Mode& mode);
  /// The initial equations, as residuals.
  static const std::vector<Expr>& initial_residuals(const CompiledModel& model);
  /// From now on what rounds of this object do is appended; null: no longer. Copies and instances do not do so.
  static void note_acts(CompiledModel& model, std::vector<Act>* acts);
  /// Something that was made of the code of a model and serves any thread, kept with it for all its instances: what
  /// `make` gave when this key was first asked for. Keys of flights begin with the order of a method, others are
  /// negative.
  using Attached = std::shared_ptr<void>;
  static Attached attached(const CompiledModel& model, const std::vector<double>& key,
                           const std::function<Attached()>& make);
  /// What the last call of transition() did.
  static EventLogic::RoundRecord last_round(CompiledModel& model);
};

}  // namespace saltus
