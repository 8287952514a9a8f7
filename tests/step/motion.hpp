// The motion of a differential-algebraic problem under a stepper, from consistent values on.
#pragma once

#include <gtest/gtest.h>
#include <saltus/dae/initialisation.hpp>
#include <saltus/step/stepper.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "problems/mechanics.hpp"

namespace saltus {

struct Motion {
  problems::Problem problem;
  std::unique_ptr<Stepper> stepper;
  Initialisation start;

  void begin(Initialisation consistent) {
    start = std::move(consistent);
    EXPECT_TRUE(start.ok()) << start.message;
    stepper->start(*problem.system, {.t = problem.t, .x = start.x, .xp = start.xp});
  }
  /// Forwards or backwards; `watch` sees every step.
  void to(double end, const std::function<void(Stepper&)>& watch = {}) {
    const double direction = end > stepper->t() ? 1.0 : -1.0;
    while ((end - stepper->t()) * direction > 0.0) {
      const StepOutcome outcome = stepper->advance(end);
      ASSERT_TRUE(outcome.ok()) << problem.name << ", t = " << stepper->t() << ", result " << static_cast<int>(outcome.result);
      ASSERT_LT(stepper->statistics().steps, 50000);
      if (watch) watch(*stepper);
    }
  }
  std::vector<double> x() const { return {stepper->x().begin(), stepper->x().end()}; }
};

/// Of the first `count` values.
inline double distance(std::span<const double> a, std::span<const double> b, std::size_t count) {
  double largest = 0.0;
  for (std::size_t j = 0; j < count; ++j) largest = std::max(largest, std::abs(a[j] - b[j]));
  return largest;
}

inline problems::Problem horizontal_pendulum() { return problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}); }

}  // namespace saltus
