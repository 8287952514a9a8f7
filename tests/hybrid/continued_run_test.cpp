// A run that somebody stops, reads and lets go on is the run that goes through: the same events, the same values.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A sampled controller: the equations are those of one mode, with another number after each sample.
Model sampled_control() {
  Model m("sampled control");
  const Expr x = m.variable("x", 1.0), u = m.discrete("u", 0.0);
  m.equation(der(x) == sin(m.time()) - 0.3 * x + u);
  m.when(m.sample(0.25, 0.25)).assign(u, -1.2 * x);
  return m;
}

Model ball(double height, double restitution) {
  Model m("ball");
  const Expr h = m.variable("h", height), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -restitution * v);
  return m;
}

constexpr Method several_methods[] = {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor, Method::rodas5p, Method::radau, Method::bdf};

TEST(ContinuedRun, IsNotDisturbedByWhoReadsItsResult) {
  const auto system = std::make_shared<CompiledModel>(sampled_control());
  for (const Method method : several_methods) {
    SCOPED_TRACE(to_string(method));
    const SimulateOptions options{.stop = 3.0, .method = method};
    Simulator undisturbed(system, options);
    while (undisturbed.step()) {}
    Simulator read(system, options);
    while (read.step()) read.trajectory().at(0.0);  // u = 0 there
    EXPECT_EQ(read.values(), undisturbed.values());
    Simulator* self = nullptr;
    SimulateOptions watched = options;
    watched.progress = [&](const Progress&) { return self->trajectory().at(0.0).size() == 2; };
    Simulator watching(system, watched);
    self = &watching;
    watching.run();
    EXPECT_EQ(watching.values(), undisturbed.values());
  }
}

TEST(ContinuedRun, IsNotDisturbedByAnotherRunOfTheSameSystem) {
  const auto system = std::make_shared<CompiledModel>(sampled_control());
  const SimulateOptions one{.stop = 3.0, .method = Method::dopri5}, other{.stop = 3.0, .method = Method::radau};
  Simulator a(system, one), b(system, other);
  while (!a.finished() || !b.finished()) a.step(), b.step();
  Simulator alone(system, one);
  alone.run();
  EXPECT_EQ(a.values(), alone.values());
  Simulator other_alone(system, other);
  other_alone.run();
  EXPECT_EQ(b.values(), other_alone.values());
}

TEST(ContinuedRun, HasTheValuesBehindItsLastEventWhetherEventsKeepThemOrNot) {
  for (const bool keep_values : {true, false}) {
    Simulator s(std::make_shared<CompiledModel>(ball(1.0, 0.8)), {.stop = 3.0, .keep_event_values = keep_values});
    while (s.trajectory().statistics().events < 3) ASSERT_TRUE(s.step());
    EXPECT_EQ(s.trajectory().at(s.t()), s.values()) << keep_values;
    EXPECT_GT(s.values()[1], 0.0);
    EXPECT_LT(s.trajectory().before(s.t())[1], 0.0);
  }
}

// a unit in the last place after an impact the ball has not come out of the floor yet, by its rounding errors
TEST(ContinuedRun, RepeatsNoEventThatItHasJustLeft) {
  for (const Method method : several_methods)
    for (int k = 1; k <= 30; ++k) {
      SCOPED_TRACE(std::string(to_string(method)) + ", " + std::to_string(k));
      const auto system = std::make_shared<CompiledModel>(ball(0.1 * k, 0.5), ProgramOptions{.backend = Backend::interpreter});
      Simulator s(system, {.stop = 2.2 * std::sqrt(0.2 * k / 9.81), .rtol = 1e-8, .method = method});  // between the second impact and the third
      for (std::int64_t events = 0; s.step();)
        if (s.trajectory().statistics().events > events) {
          events = s.trajectory().statistics().events;
          for (int pauses = 0; pauses < 3; ++pauses) s.advance_to(std::nextafter(s.t(), infinity));
        }
      ASSERT_TRUE(s.status().ok()) << s.status().message;
      ASSERT_EQ(s.trajectory().events().size(), 2u);
      EXPECT_GT(s.values()[0], 0.0);
    }
}

/// A mass on a rough belt: it sticks for a while, slips, and sticks again.
Model stick_slip() {
  Model m("stick-slip");
  const Expr x = m.variable("x", 0.1), v = m.variable("v", 0.6);
  m.equation(der(x) == v);
  m.equation(der(v) == 1.4 * sin(1.7 * m.time()) - x - 0.5 * sign(v - 0.2));
  return m;
}

/// Times within rounding errors of an event, and within the errors of implicit methods.
std::vector<double> times_around(double event) {
  std::vector<double> times{event, std::nextafter(event, infinity), std::nextafter(event, 0.0)};
  for (double apart = 1e-15; apart < 1e-8; apart *= 3.0) times.insert(times.end(), {event - apart, event + apart});
  return times;
}

TEST(ContinuedRun, HasTheSameEventsWhereverItStopsBesideThem) {
  for (const double stop : {6.0, 2.0}) {
    const auto system = std::make_shared<CompiledModel>(stop == 6.0 ? stick_slip() : ball(1.0, 0.7));
    for (const Method method : several_methods) {
      SCOPED_TRACE(to_string(method));
      const SimulateOptions options{.stop = stop, .rtol = 1e-8, .atol = 1e-8, .method = method};
      const Trajectory whole = simulate(system, options);
      ASSERT_TRUE(whole.status().ok()) << whole.status().message;
      ASSERT_GE(whole.events().size(), 2u);
      for (const Event& event : whole.events())
        for (const double pause : times_around(event.t)) {
          SCOPED_TRACE(pause);
          Simulator s(system, options);
          ASSERT_TRUE(s.advance_to(pause));
          ASSERT_TRUE(s.advance_to(pause));  // that is no error
          s.run();
          ASSERT_TRUE(s.status().ok()) << s.status().message;
          const std::vector<Event>& events = s.trajectory().events();
          ASSERT_EQ(events.size(), whole.events().size());
          for (std::size_t k = 0; k < events.size(); ++k) {
            EXPECT_EQ(events[k].kind, whole.events()[k].kind) << k;
            EXPECT_NEAR(events[k].t, whole.events()[k].t, 1e-6) << k;  // a hundred tolerances
          }
        }
    }
  }
}

// The dense output of implicit methods places an event before the stop time, a step of its own behind it.
TEST(ContinuedRun, EndsAtItsStopTimeWhereverTheNextEventIs) {
  const auto system = std::make_shared<CompiledModel>(stick_slip());
  for (const Method method : several_methods) {
    const SimulateOptions options{.stop = 6.0, .rtol = 1e-7, .atol = 1e-7, .method = method};
    const Trajectory whole = simulate(system, options);
    ASSERT_FALSE(whole.events().empty());
    for (const Event& event : whole.events())
      for (const double stop : times_around(event.t)) {
        SCOPED_TRACE(std::string(to_string(method)) + ", " + std::to_string(stop - event.t));
        SimulateOptions shorter = options;
        shorter.stop = stop;
        const Trajectory run = simulate(system, shorter);
        ASSERT_TRUE(run.status().ok()) << run.status().message;
        EXPECT_EQ(run.t_end(), stop);
      }
  }
}

// A run that stops at each of its events has the events of the run that goes through.
TEST(ContinuedRun, StopsAtEachEvent) {
  const auto system = std::make_shared<CompiledModel>(ball(1.0, 0.8));
  const SimulateOptions options{.stop = 2.5, .rtol = 1e-9, .atol = 1e-9};
  const Trajectory whole = simulate(system, options);
  Simulator s(system, options);
  for (const Event& event : whole.events()) {
    ASSERT_TRUE(s.advance_to_event(2.5));
    EXPECT_NEAR(s.t(), event.t, 1e-12);
    EXPECT_FALSE(s.finished());
  }
  ASSERT_TRUE(s.advance_to_event(2.5));
  EXPECT_EQ(s.t(), 2.5);
  EXPECT_TRUE(s.finished());
  EXPECT_EQ(s.trajectory().events().size(), whole.events().size());
}

}  // namespace
}  // namespace saltus
