#include <fmt/format.h>
#include <saltus/base/elementary.hpp>
#include <saltus/base/error.hpp>
#include <saltus/study/plan.hpp>

#include <algorithm>
#include <cmath>
#include <set>

namespace saltus {

namespace {

constexpr std::int64_t most_members = std::int64_t{1} << 40;

/// SplitMix64 (Steele, Lea and Flood 2014): the output for a counter, so that draws do not depend on each other.
std::uint64_t mix(std::uint64_t z) {
  z += 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31);
}

/// A number strictly between 0 and 1 for (seed, stream, member).
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t member) {
  const std::uint64_t bits = mix(mix(mix(seed) ^ stream) ^ member);
  return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52;
}

double draw(const RandomValue& value, std::uint64_t seed, std::uint64_t place, std::uint64_t member) {
  const double u = uniform(seed, 2 * place, member);
  switch (value.distribution) {
    case Distribution::uniform:
      return value.a + (value.b - value.a) * u;
    case Distribution::log_uniform: {
      const double low = elementary::log(value.a), high = elementary::log(value.b);
      return elementary::exp(low + (high - low) * u);
    }
    case Distribution::normal:
      break;
  }
  const double angle = 6.283185307179586 * uniform(seed, 2 * place + 1, member);
  return value.a + value.b * std::sqrt(-2.0 * elementary::log(u)) * elementary::cos(angle);  // Box and Muller
}

void check_axis(const Axis& axis) {
  const auto refuse = [&](const std::string& text) { throw UsageError("axis '" + axis.name + "': " + text); };
  if (axis.spacing == Spacing::list) {
    if (axis.values.empty()) refuse("the list of values is empty; give at least one");
    if (!std::ranges::all_of(axis.values, [](double v) { return std::isfinite(v); }))
      refuse("a value is not a finite number");
    return;
  }
  if (axis.count < 1) refuse(fmt::format("{} values; give at least one", axis.count));
  if (!std::isfinite(axis.from) || !std::isfinite(axis.to)) refuse("its ends must be finite numbers");
  if (axis.spacing == Spacing::logarithmic && !(axis.from * axis.to > 0.0))
    refuse(fmt::format("logarithmic spacing from {} to {} needs two ends of one sign, neither of them 0", axis.from,
                       axis.to));
}

void check_random(const RandomValue& value) {
  const auto refuse = [&](const std::string& text) { throw UsageError("random '" + value.name + "': " + text); };
  if (!std::isfinite(value.a) || !std::isfinite(value.b)) refuse("its numbers must be finite");
  if (value.distribution == Distribution::normal && value.b < 0.0)
    refuse("the standard deviation must not be negative");
  if (value.distribution == Distribution::log_uniform && !(value.a > 0.0 && value.b > 0.0))
    refuse("both ends must be positive");
}

void check_names(const StudyPlan& plan) {
  std::set<std::string> seen;
  for (const std::string& name : varied_names(plan))
    if (!seen.insert(name).second) throw UsageError("'" + name + "' varies twice in the plan; leave out one of them");
}

std::int64_t times(std::int64_t a, std::int64_t b) {
  if (a > most_members / b)
    throw UsageError(fmt::format("the plan has more than {:.1e} members; take fewer values", double(most_members)));
  return a * b;
}

}  // namespace

std::int64_t Axis::size() const {
  return spacing == Spacing::list ? static_cast<std::int64_t>(values.size()) : count;
}

double Axis::value(std::int64_t position) const {
  if (spacing == Spacing::list) return values[static_cast<std::size_t>(position)];
  if (position == 0) return from;
  if (position == count - 1) return to;
  const double share = static_cast<double>(position) / static_cast<double>(count - 1);
  if (spacing == Spacing::linear) return from + (to - from) * share;
  return from * elementary::exp(elementary::log(to / from) * share);
}

std::string_view to_string(Collect collect) {
  switch (collect) {
    case Collect::final_value:
      return "final";
    case Collect::sample:
      return "sample";
    case Collect::minimum:
      return "min";
    case Collect::maximum:
      return "max";
    case Collect::mean:
      return "mean";
    case Collect::count:
      return "count";
    case Collect::first:
      return "first";
    case Collect::period:
      return "period";
  }
  return "unknown";
}

std::string result_name(const Collector& collector) {
  if (!collector.name.empty()) return collector.name;
  if (collector.what == Collect::sample) return collector.variable;
  return fmt::format("{}({})", to_string(collector.what), collector.variable);
}

std::vector<std::string> varied_names(const StudyPlan& plan) {
  if (!plan.table.names.empty()) return plan.table.names;
  std::vector<std::string> names;
  for (const Axis& axis : plan.axes) names.push_back(axis.name);
  for (const RandomValue& value : plan.random) names.push_back(value.name);
  return names;
}

std::int64_t member_count(const StudyPlan& plan) {
  check_names(plan);
  const bool follows = plan.follow != Follow::none;
  if (!plan.table.names.empty()) {
    if (!plan.axes.empty() || !plan.random.empty())
      throw UsageError("a table gives the values of all members; leave out axes and random values");
    if (follows) throw UsageError("members that follow each other need an axis; a table has none");
    for (std::size_t row = 0; row < plan.table.rows.size(); ++row)
      if (plan.table.rows[row].size() != plan.table.names.size())
        throw UsageError(fmt::format("row {} of the table has {} numbers; it needs {}", row + 1,
                                     plan.table.rows[row].size(), plan.table.names.size()));
    if (plan.table.rows.empty()) throw UsageError("the table has no rows; each row is a member");
    return static_cast<std::int64_t>(plan.table.rows.size());
  }
  for (const Axis& axis : plan.axes) check_axis(axis);
  for (const RandomValue& value : plan.random) check_random(value);
  if (plan.draws < 1) throw UsageError(fmt::format("{} draws; there must be at least one", plan.draws));
  if (plan.draws > 1 && plan.random.empty())
    throw UsageError("several draws make sense with random values only; add one or leave out the number of draws");
  if (follows && (plan.axes.empty() || !plan.random.empty()))
    throw UsageError("members that follow each other need an axis, and no random values");
  std::int64_t count = 1;
  for (const Axis& axis : plan.axes) count = times(count, axis.size());
  return times(times(count, plan.draws), plan.follow == Follow::both ? 2 : 1);
}

std::vector<std::pair<std::string, double>> member_values(const StudyPlan& plan, std::int64_t index) {
  std::vector<std::pair<std::string, double>> values;
  if (!plan.table.names.empty()) {
    const auto& row = plan.table.rows[static_cast<std::size_t>(index)];
    for (std::size_t k = 0; k < row.size(); ++k) values.emplace_back(plan.table.names[k], row[k]);
    return values;
  }
  std::int64_t rest = index / plan.draws;
  for (std::size_t k = plan.axes.size(); k-- > 0;) {
    const Axis& axis = plan.axes[k];
    values.emplace_back(axis.name, axis.value(rest % axis.size()));
    rest /= axis.size();
  }
  std::ranges::reverse(values);
  for (std::size_t k = 0; k < plan.random.size(); ++k)
    values.emplace_back(plan.random[k].name, draw(plan.random[k], plan.seed, k, static_cast<std::uint64_t>(index)));
  return values;
}

}  // namespace saltus
