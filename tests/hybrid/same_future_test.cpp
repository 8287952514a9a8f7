// The same point and discrete state have the same future, however they were reached: a run that begins in the middle of
// another one, with its values and discrete variables, has the same events and values from there on. Random models
// with two relays, clauses that change their fields, a hysteresis, a timer and a pulse.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

using State = std::map<std::string, double>;

class Dice {
 public:
  explicit Dice(int seed) : engine_(static_cast<std::uint64_t>(seed) * 104729u + 7u) {}
  int below(int count) { return static_cast<int>(engine_() % static_cast<unsigned>(count)); }
  double quarter(int low, int high) { return 0.25 * (4 * low + below(4 * (high - low) + 1)); }
  double uniform() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_;
};

struct Relays {
  double constant[2], above[2][2], below[2][2], gain[2], damping[2], pulse[2], set, up, down, period, from, to;
  int comparison[3];
  bool resets;
  State start;
};

Relays random_relays(Dice& dice) {
  Relays r{};
  for (int i = 0; i < 2; ++i) {
    r.constant[i] = dice.quarter(-1, 1) + (i == 0 ? 0.0137 : -0.0219);  // no field vanishes on a surface
    for (int j = 0; j < 2; ++j) {
      r.above[i][j] = i == j ? dice.quarter(-3, -1) : dice.quarter(-1, 1);
      r.below[i][j] = i == j ? dice.quarter(1, 3) : dice.quarter(-1, 1);
    }
    r.gain[i] = dice.below(2) ? dice.quarter(-1, 1) : 0.0;
    r.damping[i] = 0.5 * dice.below(3);
    r.pulse[i] = dice.quarter(-3, 3);
  }
  for (int& c : r.comparison) c = dice.below(4);
  r.set = dice.quarter(-1, 1);
  // times that do not agree: events at one time may be recorded together or one after the other
  r.up = 1.0371 * dice.quarter(1, 3);
  r.down = 1.0193 * dice.quarter(-3, -1);
  r.period = 0.7137 + 0.25 * dice.below(4);
  r.from = 0.0071 + 0.25 * (1 + dice.below(10));
  r.to = r.from + 0.25 * (1 + dice.below(6));
  r.resets = dice.below(3) == 0;
  r.start = {{"x", dice.quarter(-2, 2)},
             {"y", dice.quarter(-2, 2)},
             {"z", 0.5},
             {"d", 0.0},
             {"on", 1.0},
             {"n", 0.0},
             {"k", 0.0},
             {"next", r.period}};
  return r;
}

Model build(const Relays& r, const State& from) {
  Model m("relays");
  const auto start = [&](const char* name) { return from.at(name); };
  const Expr x[2] = {m.variable("x", start("x"), {.fixed = true}), m.variable("y", start("y"), {.fixed = true})},
             z = m.variable("z", start("z"), {.fixed = true});
  const Expr d = m.discrete("d", start("d")), on = m.discrete("on", start("on")), n = m.discrete("n", start("n")),
             k = m.discrete("k", start("k")), next = m.discrete("next", start("next"));
  for (int i = 0; i < 2; ++i) {
    Expr f = r.constant[i] + r.gain[i] * d - r.damping[i] * x[i];
    for (int j = 0; j < 2; ++j) f += if_else(x[j] > 0.0, Expr(r.above[i][j]), Expr(r.below[i][j]));
    f += if_else(m.time() > r.from && m.time() < r.to, Expr(r.pulse[i]), Expr(0.0));
    m.equation(der(x[i]) == f);
  }
  m.equation(der(z) == if_else(on > 0.5, Expr(r.up), Expr(r.down)));
  const auto relation = [&](const Expr& g, int which) {
    return which == 0 ? g > 0.0 : which == 1 ? g >= 0.0 : which == 2 ? g < 0.0 : g <= 0.0;
  };
  m.when(relation(x[0], r.comparison[0])).assign(n, m.pre(n) + 1.0);
  m.when(relation(x[1], r.comparison[1])).assign(k, m.pre(k) + 1.0);
  m.when(relation(x[r.comparison[2] % 2], r.comparison[2])).assign(d, Expr(r.set));
  m.when(z > 1.0).assign(on, Expr(0.0)).otherwise_when(z < 0.0).assign(on, Expr(1.0));
  auto timer = m.when(m.time() >= m.pre(next));
  timer.assign(next, m.pre(next) + r.period);
  if (r.resets) timer.reset(x[1], -x[1] + 0.125);
  return m;
}

/// The model for those who look at a failure.
std::string text(const Relays& r) {
  std::string lines;
  const char* names = "xy";
  const char* comparisons[] = {"> 0", ">= 0", "< 0", "<= 0"};
  for (int i = 0; i < 2; ++i)
    lines +=
        fmt::format("{0}' = {1} + {2} d - {3} {0} + (x > 0 ? {4} : {5}) + (y > 0 ? {6} : {7}) + {8} in ({9}, {10})\n",
                    names[i], r.constant[i], r.gain[i], r.damping[i], r.above[i][0], r.below[i][0], r.above[i][1],
                    r.below[i][1], r.pulse[i], r.from, r.to);
  lines += fmt::format("when x {} count n, y {} count k, {} {}: d = {}; period {}, {}; x = {}, y = {}",
                       comparisons[r.comparison[0]], comparisons[r.comparison[1]], names[r.comparison[2] % 2],
                       comparisons[r.comparison[2]], r.set, r.period, r.resets ? "y := 1/8 - y" : "no reset",
                       r.start.at("x"), r.start.at("y"));
  return lines;
}

bool says_not_unique(const Trajectory& run) {
  for (const Event& e : run.events())
    if (e.message.find("not unique") != std::string::npos) return true;
  return run.status().code == StatusCode::non_unique;
}

/// Events after a time. Those at one time, up to rounding errors, may be one event or several: they belong together.
std::vector<std::vector<const Event*>> events_after(const Trajectory& run, double t) {
  std::vector<std::vector<const Event*>> found;
  for (const Event& e : run.events()) {
    if (!(e.t > t)) continue;
    if (found.empty() || e.t - found.back().back()->t > 1e-9) found.emplace_back();
    found.back().push_back(&e);
  }
  return found;
}

/// Begins anew at t1 and compares what follows. Returns whether there was something to compare.
bool compare(const Relays& r, const Trajectory& whole, double t1, double stop) {
  constexpr double tolerance = 1e-9, same = 1e-6;  // errors of integration from two starts, some hundred tolerances
  if (!(t1 < std::min(whole.t_end(), stop) - 1e-3)) return false;
  for (const Event& e : whole.events())
    if (std::abs(e.t - t1) < 1e-4) return false;
  State there;
  const std::vector<double> values = whole.at(t1);
  for (const auto& [name, value] : r.start) there[name] = values[whole.index(name)];
  for (const char* name : {"x", "y"})
    if (std::abs(there[name]) < 1e-9) there[name] = 0.0;  // on its surface
  const Trajectory rest = simulate(build(r, there), {.start = t1, .stop = stop, .rtol = tolerance, .atol = tolerance});
  if (says_not_unique(rest)) return false;
  SCOPED_TRACE(fmt::format("from t = {}", t1));
  EXPECT_EQ(rest.status().code, whole.status().code) << rest.status().message << whole.status().message;
  EXPECT_NEAR(rest.t_end(), whole.t_end(), same);
  const auto a = events_after(whole, t1 + same), b = events_after(rest, t1 + same);
  EXPECT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k) {
    EXPECT_NEAR(a[k].back()->t, b[k].back()->t, same);
    if (a[k].size() != 1 || b[k].size() != 1) continue;
    EXPECT_EQ(a[k][0]->kind, b[k][0]->kind) << a[k][0]->describe() << " / " << b[k][0]->describe();
  }
  for (const auto& [name, value] : r.start)
    EXPECT_NEAR(rest.final()[rest.index(name)], whole.final()[whole.index(name)], same) << name;
  return true;
}

TEST(SameFuture, OfThePointAndDiscreteStateInWhichARunBeginsAnew) {
  constexpr double stop = 5.0703125;
  const int first = random_seed(), count = random_cases(150);
  int compared = 0, simulated = 0;
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    Dice dice(seed);
    const Relays r = random_relays(dice);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text(r)));
    record_models(++simulated);
    const Trajectory whole = simulate(build(r, r.start), {.stop = stop, .rtol = 1e-9, .atol = 1e-9});
    if (says_not_unique(whole)) continue;
    for (int k = 0; k < 2; ++k) compared += compare(r, whole, stop * dice.uniform(), stop);
    // right after an event, also where the solution slides since then
    if (const auto& events = whole.events(); !events.empty())
      compared += compare(r, whole,
                          events[static_cast<std::size_t>(dice.below(static_cast<int>(events.size())))].t + 1e-3, stop);
  }
  expect_share(compared, 1.0, count);
}

}  // namespace
}  // namespace saltus
