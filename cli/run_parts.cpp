#include "cli/run_parts.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/io/sensitivity_files.hpp>

#include <algorithm>
#include <utility>

#include "cli/run.hpp"

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

constexpr int derivative_width = 18;

std::string derivative_head(const SensitivityRun& run) {
  std::string text;
  for (const std::string& p : run.parameters()) text += fmt::format("  {:>{}}", "d/d(" + p + ")", derivative_width);
  return text;
}

void print_sensitivities(std::ostream& out, const SensitivityRun& run, std::size_t limit) {
  const std::vector<Event>& events = run.trajectory().events();
  const std::size_t count = std::min(run.events().size(), limit);
  if (count > 0)
    out << fmt::format("\nderivatives of event times\n{:>5}  {:>18}{}\n", "#", "time", derivative_head(run));
  for (std::size_t k = 0; k < count; ++k) {
    const EventSensitivity& e = run.events()[k];
    out << fmt::format("{:>5}  {:>18.12g}", k + 1, events[k].t);
    for (const double d : e.dt) out << fmt::format("  {:>{}.10g}", d, derivative_width);
    out << (e.text.empty() ? "" : "  " + e.text) << '\n';
  }
  if (count < run.events().size())
    out << fmt::format("{:>5}  … {} more; --events N shows more\n", "", run.events().size() - count);
  if (!run.why().empty()) {
    out << fmt::format("\nsensitivities end at t = {:.12g}: {}\n", run.end(), run.why());
    return;
  }
  const std::vector<VariableInfo>& variables = run.trajectory().variables();
  std::size_t width = 4;
  for (const VariableInfo& v : variables) width = std::max(width, v.name.size());
  out << fmt::format("\nderivatives of final values\n  {:<{}}{}\n", "", width, derivative_head(run));
  std::vector<std::vector<double>> final;
  for (const std::string& p : run.parameters()) final.push_back(run.final(p));
  constexpr std::size_t most = 12;
  for (std::size_t j = 0; j < std::min(variables.size(), most); ++j) {
    out << fmt::format("  {:<{}}", variables[j].name, width);
    for (const std::vector<double>& by : final) out << fmt::format("  {:>{}.10g}", by[j], derivative_width);
    out << '\n';
  }
  if (variables.size() > most) out << fmt::format("  … {} more variables; --csv writes all\n", variables.size() - most);
}

class RunWithSensitivities final : public DifferentiatedRun {
 public:
  explicit RunWithSensitivities(SensitivityRun run) : run_(std::move(run)) {}
  const Trajectory& trajectory() const override { return run_.trajectory(); }
  void print(std::ostream& out, std::size_t limit) const override { print_sensitivities(out, run_, limit); }
  void add_to(ResultTable& table) const override { add_sensitivities(table, run_); }
  SensitivityRecord record() const override { return sensitivity_record(run_); }

 private:
  SensitivityRun run_;
};

std::unique_ptr<DifferentiatedRun> differentiate(const CompiledModel& model, const std::vector<std::string>& parameters,
                                                 const SimulateOptions& options, bool control) {
  return std::make_unique<RunWithSensitivities>(
      simulate_with_sensitivities(model, parameters, options, {.control = control}));
}

}  // namespace

RunParts all_parts() {
  return {.load_fmu = load_fmu, .differentiate = differentiate};
}

Command run_command() {
  return run_command(all_parts());
}

}  // namespace saltus::cli
