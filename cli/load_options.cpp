#include "cli/load_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace saltus::cli {

namespace {

/// The value of a Modelica expression of constants. It is read as the value of a parameter; a text that is more than an
/// expression is refused.
double evaluate(const std::string& name, const std::string& text) {
  std::string why;
  for (const char* type : {"Real", "Boolean"}) {
    try {
      const auto source = load_modelica(
          std::string("model Setting parameter ") + type + " value = (\n" + text + "\n); end Setting;", "--set");
      const ModelData& data = source.model.data();
      const bool alone =
          data.parameters.size() == 1 && data.variables.empty() && data.discretes.empty() && data.equations.empty();
      if (alone && std::isfinite(data.parameters.front().value)) return data.parameters.front().value;
    } catch (const ModelicaError& problem) {
      const auto& all = problem.diagnostics().items();
      const auto first =
          std::find_if(all.begin(), all.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
      if (why.empty() && first != all.end()) why = ": " + first->message;
    }
  }
  throw UsageError("--set " + name + ": '" + text + "' is not a finite number or an expression of constants" + why);
}

}  // namespace

std::pair<std::string, double> parse_setting(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--set wants NAME=VALUE, for example --set mass=2.5; got '" + text + "'");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (value == "true" || value == "false") return {name, value == "true" ? 1.0 : 0.0};
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0' && std::isfinite(number)) return {name, number};
  return {name, evaluate(name, value)};
}

ModelicaModel load(const std::string& file, const std::string& model, const std::vector<std::string>& settings) {
  LoadOptions options;
  options.model_name = model;
  for (const auto& text : settings) options.parameters.push_back(parse_setting(text));
  return load_modelica_file(file, options);
}

}  // namespace saltus::cli
