#include "cli/flatten.hpp"

#include <saltus/base/atomic_file.hpp>
#include <saltus/modelica/flat_text.hpp>
#include <saltus/saltus.hpp>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/load_options.hpp"

namespace saltus::cli {

namespace {

struct FlattenOptions {
  ModelOptions source;
  std::string output;
};

ExitCode flatten(const FlattenOptions& o, const Streams& streams) {
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  const std::string text = flat_text(source);
  if (o.output.empty() || o.output == "-") {
    streams.out << text;
    return ExitCode::success;
  }
  write_atomically(o.output, text);
  return ExitCode::success;
}

}  // namespace

Command flatten_command() {
  return {"flatten", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<FlattenOptions>();
            CLI::App& app = *parent.add_subcommand("flatten", "Write a model without classes, as Base Modelica");
            app.footer(
                "The text has all variables, equations and clauses of the model; saltus reads it back.\n"
                "Exit codes: 0 all is well, 2 wrong command line or model.");
            o->source.add_to(app);
            app.add_option("-o,--output", o->output, "File to write; the standard output without it");
            return [o](const Streams& streams) { return flatten(*o, streams); };
          }};
}

}  // namespace saltus::cli
