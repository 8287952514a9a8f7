#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/hybrid/input_signal.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "hybrid/input_course.hpp"

namespace saltus {

namespace {

/// Whether two times cannot be told apart. Time events that agree in this sense are one instant.
bool same_time(double a, double b) {
  return std::abs(a - b) <= 8.0 * std::numeric_limits<double>::epsilon() * std::max(std::abs(a), std::abs(b));
}

}  // namespace

InputSignal InputSignal::constant(double value) {
  return table({0.0}, {value});
}

InputSignal InputSignal::table(std::vector<double> times, std::vector<double> values, Between between) {
  if (times.size() != values.size())
    throw UsageError(
        fmt::format("InputSignal::table: {} times and {} values; each row needs both", times.size(), values.size()));
  if (times.empty()) throw UsageError("InputSignal::table: there are no rows; give at least one");
  auto data = std::make_shared<Data>();
  data->between = between;
  for (std::size_t k = 0; k < times.size(); ++k) {
    double t = times[k];
    if (!std::isfinite(t) || !std::isfinite(values[k]))
      throw UsageError(fmt::format("InputSignal::table: row {} is ({}, {}); give finite numbers", k + 1, t, values[k]));
    if (!data->times.empty()) {
      const double last = data->times.back();
      if (same_time(t, last))
        t = last;
      else if (t < last)
        throw UsageError(
            fmt::format("InputSignal::table: the time goes back in row {}, from {} to {}", k + 1, times[k - 1], t));
    }
    const std::size_t rows = data->times.size();
    if (rows >= 2 && data->times[rows - 2] == t) {  // of several rows at one time the first and the last count
      data->values.back() = values[k];
      continue;
    }
    data->times.push_back(t);
    data->values.push_back(values[k]);
  }
  return InputSignal(std::move(data));
}

InputSignal InputSignal::function(std::function<double(double)> values, std::vector<double> breaks) {
  if (!values) throw UsageError("InputSignal::function: the function is empty");
  if (std::any_of(breaks.begin(), breaks.end(), [](double t) { return !std::isfinite(t); }))
    throw UsageError("InputSignal::function: a break is not a finite time");
  std::sort(breaks.begin(), breaks.end());
  breaks.erase(std::unique(breaks.begin(), breaks.end(), same_time), breaks.end());
  auto data = std::make_shared<Data>();
  data->function = std::move(values);
  data->breaks = std::move(breaks);
  return InputSignal(std::move(data));
}

}  // namespace saltus
