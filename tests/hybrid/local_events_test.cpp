// Events that are settled in the parts in which they happen, compared with events that are settled in the whole model.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "suites/forwarding_system.hpp"

namespace saltus {
namespace {

std::string name(const char* what, int k) {
  return std::string(what) + "[" + std::to_string(k) + "]";
}

/// A rod of cells, each with a heater and a thermostat of its own.
Model thermostats(int n) {
  Model m("thermostats");
  const Expr k = m.parameter("k", 4.0);
  std::vector<Expr> T;
  std::vector<Expr> on;
  for (int i = 0; i < n; ++i) {
    T.push_back(m.variable(name("T", i), 19.0 + 2.0 * std::sin(1.3 * i) * std::sin(1.3 * i)));
    on.push_back(m.discrete(name("on", i), i % 2 == 0 ? 1.0 : 0.0));
  }
  for (int i = 0; i < n; ++i) {
    const Expr &left = T[static_cast<std::size_t>(std::max(i - 1, 0))],
               &right = T[static_cast<std::size_t>(std::min(i + 1, n - 1))];
    const auto c = static_cast<std::size_t>(i);
    m.equation(der(T[c]) == k * (left - 2.0 * T[c] + right) + 10.0 * on[c] - 0.3 * (T[c] - 3.0));
    m.when(T[c] > 21.0).assign(on[c], 0.0);
    m.when(T[c] < 19.5).assign(on[c], 1.0);
  }
  return m;
}

/// Masses on a moving belt, coupled by springs: they stick and slip.
Model belt(int n) {
  Model m("belt");
  std::vector<Expr> x, v;
  for (int i = 0; i < n; ++i) {
    x.push_back(m.variable(name("x", i), 0.1 * std::sin(0.7 * i)));
    v.push_back(m.variable(name("v", i), 0.9 + 0.1 * std::cos(1.1 * i)));
  }
  for (int i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i);
    const Expr left = i > 0 ? x[c - 1] : Expr(0.0), right = i + 1 < n ? x[c + 1] : Expr(0.0);
    m.equation(der(x[c]) == v[c]);
    m.equation(der(v[c]) == left - 2.0 * x[c] + right - 0.5 * x[c] - 1.2 * sign(v[c] - 1.0));
  }
  return m;
}

/// A ring of neurons: each is charged by its neighbours, and discharges itself where it reaches 1.
Model neurons(int n) {
  Model m("neurons");
  std::vector<Expr> u, w;
  std::vector<Expr> count;
  for (int i = 0; i < n; ++i) {
    u.push_back(m.variable(name("u", i), std::abs(std::sin(2.1 * i)) * 0.9));
    w.push_back(m.variable(name("w", i), 0.2));
    count.push_back(m.discrete(name("count", i), 0.0));
  }
  for (int i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i), next = static_cast<std::size_t>((i + 1) % n);
    m.equation(der(u[c]) == 1.6 - u[c] + 0.5 * w[next]);
    m.equation(der(w[c]) == -w[c]);
    m.when(u[c] > 1.0).reset(u[c], 0.0).reset(w[c], w[c] + 0.3).assign(count[c], m.pre(count[c]) + 1.0);
  }
  return m;
}

struct Both {
  Trajectory local, global;
};

Both run_both(const Model& model, SimulateOptions options) {
  options.local_events_from = 2;
  Trajectory local = simulate(model, options);
  options.local_events_from = -1;
  return {std::move(local), simulate(model, options)};
}

std::vector<std::string> sorted(std::vector<std::string> list) {
  std::ranges::sort(list);
  return list;
}
/// Guards with their directions, in any order: those of one instant may come from several parts.
std::vector<std::string> changes_of(const Event& event) {
  std::vector<std::string> changes;
  for (std::size_t k = 0; k < event.guards.size(); ++k)
    changes.push_back(event.guards[k] + (event.direction[k] > 0 ? " rises" : " falls"));
  return sorted(std::move(changes));
}

/// Same events in the same order, and values within so many tolerances, which errors of the run may reach.
void expect_same(const Both& both, double bound) {
  ASSERT_TRUE(both.local.status().ok()) << both.local.status().message;
  ASSERT_TRUE(both.global.status().ok()) << both.global.status().message;
  const auto &a = both.local.events(), &b = both.global.events();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_NEAR(a[k].t, b[k].t, bound) << k;
    EXPECT_EQ(a[k].kind, b[k].kind) << k << " " << a[k].describe() << " / " << b[k].describe();
    EXPECT_EQ(changes_of(a[k]), changes_of(b[k])) << k;
    EXPECT_EQ(sorted(a[k].actions), sorted(b[k].actions)) << k;
  }
  const double start = both.local.t_start(), end = both.local.t_end();
  EXPECT_EQ(end, both.global.t_end());
  for (int k = 0; k <= 20; ++k) {
    const double t = start + (end - start) * k / 20;
    const auto x = both.local.at(t), y = both.global.at(t);
    for (std::size_t j = 0; j < x.size(); ++j)
      ASSERT_NEAR(x[j], y[j], bound * (1.0 + std::abs(y[j]))) << both.local.variables()[j].name << " at " << t;
  }
}

TEST(LocalEvents, ThermostatsSwitchAsInTheWholeModel) {
  const Both both = run_both(thermostats(60), {.stop = 3.0, .rtol = 1e-7, .atol = 1e-9, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 50);
  EXPECT_EQ(both.local.statistics().local_events, static_cast<std::int64_t>(both.local.events().size()));
  EXPECT_EQ(both.global.statistics().local_events, 0);
  expect_same(both, 1e-5);
}

TEST(LocalEvents, MassesStickAndSlipAsInTheWholeModel) {
  const Both both = run_both(belt(40), {.stop = 6.0, .rtol = 1e-8, .atol = 1e-10, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 50);
  expect_same(both, 1e-5);
}

TEST(LocalEvents, ResetsAndCountersAreThoseOfTheWholeModel) {
  const Both both = run_both(neurons(50), {.stop = 4.0, .rtol = 1e-8, .atol = 1e-10, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 100);
  expect_same(both, 1e-5);
}

/// Converters that switch at times of their own, on a bus whose voltage all of them read, and which reads all currents.
Model converters(int n) {
  Model m("converters");
  const double period = 0.01, L = 0.02, C = 0.5;
  const Expr v = m.variable("v", 12.0);
  Expr sum = 0.0;
  for (int k = 0; k < n; ++k) {
    const double duty = 0.4 + 0.2 * std::abs(std::sin(3.3 * k));
    const Expr i = m.variable(name("i", k), 0.0), on = m.discrete(name("on", k), 0.0);
    const Expr next = m.discrete(name("next", k), period * std::abs(std::sin(7.7 * k + 1.0)));
    m.equation(der(i) == (24.0 * on - v) / L - i);
    m.when(m.time() >= m.pre(next))
        .assign(on, 1.0 - m.pre(on))
        .assign(next, m.pre(next) + period * (duty + (1.0 - 2.0 * duty) * m.pre(on)));
    sum = sum + i;
  }
  m.equation(der(v) == (sum / n - v / 10.0) / C);
  return m;
}

TEST(LocalEvents, ConvertersOnABusSwitchAsInTheWholeModel) {
  const Both both = run_both(converters(40), {.stop = 0.03, .rtol = 1e-8, .atol = 1e-10, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 200);
  expect_same(both, 1e-6);
}

TEST(LocalEvents, ABallComesToRestOnTheFloorThatItsHeightSees) {
  // Velocities are reset where heights are zero. The slope of a height jumps with its velocity: height and velocity
  // belong together, though the relation reads the height and the clause sets the velocity alone.
  Model m("balls");
  constexpr int n = 200;
  const double g = 10.0, restitution = 0.5;
  for (int i = 0; i < n; ++i) {
    const Expr h = m.variable(name("h", i), 0.2 + 0.1 * std::sin(i)), v = m.variable(name("v", i), 0.0);
    m.equation(der(h) == v);
    m.equation(der(v) == -g);
    m.when(h < 0.0).reset(v, -restitution * v);
  }
  const Trajectory run = simulate(m, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_GT(run.statistics().part_runs, 0);
  for (int i = 0; i < n; ++i) {
    const double start = 0.2 + 0.1 * std::sin(i), fall = std::sqrt(2.0 * start / g);
    const double rest = fall * (1.0 + 2.0 * restitution / (1.0 - restitution));  // the sum of all flights
    const std::string height = name("h", i);
    const double second = 0.5 * fall;  // in the middle of the flight after the first impact
    EXPECT_NEAR(run.at(fall + second, height), 0.5 * restitution * g * fall * second, 1e-6) << i;
    if (rest < 0.999) {
      EXPECT_NEAR(run.at(1.0, height), 0.0, 1e-7) << i;
    }
  }
}

TEST(LocalEvents, HigherOrderMethodsSettleEventsInPartsToo) {
  const Both both = run_both(thermostats(40), {.stop = 1.5, .rtol = 1e-9, .atol = 1e-11, .method = Method::dop853});
  EXPECT_GT(both.local.statistics().local_events, 15);
  expect_same(both, 1e-7);
}

/// Cells of random kinds on a random network: relays that slide, thermostats with memory, resets, timers, counters that
/// read a neighbour. `seed` decides everything but the order of declaration, which `shuffled` changes.
Model random_network(unsigned seed, int cells, bool shuffled) {
  std::mt19937 random(seed);
  const auto number = [&](double from, double to) { return std::uniform_real_distribution<>(from, to)(random); };
  struct Cell {
    int kind, left, right;
    double start, rate, coupling, threshold, gain;
  };
  std::vector<Cell> all;
  for (int i = 0; i < cells; ++i)
    all.push_back({std::uniform_int_distribution<>(0, 4)(random), std::uniform_int_distribution<>(0, cells - 1)(random),
                   (i + 1) % cells, number(-1.0, 1.0), number(0.3, 1.5), number(0.05, 0.6), number(0.2, 0.8),
                   number(1.0, 2.5)});
  std::vector<int> order(static_cast<std::size_t>(cells));
  for (int i = 0; i < cells; ++i) order[static_cast<std::size_t>(i)] = shuffled ? cells - 1 - i : i;
  Model m("network");
  std::vector<Expr> x(order.size());
  for (const int i : order)
    x[static_cast<std::size_t>(i)] = m.variable(name("x", i), all[static_cast<std::size_t>(i)].start);
  const Expr w = m.parameter("w", 1.7);
  for (const int i : order) {
    const Cell& c = all[static_cast<std::size_t>(i)];
    const Expr own = x[static_cast<std::size_t>(i)];
    const Expr outside =
        c.coupling * (x[static_cast<std::size_t>(c.left)] + x[static_cast<std::size_t>(c.right)] - 2.0 * own);
    const Expr drive = c.rate * sin(w * m.time() + c.start) + outside;
    switch (c.kind) {
      case 0:  // a relay that pushes back: it slides
        m.equation(der(own) == drive - c.gain * if_else(own > c.threshold, 1.0, -0.2));
        break;
      case 1: {  // a thermostat
        const Expr on = m.discrete(name("on", i), 0.0);
        m.equation(der(own) == drive - own + c.gain * on);
        m.when(own > c.threshold).assign(on, 0.0);
        m.when(own < -c.threshold).assign(on, 1.0);
        break;
      }
      case 2: {  // a reset, counted
        const Expr count = m.discrete(name("count", i), 0.0);
        m.equation(der(own) == drive + c.gain);
        m.when(own > 1.5).reset(own, -0.5 * own).assign(count, m.pre(count) + 1.0);
        break;
      }
      case 3: {  // a timer that an event starts
        const Expr until = m.discrete(name("until", i), 0.0);
        m.equation(der(own) == drive - own + if_else(m.time() < until, Expr(c.gain), Expr(0.0)));
        m.when(own < c.threshold - 0.5).assign(until, m.time() + 0.37);
        break;
      }
      default: {  // counts what a neighbour does, and reacts
        const Expr seen = m.discrete(name("seen", i), 0.0);
        m.equation(der(own) == drive - 0.2 * own - 0.1 * seen);
        m.when(x[static_cast<std::size_t>(c.right)] > c.threshold).assign(seen, m.pre(seen) + 1.0);
      }
    }
  }
  return m;
}

TEST(LocalEvents, RandomNetworksAgreeWithTheWholeModel) {
  std::int64_t local = 0, all = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const SimulateOptions options{.stop = 3.0, .rtol = 1e-9, .atol = 1e-11, .method = Method::dopri5};
    const Both both = run_both(random_network(seed, 40, seed % 2 == 0), options);
    if (!both.global.status().ok()) continue;
    local += both.local.statistics().local_events;
    all += static_cast<std::int64_t>(both.local.events().size());
    expect_same(both, 1e-6);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(local, all * 9 / 10);  // what parts leave to the loop is rare
}

TEST(LocalEvents, NumbersThatDifferFromPartToPartAreData) {
  const Both both =
      run_both(random_network(1000, 300, false), {.stop = 1.0, .rtol = 1e-9, .atol = 1e-11, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 100);
  expect_same(both, 1e-6);
}

// Where p is 0.5, x > p and x > 0.5 are one surface; elsewhere they are two. An instant of the whole model follows.
TEST(LocalEvents, SurfacesThatAreOneInSomePartsOnlyAreThoseOfTheWholeModel) {
  constexpr int n = 40;
  Model m("counters");
  std::vector<Expr> x;
  for (int i = 0; i < n; ++i) x.push_back(m.variable(name("x", i), 0.01 * i));
  const BoolExpr late = m.time() > 0.9;
  for (int i = 0; i < n; ++i) {
    const Expr& own = x[static_cast<std::size_t>(i)];
    const Expr p = m.parameter(name("p", i), i % 5 == 4 ? 0.5 : 0.7);
    const Expr above = m.discrete(name("above", i), 0.0), count = m.discrete(name("count", i), 0.0);
    m.define(above, if_else(own > 0.5, 1.0, 0.0));
    m.when(own > p).assign(count, m.pre(count) + 1.0);
    m.equation(der(own) == 0.8 + 0.1 * above);
  }
  const Expr seen = m.discrete("seen", 0.0);
  m.when(late).assign(seen, 1.0);
  const Both both = run_both(m, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8, .method = Method::dopri5});
  expect_same(both, 1e-6);
  for (int i = 0; i < n; ++i) {
    const double start = 0.01 * i, crossing = (0.5 - start) / 0.8;  // linear before and after: no errors but rounding
    EXPECT_NEAR(both.local.at(1.0, name("x", i)), 0.5 + 0.9 * (1.0 - crossing), 1e-9) << i;
    EXPECT_EQ(both.local.at(1.0, name("above", i)), 1.0) << i;
    EXPECT_EQ(both.local.at(1.0, name("count", i)), 1.0) << i;
  }
}

// While x is small, the time event changes a relation that decides nothing yet. It does when x has grown.
TEST(LocalEvents, RelationsThatChangeWithoutAnEventAreThoseOfTheWholeModel) {
  constexpr int n = 40;
  Model m("switches");
  for (int i = 0; i < n; ++i) {
    const Expr x = m.variable(name("x", i), 0.01 * i), y = m.variable(name("y", i), 1.5);
    const Expr begin = m.parameter(name("begin", i), 0.5 + 0.005 * i), distance = m.parameter(name("distance", i), 1.0);
    const Expr on = m.discrete(name("on", i), 0.0);
    const BoolExpr late = m.time() > begin && x > y + distance;
    m.define(on, if_else(late, 1.0, 0.0));
    m.equation(der(x) == 2.0 + if_else(late, 1.0, 0.0));
    m.equation(der(y) == 0.5);
  }
  for (const Method method : {Method::dopri5, Method::dop853}) {
    const Both both = run_both(m, {.stop = 2.9, .rtol = 1e-9, .atol = 1e-9, .method = method});
    expect_same(both, 1e-6);
    for (int i = 0; i < n; ++i) {
      const double crossing = (2.5 - 0.01 * i) / 1.5;  // straight lines: errors are those of rounding
      EXPECT_NEAR(both.local.at(2.9, name("x", i)), 0.01 * i + 2.0 * 2.9 + (2.9 - crossing), 1e-9) << i;
      EXPECT_EQ(both.local.at(2.9, name("on", i)), 1.0) << i;
    }
  }
}

TEST(LocalEvents, FrictionThatDependsOnTheSpeedSlidesInItsPart) {
  Model m("belt");
  std::vector<Expr> x, v;
  const int n = 40;
  for (int i = 0; i < n; ++i) {
    x.push_back(m.variable(name("x", i), 0.8 * std::sin(7.31 * i)));
    v.push_back(m.variable(name("v", i), 0.2 * std::cos(3.7 * i)));
  }
  for (int i = 0; i < n; ++i) {
    const auto c = static_cast<std::size_t>(i);
    const Expr left = i > 0 ? x[c - 1] : x[c], right = i + 1 < n ? x[c + 1] : x[c], speed = v[c] - 0.3;
    m.equation(der(x[c]) == v[c]);
    m.equation(der(v[c]) == 0.2 * (left - 2.0 * x[c] + right) - x[c] - sign(speed) / (1.0 + abs(speed)));
  }
  const Both both = run_both(m, {.stop = 3.0, .rtol = 1e-8, .atol = 1e-10, .method = Method::dopri5});
  EXPECT_GT(both.local.statistics().local_events, 40);
  expect_same(both, 1e-5);
}

TEST(LocalEvents, ReadingAResultGivesBothSidesOfAnEvent) {
  const Trajectory run = simulate(neurons(30), {.stop = 2.0, .method = Method::dopri5, .local_events_from = 2});
  ASSERT_GT(run.statistics().local_events, 20);
  for (const Event& event : run.events()) {
    if (event.kind != EventKind::reset || event.guards.size() != 1) continue;
    const std::size_t u = run.index(event.guards.front().substr(0, event.guards.front().find(' ')));
    EXPECT_NEAR(run.before(event.t)[u], 1.0, 1e-5);
    EXPECT_NEAR(run.at(event.t)[u], 0.0, 1e-12);
    EXPECT_TRUE(event.before.empty());
  }
}

TEST(LocalEvents, AStateThatWasSavedGoesOnWithTheSameBits) {
  const SimulateOptions options{.stop = 2.0, .method = Method::dopri5, .local_events_from = 2};
  const auto model = std::make_shared<CompiledModel>(neurons(30));
  Simulator whole(model, options), first(model, options);
  for (int k = 0; k < 12; ++k) whole.step(), first.step();
  Simulator second(model, options, first.state());
  whole.run();
  second.run();
  const auto a = whole.values(), b = second.values();
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_EQ(a[j], b[j]) << j;
}

TEST(LocalEvents, CostDoesNotGrowWithTheModel) {
  const auto runs_by_event = [](int n) {
    const Trajectory run = simulate(thermostats(n), {.stop = 0.3, .method = Method::dopri5, .local_events_from = 2});
    EXPECT_TRUE(run.status().ok());
    EXPECT_GT(run.statistics().local_events, n / 4);
    return static_cast<double>(run.statistics().part_runs) / static_cast<double>(run.statistics().local_events);
  };
  const double small = runs_by_event(50), large = runs_by_event(800);
  EXPECT_LT(large, 1.5 * small);
  EXPECT_LT(large, 60.0);
}

/// Counts how often all guards of a large model are asked for their positions.
class PositionsCounter final : public suite::ForwardingSystem {
 public:
  PositionsCounter(std::shared_ptr<HybridSystem> behind, std::shared_ptr<int> count)
      : ForwardingSystem(behind), whole_(std::move(behind)), count_(std::move(count)) {}

  std::unique_ptr<HybridSystem> instance() const override {
    return std::make_unique<PositionsCounter>(whole_->instance(), count_);
  }
  std::shared_ptr<const FamilyParts> parts(int degree) const override { return whole_->parts(degree); }
  void positions(const Mode& mode, std::vector<Position>& positions) const override {
    ++*count_;
    whole_->positions(mode, positions);
  }

 private:
  std::shared_ptr<HybridSystem> whole_;
  std::shared_ptr<int> count_;
};

// Where nothing has happened guards are watched as before: what all of them do is asked for at the start alone, not
// behind each step with events.
TEST(LocalEvents, GuardsOfPartsWithoutEventsAreNotAskedAgain) {
  for (const Model& model : {thermostats(300), belt(300), neurons(300)}) {
    SCOPED_TRACE(model.name());
    const auto count = std::make_shared<int>(0);
    const auto counter = std::make_shared<PositionsCounter>(std::make_shared<CompiledModel>(model), count);
    const Trajectory run = simulate(counter, {.stop = 2.0, .method = Method::dopri5});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_GT(run.statistics().local_events, 100);
    EXPECT_GT(run.statistics().restarts, 12);  // behind steps with events
    EXPECT_LE(*count, run.statistics().restarts / 2);
  }
}

/// Steps grow while nothing happens; then all cells switch at nearly one time, and each acts on its neighbours.
TEST(LocalEvents, AWaveOfEventsBehindAQuietTimeTakesShortSteps) {
  constexpr int n = 16;
  Model m("wave");
  std::vector<Expr> T, on;
  for (int i = 0; i < n * n; ++i) {
    T.push_back(
        m.variable(name("T", i), 20.9 + 0.02 * std::abs(std::sin(12.9898 * (i / n + 1) + 78.233 * (i % n + 1)))));
    on.push_back(m.discrete(name("on", i), 0.0));
  }
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) {
      const auto at = [&](int a, int b) -> const Expr& {
        return T[static_cast<std::size_t>(std::clamp(a, 0, n - 1) * n + std::clamp(b, 0, n - 1))];
      };
      const auto i = static_cast<std::size_t>(r * n + c);
      m.equation(der(T[i]) == at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1) - 4.0 * T[i] + 3.0 * on[i] -
                                  0.1 * (T[i] - 10.0));
      m.when(T[i] > 21.0).assign(on[i], 0.0);
      m.when(T[i] < 19.0).assign(on[i], 1.0);
    }
  const Both both = run_both(m, {.stop = 3.0, .rtol = 1e-6, .atol = 1e-6, .method = Method::dopri5});
  const auto events = static_cast<std::size_t>(both.local.statistics().local_events);
  ASSERT_GT(events, 200u);
  EXPECT_EQ(events, both.global.events().size());
  EXPECT_LT(both.local.statistics().part_runs, static_cast<std::int64_t>(16 * events));
  const std::vector<double>&x = both.local.final(), &y = both.global.final();
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(x[j], y[j], 1e-4) << both.local.variables()[j].name;
}

TEST(LocalEvents, AModelOfOnePieceIsRunAsBefore) {
  Model m("bus");
  const Expr bus = m.discrete("bus", 0.0);
  std::vector<Expr> x;
  for (int i = 0; i < 30; ++i) {
    x.push_back(m.variable(name("x", i), 0.0));
    m.equation(der(x.back()) == 1.0 + 0.1 * i + bus);
    m.when(x.back() > 1.0).reset(x.back(), 0.0);
  }
  m.when(x.front() > 0.5).assign(bus, 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0, .local_events_from = 2});
  EXPECT_TRUE(run.status().ok());
  EXPECT_EQ(run.statistics().local_events, 0);
}

// Equal cells switch together up to rounding errors: a neighbour changes some 1e-14 after an event of the cell's own,
// when its guard is still at zero. That is no further crossing. Up to 21 in 1, down to 19 in 2, up in 2: two turns
// until 6.
TEST(LocalEvents, CellsThatSwitchTogetherSwitchOnce) {
  constexpr int cells = 200;
  Model m("thermostats");
  std::vector<Expr> T, on, n;
  for (int i = 0; i < cells; ++i) {
    T.push_back(m.variable(name("T", i), 20.0));
    on.push_back(m.discrete(name("on", i), 1.0));
    n.push_back(m.discrete(name("n", i), 0.0));
  }
  for (std::size_t c = 0; c < cells; ++c) {
    m.equation(der(T[c]) == 2.0 * on[c] - 1.0 + 0.1 * (T[c == 0 ? 0 : c - 1] - T[c]));
    m.when(T[c] > 21.0).assign(on[c], 0.0).assign(n[c], m.pre(n[c]) + 1.0);
    m.when(T[c] < 19.0).assign(on[c], 1.0);
  }
  for (const Method method : {Method::dopri5, Method::dop853}) {
    SCOPED_TRACE(std::string(to_string(method)));
    const Trajectory run = simulate(
        m, {.stop = 6.0, .rtol = 1e-10, .atol = 1e-10, .method = method, .flights_after = -1, .local_events_from = 0});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_GT(run.statistics().local_events, 0);
    for (int i = 0; i < cells; ++i) {
      EXPECT_EQ(run.at(6.0, name("n", i)), 2.0) << i;
      EXPECT_NEAR(run.at(6.0, name("T", i)), 20.0, 1e-9) << i;
    }
  }
}

}  // namespace
}  // namespace saltus
