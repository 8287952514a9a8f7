#include "cli/run_subject.hpp"

#include <saltus/base/error.hpp>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/model/compile.hpp>

#include <utility>

namespace saltus::cli {

namespace {

RunSubject load_fmu(const ModelOptions& options, const std::optional<double>& stop) {
  for (const auto& [given, option] :
       {std::pair(!options.model.empty(), "--model"), std::pair(!options.libraries.empty(), "--library"),
        std::pair(options.unbalanced, "--unbalanced"), std::pair(options.scaling != Scaling::automatic, "--scaling")})
    if (given) throw UsageError(std::string(option) + " is for Modelica models; an FMU is taken as it is");
  ImportOptions o{.start = options.start, .stop = stop};
  for (const std::string& text : options.settings) o.values.push_back(parse_setting(text));
  const auto fmu = std::make_shared<ImportedFmu>(options.file, o);
  RunSubject subject{.system = fmu,
                     .experiment = fmu->experiment(),
                     .description = fmu->description(),
                     .parameters = fmu->parameters()};
  for (const std::string& note : fmu->notes()) subject.notes.push_back("note: " + note + "\n");
  return subject;
}

}  // namespace

bool is_fmu(const std::string& file) {
  return file.ends_with(".fmu");
}

RunSubject load_subject(const ModelOptions& options, const std::optional<double>& stop) {
  if (is_fmu(options.file)) return load_fmu(options, stop);
  const ModelicaModel source = load(options);
  RunSubject subject{.experiment = source.experiment, .description = source.description};
  for (const auto& note : source.notes) subject.notes.push_back(render(note));
  subject.model = source.model;
  subject.system = compile(source.model);
  subject.parameters = parameter_info(*subject.system);
  subject.parameters.insert(subject.parameters.end(), source.fixed_parameters.begin(), source.fixed_parameters.end());
  return subject;
}

}  // namespace saltus::cli
