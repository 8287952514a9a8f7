// What sensitivities read of a compiled model: the expressions that were compiled, and what the last round did.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <functional>
#include <memory>
#include <vector>

#include "model/event_logic.hpp"
#include "model/model_values.hpp"

namespace saltus {

struct ModelAccess {
  /// Two models with the same code differ in numbers only.
  static bool same_code(const CompiledModel& a, const CompiledModel& b);
  /// Symbols and actions, with eliminated variables replaced.
  static const EventLogic::Setup& logic(const CompiledModel& model);
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
  /// What a higher layer keeps with the code of a model, for all models with the same code and for any thread: what
  /// `make` gives when it is first asked for.
  static std::shared_ptr<void> attachment(const CompiledModel& model,
                                          const std::function<std::shared_ptr<void>()>& make);
  /// What the last call of transition() did.
  static EventLogic::RoundRecord last_round(CompiledModel& model);
};

}  // namespace saltus
