#include "cli/load_options.hpp"

#include <cmath>
#include <cstdlib>

namespace saltus::cli {

std::pair<std::string, double> parse_setting(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError("--set wants NAME=VALUE, for example --set mass=2.5; got '" + text + "'");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (value == "true" || value == "false") return {name, value == "true" ? 1.0 : 0.0};
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(number))
    throw UsageError("--set " + name + ": '" + value + "' is not a finite number");
  return {name, number};
}

ModelicaModel load(const std::string& file, const std::string& model, const std::vector<std::string>& settings) {
  LoadOptions options;
  options.model_name = model;
  for (const auto& text : settings) options.parameters.push_back(parse_setting(text));
  return load_modelica_file(file, options);
}

}  // namespace saltus::cli
