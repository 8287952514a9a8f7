// Random models, in flight and by the simulator's loop: the same events and values.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <vector>

#include "hybrid/random_oscillator.hpp"
#include "random_cases.hpp"

namespace saltus {
namespace {

/// Without the last bounces before contact begins, whose number depends on rounding errors.
std::vector<const Event*> clear_events(const Trajectory& run) {
  constexpr double thousand_tolerances = 1e-6;
  std::vector<const Event*> events;
  for (const Event& e : run.events())
    if (e.kind != EventKind::reset || e.jump > thousand_tolerances) events.push_back(&e);
  return events;
}

/// How far apart two runs are, in times and relative to values: 1 where their events are not the same ones.
double apart(const Trajectory& a, const Trajectory& b) {
  const std::vector<const Event*> first = clear_events(a), second = clear_events(b);
  if (first.size() != second.size() || a.status().code != b.status().code) return 1.0;
  double largest = 0.0;
  for (std::size_t e = 0; e < first.size(); ++e) {
    const Event &p = *first[e], &q = *second[e];
    if (p.kind != q.kind || p.guards != q.guards || p.actions != q.actions) return 1.0;
    largest = std::max(largest, std::abs(p.t - q.t));
  }
  for (std::size_t j = 0; j < a.final().size(); ++j)
    largest = std::max(largest, std::abs(a.final()[j] - b.final()[j]) / (1.0 + std::abs(b.final()[j])));
  return largest;
}

// Two tolerances, and dopri5, which is less accurate than asked for sooner than others, show which models forget their
// errors; of these, flights and loop have the same events and values.
TEST(RandomFlights, AgreeWithTheLoop) {
  constexpr std::array methods{Method::dopri5, Method::dop853, Method::tsit5, Method::taylor};
  const int cases = random_cases(200), first = random_seed();
  int compared = 0, flown = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    RandomOscillator oscillator(seed);
    const CompiledModel model(oscillator.make());
    const Method method = methods[static_cast<std::size_t>(seed) % methods.size()];
    const auto run = [&](Method by, double tolerance, std::int64_t flights_after) {
      SimulateOptions o;
      o.stop = 150.0;
      o.rtol = o.atol = tolerance;
      o.method = by;
      o.flights_after = flights_after;
      o.keep_steps = false;
      o.max_steps = 50000;  // a relay on a position may switch faster and faster
      return simulate(model, o);
    };
    const Trajectory plain = run(method, 1e-9, -1);
    if (!plain.status().ok() || apart(plain, run(method, 1e-10, -1)) > 1e-6 ||
        apart(plain, run(Method::dopri5, 1e-9, -1)) > 1e-6)
      continue;
    const Trajectory own = run(method, 1e-9, 0);
    ++compared;
    flown += own.statistics().flown > 0 ? 1 : 0;
    EXPECT_LT(apart(own, plain), 1e-5) << "seed " << seed << ", kind " << oscillator.kind << ", " << to_string(method)
                                       << ": " << own.status().message << " " << own.events().size() << " events, not "
                                       << plain.events().size();
  }
  record_models(compared);
  expect_share(compared, 0.7, cases);
  expect_share(flown, 0.6, cases);
}

}  // namespace
}  // namespace saltus
