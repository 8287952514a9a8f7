#include "cli/export.hpp"

#include <saltus/base/error.hpp>
#include <saltus/io/study_files.hpp>

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "cli/files.hpp"
#include "cli/study_spec.hpp"

namespace saltus::cli {

namespace {

struct ExportOptions {
  std::string folder, csv, npz;
  std::vector<std::string> names;
};

ExitCode export_study(const ExportOptions& o, const Streams& streams) {
  if (o.csv.empty() && o.npz.empty()) throw UsageError("say what to write: --csv FILE or --npz FILE");
  const StudyResult result = StudyResult::open(o.folder);
  if (!o.csv.empty())
    write_file(o.csv, streams.out, [&](std::ostream& file) { write_study_csv(file, result, o.names); });
  if (!o.npz.empty())
    write_file(o.npz, streams.out, [&](std::ostream& file) { write_study_npz(file, result, o.names); });
  return ExitCode::success;
}

}  // namespace

Command export_command() {
  return {"export", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<ExportOptions>();
            CLI::App& app = *parent.add_subcommand("export", "Write a stored study as CSV or for numpy");
            app.footer("Example:\n  saltus export d.zarr --csv d.csv --results omega,x");
            app.add_option("STUDY", o->folder, "Folder of the study")->required();
            app.add_option("--csv", o->csv, "One line for each member; - is standard output")->type_name("FILE");
            app.add_option("--npz", o->npz, "Arrays for numpy")->type_name("FILE");
            app.add_option_function<std::string>(
                   "--results", [o](const std::string& text) { o->names = split_list(text); },
                   "Which results (default: all)")
                ->type_name("A,B");
            return [o](const Streams& streams) { return export_study(*o, streams); };
          }};
}

}  // namespace saltus::cli
