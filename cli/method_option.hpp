// --method, the same for every command that runs models.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace saltus::cli {

/// Declares --method. It takes the names of Saltus and those of other solvers; what it stores find_method() finds.
void add_method_option(CLI::App& app, std::string& method, const std::string& group = "");

/// What to say about a name that is no method: "there is no method 'rodas'; did you mean 'rodas4'?".
std::string unknown_method(const std::string& name);

}  // namespace saltus::cli
