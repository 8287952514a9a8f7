#include "cli/load_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

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

void ModelOptions::add_to(CLI::App& app) {
  app.add_option("MODEL.mo", file, "Modelica file; may be left out where --library and --model say it all")
      ->check(CLI::ExistingFile);
  app.add_option("--model", model, "Which model (default: the last one of the file)");
  app.add_option("--library", libraries, "Folder of a Modelica library (repeatable; then those of MODELICAPATH)");
  app.add_option("--set", settings, "NAME=VALUE: change a parameter or start value (repeatable)");
}

ModelicaModel load(const ModelOptions& options) {
  LoadOptions o;
  o.model_name = options.model;
  o.libraries = options.libraries;
  o.start = options.start;
  const char* path = std::getenv("MODELICAPATH");
  for (std::string rest = path ? path : ""; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder = rest.substr(0, colon);
    std::error_code ignored;  // other programs leave folders in this list that do not exist
    if (std::filesystem::is_directory(folder, ignored)) o.libraries.push_back(folder);
    rest.erase(0, colon + 1);
  }
  for (const auto& text : options.settings) o.parameters.push_back(parse_setting(text));
  if (!options.file.empty()) return load_modelica_file(options.file, o);
  if (options.model.empty())
    throw UsageError("name a Modelica file, or a class of a library: --library DIR --model Package.Model");
  return load_modelica_class(options.model, o);
}

}  // namespace saltus::cli
