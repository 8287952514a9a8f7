// Infinitely many resets in finite time: where they accumulate, what holds after them, and when it ends.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace saltus {
namespace {

std::vector<double> times(const Trajectory& run, EventKind kind) {
  std::vector<double> found;
  for (const Event& e : run.events())
    if (e.kind == kind) found.push_back(e.t);
  return found;
}

/// The number in "… accumulate at t = 27.142857142857; …".
double accumulation(const Event& event) {
  const auto place = event.message.find("t = ");
  return place == std::string::npos ? NAN : std::stod(event.message.substr(place + 4));
}

Model ball(double height, double g, double e) {
  Model m("ball");
  const auto h = m.variable("h", height), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  m.when(h < 0).reset(v, -e * v);
  return m;
}

// DISODE45, example 5: t_1 = 10/7 and each flight is 0.9 times as long as the one before, so the bounces end at 190/7.
TEST(Zeno, BouncingBallComesToRestAtTheAccumulationPoint) {
  for (const Method method : {Method::automatic, Method::dopri5, Method::dop853, Method::taylor, Method::radau5}) {
    const Trajectory run = simulate(ball(10.0, 9.8, 0.9), {.stop = 40.0, .rtol = 1e-10, .atol = 1e-10, .method = method});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    const auto rests = times(run, EventKind::contact);
    ASSERT_EQ(rests.size(), 1u) << to_string(method);
    EXPECT_NEAR(accumulation(run.events().back()), 190.0 / 7.0, 1e-10 * 190.0 / 7.0) << to_string(method);
    EXPECT_EQ(run.final()[0], 0.0);
    EXPECT_EQ(run.final()[1], 0.0);
    for (double t = 27.2; t < 40.0; t += 1.3) EXPECT_EQ(run.at(t, "h"), 0.0);
  }
}

// The table lies under the ball, moves as A sin(w t), and lets go of it where its acceleration falls below -g: sin(w t) = g / (A w^2).
TEST(Zeno, BallOnAVibratingTableIsReleasedWhereTheTableFallsFaster) {
  constexpr double g = 10.0, w = 2.0 * std::numbers::pi, A = 0.3, e = 0.3;
  Model m("table");
  const auto h = m.variable("h", 0.01), v = m.variable("v", 0.0), t = m.time();
  m.equation(der(h) == v);
  m.equation(der(v) == -g);
  const auto table = A * sin(w * t), speed = A * w * cos(w * t);
  m.when(h < table).reset(v, speed - e * (v - speed));
  for (const double tol : {1e-6, 1e-9}) {
    const Trajectory run = simulate(m, {.stop = 3.0, .rtol = tol, .atol = tol});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    const auto rests = times(run, EventKind::contact), releases = times(run, EventKind::release);
    ASSERT_GE(rests.size(), 2u);
    ASSERT_GE(releases.size(), 2u);
    const double phase = std::asin(g / (A * w * w)) / w;
    for (std::size_t k = 0; k < releases.size(); ++k) {
      EXPECT_LT(rests[k], releases[k]);
      const double fraction = releases[k] - std::floor(releases[k]);
      EXPECT_NEAR(fraction, phase, 1e-12) << k;
      if (k + 1 < rests.size()) {
        EXPECT_GT(rests[k + 1], releases[k]);
      }
    }
    // while it rests it moves with the table
    for (std::size_t k = 0; k < releases.size(); ++k)
      for (double s = 0.1; s < 1.0; s += 0.2) {
        const double when = rests[k] + s * (releases[k] - rests[k]);
        EXPECT_NEAR(run.at(when, "h"), A * std::sin(w * when), 10.0 * tol);
        EXPECT_NEAR(run.at(when, "v"), A * w * std::cos(w * when), 10.0 * tol * w);
      }
  }
}

// DISODE45, example 3: two masses on springs and dampers, driven, that hit each other. The times of sticking and parting were computed
// with order 8 at 1e-12; the entries into sticking are accumulation points of impacts.
TEST(Zeno, TwoMassesStickTogetherAndPart) {
  constexpr double m1 = 2, m2 = 1, r = 0.6, k1 = 30, k2 = 20, a0 = 30, b0 = 35, d = 1, e = 0.7, w = 1.38;
  Model m("masses");
  const auto x1 = m.variable("x1", 0.2), x2 = m.variable("x2", 0.3), v1 = m.variable("v1", 0.0), v2 = m.variable("v2", 0.0);
  m.equation(der(x1) == v1);
  m.equation(der(x2) == v2);
  m.equation(der(v1) == (-r * v1 - k1 * x1 + b0 + a0 * cos(w * m.time())) / m1);
  m.equation(der(v2) == (-r * v2 - k2 * x2) / m2);
  const Expr momentum = m1 * v1 + m2 * v2, relative = v1 - v2;
  for (const int side : {+1, -1})
    m.when(side * (x1 - x2) > d / 2)
        .reset(v1, (momentum - m2 * e * relative) / (m1 + m2))
        .reset(v2, (momentum + m1 * e * relative) / (m1 + m2));
  const Trajectory run = simulate(m, {.stop = 10.0, .rtol = 1e-11, .atol = 1e-11});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  const auto rests = times(run, EventKind::contact), releases = times(run, EventKind::release);
  ASSERT_EQ(rests.size(), 3u);
  ASSERT_EQ(releases.size(), 2u);
  // printed to 10 digits, computed with a threshold of 1e-6 for the last impact: good to about 1e-9 at the partings
  EXPECT_NEAR(releases[0], 1.4443480904, 2e-8);
  EXPECT_NEAR(releases[1], 6.1159277968, 2e-8);
  // the accumulation points themselves: the reference stops at relative speeds of 1e-6, which is 2 v / a before the end
  EXPECT_NEAR(rests[0], 1.1658368502, 1e-6);
  EXPECT_NEAR(rests[1], 3.6106171044, 1e-6);
  EXPECT_NEAR(rests[2], 8.3540502339, 1e-6);
  const double end[] = {1.303833810797, 0.803833810797, -0.936588932095, -0.936588932095};
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(run.final()[j], end[j], 1e-7) << j;
  EXPECT_NEAR(run.final()[0] - run.final()[1], d / 2, 1e-15);
}

// Cartesian coordinates, index 3, a wall to which both components of the velocity are reset. Flights become as low as the rounding errors of the
// position allow, at any tolerance, and none of them may end behind the wall.
TEST(Zeno, PendulumComesToRestAtAWall) {
  for (const double wall : {-0.19168477532517708, -0.25, -0.05})
    for (const double tolerance : {1e-4, 1e-6, 1e-8, 1e-10})
      for (const Method method : {Method::automatic, Method::radau5, Method::rodas5p, Method::bdf}) {
        Model m("pendulum");
        const Expr x = m.variable("x", std::sin(-0.9), {.fixed = true}), y = m.variable("y", -std::cos(0.9)),
                   u = m.variable("u", 0.0, {.fixed = true}), v = m.variable("v", 0.0), F = m.variable("F", 0.0);
        m.equation(der(x) == u);
        m.equation(der(y) == v);
        m.equation(der(u) == -F * x);
        m.equation(der(v) == -F * y - 9.81);
        m.equation(x * x + y * y == 1.0);
        m.when(x > wall).reset(u, -0.6 * u).reset(v, -0.6 * v);
        const Trajectory run = simulate(m, {.stop = 6.0, .rtol = tolerance, .atol = tolerance, .method = method, .keep_steps = false});
        const std::string what = std::string(to_string(method)) + ", tolerance " + std::to_string(std::log10(tolerance)) + ", wall " + std::to_string(wall);
        ASSERT_EQ(run.status().code, StatusCode::success) << what << ": " << run.status().message;
        ASSERT_EQ(run.events().back().kind, EventKind::contact) << what;
        EXPECT_NEAR(run.at(6.0, "x"), wall, 1e-12) << what;
        EXPECT_NEAR(run.at(6.0, "u"), 0.0, 1e-12) << what;
      }
}

// With a coefficient of restitution e the flights shrink by e each. Few are seen before the clock, or the digits of the height, cannot tell one any more;
// the ball must not fall through the floor then. From t = 3 on the force grows as 2 (t - 4): it lifts the ball at t = 4, to h = (t - 4)^3/3.
TEST(Zeno, ABallThatHardlyBouncesDoesNotFallThroughTheFloor) {
  for (const double e : {0.2, 1e-2, 1e-3, 1e-5, 1e-7, 1e-9, 1e-12})
    for (const double floor : {0.0, 1000.0})
      for (const bool algebraic : {false, true})
        for (const Method method : {Method::automatic, Method::radau5, Method::taylor}) {
          Model m("ball");
          const auto h = m.variable("h", floor + 1.0), v = m.variable("v", 0.0), f = m.variable("f", -1.0), t = m.time();
          m.equation(der(h) == v);
          m.equation(der(v) == f);
          const auto force = if_else(t < 3.0, Expr(-2.0), 2.0 * (t - 4.0));
          if (algebraic)
            m.equation(f + 0.1 * f * f * f == force + 0.1 * force * force * force);  // f = force
          else
            m.equation(f == force);
          m.when(h < floor).reset(v, -e * v);
          constexpr double tol = 1e-8;
          const Trajectory run = simulate(m, {.stop = 5.0, .rtol = tol, .atol = tol, .method = method});
          const auto where = ::testing::Message() << "e = " << e << ", floor " << floor << ", " << to_string(method) << (algebraic ? ", algebraic" : "");
          ASSERT_EQ(run.status().code, StatusCode::success) << where << ": " << run.status().message;
          ASSERT_EQ(times(run, EventKind::contact).size(), 1u) << where;
          EXPECT_NEAR(run.at(2.5, "h"), floor, 10.0 * tol * (1.0 + floor)) << where;
          ASSERT_EQ(times(run, EventKind::release).size(), 1u) << where;
          EXPECT_NEAR(times(run, EventKind::release)[0], 4.0, 10.0 * tol) << where;
          EXPECT_NEAR(run.final()[0], floor + 1.0 / 3.0, 100.0 * tol * (1.0 + floor)) << where;
        }
}

// The same at a wall that a pendulum with hidden constraints is pressed against.
TEST(Zeno, APendulumThatHardlyBouncesDoesNotPassThroughTheWall) {
  for (const double e : {0.1, 1e-2, 1e-3, 1e-6, 1e-9})
    for (const Method method : {Method::automatic, Method::radau5, Method::rodas5p}) {
      Model m("pendulum");
      const auto x = m.variable("x", 1.0, {.fixed = true}), y = m.variable("y", 0.0), u = m.variable("u", 0.0), w = m.variable("w", 0.0, {.fixed = true}),
                 F = m.variable("F", 0.0);
      m.equation(der(x) == u);
      m.equation(der(y) == w);
      m.equation(der(u) == -F * x - 2.0);
      m.equation(der(w) == -F * y - 9.81);
      m.equation(x * x + y * y == 1.0);
      m.when(x < 0.2).reset(u, -e * u).reset(w, -e * w);
      const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-6, .atol = 1e-6, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_EQ(times(run, EventKind::contact).size(), 1u) << "e = " << e << ", " << to_string(method);
      EXPECT_NEAR(run.final()[0], 0.2, 1e-5) << "e = " << e << ", " << to_string(method);
    }
}

// A plastic impact is the limit of small restitutions: the body stays on the floor.
TEST(Zeno, ABodyWithoutARestitutionStays) {
  const Trajectory run = simulate(ball(1.0, 2.0, 0.0), {.stop = 2.0});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.final()[0], 0.0, 1e-9);
  EXPECT_EQ(times(run, EventKind::contact).size(), 1u);
}

// A ball that rubs: each impact takes mu (1 + e) |v| of its horizontal speed u. The force of the contact acts as the
// impacts do and makes u' = -mu g; the ground is rough and adds -k g. The impacts that are left when contact begins, and
// their time, count: u(2) was wrong by 4e-7 at any tolerance without them.
TEST(Zeno, ImpulsesOfAllImpactsThatAreLeftAreTakenIntoAccount) {
  constexpr double height = 1.0, g = 9.81, e = 0.5, mu = 0.1, k = 0.2, u0 = 5.0, stop = 2.0;
  const double t1 = std::sqrt(2.0 * height / g), v1 = std::sqrt(2.0 * g * height), t_inf = t1 * (1.0 + e) / (1.0 - e);
  const double loss = mu * (1.0 + e) * v1 / (1.0 - e), rest = stop - t_inf;
  const double x_inf = u0 * t1 + 2.0 * v1 / g * ((u0 - loss) * e / (1.0 - e) + loss * e * e / (1.0 - e * e));
  const double x_exact = x_inf + (u0 - loss) * rest - 0.5 * (mu + k) * g * rest * rest,
               u_exact = u0 - loss - (mu + k) * g * rest;
  for (const bool implicit : {false, true}) {
    for (const Method method : {Method::automatic, Method::dopri5, Method::taylor, Method::radau, Method::rodas5p, Method::bdf}) {
      if (implicit && (method == Method::dopri5 || method == Method::rodas5p)) continue;  // the contact is of higher index
      for (const double tol : {1e-6, 1e-8, 1e-10}) {
        Model m("rubbing");
        const auto x = m.variable("x", 0.0), u = m.variable("u", u0), h = m.variable("h", height), v = m.variable("v", 0.0);
        const auto force = m.variable("force", 0.0);
        m.equation(der(x) == u);
        m.equation(der(u) == if_else(h > 0, Expr(0.0), Expr(-k * g)) + force);
        m.equation(der(h) == v);
        m.equation(der(v) == -g);
        if (implicit)
          m.equation(force + 0.1 * force * force * force == 0.0);
        else
          m.equation(force == 0.0);
        m.when(h < 0).reset(v, -e * v).reset(u, u + mu * (1.0 + e) * v);
        const Trajectory run = simulate(m, {.stop = stop, .rtol = tol, .atol = tol, .method = method});
        ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
        // everything is a polynomial: what is left are rounding errors, and what implicit methods leave of the tolerance
        const double allowed = method == Method::automatic || method == Method::dopri5 || method == Method::taylor ? 1e-11 : 30.0 * tol;
        EXPECT_NEAR(run.final()[1], u_exact, std::max(allowed, implicit ? tol : 0.0)) << to_string(method) << " " << tol << implicit;
        EXPECT_NEAR(run.final()[0], x_exact, std::max(allowed, implicit ? tol : 0.0)) << to_string(method) << " " << tol << implicit;
        EXPECT_EQ(run.at(t_inf + 1e-3, "h"), 0.0);
        // the event is where the impacts accumulate
        const auto rests = times(run, EventKind::contact);
        ASSERT_EQ(rests.size(), 1u);
        EXPECT_NEAR(rests[0], t_inf, std::max(allowed, implicit ? tol : 0.0));
      }
    }
  }
}

// The same where a condition changes between the last impact and the accumulation point: it is not passed over.
TEST(Zeno, WhatHappensBetweenTheLastImpactAndTheLimitIsNotPassedOver) {
  constexpr double g = 9.81, e = 0.5;
  const double t_inf = std::sqrt(2.0 / g) * (1.0 + e) / (1.0 - e);
  for (const double before : {1e-5, 1e-7, 1e-9, 1e-11}) {
    Model m("crossing");
    const auto h = m.variable("h", 1.0), v = m.variable("v", 0.0), x = m.variable("x", 0.0), n = m.discrete("n", 0.0);
    m.equation(der(h) == v);
    m.equation(der(v) == -g);
    m.equation(der(x) == 1.0);
    m.when(h < 0).reset(v, -e * v);
    m.when(x > t_inf - before).assign(n, m.pre(n) + 1.0);
    const Trajectory run = simulate(m, {.stop = 2.0, .rtol = 1e-6, .atol = 1e-6});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_EQ(run.at(2.0, "n"), 1.0);
    const auto crossing = std::find_if(run.events().begin(), run.events().end(),
                                       [](const Event& event) { return !event.guards.empty() && event.guards[0].find('x') != std::string::npos; });
    ASSERT_NE(crossing, run.events().end());
    EXPECT_NEAR(crossing->t, t_inf - before, 1e-12);
  }
}

// A pendulum with a wall below its pivot. At the wall the constraint x^2 + y^2 = 1 is flat in x, and says nothing about
// the digits of x. The impact speed shrinks by e = 0.9 each time, a swing takes 2 K(k) / w with k = speed / (2 w), and the
// impacts do not accumulate: their intervals shrink towards pi / w.
TEST(Zeno, AWallWhereAConstraintIsFlatIsHitAgainAndAgain) {
  constexpr double gravity = 9.81, e = 0.9;
  const double w = std::sqrt(gravity), first = 2.0 * w * std::sqrt(0.1);  // (1 - 0.8) / 2 = sin^2(theta / 2)
  for (const Method method : {Method::automatic, Method::taylor, Method::radau, Method::radau5, Method::rodas5p, Method::bdf}) {
    for (const double tol : {1e-5, 1e-7, 1e-9}) {
      Model m("wall");
      const auto x = m.variable("x", 0.6), y = m.variable("y", -0.8), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
                 tension = m.variable("tension", 0.0);
      m.equation(der(x) == u);
      m.equation(der(y) == v);
      m.equation(der(u) == -tension * x);
      m.equation(der(v) == -tension * y - gravity);
      m.equation(x * x + y * y == 1.0);
      m.when(x < 0).reset(u, -e * u);
      const Trajectory run = simulate(m, {.stop = 20.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
      double t = std::comp_ellint_1(std::sqrt(0.1)) / w, speed = first;
      std::size_t hits = 0;
      const auto resets = times(run, EventKind::reset);
      for (; t < 20.0; ++hits) {
        ASSERT_LT(hits, resets.size());
        // errors of the swings add up; bdf has the largest
        EXPECT_NEAR(resets[hits], t, 2e3 * tol) << to_string(method) << ", impact " << hits + 1;
        speed *= e;
        EXPECT_NEAR(run.at(t + 1e-2, "u"), speed * std::cos(1e-2 * w), 2e-3 * speed + 2e3 * tol);
        t += 2.0 * std::comp_ellint_1(speed / (2.0 * w)) / w;
      }
      EXPECT_EQ(resets.size(), hits) << to_string(method);
    }
  }
}

// The same for a constraint of index 1: u' = 9.81 x y keeps u^2 / 2 - 3.27 |y|^3.
TEST(Zeno, AWallWhereAnAlgebraicEquationIsFlatIsHitAgainAndAgain) {
  for (const Method method : {Method::automatic, Method::radau, Method::rodas5p, Method::bdf}) {
    std::size_t hits = 0;
    for (const double tol : {1e-9, 1e-7, 1e-5}) {
      Model m("wall");
      const auto x = m.variable("x", 0.6), u = m.variable("u", 0.0), y = m.variable("y", -0.8);
      m.equation(der(x) == u);
      m.equation(der(u) == 9.81 * x * y);
      m.equation(x * x + y * y == 1.0);
      m.when(x < 0).reset(u, -0.9 * u);
      const Trajectory run = simulate(m, {.stop = 20.0, .rtol = tol, .atol = tol, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << to_string(method) << ": " << run.status().message;
      double speed = std::sqrt(6.54 * (1.0 - 0.512));
      std::size_t impacts = 0;
      for (const Event& event : run.events()) {
        if (event.kind != EventKind::reset) continue;
        ++impacts;
        EXPECT_NEAR(event.before[1], -speed, 2e3 * tol) << to_string(method);
        speed *= 0.9;
        EXPECT_NEAR(event.after[1], speed, 2e3 * tol) << to_string(method);
      }
      EXPECT_GE(impacts, 18u);
      if (hits == 0) hits = impacts;
      EXPECT_EQ(impacts, hits);
    }
  }
}

}  // namespace
}  // namespace saltus
