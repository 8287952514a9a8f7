#include "cli/habits.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace saltus::cli {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array commands = std::to_array<Pair>({{"simulate", "run"},
                                                     {"sim", "run"},
                                                     {"solve", "run"},
                                                     {"integrate", "run"},
                                                     {"lint", "check"},
                                                     {"optimize", "fit"},
                                                     {"optimise", "fit"},
                                                     {"automaton", "graph"},
                                                     {"linearize", "linearise"},
                                                     {"diff", "compare"}});

/// Names without hyphens, in small letters, and what they are called here.
constexpr std::array options = std::to_array<Pair>({{"tolerance", "rtol"},
                                                    {"tol", "rtol"},
                                                    {"reltol", "rtol"},
                                                    {"abstol", "atol"},
                                                    {"starttime", "start"},
                                                    {"tstart", "start"},
                                                    {"t0", "start"},
                                                    {"stoptime", "stop"},
                                                    {"endtime", "stop"},
                                                    {"finaltime", "stop"},
                                                    {"tstop", "stop"},
                                                    {"tend", "stop"},
                                                    {"tf", "stop"},
                                                    {"solver", "method"},
                                                    {"integrator", "method"},
                                                    {"numberofintervals", "intervals"},
                                                    {"steps", "intervals"},
                                                    {"stepmax", "max-step"},
                                                    {"maxstepsize", "max-step"},
                                                    {"firststep", "initial-step"},
                                                    {"variables", "vars"},
                                                    {"parameter", "set"},
                                                    {"param", "set"},
                                                    {"report", "html"},
                                                    {"out", "output"},
                                                    {"silent", "quiet"}});

std::string plain(std::string_view name) {
  std::string result;
  for (const char c : name)
    if (c != '-' && c != '_') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool has_option(const CLI::App& command, std::string_view name) {
  return std::ranges::any_of(command.get_options(), [&](const CLI::Option* option) {
    return std::ranges::find(option->get_lnames(), name) != option->get_lnames().end();
  });
}

/// The option of the command that a user means by this name; "" if there is none.
std::string option_for(const CLI::App& command, std::string_view name) {
  if (has_option(command, name)) return std::string(name);
  const std::string simple = plain(name);
  for (const CLI::Option* option : command.get_options())
    for (const std::string& known : option->get_lnames())
      if (plain(known) == simple) return known;
  for (const auto& [other, ours] : options)
    if (other == simple && has_option(command, ours)) return std::string(ours);
  return "";
}

/// True for "--name", and for "-name" with more than one letter, as Java and Modelica programs write options.
bool is_named_option(std::string_view word) {
  const std::size_t hyphens = word.starts_with("--") ? 2 : word.starts_with("-") ? 1 : 0;
  if (hyphens == 0 || word.size() < hyphens + 2) return false;
  return std::isalpha(static_cast<unsigned char>(word[hyphens])) != 0;
}

std::string option_in_our_spelling(const CLI::App& command, const std::string& word) {
  if (!is_named_option(word)) return word;
  const std::size_t begin = word.starts_with("--") ? 2 : 1, equals = word.find('=');
  const std::string name = word.substr(begin, equals == std::string::npos ? equals : equals - begin);
  if (begin == 2 && has_option(command, name)) return word;
  const std::string ours = option_for(command, name);
  if (ours.empty()) return word;
  return "--" + ours + (equals == std::string::npos ? "" : word.substr(equals));
}

const CLI::App* command_named(const CLI::App& app, std::string_view name) {
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (command->get_name() == name) return command;
  return nullptr;
}

}  // namespace

std::vector<std::string> in_our_spelling(const CLI::App& app, std::vector<std::string> arguments) {
  if (arguments.empty()) return arguments;
  if (arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
    if (arguments.size() == 1) return arguments;
  }
  if (arguments.front() == "version" || arguments.front() == "-v" || arguments.front() == "-V") return {"--version"};
  const CLI::App* command = command_named(app, arguments.front());
  if (!command) {
    const auto same = std::ranges::find(commands, arguments.front(), &Pair::first);
    if (same != commands.end() && command_named(app, same->second)) {
      arguments.front() = same->second;
    } else if ((arguments.front().ends_with(".mo") || arguments.front().ends_with(".fmu")) &&
               command_named(app, "run")) {
      arguments.insert(arguments.begin(), "run");
    }
    command = command_named(app, arguments.front());
  }
  if (!command) return arguments;
  std::size_t begin = 1;
  if (arguments.size() > 1)
    if (const CLI::App* part = command_named(*command, arguments[1])) {
      command = part;
      begin = 2;
    }
  for (std::size_t k = begin; k < arguments.size(); ++k) arguments[k] = option_in_our_spelling(*command, arguments[k]);
  return arguments;
}

}  // namespace saltus::cli
