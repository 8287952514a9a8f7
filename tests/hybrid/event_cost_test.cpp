// An event touches what the event touches: what it asks about single guards, the systems that it makes and what is kept
// of it do not grow with the number of cells of a model. (A step evaluates all equations and guards; that is the
// stepper's part.)
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "suites/count_allocations.hpp"
#include "suites/forwarding_system.hpp"

namespace saltus {
namespace {

/// Counts what is asked about one guard, and the systems that are handed out.
class CountingSystem final : public suite::ForwardingSystem {
 public:
  using ForwardingSystem::ForwardingSystem;

  std::unique_ptr<HybridSystem> instance() const override { return nullptr; }
  System& system(const Mode& mode) override {
    System& found = behind().system(mode);
    systems.insert(&found);
    return found;
  }
  int side(const Mode& mode, int guard) const override {
    ++questions;
    return behind().side(mode, guard);
  }
  void set_side(Mode& mode, int guard, int side) const override {
    ++questions;
    behind().set_side(mode, guard, side);
  }
  void rest(Mode& mode, int guard) const override {
    ++questions;
    behind().rest(mode, guard);
  }
  bool rests(const Mode& mode, int guard) const override {
    ++questions;
    return behind().rests(mode, guard);
  }
  bool follow(Mode& mode, int guard, double value, int side) const override {
    ++questions;
    return behind().follow(mode, guard, value, side);
  }

  mutable std::int64_t questions = 0;
  std::set<const System*> systems;
};

std::string name(const char* letter, int i) {
  return letter + std::to_string(i);
}

Model thermostats(int n) {
  Model m("thermostats");
  std::vector<Expr> T;
  for (int i = 0; i < n; ++i) T.push_back(m.variable(name("T", i), 20.0 + 0.7 * std::sin(1.7 * i)));
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Expr on = m.discrete(name("on", i), 1.0), &left = T[i > 0 ? k - 1 : k], &right = T[i + 1 < n ? k + 1 : k];
    m.equation(der(T[k]) ==
               on * (3.0 + 0.5 * std::sin(0.3 * i)) - 0.08 * (T[k] - 5.0) + 0.01 * (left - 2.0 * T[k] + right));
    m.when(T[k] > 21.0).assign(on, 0.0);
    m.when(T[k] < 19.0).assign(on, 1.0);
  }
  return m;
}

/// x'' = -sign(x), and springs between neighbours.
Model relays(int n) {
  Model m("relays");
  std::vector<Expr> x;
  for (int i = 0; i < n; ++i) x.push_back(m.variable(name("x", i), std::sin(1.7 * i)));
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Expr v = m.variable(name("v", i), std::cos(2.3 * i)), &left = x[i > 0 ? k - 1 : k],
               &right = x[i + 1 < n ? k + 1 : k];
    m.equation(der(x[k]) == v);
    m.equation(der(v) == if_else(x[k] > 0.0, -1.0, 1.0) + 0.01 * (left - 2.0 * x[k] + right));
  }
  return m;
}

/// Blocks that a belt carries along, and springs between neighbours.
Model blocks(int n) {
  Model m("blocks");
  std::vector<Expr> x;
  for (int i = 0; i < n; ++i) x.push_back(m.variable(name("x", i), 0.3 * std::sin(1.7 * i)));
  for (int i = 0; i < n; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Expr v = m.variable(name("v", i), 0.5 * std::cos(2.3 * i)), &left = x[i > 0 ? k - 1 : k],
               &right = x[i + 1 < n ? k + 1 : k];
    m.equation(der(x[k]) == v);
    m.equation(der(v) == -x[k] + 2.0 * (left - 2.0 * x[k] + right) + if_else(v > 0.1, -1.0, 1.0));
  }
  return m;
}

/// Balls that come to rest one after the other, and stay in contact with the floor.
Model balls(int n) {
  Model m("balls");
  std::vector<double> heights;
  for (int i = 0; i < n; ++i) heights.push_back(0.05 + 0.05 * i / n);
  const Array h = m.array("h", n, heights, {.fixed = true}), v = m.array("v", n, 0.0, {.fixed = true});
  m.for_each(n, [&](const Index& i) {
    m.equation(der(h[i]) == v[i]);
    m.equation(der(v[i]) == -10.0);
    m.when(h[i] < 0.0).reset(v[i], -0.3 * v[i]);
  });
  return m;
}

struct Cost {
  double events, questions, systems;  // events in all; the others by event
};

/// The cost of the events in the second half of a run: the first one makes what all of them use.
Cost cost_of_events(const Model& model, double stop) {
  const auto counting = std::make_shared<CountingSystem>(std::make_shared<CompiledModel>(model));
  SimulateOptions options{.stop = stop, .rtol = 1e-6, .atol = 1e-6};
  Simulator simulator(counting, options);
  while (!simulator.finished() && simulator.t() < 0.5 * stop) simulator.step();
  const auto events_before = static_cast<double>(simulator.trajectory().statistics().events);
  const auto questions_before = static_cast<double>(counting->questions);
  counting->systems.clear();
  while (!simulator.finished()) simulator.step();
  EXPECT_TRUE(simulator.trajectory().status().ok()) << simulator.trajectory().status().message;
  const double events = static_cast<double>(simulator.trajectory().statistics().events) - events_before;
  return {events, (static_cast<double>(counting->questions) - questions_before) / events,
          static_cast<double>(counting->systems.size()) / events};
}

TEST(CostOfEvents, QuestionsAndSystemsDoNotGrowWithTheModel) {
  struct Case {
    std::function<Model(int)> model;
    double time;  // with 100 cells
  };
  for (const Case& c : {Case{thermostats, 2.0}, Case{relays, 3.0}, Case{blocks, 0.3}}) {
    const Cost small = cost_of_events(c.model(100), c.time), large = cost_of_events(c.model(1000), 0.1 * c.time);
    SCOPED_TRACE(c.model(1).name());
    ASSERT_GT(small.events, 20);
    ASSERT_GT(large.events, 20);
    EXPECT_LE(large.questions, 1.5 * small.questions);
    EXPECT_LE(large.questions, 60);
    EXPECT_LE(large.systems, 1.5 * small.systems);
  }
}

/// Bytes that are held at most during a run, and those of its polynomials.
struct Memory {
  double held, polynomials, events;
};

Memory memory_of(const std::shared_ptr<HybridSystem>& model, double stop) {
  suite::forget_peak();
  const Trajectory run = simulate(model, {.stop = stop, .rtol = 1e-6, .atol = 1e-6});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  Memory memory{static_cast<double>(suite::peak_bytes()), 0.0, static_cast<double>(run.statistics().events)};
  const DensePolynomial* shared = nullptr;  // by the pieces of a step with events in parts
  for (const Trajectory::Segment& segment : run.segments())
    for (const Trajectory::Step& step : segment.steps) {
      memory.polynomials += static_cast<double>(step.polynomial.c.capacity() * sizeof(double));
      if (!step.polynomial.parts || step.polynomial.parts->all.get() == shared) continue;
      shared = step.polynomial.parts->all.get();
      memory.polynomials += static_cast<double>(shared->c.capacity() * sizeof(double));
    }
  return memory;
}

/// The discrete state has thousands of numbers. All but a few stay as they are at an event, and are not kept again.
TEST(CostOfEvents, AnEventKeepsWhatItChanges) {
  constexpr int n = 1000;
  struct Case {
    std::function<Model(int)> model;
    double time;
  };
  for (const Case& c : {Case{thermostats, 0.3}, Case{relays, 0.8}}) {
    const auto model = std::make_shared<CompiledModel>(c.model(n));
    const Memory one = memory_of(model, c.time), two = memory_of(model, 2.0 * c.time);
    const double events = two.events - one.events;
    ASSERT_GT(events, 50);
    const double beside = (two.held - one.held - (two.polynomials - one.polynomials)) / events;
    EXPECT_LE(beside, 4000.0) << c.model(1).name() << ": bytes by event";
  }
}

/// The same for the surfaces on which a mode stays: a ball that comes to rest does not keep those that rest already.
TEST(CostOfEvents, AnEventKeepsTheSurfacesThatItChanges) {
  constexpr int n = 4000;
  const std::shared_ptr<HybridSystem> model = compile(balls(n));
  const Memory run = memory_of(model, 0.4);
  ASSERT_GT(run.events, 10 * n);
  EXPECT_LE((run.held - run.polynomials) / run.events, 3500.0);
}

/// Counts the modes with slides that are asked for.
class SlideCounter final : public suite::ForwardingSystem {
 public:
  using ForwardingSystem::ForwardingSystem;
  std::unique_ptr<HybridSystem> instance() const override { return nullptr; }
  System& system(const Mode& mode) override {
    slides += mode.sliding.empty() ? 0 : 1;
    return behind().system(mode);
  }
  int slides = 0;
};

// Two rigidly coupled shafts start from rest against the torque of a fan, w^2 or -w^2 by the sign of w, where w is no
// variable but the derivative of an angle. Both sides agree where w is zero: there is nothing to slide on, and no slide
// is analysed, which takes long in modes with hidden constraints. With a torque that jumps at w = 0 slides are tried.
TEST(EventCost, NoSlideIsTriedWhereBothSidesAgree) {
  for (const double jump : {0.0, 0.1}) {
    Model m("fan");
    const Expr phi = m.variable("phi", 0.0), load = m.variable("load"), between = m.variable("between");
    const Expr w = m.variable("w", 0.0), u = m.variable("u"), torque = m.variable("torque");
    m.equation(u == if_else(m.time() >= 1.0, 1.0, 0.0));
    m.equation(load == phi);
    m.equation(w == der(phi));
    m.equation(0.5 * der(w) == u - between);
    m.equation(0.5 * der(w) == between - torque);
    m.equation(torque == if_else(der(load) >= 0.0, pow(der(load), 2.0) + jump, -pow(der(load), 2.0) - jump));
    const auto system = std::make_shared<SlideCounter>(std::make_shared<CompiledModel>(m));
    const Trajectory run = simulate(system, {.stop = 2.0, .rtol = 1e-8});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    if (jump > 0.0) {
      EXPECT_GT(system->slides, 0);
      continue;
    }
    EXPECT_EQ(system->slides, 0);
    EXPECT_NEAR(run.at(2.0, "w"), std::tanh(1.0), 1e-7);
    EXPECT_NEAR(run.at(2.0, "phi"), std::log(std::cosh(1.0)), 1e-7);
  }
}

// Two guards read variables that equations make of time, and vanish together. No weight keeps them at zero: of each
// slide the structure is looked at, once, and no values are sought, which would take long.
TEST(EventCost, NoValuesAreSoughtForSlidesWhoseStructureLeavesWeightsOpen) {
  Model m("driven");
  const Expr v = m.variable("v"), w = m.variable("w"), x = m.variable("x", 0.0);
  m.equation(v + v * v * v == sin(m.time() + 1.0));
  m.equation(w + w * w * w == 2.0 * sin(m.time() + 1.0));
  m.equation(der(x) == if_else(v > 0.0, Expr(1.0), Expr(-2.0)) + if_else(w > 0.0, Expr(1.0), Expr(-3.0)));
  const auto system = std::make_shared<SlideCounter>(std::make_shared<CompiledModel>(m));
  const Trajectory run = simulate(system, {.stop = 3.0, .rtol = 1e-8});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double zero = std::acos(-1.0) - 1.0;
  EXPECT_NEAR(run.at(3.0, "x"), 2.0 * zero - 5.0 * (3.0 - zero), 1e-7);
  EXPECT_EQ(system->slides, 5);  // of the nine combinations of two surfaces these have slides
}

}  // namespace
}  // namespace saltus
