#include "cli/fmu.hpp"

#include <fmt/format.h>
#include <saltus/fmi/export_fmu.hpp>
#include <saltus/fmi/imported_fmu.hpp>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/load_options.hpp"

namespace saltus::cli {

namespace {

struct FmuExportOptions {
  ModelOptions source;
  std::string output, kind = "cs", library;
  int version = 2;
};

ExitCode export_model(const FmuExportOptions& o, const Streams& streams) {
  static const std::map<std::string, FmuKind> kinds = {
      {"cs", FmuKind::co_simulation}, {"me", FmuKind::model_exchange}, {"both", FmuKind::both}};
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  const std::string file = o.output.empty() ? source.model.name() + ".fmu" : o.output;
  export_fmu(source, file,
             {.version = o.version == 2 ? FmiVersion::fmi2 : FmiVersion::fmi3,
              .kind = kinds.at(o.kind),
              .library = o.library});
  static const std::map<std::string, const char*> words = {
      {"cs", "co-simulation"}, {"me", "model exchange"}, {"both", "model exchange and co-simulation"}};
  streams.out << fmt::format("{}: FMI {}.0, {}\n", file, o.version, words.at(o.kind));
  return ExitCode::success;
}

void add_export(CLI::App& app, FmuExportOptions& o) {
  app.footer(
      "The FMU holds the model as text and the solver of Saltus. Co-simulation (cs) takes every model; for model\n"
      "exchange (me) the importing simulator solves the equations, which must have no hidden constraints.\n"
      "Exit codes: 0 all is well, 2 wrong command line or model.");
  o.source.add_to(app);
  app.add_option("--fmi", o.version, "Version of the standard: 2 (default) or 3")
      ->check(CLI::IsMember({2, 3}))
      ->type_name("N");
  app.add_option("--kind", o.kind, "cs (default), me, both")
      ->check(CLI::IsMember({"cs", "me", "both"}))
      ->type_name("KIND");
  app.add_option("-o,--output", o.output, "File to write (default: MODEL.fmu)")->type_name("FILE");
}

}  // namespace

Command fmu_command() {
  return {"fmu", [](CLI::App& parent) -> Action {
            auto exported = std::make_shared<FmuExportOptions>();
            CLI::App& app = *parent.add_subcommand("fmu", "Write a model as an FMU, or look at one");
            app.require_subcommand(1);
            app.footer(
                "Examples:\n"
                "  saltus fmu export BouncingBall.mo -o BouncingBall.fmu\n"
                "  saltus fmu export StickSlip.mo --fmi 3 --kind both\n"
                "  saltus fmu check Other.fmu");
            CLI::App& writes = *app.add_subcommand("export", "Write a model as an FMU for other simulators");
            add_export(writes, *exported);
            auto file = std::make_shared<std::string>();
            CLI::App& looks = *app.add_subcommand("check", "Say what an FMU is, and whether saltus run can run it");
            looks.footer("The description is read; no code of the FMU runs.\nExit codes: 0 it is an FMU, 2 it is not.");
            looks.add_option("FILE.fmu", *file, "The FMU")->required()->check(CLI::ExistingFile);
            return [=, &looks](const Streams& streams) {
              if (!looks.parsed()) return export_model(*exported, streams);
              streams.out << describe_fmu(*file);
              return ExitCode::success;
            };
          }};
}

}  // namespace saltus::cli
