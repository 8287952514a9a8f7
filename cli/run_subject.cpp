#include "cli/run_subject.hpp"

#include <saltus/model/compile.hpp>

namespace saltus::cli {

bool is_fmu(const std::string& file) {
  return file.ends_with(".fmu");
}

RunSubject load_subject(const ModelOptions& options) {
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
