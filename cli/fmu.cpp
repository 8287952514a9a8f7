#include "cli/fmu.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/fmi/check_fmu.hpp>
#include <saltus/fmi/export_fmu.hpp>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "cli/load_options.hpp"

namespace saltus::cli {

namespace {

struct FmuExportOptions {
  ModelOptions source;
  std::string output, kind, library;
  int version = 2;
};

ExitCode export_model(const FmuExportOptions& o, const Streams& streams) {
  static const std::map<std::string, FmuKind> kinds = {{"", FmuKind::automatic},
                                                       {"cs", FmuKind::co_simulation},
                                                       {"me", FmuKind::model_exchange},
                                                       {"both", FmuKind::both}};
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  const std::string file = o.output.empty() ? source.model.name() + ".fmu" : o.output;
  const WrittenFmu written = export_fmu(source, file,
                                        {.version = o.version == 2 ? FmiVersion::fmi2 : FmiVersion::fmi3,
                                         .kind = kinds.at(o.kind),
                                         .library = o.library});
  static const std::map<FmuKind, const char*> words = {{FmuKind::co_simulation, "co-simulation"},
                                                       {FmuKind::model_exchange, "model exchange"},
                                                       {FmuKind::both, "model exchange and co-simulation"}};
  streams.out << fmt::format("{}: FMI {}.0, {}\n", file, o.version, words.at(written.kind));
  if (!written.why_not_both.empty())
    streams.err << fmt::format("note: model exchange, which saltus run needs, is left out: {}\n", written.why_not_both);
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
  app.add_option("--kind", o.kind, "cs, me, both (default: both where the model allows me, else cs)")
      ->check(CLI::IsMember({"cs", "me", "both"}))
      ->type_name("KIND");
  app.add_option("-o,--output", o.output, "File to write (default: MODEL.fmu)")->type_name("FILE");
}

struct FmuLookOptions {
  std::string file;
  bool json = false, run = false, allow_code = false;
};

ExitCode look_at_fmu(const FmuLookOptions& o, const Streams& streams) {
  if (o.run && !o.allow_code)
    throw UsageError("--run runs native code of others with your rights; say --allow-foreign-code, too");
  const FmuCheck check = check_fmu(o.file, {.run = o.run});
  if (o.json) {
    streams.out << check.json();
  } else {
    streams.out << check.summary;
    for (const FmuFinding& f : check.findings)
      streams.out << fmt::format("{}: {}: {}\n", to_string(f.severity), f.where, f.text);
  }
  return check.ok() ? ExitCode::success : ExitCode::failure;
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
                "  saltus fmu export StickSlip.mo --fmi 3 --kind cs\n"
                "  saltus fmu check Other.fmu");
            CLI::App& writes = *app.add_subcommand("export", "Write a model as an FMU for other simulators");
            add_export(writes, *exported);
            auto looked = std::make_shared<FmuLookOptions>();
            CLI::App& looks =
                *app.add_subcommand("check", "Say what an FMU is, what is wrong with it, what is missing");
            looks.footer(
                "The description is compared with the rules of the standard. No code of the FMU runs without --run.\n"
                "Exit codes: 0 no errors, 1 errors, 2 it is not an FMU.");
            looks.add_option("FILE.fmu", looked->file, "The FMU")->required()->check(CLI::ExistingFile);
            looks.add_flag("--json", looked->json, "Write an object with ok, summary and findings");
            looks.add_flag("--run", looked->run, "Run the default experiment, too; needs --allow-foreign-code");
            looks.add_flag("--allow-foreign-code", looked->allow_code, "The code of the FMU may run with your rights");
            return [=, &looks](const Streams& streams) {
              return looks.parsed() ? look_at_fmu(*looked, streams) : export_model(*exported, streams);
            };
          }};
}

}  // namespace saltus::cli
