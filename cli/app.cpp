#include "cli/app.hpp"

#include <fmt/format.h>
#include <saltus/base/build_info.hpp>
#include <saltus/base/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <new>
#include <sstream>

#include "cli/habits.hpp"

namespace saltus::cli {
namespace {

constexpr const char* description =
    "Saltus solves switched differential-algebraic equations: models that move between modes,\n"
    "with events, state jumps and sliding.";

constexpr const char* examples =
    "Start here:\n"
    "  saltus new MyModel                         a commented model, MyModel.mo\n"
    "  saltus run MyModel.mo                      solve it: events, final values, a plot\n"
    "  saltus run MyModel.mo --html report.html   everything on one page for the browser\n"
    "  saltus run MyModel.mo --set mu=0.2 --stop 20 --csv result.csv\n"
    "  saltus check MyModel.mo                    variables, equations, guards, the index of each mode\n"
    "  saltus graph MyModel.mo -o modes.svg       its modes and the transitions between them\n"
    "  saltus compare first.csv second.mat        whether two results agree\n"
    "  saltus sweep MyModel.mo --over mu=0.1:0.5:100   one run for each value; bifurcation, poincare, basin\n"
    "  saltus explain step_too_small              what a status means and what to do\n"
    "saltus COMMAND --help lists the options of a command.";

// CLI11 only says that an argument was not expected; a mistyped subcommand deserves a better answer.
std::string hint_for(const std::vector<Command>& commands, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with("-")) return {};
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  if (std::find(names.begin(), names.end(), arguments.front()) != names.end()) return {};
  const std::string near = nearest_name(arguments.front(), names);
  if (near.empty()) return fmt::format("there is no command '{}'\n", arguments.front());
  return fmt::format("there is no command '{}'; did you mean '{}'?\n", arguments.front(), near);
}

/// What CLI11 says about a wrong option, in a sentence with what to try; "" where its own text is good.
std::string words_for(const CLI::ParseError& problem, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "saltus" : "saltus " + command.get_name();
  const std::string text = problem.what();
  constexpr std::string_view not_expected = "not expected: ";
  if (const std::size_t at = text.find(not_expected); at != std::string::npos) {
    std::vector<std::string> known;
    for (const CLI::Option* option : command.get_options())
      for (const std::string& word : option->get_lnames()) known.push_back("--" + word);
    std::istringstream words(text.substr(at + not_expected.size()));
    std::string value;  // one that belongs to no option
    for (std::string word; words >> word;) {
      if (!word.starts_with("--")) {
        value = word;
        continue;
      }
      const std::string near = nearest_name(word, known);
      return fmt::format("'{}' has no option '{}'; {}", name, word,
                         near.empty() ? name + " --help lists the options" : "did you mean '" + near + "'?");
    }
    if (!value.empty())
      return fmt::format("'{}' takes no '{}' here; several values of an option have commas between them: --vars a,b",
                         name, value);
  }
  constexpr std::string_view not_converted = "Could not convert: ";
  if (text.starts_with(not_converted)) {
    const std::string rest = text.substr(not_converted.size());
    const std::size_t equals = rest.find(" = ");
    if (equals != std::string::npos)
      return fmt::format("{}: '{}' is not a number; {} --help says what the option takes", rest.substr(0, equals),
                         rest.substr(equals + 3), name);
  }
  return {};
}

/// Options that may be repeated take one value each, so that the name of a file may follow them.
void take_one_value_each(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (!option->get_positional() && option->get_items_expected_max() > 1) option->allow_extra_args(false);
  for (CLI::App* command : app.get_subcommands({})) take_one_value_each(*command);
}

ExitCode dispatch(const std::vector<Command>& commands, const std::vector<std::string>& given, const Streams& streams) {
  CLI::App app(description, "saltus");
  app.set_version_flag("--version", fmt::format("saltus {}", build_info()), "Print the version and exit");
  app.footer(examples);
  app.require_subcommand(0, 1);
  std::map<std::string, Action> actions;
  for (const Command& command : commands) actions[command.name] = command.add(app);
  take_one_value_each(app);
  const std::vector<std::string> arguments = in_our_spelling(app, given);

  try {
    // CLI11 takes the arguments as a stack, last one first.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& problem) {
    const std::string hint = problem.get_exit_code() == 0 ? "" : hint_for(commands, arguments);
    if (!hint.empty()) {
      streams.err << hint << "saltus --help lists the commands\n";
      return ExitCode::usage;
    }
    if (const std::string words = words_for(problem, app); !words.empty()) {
      streams.err << words << '\n';
      return ExitCode::usage;
    }
    return app.exit(problem, streams.out, streams.err) == 0 ? ExitCode::success : ExitCode::usage;
  }

  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    streams.err << app.help();
    return ExitCode::usage;
  }
  return actions.at(chosen.front()->get_name())(streams);
}

}  // namespace

ExitCode run_app(const std::vector<Command>& commands, const std::vector<std::string>& arguments,
                 const Streams& streams) {
  try {
    const ExitCode code = dispatch(commands, arguments, streams);
    if (streams.out.flush()) return code;
    streams.err << "cannot write to standard output; is the disk full?\n";
    return ExitCode::failure;
  } catch (const Error& problem) {
    streams.err << problem.what() << '\n';
    return ExitCode::usage;
  } catch (const std::bad_alloc&) {
    streams.err << "saltus: there is not enough memory; take fewer variables (--vars) or times (--samples), "
                   "or a smaller model\n";
    return ExitCode::failure;
  } catch (const std::exception& problem) {
    streams.err << "saltus: " << problem.what() << '\n';
    return ExitCode::failure;
  }
}

}  // namespace saltus::cli
