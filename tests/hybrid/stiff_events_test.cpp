// Events of stiff modes: the state has errors within the tolerance, and the equations make large errors of its derivatives from them.
#include <saltus/saltus.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

constexpr int cells = 10000, sensor = cells / 4;
constexpr double cold = 0.95, warm = 1.05;

/// A rod that is heated at its left end while a thermostat with hysteresis, a quarter of the way along, asks for it.
Model heated_rod() {
  Model m("rod");
  std::vector<Expr> T;
  for (int i = 0; i < cells; ++i) T.push_back(m.variable("T" + std::to_string(i), 0.9 * (1.0 - 0.3 * (i + 0.5) / cells)));
  const Expr heater = m.discrete("heater", 1.0);
  Expr in = 4.0 * heater;
  for (std::size_t i = 0; i < cells; ++i) {
    const Expr out = i + 1 < cells ? (T[i] - T[i + 1]) * double(cells) : T[i];
    m.equation(der(T[i]) == (in - out) * double(cells) / (1.0 + 0.4 * T[i]));
    in = out;
  }
  m.when(T[sensor] > warm).assign(heater, 0.0);
  m.when(T[sensor] < cold).assign(heater, 1.0);
  return m;
}

// In 10^4 cells an error of 1e-4 in one of them moves its derivative by 10^4, and the true one is about 1.
TEST(StiffEvents, LieOnTheirSurfacesAndFireOnce) {
  const auto model = std::make_shared<CompiledModel>(heated_rod());
  for (const Method method : {Method::radau5, Method::rodas5p}) {
    const Trajectory run = simulate(model, {.stop = 1.3, .rtol = 1e-3, .atol = 1e-3, .method = method, .keep_steps = false});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    double next = warm;  // where the next switch must be
    int switches = 0;
    for (const Event& event : run.events()) {
      const double level = event.guards.front().find("0.95") != std::string::npos ? cold : warm;
      const double beyond = event.direction.front() * (event.before[sensor] - level);
      EXPECT_GE(beyond, 0.0) << to_string(method) << " at " << event.t;
      EXPECT_LE(beyond, 1e-12) << to_string(method) << " at " << event.t;  // 32 units of time in the last place, at a speed of 5
      if (event.actions.empty()) continue;
      EXPECT_EQ(level, next) << to_string(method) << " at " << event.t;
      next = level == warm ? cold : warm;
      ++switches;
    }
    EXPECT_EQ(switches, 11) << to_string(method);
  }
}

/// Converters with a switch and a diode that are resistors of 1e-5 and 1e5 Ohm, as in a collection of models for
/// quantised state systems: where both block, a mode has a time constant of 2 ns, and 100 periods of 1e-4 s are wanted.
enum class Converter { buck, boost, buck_boost, cuk };
/// `clauses`: the diode is a discrete variable that clauses turn; otherwise a relation in the equations.
Model converter(Converter kind, bool clauses, double load) {
  Model m("converter");
  constexpr double L = 1e-4, C = 1e-4, T = 1e-4, U = 24.0, on = 1e-5, off = 1e5;
  const Expr i = m.variable("i", 0.0, {.fixed = true}), u = m.variable("u", 0.0, {.fixed = true});
  const Expr s = m.discrete("s", on), d = m.discrete("d", off), next = m.discrete("next", T), last = m.discrete("last", 0.0);
  // the current of the diode times s + d: its sign is that of the diode, whatever the resistances are
  const bool is_cuk = kind == Converter::cuk;
  const Expr i1 = is_cuk ? m.variable("i1", 0.0, {.fixed = true}) : Expr(0.0),
             u1 = is_cuk ? m.variable("u1", 0.0, {.fixed = true}) : Expr(0.0);
  const Expr drive = kind == Converter::buck         ? i * s - U
                     : kind == Converter::boost      ? i * s - u
                     : kind == Converter::buck_boost ? i * s - U + u
                                                     : (i1 - i) * s - u1;
  const Expr rd = clauses ? d : if_else(drive > 0.0, Expr(on), Expr(off));
  const Expr diode = drive / (s + rd);
  switch (kind) {
    case Converter::buck:
      m.equation(der(i) == (-diode * rd - u) / L);
      m.equation(der(u) == (i - u / load) / C);
      break;
    case Converter::boost:
      m.equation(der(i) == (U - (i - diode) * s) / L);
      m.equation(der(u) == (diode - u / load) / C);
      break;
    case Converter::buck_boost:
      m.equation(der(i) == (u - diode * rd) / L);
      m.equation(der(u) == (-diode - u / load) / C);
      break;
    case Converter::cuk:
      m.equation(der(i) == (diode * rd - u) / L);
      m.equation(der(u) == (i - u / load) / C);
      m.equation(der(u1) == (i + diode) / C);
      m.equation(der(i1) == (U - u1 - diode * rd) / L);
      break;
  }
  m.when(m.time() > next).assign(last, next).assign(next, next + T).assign(s, Expr(on));
  m.when(m.time() - last > 0.5 * T).assign(s, Expr(off));
  if (clauses) {
    m.when(drive > 0.0).assign(d, Expr(on));
    m.when(drive < 0.0).assign(d, Expr(off));
  }
  return m;
}

// Steps that are too long for stability have errors within the tolerance, but guards on fast variables cross by them.
TEST(StiffEvents, ConvertersSwitchAsOftenAtEveryTolerance) {
  for (const Converter kind : {Converter::buck, Converter::boost, Converter::buck_boost, Converter::cuk})
    for (const bool clauses : {false, true})
      for (const double load : {1.0, 10.0, 100.0}) {
        const auto model = std::make_shared<CompiledModel>(converter(kind, clauses, load));
        const Trajectory exact = simulate(model, {.stop = 0.01, .rtol = 1e-9, .atol = 1e-9, .method = Method::radau});
        ASSERT_TRUE(exact.status().ok()) << exact.status().message;
        for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6, 1e-8}) {
          const std::string what = "converter " + std::to_string(static_cast<int>(kind)) +
                                   (clauses ? " with clauses, " : " with relations, ") + std::to_string(load) +
                                   " Ohm, tolerance " + std::to_string(tolerance);
          const Trajectory run =
              simulate(model, {.stop = 0.01, .rtol = tolerance, .atol = tolerance, .max_steps = 100'000});
          ASSERT_TRUE(run.status().ok()) << what << ": " << run.status().message;
          EXPECT_TRUE(run.chattering().empty()) << what;
          EXPECT_EQ(run.events().size(), exact.events().size()) << what;
          EXPECT_NEAR(run.final()[1], exact.final()[1], 100.0 * tolerance * (1.0 + std::abs(exact.final()[1]))) << what;
        }
      }
}

// A guard whose band is narrower than the tolerance chatters with every method, which the result says.
TEST(StiffEvents, ChatteringThatNoMethodAvoidsIsReported) {
  Model m("band");
  const Expr x = m.variable("x", 0.0, {.fixed = true}), up = m.discrete("up", 1.0);
  m.equation(der(x) == if_else(up > 0.5, Expr(1.0), Expr(-1.0)));
  m.when(x > 1e-5).assign(up, 0.0);
  m.when(x < -1e-5).assign(up, 1.0);
  const Trajectory run = simulate(m, {.stop = 0.1, .rtol = 1e-3, .atol = 1e-3});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.chattering().size(), 1u);
  EXPECT_EQ(simulate(m, {.stop = 0.1, .rtol = 1e-3, .atol = 1e-3, .stop_if_chattering = true}).status().code,
            StatusCode::chattering);
}

// The rope becomes slack where its force vanishes; its length then begins to fall short with the third power of time. What rounding errors make
// of the first derivative must not decide.
TEST(StiffEvents, SlopesThatAreRoundingErrorsDoNotCount) {
  for (const double offset : {0.0, 1e-7, 3e-5, 0.01, 0.02})
    for (const double tolerance : {1e-6, 1e-9}) {
      Model m("rope");
      const Expr x = m.variable("x", 0.6 + offset, {.fixed = true}), y = m.variable("y", 0.2, {.fixed = true}),
                 u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", -6.0, {.fixed = true}), F = m.variable("F", 0.0),
                 s = m.variable("s", 1.0);
      m.equation(der(x) == u);
      m.equation(der(y) == v);
      m.equation(der(u) == -F * x);
      m.equation(der(v) == -F * y - 9.81);
      m.equation(1.0 - x * x - y * y == if_else(s > 0.0, s, Expr(0.0)));
      m.equation(F == if_else(s > 0.0, Expr(0.0), -s));
      const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tolerance, .atol = tolerance});
      ASSERT_TRUE(run.status().ok()) << offset << " " << tolerance << ": " << run.status().message;
      EXPECT_EQ(run.events().size(), 5u) << offset << " " << tolerance;
    }
}

/// What the switch of a thermostat changes: the source along an edge; the losses there, in each cell; the losses of two
/// cells and a bridge between two others.
enum class Changes { source, edge, few };

/// Heat in a plate of n x n cells, with a heater along one edge and a thermostat.
Model plate_with_thermostat(int n, Changes changes) {
  Model m("plate");
  std::vector<Expr> T;
  for (int i = 0; i < n * n; ++i) T.push_back(m.variable("T" + std::to_string(i), 20.0));
  const Expr on = m.discrete("on", 1.0);
  const auto at = [&](int r, int c) {
    return T[static_cast<std::size_t>(std::clamp(r, 0, n - 1) * n + std::clamp(c, 0, n - 1))];
  };
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) {
      const Expr flow = double(n) * n * (at(r - 1, c) + at(r + 1, c) + at(r, c - 1) + at(r, c + 1) - 4.0 * at(r, c));
      Expr slope = flow - 2.0 * (at(r, c) - 12.0);
      if (r < 2) slope = slope + (changes == Changes::source ? 300.0 * on : Expr(400.0));
      if (r < 2 && changes == Changes::edge) slope = slope - 30.0 * (1.0 - on) * at(r, c);
      if (changes == Changes::few) {
        if (r == 1 && (c == 2 || c == n - 3)) slope = slope - 3000.0 * (1.0 - on) * (at(r, c) - 10.0);
        if (r == 3 && c == 3) slope = slope - 500.0 * on * (at(3, 3) - at(n - 4, n - 4));
        if (r == n - 4 && c == n - 4) slope = slope - 500.0 * on * (at(n - 4, n - 4) - at(3, 3));
      }
      m.equation(der(at(r, c)) == slope);
    }
  m.when(at(n / 6, n / 6) > 20.1).assign(on, 0.0);
  m.when(at(n / 6, n / 6) < 19.9).assign(on, 1.0);
  return m;
}

TEST(StiffEvents, ASwitchThatChangesFewRowsOfTheJacobianKeepsTheFactors) {
  for (const Changes changes : {Changes::source, Changes::edge, Changes::few}) {
    const auto model = std::make_shared<CompiledModel>(plate_with_thermostat(24, changes));
    const Trajectory run = simulate(model, {.stop = 1.0, .rtol = 1e-6, .atol = 1e-6, .method = Method::rodas5p});
    const Trajectory exact = simulate(model, {.stop = 1.0, .rtol = 1e-9, .atol = 1e-9, .method = Method::radau});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    ASSERT_EQ(run.events().size(), exact.events().size());
    ASSERT_GT(run.events().size(), 30u);
    for (std::size_t k = 0; k < run.events().size(); ++k) EXPECT_NEAR(run.events()[k].t, exact.events()[k].t, 2e-5) << k;
    for (std::size_t j = 0; j < run.final().size(); ++j) EXPECT_NEAR(run.final()[j], exact.final()[j], 2e-4) << j;
    const RunStatistics& s = run.statistics();
    if (changes == Changes::edge)  // the Jacobian is another one behind each switch, in 48 rows
      EXPECT_GT(2 * s.factorisations, s.steps);
    else
      EXPECT_LT(2 * s.factorisations, s.steps);
    if (changes == Changes::few)
      EXPECT_GT(s.low_rank_updates, 10);
    else
      EXPECT_EQ(s.low_rank_updates, 0);
  }
}

}  // namespace
}  // namespace saltus
