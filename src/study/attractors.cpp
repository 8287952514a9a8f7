// Attractors: periodic orbits are told apart by their samples, in whatever phase a member has met them.
#include <saltus/base/error.hpp>
#include <saltus/study/run_study.hpp>

#include <algorithm>
#include <cmath>

#include "study/member_run.hpp"

namespace saltus {

namespace {

/// One period: a point for each sample, with a number for each sampled variable.
using Orbit = std::vector<std::vector<double>>;

bool same_point(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::abs(a[k] - b[k]) > tolerance * std::max({1.0, std::abs(a[k]), std::abs(b[k])})) return false;
  return true;
}

bool same_orbit(const Orbit& a, const Orbit& b, double tolerance) {
  if (a.size() != b.size()) return false;
  for (std::size_t shift = 0; shift < b.size(); ++shift) {
    bool same = true;
    for (std::size_t k = 0; same && k < a.size(); ++k) same = same_point(a[k], b[(k + shift) % b.size()], tolerance);
    if (same) return true;
  }
  return false;
}

}  // namespace

int find_attractors(StudyResult& result) {
  const StudyPlan& plan = result.plan();
  std::vector<std::string> names;
  for (const Collector& c : plan.collect)
    if (c.what == Collect::sample) names.push_back(result_name(c));
  if (names.empty()) throw UsageError("attractors are found from samples; collect some: sample(x)");
  std::vector<Orbit> known;
  std::vector<double> labels;
  for (std::int64_t number = 0; number < result.blocks(); ++number) {
    std::vector<std::vector<double>> columns;
    for (const std::string& name : names) columns.push_back(result.block_values(name, number));
    const std::vector<double> status = result.block_values("status", number),
                              kept = result.block_values("kept", number);
    for (std::size_t member = 0; member < status.size(); ++member) {
      if (!member_ok(static_cast<int>(status[member]))) {
        labels.push_back(-1.0);
        continue;
      }
      const auto width = static_cast<std::size_t>(plan.sampling.keep),
                 count = static_cast<std::size_t>(std::clamp(kept[member], 0.0, static_cast<double>(width)));
      Orbit samples(count);
      for (std::size_t k = 0; k < count; ++k)
        for (const auto& column : columns) samples[k].push_back(column[member * width + k]);
      const int period = period_of(samples, plan.period_tolerance);
      if (period == 0) {
        labels.push_back(0.0);
        continue;
      }
      samples.erase(samples.begin(), samples.end() - period);
      // Members come near to an orbit from all sides: two of them may differ by the sum of both distances.
      const auto found = std::ranges::find_if(
          known, [&](const Orbit& orbit) { return same_orbit(orbit, samples, 10.0 * plan.period_tolerance); });
      labels.push_back(static_cast<double>(found - known.begin()) + 1.0);
      if (found == known.end()) known.push_back(std::move(samples));
    }
  }
  result.add({.name = "attractor",
              .type = StudyArray::Type::integer,
              .description = "1, 2, …; 0: samples do not repeat; -1: failed"},
             labels);
  return static_cast<int>(known.size());
}

}  // namespace saltus
