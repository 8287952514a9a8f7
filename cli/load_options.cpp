#include "cli/load_options.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

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
  throw UsageError("--set " + name + ": '" + text + "' is not a finite number or an expression of constants" + why +
                   "; write for example --set " + name + "=2.5");
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

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> names(1);
  int depth = 0;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (quoted && c == '\\' && k + 1 < text.size()) {
      names.back() += c;
      names.back() += text[++k];
      continue;
    }
    if (c == '\'') quoted = !quoted;
    if (!quoted) depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && !quoted && depth <= 0)
      names.emplace_back();
    else
      names.back() += c;
  }
  return names;
}

CLI::Validator existing_model() {
  const auto check = [](const std::string& file) -> std::string {
    std::error_code problem;
    if (std::filesystem::is_regular_file(file, problem)) return {};
    if (std::filesystem::is_directory(file, problem)) return "'" + file + "' is a folder; name a file in it";
    const std::filesystem::path path(file), folder = path.has_parent_path() ? path.parent_path() : ".";
    if (!std::filesystem::is_directory(folder, problem))
      return "there is no file '" + file + "': its folder '" + folder.string() + "' does not exist";
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder, problem))
      if (entry.path().extension() == ".mo") names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(path.filename().string(), names);
    return "there is no file '" + file + "'; " +
           (near.empty() ? "saltus new NAME writes a model to start from"
                         : "did you mean '" + (path.parent_path() / near).string() + "'?");
  };
  return CLI::Validator(check, "");
}

void ModelOptions::add_to(CLI::App& app) {
  app.add_option("MODEL.mo", file, "Modelica file; may be left out where --library and --model say it all")
      ->check(existing_model());
  app.add_option("--model", model, "Which model (default: the last one of the file)");
  app.add_option("--library", libraries, "Folder of a Modelica library (repeatable; then those of MODELICAPATH)");
  app.add_option("--set", settings, "NAME=VALUE: change a parameter or start value (repeatable)");
  app.add_flag("--unbalanced", unbalanced, unbalanced_help);
}

namespace {

ModelicaModel read(const ModelOptions& options) {
  LoadOptions o;
  o.model_name = options.model;
  o.libraries = options.libraries;
  o.start = options.start;
  o.extension = options.extension;
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

}  // namespace

ModelicaModel load(const ModelOptions& options) {
  ModelicaModel model = read(options);
  if (options.unbalanced) model.model.allow_unbalanced();
  return model;
}

}  // namespace saltus::cli
