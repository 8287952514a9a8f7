// Habits of other programs: spellings of commands and options that users bring along mean ours.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace saltus::cli {

/// The arguments in our spelling: `MODEL.mo …` is `run MODEL.mo …`, `help run` is `run --help`, `simulate` is `run`,
/// `--stopTime=3` and `-stopTime=3` are `--stop=3`. Only options that the command does not have are replaced, and only
/// by options that it has. `app` has all commands with their options.
std::vector<std::string> in_our_spelling(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace saltus::cli
