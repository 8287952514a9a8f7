// Events cost no memory beyond what their record takes: thousands of them allocate as often as the arrays of the record grow.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>

#include "suites/count_allocations.hpp"

namespace saltus {
namespace {

/// Allocations between the given numbers of events.
std::int64_t allocations_between(const Model& m, double stop, std::int64_t first, std::int64_t last) {
  std::int64_t begin = -1, end = -1;
  SimulateOptions o{.stop = stop, .rtol = 1e-6, .atol = 1e-6, .method = Method::dopri5, .keep_steps = false};
  o.progress = [&](const Progress& p) {
    if (p.events >= first && begin < 0) begin = suite::allocations();
    if (p.events >= last && end < 0) end = suite::allocations();
    return end < 0;
  };
  const Trajectory run = simulate(m, o);
  EXPECT_GE(end, 0) << run.status().message;
  EXPECT_EQ(run.events().size(), static_cast<std::size_t>(run.statistics().events));
  return end - begin;
}

// The record has eight arrays, of which six may grow with every event; from 2500 to 5000 events each of them doubles once or twice.
constexpr std::int64_t growth = 12;

TEST(Allocation, ImpactsAllocateNothing) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v);
  EXPECT_LE(allocations_between(m, 1e5, 2500, 5000), growth);
}

TEST(Allocation, ImpactsThatAreCountedAllocateNothing) {  // no two of them begin in the same mode
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), hits = m.discrete("hits", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v).assign(hits, m.pre(hits) + 1.0);
  EXPECT_LE(allocations_between(m, 1e5, 2500, 5000), growth);
}

TEST(Allocation, CrossingsAllocateNothing) {
  Model m("relay");
  const Expr x = m.variable("x", 0.5), y = m.variable("y", 0.0);
  m.equation(der(x) == y);
  m.equation(der(y) == -x - 0.1 * if_else(x > 0.3, Expr(1.0), Expr(-1.0)));
  EXPECT_LE(allocations_between(m, 1e5, 2500, 5000), growth);
}

TEST(Allocation, ASampledControllerAllocatesNothing) {
  Model m("sampled");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 0.0);
  m.equation(der(x) == -0.1 * x + u + sin(m.time()));
  m.when(m.sample(0.0, 0.1)).assign(u, -0.5 * x);
  EXPECT_LE(allocations_between(m, 1e5, 2500, 5000), growth);
}

TEST(Allocation, SamplesOfAResultAllocateNothingPerTime) {
  Model m("oscillator");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), energy = m.variable("energy");
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.equation(energy == x * x + v * v);
  const Trajectory run = simulate(m, {.stop = 10.0});
  const std::vector<int> all = {0, 1, 2};
  const auto allocations_of = [&](std::size_t count) {
    std::vector<double> times(count), out(3 * count);
    for (std::size_t i = 0; i < count; ++i) times[i] = 10.0 * static_cast<double>(i) / static_cast<double>(count - 1);
    const std::int64_t before = suite::allocations();
    run.sample(times, all, out);
    EXPECT_NEAR(out.back(), 1.0, 1e-5);  // the energy at the end
    return suite::allocations() - before;
  };
  allocations_of(400);  // the reader of the result is made
  EXPECT_EQ(allocations_of(4000), allocations_of(400));
}

}  // namespace
}  // namespace saltus
