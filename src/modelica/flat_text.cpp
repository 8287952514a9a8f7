#include <saltus/base/error.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/model/text.hpp>
#include <saltus/modelica/flat_text.hpp>

namespace saltus {

namespace {

/// The experiment of a model as an annotation; "" without one.
std::string experiment_annotation(const Experiment& experiment) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<double>& value) {
    if (value) text += (text.empty() ? "" : ", ") + std::string(name) + " = " + number_text(*value);
  };
  add("StartTime", experiment.start);
  add("StopTime", experiment.stop);
  add("Tolerance", experiment.tolerance);
  add("Interval", experiment.interval);
  return text.empty() ? text : "experiment(" + text + ")";
}

}  // namespace

std::string flat_text(const ModelicaModel& model) {
  // the clauses of a delay assign the same variables, which the language does not allow
  for (const ModelData::Discrete& discrete : model.model.data().discretes)
    if (discrete.hidden && discrete.name.starts_with("next arrival of delay("))
      throw ModelError("model '" + model.model.name() + "' cannot be written as text: it has delays");
  return base_modelica(model.model, experiment_annotation(model.experiment));
}

}  // namespace saltus
