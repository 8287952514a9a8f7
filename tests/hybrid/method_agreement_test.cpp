// Random models whose events every method must see, and none of them twice: relays behind fast lags, friction, sliding, differential-algebraic
// equations. Errors of the state that are within the tolerance become large ones of its derivatives there.
#include <saltus/saltus.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace saltus {
namespace {

constexpr double tolerance = 1e-6;

/// Numbers between -1 and 1, or others.
class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  double operator()() { return uniform_(bits_); }
  double operator()(double low, double high) { return low + 0.5 * (high - low) * (1.0 + uniform_(bits_)); }
  unsigned whole() { return static_cast<unsigned>(bits_()); }

 private:
  std::mt19937 bits_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
};

std::vector<double> event_times(const Model& model, Method method, double rtol) {
  const Trajectory run = simulate(model, {.stop = 20.0, .rtol = rtol, .atol = rtol, .method = method, .keep_steps = false});
  EXPECT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
  std::vector<double> times;
  for (const Event& event : run.events()) times.push_back(event.t);
  return times;
}

/// Compares the events of all methods with those of an accurate run. `make` has a parameter that moves what decides about events: models where
/// a hundred tolerances make a difference come too near to touching a surface. Returns whether this one does not.
bool compare(const std::function<Model(double)>& make, bool explicit_equations, const std::string& what) {
  const Method accurate = explicit_equations ? Method::dop853 : Method::radau;
  const std::vector<double> expected = event_times(make(0.0), accurate, 1e-11);
  for (const double shift : {-200.0, -50.0, -10.0, 10.0, 50.0, 200.0})
    if (event_times(make(shift * tolerance), accurate, 1e-10).size() != expected.size()) return false;
  std::vector<Method> methods = {Method::radau5, Method::radau, Method::rodas5p, Method::rodas4, Method::bdf};
  if (explicit_equations) methods.insert(methods.end(), {Method::dopri5, Method::tsit5, Method::dop853, Method::taylor});
  for (const Method method : methods) {
    const std::vector<double> found = event_times(make(0.0), method, tolerance);
    EXPECT_EQ(found.size(), expected.size()) << what << ", " << to_string(method);
    for (std::size_t k = 0; k < std::min(found.size(), expected.size()); ++k)  // errors grow from one event to the next
      EXPECT_NEAR(found[k], expected[k], 1e4 * tolerance) << what << ", " << to_string(method) << ", event " << k;
    if (testing::Test::HasFailure()) break;
  }
  return true;
}

/// A relay with hysteresis that acts on a slow variable, through up to three lags of which one is much faster, and sees the last one.
Model relay_behind_lags(unsigned seed, bool algebraic, double shift) {
  Random random(seed);
  const std::size_t count = 2 + random.whole() % 3;
  Model m("relay");
  std::vector<Expr> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(m.variable("x" + std::to_string(i), random()));
  const Expr q = m.discrete("q", 1.0), y = m.variable("y", 0.0);
  const double fast = std::pow(10.0, random(1.0, 4.0)), frequency = random(1.0, 4.0);
  m.equation(der(x[0]) == -x[0] + 1.5 * q + 0.8 * sin(frequency * m.time()));
  for (std::size_t i = 1; i < count; ++i) {
    const double rate = i + 1 == count ? fast : std::pow(10.0, random(0.0, 2.0)), back = 0.3 * random(), direct = 0.2 * random();
    m.equation(der(x[i]) == rate * (x[i - 1] + back * x[(i + 1) % count] - x[i]) + direct * q);
  }
  const Expr seen = x.back() + 0.2 * x[0];
  m.equation(algebraic ? y + 0.1 * y * y * y == seen : y == seen);
  const double low = random(-0.5, -0.1), high = low + random(0.15, 0.45);
  m.when(y > high + shift).assign(q, -1.0);
  m.when(y < low - shift).assign(q, 1.0);
  return m;
}

TEST(MethodAgreement, RelaysBehindFastLags) {
  constexpr unsigned cases = 25;
  int compared = 0;
  for (unsigned seed = 0; seed < cases; ++seed)
    for (const bool algebraic : {false, true})
      compared += compare([&](double shift) { return relay_behind_lags(seed, algebraic, shift); }, !algebraic, "seed " + std::to_string(seed));
  EXPECT_GT(compared, static_cast<int>(cases));  // half of them
}

/// Dry friction behind a fast actuator, of two masses, with a force from an algebraic equation, and a relay that is slid on.
Model sliding_model(unsigned seed, int kind, double shift) {
  Random random(4 * seed + static_cast<unsigned>(kind));
  Model m("sliding");
  const double frequency = random(0.4, 2.5), friction = random(0.2, 1.2) + shift, force = random(0.8, 2.0), stiffness = random(0.5, 3.0),
               damping = random(0.0, 0.3);
  const Expr x = m.variable("x", random()), v = m.variable("v", random()), drive = force * sin(frequency * m.time());
  if (kind != 3) m.equation(der(x) == v);
  switch (kind) {
    case 0: {
      const Expr f = m.variable("f", 0.0);
      const double rate = std::pow(10.0, random(1.0, 4.0));
      m.equation(der(v) == f - stiffness * x - damping * v - friction * sign(v));
      m.equation(der(f) == rate * (drive - f));
      break;
    }
    case 1: {
      const Expr y = m.variable("y", random()), u = m.variable("u", random());
      const double other = random(0.1, 0.8), coupling = random(0.5, 20.0);
      m.equation(der(v) == drive - stiffness * x - coupling * (x - y) - friction * sign(v));
      m.equation(der(y) == u);
      m.equation(der(u) == -coupling * (y - x) - 0.2 * u - other * sign(u));
      break;
    }
    case 2: {
      const Expr f = m.variable("f", 0.0);
      m.equation(der(v) == drive - stiffness * x - f);
      m.equation(f + 0.1 * f * f * f == friction * sign(v) + damping * v);
      break;
    }
    default: {
      const double rate = std::pow(10.0, random(0.5, 2.5));
      m.equation(der(x) == -x + drive - 2.0 * friction * sign(x + 0.3 * v));
      m.equation(der(v) == rate * (sin(0.7 * m.time()) - v));
    }
  }
  return m;
}

TEST(MethodAgreement, FrictionAndSliding) {
  constexpr unsigned cases = 12;
  int compared = 0;
  for (unsigned seed = 0; seed < cases; ++seed)
    for (const int kind : {0, 1, 2, 3})
      compared += compare([&](double shift) { return sliding_model(seed, kind, shift); }, kind != 2,
                          "seed " + std::to_string(seed) + ", kind " + std::to_string(kind));
  EXPECT_GT(compared, 2 * static_cast<int>(cases));  // half of them
}

}  // namespace
}  // namespace saltus
