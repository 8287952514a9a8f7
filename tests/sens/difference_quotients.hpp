// Derivatives of runs by differences of tight runs, as far as these tell them.
#pragma once

#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {

/// What a run gives: its final values and the times of its events, and what happened in which order.
struct RunResult {
  std::vector<double> start, values;
  std::vector<std::string> sequence;
  bool good = false;
};

/// The side on which a reset lands is part of the sequence: the guards of an event are there with their directions.
inline RunResult result_of(const Trajectory& run) {
  RunResult result{run.at(run.t_start()), run.final(), {}, run.status().code == StatusCode::success};
  for (const Event& e : run.events()) {
    std::string what(to_string(e.kind));
    for (std::size_t g = 0; g < e.guards.size(); ++g)
      what += " | " + e.guards[g] + " " + std::to_string(e.direction[g]);
    result.sequence.push_back(std::move(what));
    result.values.push_back(e.t);
  }
  return result;
}

struct DifferenceQuotients {
  std::vector<double> values, doubts;  ///< of final values and event times; empty where no difference is to be trusted
};

/// Central differences of tight runs in which the same happens in the same order as in a run of the model itself, from
/// a start nearby (start values that are guesses leave a choice). Where a long step changes that, or the results of two
/// lengths differ much, a shorter one is taken. Where they differ by more than a twentieth for all lengths, differences
/// tell nothing.
inline DifferenceQuotients difference_quotients(const CompiledModel& model, const std::string& name, double value,
                                                double stop, const RunResult& base) {
  const auto tight = [&](double v) {
    return result_of(simulate(model.with_values({{name, v}}), {.stop = stop, .rtol = 1e-12, .atol = 1e-13}));
  };
  DifferenceQuotients result;
  double least = 0.05;
  for (const double step : {2e-4, 1e-5, 5e-7}) {
    const RunResult a = tight(value + step), b = tight(value - step), c = tight(value + 2.0 * step),
                    d = tight(value - 2.0 * step);
    const auto near_start = [&](const RunResult& r) {
      return std::ranges::equal(r.start, base.start, [&](double x, double y) {
        return std::abs(x - y) <= 100.0 * step * (1.0 + std::abs(y));
      });
    };
    const auto same = [&](const RunResult& r) { return r.good && r.sequence == base.sequence && near_start(r); };
    if (!same(a) || !same(b) || !same(c) || !same(d)) continue;
    DifferenceQuotients found;
    double worst = 0.0;
    for (std::size_t j = 0; j < a.values.size(); ++j) {
      const double near = (a.values[j] - b.values[j]) / (2.0 * step), far = (c.values[j] - d.values[j]) / (4.0 * step);
      found.values.push_back((4.0 * near - far) / 3.0);
      found.doubts.push_back(std::abs(near - far));
      worst = std::max(worst, found.doubts.back() / (1.0 + std::abs(near)));
    }
    if (worst < least) {
      result = std::move(found);
      least = worst;
    }
    if (worst < 1e-3) break;
  }
  return result;
}

}  // namespace saltus
