#include "cli/sensitivities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace saltus::cli {

namespace {

constexpr int derivative_width = 18;

std::string derivative_head(const SensitivityRun& run) {
  std::string text;
  for (const std::string& p : run.parameters()) text += fmt::format("  {:>{}}", "d/d(" + p + ")", derivative_width);
  return text;
}

}  // namespace

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

void add_sensitivities(ResultTable& table, const SensitivityRun& run) {
  const std::size_t variables = table.columns.size(), rows = table.time.size();
  std::vector<std::size_t> places;
  for (const auto& column : table.columns) places.push_back(run.trajectory().index(column.name));
  // behind the event at which the derivatives end there are none
  const double sign = run.trajectory().t_end() >= run.trajectory().t_start() ? 1.0 : -1.0;
  const auto ended = [&](double t, bool before) {
    return !run.why().empty() && ((t - run.end()) * sign > 0.0 || (t == run.end() && !before));
  };
  for (const std::string& p : run.parameters()) {
    const std::size_t first = table.columns.size();
    for (std::size_t j = 0; j < variables; ++j)
      table.columns.push_back({fmt::format("d({})/d({})", table.columns[j].name, p), {}, std::vector<double>(rows)});
    for (std::size_t i = 0; i < rows; ++i) {
      const double t = table.time[i];
      const bool before = i + 1 < rows && table.time[i + 1] == t;  // an event has two rows
      if (ended(t, before)) {
        for (std::size_t j = 0; j < variables; ++j)
          table.columns[first + j].values[i] = std::numeric_limits<double>::quiet_NaN();
        continue;
      }
      const std::vector<double> all = before ? run.before(t, p) : run.at(t, p);
      for (std::size_t j = 0; j < variables; ++j) table.columns[first + j].values[i] = all[places[j]];
    }
  }
}

}  // namespace saltus::cli
