// What other layers read of a compiled model: the expressions that were compiled, what rounds did, and code that these
// layers have made of it.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "model/acts.hpp"
#include "model/event_logic.hpp"
#include "model/model_guards.hpp"
#include "model/model_values.hpp"

namespace saltus {

struct ModelAccess {
  /// Two models with the same code differ in numbers only.
  static bool same_code(const CompiledModel& a, const CompiledModel& b);
  /// Symbols and actions, with eliminated variables replaced.
  static const EventLogic::Setup& logic(const CompiledModel& model);
  static const ModelGuards& guards(const CompiledModel& model);
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
