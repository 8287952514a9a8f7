#include <saltus/fmi/export_fmu.hpp>

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/error.hpp>
#include <saltus/modelica/flat_text.hpp>

#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/system/dynamic_library.hpp"
#include "fmi/describe_model.hpp"
#include "fmi/exchange_limits.hpp"
#include "fmi/exported_model.hpp"
#include "fmi/files.hpp"
#include "fmi/terminals.hpp"
#include "fmi/xml_text.hpp"
#include "fmi/zip_archive.hpp"

namespace saltus {

namespace {

constexpr const char* library_name = "saltus_fmu.so";

/// The folder of an FMU with libraries for this machine.
std::string binary_folder(FmiVersion version) {
#if defined(__x86_64__)
  return version == FmiVersion::fmi2 ? "linux64" : "x86_64-linux";
#elif defined(__aarch64__)
  return version == FmiVersion::fmi2 ? "aarch64-linux" : "aarch64-linux";
#else
  throw UsageError("FMUs are made on x86-64 and AArch64 only");
#endif
}

/// A page for people who open the archive or ask their simulator about the model.
std::string documentation(const ModelicaModel& model, const std::string& text) {
  const std::string name = xml_escaped(model.model.name());
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{0}</title></head>\n<body>\n"
      "<h1>{0}</h1>\n<p>{1}</p>\n<p>This FMU holds the model below as text, and the solver of Saltus.</p>\n"
      "<pre>{2}</pre>\n</body>\n</html>\n",
      name, xml_escaped(model.description), xml_escaped(text));
}

}  // namespace

std::string fmu_library() {
  namespace fs = std::filesystem;
  std::error_code problem;
  const fs::path folder = DynamicLibrary::holding(reinterpret_cast<const void*>(&fmu_library)).parent_path();
  std::string looked;
  for (const char* relative : {"", "..", "../..", "../lib/saltus", "../../../saltus", "../../../../lib/saltus"}) {
    const fs::path file = (folder / relative / library_name).lexically_normal();
    if (fs::is_regular_file(file, problem)) return file.string();
    looked += "\n  " + file.string();
  }
  throw UsageError(
      fmt::format("{} is missing, which becomes a part of every FMU; it was looked for as{}\n"
                  "build the target saltus_fmu, or install Saltus again",
                  library_name, looked));
}

WrittenFmu export_fmu(const ModelicaModel& model, const std::string& file, const FmuOptions& wanted) {
  const std::string text = flat_text(model), fixed = declare_fixed(model.fixed_parameters);
  const ExportedModel exported(text, fixed);
  FmuOptions options = wanted;
  WrittenFmu written;
  if (wanted.kind != FmuKind::co_simulation) {
    written.why_not_both = why_not_exchangeable(exported);
    if (written.why_not_both.empty() && wanted.kind == FmuKind::automatic) options.kind = FmuKind::both;
    if (!written.why_not_both.empty()) {
      if (wanted.kind != FmuKind::automatic)
        throw UsageError("the model cannot be exported for model exchange: " + written.why_not_both +
                         "; co-simulation has no such limit (the kind cs)");
      options.kind = FmuKind::co_simulation;
    }
  }
  written.kind = options.kind;
  const std::string library = read_whole_file(options.library.empty() ? fmu_library() : options.library);
  const std::string identifier = model_identifier(exported.compiled().name());
  ZipWriter archive;
  archive.add("modelDescription.xml", describe_model(exported, options, model.description));
  archive.add("binaries/" + binary_folder(options.version) + "/" + identifier + ".so", library);
  archive.add(std::string("resources/") + model_file, text);
  archive.add(std::string("resources/") + fixed_parameters_file, fixed);
  if (options.version == FmiVersion::fmi3)
    if (const std::string terminals = describe_terminals(model.connectors, exported); !terminals.empty())
      archive.add("terminalsAndIcons/terminalsAndIcons.xml", terminals);
  archive.add("documentation/index.html", documentation(model, text));
  const std::string bytes = archive.finish();
  write_atomically(file, bytes, "name another file");
  return written;
}

}  // namespace saltus
