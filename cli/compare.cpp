#include "cli/compare.hpp"

#include <fmt/format.h>
#include <saltus/io/compare_results.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

namespace saltus::cli {

namespace {

struct CompareCommandOptions {
  std::string first, second;
  CompareOptions compare;
  bool quiet = false;
};

ExitCode compare(const CompareCommandOptions& o, const Streams& streams) {
  const Comparison result = compare_results(read_result(o.first), read_result(o.second), o.compare);
  const bool same = result.same(o.compare.tolerance);
  if (!o.quiet) {
    std::size_t width = 8;
    for (const auto& v : result.variables) width = std::max(width, std::min<std::size_t>(v.name.size(), 40));
    streams.out << fmt::format("{:<{}}  {:>12}  {:>14}  {:>16}  {:>16}\n", "variable", width, "difference", "at time",
                               "first", "second");
    for (const auto& v : result.variables)
      streams.out << fmt::format("{:<{}}  {:>12.3g}  {:>14.9g}  {:>16.9g}  {:>16.9g}{}\n", v.name, width, v.difference,
                                 v.t, v.first, v.second, v.difference <= o.compare.tolerance ? "" : "  <-");
    for (const auto& name : result.only_first) streams.out << "only in the first result: " << name << '\n';
    for (const auto& name : result.only_second) streams.out << "only in the second result: " << name << '\n';
    if (!result.same_span)
      streams.out << fmt::format("the results do not cover the same time: they end at {:.12g} and {:.12g}\n",
                                 result.first_end, result.second_end);
    streams.out << (same ? "the same" : "different")
                << fmt::format(" within {:g} of the range of each variable\n", o.compare.tolerance);
  }
  return same ? ExitCode::success : ExitCode::failure;
}

}  // namespace

Command compare_command() {
  return {
      "compare", [](CLI::App& parent) -> Action {
        auto o = std::make_shared<CompareCommandOptions>();
        CLI::App& app = *parent.add_subcommand("compare", "Say whether two results agree (.csv, .json, .mat, .npz)");
        app.footer(
            "Differences are shares of the range that the variable has in the first result. Results with different "
            "times are\n"
            "compared on straight lines between rows: write them finely, or at the same times (--samples, --times).\n"
            "Exit codes: 0 they agree, 1 they differ, 2 wrong command line or files.");
        app.add_option("FIRST", o->first, "The result to compare with")->required()->check(CLI::ExistingFile);
        app.add_option("SECOND", o->second, "The other result")->required()->check(CLI::ExistingFile);
        app.add_option("--tol", o->compare.tolerance, "Largest difference, as a share of the range")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        app.add_option("--time-tol", o->compare.time_tolerance, "How far apart jumps may be, as a share of the time")
            ->check(CLI::NonNegativeNumber)
            ->capture_default_str();
        app.add_option("--vars", o->compare.variables, "Variables: a,b,c (default: all that both have)")
            ->delimiter(',');
        app.add_flag("--quiet,-q", o->quiet, "Print nothing");
        return [o](const Streams& streams) { return compare(*o, streams); };
      }};
}

}  // namespace saltus::cli
