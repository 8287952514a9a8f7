#include <fmt/format.h>
#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace saltus {

namespace {

constexpr double most_times = 1e8;

void append(ResultTable& table, const std::vector<std::size_t>& chosen, double t, const std::vector<double>& values) {
  table.time.push_back(t);
  for (std::size_t k = 0; k < chosen.size(); ++k) table.columns[k].values.push_back(values[chosen[k]]);
}

}  // namespace

std::string type_text(const VariableDetails& variable) {
  std::string text(to_string(variable.type));
  for (std::size_t k = 0; k < variable.literals.size(); ++k) text += (k == 0 ? "(" : ", ") + variable.literals[k];
  return variable.literals.empty() ? text : text + ")";
}

ResultTable result_table(const Trajectory& run, const TableOptions& options) {
  const std::vector<std::size_t> chosen = select_variables(run, options.variables);
  ResultTable table;
  for (const std::size_t k : chosen) {
    const VariableInfo& v = run.variables()[k];
    table.columns.push_back({v.name, v.details, {}});
  }
  if (options.times.empty()) {
    const auto samples = run.sample(options.intervals);
    for (std::size_t n = 0; n < samples.t.size(); ++n) append(table, chosen, samples.t[n], samples.values[n]);
    return table;
  }
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  const double rounding = 1e-12 * std::max({std::abs(low), std::abs(high), high - low});
  for (const double t : options.times) {
    if (t < low - rounding || t > high + rounding) continue;
    append(table, chosen, t, run.at(std::clamp(t, low, high)));
  }
  return table;
}

std::vector<double> parse_times(std::string_view text) {
  const auto wrong = [&](const std::string& why) {
    return UsageError(fmt::format("times are written FROM:STEP:TO, for example 0:0.1:5; '{}' {}", text, why));
  };
  std::array<double, 3> numbers{};
  std::string_view rest = text;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::size_t end = k < 2 ? rest.find(':') : rest.size();
    if (end == std::string_view::npos) throw wrong("has fewer than three numbers");
    const std::string part(rest.substr(0, end));
    char* behind = nullptr;
    numbers[k] = std::strtod(part.c_str(), &behind);
    if (part.empty() || *behind != '\0' || !std::isfinite(numbers[k]))
      throw wrong("has a part that is not a finite number");
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto [from, step, to] = numbers;
  if (from == to) return {from};
  const double count = (to - from) / step;
  if (!(count > 0.0)) throw wrong("has a step that does not lead from the first time to the last");
  if (count > most_times) throw wrong("asks for more than 10^8 times");
  // the last time is included where the step leads there up to rounding
  const auto steps = static_cast<std::size_t>(std::floor(count * (1.0 + 1e-12) + 1e-9));
  std::vector<double> times;
  times.reserve(steps + 1);
  for (std::size_t k = 0; k <= steps; ++k) times.push_back(from + static_cast<double>(k) * step);
  if (std::abs(times.back() - to) <= 1e-9 * std::abs(step)) times.back() = to;
  return times;
}

std::vector<double> equal_times(double from, double to, std::size_t count) {
  if (count < 2) throw UsageError("at least two times are needed, for both ends of the run");
  std::vector<double> times(count);
  for (std::size_t k = 0; k < count; ++k)
    times[k] = from + (to - from) * static_cast<double>(k) / static_cast<double>(count - 1);
  times.back() = to;
  return times;
}

}  // namespace saltus
