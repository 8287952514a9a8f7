#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/io/result_files.hpp>
#include <saltus/io/result_table.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "io/find_variables.hpp"

namespace saltus {

namespace {

constexpr double most_times = 1e8;

constexpr std::size_t most_numbers = 1 << 20;  // that are read at a time

}  // namespace

std::vector<std::size_t> find_variables(const std::vector<VariableInfo>& variables,
                                        const std::vector<std::string>& wanted) {
  std::vector<std::size_t> places;
  if (wanted.empty())
    for (std::size_t k = 0; k < variables.size(); ++k) places.push_back(k);
  const NameTable names(variables, [](const VariableInfo& v) -> std::string_view { return v.name; });
  std::vector<bool> taken(2 * variables.size());
  for (const std::string& text : wanted) {
    std::vector<std::size_t> found = names.find_all(text);
    if (const NameSpelling spelling = read_name(text); found.empty() && spelling.of == NameSpelling::Of::derivative) {
      found = names.find_all(spelling.name);
      for (std::size_t& k : found) k += variables.size();
    }
    if (found.empty()) throw UsageError(fmt::format("there is no variable '{}'{}", text, names.hint(text)));
    for (const std::size_t k : found)
      if (!taken[k]) {
        places.push_back(k);
        taken[k] = true;
      }
  }
  return places;
}

std::string type_text(const VariableDetails& variable) {
  std::string text(to_string(variable.type));
  for (std::size_t k = 0; k < variable.literals.size(); ++k) text += (k == 0 ? "(" : ", ") + variable.literals[k];
  return variable.literals.empty() ? text : text + ")";
}

TableRows::TableRows(const std::vector<VariableInfo>& variables, const TableOptions& options, double start, double stop)
    : with_events_(options.times.empty()),
      start_(start),
      direction_(stop >= start ? 1.0 : -1.0),
      rounding_(1e-12 * std::max({std::abs(start), std::abs(stop), std::abs(stop - start)})) {
  for (const std::size_t k : find_variables(variables, options.variables)) chosen_.push_back(static_cast<int>(k));
  if (!with_events_) {
    const double low = std::min(start, stop), high = std::max(start, stop);
    for (const double t : options.times)
      if (t >= low - rounding_ && t <= high + rounding_) grid_.push_back(t);
    return;
  }
  if (options.intervals < 1) throw UsageError("a table needs at least one interval");
  const int intervals = start == stop ? 0 : options.intervals;  // one time is all there is
  for (int k = 0; k <= intervals; ++k)
    grid_.push_back(k == intervals ? stop : start + (stop - start) * k / options.intervals);
}

std::vector<TableRows::Row> TableRows::next_rows(const Trajectory& run) {
  std::vector<Row> rows;
  const auto reached = [&](double t, double end) { return (t - end) * direction_ <= 0.0; };
  const bool asks_slopes =
      std::ranges::any_of(chosen_, [&](int k) { return static_cast<std::size_t>(k) >= run.variables().size(); });
  const auto kept = [&](const std::vector<double>& values) {
    return values.empty() || asks_slopes ? nullptr : &values;
  };
  static const std::vector<Event> no_events;
  const std::vector<Event>& events = with_events_ ? run.events() : no_events;
  const auto add_events_before = [&](double t) {
    for (; next_event_ < events.size() && !reached(t, events[next_event_].t); ++next_event_) {
      const Event& e = events[next_event_];
      if (e.t == start_) continue;
      rows.push_back({e.t, true, kept(e.before)});
      rows.push_back({e.t, false, kept(e.after)});
    }
  };
  const double slack = with_events_ ? 0.0 : rounding_ * direction_;
  for (; next_time_ < grid_.size() && reached(grid_[next_time_], run.t_end() + slack); ++next_time_) {
    const double t = grid_[next_time_];
    add_events_before(t);
    for (; next_event_ < events.size() && events[next_event_].t == t && t != start_; ++next_event_)  // both sides, once
      rows.push_back({t, true, kept(events[next_event_].before)});
    rows.push_back({t, false, nullptr});
  }
  add_events_before(std::nextafter(run.t_end(), direction_ * std::numeric_limits<double>::infinity()));
  return rows;
}

void TableRows::read(const Trajectory& run, const Visit& visit) {
  const std::vector<Row> rows = next_rows(run);
  const std::size_t width = chosen_.size(),
                    piece = std::max<std::size_t>(1, most_numbers / std::max<std::size_t>(1, width));
  const double low = std::min(run.t_start(), run.t_end()), high = std::max(run.t_start(), run.t_end());
  std::vector<double> times, numbers, line(width);
  std::vector<unsigned char> before;
  for (std::size_t first = 0; first < rows.size(); first += piece) {
    const std::size_t last = std::min(first + piece, rows.size());
    times.clear();
    before.clear();
    for (std::size_t i = first; i < last; ++i)
      if (!rows[i].values) {
        times.push_back(std::clamp(rows[i].t, low, high));
        before.push_back(rows[i].before ? 1 : 0);
      }
    numbers.resize(times.size() * width);
    run.sample(times, chosen_, numbers, before);
    for (std::size_t i = first, read = 0; i < last; ++i) {
      for (std::size_t k = 0; k < width; ++k)
        line[k] =
            rows[i].values ? (*rows[i].values)[static_cast<std::size_t>(chosen_[k])] : numbers[k * times.size() + read];
      if (!rows[i].values) ++read;
      visit(rows[i].t, line);
    }
  }
}

ResultTable result_table(const Trajectory& run, const TableOptions& options) {
  TableRows rows(run.variables(), options, run.t_start(), run.t_end());
  ResultTable table;
  for (const int k : rows.chosen()) {
    const VariableInfo v = run.variable(static_cast<std::size_t>(k));
    table.columns.push_back({v.name, v.details, {}});
  }
  rows.read(run, [&](double t, std::span<const double> values) {
    table.time.push_back(t);
    for (std::size_t k = 0; k < values.size(); ++k) table.columns[k].values.push_back(values[k]);
  });
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
