// Linear equations between states: relative positions and velocities, gears, rigid shafts, supports. The same machines
// without such equations give the answers.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace saltus {
namespace {

constexpr double tight = 1e-10;

Trajectory run(const Model& m, double stop = 2.0) {
  return simulate(m, {.stop = stop, .rtol = tight, .atol = tight});
}

bool is_explicit(const Model& m) {
  CompiledModel compiled(m);
  return compiled.system(compiled.initial_mode()).structure().explicit_ode;
}

bool has_hidden_constraints(const Model& m) {
  const std::string methods = run(m, 1e-3).statistics().method;
  return methods.find("hidden constraints") != std::string::npos;
}

double last(const Trajectory& result, const std::string& name) {
  return result.final()[result.index(name)];
}

/// Two masses, a spring and a damper between them, with equations in an order that the number decides.
Model spring_between_masses(int order, const VariableOptions& relative = {}, double start = 0.0) {
  Model m("relative");
  const Expr s_rel = m.variable("s_rel", start, relative), v_rel = m.variable("v_rel");
  const Expr s_a = m.variable("s_a", 0.0, {.fixed = true}), v_a = m.variable("v_a", 1.0, {.fixed = true});
  const Expr s_b = m.variable("s_b", 0.0, {.fixed = !relative.fixed}), v_b = m.variable("v_b", 0.0, {.fixed = true});
  const Expr a_a = m.variable("a_a"), a_b = m.variable("a_b"), f = m.variable("f");
  std::vector<Equation> equations{s_rel == s_b - s_a, v_rel == der(s_rel), f == 3.0 * s_rel + 0.2 * v_rel,
                                  v_a == der(s_a),    a_a == der(v_a),     2.0 * a_a == f,
                                  v_b == der(s_b),    a_b == der(v_b),     a_b == -f};
  std::mt19937 random(static_cast<unsigned>(order));
  std::shuffle(equations.begin(), equations.end(), random);
  for (const Equation& e : equations) m.equation(e);
  return m;
}

TEST(StateConstraints, relative_positions_make_no_hidden_constraints_in_any_order) {
  // with the reduced mass 2/3: s'' + 0.3 s' + 4.5 s = 0, s(0) = 0, s'(0) = -1; the centre moves with the speed 2/3
  const double decay = 0.15, w = std::sqrt(4.5 - decay * decay);
  const double s = -std::exp(-2.0 * decay) * std::sin(2.0 * w) / w;
  for (int order = 0; order < 20; ++order) {
    const Model m = spring_between_masses(order);
    EXPECT_FALSE(has_hidden_constraints(m)) << order;
    const Trajectory result = run(m);
    ASSERT_TRUE(result.status().ok()) << result.status().message;
    EXPECT_NEAR(last(result, "s_rel"), s, 1e-8) << order;
    EXPECT_NEAR(last(result, "s_b"), 4.0 / 3.0 + 2.0 / 3.0 * s, 1e-8) << order;
    EXPECT_NEAR(last(result, "v_rel"), last(result, "v_b") - last(result, "v_a"), 1e-14) << order;
  }
}

TEST(StateConstraints, a_fixed_relative_position_counts) {
  const Trajectory result = run(spring_between_masses(1, {.fixed = true}, 0.5), 0.0);
  EXPECT_NEAR(last(result, "s_b"), 0.5, 1e-12);
  EXPECT_NEAR(last(result, "f"), 1.5 - 0.2, 1e-12);
}

TEST(StateConstraints, start_values_of_relative_positions_are_guesses_that_count) {
  // of s_b and s_rel one is free: the one with a start value keeps it, whichever the equation defines
  for (const bool guess_relative : {true, false}) {
    Model m("guess");
    const Expr s_a = m.variable("s_a", 1.0, {.fixed = true}), s_b = m.variable("s_b", guess_relative ? 0.0 : 3.0),
               s_rel = m.variable("s_rel", guess_relative ? 2.0 : 0.0), v = m.variable("v");
    m.equation(s_rel == s_b - s_a);
    m.equation(v == der(s_rel));
    m.equation(der(s_a) == -s_rel);
    m.equation(der(s_b) == 0.0);
    EXPECT_NEAR(last(run(m, 0.0), "s_b"), 3.0, 1e-12);
    EXPECT_NEAR(last(run(m, 0.0), "s_rel"), 2.0, 1e-12);
  }
}

TEST(StateConstraints, shafts_through_gears_turn_together) {
  // J1 + J2 i^2 + J3 i^2 k^2 at the first shaft, with i = 1/2 and k = -3
  Model m("gears");
  const Expr ratio = m.parameter("ratio", 2.0), k = m.parameter("k", -3.0);
  std::vector<Expr> phi, w, a, torque;
  for (int i = 0; i < 3; ++i) {
    const std::string number = std::to_string(i);
    phi.push_back(m.variable("phi" + number, 0.0, {.fixed = i == 1}));
    w.push_back(m.variable("w" + number, 0.0, {.fixed = i == 1}));
    a.push_back(m.variable("a" + number));
    torque.push_back(m.variable("torque" + number));
    m.equation(w.back() == der(phi.back()));
    m.equation(a.back() == der(w.back()));
  }
  const Expr from_first = m.variable("from_first"), from_second = m.variable("from_second");
  m.equation(phi[0] == ratio * phi[1]);
  m.equation(phi[2] == k * phi[1]);
  m.equation(torque[0] == cos(m.time()) - from_first);
  m.equation(torque[1] == ratio * from_first - from_second);
  m.equation(k * torque[2] == from_second);
  const double J[] = {1.0, 2.0, 0.5};
  for (std::size_t i = 0; i < 3; ++i) m.equation(J[i] * a[i] == torque[i]);
  const CompiledModel compiled(m);
  const auto check = [&](CompiledModel machine, double by, double with) {
    const Trajectory result = simulate(machine, {.stop = 2.0, .rtol = tight, .atol = tight});
    ASSERT_TRUE(result.status().ok()) << result.status().message;
    const double inertia = by * by * J[0] + J[1] + with * with * J[2];
    EXPECT_NEAR(last(result, "w1"), by * std::sin(2.0) / inertia, 1e-8);
    EXPECT_NEAR(last(result, "phi2"), with * by * (1.0 - std::cos(2.0)) / inertia, 1e-8);
  };
  check(compiled, 2.0, -3.0);
  check(compiled.with_values({{"ratio", 0.5}}), 0.5, -3.0);
  check(compiled.with_values({{"k", 1e-4}}), 2.0, 1e-4);
}

TEST(StateConstraints, what_is_held_by_a_support_stands_still) {
  Model m("support");
  const Expr phi = m.variable("phi"), w = m.variable("w"), a = m.variable("a"), torque = m.variable("torque");
  const Expr x = m.variable("x", 1.0, {.fixed = true});
  m.equation(phi == 0.25);
  m.equation(w == der(phi));
  m.equation(a == der(w));
  m.equation(3.0 * a == torque + x);
  m.equation(der(x) == -x + w);
  EXPECT_TRUE(is_explicit(m));
  const Trajectory result = run(m);
  EXPECT_NEAR(last(result, "torque"), -std::exp(-2.0), 1e-9);
  EXPECT_EQ(last(result, "w"), 0.0);
}

TEST(StateConstraints, relative_velocities_follow_a_reset) {
  // a ball on a spring: the other mass keeps its speed at the impact
  Model m("impact");
  const Expr s_a = m.variable("s_a", 1.0, {.fixed = true}), v_a = m.variable("v_a", -2.0, {.fixed = true});
  const Expr s_b = m.variable("s_b", 2.0, {.fixed = true}), v_b = m.variable("v_b", -2.0, {.fixed = true});
  const Expr s_rel = m.variable("s_rel"), v_rel = m.variable("v_rel"), a_rel = m.variable("a_rel");
  m.equation(s_rel == s_b - s_a);
  m.equation(v_rel == der(s_rel));
  m.equation(a_rel == der(v_rel));
  m.equation(der(s_a) == v_a);
  m.equation(der(v_a) == s_rel - 1.0);
  m.equation(der(s_b) == v_b);
  m.equation(der(v_b) == 1.0 - s_rel);
  m.when(s_a < 0.0).reset(v_a, -0.5 * v_a);
  const Trajectory result = run(m, 0.6);
  ASSERT_TRUE(result.status().ok()) << result.status().message;
  ASSERT_EQ(result.events().size(), 1u);
  const double t = result.events().front().t;
  EXPECT_NEAR(t, 0.5, 1e-9);
  EXPECT_NEAR(result.at(t, "v_a"), 1.0, 1e-8);
  EXPECT_NEAR(result.at(t, "v_b"), -2.0, 1e-8);
  EXPECT_NEAR(result.at(t, "v_rel"), -3.0, 1e-8);
}

/// A chain of masses between walls, with relative or absolute coordinates.
struct Chain {
  std::vector<double> mass, stiffness, start;

  Model model(bool relative, std::mt19937& random) const {
    Model m("chain");
    const std::size_t n = mass.size();
    std::vector<Expr> s, v, force;
    std::vector<Equation> equations;
    for (std::size_t i = 0; i < n; ++i) {
      s.push_back(m.variable("s" + std::to_string(i), start[i], {.fixed = true}));
      v.push_back(m.variable("v" + std::to_string(i), 0.0, {.fixed = true}));
      equations.push_back(der(s.back()) == v.back());
    }
    for (std::size_t i = 0; i <= n; ++i) {
      const Expr length = (i < n ? s[i] : Expr(0.0)) - (i > 0 ? s[i - 1] : Expr(0.0));
      const Expr f = m.variable("f" + std::to_string(i));
      force.push_back(f);
      // a slack spring pulls only
      const auto pull = [&](const Expr& x, const Expr& slope) {
        return if_else(x > 0.0, stiffness[i] * x, Expr(0.0)) + 0.1 * slope;
      };
      if (relative) {
        const Expr d = m.variable("d" + std::to_string(i)), rate = m.variable("rate" + std::to_string(i));
        equations.push_back(d == length);
        equations.push_back(der(d) == rate);
        equations.push_back(f == pull(d, rate));
      } else {
        equations.push_back(f == pull(length, (i < n ? v[i] : Expr(0.0)) - (i > 0 ? v[i - 1] : Expr(0.0))));
      }
    }
    for (std::size_t i = 0; i < n; ++i) equations.push_back(mass[i] * der(v[i]) == force[i + 1] - force[i]);
    std::shuffle(equations.begin(), equations.end(), random);
    for (const Equation& e : equations) m.equation(e);
    return m;
  }
};

TEST(StateConstraints, random_chains_agree_with_absolute_coordinates) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> number(0.5, 2.0), place(-1.0, 1.0);
  for (int trial = 0; trial < 20; ++trial) {
    Chain chain;
    const int n = 2 + trial % 4;
    for (int i = 0; i < n; ++i) {
      chain.mass.push_back(number(random));
      chain.start.push_back(place(random));
    }
    for (int i = 0; i <= n; ++i) chain.stiffness.push_back(5.0 * number(random));
    const Trajectory absolute = run(chain.model(false, random), 3.0), relative = run(chain.model(true, random), 3.0);
    ASSERT_TRUE(absolute.status().ok() && relative.status().ok()) << trial;
    ASSERT_EQ(absolute.events().size(), relative.events().size()) << trial;
    EXPECT_TRUE(is_explicit(chain.model(true, random))) << trial;
    // two runs with the tolerance 1e-10 over 3 time units, with errors that grow like exp(3) at most
    for (std::size_t k = 0; k < absolute.events().size(); ++k)
      EXPECT_NEAR(absolute.events()[k].t, relative.events()[k].t, 1e-7) << trial;
    for (int i = 0; i < n; ++i)
      EXPECT_NEAR(last(absolute, "s" + std::to_string(i)), last(relative, "s" + std::to_string(i)), 1e-7) << trial;
  }
}

}  // namespace
}  // namespace saltus
