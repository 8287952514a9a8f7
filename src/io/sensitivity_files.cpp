#include <fmt/format.h>
#include <saltus/io/sensitivity_files.hpp>

#include <limits>
#include <string>
#include <vector>

namespace saltus {

SensitivityRecord sensitivity_record(const SensitivityRun& run) {
  SensitivityRecord record{.parameters = run.parameters(), .end = run.end(), .why = run.why()};
  if (run.why().empty())
    for (const std::string& p : run.parameters()) record.final.push_back(run.final(p));
  for (const EventSensitivity& e : run.events())
    record.events.push_back({e.dt, std::string(to_string(e.smoothness)), e.text});
  return record;
}

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
  }
}

}  // namespace saltus
