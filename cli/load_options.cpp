#include "cli/load_options.hpp"

#include <saltus/base/names.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>

namespace saltus::cli {

namespace {

/// The value of a Modelica expression of constants. It is read as the value of a parameter; a text that is more than an
/// expression is refused.
double evaluate(const std::string& name, const std::string& text, const std::string& option) {
  std::string why;
  for (const char* type : {"Real", "Boolean"}) {
    try {
      const auto source = load_modelica(
          std::string("model Setting parameter ") + type + " value = (\n" + text + "\n); end Setting;", option);
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
  throw UsageError(option + " " + name + ": '" + text + "' is not a finite number or an expression of constants" + why +
                   "; write for example " + option + " " + name + "=2.5");
}

}  // namespace

std::pair<std::string, double> parse_setting(const std::string& text, const std::string& option) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(option + " wants NAME=VALUE, for example " + option + " mass=2.5; got '" + text + "'");
  const std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (value == "true" || value == "false") return {name, value == "true" ? 1.0 : 0.0};
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (!value.empty() && *end == '\0' && std::isfinite(number)) return {name, number};
  return {name, evaluate(name, value, option)};
}

namespace {

/// Adds the elements of "{a, {b, c}}" with their subscripts: "k[1]", "k[2,1]", "k[2,2]".
void add_elements(const std::string& name, const std::string& subscripts, const std::string& text,
                  std::vector<std::pair<std::string, double>>& settings) {
  const std::size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
  if (begin == std::string::npos || text[begin] != '{' || text[end] != '}') {
    settings.push_back(parse_setting(subscripts.empty() ? name + "=" + text : name + "[" + subscripts + "]=" + text));
    return;
  }
  std::vector<std::string> elements(1);
  int depth = 0;
  for (const char c : text.substr(begin + 1, end - begin - 1)) {
    depth += c == '{' || c == '(' || c == '[' ? 1 : c == '}' || c == ')' || c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      elements.emplace_back();
    else
      elements.back() += c;
  }
  for (std::size_t k = 0; k < elements.size(); ++k)
    add_elements(name, (subscripts.empty() ? "" : subscripts + ",") + std::to_string(k + 1), elements[k], settings);
}

}  // namespace

std::vector<std::pair<std::string, double>> parse_settings(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return {parse_setting(text)};
  std::vector<std::pair<std::string, double>> settings;
  const NameSpelling spelling = read_name(text.substr(0, equals));  // "u.start={1,2}" sets u[1] and u[2]
  const bool derivative = spelling.of == NameSpelling::Of::derivative, array = text.find('{', equals) != text.npos;
  add_elements(array && !derivative ? spelling.name : text.substr(0, equals), "", text.substr(equals + 1), settings);
  return settings;
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
  app.add_option("--set", settings,
                 "NAME=VALUE: change a parameter or start value; an array takes {1,2,3} (repeatable)");
  app.add_flag("--unbalanced", unbalanced, unbalanced_help);
  add_scaling(app, scaling, "Options");
}

const std::map<std::string, Scaling>& scaling_words() {
  static const std::map<std::string, Scaling> words = {
      {"automatic", Scaling::automatic}, {"nominal", Scaling::nominal}, {"off", Scaling::off}};
  return words;
}

void add_scaling(CLI::App& app, Scaling& scaling, const char* group) {
  std::vector<std::string> names;
  for (const auto& [word, value] : scaling_words()) names.push_back(word);
  app.add_option_function<std::string>(
         "--scaling", [&scaling](const std::string& word) { scaling = scaling_words().at(word); },
         "How ranks are decided: automatic (default), nominal (variables by their nominal values alone), off")
      ->check(CLI::IsMember(names))
      ->type_name("WORD")
      ->group(group);
}

void add_stabilisation(CLI::App& app, std::optional<double>& strength, const char* group) {
  app.add_option("--stabilise-sliding", strength,
                 "Slide by a field that pulls towards the surface with this strength, instead of moving the state back")
      ->check(CLI::PositiveNumber)
      ->type_name("C")
      ->group(group);
}

namespace {

/// "color=red" or "color=Colors.red", for a parameter with the literals of an enumeration; empty for others.
std::optional<std::pair<std::string, double>> literal_setting(const std::string& text, const ModelData& model) {
  const std::size_t equals = text.find('=');
  const std::string value = text.substr(equals + 1);
  const NameTable names(model.parameters, [](const ModelData::Parameter& p) -> std::string_view { return p.name; });
  const auto place = names.find(text.substr(0, equals));
  if (!place || model.parameters[*place].details->type != VariableType::enumeration) return {};
  const auto parameter = model.parameters.begin() + static_cast<std::ptrdiff_t>(*place);
  const std::string& name = parameter->name;
  const std::vector<std::string>& literals = parameter->details->literals;
  const auto found = std::ranges::find(literals, value.substr(value.rfind('.') + 1));
  if (found != literals.end()) return std::pair(name, static_cast<double>(found - literals.begin() + 1));
  std::string known;
  for (const std::string& literal : literals) known += (known.empty() ? "" : ", ") + literal;
  throw UsageError("--set " + name + ": '" + value + "' is not one of its literals, which are " + known);
}

ModelicaModel read_with(const ModelOptions& options, const LoadOptions& o) {
  if (!options.text && options.file.ends_with(".fmu"))
    throw UsageError("'" + options.file +
                     "' is an FMU, native code of others: only 'saltus run' runs it, and 'saltus fmu check' looks at "
                     "it; studies and other commands take Modelica models");
  if (!options.file.empty())
    return options.text ? load_modelica(*options.text, options.file, o) : load_modelica_file(options.file, o);
  if (options.model.empty())
    throw UsageError("name a Modelica file, or a class of a library: --library DIR --model Package.Model");
  return load_modelica_class(options.model, o);
}

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
  std::vector<std::pair<std::string, std::exception_ptr>> words;  // settings that may name a literal of the model
  for (const auto& text : options.settings) try {
      std::ranges::copy(parse_settings(text), std::back_inserter(o.parameters));
    } catch (const UsageError&) {
      words.emplace_back(text, std::current_exception());
    }
  ModelicaModel model = read_with(options, o);
  for (const auto& [text, refused] : words) {
    const auto setting = literal_setting(text, model.model.data());
    if (!setting) std::rethrow_exception(refused);
    o.parameters.push_back(*setting);
  }
  return words.empty() ? std::move(model) : read_with(options, o);
}

}  // namespace

ModelicaModel load(const ModelOptions& options) {
  ModelicaModel model = read(options);
  if (options.unbalanced) model.model.allow_unbalanced();
  if (options.scaling != Scaling::automatic) model.model.scaling(options.scaling);  // changes write loops out
  if (options.stabilise) model.model.stabilise_sliding(*options.stabilise);
  return model;
}

}  // namespace saltus::cli
