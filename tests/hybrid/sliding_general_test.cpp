// Sliding beyond one explicit field: modes with constraints, explicit modes that oppose each other, fields that differ in every orthant,
// many surfaces, rules for surfaces, and points from which the solution is not unique.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <array>
#include <cmath>
#include <map>

namespace saltus {
namespace {

SimulateOptions to(double stop, double tolerance) { return {.stop = stop, .rtol = tolerance, .atol = tolerance}; }

struct Expected {
  double t;
  EventKind kind;
};
constexpr EventKind cross = EventKind::crossing, enter = EventKind::slide_enter, leave = EventKind::slide_exit;

void expect_events(const Trajectory& run, const std::vector<Expected>& expected, double tolerance) {
  ASSERT_EQ(run.events().size(), expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    EXPECT_EQ(run.events()[k].kind, expected[k].kind) << k;
    EXPECT_NEAR(run.events()[k].t, expected[k].t, tolerance) << k;
  }
}

// --- modes with constraints

/// A pendulum in Cartesian coordinates, index 3, driven sideways, with a friction moment in its pivot that is constant or proportional to
/// the force in the rod.
Model friction_pendulum(bool load_dependent) {
  Model m("pendulum");
  const auto x = m.variable("x", std::sin(1.0)), y = m.variable("y", -std::cos(1.0)), u = m.variable("u", 0.0),
             v = m.variable("v", 0.0), force = m.variable("force", 5.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  const Expr moment = (load_dependent ? 0.3 * force : Expr(3.0)) * if_else(x * v - y * u > 0, 1.0, -1.0);
  m.equation(der(u) == -force * x + 6.0 * sin(2.0 * m.time()) + moment * y);
  m.equation(der(v) == -force * y - 9.81 - moment * x);
  m.equation(x * x + y * y == 1.0);
  return m;
}

void expect_end(const Trajectory& run, double angle, double speed, double tolerance) {
  const auto end = run.final();
  EXPECT_NEAR(std::atan2(end[0], -end[1]), angle, tolerance);
  EXPECT_NEAR(end[0] * end[3] - end[1] * end[2], speed, tolerance);
}

// The times were computed from the Filippov ODE in the angle by Taylor series of order 20 at 1e-15.
TEST(SlidingDae, ThePendulumWithConstantFrictionSticksAndGoesOn) {
  const Trajectory run = simulate(friction_pendulum(false), to(12.0, 1e-10));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  expect_events(run,
                {{0.787743288823, enter}, {1.505802696627, leave}, {2.753812534851, cross}, {4.176076196702, cross},
                 {5.681110414332, cross}, {7.274189219366, cross}, {8.852023056783, cross}, {10.417836961047, cross},
                 {11.989141706215, cross}},
                1e-8);
  expect_end(run, -0.863212953769, 0.009836514900, 1e-8);
  // it stands still while it sticks
  for (double t = 0.8; t < 1.5; t += 0.1) {
    EXPECT_NEAR(run.at(t, "u"), 0.0, 1e-10);
    EXPECT_NEAR(run.at(t, "v"), 0.0, 1e-10);
  }
}

TEST(SlidingDae, FrictionMayDependOnAForceThatTheConstraintsFind) {
  const Trajectory run = simulate(friction_pendulum(true), to(12.0, 1e-10));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 14u);
  const double first[] = {0.733739274717, 1.488558993297, 2.710699947864, 2.796297925836};
  for (std::size_t k = 0; k < 14; ++k) EXPECT_EQ(run.events()[k].kind, k % 2 == 0 ? enter : leave) << k;
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(run.events()[k].t, first[k], 1e-8) << k;
  EXPECT_NEAR(run.events()[13].t, 10.559039653200, 1e-8);
  expect_end(run, -0.729107978448, -0.085650471080, 1e-8);
}

// The weight is an unknown behind the variables of the model: a list of tolerances has none for it.
TEST(SlidingDae, TolerancesOfEachVariableDoNotCountTheWeights) {
  const Trajectory all = simulate(friction_pendulum(false), to(2.0, 1e-9));
  const Trajectory each = simulate(friction_pendulum(false), {.stop = 2.0, .rtol = 1e-9, .atol = 1e-9, .atol_each = std::vector<double>(5, 1e-9)});
  ASSERT_TRUE(each.status().ok()) << each.status().message;
  ASSERT_EQ(each.events().size(), all.events().size());
  for (std::size_t k = 0; k < all.events().size(); ++k) EXPECT_EQ(each.events()[k].t, all.events()[k].t) << k;
}

// --- explicit modes

/// Two masses, the first one pulled by sin t, friction 0.4 between them: the relative speed obeys w' = sin t -+ 0.8.
Model opposing_modes() {
  Model m("stick-slip");
  const auto p1 = m.variable("p1", 0.0), p2 = m.variable("p2", 0.0), v1 = m.variable("v1", 0.0), v2 = m.variable("v2", 0.0);
  m.equation(der(p1) == v1);
  m.equation(der(p2) == v2);
  ExplicitMode ahead = m.mode("ahead"), behind = m.mode("behind");
  ahead.equation(der(v1) == sin(m.time()) - 0.4);
  ahead.equation(der(v2) == 0.4);
  behind.equation(der(v1) == sin(m.time()) + 0.4);
  behind.equation(der(v2) == -0.4);
  ahead.transition(v1 - v2 < 0).to(behind);
  behind.transition(v1 - v2 > 0).to(ahead);
  return m;
}

TEST(SlidingModes, ExplicitModesThatOpposeEachOtherSlide) {
  const Trajectory run = simulate(opposing_modes(), to(10.0, 1e-10));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const double exits[] = {0.9272952180016122, 4.068887871591405, 7.210480525181199},
               entries[] = {0.0, 2.88700390598078, 6.028596559570573, 9.170189213160366};
  ASSERT_EQ(run.events().size(), 7u);
  for (std::size_t k = 0; k < 7; ++k) {
    EXPECT_NEAR(run.events()[k].t, k % 2 == 0 ? entries[k / 2] : exits[k / 2], 1e-9) << k;
    EXPECT_EQ(run.events()[k].surfaces.size(), k % 2 == 0 ? 1u : 0u) << k;
  }
  EXPECT_NEAR(run.final()[2], 0.919535764538, 1e-9);
  EXPECT_NEAR(run.final()[3], 0.919535764538, 1e-9);
  EXPECT_LT(run.statistics().steps, 100);  // the GESDA report needed 4737
}

TEST(SlidingModes, AUserWrittenSlidingModeIsObeyed) {
  Model m("with stick mode");
  const auto v = m.variable("v", 1.0), x = m.variable("x", 0.0);
  m.equation(der(x) == v);
  ExplicitMode slip = m.mode("slip"), stick = m.mode("stick");
  slip.equation(der(v) == -1.0);
  stick.equation(der(v) == 0.0);
  slip.transition(v < 0).to(stick).reset(v, 0.0);
  const Trajectory run = simulate(m, to(3.0, 1e-9));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].kind, EventKind::transition);
  EXPECT_EQ(run.events()[0].mode_after, "stick");
  EXPECT_NEAR(run.final()[1], 0.5, 1e-9);
}

// --- fields that differ in every quadrant

using Field = std::array<double, 3>;

/// x' = one of four constant fields by the signs of x1 and x2, from the origin.
Trajectory from_the_corner(const Field& pp, const Field& pm, const Field& mp, const Field& mm, double stop = 1.0) {
  Model m("corner");
  const auto x1 = m.variable("x1", 0.0), x2 = m.variable("x2", 0.0), x3 = m.variable("x3", 0.0);
  const Expr x[] = {x1, x2, x3};
  for (std::size_t j = 0; j < 3; ++j)
    m.equation(der(x[j]) == if_else(x1 > 0, if_else(x2 > 0, pp[j], pm[j]), if_else(x2 > 0, mp[j], mm[j])));
  return simulate(m, to(stop, 1e-9));
}

// The weights solve the two bilinear equations for x1' = x2' = 0.
TEST(SlidingCorner, NodalAttractiveFieldsSlideOnBothSurfaces) {
  const Trajectory run = from_the_corner({-1, -2, 1}, {-2, 1, 0}, {1, -1, 3}, {3, 1, -1});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].kind, enter);
  ASSERT_EQ(run.events()[0].weights.size(), 2u);
  const bool in_order = run.events()[0].surfaces[0] == "x1 = 0";
  const double a = run.events()[0].weights[in_order ? 0 : 1], b = run.events()[0].weights[in_order ? 1 : 0];
  EXPECT_NEAR(a, 0.579796, 1e-6);
  EXPECT_NEAR(b, 0.387628, 1e-6);
  const auto mix = [&](double pp, double pm, double mp, double mm) {
    return a * (b * pp + (1 - b) * pm) + (1 - a) * (b * mp + (1 - b) * mm);
  };
  EXPECT_NEAR(mix(-1, -2, 1, 3), 0.0, 1e-12);
  EXPECT_NEAR(mix(-2, 1, -1, 1), 0.0, 1e-12);
  EXPECT_EQ(run.final()[0], 0.0);
  EXPECT_EQ(run.final()[1], 0.0);
  EXPECT_NEAR(run.final()[2], mix(1, 0, 3, -1), 1e-9);
}

TEST(SlidingCorner, SpirallingInwardsSlidesOnBothSurfaces) {
  const Trajectory run = from_the_corner({-.2, -1, 1}, {-1, .2, 0}, {1, -.2, 0}, {.2, 1, 2});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  ASSERT_EQ(run.events()[0].weights.size(), 2u);
  EXPECT_NEAR(run.events()[0].weights[0], 0.5, 1e-9);
  EXPECT_NEAR(run.events()[0].weights[1], 0.5, 1e-9);
  EXPECT_NEAR(run.final()[2], 0.75, 1e-9);
}

TEST(SlidingCorner, LeavesIntoTheOnlyQuadrantThatIsOpen) {
  const Trajectory run = from_the_corner({1, 1, 1}, {-2, 1, 0}, {1, -1, 3}, {3, 1, -1});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  for (const double v : run.final()) EXPECT_NEAR(v, 1.0, 1e-9);
  for (const Event& e : run.events()) EXPECT_EQ(e.message.find("not unique"), std::string::npos) << e.message;
}

TEST(SlidingCorner, LeavesAlongOneSurface) {
  const Trajectory run = from_the_corner({-1, 1, 1}, {-1, 1, 0}, {1, 1, 1}, {1, 2, 0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].surfaces, (std::vector<std::string>{"x1 = 0"}));
  EXPECT_NEAR(run.final()[0], 0.0, 1e-15);
  EXPECT_NEAR(run.final()[1], 1.0, 1e-9);
}

TEST(SlidingCorner, RepulsionFromEverywhereIsNotUnique) {
  const Trajectory run = from_the_corner({1, 1, 0}, {1, -1, 0}, {-1, 1, 0}, {-1, -1, 0});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NE(run.events()[0].message.find("9 continuations"), std::string::npos) << run.events()[0].message;
  EXPECT_NEAR(std::abs(run.final()[0]), 1.0, 1e-9);  // it leaves
}

// --- tangencies: g = y, x' = 1

struct Fold {
  const char* name;
  double above_slope, above, below_slope, below;  // y' = above + above_slope x for y > 0
  const char* outcome;
};

TEST(SlidingFold, EveryTangencyHasItsOutcome) {
  const Fold folds[] = {
      {"visible fold above, below pushes up", 1, 0, 0, 1, "up"},
      {"invisible fold above, below pushes up", -1, 0, 0, 1, "slide"},
      {"unstable sliding", 0, 1, 0, -1, "not unique"},
      {"visible-visible two-fold", 1, 0, -1, 0, "not unique"},
  };
  for (const Fold& fold : folds) {
    Model m("fold");
    const auto x = m.variable("x", 0.0), y = m.variable("y", 0.0);
    m.equation(der(x) == 1.0);
    m.equation(der(y) == if_else(y > 0, fold.above + fold.above_slope * x, fold.below + fold.below_slope * x));
    const Trajectory run = simulate(m, to(0.5, 1e-9));
    ASSERT_TRUE(run.status().ok()) << fold.name << run.status().message;
    const std::string outcome = fold.outcome, message = run.events().empty() ? "" : run.events()[0].message;
    const bool non_unique = message.find("not unique") != std::string::npos;
    EXPECT_EQ(non_unique, outcome == "not unique") << fold.name << ": " << message;
    if (outcome == "up") {
      EXPECT_NEAR(run.final()[1], 0.125, 1e-9) << fold.name;
    }
    if (outcome == "slide") {
      EXPECT_EQ(run.final()[1], 0.0) << fold.name;
    }
    if (outcome == "not unique") {
      EXPECT_GT(std::abs(run.final()[1]), 0.1) << fold.name;
    }
    SimulateOptions strict = to(0.5, 1e-9);
    strict.stop_if_non_unique = true;
    const Trajectory stopped = simulate(m, strict);
    EXPECT_EQ(stopped.status().code, outcome == "not unique" ? StatusCode::non_unique : StatusCode::success) << fold.name;
  }
}

// --- many surfaces

// Relays in a chain: x_i' = d_i - s_i + c (s_{i-1} + s_{i+1}) with s = sign(x). All slide: d_i = s_i - c (s_{i-1} + s_{i+1}).
TEST(SlidingChain, ManySurfacesAtOnceHaveTheRightWeights) {
  for (int p = 3; p <= 8; ++p) {
    constexpr double c = 0.3;
    std::vector<double> s;
    for (int i = 0; i < p; ++i) s.push_back(0.6 * std::cos(1.7 * i + 0.3));
    Model m("chain");
    std::vector<Expr> x, relay;
    for (int i = 0; i < p; ++i) {
      x.push_back(m.variable("x" + std::to_string(i + 1), 0.0));
      relay.push_back(sign(x.back()));
    }
    const auto neighbours = [&](const auto& list, int i) {
      auto sum = 0.0 * list[static_cast<std::size_t>(i)];
      if (i > 0) sum = sum + list[static_cast<std::size_t>(i - 1)];
      if (i + 1 < p) sum = sum + list[static_cast<std::size_t>(i + 1)];
      return sum;
    };
    for (int i = 0; i < p; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const double d = s[k] - c * neighbours(s, i);
      m.equation(der(x[k]) == d - relay[k] + c * neighbours(relay, i));
    }
    const Trajectory run = simulate(m, to(1.0, 1e-9));
    ASSERT_TRUE(run.status().ok()) << p << run.status().message;
    ASSERT_EQ(run.events().size(), 1u) << p;
    ASSERT_EQ(run.events()[0].weights.size(), static_cast<std::size_t>(p));
    for (std::size_t i = 0; i < static_cast<std::size_t>(p); ++i) {
      EXPECT_NEAR(2.0 * run.events()[0].weights[i] - 1.0, s[i], 1e-12) << p << " " << i;
      EXPECT_EQ(run.final()[i], 0.0);
    }
  }
}

// One drive is too strong for its relay: that surface is left and all others slide.
TEST(SlidingChain, ASurfaceThatCannotHoldIsLeft) {
  for (int p = 4; p <= 8; ++p) {
    Model m("chain");
    std::vector<Expr> x;
    for (int i = 0; i < p; ++i) x.push_back(m.variable("x" + std::to_string(i + 1), 0.0));
    for (int i = 0; i < p; ++i) {
      const auto k = static_cast<std::size_t>(i);
      m.equation(der(x[k]) == (i == 1 ? 1.5 : 0.2) - sign(x[k]) + (i > 0 ? 0.1 * sign(x[k - 1]) : Expr(0.0)));
    }
    const Trajectory run = simulate(m, to(1.0, 1e-9));
    ASSERT_TRUE(run.status().ok()) << p << run.status().message;
    for (std::size_t i = 0; i < static_cast<std::size_t>(p); ++i) {
      const double expected = i == 1 ? 0.5 + 0.1 * 0.2 : 0.0;  // 1.5 - 1 + 0.1 s_1 with s_1 = 0.2
      EXPECT_NEAR(run.final()[i], expected, i == 1 ? 1e-9 : 0.0) << p << " " << i;
    }
  }
}

// --- rules for surfaces

Model relay_with(SurfaceRule rule) {
  Model m("relay");
  const auto x = m.variable("x", 1.0);
  m.equation(der(x) == -sign(x));
  m.surface(x > 0, rule);
  return m;
}

TEST(SurfaceRules, FilippovSlides) {
  const Trajectory run = simulate(relay_with(SurfaceRule::filippov), to(2.0, 1e-9));
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_EQ(run.final()[0], 0.0);
}

TEST(SurfaceRules, CrossingOnlyEndsWhereTheSurfaceCannotBeCrossed) {
  const Trajectory run = simulate(relay_with(SurfaceRule::crossing), to(2.0, 1e-9));
  EXPECT_EQ(run.status().code, StatusCode::no_forward_solution);
  EXPECT_NEAR(run.t_end(), 1.0, 1e-9);
  EXPECT_NE(run.status().message.find("may not slide"), std::string::npos) << run.status().message;
}

TEST(SurfaceRules, StopEndsTheRunWhereSlidingWouldBegin) {
  const Trajectory run = simulate(relay_with(SurfaceRule::stop), to(2.0, 1e-9));
  EXPECT_EQ(run.status().code, StatusCode::terminated);
  EXPECT_NEAR(run.t_end(), 1.0, 1e-9);
  EXPECT_NE(run.status().message.find("sliding would begin"), std::string::npos) << run.status().message;
}

TEST(SurfaceRules, ASurfaceThatTheModelDoesNotHaveIsAnError) {
  Model m("relay");
  const auto x = m.variable("x", 1.0);
  m.equation(der(x) == -sign(x));
  m.surface(x > 3, SurfaceRule::crossing);
  EXPECT_THROW(simulate(m, to(1.0, 1e-6)), ModelError);
}

}  // namespace
}  // namespace saltus
