// Why an event happens: models with planted causes, whose derivatives are known.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/event_reason.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace saltus {
namespace {

CompiledModel compiled(const std::string& text) {
  return CompiledModel(load_modelica(text, "model.mo").model);
}

const EventReason::Influence& influence(const EventReason& reason, const std::string& name) {
  static const EventReason::Influence none;
  const auto it = std::ranges::find(reason.parameters, name, &EventReason::Influence::name);
  EXPECT_NE(it, reason.parameters.end()) << name;
  return it == reason.parameters.end() ? none : *it;
}

const SimulateOptions tight{.stop = 3.0, .rtol = 1e-9, .atol = 1e-9};

TEST(EventReason, ABallThatHitsLaterHitsAgainLater) {
  const CompiledModel model = compiled(R"(model Ball
  parameter Real g = 9.81, e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;)");
  SimulateOptions options = tight;
  options.stop = 1.5;
  const EventReason reason = explain_event(model, options, 2);
  const double g = 9.81, e = 0.7, first = std::sqrt(2.0 / g);
  EXPECT_NEAR(reason.t, first * (1.0 + 2.0 * e), 1e-8);
  ASSERT_EQ(reason.reads.size(), 1u);
  EXPECT_EQ(reason.reads[0].name, "h");
  EXPECT_NEAR(reason.reads[0].slope, -e * g * first, 1e-6);
  // later by d, the ball is v d below the table, and e g d slower after it
  ASSERT_EQ(reason.earlier.size(), 1u);
  EXPECT_NEAR(reason.earlier[0].derivative, 1.0 + (2.0 * e * e - 1.0) / e, 1e-3);
  // t = sqrt(2 h/g) (1 + 2 e)
  EXPECT_NEAR(influence(reason, "e").derivative, 2.0 * first, 1e-6);
  EXPECT_NEAR(influence(reason, "g").derivative, -0.5 * reason.t / g, 1e-6);
  EXPECT_NEAR(influence(reason, "h.start").derivative, 0.5 * reason.t, 1e-6);
  EXPECT_NEAR(influence(reason, "e").per_percent, 0.02 * e * first, 1e-8);
}

TEST(EventReason, AChainOfTimersPassesADelayOn) {
  const CompiledModel model = compiled(R"(model Chain
  parameter Real first = 0.5, second = 0.7, other = 0.2;
  Real x(start = 0, fixed = true), y(start = 0, fixed = true), z(start = 0, fixed = true);
  discrete Boolean on(start = false, fixed = true), done(start = false, fixed = true);
  discrete Boolean beside(start = false, fixed = true);
equation
  der(x) = 1;
  der(y) = if on then 2 else 0;
  der(z) = 1;
  when x > first then
    on = true;
  end when;
  when z > other then
    beside = true;
  end when;
  when y > second then
    done = true;
  end when;
end Chain;)");
  const EventReason reason = explain_event(model, tight, 3);
  EXPECT_NEAR(reason.t, 0.5 + 0.35, 1e-8);
  EXPECT_EQ(reason.text.substr(0, 31), "crossing: y > second becomes tr");
  ASSERT_EQ(reason.reads.size(), 2u);
  EXPECT_TRUE(reason.reads[1].parameter);
  ASSERT_EQ(reason.earlier.size(), 2u);
  EXPECT_EQ(reason.earlier[0].event, 2u);
  EXPECT_NEAR(reason.earlier[0].derivative, 1.0, 1e-6);  // the timer that starts it
  EXPECT_NEAR(reason.earlier[1].derivative, 0.0, 1e-6);  // the one beside it
  EXPECT_NEAR(influence(reason, "first").derivative, 1.0, 1e-8);
  EXPECT_NEAR(influence(reason, "second").derivative, 0.5, 1e-8);
  EXPECT_NEAR(influence(reason, "other").derivative, 0.0, 1e-8);
  EXPECT_EQ(reason.parameters[0].name, "first");
}

TEST(EventReason, AnAssignedTimeIsACauseToo) {
  // the second event comes 1.5 times the time of the first one after it
  const CompiledModel model = compiled(R"(model Memory
  parameter Real first = 0.4;
  Real x(start = 0, fixed = true);
  discrete Real since(start = 10, fixed = true), n(start = 0, fixed = true);
equation
  der(x) = 1;
  when x > first then
    since = time;
  end when;
  when x > 2.5*since then
    n = pre(n) + 1;
  end when;
end Memory;)");
  const EventReason reason = explain_event(model, tight, 2);
  EXPECT_NEAR(reason.t, 1.0, 1e-8);
  ASSERT_EQ(reason.earlier.size(), 1u);
  EXPECT_NEAR(reason.earlier[0].derivative, 2.5, 1e-5);
}

TEST(EventReason, TheSmallestChangeThatPreventsAnEventIsAtItsPeak) {
  const CompiledModel model = compiled(R"(model Peak
  parameter Real limit = 0.9, slow = 1;
  Real x(start = 0, fixed = true), v(start = 1, fixed = true);
  discrete Real hits(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x*slow;
  when x > limit then
    hits = pre(hits) + 1;
  end when;
end Peak;)");
  const EventReason reason = explain_event(model, tight, 1);
  EXPECT_NEAR(reason.t, std::asin(0.9), 1e-8);
  ASSERT_TRUE(reason.prevention.has_value());
  // the amplitude is v0/sqrt(slow): v.start by -10 %, limit by +11 %, slow by +23 %
  EXPECT_EQ(reason.prevention->name, "v.start");
  EXPECT_NEAR(reason.prevention->to, 0.9, 1e-5);
}

TEST(EventReason, NearMissesAreFoundAndOthersAreNot) {
  const CompiledModel model = compiled(R"(model Misses
  Real x(start = 0, fixed = true), v(start = 1, fixed = true);
  discrete Real hits(start = 0, fixed = true), never(start = 0, fixed = true), far(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = -x;
  when x > 0.5 then
    hits = pre(hits) + 1;
  end when;
  when x > 1.005 then
    never = pre(never) + 1;
  end when;
  when x > 1.5 then
    far = pre(far) + 1;
  end when;
end Misses;)");
  SimulateOptions options = tight;
  options.stop = 10.0;
  const EventReason reason = explain_event(model, options, 3);  // the second rise, at 2 pi + pi/6
  ASSERT_EQ(reason.near_misses.size(), 1u);
  EXPECT_EQ(reason.near_misses[0].guard, "x > 1.005");
  EXPECT_NEAR(reason.near_misses[0].t, std::numbers::pi / 2.0, 1e-4);
  EXPECT_NEAR(reason.near_misses[0].distance, 0.005 / 2.005, 1e-5);
}

TEST(EventReason, SlidesAndConstraintsHaveReasons) {
  // on the pendulum of index 3 the event is a position: T(x0) by differences of the closed form is the second method
  const CompiledModel model = compiled(R"(model Pendulum
  parameter Real g = 9.81;
  Real x(start = 0.6, fixed = true), y(start = -0.8), vx(start = 0, fixed = true), vy(start = 0), T;
  discrete Real n(start = 0, fixed = true);
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -T*x;
  der(vy) = -T*y - g;
  x^2 + y^2 = 1;
  when x < 0 then
    n = pre(n) + 1;
  end when;
end Pendulum;)");
  SimulateOptions options = tight;
  options.stop = 1.0;
  const EventReason reason = explain_event(model, options, 1);
  // time scales with 1/sqrt(g)
  EXPECT_NEAR(influence(reason, "g").derivative, -0.5 * reason.t / 9.81, 1e-5);
}

TEST(EventReason, WhatIsNoEventIsRefused) {
  const CompiledModel model = compiled("model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;");
  EXPECT_THROW(explain_event(model, tight, 1), UsageError);
  EXPECT_THROW(explain_event(model, tight, 0), UsageError);
}

}  // namespace
}  // namespace saltus
