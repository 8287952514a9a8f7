#include "cli/run_parts.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/fmi/imported_fmu.hpp>
#include <saltus/io/sensitivity_files.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "cli/run.hpp"

namespace saltus::cli {

namespace {

RunSubject load_fmu(const ModelOptions& options, const std::optional<double>& stop, const std::optional<double>& step) {
  for (const auto& [given, option] :
       {std::pair(!options.model.empty(), "--model"), std::pair(!options.libraries.empty(), "--library"),
        std::pair(options.unbalanced, "--unbalanced"), std::pair(options.scaling != Scaling::automatic, "--scaling"),
        std::pair(options.stabilise.has_value(), "--stabilise-sliding")})
    if (given) throw UsageError(std::string(option) + " is for Modelica models; an FMU is taken as it is");
  ImportOptions o{.start = options.start, .stop = stop, .step = step};
  for (const std::string& text : options.settings)
    std::ranges::copy(parse_settings(text), std::back_inserter(o.values));
  const auto fmu = import_fmu(options.file, o);
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

/// A derivative; with a star where it is that of one side.
std::string derivative(double value, Smoothness smoothness) {
  if (smoothness == Smoothness::undefined) return "undefined";
  return fmt::format("{:.10g}{}", value, smoothness == Smoothness::one_sided ? "*" : "");
}

/// What stars mean, once for each reason.
void print_remarks(std::ostream& out, const SensitivityRun& run) {
  std::vector<std::string> told;
  for (const std::string& p : run.parameters()) {
    const std::string& remark = run.remark(p);
    if (remark.empty() || std::ranges::find(told, remark) != told.end()) continue;
    told.push_back(remark);
    out << fmt::format("  * one-sided: {}\n", remark);
  }
}

void print_sensitivities(std::ostream& out, const SensitivityRun& run, std::size_t limit) {
  const std::vector<Event>& events = run.trajectory().events();
  const std::size_t count = std::min(run.events().size(), limit);
  if (count > 0)
    out << fmt::format("\nderivatives of event times\n{:>5}  {:>18}{}\n", "#", "time", derivative_head(run));
  for (std::size_t k = 0; k < count; ++k) {
    const EventSensitivity& e = run.events()[k];
    out << fmt::format("{:>5}  {:>18.12g}", k + 1, events[k].t);
    for (std::size_t p = 0; p < e.dt.size(); ++p)
      out << fmt::format("  {:>{}}", derivative(e.dt[p], e.dt_smoothness[p]), derivative_width);
    for (std::size_t p = e.dt.size(); p < run.parameters().size(); ++p)
      out << fmt::format("  {:>{}}", derivative(0.0, Smoothness::undefined), derivative_width);
    out << (e.text.empty() ? "" : "  " + e.text) << '\n';
  }
  if (count < run.events().size())
    out << fmt::format("{:>5}  … {} more; --events N shows more\n", "", run.events().size() - count);
  if (!run.why().empty()) {
    out << fmt::format("\nsensitivities end at t = {:.12g}: {}\n", run.end(), run.why());
    print_remarks(out, run);
    return;
  }
  const std::vector<VariableInfo>& variables = run.trajectory().variables();
  std::size_t width = 4;
  for (const VariableInfo& v : variables) width = std::max(width, v.name.size());
  out << fmt::format("\nderivatives of final values\n  {:<{}}{}\n", "", width, derivative_head(run));
  std::vector<std::vector<double>> final;
  std::vector<std::vector<Smoothness>> smoothness;
  for (const std::string& p : run.parameters()) {
    final.push_back(run.final(p));
    smoothness.push_back(run.final_smoothness(p));
  }
  constexpr std::size_t most = 12;
  for (std::size_t j = 0; j < std::min(variables.size(), most); ++j) {
    out << fmt::format("  {:<{}}", variables[j].name, width);
    for (std::size_t p = 0; p < final.size(); ++p)
      out << fmt::format("  {:>{}}", derivative(final[p][j], smoothness[p][j]), derivative_width);
    out << '\n';
  }
  if (variables.size() > most) out << fmt::format("  … {} more variables; --csv writes all\n", variables.size() - most);
  print_remarks(out, run);
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
