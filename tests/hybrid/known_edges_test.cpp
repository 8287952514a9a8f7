// Events that are like one before follow a known edge instead of being settled anew. That must not be seen in the
// results: every number is the same as in a run of the same model that does not allow it.
#include <saltus/saltus.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "suites/forwarding_system.hpp"

namespace saltus {
namespace {

/// A model that counts how often its discrete part runs, and allows events to be repeated or not.
class Observed final : public suite::ForwardingSystem {
 public:
  Observed(const Model& model, bool familiar)
      : ForwardingSystem(std::make_shared<CompiledModel>(model)), familiar_(familiar) {}
  int transitions = 0;
  mutable int settled = 0;  // instants: only a search asks for all positions
  std::unique_ptr<HybridSystem> instance() const override { return nullptr; }
  bool acts_alike(const Mode& a, const Mode& b) const override { return familiar_ && behind().acts_alike(a, b); }
  void positions(const Mode& mode, std::vector<Position>& all) const override {
    ++settled;
    behind().positions(mode, all);
  }
  bool transition(const EventInput& input, Transition& transition) override {
    ++transitions;
    return behind().transition(input, transition);
  }

 private:
  bool familiar_;
};

/// Runs the model with and without repetitions, and returns how many runs of the discrete part they save.
int compare(const Model& model, double stop, Method method = Method::dopri5) {
  const auto familiar = std::make_shared<Observed>(model, true), other = std::make_shared<Observed>(model, false);
  const SimulateOptions options{.stop = stop, .method = method, .keep_steps = false};
  const Trajectory run = simulate(familiar, options), expected = simulate(other, options);
  EXPECT_EQ(run.status().message, expected.status().message);
  EXPECT_EQ(run.statistics().steps, expected.statistics().steps);
  EXPECT_EQ(run.events().size(), expected.events().size());
  EXPECT_EQ(run.chattering().size(), expected.chattering().size());
  for (std::size_t k = 0; k < std::min(run.events().size(), expected.events().size()); ++k) {
    const Event &a = run.events()[k], &b = expected.events()[k];
    const bool same = a.t == b.t && a.kind == b.kind && a.guards == b.guards && a.direction == b.direction &&
                      a.slope_before == b.slope_before && a.slope_after == b.slope_after && a.actions == b.actions &&
                      a.mode_before == b.mode_before && a.mode_after == b.mode_after && a.before == b.before &&
                      a.after == b.after && a.jump == b.jump && a.cause == b.cause && a.proved == b.proved &&
                      a.surfaces == b.surfaces && a.weights == b.weights && a.contacts == b.contacts &&
                      a.message == b.message;
    EXPECT_TRUE(same) << "event " << k << " at t = " << b.t << ": " << a.describe() << " instead of " << b.describe();
    if (!same) break;
  }
  return other->transitions - familiar->transitions;
}

TEST(KnownEdges, AreRepeated) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v);
  // the first impact takes three rounds, each of the others one
  const Trajectory run = simulate(m, {.stop = 90.0, .method = Method::dopri5});
  EXPECT_EQ(compare(m, 90.0), 2 * (static_cast<int>(run.events().size()) - 1));
}

TEST(KnownEdges, MayDifferInNumbers) {
  Model m("counted");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), hits = m.discrete("hits", 0.0),
             largest = m.discrete("largest", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v).assign(hits, m.pre(hits) + 1.0).assign(largest, max(m.pre(largest), -v));
  const Trajectory run = simulate(m, {.stop = 90.0, .method = Method::dopri5});
  EXPECT_EQ(run.at(90.0, "hits"), static_cast<double>(run.events().size()));
  EXPECT_EQ(compare(m, 90.0), 2 * (static_cast<int>(run.events().size()) - 1));
}

TEST(KnownEdges, MayComeByTime) {
  Model m("sampled");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 0.0), k = m.discrete("k", 0.0);
  m.equation(der(x) == u - 0.5 * x);
  m.when(m.sample(0.0, 0.125)).assign(u, 0.3 * sin(m.time()) - 2.0 * x).assign(k, m.pre(k) + 1.0);
  EXPECT_GT(compare(m, 30.0), 200);
  // a sawtooth: the crossings of a period are like those of others, although its number is another one
  Model saw("saw");
  const Expr y = saw.variable("y", 0.3);
  saw.equation(der(y) == if_else(y < mod(saw.time(), 1.0), Expr(1.5), Expr(-0.4)) - 0.1 * y);
  compare(saw, 50.0);
}

TEST(KnownEdges, DoNotIgnoreNumbersThatDecide) {
  // every third impact is another one, by a condition on the counter
  Model m("third");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0), hits = m.discrete("hits", 0.0),
             slow = m.discrete("slow", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -v).assign(hits, m.pre(hits) + 1.0);
  m.when(hits > 2.5).assign(slow, m.pre(slow) + 1.0).assign(hits, Expr(0.0));
  compare(m, 20.0);
  const Trajectory run = simulate(m, {.stop = 20.0});
  const double impacts = static_cast<double>(run.events().size());
  EXPECT_EQ(run.at(20.0, "slow"), std::floor(impacts / 3.0));
}

TEST(KnownEdges, OfManyKindsAreAsOthers) {
  int saved = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::mt19937 bits(seed);
    std::uniform_real_distribution<double> uniform(0.0, 1.0);
    const auto random = [&](double low, double high) { return low + (high - low) * uniform(bits); };
    Model m("box");  // two bodies between walls that lose energy, with friction, a relay and a counter
    const Expr x = m.variable("x", random(-0.5, 0.5)), v = m.variable("v", random(-3.0, 3.0));
    const Expr y = m.variable("y", random(-0.5, 0.5)), w = m.variable("w", random(-3.0, 3.0)), T = m.variable("T", 0.0);
    const Expr on = m.discrete("on", 1.0), hits = m.discrete("hits", 0.0);
    const double friction = random(0.0, 0.5), drive = random(0.0, 3.0), elastic = random(0.6, 1.0);
    m.equation(der(x) == v);
    m.equation(der(v) == drive * sin(random(1.0, 4.0) * m.time()) - friction * sign(v));
    m.equation(der(y) == w);
    m.equation(der(w) ==
               -random(0.0, 4.0) * y + (seed % 2 == 0 ? 0.3 * on : Expr(0.0)) - 9.81 * (seed % 3 == 0 ? 1.0 : 0.0));
    m.equation(der(T) == random(0.5, 3.0) * on - T);
    m.when(x > 1.0).reset(v, -elastic * v);
    m.when(x < -1.0).reset(v, -elastic * v);
    m.when(y < -1.0).reset(w, -elastic * m.pre(w));
    if (seed % 4 == 0) m.when(y > x).assign(hits, m.pre(hits) + 1.0);
    if (seed % 3 == 1) m.when(m.sample(0.0, random(0.1, 0.7))).reset(T, 0.5 * T).assign(hits, m.pre(hits) + x);
    m.when(T > 0.4).assign(on, Expr(0.0));
    m.when(T < 0.2).assign(on, Expr(1.0));
    saved += compare(m, 15.0, seed % 5 == 0 ? Method::taylor : seed % 7 == 0 ? Method::dop853 : Method::dopri5);
    if (HasFailure()) return;
  }
  EXPECT_GT(saved, 500);
}

TEST(KnownEdges, ThatLeadElsewhereAreSettledAnew) {
  // the same guard falls in the same mode, but what is met behind the reset is another one each time
  Model m("ladder");
  const Expr x = m.variable("x", 1.0), level = m.variable("level", 0.0);
  m.equation(der(x) == -1.0);
  m.equation(der(level) == 0.0);
  m.when(x < 0.0).reset(x, Expr(1.0)).reset(level, m.pre(level) + 0.3);
  m.when(level > 1.0).reset(level, Expr(0.0));
  compare(m, 30.5);
  const Trajectory run = simulate(m, {.stop = 30.5});
  int resets = 0;
  for (const Event& event : run.events()) resets += event.actions.size() == 2 ? 1 : 0;
  EXPECT_EQ(resets, 7);  // every fourth of thirty
}

TEST(KnownEdges, NeedActionsByTheModeAlone) {
  Model m("assertion");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -1.0);
  m.when(x < 0.0).reset(x, Expr(1.0));
  const auto alike = [&] {
    const CompiledModel compiled(m);
    return compiled.acts_alike(compiled.initial_mode(), compiled.initial_mode());
  };
  EXPECT_TRUE(alike());
  m.assertion(m.time() < 3.5, "time is over");
  EXPECT_FALSE(alike());
  EXPECT_EQ(simulate(m, {.stop = 10.0}).status().code, StatusCode::assertion_failed);
}

/// A mass with dry friction, driven: it sticks and slips.
Model friction(double force, double frequency, bool by_sign) {
  Model m("friction");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 1.0);
  m.equation(der(x) == v);
  m.equation(der(v) ==
             sin(frequency * m.time()) - x - force * (by_sign ? sign(v) : if_else(v > 0.0, Expr(1.0), Expr(-1.0))));
  return m;
}

TEST(KnownEdges, OntoAndOffSurfaces) {
  // each stick and slip takes a round of the discrete part, and none if it is known
  for (const bool by_sign : {false, true}) EXPECT_GT(compare(friction(0.4, 1.0 / 3.0, by_sign), 600.0), 80);
  std::mt19937 random(11);
  std::uniform_real_distribution<double> force(0.05, 0.95), frequency(0.15, 2.0);
  for (int k = 0; k < 30; ++k) {
    const double F = force(random), w = frequency(random);
    SCOPED_TRACE(testing::Message() << "F = " << F << ", w = " << w);
    const Method method = k % 3 == 0 ? Method::dopri5 : k % 3 == 1 ? Method::dop853 : Method::taylor;
    compare(friction(F, w, k % 2 == 0), 40.0 / w, method);
  }
}

TEST(KnownEdges, OntoAndOffSurfacesThatMeet) {
  std::mt19937 random(12);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  for (int k = 0; k < 20; ++k) {
    const double F1 = 0.1 + 0.5 * unit(random), F2 = 0.1 + 0.5 * unit(random), w = 0.5 + unit(random);
    SCOPED_TRACE(testing::Message() << "F1 = " << F1 << ", F2 = " << F2 << ", w = " << w);
    Model m("chain");
    const Expr x = m.variable("x", 0.5), v = m.variable("v", 0.1), y = m.variable("y", -0.2), u = m.variable("u", 0.3);
    const Expr slips = m.discrete("slips", 0.0);
    m.equation(der(x) == v);
    m.equation(der(y) == u);
    m.equation(der(v) == y - 2.0 * x - F1 * sign(v - 0.2 * sin(m.time())));
    m.equation(der(u) == x - y + sin(w * m.time()) - F2 * sign(u));
    if (k % 2 == 0) m.when(u > 0.0).assign(slips, m.pre(slips) + 1.0);
    compare(m, 60.0, k % 4 < 2 ? Method::dopri5 : Method::dop853);
  }
}

TEST(KnownEdges, OntoASurfaceThatMayBeCrossed) {
  // the surface is crossed or kept, by turns: what was done the last time is not what is right the next time
  for (const double strength : {0.3, 0.6, 0.9, 1.2}) {
    Model m("relay");
    const Expr x = m.variable("x", 0.7), y = m.variable("y", 0.0);
    m.equation(der(x) == y - strength * sign(x));
    m.equation(der(y) == -1.3 * x + 0.8 * cos(1.7 * m.time()));
    SCOPED_TRACE(strength);
    compare(m, 200.0);
  }
}

TEST(KnownEdges, AtTheStepsOfASawtooth) {
  // where the saw falls, the comparator changes its side without a crossing
  Model m("buck");
  const Expr v = m.variable("v", 12.0), i = m.variable("i", 0.6);
  const Expr saw = 3.8 + 4.4 * mod(m.time(), 400e-6) / 400e-6;
  m.equation(der(v) == (i - v / 22.0) / 47e-6);
  m.equation(der(i) == (if_else(8.4 * (v - 11.3) < saw, Expr(20.0), Expr(0.0)) - v) / 20e-3);
  compare(m, 0.08);
  const auto familiar = std::make_shared<Observed>(m, true), other = std::make_shared<Observed>(m, false);
  const SimulateOptions options{.stop = 0.08, .method = Method::dopri5};
  const std::size_t events = simulate(familiar, options).events().size();
  EXPECT_EQ(simulate(other, options).events().size(), events);
  EXPECT_LT(familiar->settled, 100);
  EXPECT_GT(other->settled, 2 * static_cast<int>(events));
}

}  // namespace
}  // namespace saltus
