// Models that together need most of what a run can need: sliding, contact, samples, explicit modes, hidden constraints,
// dormant guards.
#pragma once

#include <saltus/saltus.hpp>

#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace saltus::testing {

/// Two bodies that rub against each other: slides on v1 = v2.
inline Model stick_slip() {
  Model m("stick-slip");
  const Expr p1 = m.variable("p1", 1.0), p2 = m.variable("p2", 1.0), v1 = m.variable("v1", 0.0),
             v2 = m.variable("v2", 0.0);
  m.equation(der(p1) == v1);
  m.equation(der(p2) == v2);
  m.equation(der(v1) == sin(m.time()) - 0.4 * sign(v1 - v2));
  m.equation(der(v2) == 0.4 * sign(v1 - v2));
  return m;
}

/// A ball that comes to rest after infinitely many bounces, on a table that begins to move.
inline Model ball_on_table() {
  Model m("ball on table");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), n = m.discrete("n", 0.0),
             energy = m.variable("energy");
  m.equation(der(h) == v);
  m.equation(der(v) == if_else(m.time() > 4.0, Expr(3.0), Expr(-9.81)));
  m.equation(energy == 9.81 * h + 0.5 * v * v);
  m.when(h < 0.0).reset(v, -0.5 * v).assign(n, m.pre(n) + 1.0);
  return m;
}

/// A pendulum in Cartesian coordinates, index 3, with a guard on the force.
inline Model pendulum() {
  Model m("pendulum");
  const Expr x = m.variable("x", -0.8, {.fixed = true}), y = m.variable("y", -0.6), F = m.variable("F", 0.0);
  const Expr u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0);
  const Expr strong = m.discrete("strong", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -F * x - if_else(x > 0.0, Expr(0.1), Expr(0.3)) * u);
  m.equation(der(v) == -F * y - 9.81);
  m.equation(x * x + y * y == 1.0);
  m.when(F > 15.0).assign(strong, m.pre(strong) + 1.0);
  return m;
}

/// A sampled controller of a plant with a relay, and an output that is computed.
inline Model sampled_control() {
  Model m("sampled control");
  const Expr x = m.variable("x", 1.0), y = m.variable("y"), u = m.discrete("u", 0.0), count = m.discrete("count", 0.0);
  m.equation(der(x) == sin(m.time()) - 0.3 * x + u + if_else(x > 0.2, Expr(-0.1), Expr(0.2)));
  m.equation(y == x * x + u);
  m.when(m.sample(0.25, 0.25)).assign(u, -1.2 * x).assign(count, m.pre(count) + 1.0);
  return m;
}

/// Explicit modes with resets, and a branch whose relation is dormant in the other one.
inline Model heater() {
  Model m("heater");
  const Expr T = m.variable("T", 18.0), wear = m.variable("wear", 0.0);
  m.equation(der(wear) == if_else(T > 20.0, if_else(T > 21.5, Expr(2.0), Expr(1.0)), Expr(0.0)));
  ExplicitMode on = m.mode("on"), off = m.mode("off");
  on.equation(der(T) == 5.0 - 0.1 * T);
  off.equation(der(T) == -0.1 * T);
  on.transition(T > 22.0).to(off).reset(T, T - 0.1);
  off.transition(T < 19.0).to(on);
  return m;
}

/// A stiff relay with hidden algebra: a rectifier of one ideal diode.
inline Model rectifier() {
  Model m("rectifier");
  const Expr s = m.variable("s"), i = m.variable("i"), u = m.variable("u"), c = m.variable("c", 0.0, {.fixed = true});
  m.equation(i == if_else(s > 0.0, s, Expr(0.0)));
  m.equation(u == if_else(s > 0.0, Expr(0.0), s));
  m.equation(sin(m.time()) - c == u + 0.01 * i);
  m.equation(der(c) == i - 0.5 * c);
  return m;
}

struct Case {
  std::function<Model()> model;
  SimulateOptions options;
};

inline std::vector<Case> cases() {
  return {{stick_slip, {.stop = 10.0, .rtol = 1e-8, .atol = 1e-8}},
          {stick_slip, {.stop = 10.0, .method = Method::taylor}},
          {ball_on_table, {.stop = 5.0}},
          {ball_on_table, {.stop = 5.0, .method = Method::radau}},
          {pendulum, {.stop = 2.0}},
          {pendulum, {.stop = 2.0, .method = Method::radau}},
          {pendulum, {.stop = 2.0, .method = Method::rodas5p}},
          {sampled_control, {.stop = 6.0}},
          {sampled_control, {.stop = 6.0, .method = Method::bdf}},
          {heater, {.stop = 30.0}},
          {heater, {.stop = 30.0, .method = Method::dop853}},
          {rectifier, {.stop = 15.0}}};
}

/// Numbers as bits: results must be the same, not only equal within a tolerance.
class Fingerprint {
 public:
  void add(double value) { bits_.push_back(std::bit_cast<std::uint64_t>(value)); }
  void add(const std::vector<double>& values) {
    add(static_cast<double>(values.size()));
    for (const double value : values) add(value);
  }
  void add(const std::string& text) { texts_.push_back(text); }
  bool operator==(const Fingerprint&) const = default;
  std::size_t size() const { return bits_.size(); }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::string> texts_;
};

inline Fingerprint fingerprint(const Trajectory& run) {
  Fingerprint f;
  f.add(run.status().message);
  f.add(run.status().mode);
  f.add(run.statistics().method);
  f.add(static_cast<double>(run.statistics().steps));
  for (const Event& e : run.events()) {
    f.add(e.t);
    f.add(e.describe());
    f.add(e.mode_after);
    for (const auto* values : {&e.before, &e.after, &e.slope_before, &e.slope_after, &e.weights}) f.add(*values);
  }
  const Trajectory::Samples samples = run.sample(20);
  f.add(samples.t);
  for (const auto& values : samples.values) f.add(values);
  for (const Trajectory::Segment& segment : run.segments())
    for (const Trajectory::Step& step : segment.steps) f.add(step.polynomial.c);
  f.add(run.final());
  return f;
}

/// Calls work(0) … work(count - 1), each in a thread of its own.
inline void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int k = 0; k < count; ++k) threads.emplace_back([&work, k] { work(k); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace saltus::testing
