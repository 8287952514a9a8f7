#include <fmt/format.h>
#include <saltus/io/compare_results.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace saltus {

namespace {

using Column = ResultTable::Column;

/// Rows in the order of increasing time.
ResultTable ordered(const ResultTable& table, const char* which) {
  if (table.time.empty()) throw UsageError(fmt::format("the {} result has no rows", which));
  ResultTable result = table;
  if (result.time.front() > result.time.back()) {
    std::reverse(result.time.begin(), result.time.end());
    for (Column& column : result.columns) std::reverse(column.values.begin(), column.values.end());
  }
  for (std::size_t k = 0; k + 1 < result.time.size(); ++k)
    if (!(result.time[k] <= result.time[k + 1]))
      throw UsageError(fmt::format("the {} result goes back in time after t = {}", which, result.time[k]));
  return result;
}

const Column* find(const ResultTable& table, const std::string& name) {
  const auto place = std::ranges::find(table.columns, name, &Column::name);
  return place == table.columns.end() ? nullptr : &*place;
}

struct ValueRange {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void see(double y) {
    low = std::min(low, y);
    high = std::max(high, y);
    finite = finite && std::isfinite(y);
  }
  bool finite = true;
};

/// All values of a column in a stretch of time; at its ends interpolated.
ValueRange values_in(const std::vector<double>& time, const std::vector<double>& y, double from, double to) {
  ValueRange values;
  const auto first = static_cast<std::size_t>(std::ranges::lower_bound(time, from) - time.begin());
  std::size_t k = first;
  for (; k < time.size() && time[k] <= to; ++k) values.see(y[k]);
  const auto on_line = [&](std::size_t right, double t) {  // between rows right - 1 and right
    const double h = time[right] - time[right - 1], s = h > 0.0 ? (t - time[right - 1]) / h : 0.0;
    return y[right - 1] * (1.0 - s) + y[right] * s;
  };
  if (first == time.size())
    values.see(y.back());
  else if (time[first] > from)
    values.see(first == 0 ? y.front() : on_line(first, from));
  if (k < time.size() && k > 0 && time[k - 1] < to) values.see(on_line(k, to));
  return values;
}

/// Times at which a column jumps.
void add_jumps(const ResultTable& table, const Column& column, double size, std::vector<double>& jumps) {
  for (std::size_t k = 0; k + 1 < table.time.size(); ++k)
    if (table.time[k] == table.time[k + 1] && std::abs(column.values[k] - column.values[k + 1]) > size)
      jumps.push_back(table.time[k]);
}

/// Looks for rows of `b` that leave the tube around `a`.
void look(const ResultTable& a, const Column& of_a, const ResultTable& b, const Column& of_b,
          const std::vector<double>& jumps, double width, double scale, double noise, bool swapped,
          Comparison::Variable& worst) {
  const double low = std::max(a.time.front(), b.time.front()), high = std::min(a.time.back(), b.time.back());
  for (std::size_t k = 0; k < b.time.size(); ++k) {
    const double t = b.time[k], y = of_b.values[k];
    if (t < low || t > high) continue;
    const auto jump = std::ranges::lower_bound(jumps, t - width);
    const double slack = jump != jumps.end() && *jump <= t + width ? width : 0.0;
    const ValueRange tube = values_in(a.time, of_a.values, t - slack, t + slack);
    const bool finite = tube.finite && std::isfinite(y);
    const double difference = finite ? std::max({0.0, tube.low - y - noise, y - tube.high - noise}) / scale
                                     : std::numeric_limits<double>::infinity();
    if (!(difference > worst.difference)) continue;
    const double other = y > tube.high ? tube.high : tube.low;
    worst = {worst.name, difference, t, swapped ? y : other, swapped ? other : y};
  }
}

}  // namespace

bool Comparison::same(double tolerance) const {
  return same_span && std::ranges::all_of(variables, [&](const Variable& v) { return v.difference <= tolerance; });
}

Comparison compare_results(const ResultTable& first, const ResultTable& second, const CompareOptions& options) {
  const ResultTable a = ordered(first, "first"), b = ordered(second, "second");
  Comparison result;
  result.first_end = a.time.back();
  result.second_end = b.time.back();
  const double span = std::max(a.time.back(), b.time.back()) - std::min(a.time.front(), b.time.front());
  const double width = options.time_tolerance * span;
  result.same_span =
      std::abs(a.time.front() - b.time.front()) <= width && std::abs(a.time.back() - b.time.back()) <= width;

  std::vector<std::string> names = options.variables;
  if (names.empty())
    for (const Column& column : a.columns) {
      if (find(b, column.name))
        names.push_back(column.name);
      else
        result.only_first.push_back(column.name);
    }
  if (options.variables.empty())
    for (const Column& column : b.columns)
      if (!find(a, column.name)) result.only_second.push_back(column.name);
  if (names.empty()) throw UsageError("the two results have no variable in common");
  // What is left of a sum that vanishes, as the current into a ground, has the size of rounding errors of its terms.
  constexpr double rounding = 1e-13;
  std::map<std::string, double> largest;  // by unit; without a unit nothing is known
  for (const Column& column : a.columns)
    for (const double y : column.values)
      if (!column.details->unit.empty() && std::isfinite(y))
        largest[column.details->unit] = std::max(largest[column.details->unit], std::abs(y));
  for (const std::string& name : names) {
    const Column *of_a = find(a, name), *of_b = find(b, name);
    if (!of_a || !of_b)
      throw UsageError(fmt::format("there is no variable '{}' in the {} result", name, of_a ? "second" : "first"));
    ValueRange range;
    for (const double y : of_a->values)
      if (std::isfinite(y)) range.see(y);
    const double size = range.high - range.low, level = std::max(std::abs(range.low), std::abs(range.high));
    // a variable that does not move is compared with its own size
    const double scale = size > 1e-9 * level ? size : level > 0.0 && std::isfinite(level) ? level : 1.0;
    std::vector<double> jumps;
    add_jumps(a, *of_a, options.tolerance * scale, jumps);
    add_jumps(b, *of_b, options.tolerance * scale, jumps);
    std::ranges::sort(jumps);
    Comparison::Variable worst{.name = name};
    const double noise = rounding * largest[of_a->details->unit];
    look(a, *of_a, b, *of_b, jumps, width, scale, noise, false, worst);
    look(b, *of_b, a, *of_a, jumps, width, scale, noise, true, worst);
    result.variables.push_back(worst);
  }
  return result;
}

}  // namespace saltus
