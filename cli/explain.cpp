#include "cli/explain.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/status.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace saltus::cli {

namespace {

ExitCode explain_status(std::string wanted, const Streams& streams) {
  if (wanted.empty()) {
    for (const StatusCode code : all_status_codes)
      streams.out << fmt::format("{:<22} {}\n", to_string(code), explain(code).meaning);
    streams.out << "\nsaltus explain STATUS says what to do.\n";
    return ExitCode::success;
  }
  std::ranges::replace(wanted, '-', '_');
  std::ranges::replace(wanted, ' ', '_');
  std::vector<std::string> names;
  for (const StatusCode code : all_status_codes) {
    names.emplace_back(to_string(code));
    if (names.back() != wanted) continue;
    const StatusExplanation words = explain(code);
    streams.out << fmt::format("{}: {}\n", wanted, words.meaning);
    if (!words.advice.empty()) streams.out << fmt::format("What to do: {}\n", words.advice);
    return ExitCode::success;
  }
  const std::string near = nearest_name(wanted, names);
  throw UsageError(fmt::format("there is no status '{}'; {}", wanted,
                               near.empty() ? "saltus explain lists them" : "did you mean '" + near + "'?"));
}

}  // namespace

Command explain_command() {
  return {"explain", [](CLI::App& parent) -> Action {
            auto status = std::make_shared<std::string>();
            CLI::App& app = *parent.add_subcommand("explain", "Say what a status means and what to do");
            app.add_option("STATUS", *status, "As a run ends with it, for example step_too_small (default: list all)")
                ->type_name("");
            return [status](const Streams& streams) { return explain_status(*status, streams); };
          }};
}

}  // namespace saltus::cli
