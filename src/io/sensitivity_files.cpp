#include <fmt/format.h>
#include <saltus/io/sensitivity_files.hpp>

#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "io/json_number.hpp"

namespace saltus {

SensitivityRecord sensitivity_record(const SensitivityRun& run) {
  SensitivityRecord record{.parameters = run.parameters(), .end = run.end(), .why = run.why()};
  const auto words = [](const std::vector<Smoothness>& list) {
    std::vector<std::string> result;
    for (const Smoothness one : list) result.emplace_back(to_string(one));
    return result;
  };
  for (const std::string& p : run.parameters()) {
    record.remarks.push_back(run.remark(p));
    if (!run.why().empty()) continue;
    record.final.push_back(run.final(p));
    record.final_smoothness.push_back(words(run.final_smoothness(p)));
  }
  for (const EventSensitivity& e : run.events())
    record.events.push_back({e.dt, std::string(to_string(e.smoothness)), e.text, words(e.dt_smoothness)});
  return record;
}

namespace {

/// A column "one_sided(p)", if some derivatives by p are not those of both sides.
void add_flags(ResultTable& table, const SensitivityRun& run, const std::string& parameter) {
  if (run.remark(parameter).empty()) return;
  ResultTable::Column flags{fmt::format("one_sided({})", parameter), {}, {}};
  for (std::size_t i = 0; i < table.time.size(); ++i) {
    const bool before = i + 1 < table.time.size() && table.time[i + 1] == table.time[i];
    const bool one_sided = !before && run.smoothness(table.time[i], parameter) != Smoothness::smooth;
    flags.values.push_back(one_sided ? 1.0 : 0.0);
  }
  table.columns.push_back(std::move(flags));
}

}  // namespace

void add_sensitivities(ResultTable& table, const SensitivityRun& run) {
  const std::size_t variables = table.columns.size(), rows = table.time.size();
  std::vector<std::size_t> places;
  for (const auto& column : table.columns) places.push_back(run.trajectory().index(column.name));
  // after the event at which the derivatives end there are none
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
    add_flags(table, run, p);
  }
}

void write_gradient_json(std::ostream& out, const FunctionalGradient& gradient) {
  const Status& status = gradient.trajectory.status();
  Json document, derivatives = nullptr;
  if (gradient.why.empty()) {
    derivatives = Json::object();
    for (std::size_t k = 0; k < gradient.parameters.size(); ++k)
      derivatives[gradient.parameters[k]] = number_or_null(gradient.derivatives[k]);
  }
  document["status"] = to_string(status.code);
  document["message"] = status.message;
  document["value"] = number_or_null(gradient.value);
  document["parameters"] = gradient.parameters;
  document["derivatives"] = derivatives;
  document["why"] = gradient.why;
  document["steps"] = gradient.steps;
  document["pieces"] = gradient.pieces;
  out << document.dump(1) << '\n';
}

}  // namespace saltus
