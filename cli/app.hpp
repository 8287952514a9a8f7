// The frame of the command line program: options that all subcommands share, dispatch, exit codes.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace saltus::cli {

/// Exit codes of the program.
enum class ExitCode : int {
  success = 0,
  failure = 1,        ///< a run ended with a status that is not ok
  usage = 2,          ///< the command line or the model is wrong
  infeasible = 3,     ///< a search found nothing that is allowed
  not_converged = 4,  ///< a search came to no end
  interrupted = 130,  ///< Ctrl-C; what was stored stays
};

/// Where a command writes: results to `out`, everything for a human's eye only (progress, errors) to `err`.
struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  ///< `out` is a terminal: a person reads it
};

/// What a subcommand does once its options are parsed. Wrong models and wrong use are reported by throwing
/// saltus::Error.
using Action = std::function<ExitCode(const Streams&)>;

/// One subcommand, one file: declares its name, help text and options on `parent` (CLI::App::add_subcommand) and
/// returns its action. Options live in an object that the action keeps alive.
struct Command {
  std::string name;  ///< the name under which `add` registers itself
  std::function<Action(CLI::App& parent)> add;
};

/// Parses the command line (arguments without the program's name) and runs the subcommand that it names.
/// Never throws: errors become a text on `err` and an exit code.
ExitCode run_app(const std::vector<Command>& commands, const std::vector<std::string>& arguments,
                 const Streams& streams);

}  // namespace saltus::cli
