// What all commands that read a model share.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace saltus::cli {

/// "mass=2.5" or "w=2*Modelica.Constants.pi" as a name and a number. Throws UsageError, which names the option, with an
/// example otherwise.
std::pair<std::string, double> parse_setting(const std::string& text, const std::string& option = "--set");

/// The same for all elements of an array: "k={4,5,6}" sets k[1], k[2] and k[3].
std::vector<std::pair<std::string, double>> parse_settings(const std::string& text);

/// Checks that an argument names a file; the text for others says which file may be meant.
CLI::Validator existing_model();

/// "a,b[1,2],'x,y'" as names: commas inside of brackets and quoted names belong to the name.
std::vector<std::string> split_names(const std::string& text);

/// What --unbalanced means, for the help.
inline constexpr const char* unbalanced_help =
    "Take more or fewer equations than variables: least squares, and what is undetermined stays constant";

/// The words of --scaling.
const std::map<std::string, Scaling>& scaling_words();
/// --scaling, as ModelOptions keeps it.
void add_scaling(CLI::App& app, Scaling& scaling, const char* group);

/// --stabilise-sliding, as ModelOptions keeps it.
void add_stabilisation(CLI::App& app, std::optional<double>& strength, const char* group);

/// Which model to read, from where, with which settings.
struct ModelOptions {
  std::string file, model;
  std::vector<std::string> libraries, settings;
  bool unbalanced = false;               ///< numbers of equations and variables may differ, see Model::allow_unbalanced
  Scaling scaling = Scaling::automatic;  ///< see Model::scaling
  std::optional<double> start;           ///< of the run; empty: as the model says
  std::string extension = {};            ///< see LoadOptions::extension
  std::optional<std::string> text = {};  ///< instead of what is in the file now
  std::optional<double> stabilise = {};  ///< see Model::stabilise_sliding

  /// Declares MODEL.mo, --model, --library, --set, --unbalanced and --scaling.
  void add_to(CLI::App& app);
};

/// Reads the model with the settings applied. Libraries are looked for in those of the command line, then in the
/// folders that the environment variable MODELICAPATH lists.
ModelicaModel load(const ModelOptions& options);

}  // namespace saltus::cli
