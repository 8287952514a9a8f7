// A model as an FMU shows it: its variables with their value references. The exporter describes them in XML, the
// library inside of the FMU reads and sets them; both make the same list from the same text.
#pragma once

#include <saltus/model/compiled_model.hpp>
#include <saltus/modelica/modelica.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

enum class Variability { constant, fixed, tunable, discrete, continuous };
std::string_view to_string(Variability variability);

/// One variable of an FMU. Its place in the list is its value reference.
struct FmuVariable {
  enum class Kind { time, observed, parameter, constant, derivative, indicator };

  Kind kind = Kind::observed;
  /// Its number among the observed variables, the parameters, the fixed parameters, the states or the indicators.
  std::size_t index = 0;
  Variability variability = Variability::continuous;
  bool state = false;           ///< it is a continuous state
  bool variable_start = false;  ///< it is a discrete variable with a start value
  std::size_t state_of = 0;     ///< of a derivative: the value reference of its state
  VariableInfo info = {};       ///< `start` is the value of parameters; `details->causality` is input, output or local

  bool is_input() const { return kind == Kind::observed && info.details->causality == Causality::input; }
  bool is_output() const { return kind == Kind::observed && info.details->causality == Causality::output; }
  /// Whether it has a start value that may be set before initialisation.
  bool has_start() const { return kind == Kind::parameter || is_input() || state || variable_start; }
};

/// The files of an FMU that hold the model.
inline constexpr const char* model_file = "model.bmo";
inline constexpr const char* fixed_parameters_file = "fixed_parameters.mo";

class ExportedModel {
 public:
  /// Reads the flattened model. `fixed` declares the parameters that have decided the structure, with their values.
  ExportedModel(const std::string& text, const std::string& fixed);

  const CompiledModel& compiled() const { return *compiled_; }
  const ModelData& data() const { return source_.model.data(); }
  const Experiment& experiment() const { return source_.experiment; }
  const std::vector<FmuVariable>& variables() const { return variables_; }
  /// Value references of the continuous states and of their derivatives, in the same order.
  const std::vector<std::size_t>& states() const { return states_; }
  const std::vector<std::size_t>& derivatives() const { return derivatives_; }
  /// Positions of the continuous states among the variables of the systems.
  const std::vector<std::size_t>& state_positions() const { return state_positions_; }
  /// Guards that are watched as event indicators: all but those of time and of inputs, by their numbers.
  const std::vector<int>& indicators() const { return indicators_; }
  /// Identifies the text: guid of FMI 2.0, instantiationToken of FMI 3.0.
  const std::string& token() const { return token_; }

 private:
  void add_observed();
  void add_parameters();
  void add_derivatives();
  void add_indicators();

  ModelicaModel source_;
  std::unique_ptr<CompiledModel> compiled_;
  std::vector<FmuVariable> variables_;
  std::vector<std::size_t> states_, derivatives_, state_positions_;
  std::vector<int> indicators_;
  std::string token_;
};

/// Declarations of parameters that cannot be changed, which ExportedModel reads back.
std::string declare_fixed(const std::vector<VariableInfo>& parameters);

}  // namespace saltus
