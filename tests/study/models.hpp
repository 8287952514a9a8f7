// Small models whose answers are known, and the bits of results.
#pragma once

#include <saltus/study/run_study.hpp>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace saltus::testing {

/// A driven oscillator between walls: impacts with loss at x = 1, periodic force.
inline Model impact_oscillator() {
  Model m("impact");
  const Expr omega = m.parameter("omega", 0.8), e = m.parameter("e", 0.7);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  const Expr T = m.variable("T");
  m.equation(der(x) == v);
  m.equation(der(v) == cos(omega * m.time()) - x - 0.1 * v);
  m.equation(T == 6.283185307179586 / omega);
  m.when(x > 1.0).reset(v, -e * v);
  return m;
}

/// Dry friction under a harmonic force: sticks and slips.
inline Model dry_friction() {
  Model m("friction");
  const Expr r = m.parameter("r", 3.0), F = m.parameter("F", 0.4);
  const Expr x = m.variable("x", 0.1, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == sin(m.time() / r) - x - F * sign(v));
  return m;
}

/// A pendulum in Cartesian coordinates, of index 3, that falls against a wall: the rod takes its share of each impact.
inline Model pendulum_at_a_wall() {
  Model m("pendulum");
  const Expr loss = m.parameter("restitution", 0.9), wall = m.parameter("wall", -0.3);
  const Expr x = m.variable("x", 0.8), y = m.variable("y", -0.6), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
             force = m.variable("force", 0.0);
  const Expr impacts = m.discrete("impacts", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -force * x);
  m.equation(der(v) == -force * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  m.when(x < wall).reset(u, -loss * u).assign(impacts, m.pre(impacts) + 1.0);
  return m;
}

/// Decay: x = exp(-a t), y = 1/x.
inline Model decay() {
  Model m("decay");
  const Expr a = m.parameter("a", 1.0);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y");
  m.equation(der(x) == -a * x);
  m.equation(y == 1.0 / x);
  return m;
}

inline std::vector<std::uint64_t> bits(const StudyResult& result) {
  std::vector<std::uint64_t> all;
  for (const StudyArray& array : result.arrays())
    for (const double value : result.values(array.name)) all.push_back(std::bit_cast<std::uint64_t>(value));
  for (const MemberFailure& failure : result.failures(1'000'000)) {
    all.push_back(static_cast<std::uint64_t>(failure.index));
    for (const char c : failure.message) all.push_back(static_cast<std::uint64_t>(c));
  }
  return all;
}

/// Samples at each period of the force, on a grid.
inline StudyPlan impact_plan(std::int64_t count) {
  return {.axes = {{"e", 0.6, 0.8, 2}, {"omega", 0.6, 1.6, count}},
          .simulate = {.rtol = 1e-6, .atol = 1e-6},
          .sampling = {.at = SampleAt::period, .variable = "T", .transient = 5, .keep = 4},
          .collect = {{Collect::sample, "x"}, {Collect::sample, "v"}, {Collect::maximum, "v"}, {Collect::mean, "x"}}};
}

}  // namespace saltus::testing
