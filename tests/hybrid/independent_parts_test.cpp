// Parts of one model that do not know of each other: what happens to one at its events must not disturb the others, whatever the others are doing
// at that time, in whichever order they were declared.
#include "method_agreement.hpp"

namespace saltus {
namespace {

using namespace saltus::testing;

constexpr double stop = 7.3;
const std::vector<Method> methods_for_hidden_constraints = {Method::automatic, Method::radau5, Method::radau, Method::bdf};

struct Part {
  std::vector<std::string> variables;
  void (*add)(Model& m);
  bool explicit_form = true;
};

const std::vector<Part> parts = {
    {{"relay", "pull"},  // slides at times
     [](Model& m) {
       const Expr x = m.variable("relay", 1.0), y = m.variable("pull", 0.0);
       m.equation(der(x) == -sign(x) + 0.9 * sin(2.0 * m.time()));
       m.equation(der(y) == sign(x));
     }},
    {{"place", "speed"},  // sticks and slips
     [](Model& m) {
       const Expr x = m.variable("place", 0.0), v = m.variable("speed", 0.3);
       m.equation(der(x) == v);
       m.equation(der(v) == -sign(v) + 1.6 * cos(1.3 * m.time()));
     }},
    {{"saw", "teeth"},
     [](Model& m) {
       const Expr x = m.variable("saw", 0.0), n = m.discrete("teeth", 0.0);
       m.equation(der(x) == 1.0);
       m.when(x > 0.7).reset(x, x - 0.7).assign(n, m.pre(n) + 1.0);
     }},
    {{"held", "controlled"},
     [](Model& m) {
       const Expr x = m.variable("controlled", 1.0), u = m.discrete("held", 0.0);
       m.equation(der(x) == -x + u);
       m.when(m.sample(0.3, 0.35)).assign(u, 1.0 - x);
     }},
    {{"level", "valve"},
     [](Model& m) {
       const Expr x = m.variable("level", 0.0), u = m.discrete("valve", 1.0);
       m.equation(der(x) == u - 0.1 * x);
       m.when(x > 0.5).assign(u, -1.0);
       m.when(x < -0.5).assign(u, 1.0);
     }},
    {{"stairs"},
     [](Model& m) {
       const Expr y = m.variable("stairs", 0.0);
       m.equation(der(y) == floor(1.5 * m.time()) - mod(m.time(), 0.9));
     }},
    {{"mass", "momentum"},  // hits a wall
     [](Model& m) {
       const Expr x = m.variable("mass", 1.0), v = m.variable("momentum", 0.0);
       m.equation(der(x) == v);
       m.equation(der(v) == -4.0 * x - 0.1 * v);
       m.when(x < -0.5).reset(v, -0.8 * v);
     }},
    {{"dose"},
     [](Model& m) {
       const Expr x = m.variable("dose", 1.0);
       m.equation(der(x) == -x);
       m.when(m.time() >= 2.1).reset(x, x + 1.0);
       m.when(m.time() >= 4.2).reset(x, x + 1.0);
     }},
    {{"lag", "loop"},  // an algebraic loop with a limit
     [](Model& m) {
       const Expr x = m.variable("lag", 1.0), y = m.variable("loop", 0.5);
       m.equation(der(x) == -y);
       m.equation(y + 0.2 * y * y * y == max(x, -0.3) + 0.7 * cos(m.time()));
     },
     false},
    {{"across", "down"},  // a pendulum of index 3 with a damping that depends on the side
     [](Model& m) {
       const Expr x = m.variable("across", 1.0), y = m.variable("down", 0.0), u = m.variable("u", 0.0), v = m.variable("v", 0.0);
       const Expr force = m.variable("force", 0.0), damping = if_else(x > 0.0, 0.3, 0.6);
       m.equation(der(x) == u);
       m.equation(der(y) == v);
       m.equation(der(u) == -force * x - damping * u);
       m.equation(der(v) == -force * y - 1.0 - damping * v);
       m.equation(x * x + y * y == 1.0);
     },
     false},
};

std::vector<double> alone(const Part& part) {
  Model m("alone");
  part.add(m);
  const Trajectory run = simulate(m, {.stop = stop, .rtol = 1e-11, .atol = 1e-11, .method = part.explicit_form ? Method::dop853 : Method::radau});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  std::vector<double> values;
  for (const std::string& name : part.variables) values.push_back(run.final()[run.index(name)]);
  return values;
}

TEST(IndependentParts, AreAsTheyAreAlone) {
  std::vector<std::vector<double>> expected;
  for (const Part& part : parts) expected.push_back(alone(part));
  for (unsigned seed = 0; seed < 60; ++seed) {
    Random random(seed);
    std::vector<std::size_t> chosen(parts.size());
    for (std::size_t k = 0; k < chosen.size(); ++k) chosen[k] = k;
    for (std::size_t k = 0; k + 1 < chosen.size(); ++k) std::swap(chosen[k], chosen[k + random.whole() % (chosen.size() - k)]);
    chosen.resize(2 + random.whole() % 4);
    Model m("together");
    bool explicit_form = true, hidden = false;
    for (const std::size_t k : chosen) {
      parts[k].add(m);
      explicit_form = explicit_form && parts[k].explicit_form;
      hidden = hidden || parts[k].variables.front() == "across";
    }
    const std::vector<Method>& methods = explicit_form ? all_methods : hidden ? methods_for_hidden_constraints : implicit_methods;
    const Method method = methods[seed % methods.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::string(to_string(method)));
    const Trajectory run = simulate(m, {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    for (const std::size_t k : chosen)
      for (std::size_t j = 0; j < expected[k].size(); ++j)
        EXPECT_NEAR(run.final()[run.index(parts[k].variables[j])], expected[k][j], 200.0 * tolerance) << parts[k].variables[j];
  }
}

// Equal masses exchange their speeds, pair by pair, also where three or more are in contact; the declared order does not matter.
TEST(SimultaneousImpacts, TravelThroughACradle) {
  const std::vector<double> places = {-1.5, -1.0, 0.0, 0.0, 0.0}, speeds = {1.0, 1.0, 0.0, 0.0, 0.0}, end = {0.0, 0.0, 0.0, 1.5, 2.0};
  for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}})
    for (const Method method : all_methods) {
      Model m("cradle");
      std::vector<Expr> x, v;
      for (std::size_t k = 0; k < places.size(); ++k) {
        x.push_back(m.variable("x" + std::to_string(k), places[k]));
        v.push_back(m.variable("v" + std::to_string(k), speeds[k]));
        m.equation(der(x[k]) == v[k]);
        m.equation(der(v[k]) == 0.0);
      }
      for (const std::size_t k : order) m.when(x[k] > x[k + 1]).reset(v[k], v[k + 1]).reset(v[k + 1], v[k]);
      const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
      for (std::size_t k = 0; k < end.size(); ++k)
        EXPECT_NEAR(run.final()[run.index("x" + std::to_string(k))], end[k], 10.0 * tolerance) << to_string(method) << ' ' << k;
    }
}

// A wagon couples to a second, and at the same instant the second to a third that it touches: the momentum is shared among all.
TEST(SimultaneousImpacts, CoupleATrain) {
  for (const double gap : {0.0, 1.0})
    for (const Method method : {Method::automatic, Method::taylor, Method::rodas5p, Method::radau5, Method::bdf}) {
      Model m("train");
      std::vector<Expr> x, v;
      for (const double place : {0.0, 1.0, 1.0 + gap}) {
        x.push_back(m.variable("x" + std::to_string(x.size()), place));
        v.push_back(m.variable("v" + std::to_string(v.size()), v.empty() ? 3.0 : 0.0));
        m.equation(der(x.back()) == v.back());
      }
      const Expr first = m.variable("first", 0.0), second = m.variable("second", 0.0);
      m.equation(der(v[0]) == -first);
      m.equation(der(v[1]) == first - second);
      m.equation(der(v[2]) == second);
      auto apart = m.mode("apart"), two = m.mode("two"), three = m.mode("three");
      apart.equation(first == 0.0).equation(second == 0.0);
      two.equation(v[0] == v[1]).equation(second == 0.0);
      three.equation(v[0] == v[1]).equation(v[1] == v[2]);
      apart.transition(x[0] > x[1]).to(two);
      two.transition(x[1] > x[2]).to(three);
      const Trajectory run = simulate(m, {.stop = 2.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << to_string(method) << ": " << run.status().message;
      const double coupled = 1.0 / 3.0 + gap / 1.5;
      for (const char* name : {"v0", "v1", "v2"}) EXPECT_NEAR(run.at(2.0, name), 1.0, 10.0 * tolerance) << to_string(method) << ' ' << name;
      EXPECT_NEAR(run.at(2.0, "x2"), 1.0 + gap + 2.0 - coupled, 10.0 * tolerance) << to_string(method);
    }
}

}  // namespace
}  // namespace saltus
