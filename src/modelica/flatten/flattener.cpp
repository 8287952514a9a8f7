#include "modelica/flatten/flattener.hpp"

#include <saltus/base/names.hpp>

#include "modelica/flatten/loop_reader.hpp"

#include <cmath>

namespace saltus::modelica {

Flattener::Flattener(ScopeTree& scopes, const std::vector<const SourceText*>& sources, const LoadOptions& options,
                     const FlattenLimits& limits, StructuralParameters& structural, Diagnostics& diagnostics)
    : scopes_(scopes),
      sources_(sources),
      options_(options),
      limits_(limits),
      structural_(structural),
      diagnostics_(diagnostics) {
  for (const auto& [name, value] : options_.parameters) overrides_[without_blanks(name)] = value;
}

void Flattener::report(const Fault& fault) {
  diagnostics_.add(sources_[fault.where.file]->diagnose(Severity::error, fault.where, fault.message, fault.hint));
}

void Flattener::warn(const Location& where, std::string message, std::string hint) {
  diagnostics_.add(sources_[where.file]->diagnose(Severity::warning, where, std::move(message), std::move(hint)));
}

void Flattener::note(const Location& where, std::string message, std::string hint) {
  diagnostics_.add(sources_[where.file]->diagnose(Severity::note, where, std::move(message), std::move(hint)));
}

void Flattener::charge(std::int64_t amount, const Location& where) {
  work_ += amount;
  if (work_ > limits_.work)
    throw Fault{where,
                "flattening this model takes more than " + std::to_string(limits_.work) +
                    " operations: a loop does not end, a function is called too often, or an array is too large",
                "check the condition of the loop, how often the function calls itself, or the sizes"};
}

bool Flattener::run(const ClassScope* cls) {
  model_.emplace(std::string(cls->definition->name.text));
  const Location& where = cls->definition->name.where;
  start_time_ = options_.start ? *options_.start : experiment(cls).start.value_or(0.0);
  attempt([&] {
    top_ = instantiate(cls, nullptr, "", nullptr, where, false);
    top_->of_surroundings = true;
    shape_all(*top_);
  });
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  if (!top_ || diagnostics_.full()) return true;
  attempt([&] { complete_buses(); });
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  mark_discrete(*top_);
  if (keep_loops_ && !diagnostics_.has_errors()) kept_ = LoopReader(*this).read();
  if (!kept_ && !prototypes_.empty()) throw NotKept{};
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  variables_declared_ = true;
  declare_all(*top_);
  apply_overrides();
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  attempt([&] { build_graph(); });
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  flatten_sections(*top_);
  attempt([&] { finish_connections(); });
  emit_broken();
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  if (diagnostics_.has_errors()) return true;
  attempt([&] { resolve_clocks(); });
  if (structure_changed_ && !diagnostics_.has_errors()) return false;
  if (diagnostics_.has_errors()) return true;
  resolve_delays();
  if (diagnostics_.has_errors()) return true;
  determine_at_zero_flow();
  sort_equations();
  if (diagnostics_.has_errors()) return true;
  attempt([&] {
    for (const ModificationArgument* argument : own_annotations(cls->definition->description.annotation))
      throw Fault{argument->where, "'" + std::string(argument->name.parts.front().text) +
                                       "' belongs to an equation or to the declaration of a variable"};
  });
  attempt([&] {
    define_discretes();
    emit();
  });
  if (!diagnostics_.has_errors()) check_plausibility();
  return true;
}

namespace {

/// The first element of {a, b}, as QSS solvers write a tolerance for each variable; other expressions as they are.
ExprPtr first_of(ExprPtr expression) {
  const auto* array = expression->as<ArrayConstructor>();
  return array && array->iterators.empty() && !array->elements.empty() ? array->elements.front() : expression;
}

}  // namespace

Experiment Flattener::experiment(const ClassScope* cls) {
  Experiment result;
  const Modification* annotation = cls->definition->description.annotation;
  const ModificationArgument* experiment = annotation ? annotation->find("experiment") : nullptr;
  if (!experiment || !experiment->modification) return result;
  for (const auto& argument : experiment->modification->arguments) {
    if (!argument.is_plain() || !argument.modification || !argument.modification->value) continue;
    const std::string_view name = argument.name.parts.back().text;
    std::optional<double>* place = name == "StartTime"   ? &result.start
                                   : name == "StopTime"  ? &result.stop
                                   : name == "Tolerance" ? &result.tolerance
                                   : name == "Interval"  ? &result.interval
                                                         : nullptr;
    if (!place) {  // vendors have names of their own here; what is near to a known one is a typing error
      const std::string near = did_you_mean(name, {"StartTime", "StopTime", "Tolerance", "Interval"});
      if (top_ && !near.empty())
        warn(argument.name.where, "the experiment annotation has no " + in_quotes(name) + "; it is ignored", near);
      continue;
    }
    attempt([&] {
      const ExprPtr expression = first_of(argument.modification->value);
      const Context context{top_, cls};
      *place = parameter_value(eval_real(expression, context));
    });
  }
  return result;
}

}  // namespace saltus::modelica
