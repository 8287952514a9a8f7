// Events of stiff modes: the state has errors within the tolerance, and the equations make large errors of its derivatives from them.
#include <saltus/saltus.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
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

/// A relay with hysteresis that acts on a slow variable, through up to three lags of which one is much faster, and sees the last one. Moving
/// both thresholds apart by `shift` shows whether it comes near to touching one of them.
Model relay_behind_lags(unsigned seed, bool algebraic, double shift) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto next = [&] { return uniform(random); };
  const std::size_t count = 2 + random() % 3;
  Model m("relay");
  std::vector<Expr> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(m.variable("x" + std::to_string(i), next()));
  const Expr q = m.discrete("q", 1.0), y = m.variable("y", 0.0);
  const double fast = std::pow(10.0, 1.0 + 3.0 * std::abs(next())), frequency = 1.0 + 3.0 * std::abs(next());
  m.equation(der(x[0]) == -x[0] + 1.5 * q + 0.8 * sin(frequency * m.time()));
  for (std::size_t i = 1; i < count; ++i) {
    const double rate = i + 1 == count ? fast : std::pow(10.0, 2.0 * std::abs(next())), back = 0.3 * next(), direct = 0.2 * next();
    m.equation(der(x[i]) == rate * (x[i - 1] + back * x[(i + 1) % count] - x[i]) + direct * q);
  }
  const Expr seen = x.back() + 0.2 * x[0];
  m.equation(algebraic ? y + 0.1 * y * y * y == seen : y == seen);
  const double low = -0.3 + 0.2 * next(), high = low + 0.15 + 0.3 * std::abs(next());
  m.when(y > high + shift).assign(q, -1.0);
  m.when(y < low - shift).assign(q, 1.0);
  return m;
}

std::vector<double> switches(const Model& model, Method method, double tolerance) {
  const Trajectory run = simulate(model, {.stop = 20.0, .rtol = tolerance, .atol = tolerance, .method = method, .keep_steps = false});
  EXPECT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
  std::vector<double> times;
  for (const Event& event : run.events())
    if (!event.actions.empty()) times.push_back(event.t);
  return times;
}

// Where the relay keeps away from touching its thresholds, by a hundred tolerances, every method must see the same switches.
TEST(StiffEvents, AreTheSameWithEveryMethod) {
  constexpr double tolerance = 1e-6;
  constexpr unsigned cases = 40;
  int compared = 0;
  for (unsigned seed = 0; seed < cases; ++seed)
    for (const bool algebraic : {false, true}) {
      const Method accurate = algebraic ? Method::radau : Method::dop853;
      const std::vector<double> expected = switches(relay_behind_lags(seed, algebraic, 0.0), accurate, 1e-11);
      bool clear = true;
      for (const double shift : {-100.0, -30.0, -10.0, 10.0, 30.0, 100.0})
        clear = clear && switches(relay_behind_lags(seed, algebraic, shift * tolerance), accurate, 1e-10).size() == expected.size();
      if (!clear) continue;
      ++compared;
      const Model model = relay_behind_lags(seed, algebraic, 0.0);
      for (const Method method : {Method::radau5, Method::radau, Method::rodas5p, Method::rodas4, Method::bdf}) {
        const std::vector<double> found = switches(model, method, tolerance);
        ASSERT_EQ(found.size(), expected.size()) << "seed " << seed << ", " << to_string(method);
        for (std::size_t k = 0; k < found.size(); ++k)  // errors grow from one switch to the next
          EXPECT_NEAR(found[k], expected[k], 1e4 * tolerance) << "seed " << seed << ", " << to_string(method) << ", switch " << k;
      }
    }
  EXPECT_GT(compared, static_cast<int>(cases));  // half of them
}

}  // namespace
}  // namespace saltus
