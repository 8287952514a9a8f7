// "Proved" means proved: what lies between the samples of a guard is found, or excluded, or said to be unknown.
#include <gtest/gtest.h>
#include <saltus/event/event_locator.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <random>

#include "event/signals.hpp"

namespace saltus {
namespace {

using testing::time_step;

constexpr double eps = std::numeric_limits<double>::epsilon();

/// A system x' = 1 with one guard that is a function of x and of two data.
struct Guarded {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr x{graph, graph->symbol("x", SymbolKind::variable)}, c{graph, graph->symbol("c", SymbolKind::parameter)},
      w{graph, graph->symbol("w", SymbolKind::parameter)};

  RecordedSystem system(const std::vector<Expr>& guards) {
    RecordedEquations equations;
    equations.variables = {x};
    equations.equations = {der(x) - 1.0};
    equations.data = {c, w};
    equations.guards = guards;
    return RecordedSystem(std::move(equations), {0.5, 0.1});
  }
};

/// All crossings of guard 0 in a step, as a controller finds them.
struct Crossings {
  std::vector<double> times;
  bool proved = true;
};

Crossings crossings(RecordedSystem& system, DensePolynomial step, EventLocator& locator, signed char side) {
  Crossings found;
  LocatedEvent event;
  GuardWatch watch{side, 0, 0.0};
  while (locator.earliest(system, step, {&watch, 1}, event) && found.times.size() < 100) {
    found.times.push_back(0.5 * (event.t_before + event.t_after));
    found.proved = found.proved && event.proved;
    watch = {static_cast<signed char>(-watch.side), 1, 0.0};
    DensePolynomial rest;
    step.tail(event.t_after, rest);
    step = rest;
  }
  found.proved = found.proved && locator.proved();
  return found;
}

/// x = s + bend s (1 - s) on the step from 0 to 1, which rises for |bend| < 1.
DensePolynomial bent_step(double bend) {
  DensePolynomial step = time_step(0.0, 1.0);
  step.degree = 2;
  step.c = {0.0, 1.0 + bend, -bend};
  return step;
}

/// Where x of bent_step is `value`.
double bent_time(double bend, double value) {
  // (1 + bend) s - bend s^2 = value, by the formula that does not cancel
  return 2.0 * value / (1.0 + bend + std::sqrt((1.0 + bend) * (1.0 + bend) - 4.0 * bend * value));
}

TEST(GuardProof, PulsesOfAnyWidthAreFound) {
  Guarded m;
  const Expr z = (m.x - m.c) / m.w;
  // each is negative for |z| < 1 alone
  const std::vector<Expr> shapes{std::exp(-1.0) - exp(-z * z),
                                 0.5 - 1.0 / (1.0 + z * z),
                                 z * z - 1.0,
                                 std::tanh(2.0) - tanh(z + 1.0) + tanh(z - 1.0),
                                 abs(z) - 1.0,
                                 1.0 / std::cosh(1.0) - 1.0 / cosh(z),
                                 pow(z, 4.0) - 1.0};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> place(0.05, 0.95), bending(-0.9, 0.9), exponent(-9.0, -2.0);
  EventLocator locator;
  constexpr int cases = 10000;
  std::vector<RecordedSystem> systems;
  for (const Expr& g : shapes) systems.push_back(m.system({g}));
  std::int64_t found = 0;
  for (int i = 0; i < cases; ++i) {
    RecordedSystem& system = systems[static_cast<std::size_t>(i) % systems.size()];
    const double c = place(random), w = std::pow(10.0, exponent(random)), bend = bending(random);
    system.set_data(std::vector{c, w});
    const Crossings events = crossings(system, bent_step(bend), locator, 1);
    ASSERT_EQ(events.times.size(), 2u) << "shape " << i % 7 << ", c = " << c << ", w = " << w << ", bend = " << bend;
    found += 1;
    EXPECT_TRUE(events.proved) << "shape " << i % 7 << ", c = " << c << ", w = " << w << ", bend = " << bend;
    // x is known to some eps, and x' > 0.1
    EXPECT_NEAR(events.times[0], bent_time(bend, c - w), 200.0 * eps);
    EXPECT_NEAR(events.times[1], bent_time(bend, c + w), 200.0 * eps);
  }
  EXPECT_EQ(found, cases);
  EXPECT_GT(locator.statistics().hidden, cases / 2);
}

TEST(GuardProof, PulsesThatStayOnTheirSideAreExcluded) {
  Guarded m;
  const Expr z = (m.x - m.c) / m.w;
  RecordedSystem system = m.system({1.001 - exp(-z * z)});
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> place(-0.2, 1.2), bending(-0.9, 0.9), exponent(-9.0, 0.0);
  EventLocator locator;
  for (int i = 0; i < 2000; ++i) {
    system.set_data(std::vector{place(random), std::pow(10.0, exponent(random))});
    const Crossings events = crossings(system, bent_step(bending(random)), locator, 1);
    EXPECT_TRUE(events.times.empty());
    EXPECT_TRUE(events.proved);
  }
}

TEST(GuardProof, AHiddenCrossingComesBeforeALaterOneThatSamplesShow) {
  Guarded m;
  const Expr z = (m.x - m.c) / m.w;
  RecordedSystem system = m.system({m.x * m.x - 0.64, 0.5 - exp(-z * z)});
  system.set_data(std::vector{0.3, 1e-5});
  const std::vector<GuardWatch> watch{{-1, 0, 0.0}, {1, 0, 0.0}};
  EventLocator locator;
  LocatedEvent event;
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(event.guards, std::vector{1});
  EXPECT_NEAR(event.t_after, 0.3 - 1e-5 * std::sqrt(std::numbers::ln2), 1e-15);
  EXPECT_TRUE(event.proved);
  // behind the other one it does not matter
  system.set_data(std::vector{0.9, 1e-5});
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(event.guards, std::vector{0});
  EXPECT_NEAR(event.t_after, 0.8, 4.0 * eps);
  EXPECT_TRUE(event.proved);
}

TEST(GuardProof, TimeMayRunBackwards) {
  Guarded m;
  const Expr z = (m.x - m.c) / m.w;
  RecordedSystem system = m.system({0.5 - exp(-z * z)});
  system.set_data(std::vector{0.3, 1e-6});
  EventLocator locator;
  const Crossings events = crossings(system, time_step(1.0, 0.0), locator, 1);
  ASSERT_EQ(events.times.size(), 2u);
  EXPECT_GT(events.times[0], events.times[1]);
  EXPECT_NEAR(events.times[0], 0.3 + 1e-6 * std::sqrt(std::numbers::ln2), 1e-15);
  EXPECT_TRUE(events.proved);
}

TEST(GuardProof, GuardsFarFromZeroNeedNoSamples) {
  Guarded m;
  RecordedSystem system = m.system({2.0 + sin(m.x) * cos(3.0 * m.x) + exp(-m.x)});
  EventLocator locator;
  EXPECT_TRUE(crossings(system, time_step(0.0, 1.0), locator, 1).times.empty());
  EXPECT_TRUE(locator.proved());
  EXPECT_EQ(locator.statistics().evaluations, 0);
  EXPECT_LE(locator.statistics().enclosures, 2);
}

TEST(GuardProof, TouchesAndOscillationsAreProved) {
  Guarded m;
  EventLocator locator;
  RecordedSystem touch = m.system({1.0 - sin(m.x)});
  EXPECT_TRUE(crossings(touch, time_step(0.0, 3.0), locator, 1).times.empty());
  EXPECT_TRUE(locator.proved());
  RecordedSystem near = m.system({1.0 + 1e-9 - sin(m.x)});
  EXPECT_TRUE(crossings(near, time_step(0.0, 3.0), locator, 1).times.empty());
  EXPECT_TRUE(locator.proved());
  RecordedSystem pair = m.system({1.0 - 1e-9 - sin(m.x)});
  const Crossings both = crossings(pair, time_step(0.0, 3.0), locator, 1);
  ASSERT_EQ(both.times.size(), 2u);
  EXPECT_TRUE(both.proved);
  RecordedSystem fast = m.system({0.5 - sin(100.0 * m.x)});
  const Crossings many = crossings(fast, time_step(0.0, 1.0), locator, 1);
  EXPECT_EQ(many.times.size(), 32u);  // 100 = 15.9 turns with two crossings each; sin 100 = -0.5 comes behind the last
  EXPECT_TRUE(many.proved);
}

// Branches that no lock fixes may change within the step: nothing is proved where that may matter.
TEST(GuardProof, JumpsWithoutLocksAreNotCalledProved) {
  Guarded m;
  const Expr inside = if_else(m.x > m.c && m.x < m.c + m.w, Expr(-1.0), Expr(1.0));
  RecordedSystem system = m.system({inside + 1e-3 * m.x * m.x});
  EventLocator locator;
  system.set_data(std::vector{0.4, 1e-7});
  const Crossings events = crossings(system, time_step(0.0, 1.0), locator, 1);
  EXPECT_TRUE(events.times.size() == 2 || !events.proved);
  system.set_data(std::vector{1.4, 1e-7});  // out of reach
  EXPECT_TRUE(crossings(system, time_step(0.0, 1.0), locator, 1).proved);
}

TEST(GuardProof, ForeignCodeIsResolvedButNotProved) {
  Guarded m;
  auto root = std::make_shared<ExternalFunction>();
  root->name = "root";
  root->inputs = root->outputs = 1;
  root->values = [](std::span<const double> in, std::span<double> out) { out[0] = std::sqrt(1.0 + in[0]); };
  RecordedSystem system = m.system({call(root, std::vector{m.x})[0]});
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  EXPECT_FALSE(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event));
  EXPECT_TRUE(locator.resolved());
  EXPECT_FALSE(locator.proved());
}

TEST(GuardProof, TheWorkIsBounded) {
  Guarded m;
  EventOptions options;
  options.max_enclosures = 100;
  EventLocator locator(options);
  const Expr s = sin(1e9 * m.x), c = cos(1e9 * m.x);
  RecordedSystem system = m.system({s * s + c * c - 0.5});  // seen as in [-0.5, 1.5]
  EXPECT_TRUE(crossings(system, time_step(0.0, 1.0), locator, 1).times.empty());
  EXPECT_FALSE(locator.proved());
  EXPECT_LE(locator.statistics().enclosures, 110);
}

}  // namespace
}  // namespace saltus
